# SPDX-License-Identifier: GPL-3.0-or-later
"""Test that visible meshes follow the tetrahedra, from the surface to the frames of a folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from supple.core import (
    Collider,
    Contact,
    Embedding,
    Ground,
    Scene,
    Skin,
    SoftBody,
    SurfaceMesh,
    TetMesh,
)
from supple.core.errors import DamageError, SceneError
from supple.core.job import Job, Settings, digest
from supple.core.job.scene_file import encode
from supple.core.meshing import tetrahedralize
from supple.core.potentials.contact.collision_detection import Detection
from supple.core.potentials.contact.surface import CollisionSurface
from supple.core.preparation import tetrahedralize_scene as fills
from supple.core.preparation.tetrahedralize_scene import (
    SMALL_RATIO,
    carried_parts,
    tetrahedralize_scene,
)
from supple.core.scene.collision_points import contact_distances
from supple.core.scene.contact_settings import ContactSurface
from supple.core.scene.paint import Paint
from supple.core.simulator import Simulator
from supple.tests.core.balls import ball_surface
from supple.verification.meshes import block


def jelly(make_block, pinned: list[int] | None = None) -> SoftBody:
    """A box whose many points are seen, its lowest ones pinned."""
    fine = make_block((8, 8, 8))
    used, triangles = np.unique(fine.surface, return_inverse=True)
    surface = SurfaceMesh(fine.vertices[used], triangles.reshape(-1, 3), edge_length=0.3)
    return SoftBody(surface, skin=Skin(surface.vertices, pinned=pinned), name="Jelly")


def seen(body: SoftBody, positions: np.ndarray) -> np.ndarray:
    assert body.skin is not None
    return body.skin.seen_at(positions, None)


def followed_by(solids: Scene, phong: Embedding | None) -> Scene:
    (body,) = solids.bodies
    assert body.skin is not None
    return replace(solids, bodies=[replace(body, skin=replace(body.skin, phong=phong))])


def curved(points: np.ndarray) -> np.ndarray:
    return points + np.stack([0.2 * points[:, 2] ** 2, 0 * points[:, 0], 0 * points[:, 0]], axis=1)


def test_what_is_seen_bends_without_the_facets_of_the_tetrahedra(make_block) -> None:
    solids, _ = tetrahedralize_scene(Scene([jelly(make_block)]))
    (body,) = solids.bodies
    points = body.skin.points
    np.testing.assert_allclose(seen(body, body.mesh.vertices), points, atol=1e-12)
    moved, expected = curved(body.mesh.vertices), curved(points)
    smooth = np.abs(seen(body, moved) - expected).mean()
    assert smooth < 0.7 * np.abs(body.skin.embedding.interpolate(moved) - expected).mean()


def test_pinned_points_are_seen_to_stand_still(make_block) -> None:
    body = jelly(make_block)
    pinned = np.flatnonzero(body.skin.points[:, 2] < 0.2).tolist()
    solids, _ = tetrahedralize_scene(Scene([jelly(make_block, pinned)]))
    (body,) = solids.bodies
    moved = body.mesh.vertices + np.random.default_rng(1).normal(0.0, 0.2, body.mesh.vertices.shape)
    moved[body.pinned] = body.mesh.vertices[body.pinned]
    found = seen(body, moved)
    np.testing.assert_allclose(found[pinned], body.skin.points[pinned], atol=1e-12)
    assert np.abs(found - body.skin.points).max() > 0.1


def test_what_the_tets_carry_above_the_ground_is_not_seen_below(make_block) -> None:
    solids, _ = tetrahedralize_scene(Scene([jelly(make_block)]))
    (body,) = solids.bodies
    random = np.random.default_rng(2)
    moved = body.mesh.vertices + random.normal(0.0, 0.1, body.mesh.vertices.shape)
    linear, phong = body.skin.embedding.interpolate(moved), seen(body, moved)
    height = 0.1
    found = body.skin.seen_at(moved, height)
    np.testing.assert_array_equal(found[:, :2], phong[:, :2])
    lifted = (linear[:, 2] >= height) & (phong[:, 2] < height)
    assert lifted.any()
    assert (found[lifted, 2] == height).all()
    above = phong[:, 2] >= height
    np.testing.assert_array_equal(found[above], phong[above])
    # What the tets leave below is seen as high as either of them has it.
    both = (linear[:, 2] < height) & (phong[:, 2] < height)
    assert both.any()
    np.testing.assert_array_equal(found[both, 2], np.maximum(linear, phong)[both, 2])


def test_a_scene_that_went_through_once_stays_as_it_is(make_block) -> None:
    once, _ = tetrahedralize_scene(Scene([jelly(make_block)]))
    twice, _ = tetrahedralize_scene(once)
    assert twice.bodies[0].skin.phong is once.bodies[0].skin.phong


def refined(make_block, **settings: object) -> SoftBody:
    """The same box, seen by fewer points, its own among what refines these."""
    body = jelly(make_block)
    assert body.skin is not None
    points, random = body.skin.points, np.random.default_rng(3)
    inside = 0.3 + 0.4 * random.random((5, 3))
    skin = Skin(points[::5], refined=[Skin(points), Skin(inside)])
    return replace(body, skin=skin, **settings)


def test_what_refines_a_skin_is_seen_as_a_skin_of_these_points_is(make_block) -> None:
    (alone,) = tetrahedralize_scene(Scene([jelly(make_block)]))[0].bodies
    solids, _ = tetrahedralize_scene(Scene([refined(make_block)]))
    (body,) = solids.bodies
    moved = curved(body.mesh.vertices)
    fine, inside = body.skin.refined
    np.testing.assert_array_equal(fine.seen_at(moved, 0.1), alone.skin.seen_at(moved, 0.1))
    assert fine.phong is not None
    np.testing.assert_allclose(inside.seen_at(body.mesh.vertices, None), inside.points, atol=1e-12)
    assert np.abs(inside.seen_at(moved, None) - curved(inside.points)).max() < 0.01
    again = tetrahedralize_scene(solids)[0].bodies[0].skin.refined[0]
    assert again.embedding is fine.embedding and again.phong is fine.phong


def test_what_refines_a_skin_touches_where_it_is_seen(make_block) -> None:
    scene = Scene([refined(make_block, touching="mesh")], contact=Contact())
    (body,) = tetrahedralize_scene(scene)[0].bodies
    fine = body.skin.refined[0]
    assert fine.phong is None and body.skin.phong is None
    moved = curved(body.mesh.vertices)
    surface = body.contact_surface
    touching = surface.embedding.interpolate(moved)
    gaps = np.linalg.norm(fine.points[:, None] - surface.points, axis=2)
    assert gaps.min(axis=1).max() < 1e-12
    seen = fine.seen_at(moved, None)
    np.testing.assert_allclose(seen, touching[gaps.argmin(axis=1)], atol=1e-12)


def test_a_folder_tells_where_all_that_is_seen_is(make_block, tmp_path: Path) -> None:
    scene = Scene([refined(make_block)])
    job = Job.create(tmp_path, scene, Settings(2))
    solids, reports = tetrahedralize_scene(scene)
    job.write_tet_scene(solids, reports)
    (body,) = solids.bodies
    moved = curved(body.mesh.vertices)
    job.write_frame(0, moved)
    (found,) = Job(tmp_path).seen_positions(0)
    assert len(found) == 3
    for points, skin in zip(found, (body.skin, *body.skin.refined), strict=True):
        np.testing.assert_array_equal(points, skin.seen_at(moved, None))


def test_a_folder_keeps_how_its_surface_follows(make_block, tmp_path: Path) -> None:
    scene, settings = Scene([jelly(make_block)]), Settings(2)
    job = Job.create(tmp_path, scene, settings)
    solids, reports = tetrahedralize_scene(scene)
    job.write_tet_scene(solids, reports)
    moved = curved(solids.bodies[0].mesh.vertices)
    job.write_frame(0, moved)
    ((found,),) = Job(tmp_path).seen_positions(0)
    np.testing.assert_array_equal(found, seen(solids.bodies[0], moved))


def test_a_folder_from_before_is_shown_as_it_was_and_gone_on_from(
    make_block, tmp_path: Path
) -> None:
    """It says nothing of Phong deformation and of what refines a skin, nor does the digest of its
    scene."""
    scene, settings = Scene([jelly(make_block)]), Settings(2)
    assert {"phong", "refined"}.isdisjoint(encode(scene, "scene", {})["bodies"][0]["skin"])
    job = Job.create(tmp_path, scene, settings)
    solids, reports = tetrahedralize_scene(scene)
    (body,) = solids.bodies
    job.write_tet_scene(followed_by(solids, None), reports)
    moved = curved(body.mesh.vertices)
    job.write_frame(0, moved)
    ((found,),) = Job(tmp_path).seen_positions(0)
    np.testing.assert_array_equal(found, body.skin.embedding.interpolate(moved))
    assert Job(tmp_path).run == digest(scene, settings)
    assert tetrahedralize_scene(Job(tmp_path).tet_scene)[0].bodies[0].skin.phong is None


@pytest.mark.parametrize("member", ["phong", "embedding"])
def test_what_refines_a_skin_and_does_not_fit_is_found(
    make_block, tmp_path: Path, member: str
) -> None:
    scene = Scene([refined(make_block)])
    job = Job.create(tmp_path, scene, Settings(2))
    solids, reports = tetrahedralize_scene(scene)
    (body,) = solids.bodies
    getattr(body.skin.refined[1], member).indices[0, 0] = len(body.mesh.vertices)
    job.write_tet_scene(solids, reports)
    with pytest.raises(DamageError, match="does not fit its surface"):
        _ = Job(tmp_path).tet_scene


@pytest.mark.parametrize("damage", ["a point less", "a vertex too many", "one weight less"])
def test_a_surface_that_does_not_fit_is_found(make_block, tmp_path: Path, damage: str) -> None:
    scene = Scene([jelly(make_block)])
    job = Job.create(tmp_path, scene, Settings(2))
    solids, reports = tetrahedralize_scene(scene)
    (body,) = solids.bodies
    assert body.skin is not None and body.skin.phong is not None
    phong = body.skin.phong
    if damage == "a point less":
        phong = replace(phong, indices=phong.indices[1:], weights=phong.weights[1:])
    elif damage == "a vertex too many":
        phong.indices[5, 0] = len(body.mesh.vertices)
    else:
        phong = replace(phong, weights=phong.weights[:, 1:])
    job.write_tet_scene(followed_by(solids, phong), reports)
    with pytest.raises(DamageError, match="does not fit its surface"):
        _ = Job(tmp_path).tet_scene


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


# By 90 degrees about x, then by 0.6 rad about z.
TURN = np.array(
    [[np.cos(0.6), 0.0, np.sin(0.6)], [np.sin(0.6), 0.0, -np.cos(0.6)], [0.0, 1.0, 0.0]]
)
EDGE_LENGTH = 0.3
_FILLS_BLOCK = block((5, 5, 6), (1.0, 1.2, 1.5))
_FILLS_USED, _TRIANGLES = np.unique(_FILLS_BLOCK.surface, return_inverse=True)
VERTICES, TRIANGLES = _FILLS_BLOCK.vertices[_FILLS_USED], _TRIANGLES.reshape(-1, 3)
# A wedge, which no motion takes to its mirror image.
VERTICES[:, 0] *= 1.0 + 0.3 * VERTICES[:, 2] + 0.1 * VERTICES[:, 1]
MIRROR = np.array([-1.0, 1.0, 1.0])


def wedge(**changes) -> SoftBody:
    surface = SurfaceMesh(VERTICES, TRIANGLES, edge_length=EDGE_LENGTH)
    return SoftBody(replace(surface, **changes), name="Wedge")


def moved(body: SoftBody, offset: float = 4.0) -> SoftBody:
    """A copy that lies elsewhere and is turned."""
    assert isinstance(body.mesh, SurfaceMesh)
    vertices = body.mesh.vertices @ TURN.T + np.array([0.0, offset, 1.0])
    axes = TURN if body.mesh.axes is None else TURN @ body.mesh.axes
    return replace(body, mesh=replace(body.mesh, vertices=vertices, axes=axes), name="Copy")


def mirrored(body: SoftBody) -> SoftBody:
    """The mirror image of an object, as a scale of −1 makes it, seen from outside."""
    assert isinstance(body.mesh, SurfaceMesh)
    surface = replace(
        body.mesh,
        vertices=body.mesh.vertices * MIRROR,
        triangles=body.mesh.triangles[:, ::-1],
        axes=np.diag(MIRROR),
    )
    return replace(body, mesh=surface, name="Mirrored")


@pytest.fixture
def filled_surface(monkeypatch) -> list[int]:
    """The vertex counts of the filled surfaces, one entry for each filling."""
    counts: list[int] = []

    def counted(vertices, *rest):
        counts.append(len(vertices))
        return tetrahedralize(vertices, *rest)

    monkeypatch.setattr(fills, "tetrahedralize", counted)
    return counts


def prepared(*bodies: SoftBody) -> tuple[list[SoftBody], list[dict]]:
    scene, reports = tetrahedralize_scene(Scene(list(bodies), contact=Contact()))
    return scene.bodies, reports


@pytest.mark.parametrize(
    "change", [lambda body: body, moved, mirrored], ids=["", "turned", "mirror"]
)
def test_a_body_has_the_same_tetrahedra_alone_and_beside_copies(filled_surface, change) -> None:
    body = change(wedge())
    (alone,), _ = prepared(body)
    far = replace(moved(wedge(), 50.0), name="Far")
    for bodies in ([body, far], [far, body], [far, moved(far), body]):
        beside = prepared(*bodies)[0][bodies.index(body)]
        np.testing.assert_array_equal(beside.mesh.tets, alone.mesh.tets)
        np.testing.assert_allclose(beside.mesh.vertices, alone.mesh.vertices, atol=1e-12)
        np.testing.assert_allclose(beside.mesh.fill, alone.mesh.fill, atol=1e-12)
        for part in ("contact_surface", "seen_surface"):
            own, other = getattr(alone, part), getattr(beside, part)
            np.testing.assert_array_equal(other.triangles, own.triangles)
            np.testing.assert_allclose(other.points, own.points, atol=1e-12)


@pytest.mark.parametrize("change", [moved, mirrored], ids=["turned", "mirrored"])
def test_paint_on_a_body_does_not_depend_on_how_it_stands(change) -> None:
    painted = wedge(paint=[Paint("young", 1.0 + VERTICES[:, 2]), Paint("friction", VERTICES[:, 1])])
    (plain,), _ = prepared(painted)
    (other,), _ = prepared(change(painted))
    np.testing.assert_allclose(other.material.young, plain.material.young, rtol=1e-9)
    np.testing.assert_array_equal(other.friction_paint.points, change(painted).mesh.vertices)
    np.testing.assert_array_equal(other.friction_paint.factors, plain.friction_paint.factors)


def test_a_mirrored_body_has_mirrored_tetrahedra_which_it_shares(filled_surface) -> None:
    (plain, other), _ = prepared(wedge(), mirrored(wedge()))
    assert len(filled_surface) == 1
    np.testing.assert_allclose(other.mesh.vertices, plain.mesh.vertices * MIRROR, atol=1e-12)
    np.testing.assert_array_equal(np.sort(other.mesh.tets), np.sort(plain.mesh.tets))
    np.testing.assert_array_equal(other.mesh.fill, plain.mesh.fill)
    touching, mirror = plain.contact_surface, other.contact_surface
    np.testing.assert_allclose(mirror.points, touching.points * MIRROR, atol=1e-12)
    np.testing.assert_array_equal(mirror.triangles, touching.triangles[:, ::-1])
    carried = mirror.embedding.interpolate(other.mesh.vertices)
    np.testing.assert_allclose(carried, mirror.points, atol=1e-9)


@pytest.mark.parametrize("axes", [2.0 * np.eye(3), np.ones((3, 3)), np.eye(2)])
def test_axes_that_are_none_are_refused(axes) -> None:
    with pytest.raises(SceneError, match="three columns that are perpendicular"):
        wedge(axes=axes)


def test_a_copy_has_the_tetrahedra_of_the_first_where_it_lies(filled_surface) -> None:
    (first, second), reports = prepared(wedge(), moved(wedge()))
    assert len(filled_surface) == 1
    np.testing.assert_array_equal(second.mesh.tets, first.mesh.tets)
    np.testing.assert_array_equal(second.mesh.fill, first.mesh.fill)
    expected = first.mesh.vertices @ TURN.T + np.array([0.0, 4.0, 1.0])
    np.testing.assert_allclose(second.mesh.vertices, expected, atol=1e-12)
    assert [report["name"] for report in reports] == ["Wedge", "Copy"]
    assert {**reports[0], "name": "Copy"} == reports[1]


def test_what_is_seen_and_what_touches_of_a_copy_is_its_own(filled_surface) -> None:
    (_, second), _ = prepared(wedge(), moved(wedge()))
    surface = moved(wedge()).mesh
    assert len(filled_surface) == 1
    np.testing.assert_array_equal(second.skin.points, surface.vertices)
    for part in (second.skin, second.contact_surface, second.seen_surface):
        assert isinstance(part.embedding, Embedding)
        carried = part.embedding.interpolate(second.mesh.vertices)
        np.testing.assert_allclose(carried, part.points, atol=1e-9)
    touching = second.contact_surface.points
    apart = np.linalg.norm(surface.vertices[:, None] - touching, axis=2)
    assert apart.min(axis=1).max() < 1e-9


def test_a_copy_of_a_copy_is_one_of_the_first(filled_surface) -> None:
    bodies, _ = prepared(wedge(), moved(wedge()), moved(moved(wedge())), moved(wedge(), 12.0))
    assert len(filled_surface) == 1
    assert all(np.array_equal(body.mesh.tets, bodies[0].mesh.tets) for body in bodies)


@pytest.mark.parametrize(
    "other",
    [
        wedge(edge_length=1.01 * EDGE_LENGTH),
        wedge(edge_length=None),
        wedge(vertices=1.001 * VERTICES),
        wedge(vertices=VERTICES * MIRROR),
        wedge(triangles=TRIANGLES[1:]),
        replace(wedge(), touching="tetrahedra"),
        replace(wedge(), contact_surface=ContactSurface(VERTICES, TRIANGLES)),
    ],
    ids=["edge", "no edge", "larger", "mirrored", "open", "tetrahedra touch", "own surface"],
)
def test_what_differs_is_filled_by_itself(filled_surface, other: SoftBody) -> None:
    for pair in ((wedge(), moved(other)), (moved(other), wedge())):
        filled_surface.clear()
        (first, second), _ = prepared(*pair)
        assert len(filled_surface) == 2
        assert isinstance(first.mesh, TetMesh) and isinstance(second.mesh, TetMesh)


def test_rounding_in_single_precision_makes_no_difference(filled_surface) -> None:
    copy = moved(wedge())
    assert isinstance(copy.mesh, SurfaceMesh)
    single = copy.mesh.vertices.astype(np.float32).astype(np.float64)
    prepared(wedge(), replace(copy, mesh=replace(copy.mesh, vertices=single)))
    assert len(filled_surface) == 1


def test_each_copy_has_its_own_paint(filled_surface) -> None:
    halves = np.where(VERTICES[:, 2] > 0.7, 2.0, 1.0)
    painted = wedge(paint=[Paint("young", halves)])
    (plain, other), _ = prepared(wedge(), moved(painted))
    assert len(filled_surface) == 1
    assert np.ndim(plain.material.young) == 0
    assert other.material.young.max() == pytest.approx(2.0 * plain.material.young)
    assert other.material.young.min() == pytest.approx(plain.material.young)


def test_a_warning_about_the_first_is_not_one_about_its_copies(filled_surface) -> None:
    _, reports = prepared(wedge(), moved(wedge()))
    reports[0]["start"] = "of the first"
    assert "start" not in reports[1]
