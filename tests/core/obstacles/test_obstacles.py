# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground and spheres in explicit steps, at vertices and at points of surfaces."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from supple.core import Contact, Ground, Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import ImplicitEuler, Integrator, SymplecticEuler
from supple.core.kernels.barrier import barrier_derivative
from supple.core.kernels.obstacles import EmbeddedGround, near_points, proximal
from supple.core.materials import StableNeoHookean
from supple.core.obstacles import (
    Ball,
    BarrierStep,
    EmbeddedBarrierStep,
    EmbeddedProjectionStep,
    Obstacles,
    Plane,
    ProjectionStep,
    Surface,
    barrier_proximal,
    smallest_ratio,
)
from supple.core.potentials import GroundBarrier
from supple.core.potentials.ground import EmbeddedPoints
from supple.core.system import System
from supple.tests.core.pretended_cuda import pretended_cuda
from supple.tests.core.rubbing import alike

CPU = torch.device("cpu")
SMALL, LARGE = 0.01, 10.0


def _areas(mesh: TetMesh) -> list[float]:
    """Face by face: a third of each to its corners; inside, the face of a cube of the volume."""
    faces: dict[frozenset[int], int] = {}
    areas, volumes = [0.0] * len(mesh.vertices), [0.0] * len(mesh.vertices)
    for tet in mesh.tets.tolist():
        a, b, c, d = mesh.vertices[tet]
        for corner in tet:
            volumes[corner] += abs(float(np.dot(np.cross(b - a, c - a), d - a))) / 24.0
            face = frozenset(tet) - {corner}
            faces[face] = faces.get(face, 0) + 1
    for face in (face for face, count in faces.items() if count == 1):
        a, b, c = mesh.vertices[sorted(face)]
        for corner in face:
            areas[corner] += float(np.linalg.norm(np.cross(b - a, c - a))) / 6.0
    return [area or volumes[i] ** (2.0 / 3.0) for i, area in enumerate(areas)]


def test_the_ground_is_as_stiff_as_the_body_over_the_area_of_each_vertex(make_block) -> None:
    meshes = make_block((2, 2, 2), (1.0, 0.5, 2.0)), make_block((3, 2, 2), (0.3, 0.4, 0.2))
    pinned = np.array([1, 4])
    bodies = [
        SoftBody(meshes[0], StableNeoHookean(1e5, 0.3)),
        SoftBody(meshes[1], StableNeoHookean(3e6, 0.3), pinned=pinned),
    ]
    barrier = System(Scene(bodies, Ground()), CPU, torch.float64).ground_barrier
    assert barrier is not None
    expected = np.concatenate(
        [0.1 * body.material.young * np.array(_areas(body.mesh)) for body in bodies]
    )
    free = np.delete(np.arange(len(expected)), len(meshes[0].vertices) + pinned)
    np.testing.assert_array_equal(barrier.vertices.numpy(), free)
    np.testing.assert_allclose(barrier.weights.numpy(), expected[free], rtol=1e-12)
    diagonals = np.repeat([m.diagonal for m in meshes], [len(m.vertices) for m in meshes])
    np.testing.assert_allclose(barrier.distances.numpy(), 1e-3 * diagonals[free], rtol=1e-12)


def test_a_distance_of_the_grounds_own_counts_for_all(make_block) -> None:
    bodies = [SoftBody(make_block((1, 1, 1), (size,) * 3)) for size in (SMALL, LARGE)]
    barrier = Obstacles(
        Scene(bodies, Ground(distance=0.02)),
        [body.mesh for body in bodies],
        torch.ones(16, dtype=torch.float64),
    ).barrier
    assert barrier is not None
    assert barrier.distances.tolist() == [0.02] * 16


