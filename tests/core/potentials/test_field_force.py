# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies in force fields, beside closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from supple.core import (
    Channel,
    Falloff,
    ForceField,
    Scene,
    Simulator,
    SoftBody,
    TetMesh,
    VelocityGrid,
    Wind,
)
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
from supple.core.materials import StableNeoHookean
from supple.core.potentials.field_laws import FieldFlow, FieldLaw
from supple.core.system import System
from supple.tests.core.pretended_cuda import pretended_cuda
from supple.verification.meshes import block

NOWHERE = (0.0, 0.0, 0.0)
FRAME = 1.0 / 24.0
INTEGRATORS = [
    SymplecticEuler(),
    Midpoint(),
    RungeKutta4(),
    Adaptive(SymplecticEuler()),
    XPBD(),
    ImplicitEuler(tolerance=1e-7),
    BDF2(tolerance=1e-7),
    SDIRK2(tolerance=1e-7),
    Automatic(),
]


def body(cells: int = 1, middle=NOWHERE, **settings) -> SoftBody:
    """A cube of 0.2 m with its centre of mass at a point: fields that are linear in place and
    velocity move that as they would a particle."""
    mesh = block((cells,) * 3, (0.2,) * 3, NOWHERE)
    mass = mesh.lumped_mass(1.0)
    mesh = TetMesh(mesh.vertices + middle - mass @ mesh.vertices / mass.sum(), mesh.tets)
    return SoftBody(mesh, StableNeoHookean(1e4, 0.3), **settings)


def run(forces, integrator: Integrator, frames: int, bodies=None, **options):
    """Mean (3,) position and velocity at the end."""
    substeps = options.pop("substeps", None)
    scene = Scene(bodies or [body()], forces=forces, **{"gravity": NOWHERE, **options})
    system = Simulator(scene, integrator, frame_time=FRAME, substeps=substeps, device="cpu")
    *_, last = system.run(frames)
    share = (system.system.mass / system.system.mass.sum()).numpy()
    return share @ torch.cat(last.positions).numpy(), share @ torch.cat(last.velocities).numpy()


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda kind: type(kind).__name__)
def test_what_falls_through_wind_comes_to_the_wind_s_speed_and_that_of_its_weight(
    integrator,
) -> None:
    """v = (w + g/k)(1 − e^(−kt)) from rest."""
    drag, wind, gravity, frames = 4.0, np.array([3.0, 0.0, 1.0]), np.array([0, 0, -9.81]), 24
    forces = [Wind(tuple(wind), drag)]
    _, found = run(forces, integrator, frames, gravity=tuple(gravity))
    expected = (wind + gravity / drag) * (1.0 - math.exp(-drag * frames * FRAME))
    # XPBD adds weight before it takes the drag: of its steps h g is missing.
    np.testing.assert_allclose(found, expected, rtol=0.02, atol=1e-6)


CHANGING = np.linspace((0.0, 2.0, -15.0), (3.0, -1.0, 5.0), 5)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda kind: type(kind).__name__)
def test_a_keyed_wind_without_flow_is_keyed_gravity(integrator) -> None:
    """In strength and direction, frame by frame and within frames."""
    strength = np.array([2.0, 15.0, 7.0, 0.0, 20.0])
    field = ForceField("wind", Channel(strength), axis=(1.0, 0.0, 2.0))
    gravity = strength[:, None] * np.array([1.0, 0.0, 2.0]) / math.sqrt(5.0)
    found, expected = (
        run(forces, integrator, 5, gravity=pull)
        for forces, pull in (([field], NOWHERE), ([], Channel(gravity)))
    )
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-7)
    assert np.linalg.norm(expected[0]) > 0.1


