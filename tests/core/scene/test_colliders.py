# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies in explicit steps on a bouncy ground and on fixed spheres."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from supple.core import Ground, Scene, SceneError, Simulator, SoftBody, Sphere, SurfaceMesh, TetMesh
from supple.core import simulator as simulator_module
from supple.core.integrators import (
    Adaptive,
    Automatic,
    Integrator,
    RungeKutta4,
    SymplecticEuler,
    explicit_stepper,
)
from supple.core.materials import StableNeoHookean
from supple.tests.core.pretended_cuda import pretended_cuda

MakeBlock = Callable[..., TetMesh]
GRAVITY = 9.81
# So soft that its vertices move like four particles.
NO_STUFF = StableNeoHookean(1e-6, 0.0)
CORNER = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


def _particles(at: tuple[float, float, float], size: float) -> TetMesh:
    return TetMesh(size * (CORNER - CORNER.mean(axis=0)) + at, [[0, 1, 2, 3]])


def _ellipsoid(make_block: MakeBlock, at: tuple[float, float, float]) -> TetMesh:
    cube = make_block((4, 4, 4), (2.0, 2.0, 2.0), (-1.0, -1.0, -1.0))
    length = np.linalg.norm(cube.vertices, axis=1)
    share = np.abs(cube.vertices).max(axis=1) / np.where(length > 0.0, length, 1.0)
    return TetMesh(share[:, None] * cube.vertices * (0.6, 0.4, 0.25) + at, cube.tets)


def _impulses(simulator: Simulator) -> NDArray[np.float64]:
    """(3,) sum of what obstacles give from now on, in N s."""
    system, total = simulator.system, np.zeros(3)
    meet = system.obstacles.collide

    def counted(
        positions: torch.Tensor, velocities: torch.Tensor, step: float, times: torch.Tensor
    ) -> None:
        before = velocities.clone()
        meet(positions, velocities, step, times)
        # A velocity that decays keeps less of a force than that gave.
        total[:] += ((velocities - before) @ (system.mass * step / times)).numpy()

    system.obstacles.collide = counted  # type: ignore[method-assign, assignment]
    return total


# Bounces


@pytest.mark.parametrize("restitution", [0.3, 0.8, 1.0])
@pytest.mark.parametrize("obstacle", ["ground", "sphere"])
def test_particles_bounce_to_the_square_of_the_restitution(
    obstacle: str, restitution: float
) -> None:
    smooth = {"friction": 0.0, "restitution": restitution}
    body = SoftBody(_particles((0.0, 0.0, 0.5), 0.01), NO_STUFF)
    scene = Scene([body], colliders=[Sphere((0.0, 0.0, -1.0), 1.0, **smooth)])
    if obstacle == "ground":
        scene = Scene([body], ground=Ground(response="projection", **smooth))
    simulator = Simulator(scene, SymplecticEuler(), frame_time=0.01, substeps=50)
    heights = np.stack([f.positions[0][:, 2].numpy() for f in simulator.run(100)])
    for start, path in zip(body.mesh.vertices[:, 2], heights.T, strict=True):
        turn = int(np.argmax(np.diff(path) > 0.0))
        # Steps of h err by g h in the speed of landing, 0.07 % here, and frames 10 ms apart miss
        # the top by up to g/2 (5 ms)², 0.3 % of the lowest.
        assert path[turn:].max() == pytest.approx(restitution**2 * start, rel=0.01)


def test_a_bounce_adds_no_energy_to_an_elastic_body(make_block) -> None:
    body = SoftBody(make_block(origin=(-0.5, -0.5, 0.5)), StableNeoHookean(1e5, 0.3))
    sphere = Sphere((0.0, 0.0, -2.0), 2.0, friction=0.0, restitution=1.0)
    simulator = Simulator(Scene([body], colliders=[sphere]), SymplecticEuler(), substeps=100)
    start = simulator.system.energies(simulator.state).total
    totals = [frame.report.energies.total for frame in simulator.run(48)]
    # The body falls by half a metre; a step's own error goes with its length.
    assert max(totals) < start + 0.01 * 0.5 * 1000.0 * GRAVITY


