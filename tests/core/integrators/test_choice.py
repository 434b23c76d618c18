# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import (
    Contact,
    Ground,
    InstabilityError,
    Scene,
    SceneError,
    Simulator,
    SoftBody,
    Sphere,
)
from supple.core.integrators import (
    BDF2,
    NAMES,
    SDIRK2,
    Automatic,
    ImplicitEuler,
    SymplecticEuler,
    automatic,
    integrator_named,
)
from supple.core.integrators.automatic import _is_quicker
from supple.core.integrators.contact_failures import DivergedStepError
from supple.core.materials import Material, NeoHookean, StableNeoHookean
from supple.verification.meshes import block

SOFT, STIFF = 1e3, 1e9


def _chosen(
    make_block, young: float, substeps: int | None = None, ground: Ground | None = None
) -> str:
    body = SoftBody(make_block(origin=(0.0, 0.0, 0.1)), StableNeoHookean(young, 0.3))
    scene = Scene([body], ground=ground)
    return Simulator(scene, Automatic(), substeps=substeps).stepper.label


def test_a_soft_coarse_body_is_stepped_explicitly_and_a_stiff_one_implicitly(make_block) -> None:
    assert _chosen(make_block, SOFT) == "Symplectic Euler"
    assert _chosen(make_block, STIFF) == "SDIRK2"


def test_the_finer_a_body_the_sooner_it_is_stepped_implicitly(make_block) -> None:
    def chosen(size: float) -> str:
        body = SoftBody(make_block(size=(size, size, size)), StableNeoHookean(1e5, 0.3))
        return Simulator(Scene([body]), Automatic()).stepper.label

    assert chosen(3.0) == "Symplectic Euler"
    assert chosen(0.003) == "SDIRK2"


@pytest.mark.parametrize(("steps", "is_explicit"), [(235, True), (236, False)])
def test_explicit_steps_may_take_twice_as_long_as_implicit_ones(steps, is_explicit) -> None:
    # By the costs of a step and of a frame, 600 tets are worth 235.3 steps.
    body = SoftBody(block((4, 5, 5)), StableNeoHookean(1e5, 0.3))
    system = Simulator(Scene([body])).system
    assert sum(len(mesh.tets) for mesh in system.meshes) == 600
    stepper = SymplecticEuler().stepper(system, steps)
    assert _is_quicker(system, stepper) == is_explicit


@pytest.mark.parametrize(("turn", "steps"), [(0.39, 1), (0.41, 2), (1.19, 3), (2.3, 6), (3.1, 6)])
def test_lively_steps_follow_the_slowest_vibration(monkeypatch, turn: float, steps: int) -> None:
    system = Simulator(Scene([SoftBody(block((1, 1, 1)))])).system
    monkeypatch.setattr(automatic, "slowest_frequency", lambda _: 24.0 * turn)
    assert automatic._lively_steps(system) == steps


def test_a_vibration_too_fast_for_frames_asks_for_no_steps(monkeypatch) -> None:
    system = Simulator(Scene([SoftBody(block((1, 1, 1)))])).system
    monkeypatch.setattr(automatic, "slowest_frequency", lambda _: 24.0 * 3.15)
    assert automatic._lively_steps(system) is None


@pytest.mark.parametrize("young", [SOFT, STIFF])
def test_a_bouncy_ground_is_stepped_explicitly(make_block, young: float) -> None:
    bouncy = Ground(response="projection", restitution=0.5)
    assert _chosen(make_block, young, ground=bouncy) == "Symplectic Euler"


@pytest.mark.parametrize("young", [SOFT, STIFF])
def test_colliders_are_met_in_explicit_steps(make_block, young: float) -> None:
    body = SoftBody(make_block(), StableNeoHookean(young, 0.3))
    scene = Scene([body], Ground(), colliders=[Sphere((0.0, 0.0, -3.0), 1.0)])
    assert Simulator(scene, Automatic()).stepper.label == "Symplectic Euler"


def test_smooth_contact_leaves_the_choice(make_block) -> None:
    assert _chosen(make_block, SOFT, ground=Ground()) == "Symplectic Euler"
    assert _chosen(make_block, STIFF, ground=Ground()) == "SDIRK2"


def test_with_substeps_given_it_is_explicit_where_they_are_enough(make_block) -> None:
    assert _chosen(make_block, STIFF, substeps=1) == "SDIRK2"
    assert _chosen(make_block, STIFF, substeps=1000) == "Symplectic Euler"


def test_an_explicit_choice_leaves_a_law_its_continuation_through_no_volume(make_block) -> None:
    mesh = make_block()
    mirrored = mesh.vertices * [1.0, 1.0, -1.0]
    body = SoftBody(mesh, NeoHookean(SOFT, 0.3), initial_positions=mirrored)
    simulator = Simulator(Scene([body], gravity=(0.0, 0.0, 0.0)), Automatic())
    assert simulator.stepper.label == "Symplectic Euler"
    assert simulator.system.energies(simulator.state).total < float("inf")