@pytest.mark.parametrize(
    ("integrator", "contact"),
    [(ImplicitEuler(), None), (ImplicitEuler(), Contact()), (SymplecticEuler(), None)],
    ids=["implicit", "implicit with contact", "explicit"],
)
def test_a_small_body_beside_a_large_one_rests_as_it_does_alone(
    make_block, integrator: Integrator, contact: Contact | None
) -> None:

    substeps = 40 if isinstance(integrator, SymplecticEuler) else None

    def height(*others: SoftBody) -> float:
        mesh = make_block((1, 1, 1), (SMALL,) * 3)
        body = SoftBody(mesh, StableNeoHookean(1e4, 0.3), damping=50.0)
        # With friction there is more than one equilibrium.
        scene = Scene([body, *others], Ground(friction=0.0), contact=contact)
        simulator = Simulator(scene, integrator, substeps=substeps)
        simulator.settle()
        *_, last = simulator.run(4)
        return float(last.positions[0][:, 2].min())

    large = make_block((1, 1, 1), (LARGE,) * 3, (1.0, 0.0, 0.0))
    # So soft and light that its own steps may be as long.
    beside = height(SoftBody(large, StableNeoHookean(1e4, 0.3), 10.0))
    assert beside == pytest.approx(height(), rel=1e-3)
    assert 0.0 < beside < 1e-3 * SMALL * math.sqrt(3.0)


def test_a_small_body_on_a_slope_creeps_no_faster_beside_a_large_one(make_block) -> None:
    """A sticking body creeps by a share of its size."""

    def crept(*others: SoftBody) -> float:
        mesh = make_block((1, 1, 1), (SMALL,) * 3)
        body = SoftBody(mesh, StableNeoHookean(1e5, 0.3))
        scene = Scene([body, *others], Ground(friction=0.5), gravity=(3.0, 0.0, -9.81))
        simulator = Simulator(scene, ImplicitEuler(1e-7))
        simulator.settle()
        # Where it settled depends on the way there; what is left of that goes first.
        list(simulator.run(6))
        start = simulator.state.positions[0].clone()
        list(simulator.run(4))
        return float((simulator.state.positions[0] - start)[:8].abs().max())

    mesh = make_block((1, 1, 1), (LARGE,) * 3, (1.0, 0.0, 0.0))
    large = SoftBody(mesh, StableNeoHookean(1e7, 0.3))
    alone = crept()
    assert 1e-7 * SMALL < alone < 3e-5 * SMALL * math.sqrt(3.0)
    # Friction holds normal forces as they settled, which rounding has a part in.
    assert 0.5 * alone < crept(large) < 2.0 * alone


TIME = torch.tensor([0.01], dtype=torch.float64)


def _one_vertex(height: float, velocity: tuple[float, float, float]) -> tuple:
    positions = torch.tensor([[0.0], [0.0], [height]], dtype=torch.float64)
    return positions, torch.tensor(velocity, dtype=torch.float64)[:, None]


def _barrier_step(friction: float = 0.0, kinetic: float | None = None) -> BarrierStep:
    barrier = GroundBarrier(
        torch.tensor([0]),
        torch.tensor([100.0], dtype=torch.float64),
        0.0,
        torch.tensor([0.01], dtype=torch.float64),
    )
    inverse_mass = torch.tensor([2.0], dtype=torch.float64)
    return BarrierStep(barrier, inverse_mass, alike(inverse_mass, friction, kinetic))


@pytest.mark.parametrize("stiffness", [1e-12, 1e-6, 1e-2, 0.3, 1.0, 3.0, 1e2, 1e6])
def test_the_proximal_root_is_exact_from_far_below_to_the_edge(stiffness: float) -> None:
    start = torch.cat([-torch.logspace(6, -6, 40), torch.linspace(0.0, 0.999999, 40)]).double()
    weight = torch.full_like(start, stiffness)
    root = barrier_proximal(start, weight)
    residual = root - start + weight * barrier_derivative(root)
    scale = root.abs() + start.abs() + (weight * barrier_derivative(root)).abs()
    assert ((root > 0) & (root <= 1)).all()
    assert float((residual / scale).abs().max()) < 1e-9


@pytest.mark.parametrize("stiffness", [1e-12, 1e-6, 1e-2, 0.3, 1.0, 3.0, 1e2, 1e6])
def test_the_proximal_root_does_not_depend_on_the_guess(stiffness: float) -> None:
    least = smallest_ratio(torch.float64)
    for start in (-1e6, -1.0, -1e-3, 0.0, 0.1, 0.5, 0.9, 0.999):
        root = proximal(start, stiffness, least, 0.0)
        for guess in (-1.0, 1e-12, 1e-6, 1e-3, 0.5 * root, 0.99 * root, 1.01 * root, 0.3, 1.0, 2.0):
            assert proximal(start, stiffness, least, guess) == pytest.approx(root, rel=1e-9)