def test_a_penalty_alone_stops_a_fall_before_it_bounces() -> None:
    # k h is large: the push takes all of the speed, and nothing is left to be turned round.
    body = SoftBody(_particles((0.0, 0.0, 0.1), 0.01), NO_STUFF)
    ground = Ground(friction=0.0, restitution=1.0, response="projection", penalty=1e6)
    simulator = Simulator(Scene([body], ground=ground), SymplecticEuler(), substeps=100)
    *_, last = simulator.run(12)
    assert float(last.positions[0][:, 2].max()) < 1e-3


# Sliding


def _on_sphere(
    angle: float, friction: float, kinetic: float | None = None, own: float | None = None
) -> Simulator:
    """Particles at rest on a sphere of 1 m, at an angle from its top; ``own`` is their friction."""
    near = _particles((math.sin(angle), 0.0, math.cos(angle)), 1e-3)
    start = near.vertices / np.linalg.norm(near.vertices, axis=1)[:, None]
    body = SoftBody(near, NO_STUFF, initial_positions=start * (1.0 + 1e-9), friction=own)
    sphere = Sphere((0.0, 0.0, 0.0), 1.0, friction=friction, kinetic_friction=kinetic)
    scene = Scene([body], colliders=[sphere])
    return Simulator(scene, SymplecticEuler(), frame_time=0.01, substeps=20)


def _angle(positions: torch.Tensor) -> float:
    x, _, z = positions.mean(0).tolist()
    return math.atan2(x, z)


def test_particles_stick_to_a_sphere_below_the_angle_of_friction_and_slide_above() -> None:
    angle = math.atan(0.5)
    for friction, slides in ((0.51, False), (0.49, True)):
        *_, last = _on_sphere(angle, friction).run(100)
        moved = _angle(last.positions[0]) - angle
        assert (moved > 0.05) if slides else (abs(moved) < 1e-4)


def test_of_particles_and_a_sphere_the_geometric_mean_counts() -> None:
    angle = math.atan(0.5)
    for own, friction, slides in ((2.0, 0.14, False), (0.12, 2.0, True)):
        *_, last = _on_sphere(angle, friction, own=own).run(100)
        moved = _angle(last.positions[0]) - angle
        assert (moved > 0.05) if slides else (abs(moved) < 1e-4)


@pytest.mark.parametrize(("static", "own"), [(0.3, None), (0.75, None), (0.6, 0.15)])
def test_particles_slide_on_a_flank_with_the_closed_form_acceleration(static, own) -> None:
    angle, friction, seconds = 0.7, 0.3, 0.06
    kinetic = friction if own is None else 0.6
    *_, last = _on_sphere(angle, static, kinetic, own).run(round(seconds / 0.01))
    acceleration = GRAVITY * (math.sin(angle) - friction * math.cos(angle))
    # The flank gets steeper by 1 % on the way.
    assert _angle(last.positions[0]) - angle == pytest.approx(
        0.5 * acceleration * seconds**2, rel=0.03
    )


def test_without_friction_particles_leave_a_sphere_at_two_thirds_of_their_height() -> None:
    # v² = 2 g r (cos a − cos b), and the sphere stops pushing where v² = g r cos b; from there on
    # the horizontal speed v cos b stays.
    *_, last = _on_sphere(0.2, 0.0).run(150)
    leaving = 2.0 / 3.0 * math.cos(0.2)
    expected = math.sqrt(GRAVITY * leaving) * leaving
    assert float(last.positions[0].norm(dim=1).min()) > 1.1
    assert float(last.velocities[0][:, 0].mean()) == pytest.approx(expected, rel=0.01)


# Impulses


def test_a_body_at_rest_on_a_bouncy_ground_presses_with_its_weight_in_the_mean(make_block) -> None:
    body = SoftBody(make_block(origin=(0.0, 0.0, 0.01)), StableNeoHookean(3e4, 0.3), damping=8.0)
    scene = Scene([body], ground=Ground(response="projection"))
    simulator = Simulator(scene, SymplecticEuler())
    list(simulator.run(48))
    total = _impulses(simulator)
    list(simulator.run(24))
    np.testing.assert_allclose(total, [0.0, 0.0, 1000.0 * GRAVITY], atol=1e-3 * 1000.0 * GRAVITY)


