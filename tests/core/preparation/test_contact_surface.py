# SPDX-License-Identifier: GPL-3.0-or-later
"""Which surface of a body touches is chosen by itself, and said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from supple.core import (
    Contact,
    ContactSurface,
    Ground,
    Scene,
    Simulator,
    SoftBody,
    SurfaceMesh,
    TetMesh,
)
from supple.core.geometry.embedding import Embedding
from supple.core.geometry.triangles import closest_points
from supple.core.integrators import ImplicitEuler
from supple.core.job.scene_file import decode, encode
from supple.core.materials import NeoHookean
from supple.core.meshing.surface import outward_normals
from supple.core.preparation import tetrahedralize_scene as whole_scene
from supple.core.preparation.contact_surface import (
    MAX_SPREAD,
    boundary_surface,
    crosses_itself,
    exempt_crossings,
    refined,
    welded,
    without_crossings,
    without_torn_edges,
)
from supple.core.preparation.intersections import Surfaces, find_intersections
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene

from ..balls import ball_surface, seen_points, soft_ball
from ..meshing.meshes import box, with_shells
from ..touching import check_apart, plate

CROSSING = "collides as the visible mesh. Parts that intersect each other don't self-collide"


def _body(points: np.ndarray, faces: np.ndarray, edge_length: float = 0.2, **options) -> SoftBody:
    mesh = SurfaceMesh(points, faces.astype(np.int32), edge_length=edge_length)
    return SoftBody(mesh, name="Jelly", **options)


def _chosen(body: SoftBody, contact: bool = True) -> tuple[SoftBody, str]:
    scene = Scene([body], Ground(-5.0), contact=Contact() if contact else None)
    solids, (report,) = tetrahedralize_scene(scene)
    assert report["touching"] in report["summary"]
    return solids.bodies[0], report["touching"]


def _all_chosen(bodies: list[SoftBody]) -> list[str]:
    _, reports = tetrahedralize_scene(Scene(bodies, None, contact=Contact()))
    return [report["touching"] for report in reports]


def _two_balls(
    apart: float, subdivisions: int = 3, y: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    first, second = (ball_surface(subdivisions, 0.5, (x, y, 0.0)) for x in (0.0, apart))
    count = len(first[0])
    return np.concatenate([first[0], second[0]]), np.concatenate([first[1], second[1] + count])


def test_the_mesh_touches_where_it_can() -> None:
    body, said = _chosen(soft_ball((0.0, 0.0, 0.0), subdivisions=3))
    assert said == "collides as the visible mesh"
    _check_as_seen(body)
    assert body.contact_surface is not None
    assert len(body.contact_surface.triangles) == 8 * 4**3


def _check_as_seen(body: SoftBody) -> None:
    touching, seen = body.contact_surface, body.seen_surface
    assert touching is not None and seen is not None
    assert touching.embedding is seen.embedding
    np.testing.assert_array_equal(touching.triangles, seen.triangles)


def test_larger_faces_than_those_of_the_tetrahedra_touch_and_smaller_ones_on_them() -> None:
    points, faces = ball_surface(2)
    for edge_length, is_split in ((0.13, False), (0.05, True)):
        body, said = _chosen(_body(points, faces, edge_length))
        assert said == "collides as the visible mesh"
        assert isinstance(body.mesh, TetMesh)
        touching, seen = body.contact_surface, body.seen_surface
        assert touching is not None and seen is not None
        large, finest = touching.self_collides, touching.is_finest
        assert (large.sum() > len(faces)) == is_split
        edge = body.mesh.mean_edges.mean()
        assert 2.0 * edge < _longest(touching, large) <= 4.0 * edge
        assert _longest(seen, slice(None)) <= 1.25 * edge
        # The smaller ones go through their own body, and cover it like those that are seen.
        assert 1.25 * edge < _longest(touching, finest) <= 1.75 * edge
        assert not (~large & ~finest).any()
        assert _area(touching, finest) == pytest.approx(_area(seen, slice(None)), rel=1e-12)
        assert (large & ~finest).any()
        assert body.skin is not None and body.skin.phong is None


def _longest(surface: ContactSurface, chosen: Any) -> float:
    corners = surface.points[surface.triangles[chosen]]
    return float(np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max())


def _area(surface: ContactSurface, chosen: Any) -> float:
    a, b, c = surface.points[surface.triangles[chosen]].swapaxes(0, 1)
    return float(0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum())


def test_faces_that_are_larger_than_the_tetrahedra_are_not_seen_to_cross() -> None:
    points, faces = ball_surface(2)
    low, high = (
        replace(_body(points + np.array([x, 0.0, z]), faces, 0.13), material=NeoHookean(4e3, 0.4))
        for x, z in ((0.0, 0.0), (0.2, 1.02))
    )
    simulator = Simulator(Scene([low, high], Ground(-0.5), contact=Contact()), device="cpu")
    owner = np.repeat(np.arange(2, dtype=np.int32), len(points))
    both = np.concatenate([faces, faces + len(points)]).astype(np.int32)
    for frame in simulator.run(10):
        bodies = zip(simulator.scene.bodies, frame.positions, strict=True)
        seen = np.concatenate([seen_points(body, at.numpy()) for body, at in bodies])
        assert len(find_intersections(Surfaces(seen, both, owner))) == 0
    assert frame.positions[1][:, 2].min() < 0.4


def test_a_dense_mesh_gets_a_simpler_copy_that_lies_on_it() -> None:
    body, said = _chosen(soft_ball((0.0, 0.0, 0.0), subdivisions=5))
    assert (
        said
        == f"collides as a simpler copy of the mesh, since the mesh is dense ({8 * 4**5} faces)"
    )
    copy, seen = body.contact_surface, body.seen_surface
    assert copy is not None and seen is not None
    assert len(seen.triangles) == 8 * 4**5
    assert 1000 <= len(copy.triangles) <= 2000
    away = np.linalg.norm(copy.points, axis=1)
    assert away.min() >= 0.5 - 1e-9
    assert away.max() < 0.505
    owner = np.zeros(len(copy.points), dtype=np.int32)
    assert len(find_intersections(Surfaces(copy.points, copy.triangles, owner))) == 0
    # With its corners on the sphere, its faces would lie up to 3.8 mm inside.
    assert _most_outside(seen.points, copy) < 1e-4


def _most_outside(points: np.ndarray, surface: ContactSurface) -> float:
    """The largest distance of points on a ball outside of a surface around the same centre."""
    nearest, weights = closest_points(points, surface.points, surface.triangles)
    on_surface = np.einsum("pk,pki->pi", weights, surface.points[surface.triangles[nearest]])
    return float((np.linalg.norm(points, axis=1) - np.linalg.norm(on_surface, axis=1)).max())


@pytest.mark.parametrize("turn", [1, -1], ids=["outwards", "inwards"])
def test_whichever_way_faces_look_a_copy_grows_outwards(turn: int) -> None:
    points, faces = ball_surface(3)
    normals = outward_normals(points, points, faces[:, ::turn])
    outwards = points / np.linalg.norm(points, axis=1, keepdims=True)
    np.testing.assert_allclose((normals * outwards).sum(axis=1), 1.0, atol=0.02)


def test_of_a_mesh_that_crosses_itself_all_touches_others_and_what_is_seen_itself() -> None:
    body, said = _chosen(_body(*_two_balls(0.6)))
    assert said == CROSSING
    touching, seen = body.contact_surface, body.seen_surface
    assert touching is not None and seen is not None and touching.through_own is not None
    np.testing.assert_array_equal(touching.triangles, seen.triangles)
    own = touching.triangles[~touching.through_own]
    owner = np.zeros(len(touching.points), dtype=np.int32)
    assert len(find_intersections(Surfaces(touching.points, own, owner))) == 0
    middles = touching.points[own].mean(axis=1)
    inside = np.linalg.norm(middles, axis=1) < 0.48
    inside |= np.linalg.norm(middles - [0.6, 0.0, 0.0], axis=1) < 0.48
    assert not inside.any()
    far = np.abs(middles[:, 0] - 0.3) > 0.2
    all_middles = seen.points[seen.triangles].mean(axis=1)
    assert far.sum() == (np.abs(all_middles[:, 0] - 0.3) > 0.2).sum() - 2 * _hidden(all_middles)
    # It is shown where it is kept apart.
    assert body.skin is not None and body.skin.phong is None


def _hidden(middles: np.ndarray) -> int:
    """The number of points of the first of two balls that are deep in the other."""
    return int(((middles[:, 0] - 0.3 > 0.2) & (np.linalg.norm(middles, axis=1) < 0.51)).sum())


def test_a_mesh_that_crosses_itself_nearly_everywhere_touches_others_all_the_same() -> None:
    points, faces = ball_surface(2)
    crumpled = points + np.random.default_rng(7).normal(0.0, 0.6, points.shape)
    body, said = _chosen(_body(crumpled, faces, 0.4))
    assert said == CROSSING
    touching = body.contact_surface
    assert touching is not None and touching.through_own is not None
    assert touching.through_own.mean() > 0.7
    # The ground meets points alone, which cannot cross.
    assert body.seen_surface is not None


def test_a_dense_mesh_with_parts_too_near_for_a_copy_touches_itself() -> None:
    first, second = (ball_surface(4, 0.5, (x, 0.0, 0.0)) for x in (0.0, 1.003))
    points = np.concatenate([first[0], second[0]])
    faces = np.concatenate([first[1], second[1] + len(first[0])])
    body, said = _chosen(_body(points, faces))
    assert said == "collides as the visible mesh"
    _check_as_seen(body)


def test_tetrahedra_that_lie_over_each_other_touch_but_there(make_block) -> None:
    one = make_block((5, 5, 5), origin=(0.0, 0.0, 1.01))
    over = one.vertices + np.array([0.6, 0.1, 0.2])
    mesh = TetMesh(
        np.concatenate([one.vertices, over]),
        np.concatenate([one.tets, one.tets + len(one.vertices)]),
        np.full(2 * len(one.tets), 0.9),
    )
    scene = Scene([SoftBody(mesh)], colliders=[plate(1.0, 2.0)], contact=Contact())
    simulator = Simulator(scene, ImplicitEuler(), device="cpu")
    touching = simulator.scene.bodies[0].contact_surface
    assert touching is not None
    assert 0 < len(touching.triangles) < len(mesh.surface)
    for frame in simulator.run(12):
        assert frame.report.solver_statistics.converged
        check_apart(simulator)
    # Without the triangles that cross, a few points may hang through.
    touched = np.unique(touching.embedding.indices[np.unique(touching.triangles)][:, 0])
    assert frame.positions[0][touched, 2].min() > 1.0


def test_dense_meshes_of_many_bodies_leave_it_to_the_tetrahedra(monkeypatch) -> None:
    many = [_body(*_two_balls(1.003, 4, 3.0 * k)) for k in range(2)]
    faces = len(many[0].mesh.triangles)
    monkeypatch.setattr(whole_scene, "MAX_SCENE_FACES", 2 * faces - 1)
    for bodies, kind in (
        (many[:1], "collides as the visible mesh"),
        (many, "collides as the boundary of the tetrahedra"),
    ):
        assert all(said.startswith(kind) for said in _all_chosen(bodies))


def test_a_dense_mesh_among_others_touches_while_there_are_not_too_many_faces(monkeypatch) -> None:
    """However many the others are, whose few faces count as well."""
    dense, larger = _body(*_two_balls(1.003, 4)), _body(*_two_balls(1.003, 5, 30.0))
    others = [_body(*ball_surface(2, 0.5, (0.0, 3.0 * k, 0.0))) for k in range(1, 4)]
    faces = [len(body.mesh.triangles) for body in (dense, *others)]
    kinds = ["collides as the boundary of the tetrahedra", "collides as the visible mesh"]
    for most, expected in ((sum(faces) - 1, kinds[0]), (sum(faces), kinds[1])):
        monkeypatch.setattr(whole_scene, "MAX_SCENE_FACES", most)
        said = _all_chosen([dense, *others])
        assert said[0].startswith(expected)
        assert said[1:] == ["collides as the visible mesh"] * 3
    said = _all_chosen([larger, dense, *others])
    assert said[0].startswith(kinds[0])
    assert said[1:] == ["collides as the visible mesh"] * 4


def test_shells_that_are_apart_touch_with_their_mesh() -> None:
    assert _chosen(_body(*_two_balls(1.2)))[1] == "collides as the visible mesh"


def test_faces_that_are_not_joined_are_joined_where_they_meet() -> None:
    points, faces = ball_surface(3)
    loose = points[faces].reshape(-1, 3)
    body, said = _chosen(_body(loose, np.arange(len(loose)).reshape(-1, 3)))
    assert said == "collides as the visible mesh"
    assert body.contact_surface is not None
    assert len(body.contact_surface.points) == len(points)


@pytest.mark.parametrize("choice", ["mesh", "tetrahedra"])
def test_a_choice_is_kept(choice) -> None:
    body, said = _chosen(_body(*_two_balls(0.6), touching=choice))
    assert (
        said
        == {
            "mesh": "collides as the visible mesh",
            "tetrahedra": "collides as the boundary of the tetrahedra",
        }[choice]
    )
    assert (body.contact_surface is None) == (choice == "tetrahedra")
    assert (body.seen_surface is None) == (choice == "tetrahedra")


def test_a_surface_of_the_users_own_is_kept() -> None:
    own = ContactSurface(*ball_surface(2, 0.51))
    body, _ = _chosen(replace(soft_ball((0.0, 0.0, 0.0)), contact_surface=own))
    assert body.contact_surface is not None
    np.testing.assert_array_equal(body.contact_surface.points, own.points)


def test_without_contact_only_the_ground_meets_the_mesh() -> None:
    body, said = _chosen(soft_ball((0.0, 0.0, 0.0)), contact=False)
    assert said == "collides as the visible mesh"
    assert body.contact_surface is None and body.seen_surface is not None


def test_what_was_chosen_goes_with_the_scene() -> None:
    solids, _ = tetrahedralize_scene(
        Scene([soft_ball((0.0, 0.0, 0.0), subdivisions=3)], contact=Contact())
    )
    arrays: dict = {}
    again = decode(encode(solids, "scene", arrays), arrays).bodies[0]
    for name in ("contact_surface", "seen_surface"):
        before, after = getattr(solids.bodies[0], name), getattr(again, name)
        np.testing.assert_array_equal(before.embedding.weights, after.embedding.weights)
    assert tetrahedralize_scene(solids)[1] == []


def test_what_goes_through_its_own_body_goes_with_the_scene() -> None:
    solids, _ = tetrahedralize_scene(Scene([_body(*_two_balls(0.6))], contact=Contact()))
    arrays: dict = {}
    before = solids.bodies[0].contact_surface
    after = decode(encode(solids, "scene", arrays), arrays).bodies[0].contact_surface
    np.testing.assert_array_equal(before.through_own, after.through_own)


def test_long_edges_are_halved_in_all_triangles_that_share_them() -> None:
    points = np.array([[0.0, 0, 0], [4, 0, 0], [0, 1, 0], [4, 1.5, 0], [0, 0, 0.2]])
    faces = np.array([[0, 1, 2], [2, 1, 3], [0, 2, 4]], dtype=np.int32)
    finer = refined(ContactSurface(points, faces), 0.5)
    corners = finer.points[finer.triangles]
    assert np.linalg.norm(np.roll(corners, 1, axis=1) - corners, axis=2).max() <= 0.5
    np.testing.assert_array_equal(finer.points[:5], points)

    def area_vectors(surface: ContactSurface) -> np.ndarray:
        a, b, c = surface.points[surface.triangles].swapaxes(0, 1)
        return np.cross(b - a, c - a)

    whole = area_vectors(ContactSurface(points, faces)).sum(axis=0)
    np.testing.assert_allclose(area_vectors(finer).sum(axis=0), whole)
    assert (area_vectors(finer)[:, [0, 2]] >= -1e-12).all()
    # Edges inside belong to two triangles: as many as before lie on a rim, but halved.
    ends = np.sort(np.stack([finer.triangles, np.roll(finer.triangles, -1, 1)], 2).reshape(-1, 2))
    _, times = np.unique(ends, axis=0, return_counts=True)
    assert times.max() == 2
    rim = np.sum(times == 1)
    assert rim == pytest.approx(8 + 8 + 4 + 8 + 1 + 4, abs=12)


def test_welding_drops_triangles_that_become_lines() -> None:
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [9, 9, 9]])
    joined = welded(ContactSurface(points, np.array([[0, 1, 2], [1, 2, 3]], dtype=np.int32)))
    assert joined.points.shape == (3, 3) and joined.triangles.shape == (1, 3)


#: Two tetrahedra that have one edge in common, along z.
MESH = TetMesh(
    np.array(
        [[0.0, 0, 0], [0, 0, 1], [1, 0.2, 0.5], [1, -0.2, 0.5], [-1, 0.2, 0.5], [-1, -0.2, 0.5]]
    ),
    np.array([[0, 1, 2, 3], [0, 1, 5, 4]]),
)


def embedded(points: np.ndarray, tets: list[int]) -> Embedding:
    """In the tetrahedra that are named, whether or not points lie in them."""
    corners = MESH.vertices[MESH.tets[tets]]
    matrix = np.concatenate([corners, np.ones((len(tets), 4, 1))], axis=2).swapaxes(1, 2)
    right = np.concatenate([points, np.ones((len(points), 1))], axis=1)
    weights = np.linalg.solve(matrix, right[:, :, None])[:, :, 0]
    return Embedding(MESH.tets[tets].astype(np.int32), weights)


def test_ends_outside_of_their_tetrahedra_are_brought_into_one() -> None:
    points = np.array([[0.01, 0.1, 0.5], [-0.01, 0.1, 0.5]])
    edges, torn = np.array([[0, 1]]), embedded(points, [0, 1])
    whole = without_torn_edges(torn, MESH, points, edges)
    assert (whole.indices[0] == whole.indices[1]).all()
    np.testing.assert_allclose(whole.interpolate(MESH.vertices), points, atol=1e-12)
    # A strain of a tenth of one of them changes its length by no more than that.
    moved = MESH.vertices * np.where(MESH.vertices[:, :1] > 0.0, [1.0, 1.1, 1.0], 1.0)
    length, before = (
        np.linalg.norm(np.diff(each.interpolate(moved), axis=0)) for each in (whole, torn)
    )
    assert abs(length - 0.02) < 0.1 * 0.02
    assert before > 1.1 * 0.02


def test_edges_that_are_not_torn_stay_as_they_are() -> None:
    points = np.array([[0.3, 0.0, 0.5], [-0.3, 0.0, 0.5], [0.4, 0.01, 0.5]])
    surface = embedded(points, [0, 1, 0])
    assert without_torn_edges(surface, MESH, points, np.array([[0, 1], [0, 2]])) is surface


def test_long_edges_show_no_tear() -> None:
    for scale, is_kept in ((0.09, False), (0.11, True)):
        x = 0.5 * scale * MESH.mean_edges.mean()
        points = np.array([[x, 0.3, 0.5], [-x, 0.3, 0.5]])
        torn = embedded(points, [0, 1])
        assert (without_torn_edges(torn, MESH, points, np.array([[0, 1]])) is torn) == is_kept


def test_a_point_goes_to_the_neighbour_that_tears_all_its_edges_least() -> None:
    points = np.array([[0.002, 0.03, 0.5], [-0.002, 0.03, 0.5], [-0.2, 0.01, 0.5]])
    edges = np.array([[0, 1], [1, 2]])
    whole = without_torn_edges(embedded(points, [0, 1, 1]), MESH, points, edges)
    assert (whole.indices == MESH.tets[1]).all()
    assert MAX_SPREAD > 1.0


def crossings(surface: ContactSurface) -> int:
    """The number of crossings among triangles that do not go through their body."""
    owner = np.zeros(len(surface.points), dtype=np.int32)
    return len(find_intersections(Surfaces(surface.points, triangles_of(surface), owner)))


def triangles_of(surface: ContactSurface) -> np.ndarray:
    """Triangles that do not go through their own body."""
    if surface.through_own is None:
        return surface.triangles
    return surface.triangles[~surface.through_own]


def test_of_shells_that_overlap_what_does_not_cross_is_left() -> None:
    one = box((0, 0, 0), (2, 2, 2), (8, 8, 8))
    two = box((1.6, 0.3, 0.3), (3, 1.3, 1.3), (6, 5, 5))
    points, triangles = with_shells(one, two)
    surface = ContactSurface(points, triangles.astype(np.int32))
    assert crossings(surface) > 0
    left = without_crossings(surface)
    assert crossings(left) == 0
    assert 0.7 * len(triangles) < len(left.triangles) < len(triangles)
    far = points[triangles].min(axis=1)[:, 0] > 2.3
    assert far.sum() == (points[left.triangles].min(axis=1)[:, 0] > 2.3).sum()


def test_what_lies_inside_of_the_material_goes_through() -> None:
    one = box((0, 0, 0), (2, 2, 2), (8, 8, 8))
    two = box((1.1, 0.3, 0.3), (3, 1.3, 1.3), (10, 5, 5))
    points, triangles = with_shells(one, two)
    exempted = exempt_crossings(ContactSurface(points, triangles.astype(np.int32)))
    assert crossings(exempted) == 0
    middles = points[triangles_of(exempted)].mean(axis=1)
    in_one = ((middles > 0.01) & (middles < 1.99)).all(axis=1)
    in_two = ((middles > [1.11, 0.31, 0.31]) & (middles < [2.99, 1.29, 1.29])).all(axis=1)
    assert not in_one.any() and not in_two.any()
    assert (middles[:, 0] > 2.9).any() and (middles[:, 0] < 0.1).any()
    # Those outside stay, although they share points with what crosses.
    beyond = [
        (points[those].min(axis=1)[:, 0] > 2.04).sum()
        for those in (triangles_of(exempted), triangles)
    ]
    assert beyond[0] == beyond[1] > 0


def test_a_lid_in_a_socket_is_not_inside() -> None:
    """The lid is open, and so is the socket: nothing is enclosed for certain."""
    head, (points, faces) = (
        box((0, 0, 0), (2, 2, 2), (8, 8, 8)),
        box((0.6, 0.6, 1.5), (1.4, 1.4, 2.4), (4, 4, 4)),
    )
    lid = points, faces[points[faces].max(axis=1)[:, 2] > 1.6]
    surface = ContactSurface(*(part for part in with_shells(head, lid)))
    surface = ContactSurface(surface.points, surface.triangles.astype(np.int32))
    outer = triangles_of(exempt_crossings(surface))
    assert (surface.points[outer].mean(axis=1)[:, 2] > 2.3).any()


def bow_tie(height: float = 0.0) -> ContactSurface:
    """Two triangles that share a point and lie over each other, as offsets of a narrow bend do, and
    one that is far away."""
    points = [[0, 0, 0], [2, -1, 0], [2, 1, 0], [1.5, 0, height], [1.5, 3, height]]
    points += [[9, 0, 0], [8, 1, 0], [9, 1, 1]]
    triangles = np.array([[0, 1, 2], [0, 3, 4], [5, 6, 7]], dtype=np.int32)
    return ContactSurface(np.array(points, dtype=float), triangles)


def test_neighbours_that_lie_over_each_other_go_through_but_for_rounding() -> None:
    for height in (0.0, 1e-7):
        exempted = exempt_crossings(bow_tie(height))
        assert exempted.through_own is not None
        assert exempted.through_own.tolist() == [True, True, False]
    apart = bow_tie(1e-3)
    assert exempt_crossings(apart) is apart


def test_what_touches_but_for_rounding_crosses() -> None:
    """Parts of a mesh in single precision that meet in a plane."""
    below = box((0, 0, 0), (1, 1, 1), (3, 3, 3))
    for gap, crosses in ((0.0, True), (1e-7, True), (1e-4, False)):
        above = box((0.3, 0.3, 1.0 + gap), (0.8, 0.8, 2), (2, 2, 2))
        points, triangles = with_shells(below, above)
        assert crosses_itself(ContactSurface(points, triangles.astype(np.int32))) is crosses


def test_a_surface_that_does_not_cross_itself_stays_whole() -> None:
    points, triangles = box((0, 0, 0), (2, 2, 2), (3, 3, 3))
    surface = ContactSurface(points, triangles.astype(np.int32))
    np.testing.assert_array_equal(without_crossings(surface).triangles, surface.triangles)
    assert exempt_crossings(surface) is surface


def test_the_boundary_of_tetrahedra_follows_their_vertices(make_block) -> None:
    mesh: TetMesh = make_block((3, 3, 3))
    surface = boundary_surface(mesh)
    moved = np.random.default_rng(4).normal(size=mesh.vertices.shape)
    corners = surface.embedding.interpolate(moved)[surface.triangles]
    np.testing.assert_allclose(corners, moved[mesh.surface])