def test_points_near_the_ground_are_taken_once_each_and_few_after_a_neighbour() -> None:
    random = np.random.default_rng(4)
    corners = random.integers(0, 12, (30, 4)).astype(np.int32)
    shares, compliance = random.random((30, 4)), random.random(12)
    ground = EmbeddedGround(corners, shares, np.ones(30), np.ones(30), 0.0, 1e-9)
    near = np.arange(3, 22, dtype=np.int32)
    points = near_points(ground, compliance, near)
    assert sorted(points.points) == near.tolist()
    assert np.abs(np.diff(points.points.astype(int))).min() > 1
    for row, p in enumerate(points.points):
        own = shares[p] * compliance[corners[p]]
        assert points.moves[row] == pytest.approx(own)
        assert points.compliances[row] == pytest.approx(own @ shares[p])
        assert (points.corners[row] == corners[p]).all()
        assert (points.shares[row] == shares[p]).all()


@pytest.mark.parametrize("speed", [-0.1, -10.0, -1000.0])
def test_no_speed_brings_a_vertex_through_the_barrier(speed: float) -> None:
    positions, velocities = _one_vertex(0.02 + 0.01 * speed, (0.0, 0.0, speed))
    _barrier_step().apply(positions, velocities, 0.01, TIME)
    assert float(positions[2]) > 0.0


def test_a_vertex_out_of_reach_is_left_alone() -> None:
    positions, velocities = _one_vertex(0.02, (1.0, 2.0, -3.0))
    _barrier_step(0.5).apply(positions, velocities, 0.01, TIME)
    assert positions.flatten().tolist() == [0.0, 0.0, 0.02]
    assert velocities.flatten().tolist() == [1.0, 2.0, -3.0]


def test_friction_takes_the_coefficient_times_what_the_barrier_gives() -> None:
    positions, velocities = _one_vertex(-0.01, (3.0, 4.0, -2.0))
    _barrier_step(0.25).apply(positions, velocities, 0.01, TIME)
    lost = 5.0 - float(torch.hypot(*velocities[:2]))
    assert lost == pytest.approx(0.25 * (float(velocities[2]) + 2.0))
    assert lost > 0.3


@pytest.mark.parametrize("speed", [0.1, 0.38, 0.41, 5.0])
def test_what_the_static_coefficient_cannot_stop_is_slowed_by_the_kinetic_one(speed) -> None:
    positions, velocities = _one_vertex(-0.01, (speed, 0.0, -2.0))
    step = _barrier_step(0.25, 0.1)
    _, free = positions.clone(), velocities.clone()
    step.apply(positions, velocities, 0.01, TIME)
    gained = float(velocities[2] - free[2])
    speed_after = 0.0 if speed <= 0.25 * gained else speed - 0.1 * gained
    assert 0.38 < 0.25 * gained < 0.41
    assert float(velocities[0]) == pytest.approx(speed_after, abs=1e-12)
    assert float(positions[0]) == pytest.approx(0.01 * (speed_after - speed), abs=1e-12)


def test_compiled_loops_and_torch_passes_agree() -> None:
    dtype = torch.float64
    generator = torch.Generator().manual_seed(5)
    heights = torch.linspace(-0.02, 0.05, 40, dtype=dtype)
    positions = torch.stack([torch.zeros_like(heights), torch.zeros_like(heights), heights])
    velocities = torch.randn(3, 40, generator=generator, dtype=dtype)
    velocities[:, ::7] = 0.0
    vertices, ones = torch.arange(40), torch.ones(40, dtype=dtype)
    distances = torch.linspace(0.005, 0.03, 40, dtype=dtype)
    times = torch.linspace(0.004, 0.01, 40, dtype=dtype)
    barrier = GroundBarrier(vertices, 50.0 * ones, 0.0, distances)
    step = BarrierStep(barrier, 2.0 * ones, alike(ones, 0.4, 0.2))
    looped, passed = (positions.clone(), velocities.clone()), (positions, velocities)
    step.apply(*looped, 0.01, times)
    step._apply_passes(*passed, 0.01, times)
    torch.testing.assert_close(looped, passed)


STEP = 0.01
ALL = torch.arange(300)
BALL = Ball((0.3, -0.2, 0.5), 0.4)
SURFACES = pytest.mark.parametrize("surface", [Plane(0.25), BALL], ids=["plane", "ball"])
# From the ball's center to its flank, and along it.
OUT = torch.tensor([0.48, 0.6, 0.64], dtype=torch.float64)
ALONG = torch.tensor([0.8, 0.0, -0.6], dtype=torch.float64)


