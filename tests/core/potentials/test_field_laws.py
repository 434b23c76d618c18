# SPDX-License-Identifier: GPL-3.0-or-later
"""The laws of force fields: their units, their samples within tets, and absorbers before them."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
import torch

from supple.core import (
    Absorber,
    Channel,
    Falloff,
    ForceField,
    Scene,
    Simulator,
    SoftBody,
    SurfaceMesh,
    TetMesh,
    VelocityGrid,
)
from supple.core.geometry.triangle_loops import crossing
from supple.core.integrators import ImplicitEuler, SymplecticEuler
from supple.core.kernels.broad_phase import LEAF_SIZE
from supple.core.kernels.force_fields import is_blocked
from supple.core.materials import StableNeoHookean
from supple.core.potentials.field_force import FieldForce
from supple.core.potentials.field_laws import FieldLaw, FieldShadow, GradientNoise, _Caster
from supple.core.potentials.registry import potentials_of
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.core.scene.forces import FieldKind, FieldShape, Wind
from supple.core.system import System
from supple.tests.core.pretended_cuda import pretended_cuda
from supple.verification.meshes import block


def body(cells: int = 1) -> SoftBody:
    mesh = block((cells,) * 3, (0.2,) * 3, (-0.1, -0.1, -0.1))
    return SoftBody(mesh, StableNeoHookean(1e4, 0.3))


@pytest.mark.parametrize("kind", ["force", "vortex", "harmonic", "turbulence", "drag", "wind"])
def test_a_field_in_centimetres_does_in_centimetres_what_one_in_metres_does(kind) -> None:
    generator = torch.Generator().manual_seed(0)
    points, speeds = torch.randn(2, 3, 20, generator=generator, dtype=torch.float64)

    def acceleration(unit: float) -> torch.Tensor:
        falloff = Falloff("tube", 1.5, 0.2, 2.0, 0.7)
        origin = tuple(unit * np.array([0.3, 0.1, -0.2]))
        field = ForceField(
            kind, 3.0, origin, flow=0.3, damping=0.4, size=0.5, falloff=falloff, unit=unit
        )
        parameters = torch.as_tensor(field.parameters.samples[0])
        law = FieldLaw(field, points)
        return law(parameters, unit * points).acceleration(unit * speeds)

    metres, centimetres = acceleration(1.0), acceleration(0.01)
    assert float(metres.abs().max()) > 0.1
    torch.testing.assert_close(centimetres, 0.01 * metres)


@pytest.mark.parametrize("kind", get_args(FieldKind))
def test_on_cuda_fields_are_the_same_and_no_step_waits_for_them(kind) -> None:
    falloff = Falloff("cone", 1.5, 0.2, 2.0, 0.7, side="positive")
    still = VelocityGrid(np.ones((1, 1, 1, 3)), np.eye(3, 4))
    grid = still if kind == "fluid_flow" else None
    field = ForceField(kind, 3.0, (0.0, 0.1, -0.5), flow=0.3, size=0.5, falloff=falloff, grid=grid)
    scene = Scene([body(2)], forces=[field])

    def forces(device: str, count: list[int]) -> torch.Tensor:
        system = System(scene, torch.device(device), torch.float64)
        potential, positions = potentials_of(field, system)[0], system.rest_positions()
        out, before = torch.zeros_like(positions), pretended.waits
        potential.add_rate_forces(positions, positions - 0.3, out)
        count.append(pretended.waits - before)
        return out

    waits: list[int] = []
    with pretended_cuda() as pretended:
        expected, found = forces("cpu", waits), forces("cuda", waits).cpu()
    assert waits == [0, 0]
    assert float(expected.abs().max()) > 0.01
    torch.testing.assert_close(found, expected)


@pytest.mark.parametrize("kind", get_args(FieldKind))
@pytest.mark.parametrize("shape", get_args(FieldShape))
@pytest.mark.parametrize("falloff", ["sphere", "tube", "cone"])
@pytest.mark.parametrize("side", ["both", "positive", "negative"])
def test_on_tensors_a_law_is_what_it_is_in_loops(kind, shape, falloff, side) -> None:
    generator = torch.Generator().manual_seed(0)
    points, speeds = torch.randn(2, 3, 40, generator=generator, dtype=torch.float64)
    mass = 0.1 + torch.rand(40, generator=generator, dtype=torch.float64)
    falls = Falloff(
        falloff, 1.5, 0.2, 2.0, 0.7, 0.1, 150.0 if falloff == "cone" else 1.5, side=side
    )
    everywhere = np.concatenate([8.0 * np.eye(3), np.full((3, 1), -4.0)], axis=1)
    steady = VelocityGrid(np.ones((1, 1, 1, 3)), everywhere)
    field = ForceField(
        kind,
        *(-3.0, (0.3, 0.1, -0.2), (0.2, -0.4, 1.0), shape, 0.3, 0.4, 0.5, falls),
        is_inverse_square=True,
        is_global=shape == "line",
        weight=0.6,
        unit=0.8,
        grid=steady if kind == "fluid_flow" else None,
    )
    law, parameters = FieldLaw(field, points), torch.as_tensor(field.parameters.samples[0])
    looped, taped = law(parameters, points), law(parameters, points.clone().requires_grad_())
    assert taped.rows.requires_grad and not looped.rows.requires_grad
    torch.testing.assert_close(looped.rows, taped.rows.detach(), rtol=1e-12, atol=1e-13)
    assert float(looped.rows.abs().max()) > 1e-2
    by_loops, by_tensors = torch.zeros(2, 3, 40, dtype=torch.float64)
    looped.add_forces(mass, speeds, by_loops)
    by_tensors -= mass * taped.detached().acceleration(speeds)
    torch.testing.assert_close(by_loops, by_tensors, rtol=1e-12, atol=1e-13)


def test_passes_of_noise_are_the_compiled_loops() -> None:
    generator = torch.Generator().manual_seed(0)
    points = 9.0 * torch.randn(3, 50, generator=generator, dtype=torch.float64)
    weights = torch.randn(3, 50, generator=generator, dtype=torch.float64)
    found = []
    for name in ("vectors", "torch_vectors"):
        at = points.clone().requires_grad_()
        noise = getattr(GradientNoise(at), name)(at)
        (slopes,) = torch.autograd.grad((weights * noise).sum(), at)
        found.append((noise.detach(), slopes))
    for loop, passed in zip(*found, strict=True):
        torch.testing.assert_close(loop, passed, rtol=0.0, atol=1e-12)
    assert 0.3 < float(found[0][0].abs().max()) <= 1.0


def test_the_lagged_response_falls_off_where_points_go_and_never_pushes_on() -> None:
    """The stiffness is what pulls back of the law's slope: of a repelling one nothing."""
    points = torch.tensor([[0.5, 0.0, 0.0], [0.0, 0.7, 0.2]], dtype=torch.float64).T
    system = System(Scene([body()]), torch.device("cpu"), torch.float64)
    for strength, least in ((4.0, 4.0), (-4.0, 0.0)):
        potential = potentials_of(ForceField("harmonic", strength), system)[0]
        assert isinstance(potential, FieldForce)
        _, stiffness = potential._linear_at(points)
        values = torch.linalg.eigvalsh(stiffness.permute(2, 0, 1))
        torch.testing.assert_close(values, torch.full_like(values, least), atol=1e-12, rtol=0.0)


