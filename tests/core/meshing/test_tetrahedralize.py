# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core import SceneError, tetrahedralize

CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
# By 45 degrees about z, which lays an edge of √2 along x.
TURN = np.array([[0.5**0.5, -(0.5**0.5), 0.0], [0.5**0.5, 0.5**0.5, 0.0], [0.0, 0.0, 1.0]])
FACES = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]


@pytest.mark.parametrize("method", ["lattice", "ftetwild", "tetgen"])
@pytest.mark.parametrize("corners", [CORNERS, CORNERS * [-1.0, 1.0, 1.0], CORNERS @ TURN.T])
def test_a_tetrahedron_that_a_cell_may_hold_stays_one_tet(method: str, corners) -> None:
    mesh = tetrahedralize(corners, FACES, method, edge_length=1.0)
    assert len(mesh.tets) == 1
    np.testing.assert_array_equal(mesh.vertices, corners)


def test_a_larger_tetrahedron_is_filled() -> None:
    assert len(tetrahedralize(CORNERS, FACES, edge_length=0.2).tets) > 50
    # Its longest edge, of √2, is as long as the diagonal of a cube of √(2/3).
    for edge_length, is_one in ((0.8160, False), (0.8170, True)):
        assert (len(tetrahedralize(CORNERS, FACES, edge_length=edge_length).tets) == 1) == is_one


def test_three_of_its_faces_are_not_a_tetrahedron() -> None:
    assert len(tetrahedralize(CORNERS, [*FACES[:3], FACES[0]], edge_length=1.0).tets) > 1


def test_a_tetrahedron_without_volume_is_refused() -> None:
    with pytest.raises(SceneError, match="flat"):
        tetrahedralize(CORNERS * [1.0, 1.0, 0.0], FACES, edge_length=1.0)
