# SPDX-License-Identifier: GPL-3.0-or-later
"""Stitches pull bodies together, and no farther than they should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from supple.core import (
    Channel,
    Contact,
    Ground,
    Release,
    Scene,
    SceneError,
    Simulator,
    SoftBody,
    Stitches,
    SurfaceMesh,
)
from supple.core.integrators import ImplicitEuler, integrator_named
from supple.core.materials import StableNeoHookean
from supple.core.potentials.stitch_threads import StitchThreads
from supple.core.scene.collision_points import contact_distances
from supple.core.system import System
from supple.tests.core.balls import ball_surface

NO_WEIGHT = (0.0, 0.0, 0.0)


@pytest.fixture
def halves(make_block) -> list[SoftBody]:
    """Two cubes, a fifth of a metre apart."""
    upper = make_block((1, 1, 1), origin=(0.0, 0.0, 1.2))
    return [SoftBody(make_block((1, 1, 1)), damping=20.0), SoftBody(upper, damping=20.0)]


def _faces(halves) -> tuple[np.ndarray, np.ndarray]:
    lower, upper = (body.mesh.vertices[:, 2] for body in halves)
    return np.flatnonzero(lower == 1.0), np.flatnonzero(upper == 1.2)


def _gaps(halves, positions) -> np.ndarray:
    """The (4,) gaps between the corners that face each other."""
    own, other = _faces(halves)
    return np.linalg.norm(positions[0].numpy()[own] - positions[1].numpy()[other], axis=1)


def _scene(halves, **settings) -> Scene:
    own, other = _faces(halves)
    seam = Stitches(0, own, 1, other, **settings)
    return Scene(halves, gravity=NO_WEIGHT, forces=[seam])


def _threads(scene: Scene) -> tuple[StitchThreads, torch.Tensor]:
    system = System(scene, torch.device("cpu"), torch.float64)
    (found,) = (part for part in system.forces if isinstance(part, StitchThreads))
    return found, system.rest_positions()


def test_the_gap_closes_as_it_is_keyed(halves) -> None:
    closed = np.array([0.0, 0.0, 0.25, 0.5, 0.75, 1.0])
    simulator = Simulator(_scene(halves, closed=Channel(closed), gap=0.05))
    for frame in simulator.run(20):
        wanted = 0.05 + 0.15 * (1.0 - closed[min(frame.index, 5)])
        assert _gaps(halves, frame.positions).max() < wanted + 0.01
        if frame.index == 1:
            np.testing.assert_allclose(_gaps(halves, frame.positions), 0.2, atol=1e-9)
    np.testing.assert_allclose(_gaps(halves, frame.positions), 0.05, atol=2e-3)


def test_threads_change_neither_momentum_nor_angular_momentum(halves) -> None:
    threads, rest = _threads(_scene(halves, closed=0.5))
    random = torch.Generator().manual_seed(3)
    positions = rest + 0.1 * torch.randn(rest.shape, generator=random, dtype=torch.float64)
    forces = threads.gradient(positions)
    assert float(forces.abs().max()) > 1.0
    assert float(forces.sum(dim=1).abs().max()) < 1e-9
    torque = torch.linalg.cross(positions, forces, dim=0).sum(dim=1)
    assert float(torque.abs().max()) < 1e-9


def test_a_thread_pulls_by_what_it_is_too_long_and_never_pushes(halves) -> None:
    threads, rest = _threads(_scene(halves, closed=0.5, gap=0.1))
    # From 0.2 m to 0.15 m.
    tension = threads.tensions(rest)
    stiffness = 25.0 * 1e5 * np.array([body.mesh.mean_edges.mean() for body in halves]).mean()
    np.testing.assert_allclose(tension, 0.05 * stiffness, rtol=0.2)
    nearer = rest.clone()
    nearer[2, 8:] -= 0.1
    assert float(threads.tensions(nearer).abs().max()) == 0.0
    assert float(threads.gradient(nearer).abs().max()) == 0.0
    assert float(threads.energy(nearer)) == 0.0


def test_what_starts_closer_than_the_gap_is_not_pulled(halves) -> None:
    threads, rest = _threads(_scene(halves, closed=1.0, gap=0.3))
    assert float(threads.energy(rest)) == 0.0


def test_closed_stitches_leave_the_distance_of_contact_and_nothing_crosses(halves) -> None:
    pytest.importorskip("ipctk")
    scene = replace(_scene(halves, closed=Channel([0.0, 0.5, 1.0])), contact=Contact())
    distance = float(contact_distances(scene)[0, 1])
    simulator = Simulator(scene)
    *_, last = simulator.run(12)
    np.testing.assert_allclose(_gaps(halves, last.positions), distance, rtol=0.1)
    assert last.positions[0][:, 2].max() < last.positions[1][:, 2].min()


def test_a_slit_in_a_body_closes(make_block) -> None:
    """A bar that is bent into a ring, end to end."""
    mesh = make_block((1, 1, 6), (0.2, 0.2, 3.0))
    low, high = (np.flatnonzero(mesh.vertices[:, 2] == z) for z in (0.0, 3.0))
    start = mesh.vertices.copy()
    angle = 5.8 * start[:, 2] / 3.0
    radius = 0.6 - start[:, 0]
    start[:, 0], start[:, 2] = radius * np.cos(angle), radius * np.sin(angle)
    bent = mesh.with_vertices(start)
    body = SoftBody(bent, damping=10.0)
    seam = Stitches(0, low, 0, high, closed=Channel(np.linspace(0.0, 1.0, 9)))
    *_, last = Simulator(Scene([body], gravity=NO_WEIGHT, forces=[seam])).run(16)
    ends = last.positions[0].numpy()
    before = np.linalg.norm(start[low] - start[high], axis=1)
    after = np.linalg.norm(ends[low] - ends[high], axis=1)
    assert before.min() > 0.15 and after.max() < 0.03


def test_stitches_let_go_at_a_frame_and_tear_at_a_force(halves) -> None:
    scene = _scene(halves, closed=1.0, gap=0.0, release=Release(frame=2))
    simulator = Simulator(scene)
    frames = list(simulator.run(4))
    assert _gaps(halves, frames[1].positions).max() < 0.05
    assert not simulator.system.forces
    torn = _scene(halves, closed=1.0, gap=0.0, release=Release(force=10.0))
    assert torn.stitches[0].release is not None
    simulator = Simulator(torn)
    list(simulator.run(2))
    assert not simulator.system.forces


def test_explicit_steps_refuse_stitches_and_automatic_goes_without(halves) -> None:
    scene = _scene(halves)
    for name in ("symplectic_euler", "xpbd"):
        with pytest.raises(SceneError, match=r"a stitch is too stiff .* choose Automatic or an "):
            Simulator(scene, integrator_named(name))
    simulator = Simulator(scene, integrator_named("automatic"))
    assert simulator.stepper.label == "SDIRK2"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"other": 5}, "Stitches: there is no body 5"),
        ({"other": 0}, "Stitches within a body need the points of either side"),
        ({"points": []}, "there is no point to stitch"),
        ({"points": [99]}, "a stitched point lies outside 0 … 7"),
        ({"closed": 1.5}, "closed from 0 to 1, not 1.5"),
        ({"closed": Channel([0.0, -0.5])}, "must be 0 or more, not -0.5"),
        ({"gap": -1.0}, "the gap|The gap of stitches"),
        ({"other": 0, "other_points": [0, 3]}, "a point is stitched to itself"),
    ],
)
def test_no_sense(halves, settings, message) -> None:
    def simulate() -> None:
        stitches = Stitches(**{"body": 0, "points": [0, 1], "other": 1} | settings)
        Simulator(Scene(halves, forces=[stitches]))

    with pytest.raises(SceneError, match=message):
        simulate()


def test_a_ball_that_is_pulled_to_the_inside_of_another_is_found_in_few_newton_steps() -> None:
    """Threads press the two together so hard that friction and normal forces turn each other over;
    when updates of the normal forces were not relaxed, it took 225 Newton steps."""
    bodies = []
    for radius in (0.5, 0.25):
        points, triangles = ball_surface(3, radius, (0.0, 0.0, 0.55))
        mesh = SurfaceMesh(points, triangles.astype(np.int32), edge_length=0.2)
        bodies.append(SoftBody(mesh, StableNeoHookean(1e5, 0.4)))
    upper = np.flatnonzero(points[:, 2] > 0.56).astype(np.int32)
    scene = Scene(bodies, Ground(), contact=Contact(), forces=[Stitches(1, upper, 0)])
    (frame,) = Simulator(scene, ImplicitEuler()).run(1)
    statistics = frame.report.solver_statistics
    assert statistics.converged and statistics.steps == 1 and statistics.contacts > 100
    assert statistics.iterations < 60