DENSITY = 700.0
SOFT = StableNeoHookean(1e5, 0.3)


def forces(body: SoftBody, field: ForceField) -> np.ndarray:
    """The (N, 3) forces on the vertices of a body at rest, in newtons."""
    system = System(Scene([body], forces=[field]), torch.device("cpu"), torch.float64)
    (force,) = [each for each in system.forces if isinstance(each, FieldForce)]
    positions = system.rest_positions()
    out = torch.zeros_like(positions)
    force.begin_frame(positions, 0)
    force.add_rate_forces(positions, torch.zeros_like(out), out)
    return -out.T.numpy()


def box_surface() -> SurfaceMesh:
    mesh = block((4, 4, 4), (1.0, 1.0, 1.0))
    used, triangles = np.unique(mesh.surface, return_inverse=True)
    return SurfaceMesh(mesh.vertices[used], triangles.reshape(-1, 3).astype(np.int32))


def in_lattice(edge_length: float) -> SoftBody:
    surface = box_surface()
    surface.edge_length = edge_length
    (body,) = tetrahedralize_scene(Scene([SoftBody(surface, SOFT, DENSITY)]))[0].bodies
    return body


def small_field(origin: tuple[float, float, float], reach: float) -> ForceField:
    return ForceField("force", -30.0, origin=origin, falloff=Falloff(max_distance=reach))