@pytest.mark.parametrize(
    ("integrator", "substeps", "tolerance"),
    [
        (SymplecticEuler(), 100, 2e-3),
        (RungeKutta4(), None, 1e-5),
        (XPBD(), 100, 2e-3),
        (BDF2(1e-8), 10, 1e-2),
        (SDIRK2(1e-8), 10, 1e-2),
        (ImplicitEuler(1e-8), 30, 1e-2),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_harmonic_field_swings_bodies_at_the_root_of_its_strength(
    integrator, substeps, tolerance
) -> None:
    """x = x₀ + a cos(√S t)."""
    strength, origin, amplitude = 36.0, np.array([1.0, 0.5, 0.0]), np.array([0.3, 0.0, -0.2])
    field = ForceField("harmonic", strength, tuple(origin))
    bodies = [body(middle=origin + amplitude)]
    found, _ = run([field], integrator, 6, bodies, substeps=substeps)
    expected = origin + amplitude * math.cos(math.sqrt(strength) * 6 * FRAME)
    np.testing.assert_allclose(found, expected, atol=tolerance * np.linalg.norm(amplitude))


def test_a_critically_damped_harmonic_field_brings_bodies_home() -> None:
    """x = a (1 + ωt) e^(−ωt)."""
    field, amplitude = ForceField("harmonic", 100.0, damping=1.0), np.array([0.4, 0.0, 0.0])
    found, _ = run([field], RungeKutta4(), 6, [body(middle=amplitude)])
    moved = 10.0 * 6 * FRAME
    np.testing.assert_allclose(found, amplitude * (1.0 + moved) * math.exp(-moved), atol=1e-5)


@pytest.mark.parametrize("strength", [1e2, 1e4, 1e8])
def test_implicit_steps_bear_any_harmonic_field(strength) -> None:
    found, _ = run(
        [ForceField("harmonic", strength)], ImplicitEuler(), 24, [body(middle=(1, 0, 0))]
    )
    assert np.linalg.norm(found) < 0.2


@pytest.mark.parametrize(
    ("integrator", "substeps"),
    [(SymplecticEuler(), 20), (BDF2(1e-8), 6), (SDIRK2(1e-8), 3), (ImplicitEuler(1e-8), 20)],
)
def test_drag_goes_by_the_square_of_the_speed_and_by_the_speed(integrator, substeps) -> None:
    """v = v₀ / (1 + q v₀ t); v = v₀ e^(−kt)."""
    bodies, time = [body(velocity=(3.0, 0.0, 0.0))], 6 * FRAME
    squared, linear = ForceField("drag", 1.5), ForceField("drag", 0.0, damping=1.5)
    _, found = run([squared], integrator, 6, bodies, substeps=substeps)
    assert found[0] == pytest.approx(3.0 / (1.0 + 1.5 * 3.0 * time), rel=1.5e-2)
    _, found = run([linear], integrator, 6, bodies, substeps=substeps)
    assert found[0] == pytest.approx(3.0 * math.exp(-1.5 * time), rel=1.5e-2)


def test_implicit_steps_bear_any_drag() -> None:
    field = ForceField("drag", 1e6, damping=1e6)
    found, speed = run([field], ImplicitEuler(), 2, [body(velocity=(3.0, 0.0, 0.0))])
    assert 0.0 <= found[0] < 1e-4 and 0.0 <= speed[0] < 1e-4


@pytest.mark.parametrize("integrator", [RungeKutta4(), ImplicitEuler(1e-9)])
def test_a_magnetic_field_turns_velocities_and_keeps_speeds(integrator) -> None:
    """At the rate S about the axis, clockwise as v × b."""
    strength, frames = 4.0, 6
    field = ForceField("magnetic", strength, shape="plane")
    _, found = run([field], integrator, frames, [body(velocity=(2.0, 0.0, 1.0))])
    angle = strength * frames * FRAME
    expected = [2.0 * math.cos(angle), -2.0 * math.sin(angle), 1.0]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_vortex_keeps_what_circles_at_its_rate_circling() -> None:
    """At ω about its axis: it takes along what is slower and pulls inwards by ω² r."""
    rate, middle, frames = 3.0, np.array([0.5, 0.0, 0.2]), 12
    field = ForceField("vortex", rate, shape="plane")
    bodies = [body(middle=middle, velocity=(0.0, rate * 0.5, 0.0))]
    found, _ = run([field], RungeKutta4(), frames, bodies)
    angle = rate * frames * FRAME
    expected = [0.5 * math.cos(angle), 0.5 * math.sin(angle), 0.2]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_body_hangs_in_a_harmonic_field_where_its_weight_balances() -> None:
    field = ForceField("harmonic", 40.0, (0.0, 0.0, 2.0))
    scene = Scene([body(2)], forces=[field])
    simulator = Simulator(scene, device="cpu")
    hung = simulator.settle().positions[0].numpy()
    share = simulator.system.mass / simulator.system.mass.sum()
    np.testing.assert_allclose(share.numpy() @ hung, [0.0, 0.0, 2.0 - 9.81 / 40.0], atol=1e-5)


# What it acts on


def test_finer_tetrahedra_and_heavier_stuff_move_alike() -> None:
    field = ForceField("force", 5.0, (0.0, 0.0, -3.0), falloff=Falloff(power=2.0), flow=0.5)
    coarse, *others = (
        run([field], RungeKutta4(), 6, [body(cells, density=density)])
        for cells, density in ((1, 1000.0), (4, 1000.0), (2, 50.0))
    )
    for other in others:
        np.testing.assert_allclose(other, coarse, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("integrator", [SymplecticEuler(), ImplicitEuler(1e-7), XPBD()])
def test_bodies_feel_fields_by_their_weights(integrator) -> None:
    bodies = [body(), body(middle=(1, 0, 0), field_weight=0.25), body(field_weight=0.0)]
    forces = [ForceField("wind", 8.0)]
    scene = Scene(bodies, gravity=NOWHERE, forces=forces)
    *_, last = Simulator(scene, integrator, device="cpu").run(3)
    whole, quarter, none = (float(speed[:, 2].mean()) for speed in last.velocities)
    assert whole == pytest.approx(8.0 * 3 * FRAME, rel=1e-4)
    assert quarter == pytest.approx(0.25 * whole, rel=1e-4)
    assert none == pytest.approx(0.0, abs=1e-9)


def test_a_moving_field_pulls_to_where_it_is() -> None:
    origin = Channel(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [4.0, 0.0, 0.0]]))
    field = ForceField("harmonic", 10.0, origin)
    _, before = run([field], ImplicitEuler(1e-9), 1)
    _, after = run([field], ImplicitEuler(1e-9), 2)
    np.testing.assert_allclose(before, 0.0, atol=1e-7)
    # A step ends with v = h S (4 − h v).
    assert after[0] == pytest.approx(FRAME * 10.0 * 4.0 / (1.0 + 10.0 * FRAME**2), rel=1e-5)


# Energy


@pytest.mark.parametrize("scheme", [SymplecticEuler(), Midpoint(), RungeKutta4()])
@pytest.mark.parametrize(
    "field",
    [
        ForceField("harmonic", 60.0, (0.5, 0.0, 0.0)),
        ForceField("drag", 2.0, damping=2.0),
        ForceField("vortex", 4.0, (1.0, 0.0, 0.0), shape="plane"),
        Wind((20.0, 0.0, 0.0), [2.0, 8.0]),
    ],
    ids=["harmonic", "drag", "vortex", "keyed wind"],
)
def test_the_work_of_fields_is_all_that_is_gained(scheme, field) -> None:
    scene = Scene([body(velocity=(0.0, 2.0, 0.0))], gravity=NOWHERE, forces=[field])
    system = System(scene, torch.device("cpu"), torch.float64)
    state, count = system.initial_state(), 128
    substep = scheme.make_step(system, FRAME / count)
    substep.begin(state.positions, state.velocities)
    for number in range(count):
        substep.prescribe(0, number / count, (number + 1) / count)
        substep.advance()
    before, after = (
        0.5 * float((system.mass * velocities.square()).sum()) + elastic
        for velocities, elastic in (
            (state.velocities, 0.0),
            (substep.velocities, float(system.elasticities[0].energy(substep.positions))),
        )
    )
    work = float(substep.work)
    assert abs(work) > 0.03 * before
    assert after - before == pytest.approx(work, abs=0.03 * abs(work))


def test_steps_that_are_too_long_are_found_out_in_wind_as_in_calm_air() -> None:
    """Squeezed so flat that what it has is far stiffer than at rest."""
    mesh = body(2).mesh
    squeezed = SoftBody(
        mesh, StableNeoHookean(1e5, 0.45), initial_positions=mesh.vertices * [0.2, 1.0, 1.0]
    )
    taken = []
    for forces in ([], [Wind((0.1, 0.0, 0.0), 0.1)]):
        scene = Scene([squeezed], gravity=NOWHERE, forces=forces)
        simulator = Simulator(scene, SymplecticEuler(), device="cpu")
        chosen = simulator.state.substeps
        start = simulator.system.energies(simulator.state).total
        *_, last = simulator.run(2)
        assert last.report.energies.total < 1.1 * start
        taken.append(simulator.state.substeps / chosen)
    assert taken[0] == taken[1] > 1


COUNTS = np.array([5, 4, 6])
START, CELL = np.array([-1.0, -0.8, 0.5]), np.array([0.4, 0.5, 0.3])
SLOPE = np.array([[0.3, -0.2, 0.1], [0.5, 0.4, -0.6], [-0.1, 0.2, 0.7]])
OFFSET = np.array([1.0, -2.0, 0.5])
#: Turned, moved and twice as large.
TURNED = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
MATRIX = np.concatenate([2.0 * TURNED, [[0.3], [-0.4], [1.2]]], axis=1)


def centres() -> np.ndarray:
    """The (Z, Y, X, 3) centres of the cells, in the box."""
    sides = [s + c * (np.arange(n) + 0.5) for s, c, n in zip(START, CELL, COUNTS, strict=True)]
    z, y, x = np.meshgrid(*sides[::-1], indexing="ij")
    return np.stack([x, y, z], axis=-1)


def linear(**settings) -> VelocityGrid:
    """A grid with a velocity that is linear in position."""
    values = centres() @ SLOPE.T + OFFSET
    return VelocityGrid(values, settings.pop("matrix", MATRIX), START, CELL, **settings)


def inside(count: int = 20, seed: int = 0) -> np.ndarray:
    """(count, 3) points of the box that lie between centres of cells."""
    share = np.random.default_rng(seed).uniform(0.5, COUNTS - 0.5, size=(count, 3))
    return START + CELL * share


def in_world(points: np.ndarray) -> np.ndarray:
    return points @ MATRIX[:, :3].T + MATRIX[:, 3]


def acceleration(field: ForceField, points, speeds=None, frame: int = 0, fraction: float = 0.0):
    """The (N, 3) acceleration at points and speeds in the world."""
    at = torch.as_tensor(np.ascontiguousarray(np.transpose(points)))
    moving = torch.zeros_like(at) if speeds is None else torch.as_tensor(speeds.T.copy())
    parameters = torch.as_tensor(field.parameters.at(frame, fraction))
    return FieldLaw(field, at)(parameters, at).acceleration(moving).T.numpy()


# The law


def test_a_velocity_that_is_linear_in_place_is_met_exactly() -> None:
    """a = S f (w − flow v), w turned with the box and not scaled by it."""
    points = inside()
    places, speeds = in_world(points), np.random.default_rng(1).normal(size=points.shape)
    origin = np.array([0.5, 0.2, -0.3])
    field = ForceField(
        "fluid_flow", 1.7, tuple(origin), flow=0.6, falloff=Falloff(power=1.5), grid=linear()
    )
    falloff = (1.0 + np.linalg.norm(places - origin, axis=1)) ** -1.5
    velocities = (points @ SLOPE.T + OFFSET) @ TURNED.T
    expected = 1.7 * falloff[:, None] * (velocities - 0.6 * speeds)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(acceleration(field, places, speeds), expected, rtol=1e-6, atol=1e-6)


def test_beyond_the_last_centres_it_stays_and_outside_of_the_box_there_is_nothing() -> None:
    field, last = ForceField("fluid_flow", flow=1.0, grid=linear()), START + CELL * (COUNTS - 0.5)
    edge = in_world(np.array([last, last + 0.49 * CELL, last + 0.51 * CELL, START - 0.01 * CELL]))
    speeds = np.ones((4, 3))
    found = acceleration(field, edge, speeds)
    np.testing.assert_allclose(found[0], (SLOPE @ last + OFFSET) @ TURNED.T - 1.0, rtol=1e-6)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-6)
    np.testing.assert_array_equal(found[2:], 0.0)


