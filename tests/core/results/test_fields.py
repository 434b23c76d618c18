# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.optimize import brentq

from supple.core import Channel, Ground, Plasticity, Scene, SceneError, Simulator, SoftBody, TetMesh
from supple.core.integrators import ImplicitEuler, SymplecticEuler
from supple.core.materials import (
    MODELS,
    CorotatedLinear,
    Linear,
    NeoHookean,
    StableNeoHookean,
    StVenantKirchhoff,
)
from supple.core.results import RESULTS
from supple.core.results.fields import fields_of, largest_eigenvalue
from supple.core.system import System
from supple.tests.core.integrators.test_plasticity import bar, plastic_strain, simulator, strain_of
from supple.tests.core.pretended_cuda import pretended_cuda
from supple.verification.meshes import block, irregular_block

WEIGHTLESS = (0.0, 0.0, 0.0)


def three_bodies() -> Scene:
    """Bodies of two models, so that tets are not computed in the order of the bodies."""
    bodies = []
    for place, model in enumerate((StVenantKirchhoff, NeoHookean, StVenantKirchhoff)):
        mesh = block((1 + place, 1, 1), origin=(3.0 * place, 0.0, 0.0))
        stretched = mesh.vertices * np.array([1.0, 1.1 + 0.1 * place, 0.9])
        velocity = (3.0 * place, 4.0 * place, 0.0)
        bodies.append(
            SoftBody(mesh, model(1e4, 0.3), initial_positions=stretched, velocity=velocity)
        )
    return Scene(bodies, gravity=WEIGHTLESS)


def check_three(fields) -> None:
    for place in range(3):
        stretch, speed = fields["stretch"][place], fields["speed"][place]
        assert stretch.shape == (6 * (1 + place),)
        np.testing.assert_allclose(stretch.numpy(), 1.1 + 0.1 * place, rtol=1e-12)
        assert speed.shape == (4 * (2 + place),)
        np.testing.assert_allclose(speed.numpy(), 5.0 * place, rtol=1e-12)


def test_every_body_has_its_own_values_whatever_its_material() -> None:
    check_three(Simulator(three_bodies(), results=("stretch", "speed")).frame().fields)


def test_the_stretch_is_the_largest_singular_value() -> None:
    random = np.random.default_rng(3)
    mesh = irregular_block()
    deformed = mesh.vertices + 0.1 * random.normal(size=mesh.vertices.shape)
    body = SoftBody(mesh, StVenantKirchhoff(1e4, 0.3), initial_positions=deformed)
    found = Simulator(Scene([body]), results=("stretch",)).frame().fields["stretch"][0]
    edges = (own[mesh.tets[:, 1:]] - own[mesh.tets[:, :1]] for own in (mesh.vertices, deformed))
    rest, now = (np.swapaxes(own, 1, 2) for own in edges)
    expected = np.linalg.svd(now @ np.linalg.inv(rest), compute_uv=False)[:, 0]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9)


@pytest.mark.parametrize("values", [(1, 1, 1), (2, 2, 1), (2, 1, 1), (0, 0, 0), (3, 0, 0)])
def test_eigenvalues_that_are_alike_are_found(values) -> None:
    random = torch.randn(5, 3, 3, generator=torch.Generator().manual_seed(1)).double()
    turned, _ = torch.linalg.qr(random)
    matrices = turned @ torch.diag(torch.tensor(values).double()) @ turned.mT
    found = largest_eigenvalue(matrices.permute(1, 2, 0))
    np.testing.assert_allclose(found.numpy(), float(max(values)), atol=1e-7)


def test_what_falls_is_as_fast_as_it_fell_for() -> None:
    simulator = Simulator(
        Scene([SoftBody(block(), NeoHookean(1e4, 0.3))]), results=("speed",), frame_time=0.05
    )
    *_, last = simulator.run(4)
    np.testing.assert_allclose(last.fields["speed"][0].numpy(), 9.81 * 0.2, rtol=1e-6)


def test_frames_have_what_was_asked_for_and_no_more() -> None:
    scene = Scene([SoftBody(block(), NeoHookean(1e4, 0.3))])
    assert dict(Simulator(scene).frame().fields) == {}
    everything = Simulator(scene, results=tuple(reversed(RESULTS))).frame().fields
    assert list(everything) == list(RESULTS)
    sizes = {"tet": 48, "vertex": 27}
    for name, values in everything.items():
        assert values[0].shape == (sizes[RESULTS[name].per],), name


