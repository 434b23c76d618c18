# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies in a fluid at rest."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import supple.core.simulator as simulator_module
from supple.core import Channel, Fluid, InstabilityError, Scene, SceneError, Simulator, SoftBody
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    XPBD,
    Automatic,
    ImplicitEuler,
    SymplecticEuler,
    explicit_step,
    stability,
)
from supple.core.job.scene_file import load_scene, save_scene
from supple.core.materials import StableNeoHookean
from supple.tests.core.pretended_cuda import pretended_cuda
from supple.verification.meshes import block

STIFF = StableNeoHookean(1e6, 0.3)
INTEGRATORS = [SymplecticEuler(), ImplicitEuler(), BDF2(), SDIRK2(), XPBD(), Automatic()]


def raft(density: float, **settings) -> SoftBody:
    """0.4 m high, its bottom at 0."""
    return SoftBody(block((2, 2, 1), (1.0, 1.0, 0.4)), STIFF, density, **settings)


@pytest.mark.parametrize("density", [150.0, 600.0, 900.0])
def test_a_body_floats_as_deep_as_archimedes_says(density) -> None:
    scene = Scene([raft(density)], forces=[Fluid(level=0.1)])
    rest = Simulator(scene, device="cpu").settle().positions[0][:, 2]
    draught = 0.1 - float(rest.min())
    assert draught == pytest.approx(0.4 * density / 1000.0, rel=0.01)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda kind: type(kind).__name__)
def test_a_body_that_is_dropped_in_comes_to_float(integrator) -> None:
    scene = Scene([raft(500.0)], forces=[Fluid(level=0.05, damping=8.0)])
    *_, last = Simulator(scene, integrator, device="cpu").run(48)
    bottom = float(last.positions[0][:, 2].min())
    assert 0.05 - bottom == pytest.approx(0.2, rel=0.02)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda kind: type(kind).__name__)
def test_a_body_sinks_at_the_speed_at_which_its_weight_and_the_drag_balance(
    integrator,
) -> None:
    """(m − ρ V) g = ½ ρ c (A / 4) v² + a m v."""
    size, density, drag, damping = 0.1, 1500.0, 0.8, 0.7
    body = SoftBody(block((1, 1, 1), (size, size, size)), StableNeoHookean(5e4, 0.3), density)
    scene = Scene([body], forces=[Fluid(100.0, 1000.0, drag, damping)])
    *_, last = Simulator(scene, integrator, device="cpu").run(36)
    volume = size**3
    quadratic, linear = 0.5 * 1000.0 * drag * 6.0 * size**2 / 4.0, damping * density * volume
    weight = (density - 1000.0) * volume * 9.81
    expected = (math.sqrt(linear**2 + 4.0 * quadratic * weight) - linear) / (2.0 * quadratic)
    assert -float(last.velocities[0][:, 2].mean()) == pytest.approx(expected, rel=0.01)


def test_drag_turns_no_velocity_round() -> None:
    """However strong it is, in implicit steps."""
    body = raft(1000.0, velocity=(5.0, 0.0, 0.0))
    scene = Scene([body], gravity=(0, 0, 0), forces=[Fluid(100.0, drag=1e5, damping=1e4)])
    for frame in Simulator(scene, ImplicitEuler(), device="cpu").run(3):
        assert -1e-6 < float(frame.velocities[0][:, 0].mean()) < 0.1


def test_steps_that_are_too_long_are_found_out_in_a_fluid() -> None:
    scene = Scene([raft(500.0)], forces=[Fluid(level=0.2, damping=2e3)])
    scene.bodies[0].velocity = (0.0, 0.0, 10.0)
    with pytest.raises(InstabilityError, match="substeps a frame are too few"):
        list(Simulator(scene, SymplecticEuler(), substeps=20, device="cpu").run(3))


def test_above_the_fluid_there_is_none() -> None:
    body = raft(500.0, velocity=(1.0, 0.0, 0.0))
    free, over = (
        list(Simulator(Scene([body], forces=forces), ImplicitEuler(), device="cpu").run(3))[-1]
        for forces in ([], [Fluid(level=-50.0, drag=100.0)])
    )
    torch.testing.assert_close(over.positions[0], free.positions[0])


def test_buoyancy_goes_by_a_gravity_that_is_keyed() -> None:
    """A body with the density of the fluid stays at rest whatever gravity is."""
    gravity = Channel(np.linspace((0.0, 0.0, -20.0), (0.0, 0.0, 0.0), 9))
    for integrator in (SymplecticEuler(), ImplicitEuler()):
        scene = Scene([raft(1000.0)], gravity=gravity, forces=[Fluid(level=9.0)])
        *_, last = Simulator(scene, integrator, device="cpu").run(8)
        assert float((last.positions[0] - torch.as_tensor(raft(1.0).mesh.vertices)).abs().max()) < (
            1e-6
        )


@pytest.mark.parametrize(
    ("integrator", "substeps"),
    [(SymplecticEuler(), 6), (ImplicitEuler(tolerance=1e-7), 1)],
    ids=["explicit", "implicit"],
)
def test_on_cuda_pressure_drag_and_fluid_meet_nothing_of_the_host(
    integrator, substeps, monkeypatch
) -> None:
    monkeypatch.setattr(simulator_module, "find_device", torch.device)
    monkeypatch.setattr(explicit_step, "CapturedStep", lambda step: step)
    monkeypatch.setattr(stability, "POWER_ITERATIONS", 5)
    mesh, soft = block((1, 1, 1)), StableNeoHookean(1e5, 0.3)
    swelling = Channel(np.array([0.0, 5e3]))
    braked = Channel(np.array([0.0, 20.0]))
    body = SoftBody(*(mesh, soft, 500.0), pressure=swelling, drag=braked, velocity=(1.0, 0.0, 0.0))

    def floated(device: str) -> torch.Tensor:
        scene = Scene([body], forces=[Fluid(level=0.1)])
        *_, last = Simulator(scene, integrator, device=device, substeps=substeps).run(1)
        return last.positions[0].cpu()

    expected = floated("cpu")
    with pretended_cuda():
        found = floated("cuda")
    torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize(
    "settings", [{"level": math.nan}, {"density": 0.0}, {"drag": -1.0}, {"damping": math.inf}]
)
def test_what_is_no_fluid_is_refused(settings) -> None:
    with pytest.raises(SceneError, match="Fluid: the"):
        Fluid(**settings)


def test_a_file_has_the_fluid(tmp_path) -> None:
    path, fluid = tmp_path / "scene.json", Fluid(0.5, 900.0, 0.3, 0.1)
    save_scene(path, Scene([raft(500.0)], forces=[fluid]), {})
    assert load_scene(path)[0].forces == [fluid]
