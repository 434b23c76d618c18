# SPDX-License-Identifier: GPL-3.0-or-later
"""Rivets and buttons: loose parts that are too small for tetrahedra of their own are carried."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from supple.core import Collider, Contact, Ground, Scene, SoftBody, SurfaceMesh
from supple.core.potentials.contact.collision_detection import Detection
from supple.core.potentials.contact.surface import CollisionSurface
from supple.core.preparation.tetrahedralize_scene import (
    SMALL_RATIO,
    carried_parts,
    tetrahedralize_scene,
)
from supple.core.scene.contact_distances import contact_distances
from supple.core.simulator import Simulator
from supple.tests.core.balls import ball_surface
from supple.verification.meshes import block

EDGE, RADIUS = 0.25, 0.01
_BLOCK = block((4, 4, 4))
_USED, _FACES = np.unique(_BLOCK.surface, return_inverse=True)
BOX = _BLOCK.vertices[_USED], _FACES.reshape(-1, 3)
DIAGONAL = 2.0 * 3.0**0.5 * RADIUS


def ball(height: float, radius: float = RADIUS, x: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    """A ball whose lowest point is so high above the upper side of a box of a metre."""
    return ball_surface(2, radius, (x, 0.5, 1.0 + height + radius))


def together(*surfaces: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    offsets = np.cumsum([0, *(len(points) for points, _ in surfaces)])
    triangles = [faces + start for (_, faces), start in zip(surfaces, offsets, strict=False)]
    return np.concatenate([points for points, _ in surfaces]), np.concatenate(triangles)


def carried(*surfaces: tuple[np.ndarray, np.ndarray], edge: float = EDGE) -> list[bool]:
    """Whether each of the surfaces is carried."""
    flags = carried_parts(*together(*surfaces), edge)
    ends = np.cumsum([len(faces) for _, faces in surfaces])[:-1]
    parts = np.split(flags, ends)
    assert all(part.all() or not part.any() for part in parts)
    return [bool(part.all()) for part in parts]


@pytest.mark.parametrize(("height", "expected"), [(0.99, True), (1.01, False), (-0.1, True)])
def test_a_small_part_is_carried_where_it_is_nearer_than_its_size(height, expected) -> None:
    assert carried(BOX, ball(height * DIAGONAL)) == [False, expected]
    assert carried(ball(height * DIAGONAL), BOX) == [expected, False]


@pytest.mark.parametrize(("ratio", "expected"), [(0.99, True), (1.01, False)])
def test_a_part_is_small_beside_the_tetrahedra(ratio, expected) -> None:
    edge = DIAGONAL / SMALL_RATIO / ratio
    assert carried(BOX, ball(0.5 * DIAGONAL), edge=edge) == [False, expected]


def test_each_part_is_judged_by_its_own_size() -> None:
    small, large = ball(0.015, 0.004, 0.2), ball(0.015, 0.03, 0.7)
    assert carried(small, BOX, large) == [False, False, True]


def test_small_parts_alone_carry_nothing() -> None:
    assert carried(ball(0.0), ball(0.0, x=0.4 + 2.1 * RADIUS)) == [False, False]
    assert carried(BOX) == [False]


def test_faces_that_meet_without_being_joined_are_one_part() -> None:
    points, faces = ball(0.01)
    apart = points[faces].reshape(-1, 3), np.arange(3 * len(faces)).reshape(-1, 3)
    assert carried(BOX, apart) == [False, True]
    corners = np.arange(BOX[1].size).reshape(-1, 3)
    assert not carried_parts(BOX[0][BOX[1]].reshape(-1, 3), corners, EDGE).any()


# In a scene


def rivets() -> list[tuple[np.ndarray, np.ndarray]]:
    return [ball(0.004, x=x) for x in (0.2, 0.5, 0.8)]


def body(*surfaces: tuple[np.ndarray, np.ndarray], **options) -> SoftBody:
    points, triangles = together(*surfaces)
    surface = SurfaceMesh(points, triangles.astype(np.int32), edge_length=EDGE)
    return SoftBody(surface, name="Plate", **options)


def filled(*surfaces, **options):
    scene, reports = tetrahedralize_scene(Scene([body(*surfaces)], contact=Contact(), **options))
    return scene, reports[0]


def test_carried_parts_change_no_tetrahedron() -> None:
    (plain, _), (riveted, report) = filled(BOX), filled(BOX, *rivets())
    for name in ("vertices", "tets"):
        of_plain, of_riveted = (getattr(s.bodies[0].mesh, name) for s in (plain, riveted))
        np.testing.assert_allclose(of_riveted, of_plain, atol=1e-12)
    assert (report["loose_parts"], report["pieces"]) == (4, 1)


def test_a_carried_part_moves_with_what_is_beside_it() -> None:
    scene, _ = filled(BOX, *rivets())
    plate = scene.bodies[0]
    turn = np.array([[0.0, -1.0, 0.2], [1.0, 0.1, 0.0], [0.0, 0.3, 1.0]])
    points = plate.contact_surface.embedding.interpolate(plate.mesh.vertices @ turn.T)
    np.testing.assert_allclose(points, plate.contact_surface.points @ turn.T, atol=1e-9)


def test_a_carried_part_goes_through_its_own_body_and_meets_others() -> None:
    table = Collider(BOX[0] + [0.0, 0.0, 1.1], BOX[1].astype(np.int32))
    scene, _ = filled(BOX, *rivets(), colliders=[table])
    touching = scene.bodies[0].contact_surface
    of_rivets = touching.points[touching.triangles][:, :, 2].min(axis=1) > 1.002
    assert of_rivets.any()
    np.testing.assert_array_equal(~touching.self_collides, of_rivets)
    surface = CollisionSurface(scene, [scene.bodies[0].mesh])
    may_collide = surface.group_collisions(surface.can_collide)
    of_rivet, of_box = (
        surface.group_of[surface.rest[:, 2] == height][0]
        for height in (touching.points[:, 2].max(), 0.0)
    )
    of_table = surface.group_of[-1]
    assert not may_collide[of_rivet, of_box] and not may_collide[of_rivet, of_rivet]
    assert may_collide[of_rivet, of_table] and may_collide[of_box, of_box]


def test_a_carried_part_that_crosses_the_body_leaves_that_as_it_is() -> None:
    scene, report = filled(BOX, ball(-RADIUS))
    touching = scene.bodies[0].contact_surface
    assert report["touching"] == "collides as the visible mesh"
    of_ball = np.linalg.norm(touching.points - [0.4, 0.5, 1.0], axis=1) < 1.5 * RADIUS
    np.testing.assert_array_equal(~touching.self_collides, of_ball[touching.triangles].all(axis=1))


def test_rivets_add_no_pairs_and_no_contacts() -> None:
    """At rest, and where the impact on the ground bends the plate."""
    searched = []
    for parts in ((BOX,), (BOX, *rivets())):
        scene, _ = filled(*parts)
        surface = CollisionSurface(scene, [scene.bodies[0].mesh])
        detection = Detection(surface, contact_distances(scene))
        detection.build_swept_candidates(surface.rest, surface.rest)
        searched.append(len(detection.candidates))
    assert searched[0] == searched[1]
    fallen = replace(scene.bodies[0], velocity=(0.0, 0.0, -2.0))
    frames = Simulator(Scene([fallen], ground=Ground(-0.02), contact=Contact())).run(3)
    assert [frame.report.solver_statistics.contacts for frame in frames] == [0, 0, 0]


def test_a_surface_that_crosses_itself_may_carry_small_parts() -> None:
    """As a chair does, whose legs run into its seat and whose screws stand out of it."""
    points, faces = together(BOX, (0.6 * BOX[0] + [0.5, 0.25, 0.25], BOX[1]), ball(0.0))
    surface = SurfaceMesh(points, faces.astype(np.int32), edge_length=EDGE)
    solids, _ = tetrahedralize_scene(Scene([SoftBody(surface)], Ground(-1.0), contact=Contact()))
    touching = solids.bodies[0].contact_surface
    assert touching is not None and touching.through_own is not None
    corners = touching.points[touching.triangles]
    small = ((corners[:, :, 2] > 1.001) & (corners[:, :, 0] < 0.45)).all(axis=1)
    assert small.any() and touching.through_own[small].all()
    assert not touching.through_own.all()