def test_a_result_that_is_unknown_is_refused_with_those_that_are_known() -> None:
    scene = Scene([SoftBody(block(), NeoHookean(1e4, 0.3))])
    known = "von_mises, stretch, speed, contact_pressure, plastic_strain"
    with pytest.raises(SceneError, match=f"one of {known}, not 'heat'"):
        Simulator(scene, results=("heat",))
    with pytest.raises(SceneError, match=r"write \('speed',\)"):
        Simulator(scene, results="speed")


def test_on_a_device_they_are_the_same() -> None:
    mesh = block((2, 1, 1))
    body = SoftBody(
        *(mesh, NeoHookean(1e4, 0.3)),
        initial_positions=mesh.vertices * (1.2, 1.0, 0.9),
        velocity=(3.0, 0.0, 4.0),
        plasticity=Plasticity(100.0),
    )
    scene = Scene([body], ground=Ground(distance=0.02))

    def found(device: str) -> dict[str, np.ndarray]:
        system = System(scene, torch.device(device), torch.float64)
        state = system.initial_state()
        state.positions[2] -= 0.01
        system.plastic_flow.flow(state.positions, 0.1)
        state = replace(state, plastic=system.plastic_flow.plastic)
        fields = fields_of(system, lambda: False, tuple(RESULTS))
        return {name: values(state)[0].cpu().numpy() for name, values in fields.items()}

    expected = found("cpu")
    with pretended_cuda():
        on_device = found("cuda")
    for name, values in expected.items():
        largest = float(values.max())
        assert largest > 0.0, name
        np.testing.assert_allclose(on_device[name], values, atol=1e-9 * largest)


PLASTIC_STRAIN_RESULTS = ("plastic_strain",)


@pytest.mark.parametrize("integrator", [SymplecticEuler(), ImplicitEuler()])
@pytest.mark.parametrize("strain", [0.05, -0.05], ids=["pulled", "pressed"])
def test_a_bar_has_the_strain_that_it_keeps(integrator, strain) -> None:
    scene = bar(*np.linspace(0.0, strain, 9), strain)
    *_, held = simulator(scene, integrator, results=PLASTIC_STRAIN_RESULTS).run(9)
    found = held.fields["plastic_strain"][0].numpy()
    expected = abs(plastic_strain(strain_of(held)))
    assert expected > 0.02
    assert found.mean() == pytest.approx(expected, rel=0.01)
    # What explicit steps pull in a fifth of a second still rings a little.
    np.testing.assert_allclose(found, expected, rtol=0.02)


def test_what_is_pulled_and_pressed_back_adds_up() -> None:
    there, back = np.linspace(0.0, 0.05, 9), np.linspace(0.05, 0.0, 9)
    run = simulator(bar(*there, *back, 0.0), ImplicitEuler(), results=PLASTIC_STRAIN_RESULTS)
    frames = list(run.run(18))
    strains = [float(frame.fields["plastic_strain"][0].mean()) for frame in frames]
    assert strains == sorted(strains)
    assert strains[-1] > 1.3 * strains[8]


def test_bodies_that_come_back_have_none_among_those_that_do_not() -> None:
    """The bodies have two models, so that tets are not computed in the order of the bodies."""
    bodies = []
    for place, (model, limit) in enumerate(
        [(NeoHookean, 0.1), (StableNeoHookean, None), (StableNeoHookean, 0.3), (NeoHookean, 0.2)]
    ):
        mesh = block((1 + place, 1, 1), origin=(5.0 * place, 0.0, 0.0))
        longer = mesh.vertices * np.array([2.0, 0.5**0.5, 0.5**0.5])
        gives_way = None if limit is None else Plasticity(1.0, limit=limit)
        bodies.append(
            SoftBody(mesh, model(1e4, 0.3), initial_positions=longer, plasticity=gives_way)
        )
    scene = Scene(bodies, gravity=(0.0, 0.0, 0.0))
    run = Simulator(scene, ImplicitEuler(), results=PLASTIC_STRAIN_RESULTS, frame_time=1e-3)
    started = [values.numpy() for values in run.frame().fields["plastic_strain"]]
    assert not any(values.any() for values in started)
    (frame,) = run.run(1)
    for values, body in zip(frame.fields["plastic_strain"], bodies, strict=True):
        assert values.shape == (len(body.mesh.tets),)
        limit = 0.0 if body.plasticity is None else body.plasticity.limit
        np.testing.assert_allclose(values.numpy(), limit, rtol=1e-6)


def test_a_state_without_flow_has_none_after_one_with() -> None:
    run = simulator(bar(0.0, 0.05), SymplecticEuler(), results=PLASTIC_STRAIN_RESULTS)
    rest = run.state
    (frame,) = run.run(1)
    assert frame.fields["plastic_strain"][0].min() > 0.0
    run.state = replace(rest, plastic=None)
    assert not run.frame().fields["plastic_strain"][0].any()


