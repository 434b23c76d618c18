# SPDX-License-Identifier: GPL-3.0-or-later
"""Forces that a scene brings along, defined outside of the core."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor

from supple.core import Channel, Ground, Scene, SceneError, Simulator, SoftBody
from supple.core.assembly.block_matrix import BlockMatrix
from supple.core.assembly.tensor_channel import TensorChannel
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    XPBD,
    Adaptive,
    Automatic,
    ImplicitEuler,
    Integrator,
    Midpoint,
    RungeKutta4,
    SymplecticEuler,
)
from supple.core.job.scene_file import load_scene, save_scene
from supple.core.materials import StableNeoHookean
from supple.core.potentials import Potential, PrescribedPotential, TimeStep
from supple.core.system import System
from supple.tests.core.tether import Tether, TetherEnergy
from supple.verification.meshes import block

NOWHERE = (0.0, 0.0, 0.0)
GRAVITY = (0.3, 0.0, -9.81)
CHANGING = Channel(np.linspace((0.0, 2.0, -15.0), (3.0, -1.0, -5.0), 7))
INTEGRATORS = [
    SymplecticEuler(),
    Midpoint(),
    RungeKutta4(),
    Adaptive(SymplecticEuler()),
    XPBD(),
    ImplicitEuler(tolerance=1e-6),
    BDF2(tolerance=1e-6),
    SDIRK2(tolerance=1e-6),
    Automatic(),
]


@dataclass(frozen=True)
class Pull:
    """−Σ m a·x: what gravity is, from outside."""

    acceleration: Channel

    def potential(self, system: System) -> Potential:
        samples = torch.as_tensor(self.acceleration.samples).to(system.mass)
        return _PullEnergy(system.mass, TensorChannel(samples))


class _PullEnergy(PrescribedPotential):
    def __init__(self, mass: Tensor, channel: TensorChannel) -> None:
        super().__init__(channel)
        self._mass = mass

    def energy(self, positions: Tensor) -> Tensor:
        return -(self._mass * self.parameters[:, None] * positions).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out.sub_(self._mass * self.parameters[:, None])

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """Add nothing: the force is constant."""


@dataclass(frozen=True)
class Wind:
    """Drag of so much a second, by the speed through air that moves."""

    rate: float
    velocity: tuple[float, float, float]

    def potential(self, system: System) -> Potential:
        return _WindEnergy(self.rate * system.mass, torch.as_tensor(self.velocity).to(system.mass))


class _WindEnergy(Potential):
    is_dissipative = True

    def __init__(self, drag: Tensor, velocity: Tensor) -> None:
        self._drag, self._velocity = drag, velocity[:, None]
        self._seconds, self._origin = 1.0, torch.zeros_like(drag)

    def begin_time_step(self, step: TimeStep) -> None:
        self._seconds = step.seconds
        self._origin = step.coasting_origin + step.seconds * self._velocity

    def energy(self, positions: Tensor) -> Tensor:
        away = (positions - self._origin).square().sum(0)
        return 0.5 * (self._drag * away).sum() / self._seconds

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out.add_(self._drag / self._seconds * (positions - self._origin))

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        matrix.add_diagonal((self._drag / self._seconds)[matrix.pattern.vertices])

    def add_rate_forces(self, positions: Tensor, velocities: Tensor, out: Tensor) -> None:
        out.add_(self._drag * (velocities - self._velocity))


@dataclass(frozen=True)
class StiffTether(Tether):
    def potential(self, system: System) -> TetherEnergy:
        return _StiffEnergy(self, torch.as_tensor(self.anchor).to(system.mass))


class _StiffEnergy(TetherEnergy):
    is_stiff = True


def body(**settings) -> SoftBody:
    mesh = block((1, 1, 1), (0.2, 0.2, 0.2), (0.0, 0.0, 0.05))
    return SoftBody(mesh, StableNeoHookean(1e4, 0.3), name="Jelly", **settings)


def run(scene: Scene, integrator: Integrator, frames: int = 4):
    return list(Simulator(scene, integrator, device="cpu").run(frames))


@pytest.mark.parametrize("gravity", [Channel.constant(GRAVITY), CHANGING], ids=["as is", "keyed"])
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda kind: type(kind).__name__)
def test_what_pulls_like_gravity_moves_bodies_as_gravity_does(integrator, gravity) -> None:
    """Down to the ground, and about on it."""
    scenes = [
        Scene([body()], Ground(), NOWHERE, forces=[Pull(gravity)]),
        Scene([body()], Ground(), gravity),
    ]
    pulled, fallen = (run(scene, integrator, 6)[-1] for scene in scenes)
    lowest = float(fallen.positions[0][:, 2].min())
    assert lowest < 0.01
    # To the tolerance of steps: forces of a script's own may resist, so momentum is not balanced.
    torch.testing.assert_close(pulled.positions[0], fallen.positions[0], rtol=0.0, atol=1e-4)
    energies = pulled.report.energies
    assert energies.gravity == 0.0
    assert energies.forces == pytest.approx(fallen.report.energies.gravity, rel=1e-4)
    assert energies.total == pytest.approx(fallen.report.energies.total, rel=1e-4)


@pytest.mark.parametrize(
    "integrator",
    [SymplecticEuler(), ImplicitEuler(), BDF2(), SDIRK2()],
    ids=lambda kind: type(kind).__name__,
)
def test_a_tethered_body_hangs_where_its_weight_and_the_tether_balance(integrator) -> None:
    """The vertex it hangs by sinks by m g / k below the anchor."""
    stiffness = 400.0
    tether = Tether(7, stiffness, (0.2, 0.2, 0.25))
    scene = Scene([body(damping=8.0)], forces=[tether])
    frame = run(scene, integrator, 72)[-1]
    weight = 1000.0 * 0.2**3 * 9.81
    hung = frame.positions[0][7]
    assert float(hung[2]) == pytest.approx(0.25 - weight / stiffness, rel=0.01)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda kind: type(kind).__name__)
def test_wind_takes_bodies_along_by_and_by(integrator) -> None:
    """v = w (1 − e^(−kt)), from rest and without weight."""
    rate, wind, frames = 2.0, np.array([3.0, 0.0, 1.0]), 12
    scene = Scene([body()], gravity=NOWHERE, forces=[Wind(rate, tuple(wind))])
    last = list(Simulator(scene, integrator, substeps=None, device="cpu").run(frames))[-1]
    found = last.velocities[0].mean(dim=0).numpy()
    expected = wind * (1.0 - math.exp(-rate * frames / 24.0))
    # Of one step a frame, the first order is off by about k h / 2.
    np.testing.assert_allclose(found, expected, rtol=0.03, atol=1e-6)


def test_a_static_equilibrium_knows_forces() -> None:
    stiffness = 400.0
    scene = Scene([body()], forces=[Tether(7, stiffness, (0.2, 0.2, 0.25))])
    hung = Simulator(scene, device="cpu").settle().positions[0][7]
    weight = 1000.0 * 0.2**3 * 9.81
    assert float(hung[2]) == pytest.approx(0.25 - weight / stiffness, rel=1e-3)


def test_what_says_that_it_is_stiff_is_left_to_implicit_steps() -> None:
    scene = Scene([body()], forces=[StiffTether(7, 4e5, (0.2, 0.2, 0.25))])
    with pytest.raises(
        SceneError, match=r"Jelly: the force _StiffEnergy is too stiff for Symplectic Euler"
    ):
        Simulator(scene, SymplecticEuler(), device="cpu")
    frame = run(scene, Automatic(), 2)[-1]
    assert frame.report.integrator == "SDIRK2"
    assert math.dist(frame.positions[0][7].tolist(), (0.2, 0.2, 0.25)) < 1e-3


def test_what_has_no_energy_is_no_force() -> None:
    with pytest.raises(SceneError, match=r"9\.81 is not a force"):
        Scene([body()], forces=[9.81])  # type: ignore[list-item]


def test_a_scene_with_forces_is_in_no_file(tmp_path) -> None:
    scene = Scene([body()], forces=[Pull(Channel.constant(GRAVITY))])
    with pytest.raises(SceneError, match="No file can hold the class Pull"):
        save_scene(tmp_path / "scene.json", scene, {})
    assert not list(tmp_path.iterdir())
    save_scene(tmp_path / "scene.json", Scene([body()]), {})
    assert load_scene(tmp_path / "scene.json")[0].forces == []
    assert np.array_equal(
        load_scene(tmp_path / "scene.json")[0].bodies[0].mesh.vertices, body().mesh.vertices
    )
