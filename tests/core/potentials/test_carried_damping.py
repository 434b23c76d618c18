# SPDX-License-Identifier: GPL-3.0-or-later
"""Damping is relative to the pins and goals that carry a body, beside closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from supple.core import Attachment, Goals, Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    XPBD,
    Automatic,
    ImplicitEuler,
    Midpoint,
    RungeKutta4,
    SymplecticEuler,
)
from supple.core.integrators.explicit_stepper import ExplicitStepper
from supple.core.materials import StableNeoHookean
from supple.core.potentials.carried_damping import CarriedDamping, rigid_motion
from supple.verification.meshes import block

#: A bar of 1 m.
MESH = block((1, 1, 4), (0.2, 0.2, 1.0), (0.0, 0.0, 0.0))
VERTICES = MESH.vertices
FOOT = np.flatnonzero(VERTICES[:, 2] < 1e-9)
STIFF = StableNeoHookean(3e5, 0.3)
FRAME_TIME, FREQUENCY, DAMPING = 1.0 / 24.0, 2.0, 2.0
WEIGHTLESS = (0.0, 0.0, 0.0)
STEPS = [
    (SymplecticEuler(), None),
    (Midpoint(), None),
    (RungeKutta4(), None),
    (XPBD(), 20),
    (ImplicitEuler(1e-9), 1),
    (ImplicitEuler(1e-9), 3),
    (BDF2(1e-9), 2),
    (SDIRK2(1e-9), 2),
    (Automatic(), None),
]


def rotations(angles) -> np.ndarray:
    """The (T, 3, 3) rotations about an axis beside the bar."""
    zero, one = np.zeros_like(angles), np.ones_like(angles)
    c, s = np.cos(angles), np.sin(angles)
    return np.stack([c, zero, s, zero, one, zero, -s, zero, c], axis=1).reshape(-1, 3, 3)


CENTRE = np.array([0.5, 0.1, -0.2])


def turned(points, angles) -> np.ndarray:
    """(T, P, 3)."""
    return CENTRE + np.einsum("tij,pj->tpi", rotations(angles), points - CENTRE)


def line(points, displacements) -> np.ndarray:
    """(T, P, 3) along x."""
    return points + np.asarray(displacements)[:, None, None] * np.array([1.0, 0.0, 0.0])


def body(
    path, indices, kind, damping=DAMPING, frequency=FREQUENCY, ratio=0.3, young=3e5, **more
) -> SoftBody:
    """Pinned at some vertices that take a (T, P, 3) path, or drawn to goals there."""
    material = StableNeoHookean(young, 0.3)
    if kind == "pins":
        return SoftBody(MESH, material, pinned=indices, pin_path=path, damping=damping, **more)
    goals = Goals(indices, path, 1.0, frequency, ratio, sag_free=kind == "sag-free")
    return SoftBody(MESH, material, goals=goals, damping=damping, **more)


def at_start(kind, velocities):
    """Arguments of a body that starts with (N, 3) velocities, as one with a pose does by itself."""
    if kind == "sag-free":
        return {}
    return {"initial_velocities": np.broadcast_to(velocities, VERTICES.shape)}


def run(scene, integrator, substeps, frames):
    sim = Simulator(scene, integrator, frame_time=FRAME_TIME, substeps=substeps, device="cpu")
    *_, frame = sim.run(frames)
    return frame


ALL = np.arange(len(VERTICES))
CARRIERS = [("goals", ALL), ("goals", FOOT), ("sag-free", ALL), ("sag-free", FOOT), ("pins", FOOT)]


@pytest.mark.parametrize(("kind", "indices"), CARRIERS)
@pytest.mark.parametrize(("integrator", "substeps"), STEPS, ids=lambda value: type(value).__name__)
def test_what_is_carried_at_constant_speed_does_not_lag(
    integrator, substeps, kind, indices
) -> None:
    if isinstance(integrator, XPBD) and kind != "pins":
        pytest.skip("its goals pull by where they are at the end of a step")
    path = line(VERTICES, 12.0 * FRAME_TIME * np.arange(9))
    own = body(path[:, indices], indices, kind, **at_start(kind, [12.0, 0.0, 0.0]))
    frame = run(Scene([own], gravity=WEIGHTLESS), integrator, substeps, 8)
    np.testing.assert_allclose(frame.positions[0], path[8], rtol=0.0, atol=1e-6)


@pytest.mark.parametrize(("kind", "indices"), [("goals", ALL), ("sag-free", ALL), ("pins", FOOT)])
@pytest.mark.parametrize(
    ("integrator", "substeps"), [STEPS[0], STEPS[6]], ids=lambda v: type(v).__name__
)
def test_how_far_what_turns_with_its_carrier_is_off_does_not_depend_on_damping(
    integrator, substeps, kind, indices
) -> None:
    """Against the world it would lag by α ω r / (2πf)², far more with four times α."""
    rate, frames, ends = 3.0, 56, []
    path = turned(VERTICES, rate * FRAME_TIME * np.arange(frames + 1))
    start = at_start(kind, np.cross([0.0, rate, 0.0], VERTICES - CENTRE))
    for damping in (2.0, 8.0):
        own = body(path[:, indices], indices, kind, damping, 5.0, young=3e6, **start)
        frame = run(Scene([own], gravity=WEIGHTLESS), integrator, substeps, frames)
        ends.append(frame.positions[0].numpy())
    lag = 6.0 * rate * np.linalg.norm(VERTICES - CENTRE, axis=1).mean() / (10.0 * math.pi) ** 2
    assert np.abs(ends[1] - ends[0]).max() < 0.08 * lag


@pytest.mark.parametrize("damping", [0.5, 4.0])
def test_what_speeds_up_lags_by_the_acceleration_over_the_square_of_the_frequency(damping) -> None:
    acceleration, frames = 6.0, 96
    times = FRAME_TIME * np.arange(frames + 1)
    path = line(VERTICES, 0.5 * acceleration * times**2)
    own = body(path, ALL, "goals", damping, ratio=0.7)
    frame = run(Scene([own], gravity=WEIGHTLESS), RungeKutta4(), None, frames)
    lag = float((path[-1] - frame.positions[0].numpy())[:, 0].mean())
    # Goals go straight from frame to frame, which is ahead of the parabola in the mean.
    ahead = acceleration * FRAME_TIME**2 / 12.0
    expected = acceleration / (2.0 * math.pi * FREQUENCY) ** 2 - ahead
    assert lag == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(("kind", "young"), [("sag-free", 3e5), ("goals", 1e-3)])
@pytest.mark.parametrize(("integrator", "substeps"), [STEPS[0], STEPS[4], STEPS[6]])
def test_what_carries_may_change_its_shape(integrator, substeps, kind, young) -> None:
    """Each part goes with what is near it: rest shapes, or a body too soft to resist, follow."""
    path = line(VERTICES, np.zeros(9))
    path[..., 0] += FRAME_TIME * np.arange(9)[:, None] * VERTICES[:, 2] ** 2
    velocities = np.zeros_like(VERTICES)
    velocities[:, 0] = VERTICES[:, 2] ** 2
    own = body(path, ALL, kind, young=young, **at_start(kind, velocities))
    frame = run(Scene([own], gravity=WEIGHTLESS), integrator, substeps, 8)
    # Against the world it would lag by up to 1 m/s α / (2πf)² = 13 mm.
    np.testing.assert_allclose(frame.positions[0], path[8], rtol=0.0, atol=4e-4)


def two_pieces() -> TetMesh:
    count = len(VERTICES)
    vertices = np.concatenate([VERTICES, VERTICES + np.array([0.0, 5.0, 0.0])])
    return TetMesh(vertices, np.concatenate([MESH.tets, MESH.tets + count]))


@pytest.mark.parametrize(("integrator", "substeps"), [STEPS[0], STEPS[4]])
def test_a_piece_that_nothing_carries_slows_down_against_the_world(integrator, substeps) -> None:
    path = line(VERTICES[FOOT], 12.0 * FRAME_TIME * np.arange(13))
    own = SoftBody(
        two_pieces(), STIFF, pinned=FOOT, pin_path=path, damping=DAMPING, velocity=(12.0, 0.0, 0.0)
    )
    frame = run(Scene([own], gravity=WEIGHTLESS), integrator, substeps, 12)
    carried, free = frame.velocities[0].split(len(VERTICES))
    np.testing.assert_allclose(carried[:, 0], 12.0, atol=1e-6)
    np.testing.assert_allclose(free[:, 0], 12.0 * math.exp(-DAMPING * 0.5), rtol=1e-9)


def test_what_is_attached_to_a_carried_body_goes_along() -> None:
    path = line(VERTICES[FOOT], 12.0 * FRAME_TIME * np.arange(13))
    arm = body(path, FOOT, "pins", velocity=(12.0, 0.0, 0.0))
    top = MESH.with_vertices(VERTICES + np.array([0.0, 0.0, 1.0]))
    hand = SoftBody(top, STIFF, damping=DAMPING, velocity=(12.0, 0.0, 0.0))
    held = Attachment(1, FOOT, 0)
    scene = Scene([arm, hand], gravity=WEIGHTLESS, attachments=[held])
    frame = run(scene, ImplicitEuler(1e-9), 1, 12)
    np.testing.assert_allclose(frame.velocities[1][:, 0], 12.0, atol=1e-6)


def test_the_work_of_what_carries_is_in_the_balance_that_tells_of_divergence() -> None:
    """A hanging bar that is drawn along from rest ends with ½ M V², pins left out."""
    path = line(VERTICES[FOOT], 12.0 * FRAME_TIME * np.arange(49))
    own = body(path, FOOT, "pins", 20.0)
    sim = Simulator(
        Scene([own], gravity=WEIGHTLESS), SymplecticEuler(), frame_time=FRAME_TIME, substeps=300
    )
    stepper, given = sim.stepper, 0.0
    assert isinstance(stepper, ExplicitStepper)
    for _ in range(48):
        sim.state, work, raised = stepper._frame(sim.state)
        given += work + raised
    kinetic = 0.5 * float(sim.system.free_mass.sum()) * 12.0**2
    assert sim.frame().report.energies.kinetic == pytest.approx(kinetic, rel=1e-2)
    assert given > 0.99 * kinetic


def test_a_rigid_motion_is_met_exactly_however_far_it_turns() -> None:
    points = np.random.default_rng(0).standard_normal((7, 3))
    axis, angle = np.array([1.0, 2.0, -2.0]) / 3.0, math.radians(150.0)
    skew = np.cross(np.eye(3), axis)
    rotation = np.eye(3) + math.sin(angle) * skew + (1.0 - math.cos(angle)) * skew @ skew
    ends = [torch.as_tensor(part) for part in (points, points @ rotation.T + [3.0, -1.0, 2.0])]
    motion = rigid_motion(ends[0], ends[1], torch.zeros(7, dtype=torch.long))
    np.testing.assert_allclose(motion.rotation[0], angle * axis, rtol=1e-12)
    np.testing.assert_allclose(motion.remainder, 0.0, atol=1e-12)
    np.testing.assert_allclose(motion.shift[0], (ends[1] - ends[0]).mean(0))


def test_points_on_a_line_are_not_turned_about_it() -> None:
    start = torch.tensor([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 3.0]], dtype=torch.float64)
    end = start[:, [1, 2, 0]]
    motion = rigid_motion(start, end, torch.zeros(3, dtype=torch.long))
    np.testing.assert_allclose(motion.rotation[0], [-math.pi / 2.0, 0.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("is_line", [False, True], ids=["solid", "line"])
def test_loops_and_passes_over_arrays_are_one_force(is_line: bool) -> None:
    noise = np.random.default_rng(4).standard_normal
    chosen = FOOT[:2] if is_line else ALL
    goals = [body(part, chosen, "goals") for part in moving_otherwise(noise, chosen)]
    free = SoftBody(MESH, STIFF, damping=DAMPING)
    bodies = [goals[0], free, goals[1]]
    system = Simulator(Scene(bodies), SymplecticEuler(), frame_time=FRAME_TIME, substeps=10).system
    (damping,) = [part for part in system.forces if isinstance(part, CarriedDamping)]
    positions = system.rest_positions() + 0.1 * torch.as_tensor(noise((3, system.vertex_count)))
    for frame, fraction in ((0, 0.0), (0, 0.3), (1, 0.75), (2, 1.0)):
        results = []
        for has_loops in (True, False):
            damping._has_loops = has_loops
            damping.act(damping.at(frame, fraction))
            results.append((damping.parameters.clone(), torch.zeros_like(positions)))
            damping.add_rate_forces(positions, torch.zeros_like(positions), results[-1][1])
        for found, expected in zip(*results, strict=True):
            size = float(expected.abs().max())
            torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-10 * size)
            assert size > 0.0


def moving_otherwise(noise, chosen) -> list[np.ndarray]:
    """(T, P, 3) paths of two bodies that no rigid motion follows."""
    return [
        turned(VERTICES[chosen], rate * np.arange(4)) + 0.05 * noise((4, len(chosen), 3))
        for rate in (0.4, -0.7)
    ]
