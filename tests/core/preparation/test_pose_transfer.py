# SPDX-License-Identifier: GPL-3.0-or-later
"""Test rest positions of tets, from the places of some points in goals and pins."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from supple.core import Channel, Goals, Scene, Skin, SoftBody, SurfaceMesh
from supple.core.job.scene_file import decode, encode
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.verification.meshes import block

from ..test_sag_free import POINTS, TRIANGLES, bent, tail

SHEAR = np.array([[0.9, 0.3, 0.0], [-0.2, 1.1, 0.4], [0.1, 0.0, 0.8]])


def prepared(body: SoftBody) -> SoftBody:
    return tetrahedralize_scene(Scene([body]))[0].bodies[0]


def test_an_affine_motion_takes_all_tets_along_exactly() -> None:
    path = np.stack([POINTS, POINTS @ SHEAR.T + [1.0, 2.0, 3.0]])
    body = prepared(tail(path, reach=0.3))
    rest = body.mesh.vertices
    np.testing.assert_allclose(body.pose.at(0), rest, rtol=0.0, atol=1e-12)
    expected = rest @ SHEAR.T + [1.0, 2.0, 3.0]
    # Pieces that no point holds would stay, and so a little holds all.
    np.testing.assert_allclose(body.pose.at(1), expected, rtol=0.0, atol=1e-5)


def test_pins_and_goals_are_in_the_pose_and_details_are_seen_on_top() -> None:
    path = Channel(np.stack([bent(0.01), bent(1.0), bent(2.0)]), 2)
    body = prepared(tail(path))
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
    body = prepared(SoftBody(mesh, goals=goals))
    np.testing.assert_allclose(body.pose.samples, moved, rtol=0.0, atol=2e-5)


def test_a_second_preparation_changes_nothing() -> None:
    body = prepared(tail(np.stack([POINTS, bent(1.0)])))
    again = prepared(body)
    np.testing.assert_array_equal(again.pose.samples, body.pose.samples)
    np.testing.assert_array_equal(again.skin.detail.samples, body.skin.detail.samples)


def test_goals_of_all_tet_vertices_are_the_pose() -> None:
    mesh = block((2, 1, 1), (0.5, 0.5, 0.5), (0.0, 0.0, 0.0))
    moved = mesh.vertices + 0.1 * np.random.default_rng(0).standard_normal(mesh.vertices.shape)
    goals = Goals(np.arange(len(mesh.vertices)), moved, sag_free=True)
    body = prepared(SoftBody(mesh, goals=goals))
    np.testing.assert_array_equal(body.pose.at(0), moved)


def test_what_is_not_to_be_free_of_sag_has_no_pose() -> None:
    body = prepared(tail(bent(1.0), sag_free=False))
    assert body.pose is None
    assert body.skin.detail is None


def test_files_keep_it() -> None:
    body = prepared(tail(np.stack([POINTS, bent(1.0)])))
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