def test_what_obstacles_give_and_gravity_are_all_that_changes_momentum(make_block) -> None:
    body = SoftBody(_ellipsoid(make_block, (0.2, 0.1, 0.9)), StableNeoHookean(3e4, 0.4))
    sphere = Sphere((0.0, 0.0, 0.0), 0.5, friction=0.6, restitution=0.4, penalty=10.0)
    ground = Ground(-0.4, response="projection", restitution=0.2)
    simulator = Simulator(Scene([body], ground, colliders=[sphere]), SymplecticEuler())
    total = _impulses(simulator)
    *_, last = simulator.run(24)
    mass = simulator.system.mass.numpy()
    weight = np.array([0.0, 0.0, -GRAVITY * mass.sum()])
    assert np.abs(total).min() > 1.0
    np.testing.assert_allclose(mass @ last.velocities[0].numpy(), weight + total, rtol=1e-9)


def test_an_ellipsoid_at_rest_on_a_sphere_presses_with_its_weight_in_the_mean(make_block) -> None:
    simulator = _dropped(make_block, SymplecticEuler())
    list(simulator.run(48))
    total = _impulses(simulator)
    list(simulator.run(24))
    weight = GRAVITY * float(simulator.system.mass.sum())
    # It still rocks a little.
    np.testing.assert_allclose(total, [0.0, 0.0, weight], atol=0.01 * weight)


# Contact


def _dropped(make_block: MakeBlock, integrator: Integrator) -> Simulator:
    """An ellipsoid above a sphere of half a metre around the origin."""
    mesh = _ellipsoid(make_block, (0.0, 0.0, 0.85))
    body = SoftBody(mesh, StableNeoHookean(1e5, 0.4), damping=4.0)
    return Simulator(Scene([body], colliders=[Sphere((0.0, 0.0, 0.0), 0.5)]), integrator)


@pytest.mark.parametrize(
    "integrator", [Automatic(), RungeKutta4(), Adaptive()], ids=lambda kind: type(kind).__name__
)
def test_an_ellipsoid_dropped_on_a_sphere_comes_to_rest_on_it_and_is_never_inside(
    make_block, integrator
) -> None:
    simulator = _dropped(make_block, integrator)
    frames = list(simulator.run(56))
    gaps = [float(frame.positions[0].norm(dim=1).min()) - 0.5 for frame in frames]
    assert gaps[0] > 0.05
    assert min(gaps) > -1e-12
    assert gaps[-1] < 1e-4
    weight = GRAVITY * float(simulator.system.mass.sum())
    # Less than by falling a millimetre.
    assert frames[-1].report.energies.kinetic < 1e-3 * weight


def test_led_pins_are_carried_through_a_sphere_and_not_pushed(make_block) -> None:
    mesh = make_block((4, 1, 1), (1.0, 0.1, 0.1), (0.0, 0.0, 0.6))
    left = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    path = mesh.vertices[left] + np.linspace(0.0, -0.6, 12)[:, None, None] * [0.0, 0.0, 1.0]
    body = SoftBody(mesh, StableNeoHookean(1e5, 0.3), pinned=left, pin_path=path, damping=1.0)
    scene = Scene([body], colliders=[Sphere((0.0, 0.0, 0.0), 0.5)])
    free = np.setdiff1d(np.arange(len(mesh.vertices)), left)
    for frame in Simulator(scene, SymplecticEuler()).run(11):
        np.testing.assert_allclose(frame.positions[0][left].numpy(), path[frame.index], atol=1e-12)
        assert float(frame.positions[0][free].norm(dim=1).min()) > 0.5 - 1e-12


