# SPDX-License-Identifier: GPL-3.0-or-later
"""Test that visible meshes follow the tetrahedra, from the surface to the frames of a folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from supple.core import Contact, Embedding, Scene, Skin, SoftBody, SurfaceMesh
from supple.core.errors import DamageError
from supple.core.job import Job, Settings, digest
from supple.core.job.scene_file import encode
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene


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
