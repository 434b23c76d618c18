# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that start in another shape than they rest in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from supple.core import (
    Contact,
    Ground,
    PosedStart,
    RunStart,
    Scene,
    Simulator,
    Skin,
    SoftBody,
    SurfaceMesh,
)
from supple.core.errors import IntersectionError, SceneError
from supple.core.integrators import RungeKutta4
from supple.core.job import Job, Settings, digest
from supple.core.job.run import simulate
from supple.core.job.run_start import run_start
from supple.core.job.worker import work
from supple.core.materials import StableNeoHookean
from supple.core.preparation.prepared import prepare
from supple.core.scene.channel import Channel
from supple.core.scene.start_shape import start_positions, start_velocities
from supple.verification.meshes import block

SOFT = StableNeoHookean(2e4, 0.3)


def bar_surface() -> tuple[np.ndarray, np.ndarray]:
    mesh = block((8, 2, 2), (0.8, 0.2, 0.2))
    used, triangles = np.unique(mesh.surface, return_inverse=True)
    return mesh.vertices[used], triangles.reshape(-1, 3).astype(np.int32)


def bar(**options) -> SoftBody:
    vertices, triangles = bar_surface()
    surface = SurfaceMesh(vertices, triangles, edge_length=0.1)
    return SoftBody(surface, SOFT, skin=Skin(vertices), **options)


def sheared(points: np.ndarray) -> np.ndarray:
    return points + np.outer(points[:, 0] ** 2, (0.0, 0.0, 0.4))


def test_a_posed_body_starts_where_its_skin_is_and_rests_where_it_was() -> None:
    vertices, _ = bar_surface()
    plain, posed = bar(), bar(start=PosedStart(sheared(vertices)))
    (before,), (body,) = (prepare(Scene([each]))[0].bodies for each in (plain, posed))
    np.testing.assert_array_equal(body.mesh.vertices, before.mesh.vertices)
    assert body.start is None
    shown = body.skin.seen_at(start_positions(body), None)
    np.testing.assert_allclose(shown, sheared(vertices), atol=2e-3)


def test_it_springs_back_from_there() -> None:
    """As one pulled by hand does: it has the energy of its shape, and loses it to motion."""
    vertices, _ = bar_surface()
    scene = Scene([bar(start=PosedStart(sheared(vertices)))], gravity=(0.0, 0.0, 0.0))
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
    _, reports = prepare(Scene([bar(start=PosedStart(folded), name="Arm")]))
    assert "flat or inside out, the worst at vertex" in reports[0]["start"]
    assert "bend it less" in reports[0]["summary"]
    _, reports = prepare(Scene([bar(start=PosedStart(sheared(vertices)))]))
    assert "start" not in reports[0]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"start": PosedStart(np.zeros((3, 3)))}, "3 points, the skin"),
        (
            {"start": PosedStart(bar_surface()[0]), "skin": None},
            "no skin that could be posed",
        ),
    ],
)
def test_start_shapes_of_another_body_are_refused(options, told) -> None:
    with pytest.raises(SceneError, match=told):
        replace(bar(), **options)


def test_a_posed_start_below_the_ground_is_told_and_a_rest_shape_there_is_not() -> None:
    vertices, _ = bar_surface()
    low = bar(start=PosedStart(vertices - (0, 0, 1.0)))
    with pytest.raises(SceneError, match="1 m below the ground"):
        prepare(Scene([low], Ground()))
    prepare(Scene([bar(start=PosedStart(vertices - (0.0, 0.0, -1.0)))], Ground(height=0.5)))


def test_posed_bodies_that_intersect_are_told_by_name_and_those_that_rest_so_are_not() -> None:
    vertices, _ = bar_surface()
    away = vertices + np.array([0.0, 0.0, 0.5])
    apart = [
        bar(name="Left", start=PosedStart(away)),
        bar(name="Right", start=PosedStart(vertices)),
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
    spinning = bar(velocity=(0.5, 0.0, 0.0), angular_velocity=(0.0, 9.0, 2.0))
    whole = _job(tmp_path / "whole", 4, spinning)
    first = _job(tmp_path / "first", 2, spinning)
    second = _job(tmp_path / "second", 2, bar(start=run_start(first, 1, 2)))
    for index in range(3):
        expected, found = whole.read_frame(2 + index)[8:], second.read_frame(index)[8:]
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-12)
    rest = whole.tet_scene.bodies[1].mesh.vertices
    np.testing.assert_array_equal(second.tet_scene.bodies[1].mesh.vertices, rest)


def test_frames_before_the_last_have_the_velocities_of_their_motion(tmp_path: Path) -> None:
    """In free fall, over frames of other lengths, that is what it is."""
    scale = np.array([1.0, 1.0, 0.5, 0.5, 2.0])
    job = _job(tmp_path, 4, bar(velocity=(1.0, 0.0, 2.0)), time_scale=Channel(scale))
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
    posed = bar(start=PosedStart(sheared(vertices)))
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