def integral(field: ForceField, reach: float) -> np.ndarray:
    """The (3,) force of a field on a box of 1 m, by points all over its ball."""
    away = np.random.default_rng(0).uniform(-reach, reach, (400_000, 3))
    away = away[np.linalg.norm(away, axis=1) < reach]
    points = away + np.asarray(field.origin)
    inside = ((points > 0.0) & (points < 1.0)).all(axis=1)
    directions = away / np.linalg.norm(away, axis=1)[:, None]
    volume = 4.0 / 3.0 * np.pi * reach**3
    return -30.0 * DENSITY * volume * (directions * inside[:, None]).mean(axis=0)


@pytest.mark.parametrize("cells", [1, 2, 5])
@pytest.mark.parametrize("origin", [(0.37, 0.45, 1.05), (1.1, 0.52, 0.6)])
def test_a_field_smaller_than_a_tet_pulls_as_hard_as_by_integration(cells: int, origin) -> None:
    field = small_field(origin, 0.25)
    expected = integral(field, 0.25)
    mesh = block((cells,) * 3, (1.0, 1.0, 1.0))
    found = forces(SoftBody(mesh, SOFT, DENSITY), field).sum(axis=0)
    assert np.linalg.norm(found - expected) < 0.12 * np.linalg.norm(expected)


@pytest.mark.parametrize("edge_length", [0.5, 0.22, 0.11])
def test_a_field_outside_pulls_at_the_material_of_partly_filled_tets_alone(edge_length) -> None:
    field = small_field((0.4, 0.55, 1.08), 0.2)
    expected = integral(field, 0.2)
    found = forces(in_lattice(edge_length), field).sum(axis=0)
    assert np.linalg.norm(found - expected) < 0.15 * np.linalg.norm(expected)


def torus(major: float, minor: float) -> SurfaceMesh:
    along, around = 96, 32
    a, b = np.meshgrid(np.arange(along) / along, np.arange(around) / around, indexing="ij")
    a, b = 2.0 * np.pi * a, 2.0 * np.pi * b
    away = major + minor * np.cos(b)
    points = np.stack([away * np.cos(a), away * np.sin(a), minor * np.sin(b)], axis=-1)
    i, j = np.meshgrid(np.arange(along), np.arange(around), indexing="ij")
    i_next, j_next = (i + 1) % along, (j + 1) % around
    quads = np.stack([i, i_next, i_next, i], axis=-1) * around
    quads = (quads + np.stack([j, j, j_next, j_next], axis=-1)).reshape(-1, 4)
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    return SurfaceMesh(points.reshape(-1, 3), triangles.astype(np.int32))


