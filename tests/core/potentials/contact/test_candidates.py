# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the lasting facts about pairs when the candidates change."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.potentials.contact.collision_detection import Candidates

KNOWN = Candidates(
    np.array([[0, 3], [1, 2], [7, 9]], dtype=np.int32),
    np.array([[0, 3], [4, 1], [4, 5]], dtype=np.int32),
)


def listed(found: Candidates) -> list[list[list[int]]]:
    return [found.edge_edges.tolist(), found.face_vertices.tolist()]


@pytest.mark.parametrize("shift", [0, 1, 3])
def test_pairs_have_the_places_that_they_have_among_known_ones(shift: int) -> None:
    edges = np.array([[0, 2], [0, 3], [1, 2], [7, 9], [8, 1]], dtype=np.int32)[shift:]
    faces = np.array([[4, 0], [4, 5]], dtype=np.int32)
    expected = [-1, 0, 1, 2, -1][shift:]
    assert Candidates(edges, faces).places_among(KNOWN).tolist() == [*expected, -1, 5]


def test_nothing_has_a_place_among_no_pairs() -> None:
    assert len(Candidates.none().places_among(KNOWN)) == 0
    assert KNOWN.places_among(Candidates.none()).tolist() == [-1] * 6
    assert KNOWN.places_among(KNOWN).tolist() == list(range(6))


def test_merged_are_those_of_both_in_order_and_each_once() -> None:
    random = np.random.default_rng(5)
    for _ in range(20):
        parts = [
            [np.unique(random.integers(0, 6, (size, 2), dtype=np.int32), axis=0) for size in sizes]
            for sizes in random.integers(0, 20, (2, 2))
        ]
        first, second = (Candidates(*part) for part in parts)
        unions = [
            np.unique(np.concatenate(pair), axis=0).tolist() for pair in zip(*parts, strict=True)
        ]
        assert listed(first.merged(second)) == listed(second.merged(first)) == unions
    assert listed(KNOWN.merged(Candidates.none())) == listed(KNOWN)
