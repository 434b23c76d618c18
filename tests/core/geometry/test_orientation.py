# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np

from supple.core.geometry.triangles import orient_consistently
from supple.core.meshing.surface import is_closed, signed_volume


def test_flipped_faces_are_turned_back(sphere) -> None:
    vertices, triangles = sphere(3)
    mixed = triangles.copy()
    flipped = np.random.default_rng(6).random(len(triangles)) < 0.4
    mixed[flipped] = mixed[flipped, ::-1]
    oriented = orient_consistently(mixed)
    assert not is_closed(mixed)
    assert is_closed(oriented)
    assert signed_volume(vertices, oriented) == signed_volume(vertices, triangles)


def test_shells_that_agree_with_themselves_are_left_alone(sphere) -> None:
    _, triangles = sphere(2)
    shells = np.concatenate([triangles, triangles[:, ::-1] + triangles.max() + 1])
    np.testing.assert_array_equal(orient_consistently(shells), shells)


def test_each_shell_keeps_the_side_of_its_majority(sphere) -> None:
    _, triangles = sphere(2)
    shells = np.concatenate([triangles, triangles[:, ::-1] + triangles.max() + 1])
    mixed = shells.copy()
    mixed[[3, 200]] = mixed[[3, 200], ::-1]
    np.testing.assert_array_equal(
        np.sort(orient_consistently(mixed), axis=1), np.sort(shells, axis=1)
    )
    assert is_closed(orient_consistently(mixed))


def test_a_moebius_strip_is_left_alone() -> None:
    strip = np.array([[0, 1, 2], [2, 1, 3], [2, 3, 4], [4, 3, 5], [4, 5, 1], [1, 5, 0]])
    np.testing.assert_array_equal(orient_consistently(strip), strip)