@pytest.mark.parametrize("resolution", [8, 14, 24])
def test_the_force_of_a_small_field_does_not_depend_on_the_resolution(resolution: int) -> None:
    major, minor, reach = 0.2, 0.06, 0.03
    source = np.array([major, 0.0, minor + 0.01])
    away = np.random.default_rng(0).uniform(-reach, reach, (300_000, 3))
    away = away[np.linalg.norm(away, axis=1) < reach]
    x, y, z = (away + source).T
    inside = (np.hypot(x, y) - major) ** 2 + z**2 < minor**2
    directions = away / np.linalg.norm(away, axis=1)[:, None]
    volume = 4.0 / 3.0 * np.pi * reach**3
    expected = -400.0 * DENSITY * volume * (directions * inside[:, None]).mean(axis=0)
    surface = torus(major, minor)
    surface.edge_length = 2.0 * (major + minor) / resolution
    (body,) = tetrahedralize_scene(Scene([SoftBody(surface, SOFT, DENSITY)]))[0].bodies
    field = ForceField("force", -400.0, tuple(source), falloff=Falloff(max_distance=reach))
    force = forces(body, field).sum(axis=0)
    assert np.linalg.norm(force - expected) < 0.05 * np.linalg.norm(expected)


def test_a_small_field_that_comes_near_pulls_as_one_that_is_there() -> None:
    there, body = small_field((0.4, 0.55, 1.08), 0.2), in_lattice(0.5)
    path = np.array([[0.4, 0.55, 9.0], [0.4, 0.55, 1.08], [0.4, 0.55, 1.08]])
    moving = ForceField("force", -30.0, Channel(path), falloff=Falloff(max_distance=0.2))
    expected = forces(body, there)
    system = System(Scene([body], forces=[moving]), torch.device("cpu"), torch.float64)
    (force,) = [each for each in system.forces if isinstance(each, FieldForce)]
    positions = system.rest_positions()
    for frame in range(2):
        force.begin_frame(positions, frame)
        force.go_to(frame, 1.0)
        out = torch.zeros_like(positions)
        force.add_rate_forces(positions, torch.zeros_like(out), out)
        np.testing.assert_allclose(-out.T.numpy(), expected, atol=1e-12)


def test_a_field_that_ends_before_the_material_does_nothing() -> None:
    field = small_field((0.4, 0.55, 1.25), 0.2)
    np.testing.assert_array_equal(forces(in_lattice(0.4), field), 0.0)


def test_a_field_that_is_the_same_all_over_a_body_pushes_every_vertex_alike() -> None:
    field = ForceField("wind", 3.0, falloff=Falloff(max_distance=1.9))
    body = in_lattice(0.4)
    assert isinstance(body.mesh, TetMesh)
    mass = body.mesh.lumped_mass(DENSITY)
    expected = np.outer(mass, [0.0, 0.0, 3.0])
    np.testing.assert_allclose(forces(body, field), expected, atol=1e-9 * mass.max())


def test_what_is_uniform_is_not_sampled() -> None:
    system = System(Scene([SoftBody(block(), SOFT)]), torch.device("cpu"), torch.float64)
    for field in (Wind((1.0, 0.0, 0.0)), ForceField("force", 1.0, origin=(0.0, 0.0, 50.0))):
        force = potentials_of(field, system)[0]
        assert isinstance(force, FieldForce) and type(force.law).__name__ != "SampledLaw"


TRIANGLES = np.array([[0, 1, 2], [0, 2, 3]], dtype=np.int32)
FRAME = 1.0 / 24.0


def wall(height: float = 1.0, absorption=0.7, size: float = 0.5, **settings) -> Absorber:
    """A square across the vertical."""
    corners = size * np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    return Absorber(corners + np.array([0.0, 0.0, height]), TRIANGLES, absorption, **settings)


def pushes(points, absorbers, frame: int = 0, **settings) -> np.ndarray:
    """The (N, 3) accelerations in m/s² by a field at the origin."""
    at = torch.as_tensor(np.array(points, dtype=float).T.copy())
    field = ForceField(**{"kind": "force", "strength": 4.0, "is_absorbed": True, **settings})
    law = FieldLaw(field, at, FieldShadow(absorbers, at[0]) if absorbers else None)
    parameters = torch.as_tensor(field.parameters.samples[0])
    law.begin_frame(parameters, at, frame)
    return law(parameters, at).push.T.numpy()