YOUNG, POISSON = 2e5, 0.3
MU = YOUNG / (2.0 * (1.0 + POISSON))


def stress_at(gradient, material, mesh: TetMesh | None = None) -> np.ndarray:
    """(M,) the von Mises stress of a box under a deformation gradient."""
    mesh = mesh or block((2, 1, 1))
    deformed = mesh.vertices @ np.asarray(gradient, dtype=float).T
    scene = Scene([SoftBody(mesh, material, initial_positions=deformed)])
    return Simulator(scene, results=("von_mises",)).frame().fields["von_mises"][0].numpy()


def turn(angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]) @ np.array(
        [[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]]
    )


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_the_stress_of_a_bar_pulled_a_little_is_young_times_strain(model) -> None:
    strain = 1e-5
    gradient = np.diag([1.0 + strain, 1.0 - POISSON * strain, 1.0 - POISSON * strain])
    stress = stress_at(gradient, model(YOUNG, POISSON))
    np.testing.assert_allclose(stress, YOUNG * strain, rtol=1e-4)


def test_the_stress_of_what_is_held_goes_with_its_keyed_stiffness() -> None:
    strain, factors = 1e-5, [2.0, 3.0, 0.5]
    mesh, material = block((2, 1, 1)), StableNeoHookean(YOUNG, 0.0)
    along = mesh.vertices[:, 0]
    body = SoftBody(
        *(mesh, material),
        pinned=np.flatnonzero((along == along.min()) | (along == along.max())),
        initial_positions=mesh.vertices * [1.0 + strain, 1.0, 1.0],
        stiffness=Channel(factors),
    )
    scene = Scene([body], gravity=(0.0, 0.0, 0.0))
    simulator = Simulator(scene, results=("von_mises",), device="cpu")
    start = simulator.state
    for factor, frame in zip(factors, [simulator.frame(), *simulator.run(2)], strict=True):
        stress = frame.fields["von_mises"][0].numpy()
        np.testing.assert_allclose(stress, factor * YOUNG * strain, rtol=1e-4)
    # A state is stressed by the stiffness that it had.
    simulator.state = start
    found = simulator.frame().fields["von_mises"][0].numpy()
    np.testing.assert_allclose(found, factors[0] * YOUNG * strain, rtol=1e-4)


@pytest.mark.parametrize("stretch", [0.6, 1.7])
def test_the_stress_of_a_bar_pulled_far_is_that_of_the_closed_form(stretch) -> None:
    # Free sides: μ (t² − 1) + λ ln J = 0; then σ = μ (s² − t²) / J along the bar.
    lam = YOUNG * POISSON / ((1.0 + POISSON) * (1.0 - 2.0 * POISSON))
    across = brentq(lambda t: MU * (t * t - 1.0) + lam * np.log(stretch * t * t), 0.3, 2.0)
    expected = MU * abs(stretch**2 - across**2) / (stretch * across**2)
    gradient = turn(0.7) @ np.diag([stretch, across, across])
    stress = stress_at(gradient, NeoHookean(YOUNG, POISSON))
    np.testing.assert_allclose(stress, expected, rtol=1e-10)


def test_a_small_shear_has_the_root_of_three_times_its_stress() -> None:
    gradient = np.eye(3)
    gradient[0, 1] = 1e-3
    stress = stress_at(gradient, Linear(YOUNG, POISSON))
    np.testing.assert_allclose(stress, np.sqrt(3.0) * MU * 1e-3, rtol=1e-10)


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_pressure_alone_is_no_von_mises_stress(model) -> None:
    assert stress_at(1.1 * np.eye(3), model(YOUNG, POISSON)).max() < 1e-8 * YOUNG


@pytest.mark.parametrize("model", [CorotatedLinear, NeoHookean, StableNeoHookean])
def test_a_turned_body_has_no_stress(model) -> None:
    assert stress_at(turn(1.2), model(YOUNG, POISSON)).max() < 1e-8 * YOUNG


def test_what_is_filled_by_half_is_stressed_as_what_is_full() -> None:
    mesh, gradient = block((2, 1, 1)), np.diag([1.4, 0.9, 0.8])
    fill = np.linspace(0.1, 1.0, len(mesh.tets))
    own = TetMesh(mesh.vertices, mesh.tets, fill)
    material = StableNeoHookean(YOUNG, POISSON)
    full = stress_at(gradient, material, mesh)
    np.testing.assert_allclose(stress_at(gradient, material, own), full, rtol=1e-12)


def test_a_flat_tet_has_a_finite_stress() -> None:
    stress = stress_at(np.diag([1.2, 1.0, 0.0]), StVenantKirchhoff(YOUNG, POISSON))
    assert np.isfinite(stress).all()
    assert stress.min() > 0.0
