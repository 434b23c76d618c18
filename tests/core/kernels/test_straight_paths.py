# SPDX-License-Identifier: GPL-3.0-or-later
"""Which pairs may meet on straight paths, beside where they are on the way."""

from __future__ import annotations

import numpy as np

from supple.core.kernels.detection import CandidateStencils, distances
from supple.core.kernels.straight_paths import may_meet
from supple.tests.core.kernels.loose_parts import mesh_of, stencils_of


def meeting(
    points: np.ndarray, moves: np.ndarray, radii: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Which pairs of different triangles may meet, and how far apart all are."""
    stencils = stencils_of(mesh_of(points))
    count = len(stencils.edge_edges) + len(stencils.face_vertices)
    apart, found = np.empty(count), np.zeros(count, dtype=bool)
    may_meet(stencils, points, moves, radii, apart, found)
    expected = np.empty(count)
    distances(stencils, points, expected)
    np.testing.assert_array_equal(apart, expected)
    return found, apart


def corner_radii(stencils: CandidateStencils, radii: np.ndarray) -> np.ndarray:
    """(P,) the sum of a pair's two radii."""
    edges, faces = stencils.edges, stencils.triangles
    of_edges = radii[edges[stencils.edge_edges]].max(axis=2).sum(axis=1)
    of_faces = radii[faces[stencils.face_vertices[:, 0]]].max(axis=1)
    return np.concatenate([of_edges, of_faces + radii[stencils.face_vertices[:, 1]]])


def test_no_pair_that_comes_close_is_left_out() -> None:
    random, left_out = np.random.default_rng(3), 0
    for _ in range(60):
        points, moves = random.normal(size=(9, 3)), random.normal(scale=0.15, size=(9, 3))
        radii = random.uniform(0.0, 0.2, 9)
        found, least = meeting(points, moves, radii)
        stencils = stencils_of(mesh_of(points))
        for share in np.linspace(0.0, 1.0, 11):
            now = np.empty(len(least))
            distances(stencils, points + share * moves, now)
            least = np.minimum(least, now)
        assert found[least <= corner_radii(stencils, radii)].all()
        left_out += int((~found).sum())
    assert left_out > 300


def test_what_rests_meets_if_it_is_within_its_radii() -> None:
    random = np.random.default_rng(4)
    points, radii = random.normal(size=(9, 3)), random.uniform(0.2, 0.8, 9)
    found, apart = meeting(points, np.zeros((9, 3)), radii)
    expected = apart <= corner_radii(stencils_of(mesh_of(points)), radii)
    np.testing.assert_array_equal(found, expected)
    assert 0 < expected.sum() < len(expected)


def test_what_goes_together_does_not_meet_however_fast_it_is() -> None:
    points, radii = np.random.default_rng(5).normal(size=(9, 3)), np.full(9, 1e-3)
    found, _ = meeting(points, np.full((9, 3), 50.0), radii)
    still, _ = meeting(points, np.zeros((9, 3)), radii)
    np.testing.assert_array_equal(found, still)
