# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.preparation.intersections import (
    Surfaces,
    find_close,
    find_intersections,
    segment_hits,
)
from supple.verification.meshes import block

CORNERS = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]


def together(*objects, **options) -> Surfaces:
    """Objects, each (vertices, triangles), as one."""
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in objects)])
    return Surfaces(
        np.concatenate([np.asarray(vertices, dtype=float) for vertices, _ in objects]),
        np.concatenate(
            [np.asarray(t) + start for (_, t), start in zip(objects, starts, strict=False)]
        ).astype(np.int32),
        np.repeat(np.arange(len(objects)), np.diff(starts)).astype(np.int32),
        **options,
    )


def cube(offset=(0.0, 0, 0), cells: int = 2):
    mesh = block((cells, cells, cells))
    return mesh.vertices + offset, mesh.surface


def pairs(*objects, **options) -> int:
    return len(find_intersections(together(*objects, **options)))


def one(corners=CORNERS):
    return corners, [[0, 1, 2]]


def test_triangles_that_cross_are_found_and_those_beside_each_other_are_not():
    through = [[0.2, 0.2, -1], [0.3, 0.2, 1], [0.2, 0.3, 1]]
    assert pairs(one(), one(through)) == 1
    assert pairs(one(), one(np.add(through, (1, 0, 0)))) == 0


def test_what_goes_through_its_own_object_does_not_go_through_others() -> None:
    through = [[0.2, 0.2, -1], [0.3, 0.2, 1], [0.2, 0.3, 1]]
    two = np.concatenate([CORNERS, through]), [[0, 1, 2], [3, 4, 5]]
    for first in (False, True):
        for second in (False, True):
            marked = np.array([first, second])
            assert pairs(two, through_own=marked) == (not first and not second)
            assert pairs(one(), one(through), through_own=marked) == 1


@pytest.mark.parametrize(
    "other",
    [
        [[0.2, 0.2, 0], [0.2, 0.2, 1], [0.3, 0.3, 1]],
        [[0.5, -1, -1], [0.5, 0, 0], [0.5, -1, 1]],
        [[0, 0, 0], [-1, 0, 0], [0, -1, 1]],
        [[0.1, 0.1, 0], [0.2, 0.1, 0], [0.1, 0.2, 0]],
        [[-1, -1, 0], [3, -1, 0], [-1, 3, 0]],
        [[0.5, 0.5, 0], [1, 1, 0], [2, 2, 0]],
        [[0.2, 0.2, -1], [0.2, 0.2, 1], [0.2, 0.2, 1]],
    ],
    ids=[
        "a corner on the face",
        "a corner on an edge",
        "corner to corner",
        "inside of it in its plane",
        "around it in its plane",
        "a line that ends on it",
        "a line through it",
    ],
)
def test_touching_counts(other):
    assert pairs(one(), one(other)) == 1
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    assert pairs(one(CORNERS @ turn + 5.0), one(other @ turn + 5.0)) == 1


def test_a_gap_that_is_small_but_there_is_none():
    assert pairs(one(), one(np.add(CORNERS, (0, 0, 1e-9)))) == 0
    assert pairs(one(), one(np.add(CORNERS, (0, 0, 1e-13)))) == 1


def test_stacked_boxes_touch_and_are_named_by_their_faces():
    lower, upper = cube(), cube((0.0, 0, 1.0))
    surfaces = together(lower, upper)
    found = find_intersections(surfaces)
    assert len(found)
    heights = surfaces.vertices[surfaces.triangles[found.triangles]][..., 2]
    assert ((heights == 1.0).any(axis=2)).all()
    ((objects, triangles),) = found.object_pairs()
    assert objects == (0, 1)
    assert (triangles[:, 0] < len(lower[1])).all() and (triangles[:, 1] >= len(lower[1])).all()


def test_neighbours_in_a_surface_are_no_intersection():
    assert pairs(cube(cells=5)) == 0


def test_a_surface_that_goes_through_itself_is_one_unless_it_may():
    vertices = np.concatenate([cube()[0], cube((0.5, 0.5, 0.5))[0]])
    twice = (vertices, np.concatenate([cube()[1], cube()[1] + len(cube()[0])]))
    assert pairs(twice) > 0
    assert pairs(twice, excluded={(0, 0)}) == 0


def test_objects_that_may_not_meet_are_left_out():
    three = cube(), cube((0.5, 0.5, 0.5)), cube((-0.5, 0.5, 0.3))
    everything = find_intersections(together(*three))
    assert set(map(tuple, everything.objects)) == {(0, 1), (0, 2), (1, 2)}
    some = find_intersections(together(*three, excluded={(2, 0), (1, 1)}))
    assert set(map(tuple, some.objects)) == {(0, 1), (1, 2)}
    same = everything.between({(0, 1), (1, 2)})
    np.testing.assert_array_equal(some.triangles, same.triangles)
    colliders = find_intersections(together(*three, excluded={(1, 1), (1, 2), (2, 2)}))
    assert set(map(tuple, colliders.objects)) == {(0, 1), (0, 2)}


def test_a_ball_inside_a_hollow_box_is_fine():
    assert pairs(cube(), (0.4 * cube()[0] + 0.3, cube()[1])) == 0


def test_what_is_close_is_measured():
    above = one(np.add(CORNERS, (0.1, 0.1, 0.25)))
    found = find_close(together(one(), above), 0.3)
    assert found.distances == pytest.approx([0.25])
    assert len(find_close(together(one(), above), 0.2)) == 0
    edges = [[0.5, -0.2, 0.1], [0.5, 0.5, 0.1], [0.5, 0.2, 1.0]]
    assert find_close(together(one(), one(edges)), 0.3).distances == pytest.approx([0.1])


def test_nothing_is_missed_among_random_triangles():
    random = np.random.default_rng(0)
    corners = random.normal(size=(60, 3, 3))
    objects = [one(triangle) for triangle in corners]
    found = {tuple(pair) for pair in find_intersections(together(*objects)).triangles}
    crossing = {(i, j) for i in range(60) for j in range(i) if _cross(corners[i], corners[j])}
    assert found == {(j, i) for i, j in crossing}


def _cross(first, second) -> bool:
    """An edge of one hits the face of the other, by solving for where."""
    for a, b in ((first, second), (second, first)):
        for k in range(3):
            start, edge = a[k], a[(k + 1) % 3] - a[k]
            t, u, v = np.linalg.solve(np.array([edge, b[0] - b[1], b[0] - b[2]]).T, b[0] - start)
            if 0 <= t <= 1 and u >= 0 and v >= 0 and u + v <= 1:
                return True
    return False


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