def test_a_box_that_skews_turns_velocities_and_keeps_their_size() -> None:
    matrix = MATRIX @ np.diag([1.0, 3.0, 0.5, 1.0])
    field = ForceField("fluid_flow", grid=linear(matrix=matrix))
    points = inside()
    found = acceleration(field, points @ matrix[:, :3].T + matrix[:, 3])
    velocities = points @ SLOPE.T + OFFSET
    lengths = np.linalg.norm(velocities, axis=1)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), lengths, rtol=1e-6)
    skewed = velocities @ matrix[:, :3].T
    along = (found * skewed).sum(1) / lengths / np.linalg.norm(skewed, axis=1)
    np.testing.assert_allclose(along, 1.0, rtol=1e-6)


def test_a_density_counts_for_what_flows_and_for_what_is_taken_away() -> None:
    points, speeds = inside(), np.full((20, 3), 0.7)
    density = 0.5 + centres()[..., 0] * 0.2
    thick, free = (
        ForceField("fluid_flow", 2.0, flow=0.4, grid=linear(density=each))
        for each in (density, None)
    )
    found, plain = (acceleration(field, in_world(points), speeds) for field in (thick, free))
    share = 0.5 + 0.2 * points[:, :1]
    np.testing.assert_allclose(found, share * plain, rtol=1e-5, atol=1e-6)


