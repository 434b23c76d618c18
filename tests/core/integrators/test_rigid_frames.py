# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that turn by large angles in a step keep what they have."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from supple.core import Attachment, Scene, Simulator, SoftBody
from supple.core.integrators import BDF2, SDIRK2, ImplicitEuler, Integrator, SymplecticEuler
from supple.core.integrators.rigid_frames import RigidFrames
from supple.core.materials import StableNeoHookean
from supple.core.system import System
from supple.verification.meshes import block

WEIGHTLESS = (0.0, 0.0, 0.0)
CPU = torch.device("cpu")
IMPLICIT = pytest.mark.parametrize(
    "integrator", [ImplicitEuler(), BDF2(), SDIRK2()], ids=lambda one: type(one).__name__
)


def solid(
    size: tuple[float, float, float] = (0.2, 0.2, 0.2),
    cells: tuple[int, int, int] = (2, 2, 2),
    young: float = 1e7,
    **options,
) -> SoftBody:
    mesh = block(cells, size, (-0.5 * np.array(size)).tolist())
    return SoftBody(mesh, StableNeoHookean(young, 0.4), **options)


def angular_momentum(simulator: Simulator) -> np.ndarray:
    system, state = simulator.system, simulator.state
    centre = (system.mass * state.positions).sum(1, keepdim=True) / system.mass.sum()
    arms = state.positions - centre
    return torch.linalg.cross(arms, system.mass * state.velocities, dim=0).sum(1).numpy()


@IMPLICIT
@pytest.mark.parametrize(("young", "rate"), [(1e6, 5.0), (1e6, 20.0), (1e8, 60.0), (1e9, 60.0)])
def test_a_body_that_turns_in_free_space_keeps_its_spin_and_its_energy(
    integrator: Integrator, young: float, rate: float
) -> None:
    body = solid(young=young, angular_velocity=(0.3 * rate, 0.0, rate), velocity=(3.0, 0.0, 0.0))
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), integrator)
    start, energy = angular_momentum(simulator), simulator.system.energies(simulator.state).total
    *_, last = simulator.run(24)
    size = float(np.linalg.norm(start))
    np.testing.assert_allclose(angular_momentum(simulator), start, atol=2e-3 * size)
    assert 0.98 * energy < last.report.energies.total < 1.001 * energy


def test_a_slab_about_its_middle_axis_tumbles_as_eulers_equations_say() -> None:
    size = np.array([0.3, 0.2, 0.1])
    spin = np.array([0.2, 12.0, 0.1])
    body = solid(tuple(size), (3, 2, 1), 1e8, angular_velocity=tuple(spin))
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), SDIRK2())
    system = simulator.system
    mass, at = system.mass.numpy(), system.initial_positions.numpy()
    at = at - (mass * at).sum(axis=1, keepdims=True) / mass.sum()
    inertia = np.einsum("n,in,jn->ij", mass, at, at)
    inertia = np.trace(inertia) * np.eye(3) - inertia
    momentum = inertia @ spin

    def rate(_: float, flat: np.ndarray) -> np.ndarray:
        turned = flat.reshape(3, 3)
        angular = turned @ np.linalg.solve(inertia, turned.T @ momentum)
        return np.cross(angular, turned, axisb=0, axisc=0).ravel()

    frames = 36
    exact = solve_ivp(rate, (0.0, frames / 24.0), np.eye(3).ravel(), rtol=1e-10, atol=1e-12)
    expected = exact.y[:, -1].reshape(3, 3)
    *_, last = simulator.run(frames)
    ended = last.positions[0].numpy().T
    ended = ended - (mass * ended).sum(axis=1, keepdims=True) / mass.sum()
    found, _ = Rotation.align_vectors(ended.T, at.T)
    off = (found * Rotation.from_matrix(expected).inv()).magnitude()
    assert Rotation.from_matrix(expected).magnitude() > 0.5
    assert np.degrees(off) < 3.0


