# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.meshing.lattice import join_copies
from supple.core.meshing.virtual_nodes import VirtualMesh

# Two copies of a cell on one that they share a face with.
VERTICES = np.array(
    [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, -1.0],
        [0.0, 0.0, 1.0],
        [0.0, 0.0, 1.0],
    ]
)
TETS = np.array([[0, 2, 1, 3], [0, 1, 2, 4], [0, 1, 2, 5]])
CELL = np.array([0, 1, 1])
TET_OF = np.array([[0, -1], [1, 2]])
MESH = VirtualMesh(VERTICES, TETS, CELL, TET_OF)
EDGE = np.array([[0, 1]])


def joined(height: float, length: float, owner: tuple[int, int] = (1, 2)) -> VirtualMesh:
    """The mesh joined around an edge of this length, at this height above the face."""
    points = np.array([[0.2, 0.2, height], [0.2 + length, 0.2, height]])
    return join_copies(MESH, VERTICES, points, np.array(owner), EDGE)


def test_copies_that_an_edge_steps_between_become_one() -> None:
    mesh = joined(0.2, 0.05)
    assert (len(mesh.tets), len(mesh.vertices)) == (2, 5)
    np.testing.assert_array_equal(mesh.tet_of[1], [mesh.tet_of[1, 0]] * 2)
    assert mesh.tet_of[0].tolist() == [1 - mesh.tet_of[1, 0], -1]
    np.testing.assert_array_equal(mesh.cell[mesh.tet_of[:, 0]], [0, 1])
    np.testing.assert_array_equal(mesh.vertices[mesh.tets[mesh.tet_of[1, 0]]], VERTICES[TETS[1]])


@pytest.mark.parametrize(
    ("height", "length", "owner"),
    [(0.2, 0.2, (1, 2)), (0.05, 0.05, (1, 2)), (0.2, 0.05, (1, 1)), (0.2, 0.05, (0, 2))],
)
def test_others_stay_apart(height, length, owner) -> None:
    assert joined(height, length, owner) is MESH


def test_what_counts_is_the_shares_of_both_over_the_length() -> None:
    for height in (0.06, 0.12):
        assert len(joined(height, 2.0 * height / 6.1).tets) == 2
        assert joined(height, 2.0 * height / 5.9) is MESH