def test_frames_are_mixed_in_between_and_the_last_one_stays() -> None:
    """As the box goes on, too."""
    values = np.stack([np.full((1, 1, 1, 3), speed) for speed in (1.0, 3.0, 4.0)])
    matrix = Channel(np.stack([np.eye(3, 4) + shift for shift in _shifts(0.0, 10.0, 20.0)]))
    grid = VelocityGrid(values, matrix, speed=Channel([1.0, 2.0, 2.0]))
    field = ForceField("fluid_flow", grid=grid)
    for frame, fraction, expected in (
        *((0, 0.0, 1.0), (0, 0.25, 1.5 * 1.25), (1, 0.0, 6.0)),
        *((1, 0.5, 7.0), (2, 0.0, 8.0), (9, 0.5, 8.0)),
    ):
        middle = np.array([[0.5 + min(10.0 * (frame + fraction), 20.0), 0.5, 0.5]])
        np.testing.assert_allclose(
            acceleration(field, middle, None, frame, fraction), [[expected] * 3], rtol=1e-12
        )
        beside = acceleration(field, middle + 0.6, None, frame, fraction)
        np.testing.assert_array_equal(beside, 0.0)


def _shifts(*along: float) -> list[np.ndarray]:
    shift = np.zeros((3, 4))
    shift[0, 3] = 1.0
    return [each * shift for each in along]