@pytest.mark.parametrize(
    ("integrator", "steps"), [(BDF2(), 24), (SDIRK2(), 8)], ids=["BDF2", "SDIRK2"]
)
def test_a_soft_body_that_spins_widens_as_in_short_explicit_steps(
    integrator: Integrator, steps: int
) -> None:
    """Centrifugal force and Coriolis's, which a frame that turns with the body has to add."""

    def widths(kind: Integrator, substeps: int) -> np.ndarray:
        body = solid((0.2, 0.2, 0.05), (3, 3, 1), 3e4, angular_velocity=(0.0, 0.0, 12.0))
        simulator = Simulator(Scene([body], gravity=WEIGHTLESS), kind, substeps=substeps)
        found = []
        for frame in simulator.run(12):
            arms = frame.positions[0].numpy()
            arms = arms - arms.mean(axis=0)
            found.append(np.linalg.norm(arms[:, :2], axis=1).mean())
        return np.array(found)

    exact = widths(SymplecticEuler(), 400)
    growth = float(np.ptp(exact))
    assert growth > 0.02 * exact[0]
    assert np.abs(widths(integrator, steps) - exact).max() < 0.12 * growth


@pytest.mark.parametrize("pins", ["line", "point"])
def test_what_hangs_from_a_hinge_swings_up_again(pins: str) -> None:
    mesh = block((8, 1, 1), (1.0, 0.1, 0.1), (0.0, -0.05, -0.05))
    on_edge = (mesh.vertices[:, 0] == 0.0) & (mesh.vertices[:, 2] > 0.0)
    pinned = np.flatnonzero(on_edge if pins == "line" else on_edge & (mesh.vertices[:, 1] > 0.0))
    body = SoftBody(mesh, StableNeoHookean(1e7, 0.3), pinned=pinned)
    heights = []
    for frame in Simulator(Scene([body]), SDIRK2()).run(48):
        heights.append(float(frame.positions[0][:, 2].mean()))
    lowest = int(np.argmin(heights))
    assert heights[lowest] < -0.4
    # What falls from rest comes as high again, less what frames do not show of the turning point.
    assert max(heights[lowest:]) > heights[0] - 0.06


def test_pieces_move_as_they_can() -> None:
    def system(**options) -> System:
        return System(Scene([solid(**options)]), CPU, torch.float64)

    corners = np.array([0, 1])
    free, hinged = RigidFrames(system()), RigidFrames(system(pinned=corners))
    held = RigidFrames(system(pinned=np.arange(4)))
    assert bool(free.are_free.all()) and not bool(hinged.are_free.any())
    assert held.are_still and not hinged.are_still

    def turned(frames: RigidFrames, of: System, spin: torch.Tensor) -> torch.Tensor:
        at = of.initial_positions
        spin = spin[:, None].expand_as(at)
        hinge = at[:, :1]
        return frames.begin(at, torch.linalg.cross(spin, at - hinge, dim=0), 0.1).at(0.0).angular[0]

    own = system(pinned=corners)
    axis = own.initial_positions[:, 1] - own.initial_positions[:, 0]
    axis = axis / axis.norm()
    spin = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    torch.testing.assert_close(turned(free, system(), spin), spin, rtol=3e-6, atol=0.0)
    torch.testing.assert_close(turned(hinged, own, 2.0 * axis), 2.0 * axis, rtol=3e-6, atol=1e-9)
    # What turns across a hinge does not turn about it.
    across = turned(hinged, own, spin)
    torch.testing.assert_close(across, axis * (axis @ across))
    assert not bool(turned(held, system(pinned=np.arange(4)), spin).any())


def test_what_is_attached_turns_as_one() -> None:
    one, other = solid(name="One"), solid(name="Other")
    scene = Scene([one, other], attachments=[Attachment(1, np.array([0, 1, 2]), 0)])
    assert RigidFrames(System(scene, CPU, torch.float64)).count == 1
    assert RigidFrames(System(Scene([one, other]), CPU, torch.float64)).count == 2