def _column(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)[:, None]


def _on(surface: Surface, depth: float) -> tuple[Tensor, Tensor, Tensor]:
    """A point so deep inside, the outward normal there and a tangent, all (3, 1)."""
    if isinstance(surface, Ball):
        center = torch.tensor(surface.center, dtype=torch.float64)
        return (center + (surface.radius - depth) * OUT)[:, None], OUT[:, None], ALONG[:, None]
    return _column(0.1, 0.2, 0.25 - depth), _column(0.0, 0.0, 1.0), _column(0.6, 0.8, 0.0)


def _meeting(surface: Surface, friction: float, *settings: float) -> ProjectionStep:
    return _step(surface, friction, *settings, vertices=torch.tensor([0]))


def _step(
    surface: Surface,
    friction: float,
    *settings: float,
    kinetic: float | None = None,
    vertices: Tensor = ALL,
) -> ProjectionStep:
    coefficients = alike(vertices.double(), friction, kinetic)
    return ProjectionStep(vertices, surface, coefficients, *settings)


def _times(positions: Tensor) -> Tensor:
    """The (N,) times, which springs and pushes that are no energy do not need."""
    return torch.full_like(positions[0], STEP)


def _swarm() -> tuple[Tensor, Tensor]:
    """Points in and about the ball and the plane, some of them at rest."""
    generator = torch.Generator().manual_seed(8)
    center = torch.tensor(BALL.center).double()[:, None]
    positions = center + 0.3 * torch.randn(3, 300, generator=generator, dtype=torch.float64)
    velocities = torch.randn(3, 300, generator=generator, dtype=torch.float64)
    velocities[:, ::7] = 0.0
    return positions, velocities


@SURFACES
@pytest.mark.parametrize("restitution", [0.0, 0.3, 1.0])
def test_a_vertex_inside_is_put_on_the_surface_and_bounces(surface, restitution: float) -> None:
    positions, normal, along = _on(surface, 0.01)
    velocities = -2.0 * normal + 3.0 * along
    expected = positions + 0.01 * normal
    _meeting(surface, 0.0, restitution).apply(positions, velocities, STEP, _times(positions))
    torch.testing.assert_close(positions, expected)
    torch.testing.assert_close(velocities, 2.0 * restitution * normal + 3.0 * along)


@SURFACES
def test_a_vertex_outside_is_left_alone(surface) -> None:
    positions, normal, along = _on(surface, -0.01)
    velocities = -2.0 * normal + 3.0 * along
    before = positions.clone(), velocities.clone()
    _meeting(surface, 0.5, 0.5, 3.0).apply(positions, velocities, STEP, _times(positions))
    assert torch.equal(positions, before[0]) and torch.equal(velocities, before[1])


@SURFACES
def test_a_vertex_that_already_leaves_keeps_its_speed(surface) -> None:
    positions, normal, along = _on(surface, 0.01)
    velocities = 2.0 * normal + 3.0 * along
    before = velocities.clone()
    _meeting(surface, 0.5, 0.3).apply(positions, velocities, STEP, _times(positions))
    torch.testing.assert_close(velocities, before)


@SURFACES
def test_friction_takes_the_coefficient_times_the_normal_impulse(surface) -> None:
    positions, normal, along = _on(surface, 0.01)
    velocities = -2.0 * normal + 5.0 * along
    # Two thirds of the way back on the surface: what friction stopped was moved on by too.
    expected = positions + 0.01 * normal - STEP * 0.5 * 3.0 * along
    _meeting(surface, 0.5, 0.5).apply(positions, velocities, STEP, _times(positions))
    torch.testing.assert_close(velocities, normal + (5.0 - 0.5 * 3.0) * along)
    torch.testing.assert_close(positions, expected)


@SURFACES
def test_friction_stops_a_slow_vertex_and_does_not_turn_it_round(surface) -> None:
    positions, normal, along = _on(surface, 0.01)
    velocities = -2.0 * normal + 0.5 * along
    expected = positions + 0.01 * normal - STEP * 0.5 * along
    _meeting(surface, 0.5).apply(positions, velocities, STEP, _times(positions))
    assert float(velocities.abs().max()) < 1e-15
    torch.testing.assert_close(positions, expected)