def test_between_a_sphere_and_the_ground_the_ground_has_the_last_word(make_block) -> None:
    body = SoftBody(make_block(origin=(0.0, 0.0, 0.01)), StableNeoHookean(1e4, 0.3))
    # It presses down on the block from the side.
    sphere = Sphere((-0.9, 0.5, 1.0), 0.88, friction=0.0)
    simulator = Simulator(Scene([body], Ground(), (-9.0, 0, -9.81), [sphere]), SymplecticEuler())
    distances = [frame.report.minimum_ground_distance for frame in simulator.run(24)]
    assert min(d for d in distances if d is not None) > 0.0


# The start


def test_tets_that_stand_out_of_a_surface_may_stand_into_the_sphere(make_block) -> None:
    block = make_block((1, 1, 1), (1.0, 1.0, 1.0), (-0.5, -0.5, 0.0))
    surface = SurfaceMesh(block.vertices, block.surface, edge_length=0.3)
    body = SoftBody(surface, StableNeoHookean(1e6, 0.3))
    simulator = Simulator(
        Scene([body], colliders=[Sphere((0.1, 0.0, -0.5), 0.5)]), SymplecticEuler()
    )
    middle, points = torch.tensor([[0.1], [0.0], [-0.5]]), simulator.system.obstacles.points
    assert points is not None

    def closest() -> float:
        """The distance of the visible mesh from the middle of the sphere."""
        return float((points.gather(simulator.state.positions) - middle).norm(dim=0).min())

    assert closest() > 0.5 - 1e-12
    start = float(simulator.state.positions[2].max())
    for frame in simulator.run(12):
        assert closest() > 0.5 - 1e-9
        # It may topple, but is not flung.
        assert float(frame.positions[0][:, 2].max()) < start + 0.05


@pytest.mark.parametrize("as_surface", [True, False])
def test_a_body_that_overlaps_a_sphere_is_refused_with_the_depth(make_block, as_surface) -> None:
    mesh = make_block((1, 1, 1))
    solid = SurfaceMesh(mesh.vertices, mesh.surface) if as_surface else mesh
    # It is the middle of a face that the sphere has gone through, far from all vertices.
    scene = Scene([SoftBody(solid, name="Box")], colliders=[Sphere((0.4, 0.6, -0.1), 0.3)])
    with pytest.raises(SceneError, match=r"Box starts 0\.2 m inside the collider Sphere; move"):
        Simulator(scene, SymplecticEuler())


# Every way to compute it


def _landing(make_block: MakeBlock, device: str, frames: int) -> torch.Tensor:
    """The end positions of an ellipsoid that has come down between two spheres."""
    mesh = _ellipsoid(make_block, (0.2, 0.1, 0.74))
    body = SoftBody(mesh, StableNeoHookean(3e4, 0.4), velocity=(0.0, 0.0, -3.0))
    spheres = [Sphere((0.0, 0.0, 0.0), 0.5, 0.4, 0.3, 5.0), Sphere((0.7, 0.0, -0.1), 0.4, 0.0)]
    simulator = Simulator(
        Scene([body], Ground(-0.4), colliders=spheres),
        SymplecticEuler(),
        frame_time=0.01,
        device=device,
    )
    *_, last = simulator.run(frames)
    return last.positions[0].cpu()


def test_torch_passes_agree_with_the_compiled_loops(make_block, request) -> None:
    compiled = _landing(make_block, "cpu", 20)
    request.getfixturevalue("without_compiled_loops")
    torch.testing.assert_close(_landing(make_block, "cpu", 20), compiled, rtol=0, atol=1e-8)


def test_nothing_on_a_cuda_device_meets_the_host(make_block, monkeypatch) -> None:
    expected = _landing(make_block, "cpu", 2)
    monkeypatch.setattr(simulator_module, "find_device", torch.device)
    monkeypatch.setattr(explicit_stepper, "CapturedStep", lambda step: step)
    with pretended_cuda():
        found = _landing(make_block, "cuda", 2)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_cuda_agrees_with_the_processor(make_block) -> None:
    on_cuda, on_host = (_landing(make_block, device, 20) for device in ("cuda", "cpu"))
    torch.testing.assert_close(on_cuda, on_host, rtol=0, atol=1e-6)
