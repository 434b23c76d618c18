# SPDX-License-Identifier: GPL-3.0-or-later
"""Transfer of paint, starts and goals from a surface to its tets."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from supple.core import (
    Channel,
    Contact,
    Goals,
    Ground,
    Paint,
    Plasticity,
    PosedStart,
    RunStart,
    Scene,
    SceneError,
    Simulator,
    Skin,
    SoftBody,
    SurfaceMesh,
    TetMesh,
)
from supple.core.errors import IntersectionError
from supple.core.integrators import ImplicitEuler, RungeKutta4, SymplecticEuler
from supple.core.job import Job, Settings, digest
from supple.core.job.run import simulate
from supple.core.job.run_start import run_start
from supple.core.job.scene_file import decode, encode
from supple.core.job.worker import work
from supple.core.materials import StableNeoHookean
from supple.core.preparation.prepared import prepare
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.core.preparation.transfers import depths, tet_factors, with_painted_settings
from supple.core.scene.paint import PAINTED_SETTINGS
from supple.core.scene.soft_body import start_positions, start_velocities
from supple.core.system import System
from supple.verification.meshes import block

from ..test_sag_free import POINTS, TRIANGLES, bent, tail

LENGTH, WIDTH = 2.0, 0.4


def surface_of(mesh: TetMesh, **options) -> SurfaceMesh:
    used, triangles = np.unique(mesh.surface, return_inverse=True)
    return SurfaceMesh(mesh.vertices[used], triangles.reshape(-1, 3), **options)


def bar(make_block, cells=(1, 1, 1), origin=(0.0, 0.0, 0.0), **options) -> SurfaceMesh:
    return surface_of(make_block(cells, (LENGTH, WIDTH, WIDTH), origin), **options)


def ramp(points: np.ndarray) -> np.ndarray:
    """A tenth at the start of the bar, 1 at its end."""
    return 0.1 + 0.9 * points[..., 0] / LENGTH


def centroids(mesh: TetMesh) -> np.ndarray:
    return mesh.vertices[mesh.tets].mean(axis=1)


def filled(surface: SurfaceMesh, **options) -> SoftBody:
    scene, _ = tetrahedralize_scene(Scene([SoftBody(surface, **options)]))
    return scene.bodies[0]


@pytest.mark.parametrize(("cells", "exact"), [((1, 1, 1), 1e-9), ((17, 5, 3), 5e-3)])
def test_a_linear_ramp_reaches_tets_that_end_at_the_surface(make_block, cells, exact) -> None:
    """Exactly where triangles are larger than what is looked for between them."""
    mesh, surface = make_block((10, 4, 4), (LENGTH, WIDTH, WIDTH)), bar(make_block, cells)
    found = tet_factors(mesh, surface, ramp(surface.vertices)[:, None])[:, 0]
    np.testing.assert_allclose(found, ramp(centroids(mesh)), atol=exact)


@pytest.mark.parametrize("cells", [(1, 1, 1), (40, 8, 8)])
def test_a_linear_ramp_reaches_cells_around_the_surface(make_block, cells) -> None:
    """However many vertices the surface has; beyond its ends values stay."""
    surface = bar(make_block, cells, edge_length=0.1)
    surface.paint = [Paint("young", ramp(surface.vertices))]
    body = filled(surface, material=StableNeoHookean(2e4))
    off = body.material.young / 2e4 - ramp(centroids(body.mesh))
    inside = np.abs(centroids(body.mesh)[:, 0] - LENGTH / 2) < 0.45 * LENGTH
    assert np.abs(off[inside]).max() < 4e-3
    assert np.abs(off).max() < 0.02


def test_painted_density_has_the_mass_and_the_centre_of_mass_of_the_integral(make_block) -> None:
    surface = bar(make_block, edge_length=0.1)
    surface.paint = [Paint("density", ramp(surface.vertices))]
    body = filled(surface, density=500.0)
    mass = body.mesh.lumped_mass(body.density)
    assert mass.sum() == pytest.approx(500.0 * 0.55 * LENGTH * WIDTH**2, rel=5e-3)
    # ∫ (0.1 + 0.9 s) s ds / ∫ (0.1 + 0.9 s) ds over s from 0 to 1
    centre = (0.05 + 0.3) / 0.55 * LENGTH
    assert (mass @ body.mesh.vertices[:, 0]) / mass.sum() == pytest.approx(centre, rel=5e-3)


def test_parts_that_lie_closer_than_a_cell_keep_their_own_paint(make_block) -> None:
    size, gap = (1.0, 0.4, 0.3), 0.03
    lower, upper = (make_block((10, 4, 3), size, (0, 0, z)) for z in (0.0, size[2] + gap))
    both = TetMesh(
        np.concatenate([lower.vertices, upper.vertices]),
        np.concatenate([lower.tets, upper.tets + len(lower.vertices)]),
    )
    surface = surface_of(both, edge_length=0.1)
    is_upper = surface.vertices[:, 2] > size[2] + gap / 2
    surface.paint = [Paint("young", np.where(is_upper, 1.0, 0.1))]
    body = filled(surface, material=StableNeoHookean(1.0))
    np.testing.assert_allclose(np.unique(body.material.young.round(6)), [0.1, 1.0])
    heights = centroids(body.mesh)[:, 2]
    assert heights[body.material.young > 0.5].min() > size[2] - 0.12
    assert heights[body.material.young < 0.5].max() < size[2] + gap + 0.12


def test_each_setting_is_multiplied_by_its_own_paint(make_block) -> None:
    mesh, surface = make_block((4, 1, 1), (LENGTH, WIDTH, WIDTH)), bar(make_block)
    surface.paint = [
        Paint(name, np.full(8, 0.1 * (k + 1))) for k, name in enumerate(PAINTED_SETTINGS)
    ]
    body = SoftBody(
        *(surface, StableNeoHookean(1e4, 0.3), 1000.0),
        damping=2.0,
        stiffness_damping=0.01,
        viscosity=0.0,
        plasticity=Plasticity(50.0),
    )
    found = with_painted_settings(body, surface, mesh)
    for value, expected in (
        (found.material.young, 1e3),
        (found.density, 200.0),
        (found.damping, 0.6),
        (found.stiffness_damping, 0.004),
        (found.plasticity.yield_stress, 30.0),
    ):
        np.testing.assert_allclose(value, np.full(len(mesh.tets), expected))
    assert found.viscosity == 0.0
    np.testing.assert_allclose(found.friction_paint.at(mesh.vertices), 0.7)
    assert found.material.poisson == 0.3


@pytest.mark.parametrize("integrator", [SymplecticEuler(), ImplicitEuler(1e-6)])
def test_one_value_for_all_tets_is_the_number(make_block, integrator) -> None:
    mesh = make_block((3, 1, 1))
    pinned = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    values = {"density": 300.0, "damping": 1.5, "stiffness_damping": 0.004, "viscosity": 5.0}
    each = {name: np.full(len(mesh.tets), value) for name, value in values.items()}
    found = []
    for young, settings in ((1e4, values), (np.full(len(mesh.tets), 1e4), each)):
        body = SoftBody(mesh, StableNeoHookean(young, 0.3), pinned=pinned, **settings)
        *_, last = Simulator(Scene([body]), integrator, device="cpu").run(2)
        found.append(last.positions[0])
    assert float((found[0] - torch.as_tensor(mesh.vertices)).abs().max()) > 0.01
    torch.testing.assert_close(*found, rtol=0.0, atol=1e-8)


def test_vertices_are_damped_as_the_mass_of_the_tets_around_them_is(make_block) -> None:
    mesh, random = make_block((2, 1, 1)), np.random.default_rng(5)
    damping, density = random.uniform(0.0, 3.0, len(mesh.tets)), random.uniform(1, 9, 12)
    other = SoftBody(make_block((1, 1, 1)), damping=7.0)
    scene = Scene([SoftBody(mesh, density=density, damping=damping), other])
    system = System(scene, torch.device("cpu"), torch.float64)
    assert isinstance(system.damping, torch.Tensor)
    resisted = float((system.damping * system.mass)[: len(mesh.vertices)].sum())
    assert resisted == pytest.approx(float((damping * density * mesh.rest_volumes).sum()))
    np.testing.assert_array_equal(system.damping[len(mesh.vertices) :], 7.0)
    vertex = int(mesh.tets[0, 0])
    around = (mesh.tets == vertex).any(axis=1)
    mean = np.average(damping[around], weights=(density * mesh.rest_volumes)[around])
    assert float(system.damping[vertex]) == pytest.approx(mean)


def test_paint_comes_back_from_the_folder_and_changes_the_digest(make_block, tmp_path: Path):
    settings = Settings(2)

    def painted(value: float) -> Scene:
        paint = [Paint("young", np.full(8, value)), Paint("density", np.ones(8))]
        return Scene([SoftBody(bar(make_block, paint=paint))])

    Job.create(tmp_path, painted(0.5), settings)
    read = Job(tmp_path).scene
    (young, density) = read.bodies[0].mesh.paint
    assert (young.setting, density.setting) == ("young", "density")
    np.testing.assert_array_equal(young.factors, np.full(8, 0.5))
    assert digest(read, settings) == digest(painted(0.5), settings)
    assert digest(read, settings) != digest(painted(0.6), settings)


def test_values_of_tets_come_back_from_the_folder_as_they_were(make_block, tmp_path: Path) -> None:
    surface = bar(make_block, edge_length=0.3)
    names = ("young", "density", "damping")
    surface.paint = [Paint(name, ramp(surface.vertices)) for name in names]
    job = Job.create(tmp_path, Scene([SoftBody(surface, damping=2.0)]), Settings(2))
    job.write_tet_scene(*tetrahedralize_scene(job.scene))
    (made,), (read,) = tetrahedralize_scene(job.scene)[0].bodies, Job(tmp_path).tet_scene.bodies
    assert np.ptp(read.density) > 100.0
    np.testing.assert_array_equal(read.density, made.density)
    np.testing.assert_array_equal(read.damping, made.damping)
    np.testing.assert_array_equal(read.material.young, made.material.young)


def test_a_surface_without_paint_is_written_as_ever(make_block) -> None:
    assert "paint" not in encode(bar(make_block), "surface", {})


SOFT = StableNeoHookean(2e4, 0.3)


def bar_surface() -> tuple[np.ndarray, np.ndarray]:
    mesh = block((8, 2, 2), (0.8, 0.2, 0.2))
    used, triangles = np.unique(mesh.surface, return_inverse=True)
    return mesh.vertices[used], triangles.reshape(-1, 3).astype(np.int32)


def start_transfer_bar(**options) -> SoftBody:
    vertices, triangles = bar_surface()
    surface = SurfaceMesh(vertices, triangles, edge_length=0.1)
    return SoftBody(surface, SOFT, skin=Skin(vertices), **options)


def sheared(points: np.ndarray) -> np.ndarray:
    return points + np.outer(points[:, 0] ** 2, (0.0, 0.0, 0.4))


def test_a_posed_body_starts_where_its_skin_is_and_rests_where_it_was() -> None:
    vertices, _ = bar_surface()
    plain, posed = start_transfer_bar(), start_transfer_bar(start=PosedStart(sheared(vertices)))
    (before,), (body,) = (prepare(Scene([each]))[0].bodies for each in (plain, posed))
    np.testing.assert_array_equal(body.mesh.vertices, before.mesh.vertices)
    assert body.start is None
    shown = body.skin.seen_at(start_positions(body), None)
    np.testing.assert_allclose(shown, sheared(vertices), atol=2e-3)


def test_it_springs_back_from_there() -> None:
    """As one pulled by hand does: it has the energy of its shape, and loses it to motion."""
    vertices, _ = bar_surface()
    scene = Scene(
        [start_transfer_bar(start=PosedStart(sheared(vertices)))], gravity=(0.0, 0.0, 0.0)
    )
    simulator = Simulator(scene, RungeKutta4(), frame_time=0.005, device="cpu")
    start = simulator.frame().report.energies
    (frame,) = simulator.run(1)
    assert start.elastic > 0.1
    assert frame.report.energies.kinetic > 0.05 * start.elastic
    assert frame.report.energies.total == pytest.approx(start.elastic, rel=1e-3)


def test_tets_that_a_pose_turns_inside_out_are_told_with_a_vertex_and_a_cure() -> None:
    vertices, _ = bar_surface()
    folded = vertices.copy()
    folded[:, 0] = np.abs(folded[:, 0] - 0.4)
    _, reports = prepare(Scene([start_transfer_bar(start=PosedStart(folded), name="Arm")]))
    assert "flat or inside out, the worst at vertex" in reports[0]["start"]
    assert "bend it less" in reports[0]["summary"]
    _, reports = prepare(Scene([start_transfer_bar(start=PosedStart(sheared(vertices)))]))
    assert "start" not in reports[0]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"start": PosedStart(np.zeros((3, 3)))}, "3 points, the skin"),
        ({"start": PosedStart(bar_surface()[0]), "skin": None}, "no skin that could be posed"),
    ],
)
def test_start_shapes_of_another_body_are_refused(options, told) -> None:
    with pytest.raises(SceneError, match=told):
        replace(start_transfer_bar(), **options)


def test_a_posed_start_below_the_ground_is_told_and_a_rest_shape_there_is_not() -> None:
    vertices, _ = bar_surface()
    low = start_transfer_bar(start=PosedStart(vertices - (0, 0, 1.0)))
    with pytest.raises(SceneError, match="1 m below the ground"):
        prepare(Scene([low], Ground()))
    prepare(
        Scene(
            [start_transfer_bar(start=PosedStart(vertices - (0.0, 0.0, -1.0)))], Ground(height=0.5)
        )
    )


def test_posed_bodies_that_intersect_are_told_by_name_and_those_that_rest_so_are_not() -> None:
    vertices, _ = bar_surface()
    away = vertices + np.array([0.0, 0.0, 0.5])
    apart = [
        start_transfer_bar(name="Left", start=PosedStart(away)),
        start_transfer_bar(name="Right", start=PosedStart(vertices)),
    ]
    scene, _ = prepare(Scene(apart, contact=Contact()))
    gap = (
        start_positions(scene.bodies[0])[:, 2].min() - start_positions(scene.bodies[1])[:, 2].max()
    )
    assert gap > 0.2
    crossing = [replace(apart[0], start=PosedStart(vertices + np.array([0.3, 0.0, 0.1]))), apart[1]]
    with pytest.raises(IntersectionError, match=r"Left.*Right"):
        prepare(Scene(crossing, contact=Contact()))


def test_values_for_other_vertices_are_refused() -> None:
    mesh = block((1, 1, 1))
    with pytest.raises(SceneError, match="velocities at the start has 3 vertices, the mesh 8"):
        SoftBody(mesh, initial_velocities=np.zeros((3, 3)))
    with pytest.raises(SceneError, match="has 3 vertices, its tetrahedra have 8"):
        RunStart(mesh, np.zeros((8, 3)), np.zeros((3, 3)))
    with pytest.raises(SceneError, match="two start shapes"):
        SoftBody(
            mesh,
            initial_positions=mesh.vertices,
            start=RunStart(mesh, mesh.vertices, np.zeros((8, 3))),
        )


# The end of another run


def _job(folder: Path, frames: int, body: SoftBody, **options) -> Job:
    other = SoftBody(block((1, 1, 1), origin=(3.0, 0.0, 0.0)), SOFT)
    scene = Scene([other, body], gravity=(0.0, 0.0, -5.0), **options)
    settings = Settings(frames, 0.02, 60, device="cpu", integrator="symplectic_euler")
    job = Job.create(folder, scene, settings)
    work(folder)
    return job


def test_a_run_goes_on_from_the_end_of_another_as_if_it_were_one(tmp_path: Path) -> None:
    spinning = start_transfer_bar(velocity=(0.5, 0.0, 0.0), angular_velocity=(0.0, 9.0, 2.0))
    whole = _job(tmp_path / "whole", 4, spinning)
    first = _job(tmp_path / "first", 2, spinning)
    second = _job(tmp_path / "second", 2, start_transfer_bar(start=run_start(first, 1, 2)))
    for index in range(3):
        expected, found = whole.read_frame(2 + index)[8:], second.read_frame(index)[8:]
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)
    rest = whole.tet_scene.bodies[1].mesh.vertices
    np.testing.assert_array_equal(second.tet_scene.bodies[1].mesh.vertices, rest)


def test_frames_before_the_last_have_the_velocities_of_their_motion(tmp_path: Path) -> None:
    """In free fall, over frames of other lengths, that is what it is."""
    scale = np.array([1.0, 1.0, 0.5, 0.5, 2.0])
    job = _job(tmp_path, 4, start_transfer_bar(velocity=(1.0, 0.0, 2.0)), time_scale=Channel(scale))
    times = 0.02 * np.array([0.0, 1.0, 1.75, 2.25, 3.5])
    for frame, near in ((0, 1e-12), (1, 0.1), (2, 0.01), (3, 0.01), (4, 1e-12)):
        start = run_start(job, 1, frame)
        speed = (1.0, 0.0, 2.0 - 5.0 * times[frame])
        np.testing.assert_allclose(start.velocities - speed, 0.0, atol=near)


def test_other_tetrahedra_of_the_same_rest_shape_take_it_over(tmp_path: Path) -> None:
    vertices, triangles = bar_surface()
    coarse, fine = (
        prepare(Scene([SoftBody(SurfaceMesh(vertices, triangles, edge_length=h))]))[0].bodies[0]
        for h in (0.2, 0.08)
    )
    start = RunStart(coarse.mesh, *(2.0 * coarse.mesh.vertices + k for k in (1.0, 3.0)))
    (body,) = prepare(Scene([replace(fine, skin=None, start=start)]))[0].bodies
    np.testing.assert_allclose(start_positions(body), 2.0 * body.mesh.vertices + 1.0, atol=1e-10)
    np.testing.assert_allclose(
        start_velocities(body, 1.0), 2.0 * body.mesh.vertices + 3.0, atol=1e-10
    )


def test_jobs_keep_start_shapes_and_are_other_runs_with_them(tmp_path: Path) -> None:
    vertices, _ = bar_surface()
    mesh = block((1, 1, 1))
    posed = start_transfer_bar(start=PosedStart(sheared(vertices)))
    left = SoftBody(mesh, SOFT, start=RunStart(mesh, mesh.vertices + 1.0, mesh.vertices))
    moving = SoftBody(mesh, SOFT, initial_velocities=mesh.vertices)
    scene, settings = Scene([posed, left, moving]), Settings(1)
    read = Job(Job.create(tmp_path, scene, settings).folder).scene
    assert digest(read, settings) == digest(scene, settings)
    np.testing.assert_array_equal(read.bodies[0].start.points, posed.start.points)
    np.testing.assert_array_equal(read.bodies[1].start.positions, left.start.positions)
    np.testing.assert_array_equal(read.bodies[2].initial_velocities, mesh.vertices)
    runs = {digest(Scene([each]), settings) for each in (left, replace(left, start=None), moving)}
    assert len(runs) == 3


def test_a_frame_or_body_that_is_not_there_is_told(tmp_path: Path) -> None:
    job = Job.create(tmp_path, Scene([SoftBody(block((1, 1, 1)), SOFT)]), Settings(1, device="cpu"))
    job.write_tet_scene(job.scene, [])
    simulate(job)
    with pytest.raises(Exception, match="no frame 2; its last is 1"):
        run_start(job, 0, 2)
    with pytest.raises(Exception, match="no body 1"):
        run_start(job, 1, 0)


CELLS, SIDE, WEIGHT = 6, 0.6, 0.1
CUBE = block((CELLS, CELLS, CELLS), (SIDE, SIDE, SIDE), (0.0, 0.0, 0.0))
DEPTH = np.minimum(CUBE.vertices, SIDE - CUBE.vertices).min(axis=1)
ON_SURFACE = np.flatnonzero(DEPTH < 1e-9)
PAINTED_POINTS = CUBE.vertices[ON_SURFACE]


def body(
    path: np.ndarray = PAINTED_POINTS,
    depth: float | None = 1.0,
    weights=WEIGHT,
    mesh: TetMesh = CUBE,
) -> SoftBody:
    """The cube, with goals at all points of its surface."""
    goals = Goals(
        np.arange(len(PAINTED_POINTS)), path, weights, 3.0, sag_free=True, falloff_depth=depth
    )
    return SoftBody(
        mesh, StableNeoHookean(2e4, 0.4), skin=Skin(PAINTED_POINTS, goals=goals), name="Cube"
    )


def prepared(given: SoftBody) -> SoftBody:
    scene, _ = tetrahedralize_scene(Scene([given]))
    return scene.bodies[0]


def stiffness(given: SoftBody) -> np.ndarray:
    """(N,) weights of all tet vertices, 1 where one is pinned."""
    found = np.zeros(len(CUBE.vertices))
    assert given.goals is not None
    found[given.goals.vertices] = given.goals.weights
    found[given.pinned] = 1.0
    return found


def turned(points: np.ndarray, angle: float) -> np.ndarray:
    x, y, z = points.T
    cosine, sine = np.cos(angle), np.sin(angle)
    return np.stack([cosine * x - sine * y + 0.2 * angle, sine * x + cosine * y, z], axis=1)


def test_depths_of_a_cube() -> None:
    np.testing.assert_allclose(depths(CUBE), DEPTH, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize("depth", [1.0, 0.7, 0.3])
def test_springs_stiffen_with_the_depth_until_they_hold(depth: float) -> None:
    found = prepared(body(depth=depth))
    share = np.minimum(DEPTH / (depth * 0.5 * SIDE), 1.0)
    moves = 1.0 - 3.0 * share**2 + 2.0 * share**3
    held = moves <= WEIGHT
    np.testing.assert_array_equal(np.sort(found.pinned), np.flatnonzero(held))
    np.testing.assert_allclose(stiffness(found)[~held], WEIGHT / moves[~held], rtol=1e-9)
    assert found.skin is not None
    assert found.skin.goals is None
    assert found.goals is not None
    assert found.goals.falloff_depth is None
    assert found.is_sag_free


def test_what_is_soft_at_the_surface_is_softer_below_it() -> None:
    weights = np.where(PAINTED_POINTS[:, 0] < 0.5 * SIDE, 0.5, 0.1)
    found = stiffness(prepared(body(weights=weights)))
    below = np.isclose(DEPTH, SIDE / CELLS)
    left = found[below & (CUBE.vertices[:, 0] < 0.4 * SIDE)]
    right = found[below & (CUBE.vertices[:, 0] > 0.6 * SIDE)]
    np.testing.assert_allclose(left / right.max(), 5.0)


def test_what_is_pinned_at_the_surface_stays_pinned() -> None:
    given = body()
    assert given.skin is not None
    assert given.skin.goals is not None
    held, drawn = np.arange(4), np.arange(4, len(PAINTED_POINTS))
    goals = replace(given.skin.goals, vertices=drawn, targets=PAINTED_POINTS[drawn], weights=WEIGHT)
    found = prepared(replace(given, skin=replace(given.skin, pinned=held, goals=goals)))
    assert set(ON_SURFACE[held]) <= set(found.pinned.tolist())


def test_the_core_stays_on_the_animation_while_the_surface_wobbles() -> None:
    """It turns, too: places inside follow from those of the surface."""
    turns = 0.3 * np.minimum(np.arange(8), 3)
    path = np.stack([turned(CUBE.vertices, angle) for angle in turns])
    sim = Simulator(
        Scene([body(path[:, ON_SURFACE], depth=0.6)]),
        ImplicitEuler(),
        frame_time=1.0 / 24.0,
        device="cpu",
    )
    core, most = np.flatnonzero(DEPTH > 0.6 * 0.5 * SIDE - 1e-9), 0.0
    assert len(core) > 20
    for frame in sim.run(7):
        off = np.linalg.norm(frame.positions[0].numpy() - path[frame.index], axis=1)
        assert off[core].max() < 1e-9
        most = max(most, off[ON_SURFACE].max())
    assert most > 0.02 * SIDE
    rested = sim.settle().positions[0].numpy()
    np.testing.assert_allclose(rested, path[-1], rtol=0.0, atol=1e-8)


def test_what_has_no_inside_is_refused() -> None:
    flat = block((2, 2, 1), (SIDE, SIDE, 0.1), (0.0, 0.0, 0.0))
    goals = Goals([0], flat.vertices[:1], sag_free=True, falloff_depth=0.5)
    skin = Skin(flat.vertices, goals=goals)
    with pytest.raises(
        SceneError, match="Cube: all vertices of its tetrahedra lie on their surface"
    ):
        prepared(replace(body(), mesh=flat, skin=skin))


def test_it_takes_goals_that_are_sag_free_of_a_skin_alone() -> None:
    with pytest.raises(SceneError, match="sag-free"):
        Goals([0], PAINTED_POINTS[:1], falloff_depth=0.5)
    for depth in (0.0, 1.5):
        with pytest.raises(SceneError, match="above 0 and up to 1"):
            Goals([0], PAINTED_POINTS[:1], sag_free=True, falloff_depth=depth)
    tet_goals = Goals([0], CUBE.vertices[:1], sag_free=True, falloff_depth=0.5)
    with pytest.raises(SceneError, match="give the falloff to those of a skin"):
        SoftBody(CUBE, goals=tet_goals)
    both = replace(body(), goals=replace(tet_goals, falloff_depth=None))
    with pytest.raises(SceneError, match="and it has both"):
        prepared(both)


SHEAR = np.array([[0.9, 0.3, 0.0], [-0.2, 1.1, 0.4], [0.1, 0.0, 0.8]])


def posed_prepared(body: SoftBody) -> SoftBody:
    return tetrahedralize_scene(Scene([body]))[0].bodies[0]


def test_an_affine_motion_takes_all_tets_along_exactly() -> None:
    path = np.stack([POINTS, POINTS @ SHEAR.T + [1.0, 2.0, 3.0]])
    body = posed_prepared(tail(path, reach=0.3))
    rest = body.mesh.vertices
    np.testing.assert_allclose(body.pose.at(0), rest, rtol=0.0, atol=1e-12)
    expected = rest @ SHEAR.T + [1.0, 2.0, 3.0]
    # Pieces that no point holds would stay, and so a little holds all.
    np.testing.assert_allclose(body.pose.at(1), expected, rtol=0.0, atol=1e-5)


def test_pins_and_goals_are_in_the_pose_and_details_are_seen_on_top() -> None:
    path = Channel(np.stack([bent(0.01), bent(1.0), bent(2.0)]), 2)
    body = posed_prepared(tail(path))
    skin = body.skin
    for fraction in (0.0, 0.5):
        pose = body.pose.at(0, fraction)
        np.testing.assert_array_equal(body.pin_path.at(0, fraction), pose[body.pinned])
        carried = skin.embedding.interpolate(pose)[skin.goals.vertices]
        np.testing.assert_allclose(skin.goals.targets.at(0, fraction), carried, atol=1e-15)
        # It is near what was asked for.
        wanted = path.at(0, fraction)
        assert np.abs(skin.embedding.interpolate(pose) - wanted).max() < 0.02
    for frame in (0, 1):
        np.testing.assert_allclose(
            skin.seen_at(body.pose.at(frame), None, frame), path.at(frame), rtol=0.0, atol=1e-14
        )
    assert np.abs(skin.detail.samples).max() > 1e-5


@pytest.mark.parametrize("count", [1, 2, 4])
def test_few_points_take_a_body_along_rigidly(count) -> None:
    """Points in a plane say nothing of the direction across, and one nothing of any turn."""
    mesh = block((1, 1, 3), (0.2, 0.2, 0.6), (1.0, 0.0, 0.0))
    foot = np.flatnonzero(mesh.vertices[:, 2] == 0.0)[:count]
    angles = np.array([0.0, 0.4]) if count > 1 else np.zeros(2)
    c, s, shift = np.cos(angles), np.sin(angles), np.array([0.0, 20.0])
    moved = np.repeat(mesh.vertices[None], 2, axis=0)
    corner = mesh.vertices[foot[0]]
    arms = mesh.vertices - corner
    # About an axis across the line from the first to the second, which they do tell of.
    moved[..., 1] = corner[1] + c[:, None] * arms[:, 1] - s[:, None] * arms[:, 2] + shift[:, None]
    moved[..., 2] = corner[2] + s[:, None] * arms[:, 1] + c[:, None] * arms[:, 2]
    goals = Goals(foot, moved[:, foot], sag_free=True)
    body = posed_prepared(SoftBody(mesh, goals=goals))
    np.testing.assert_allclose(body.pose.samples, moved, rtol=0.0, atol=2e-5)


def test_a_second_preparation_changes_nothing() -> None:
    body = posed_prepared(tail(np.stack([POINTS, bent(1.0)])))
    again = posed_prepared(body)
    np.testing.assert_array_equal(again.pose.samples, body.pose.samples)
    np.testing.assert_array_equal(again.skin.detail.samples, body.skin.detail.samples)


def test_goals_of_all_tet_vertices_are_the_pose() -> None:
    mesh = block((2, 1, 1), (0.5, 0.5, 0.5), (0.0, 0.0, 0.0))
    moved = mesh.vertices + 0.1 * np.random.default_rng(0).standard_normal(mesh.vertices.shape)
    goals = Goals(np.arange(len(mesh.vertices)), moved, sag_free=True)
    body = posed_prepared(SoftBody(mesh, goals=goals))
    np.testing.assert_array_equal(body.pose.at(0), moved)


def test_what_is_not_to_be_free_of_sag_has_no_pose() -> None:
    body = posed_prepared(tail(bent(1.0), sag_free=False))
    assert body.pose is None
    assert body.skin.detail is None


def test_files_keep_it() -> None:
    body = posed_prepared(tail(np.stack([POINTS, bent(1.0)])))
    arrays: dict[str, Any] = {}
    read = decode(encode(body, "body", arrays), arrays)
    np.testing.assert_array_equal(read.pose.samples, body.pose.samples)
    np.testing.assert_array_equal(read.skin.detail.samples, body.skin.detail.samples)
    assert read.skin.goals.sag_free
    surface = SoftBody(SurfaceMesh(POINTS, TRIANGLES), skin=Skin(POINTS))
    assert "pose" not in encode(surface, "body", {})
    skin = tail(bent(1.0)).skin
    assert skin is not None
    assert skin.goals is not None
    plain = replace(skin.goals, sag_free=False)
    assert "sag_free" not in encode(plain, "goals", {})


@pytest.mark.parametrize("shape", [(3, 3), (2, 5, 3)])
def test_a_pose_is_of_all_vertices(shape) -> None:
    mesh = block((1, 1, 1), (0.5, 0.5, 0.5), (0.0, 0.0, 0.0))
    with pytest.raises(ValueError, match="pose"):
        SoftBody(mesh, pose=np.zeros(shape))