@SURFACES
@pytest.mark.parametrize(("speed", "speed_after"), [(0.9, 0.0), (1.1, 0.7), (5.0, 4.6)])
def test_projection_step_what_the_static_coefficient_cannot_stop_is_slowed_by_the_kinetic_one(
    surface, speed: float, speed_after: float
) -> None:
    positions, normal, along = _on(surface, 0.01)
    velocities = -2.0 * normal + speed * along
    step = _step(surface, 0.5, kinetic=0.2, vertices=torch.tensor([0]))
    step.apply(positions, velocities, STEP, _times(positions))
    torch.testing.assert_close(velocities, speed_after * along)


@SURFACES
def test_the_penalty_is_a_force_along_the_normal_by_speed_and_mass(surface) -> None:
    positions, normal, along = _on(surface, 0.01)
    velocities = 3.0 * normal + 4.0 * along
    _meeting(surface, 0.0, 0.0, 20.0).apply(positions, velocities, 1e-6, _times(positions))
    # k |v| in m/s², over a step far shorter than 1 / k.
    torch.testing.assert_close(velocities, (3.0 + 1e-6 * 20.0 * 5.0) * normal + 4.0 * along)


@SURFACES
def test_the_penalty_pushes_before_the_vertex_bounces_and_slides(surface) -> None:
    positions, normal, along = _on(surface, 0.01)
    velocities = -3.0 * normal + 4.0 * along
    _meeting(surface, 0.2, 0.5, 20.0).apply(positions, velocities, STEP, _times(positions))
    pushed = -3.0 + (1.0 - math.exp(-20.0 * STEP)) * 5.0
    bounced = -0.5 * pushed
    slowed = 4.0 - 0.2 * (bounced + 3.0)
    torch.testing.assert_close(velocities, bounced * normal + slowed * along)


@SURFACES
def test_no_penalty_adds_more_than_the_speed_there_was(surface) -> None:
    positions, normal, _ = _on(surface, 0.01)
    velocities = -2.0 * normal
    _meeting(surface, 0.0, 0.0, 1e9).apply(positions, velocities, STEP, _times(positions))
    assert float(velocities.abs().max()) < 1e-12


@pytest.mark.parametrize("friction", [0.0, 0.4, 5.0])
def test_nothing_ends_in_the_ball_however_fast_it_slides_along_it(friction: float) -> None:
    positions, velocities = _swarm()
    step = _step(BALL, friction, 0.3, 10.0)
    inside = int((BALL.nearest(positions)[0] < 0.0).sum())
    step.apply(positions, velocities, 0.1, _times(positions))
    assert inside > 50
    assert float(BALL.nearest(positions)[0].min()) > -1e-15


def test_a_vertex_at_the_center_of_the_ball_leaves_upwards() -> None:
    positions, velocities = _column(*BALL.center), _column(0.0, 0.0, 0.0)
    _meeting(BALL, 0.5).apply(positions, velocities, STEP, _times(positions))
    torch.testing.assert_close(positions, _column(0.3, -0.2, 0.9))


def test_only_the_vertices_it_was_given_are_met() -> None:
    positions, velocities = _swarm()
    before = positions.clone()
    _step(BALL, 0.4, vertices=ALL[::2]).apply(positions, velocities, STEP, _times(positions))
    moved = (positions != before).any(0)
    assert moved[::2].any() and not moved[1::2].any()


@SURFACES
def test_projection_step_compiled_loops_and_torch_passes_agree(surface) -> None:
    looped, passed = _swarm(), _swarm()
    step = _step(surface, 0.4, 0.3, 5.0, kinetic=0.2)
    step.apply(*looped, STEP, _times(looped[0]))
    step._apply_passes(*passed, STEP, _times(passed[0]))
    torch.testing.assert_close(looped, passed, rtol=1e-13, atol=1e-14)


@SURFACES
def test_on_a_cuda_device_nothing_waits_for_the_host(surface) -> None:
    expected = _swarm()
    _step(surface, 0.4, 0.3, 5.0, kinetic=0.2).apply(*expected, STEP, _times(expected[0]))
    with pretended_cuda() as device:
        positions, velocities = (values.to("cuda") for values in _swarm())
        step = _step(surface, 0.4, 0.3, 5.0, kinetic=0.2, vertices=ALL.to("cuda"))
        before = device.waits
        step.apply(positions, velocities, STEP, _times(positions))
        assert device.waits == before
        found = positions.cpu(), velocities.cpu()
    torch.testing.assert_close(found, expected, rtol=1e-13, atol=1e-14)