def test_in_a_scene_of_centimetres_it_does_what_it_does_in_metres() -> None:
    places = in_world(inside())
    falloff = Falloff(power=1.5)
    metres = ForceField("fluid_flow", flow=0.3, falloff=falloff, grid=linear())
    small = MATRIX * 0.01
    grid = linear(matrix=small, speed=0.01)
    centimetres = ForceField("fluid_flow", flow=0.3, falloff=falloff, grid=grid, unit=0.01)
    speeds = np.full((20, 3), 0.4)
    np.testing.assert_allclose(
        acceleration(centimetres, 0.01 * places, 0.01 * speeds),
        0.01 * acceleration(metres, places, speeds),
        rtol=1e-6,
    )


# How it is computed


def rough(density: bool) -> VelocityGrid:
    random = np.random.default_rng(2)
    shape = (3, *COUNTS[::-1])
    values, thick = random.normal(size=(*shape, 3)), random.uniform(size=shape)
    values[:, :2, :2, :2] = 0.0
    return VelocityGrid(values, MATRIX, START, CELL, 1.5, thick if density else None)


@pytest.mark.parametrize("density", [False, True])
def test_passes_are_the_compiled_loops_and_so_are_their_slopes(density) -> None:
    """Twice differentiated, too: that is always by passes."""
    random = torch.Generator().manual_seed(0)
    points = torch.rand(3, 60, generator=random, dtype=torch.float64) * 8.0 - 1.0
    flow = FieldFlow(rough(density), points)
    weights = torch.randn(3 + density, 60, generator=random, dtype=torch.float64)
    for time in (0.0, 0.3, 1.75, 2.0, 2.5):
        found = []
        for values_of in (flow._values, flow.torch_values):
            at = points.clone().requires_grad_()
            values = values_of(torch.tensor(time, dtype=torch.float64), at)
            work = (weights * values * values).sum()
            (slopes,) = torch.autograd.grad(work, at, retain_graph=True)
            (taped,) = torch.autograd.grad(work, at, create_graph=True)
            (second,) = torch.autograd.grad((taped * taped).sum(), at)
            found.append((values.detach(), slopes, taped.detach(), second))
        for loop, passed in zip(*found, strict=True):
            torch.testing.assert_close(loop, passed, rtol=0.0, atol=1e-9)
        assert float(found[0][3].abs().max()) > 0.1


