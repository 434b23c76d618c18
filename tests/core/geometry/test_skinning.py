# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones and weights that follow a motion."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from supple.core.geometry.skinning import INFLUENCES, Skinning, fit_bones

Floats = NDArray[np.float64]


def fitted(rest: Floats, path: Floats, count: int) -> Skinning:
    steps = fit_bones(rest, path, count)
    shares = []
    while True:
        try:
            shares.append(next(steps))
        except StopIteration as end:
            assert shares == sorted(shares) and shares[0] >= 0.0 and shares[-1] < 1.0
            skinning: Skinning = end.value
            return skinning


def turn(angle: float) -> Floats:
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])


def bar(frames: int = 9, x: float = 0.0) -> tuple[Floats, Floats]:
    """A bar that flies away and bends at its middle, by weights that rise from 0 to 1."""
    rest = np.random.default_rng(0).uniform((x - 2.0, -0.3, -0.3), (x + 2.0, 0.3, 0.3), (300, 3))
    weight = np.clip(0.5 + (rest[:, 0] - x), 0.0, 1.0)[:, None]
    path = []
    for frame in range(frames):
        first = rest + np.array([0.0, 0.0, 0.3 * frame])
        second = (rest - [x, 0, 0]) @ turn(0.15 * frame).T + [x, 0.1 * frame, 0.3 * frame]
        path.append((1.0 - weight) * first + weight * second)
    return rest, np.array(path)


def test_two_bones_are_found_again_with_their_weights() -> None:
    rest, path = bar()
    skinning = fitted(rest, path, 2)
    assert skinning.errors.max() < 0.02
    assert np.sqrt((skinning.errors**2).mean()) < 0.005
    left, right = rest[:, 0] < -0.6, rest[:, 0] > 0.6
    bones = skinning.weights.argmax(axis=1)
    assert len(set(bones[left])) == len(set(bones[right])) == 1
    assert bones[left][0] != bones[right][0]


def test_errors_are_the_distances_of_the_blend_from_the_motion() -> None:
    rest, path = bar(x=100.0)
    skinning = fitted(rest, path, 3)
    moved = np.einsum("fbij,vj->fbvi", skinning.rotations, rest) + skinning.offsets[:, :, None]
    blend = np.einsum("vb,fbvi->fvi", skinning.weights, moved)
    np.testing.assert_allclose(
        skinning.errors, np.linalg.norm(blend - path, axis=2), rtol=0.0, atol=1e-9
    )
    assert skinning.errors.max() < 0.05


def test_weights_are_not_negative_add_up_to_one_and_belong_to_four_bones() -> None:
    rest, path = bar()
    path = path + 0.1 * np.sin(3.0 * rest + np.arange(9)[:, None, None])
    skinning = fitted(rest, path, 12)
    assert (skinning.weights >= 0.0).all()
    np.testing.assert_allclose(skinning.weights.sum(axis=1), 1.0, atol=1e-12)
    assert (skinning.weights > 0.0).sum(axis=1).max() == INFLUENCES
    determinants = np.linalg.det(skinning.rotations)
    np.testing.assert_allclose(determinants, 1.0, atol=1e-9)


def test_more_bones_come_closer() -> None:
    rest, path = bar()
    path = path + 0.1 * np.sin(2.0 * rest + np.arange(9)[:, None, None])
    errors = [fitted(rest, path, count).errors for count in (1, 4, 16)]
    means = [np.sqrt((each**2).mean()) for each in errors]
    assert means[1] < 0.6 * means[0] and means[2] < 0.6 * means[1]


@pytest.mark.parametrize("count", [1, 5])
def test_a_rigid_motion_is_followed_exactly_by_any_number_of_bones(count: int) -> None:
    rest, _ = bar()
    path = np.array([rest @ turn(0.4 * frame).T + [frame, 0, 0] for frame in range(4)])
    assert fitted(rest, path, count).errors.max() < 1e-5


def test_few_vertices_have_no_more_bones_than_there_are_vertices() -> None:
    rest = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    path = np.array([rest, rest + np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0]])])
    skinning = fitted(rest, path, 24)
    assert skinning.weights.shape == (2, 2)
    assert np.isfinite(skinning.rotations).all() and skinning.errors.max() < 0.5