# Above the wall, between it and the source, beside it, and on the other side of the source.
POINTS = [(0.1, 0.2, 2.0), (0.1, 0.2, 0.9), (1.2, 0.0, 2.0), (0.1, 0.2, -2.0)]


@pytest.mark.parametrize("kind", ["force", "wind", "charge", "turbulence", "harmonic"])
def test_what_a_wall_stands_before_gets_what_it_lets_past(kind) -> None:
    settings = {"kind": kind, "size": 1.0}
    shaded, free = pushes(POINTS, [wall()], **settings), pushes(POINTS, [], **settings)
    assert np.linalg.norm(free, axis=1).min() > 1e-3
    np.testing.assert_allclose(shaded, np.array([[0.3], [1], [1], [1]]) * free, rtol=1e-12)


def test_what_knows_no_falloff_is_absorbed_as_a_whole_or_not_at_all() -> None:
    """As in Blender."""
    settings = {"kind": "lennard_jones", "size": 1.0}
    free = pushes(POINTS, [], **settings)
    np.testing.assert_array_equal(pushes(POINTS, [wall()], **settings), free)
    shaded = pushes(POINTS, [wall(absorption=1.0)], **settings)
    np.testing.assert_array_equal(shaded, np.array([[0], [1], [1], [1]]) * free)


def test_velocities_are_taken_away_less_there() -> None:
    at = torch.tensor([[0.0, 0.0], [0.0, 0.0], [2.0, 0.5]], dtype=torch.float64)
    field = ForceField("wind", 0.0, flow=2.0, is_absorbed=True)
    law = FieldLaw(field, at, FieldShadow([wall()], at[0]))
    parameters = torch.as_tensor(field.parameters.samples[0])
    law.begin_frame(parameters, at, 0)
    np.testing.assert_allclose(law(parameters, at).rate, [0.6, 2.0], rtol=1e-12)


@pytest.mark.parametrize(
    ("shape", "axis", "expected"),
    [
        ("point", (0.0, 0.0, 1.0), [0.3, 1.0]),
        ("line", (0.0, 0.0, 1.0), [1.0, 1.0]),
        ("line", (1.0, 0.0, 0.0), [0.3, 1.0]),
        ("plane", (0.0, 0.0, 1.0), [0.3, 1.0]),
        ("plane", (1.0, 0.0, 0.0), [1.0, 1.0]),
    ],
)
def test_the_way_goes_to_the_nearest_point_of_the_source(shape, axis, expected) -> None:
    points = [(0.3, 0.2, 2.0), (1.3, 0.2, 2.0)]
    shaded, free = (
        np.linalg.norm(pushes(points, walls, shape=shape, axis=axis), axis=1)
        for walls in ([wall()], [])
    )
    np.testing.assert_allclose(shaded / free, expected, rtol=1e-12)


def test_a_field_in_decimetres_is_shaded_where_one_in_metres_is() -> None:
    shaded, free = pushes(POINTS, [wall()], unit=0.1), pushes(POINTS, [], unit=0.1)
    np.testing.assert_allclose(shaded, np.array([[0.3], [1], [1], [1]]) * free, rtol=1e-12)


def test_several_take_their_part_one_after_the_other_and_each_once() -> None:
    first, second, third = wall(0.5, 0.2), wall(0.7, 0.5), wall(0.9, 0.0)
    np.testing.assert_allclose(
        pushes([(0, 0, 2)], [first, second, third]), 0.4 * pushes([(0, 0, 2)], [])
    )
    both = Absorber(
        np.concatenate([first.vertices.at(0), second.vertices.at(0)]),
        np.concatenate([TRIANGLES, TRIANGLES + 4]),
        0.5,
    )
    np.testing.assert_allclose(pushes([(0, 0, 2)], [both]), 0.5 * pushes([(0, 0, 2)], []))


