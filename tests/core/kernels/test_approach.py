# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of triangles that move towards each other, against the same in words of NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.kernels.approach import Parts, find_collisions, write_extremes, write_step_sizes

COUNTS = np.array([3, 5, 4])


def moving(seed: int, size: float = 0.3) -> Parts:
    """Triangles that fly about, in three parts, of which some pass through each other."""
    rng = np.random.default_rng(seed)
    count, speed = COUNTS.sum(), (2.0, 0.1)[seed % 2]
    points = (rng.normal(size=(count, 1, 3)) + size * rng.normal(size=(count, 3, 3))).reshape(-1, 3)
    moves = np.repeat(speed * rng.normal(size=(count, 3)), 3, axis=0)
    moves += 0.05 * speed * rng.normal(size=moves.shape)
    ends = np.arange(3 * count).reshape(-1, 3)
    a, b, c = points[ends].swapaxes(0, 1)
    normals = np.cross(b - a, c - a)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    normals[-1] = 0.0  # as of a triangle without an area
    extremes = np.empty((count, 3))
    write_extremes(points, moves, ends, normals, extremes)
    objects = np.repeat([0, 1, 2], COUNTS)
    exempt = np.where(rng.uniform(size=count) < 0.3, 2, 1)
    bits = np.zeros((3, 3), dtype=np.int64)
    bits[0, 2] = bits[2, 0] = 2
    first = np.concatenate([[0], np.cumsum(COUNTS)[:-1]])
    order = rng.permutation(COUNTS[0])
    order = np.concatenate([order, np.arange(COUNTS[0], count)])
    elements = ends, normals, extremes, objects, exempt, bits
    return Parts(points, moves, order, first, COUNTS, *elements)


def side(parts: Parts, own: int, other: int) -> tuple[bool, float, float]:
    """Whether some of the other is ahead, how far both approach, and from which fraction on."""
    heights = [parts.points[parts.ends[e]] @ parts.normals[own] for e in (own, other)]
    moves = [parts.displacements[parts.ends[e]] @ parts.normals[own] for e in (own, other)]
    towards = max(0.0, moves[0].max() - moves[1].min())
    gap = max(0.0, heights[1].min() - heights[0].max())
    return bool(heights[1].max() > heights[0].min()), towards, gap / towards if towards else np.inf


def expected(parts: Parts, one: int, other: int, since: float) -> list[tuple]:
    """The collisions of two parts: the elements, the approach, and the fraction of the motion."""
    found = []
    chosen = [parts.order[parts.first[k] :][: parts.counts[k]] for k in (one, other)]
    for a in chosen[0]:
        for b in chosen[1]:
            bits = parts.exempt_bits[parts.objects[a], parts.objects[b]]
            sides = [side(parts, a, b), side(parts, b, a)]
            fraction = max(since, *(each[2] for each in sides))
            closing = min(each[1] for each in sides)
            faces = parts.normals[a] @ parts.normals[b] < 0.0 and all(each[0] for each in sides)
            if faces and not (parts.exempt[a] | parts.exempt[b]) & bits and closing > 0.0:
                found += [(a, b, closing, fraction)] if fraction < 1.0 else []
    return found


@pytest.mark.parametrize("seed", range(12))
def test_elements_collide_where_both_approach_with_their_outsides(seed) -> None:
    parts = moving(seed)
    one, other, since = np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([0.0, 0.3, 0.1])
    wanted = [each for k in range(3) for each in expected(parts, one[k], other[k], since[k])]
    fractions, elements = np.empty(200), np.empty((2, 200), dtype=np.intp)
    count = find_collisions(parts, one, other, since, fractions, elements)
    assert count == len(wanted)
    assert elements[:, :count].T.tolist() == [list(each[:2]) for each in wanted]
    np.testing.assert_allclose(fractions[:count], [each[3] for each in wanted], rtol=1e-12)


def test_all_collisions_are_counted_and_as_many_written_as_there_is_room_for() -> None:
    parts = moving(0)
    one, other, since = np.array([0, 1]), np.array([1, 2]), np.zeros(2)
    full, elements = np.full(100, -1.0), np.full((2, 100), -1)
    count = find_collisions(parts, one, other, since, full, elements)
    assert 1 < count < 100
    some, few = np.full(1, -1.0), np.full((2, 1), -1)
    assert find_collisions(parts, one, other, since, some, few) == count
    np.testing.assert_array_equal(some, full[:1])
    np.testing.assert_array_equal(few, elements[:, :1])


@pytest.mark.parametrize("seed", range(12))
def test_a_pair_of_parts_may_go_on_by_what_is_allowed_after_its_first_collision(seed) -> None:
    parts = moving(seed)
    one, other, since = np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([0.0, 0.3, 0.1])
    allowed, sizes = (0.5, 0.02)[seed % 2] * np.array([1.0, 0.4, 2.0]), np.empty(3)
    write_step_sizes(parts, one, other, allowed, since, sizes)
    for k in range(3):
        limits = [
            fraction + allowed[k] / closing
            for _, _, closing, fraction in expected(parts, one[k], other[k], since[k])
            if (1.0 - fraction) * closing > allowed[k]
        ]
        assert sizes[k] == pytest.approx(min(limits, default=np.inf), rel=1e-12)
