# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from supple.core import Ground, Scene, SceneError, Simulator, SoftBody, Sphere, SurfaceMesh
from supple.core.job import Job, Settings
from supple.core.job.worker import work
from supple.core.preparation import initial_intersections
from supple.core.preparation.overlap import check_surfaces, check_tetrahedra
from supple.core.preparation.prepared import prepare
from supple.core.scene.contact_settings import Contact
from supple.core.scene.skin import Skin

from ..box_job import box


@pytest.fixture
def touching() -> Scene:
    """Two boxes, one upon the other."""
    surface = box()
    shapes = [np.add(surface.vertices, (0.0, 0.0, height)) for height in (0.0, 1.0)]
    meshes = [SurfaceMesh(shape, surface.triangles, edge_length=0.5) for shape in shapes]
    bodies = [SoftBody(mesh, name="Brick") for mesh in meshes]
    return Scene(bodies, gravity=(0.0, 0.0, 0.0), contact=Contact())


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[Scene]:
    """The scenes of bricks in which intersections were looked for: others compile the solver."""
    found: list[Scene] = []

    def resolve_initial_intersections(scene: Scene) -> Scene:
        found.extend([scene] if scene.bodies[0].name == "Brick" else [])
        return original(scene)

    original = initial_intersections.resolve_initial_intersections
    monkeypatch.setattr(
        initial_intersections, "resolve_initial_intersections", resolve_initial_intersections
    )
    return found


def test_a_worker_looks_for_intersections_once(touching, searches, tmp_path: Path) -> None:
    job = Job.create(tmp_path, touching, Settings(1, device="cpu", integrator="implicit_euler"))
    work(job.folder)
    assert job.last_frame() == 1
    assert len(searches) == 1


def test_a_prepared_scene_is_simulated_as_it_is(touching, searches) -> None:
    solids, reports = prepare(touching)
    assert len(reports) == 2
    assert Simulator(solids, is_prepared=True).scene is solids
    assert len(searches) == 1


def test_a_scene_as_it_was_drawn_is_prepared_by_the_simulator(touching, searches) -> None:
    simulator = Simulator(touching, device="cpu")
    assert all(body.initial_positions is not None for body in simulator.scene.bodies)
    assert len(searches) == 1


def _check(mesh, *spheres: Sphere) -> None:
    surface = SurfaceMesh(mesh.vertices, mesh.surface)
    check_surfaces(Scene([SoftBody(surface, name="Box")], colliders=spheres))
    check_tetrahedra(Scene([SoftBody(mesh, name="Box")], colliders=spheres))


def _below(gap: float, radius: float = 0.3) -> Sphere:
    """Under the middle of a cube's lowest face."""
    return Sphere((0.5, 0.5, -radius - gap), radius, name="Ball")


def test_a_body_beside_a_sphere_is_fine_and_so_is_one_that_just_touches(make_block) -> None:
    _check(make_block(), _below(0.1), _below(0.0), _below(-0.0017))


def test_an_overlap_is_measured_to_the_nearest_point_of_a_face(make_block) -> None:
    with pytest.raises(SceneError, match=r"Box starts 0\.002 m inside the collider Ball; move"):
        _check(make_block((1, 1, 1)), _below(0.1), _below(-0.002))


def test_a_sphere_that_the_body_surrounds_is_an_overlap(make_block) -> None:
    inside = Sphere((0.5, 0.5, 0.5), 0.1, name="Ball")
    with pytest.raises(SceneError, match=r"Box starts 0\.6 m inside the collider Ball"):
        _check(make_block(), inside)


def test_a_body_in_the_middle_of_a_sphere_is_an_overlap(make_block) -> None:
    around = Sphere((0.5, 0.5, -1.0), 10.0, name="Ball")
    with pytest.raises(SceneError, match=r"Box starts 9 m inside the collider Ball"):
        _check(make_block(), around)


@pytest.mark.parametrize("check", [check_surfaces, check_tetrahedra])
def test_both_surfaces_and_tetrahedra_are_looked_at(make_block, check) -> None:
    mesh = make_block(origin=(0.0, 0.0, -0.25))
    shape = SurfaceMesh(mesh.vertices, mesh.surface) if check is check_surfaces else mesh
    body = SoftBody(shape, name="Box")
    with pytest.raises(SceneError, match=r"Box starts 0\.25 m below the ground; raise it"):
        check(Scene([body], ground=Ground()))
    with pytest.raises(SceneError, match=r"Box starts 0\.6 m inside the collider Ball"):
        check(Scene([body], colliders=[Sphere((0.5, 0.5, 0.25), 0.1, name="Ball")]))


def test_tetrahedra_are_where_they_start_and_pinned_ones_may_be_in_the_ground(make_block) -> None:
    mesh = make_block(origin=(0.0, 0.0, -0.25))
    lowest = np.flatnonzero(mesh.vertices[:, 2] < 0.0)
    check_tetrahedra(Scene([SoftBody(mesh, pinned=lowest)], ground=Ground()))
    raised = np.add(mesh.vertices, (0.0, 0.0, 0.25))
    check_tetrahedra(Scene([SoftBody(mesh, initial_positions=raised)], ground=Ground()))


def test_tetrahedra_that_stand_out_of_what_is_seen_may_be_in_the_ground(make_block) -> None:
    mesh = make_block(origin=(0.0, 0.0, -0.25))
    check_tetrahedra(Scene([SoftBody(mesh, skin=Skin(mesh.vertices + 0.25))], ground=Ground()))


def test_a_surface_that_is_inside_out_surrounds_as_well(make_block) -> None:
    mesh, inside = make_block(), Sphere((0.5, 0.5, 0.5), 0.1, name="Ball")
    surface = SurfaceMesh(mesh.vertices, mesh.surface[:, ::-1])
    with pytest.raises(SceneError, match=r"0\.6 m inside"):
        check_surfaces(Scene([SoftBody(surface)], colliders=[inside]))