def test_walls_that_move_and_absorption_that_is_keyed_count_frame_by_frame() -> None:
    heights = np.array([[1.0], [3.0], [1.0]])
    samples = wall(0.0).vertices.at(0) + np.array([0.0, 0.0, 1.0]) * heights[:, None]
    moving = Absorber(samples, TRIANGLES, Channel(np.array([0.7, 0.7, 0.1])))
    free = pushes([(0, 0, 2)], [])
    for frame, share in enumerate((0.3, 1.0, 0.9, 0.9)):
        np.testing.assert_allclose(pushes([(0, 0, 2)], [moving], frame), share * free)


def test_a_tree_finds_what_each_triangle_by_itself_would() -> None:
    rng = np.random.default_rng(3)
    count = 12 * LEAF_SIZE
    corners = rng.normal(size=(count, 1, 3)) + 0.3 * rng.normal(size=(count, 3, 3))
    faces = np.arange(3 * len(corners), dtype=np.int32).reshape(-1, 3)
    tree = _Caster(Absorber(corners.reshape(-1, 3), faces))._tree(0)
    # Some of them along axes.
    starts, ends = 2.0 * rng.normal(size=(2, 400, 3))
    ends[:100, 0], ends[100:200, 1:] = starts[:100, 0], starts[100:200, 1:]
    found = [is_blocked(start, end, tree) for start, end in zip(starts, ends, strict=True)]
    expected = [
        any(crossing(start, end, triangle)[1] != 0.0 for triangle in corners)
        for start, end in zip(starts, ends, strict=True)
    ]
    assert found == expected
    assert 50 < sum(found) < 350


# In a scene


def blown(absorber: Absorber, name: str = "Fan", is_absorbed: bool = True) -> Scene:
    """A tet above the source, in wind."""
    corners = np.array([[0.0, 0, 2], [0.1, 0, 2], [0, 0.1, 2], [0, 0, 2.1]])
    field = ForceField("wind", 3.0, axis=(1.0, 0.0, 0.0), name=name, is_absorbed=is_absorbed)
    bodies = [SoftBody(TetMesh(corners, [[0, 1, 2, 3]]))]
    return Scene(bodies, gravity=(0.0, 0.0, 0.0), forces=[field], absorbers=[absorber])


def speed(simulator: Simulator, frames: int) -> float:
    *_, last = simulator.run(frames)
    return float(last.velocities[0][:, 0].mean())


# It begins to move after a frame and is out of the way after two.
LEAVING = Absorber(
    wall(0.0).vertices.at(0) + np.array([[[0.0, 0, 1]], [[0, 0, 1]], [[5.0, 0, 1]], [[5.0, 0, 1]]]),
    TRIANGLES,
    0.75,
    name="Wall",
)


@pytest.mark.parametrize("integrator", [SymplecticEuler(), ImplicitEuler(1e-9)])
def test_what_arrives_when_a_frame_begins_is_what_pushes_throughout_it(integrator) -> None:
    """v = S t, a quarter of it in the first two frames."""
    simulator = Simulator(blown(LEAVING), integrator, frame_time=FRAME, device="cpu")
    assert speed(simulator, 4) == pytest.approx(3.0 * FRAME * (2 * 0.25 + 2), rel=1e-6)


@pytest.mark.parametrize("settings", [{"is_absorbed": False}, {"name": "Wall"}])
def test_a_field_that_is_not_absorbed_or_stands_there_itself_passes(settings) -> None:
    simulator = Simulator(blown(LEAVING, **settings), SymplecticEuler(), frame_time=FRAME)
    assert speed(simulator, 2) == pytest.approx(3.0 * 2 * FRAME, rel=1e-6)


def test_a_run_that_is_gone_on_with_comes_to_the_same_bits() -> None:
    scene = blown(LEAVING)
    whole = Simulator(scene, SymplecticEuler(), frame_time=FRAME, device="cpu")
    part = Simulator(scene, SymplecticEuler(), frame_time=FRAME, device="cpu")
    list(part.run(1))
    resumed = Simulator(scene, SymplecticEuler(), frame_time=FRAME, device="cpu")
    resumed.go_on_from(part.state)
    assert speed(resumed, 2) == speed(whole, 3)
