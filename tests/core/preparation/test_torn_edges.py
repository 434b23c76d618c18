# SPDX-License-Identifier: GPL-3.0-or-later
"""Short edges follow one tetrahedron, or two that move alike."""

from __future__ import annotations

import numpy as np

from supple.core.geometry.embedding import Embedding
from supple.core.geometry.tet_mesh import TetMesh
from supple.core.preparation.contact_surface import MAX_SPREAD, without_torn_edges

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