EMBEDDED_STEPS_STEP, REACH = 0.01, 0.02
COUNT = 12  # vertices
#: Torch passes ask all points at once, which is an estimate: they end elsewhere.
ONE_BY_ONE = pytest.mark.parametrize("way", ["compiled loops"], indirect=True)


def _random(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _points(least: float = 0.0, count: int = 40) -> EmbeddedPoints:
    """The points of three tets; shares go down to ``least``."""
    tets = torch.arange(COUNT).view(3, 4)
    shares = torch.rand(count, 4, generator=_random(1), dtype=torch.float64) + least
    shares = shares / shares.sum(1, keepdim=True)
    corners = tets[torch.arange(count) * 3 // count]
    return EmbeddedPoints(corners.T.contiguous(), shares.T.contiguous(), _masses() < 1e3)


def _masses() -> torch.Tensor:
    return 0.5 + torch.rand(COUNT, generator=_random(2), dtype=torch.float64)


def _barrier(points: EmbeddedPoints) -> GroundBarrier:
    weights = 1.0 + 50.0 * torch.rand(len(points), generator=_random(3), dtype=torch.float64)
    return GroundBarrier(points, weights, 0.0, torch.full_like(weights, REACH))


def _embedded_steps_step(
    points: EmbeddedPoints, friction: float, kinetic: float | None = None
) -> EmbeddedBarrierStep:
    coefficients = alike(points.shares[0], friction, kinetic)
    return EmbeddedBarrierStep(_barrier(points), 1.0 / _masses(), coefficients)


def _state(deep: float = 1.0) -> tuple[torch.Tensor, torch.Tensor]:
    positions = torch.rand(3, COUNT, generator=_random(4), dtype=torch.float64)
    positions[2] = deep * REACH * (2.0 * positions[2] - 1.0)
    return positions, torch.randn(3, COUNT, generator=_random(5), dtype=torch.float64)


def _repeated(step: EmbeddedBarrierStep, state: tuple[torch.Tensor, torch.Tensor]) -> None:
    """The same step, until the forces that it begins with are those that it ends with."""
    for _ in range(200):
        step.apply(state[0].clone(), state[1].clone(), EMBEDDED_STEPS_STEP, _embedded_steps_times())
    step.apply(*state, EMBEDDED_STEPS_STEP, _embedded_steps_times())


def _embedded_steps_times() -> torch.Tensor:
    return torch.full((COUNT,), EMBEDDED_STEPS_STEP, dtype=torch.float64)


# All at once, points outside of their tets are pushed down by others.
@pytest.mark.parametrize(
    ("way", "least"),
    [("compiled loops", 0.0), ("compiled loops", -0.15), ("torch passes", 0.0)],
    indirect=["way"],
)
@pytest.mark.parametrize("deep", [0.5, 30.0])
def test_no_point_ends_in_the_ground(least: float, deep: float) -> None:
    points = _points(least)
    positions, velocities = _state(deep)
    assert float(points.gather(positions[2]).min()) < 0.0
    _embedded_steps_step(points, 0.5).apply(
        positions, velocities, EMBEDDED_STEPS_STEP, _embedded_steps_times()
    )
    assert float(points.gather(positions[2]).min()) > 0.0


@ONE_BY_ONE
def test_a_step_ends_where_inertia_and_barrier_are_least() -> None:
    points, masses = _points(-0.1), _masses()
    barrier = _barrier(points)
    positions, velocities = _state()
    before = positions.clone()
    _repeated(_embedded_steps_step(points, 0.0), (positions, velocities))
    pull = masses * (positions - before)[2] / EMBEDDED_STEPS_STEP**2
    push = torch.zeros_like(pull)
    points.add(barrier.normal_force(positions), push)
    assert float(push.max()) > 1.0
    torch.testing.assert_close(pull, push, rtol=2e-3, atol=2e-3 * float(push.max()))


@ONE_BY_ONE
def test_momentum_changes_by_what_the_ground_gives_and_energy_is_not_gained() -> None:
    points, masses = _points(), _masses()
    barrier = _barrier(points)
    positions, velocities = _state()
    velocities[2] = -velocities[2].abs()
    before, start = velocities.clone(), positions.clone()
    _repeated(_embedded_steps_step(points, 0.3), (positions, velocities))
    given = (masses * (velocities - before)).sum(1)
    force = float(barrier.normal_force(positions).sum())
    assert float(given[2]) == pytest.approx(force * EMBEDDED_STEPS_STEP, rel=2e-3)
    assert float(given[:2].norm()) <= 0.3 * force * EMBEDDED_STEPS_STEP * 1.001
    torch.testing.assert_close(
        (positions - start)[2], EMBEDDED_STEPS_STEP * (velocities - before)[2]
    )


@pytest.mark.parametrize("kinetic", [0.4, 0.1])
def test_a_point_at_a_vertex_is_met_as_the_vertex_is(kinetic: float) -> None:
    """Friction included, whether it sticks or slides."""
    vertices = torch.arange(COUNT)
    corners, shares = vertices.repeat(4, 1), torch.zeros(4, COUNT, dtype=torch.float64)
    shares[0] = 1.0
    points = EmbeddedPoints(corners, shares, _masses() < 1e3)
    weights = torch.full((COUNT,), 20.0, dtype=torch.float64)
    distances = torch.full_like(weights, REACH)
    inverse = 1.0 / _masses()
    for speed in (1e-3, 1.0):
        states = [_state(), _state()]
        for _, velocities in states:
            velocities *= speed
        friction = alike(weights, 0.4, kinetic)
        barriers = [GroundBarrier(own, weights, 0.0, distances) for own in (points, vertices)]
        EmbeddedBarrierStep(barriers[0], inverse, friction).apply(
            *states[0], EMBEDDED_STEPS_STEP, _embedded_steps_times()
        )
        BarrierStep(barriers[1], inverse, friction).apply(
            *states[1], EMBEDDED_STEPS_STEP, _embedded_steps_times()
        )
        torch.testing.assert_close(states[0], states[1], rtol=1e-6, atol=1e-9)


@ONE_BY_ONE
def test_what_lies_still_under_friction_stays() -> None:
    """Points whose sideways speed friction can stop have none left."""
    points = _points()
    positions, velocities = _state()
    velocities[:2] *= 1e-3
    _repeated(_embedded_steps_step(points, 0.5), (positions, velocities))
    pushed = _barrier(points).normal_force(positions) > 1.0
    slip = torch.linalg.vector_norm(points.gather(velocities[:2]), dim=0)
    assert int(pushed.sum()) > 5
    assert float(slip[pushed].max()) < 1e-3 * 0.05


@pytest.mark.parametrize(
    "surface", [Plane(0.0), Ball((0.5, 0.5, -0.6), 0.6)], ids=["plane", "ball"]
)
@pytest.mark.parametrize("restitution", [0.0, 0.8])
def test_points_are_put_back_and_leave(surface, restitution: float) -> None:
    points = _points(-0.1)
    positions, velocities = _state()
    velocities[2] = -1.0
    inside = surface.nearest(points.gather(positions))[0] < 0.0
    friction = alike(points.shares[0], 0.3)
    step = EmbeddedProjectionStep(points, 1.0 / _masses(), surface, friction, restitution, 0.0)
    step.apply(positions, velocities, EMBEDDED_STEPS_STEP, _embedded_steps_times())
    distance, normal = surface.nearest(points.gather(positions))
    assert int(inside.sum()) > 1
    assert float(distance.min()) > -1e-9
    after = (points.gather(velocities) * normal).sum(0)[inside]
    assert float(after.mean()) > (0.1 if restitution else -0.3)


def test_held_vertices_stay() -> None:
    points = _points()
    inverse = 1.0 / _masses()
    inverse[::2] = 0.0
    positions, velocities = _state()
    before = positions.clone(), velocities.clone()
    friction = alike(points.shares[0], 0.5)
    step = EmbeddedBarrierStep(_barrier(points), inverse, friction)
    step.apply(positions, velocities, EMBEDDED_STEPS_STEP, _embedded_steps_times())
    assert torch.equal(positions[:, ::2], before[0][:, ::2])
    assert torch.equal(velocities[:, ::2], before[1][:, ::2])
    assert not torch.equal(positions, before[0])
