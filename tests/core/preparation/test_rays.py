# SPDX-License-Identifier: GPL-3.0-or-later
"""Segments that go through triangles, beside a solve of each pair."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.preparation.intersections import segment_hits

RNG = np.random.default_rng(4)
BEGIN, END = RNG.uniform(-1.0, 1.0, (2, 60, 3))
VERTICES = RNG.uniform(-1.0, 1.0, (90, 3))
TRIANGLES = np.arange(90, dtype=np.int32).reshape(-1, 3)


def expected_hits() -> dict[tuple[int, int], float]:
    hits = {}
    for segment, (p, q) in enumerate(zip(BEGIN, END, strict=True)):
        for triangle, (a, b, c) in enumerate(VERTICES[TRIANGLES]):
            share, u, v = np.linalg.solve(np.column_stack([p - q, b - a, c - a]), p - a)
            if 0.0 <= share <= 1.0 and min(u, v) >= 0.0 and u + v <= 1.0:
                hits[segment, triangle] = share
    return hits


def test_every_crossing_is_found_with_its_share_of_the_way() -> None:
    segment, triangle, share = segment_hits(BEGIN, END, VERTICES, TRIANGLES)
    expected = expected_hits()
    assert len(expected) > 50
    assert list(zip(segment.tolist(), triangle.tolist(), strict=True)) == sorted(expected)
    np.testing.assert_allclose(share, [expected[key] for key in sorted(expected)])


def test_segments_pass_through_triangles_of_their_owner() -> None:
    owners = np.arange(60, dtype=np.int32) % 4
    vertex_owners = np.repeat(np.arange(30, dtype=np.int32) % 3, 3)
    segment, triangle, _ = segment_hits(BEGIN, END, VERTICES, TRIANGLES, owners, vertex_owners)
    expected = sorted((s, t) for s, t in expected_hits() if s % 4 != t % 3)
    assert list(zip(segment.tolist(), triangle.tolist(), strict=True)) == expected


@pytest.mark.parametrize("count", [0, 60])
def test_nothing_is_hit_where_there_is_nothing(count: int) -> None:
    segment, triangle, share = segment_hits(BEGIN[:count], END[:count], VERTICES, TRIANGLES[:0])
    assert len(segment) == len(triangle) == len(share) == 0


def test_more_crossings_than_segments_are_all_found() -> None:
    """As many as the room for them holds at first, and ten times that."""
    stack = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    heights = np.linspace(0.1, 0.9, 40)
    points = np.concatenate([np.column_stack([stack, np.full(3, z)]) for z in heights])
    triangles = np.arange(120, dtype=np.int32).reshape(-1, 3)
    begin, end = np.array([[0.2, 0.2, 0.0]]), np.array([[0.2, 0.2, 1.0]])
    _, triangle, share = segment_hits(begin, end, points, triangles)
    np.testing.assert_array_equal(triangle, np.arange(40))
    np.testing.assert_allclose(share, heights)