def test_slopes_are_finite_where_nothing_flows() -> None:
    place = torch.tensor(in_world(START[None] + 0.7 * CELL).T.copy(), requires_grad=True)
    field = ForceField("fluid_flow", grid=rough(False))
    law = FieldLaw(field, place)
    push = law(torch.as_tensor(field.parameters.samples[0]), place).push
    assert not push.detach().any()
    (slopes,) = torch.autograd.grad(push.sum(), place, create_graph=True)
    (second,) = torch.autograd.grad(slopes.sum(), place)
    assert bool(slopes.isfinite().all()) and bool(second.isfinite().all())


def test_on_cuda_it_is_the_same_and_no_step_waits_for_it() -> None:
    places = torch.as_tensor(in_world(inside()).T.copy())
    field = ForceField("fluid_flow", flow=0.2, grid=rough(True))

    def pushes(device: str) -> tuple[torch.Tensor, int]:
        at = places.to(device)
        law, parameters = FieldLaw(field, at), torch.as_tensor(field.parameters.at(1, 0.4))
        parameters, before = parameters.to(device), pretended.waits
        return law(parameters, at).acceleration(at), pretended.waits - before

    with pretended_cuda() as pretended:
        (expected, _), (found, waits) = pushes("cpu"), pushes("cuda")
        found = found.cpu()
    assert waits == 0
    torch.testing.assert_close(found, expected)


# Bodies in it


def streaming(integrator, frames: int, **settings):
    """Mean (3,) velocity of a cube in a box of ten metres that flows at one speed."""
    matrix = np.concatenate([np.eye(3), np.full((3, 1), -5.0)], axis=1)
    cells = np.array([[[[2.0, 0.0, -1.0]]]])
    grid = VelocityGrid(cells, matrix, cell=(10.0, 10.0, 10.0))
    field = ForceField("fluid_flow", 0.8, flow=1.0, grid=grid)
    mesh = block((1, 1, 1), (0.2, 0.2, 0.2), (0.0, 0.0, 0.0))
    body = SoftBody(mesh, StableNeoHookean(1e4, 0.3))
    scene = Scene([body], gravity=(0.0, 0.0, 0.0), forces=[field], **settings)
    simulator = Simulator(scene, integrator, frame_time=FRAME, device="cpu")
    *_, last = simulator.run(frames)
    share = (simulator.system.mass / simulator.system.mass.sum()).numpy()
    return share @ torch.cat(last.velocities).numpy()


@pytest.mark.parametrize(
    "integrator",
    [
        *(SymplecticEuler(), Midpoint(), RungeKutta4(), XPBD()),
        *(ImplicitEuler(tolerance=1e-7), BDF2(tolerance=1e-7), SDIRK2(tolerance=1e-7), Automatic()),
    ],
    ids=lambda kind: type(kind).__name__,
)
def test_a_body_comes_to_the_speed_of_what_flows(integrator) -> None:
    """v = w (1 − e^(−St)) with flow 1."""
    found = streaming(integrator, 12)
    expected = np.array([2.0, 0.0, -1.0]) * (1.0 - math.exp(-0.8 * 12 * FRAME))
    np.testing.assert_allclose(found, expected, rtol=0.02, atol=1e-6)