def _crumpled(make_block, model: type[Material] = StableNeoHookean) -> Scene:
    """Near to incompressible, and from random positions: no explicit step is short enough."""
    mesh = make_block((4, 4, 4))
    start = np.random.default_rng(0).random(mesh.vertices.shape)
    body = SoftBody(mesh, model(1e5, 0.499), initial_positions=start, damping=4.0)
    return Scene([body], gravity=(0.0, 0.0, 0.0))


def test_what_explicit_steps_do_not_manage_goes_on_implicitly(make_block) -> None:
    simulator = Simulator(_crumpled(make_block), Automatic())
    assert simulator.stepper.label == "Symplectic Euler"
    *_, last = simulator.run(3)
    assert last.report.integrator == "Implicit Euler"
    assert last.report.solver_statistics.converged
    with pytest.raises(DivergedStepError, match=r"a frame are too few at frame .* Choose BDF2 or"):
        list(Simulator(_crumpled(make_block), SymplecticEuler()).run(3))


def test_having_gone_over_to_implicit_steps_is_part_of_the_state(make_block) -> None:
    whole, resumed = (Simulator(_crumpled(make_block), Automatic()) for _ in range(2))
    list(whole.run(2))
    arrays = {name: values.copy() for name, values in whole.state.to_arrays().items()}
    resumed.state = resumed.state.restored(2, arrays)
    list(whole.run(2))
    *_, last = resumed.run(2)
    assert last.report.integrator == "Implicit Euler"
    assert torch.equal(resumed.state.positions, whole.state.positions)


def test_a_law_without_energy_inside_out_says_what_explicit_steps_lacked(make_block) -> None:
    with pytest.raises(InstabilityError, match="substeps a frame are too few"):
        list(Simulator(_crumpled(make_block, NeoHookean), Automatic()).run(3))


@pytest.mark.parametrize("kind", [ImplicitEuler, BDF2, SDIRK2])
def test_implicit_steps_on_a_bouncy_ground_are_refused_with_what_helps(make_block, kind) -> None:
    scene = Scene([SoftBody(make_block())], ground=Ground(response="projection"))
    with pytest.raises(SceneError, match=r"bouncy ground needs .*: choose a smooth one") as e:
        Simulator(scene, kind())
    assert "Automatic" in str(e.value) and "Symplectic Euler" in str(e.value)


@pytest.mark.parametrize("kind", [ImplicitEuler, BDF2, SDIRK2])
def test_implicit_steps_with_colliders_are_refused_with_their_names(make_block, kind) -> None:
    spheres = [Sphere((0.0, 0.0, -3.0), 1.0, name="Ball"), Sphere((9.0, 0.0, 0.0), 1.0, name="Egg")]
    scene = Scene([SoftBody(make_block())], ground=Ground(), colliders=spheres)
    words = r"Colliders \(Ball, Egg\) need explicit steps: put meshes in .* choose .* Automatic or"
    with pytest.raises(SceneError, match=words):
        Simulator(scene, kind())


@pytest.mark.parametrize("kind", [Automatic, ImplicitEuler, SymplecticEuler])
@pytest.mark.parametrize(
    "surroundings",
    [
        {"ground": Ground(response="projection")},
        {"colliders": [Sphere((0.0, 0.0, -3.0), 1.0, name="Ball")]},
    ],
)
def test_no_integrator_takes_contact_beside_spheres_or_a_bouncy_ground(
    make_block, kind, surroundings
) -> None:
    scene = Scene([SoftBody(make_block())], contact=Contact(), **surroundings)
    with pytest.raises(SceneError, match="do without") as refused:
        Simulator(scene, kind())
    assert "Automatic" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("automatic", Automatic),
        ("implicit_euler", ImplicitEuler),
        ("bdf2", BDF2),
        ("sdirk2", SDIRK2),
        ("symplectic_euler", SymplecticEuler),
    ],
)
def test_integrators_go_by_their_names(name: str, kind: type) -> None:
    assert isinstance(integrator_named(name), kind)


def test_every_name_has_an_integrator_and_what_users_call_it_is_its_label(make_block) -> None:
    for name, label in NAMES.items():
        simulator = Simulator(Scene([SoftBody(make_block())]), integrator_named(name))
        (frame,) = simulator.run(1)
        assert frame.report.integrator in (
            [label] if name != "automatic" else ["SDIRK2", "Symplectic Euler"]
        )


def test_an_unknown_name_is_refused_with_those_there_are() -> None:
    with pytest.raises(SceneError, match=r"one of automatic, implicit_euler, .*not 'leapfrog'"):
        integrator_named("leapfrog")
