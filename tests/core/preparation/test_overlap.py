# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core import Ground, SceneError, Sphere
from supple.core.preparation.overlap import check_surfaces, check_tetrahedra
from supple.core.scene.scene import Scene
from supple.core.scene.skin import Skin, SurfaceMesh
from supple.core.scene.soft_body import SoftBody


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
