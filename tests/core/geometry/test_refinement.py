# SPDX-License-Identifier: GPL-3.0-or-later
"""Smaller triangles for a surface."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from supple.core.geometry import refinement
from supple.core.geometry.refinement import Triangulation, refined

Points = NDArray[np.float64]


def triangulation(points: Points, triangles: list | Points, labels: list | None = None):
    indices = np.asarray(triangles, dtype=np.int32)
    marks = np.zeros(len(indices), dtype=bool) if labels is None else np.asarray(labels)
    return Triangulation(np.asarray(points, dtype=float), indices, marks)


def fan(count: int, height: float = 0.0) -> Triangulation:
    """A disc, or a cone, of radius 1 and of triangles about its centre."""
    turns = 2.0 * np.pi * np.arange(count) / count
    rim = np.stack([np.cos(turns), np.sin(turns), 0.0 * turns], axis=1)
    around = np.arange(count)
    triangles = np.stack([np.full(count, count), around, (around + 1) % count], axis=1)
    return triangulation(np.concatenate([rim, [[0.0, 0.0, height]]]), triangles)


def strip(count: int) -> Triangulation:
    """A rectangle of 1 × 0.02 m, bent by a right angle along each of its long thin faces."""
    across = np.array([[(k + 1) // 2, k // 2] for k in range(count + 1)]) * 0.02
    points = np.array([[x, y, z] for y, z in across for x in (0.0, 1.0)])
    triangles = [t for k in range(0, 2 * count, 2) for t in ([k, k + 1, k + 3], [k, k + 3, k + 2])]
    return triangulation(points, triangles)


def grid(count: int) -> Triangulation:
    points = np.array([[x, y, 0.0] for y in range(count + 1) for x in range(count + 1)])
    corners = [k for k in range((count + 1) * count) if (k + 1) % (count + 1)]
    above = count + 1
    triangles = [[k, k + 1, k + above + 1] for k in corners]
    triangles += [[k, k + above + 1, k + above] for k in corners]
    return triangulation(points, triangles)


def lengths(surface: Triangulation) -> Points:
    corners = surface.points[surface.triangles]
    return np.linalg.norm(corners - np.roll(corners, -1, axis=1), axis=2)


def normals(surface: Triangulation) -> Points:
    """(F, 3) normals, as long as the areas are large."""
    a, b, c = surface.points[surface.triangles].swapaxes(0, 1)
    return 0.5 * np.cross(b - a, c - a)


def is_whole(surface: Triangulation, before: Triangulation) -> bool:
    """Whether the same edges have one triangle alone, split where they were, and all others two in
    opposite directions."""
    directed = surface.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    assert len(np.unique(directed, axis=0)) == len(directed)
    back = {tuple(pair) for pair in directed.tolist()}
    border = [pair for pair in directed.tolist() if (pair[1], pair[0]) not in back]
    old = before.triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2).tolist()
    known = {tuple(pair) for pair in old}
    old_border = [pair for pair in old if (pair[1], pair[0]) not in known]

    def length(points: Points, pairs: list) -> float:
        ends = np.array(pairs, dtype=int).reshape(-1, 2)
        return float(np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1).sum())

    return length(surface.points, border) == pytest.approx(length(before.points, old_border))


@pytest.mark.parametrize(
    "surface", [fan(7), fan(60), fan(60, 0.5), strip(3), strip(4), grid(3)], ids=str
)
@pytest.mark.parametrize("longest", [0.6, 0.15])
def test_all_edges_are_short_and_the_surface_is_the_same(
    surface: Triangulation, longest: float
) -> None:
    finer = refined(surface, longest)
    assert lengths(finer).max() <= longest
    assert is_whole(finer, surface)
    np.testing.assert_array_equal(finer.points[: len(surface.points)], surface.points)
    # Each normal is one of those that were, and these have the same area.
    before, after = normals(surface), normals(finer)
    directions = before / np.linalg.norm(before, axis=1, keepdims=True)
    same = after @ directions.T / np.linalg.norm(after, axis=1, keepdims=True) > 1.0 - 1e-9
    assert same.any(axis=1).all()
    for direction in directions:
        old, new = (part @ direction for part in (before, after))
        assert new.sum() == pytest.approx(old.sum(), rel=1e-9)


def test_a_face_of_many_sides_gets_as_many_points_as_its_area_needs() -> None:
    """And not as many as its long thin triangles."""
    longest = 0.2
    finer = refined(fan(120), longest)
    inside = len(finer.points) - 120
    # A triangle with edges of that length has 0.43 of its square.
    assert np.pi / longest**2 < inside < 4.0 * np.pi / longest**2
    few = refined(fan(12), longest)
    assert 0.5 < len(few.points) / inside < 1.5


def test_long_thin_faces_beside_each_other_are_split_along_their_edges_alone() -> None:
    """Four faces of 1 m have five long edges, each of which gets seven points more."""
    finer = refined(strip(4), 0.15)
    assert len(finer.points) == 5 * 9
    assert set(np.round(finer.points[:, 0] * 8.0, 9)) == set(range(9))


def test_a_regular_mesh_stays_regular() -> None:
    finer = refined(grid(2), 0.8)
    assert len(finer.points) == 25
    twice = finer.points * 2.0
    np.testing.assert_allclose(twice, twice.round(), atol=1e-12)
    unchanged = refined(grid(2), 1.5)
    np.testing.assert_array_equal(unchanged.triangles, grid(2).triangles)


def test_in_flat_parts_poor_triangles_are_delaunay(monkeypatch: pytest.MonkeyPatch) -> None:
    # All triangles are.
    monkeypatch.setattr(refinement, "THIN_SINE", 1.1)
    points = np.random.default_rng(1).uniform(size=(30, 2))
    scattered = fan(9)
    rim = scattered.points[:9] * 2.0
    inner = np.concatenate([points - 0.5, np.zeros((30, 1))], axis=1)
    # All in one star about the first point of the rim, sorted by their direction.
    from scipy.spatial import Delaunay

    everything = np.concatenate([rim, inner])
    triangles = Delaunay(everything[:, :2]).simplices
    corners = everything[triangles]
    backwards = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])[:, 2] < 0.0
    triangles[backwards] = triangles[backwards][:, ::-1]
    good = triangulation(everything, triangles)
    spoiled = _spoiled(good)
    assert _keys(spoiled) != _keys(good)
    assert _keys(refined(spoiled, 10.0)) == _keys(good)


def _keys(surface: Triangulation) -> set[tuple[int, ...]]:
    return {tuple(sorted(each)) for each in surface.triangles.tolist()}


def _spoiled(surface: Triangulation) -> Triangulation:
    """With some edges flipped the other way, of quadrilaterals that are convex."""
    triangles = surface.triangles.copy()
    touched: set[int] = set()
    for one in range(len(triangles)):
        for other in range(one):
            shared = set(triangles[one].tolist()) & set(triangles[other].tolist())
            if len(shared) != 2 or {one, other} & touched:
                continue
            (apex,) = set(triangles[one].tolist()) - shared
            (opposite,) = set(triangles[other].tolist()) - shared
            place = triangles[one].tolist().index(apex)
            first, second = (int(triangles[one][(place + k) % 3]) for k in (1, 2))
            new = np.array([[apex, first, opposite], [opposite, second, apex]], dtype=np.int32)
            if (normals(triangulation(surface.points, new))[:, 2] > 1e-3).all():
                triangles[[one, other]] = new
                touched |= {one, other}
    return triangulation(surface.points, triangles)


@pytest.mark.parametrize("case", ["bent", "label", "turned over"])
def test_edges_between_different_parts_are_not_flipped(case: str) -> None:
    """Two thin triangles whose common edge is the longer diagonal of a rhombus."""
    points = np.array([[-4.5, 0, 0], [4.5, 0, 0], [0, 1, 0], [0, -1, 0]])
    triangles, labels = [[0, 1, 2], [1, 0, 3]], [False, False]
    flat = refined(triangulation(points, triangles, labels), 10.0)
    assert _keys(flat) == {(0, 2, 3), (1, 2, 3)}
    assert (normals(flat)[:, 2] > 0.0).all()
    if case == "bent":
        points[3, 2] = 1e-4
    elif case == "label":
        labels = [False, True]
    else:
        triangles[1] = [0, 1, 3]
    kept = refined(triangulation(points, triangles, labels), 10.0)
    np.testing.assert_array_equal(kept.triangles, triangles)


@pytest.mark.parametrize(("half", "stays"), [(3.5, True), (4.5, False)])
def test_triangles_that_are_not_thin_stay_as_they_are_drawn(half: float, stays: bool) -> None:
    """The common edge of two is the longer diagonal of a rhombus, 2 m wide."""
    points = np.array([[-half, 0, 0], [half, 0, 0], [0, 1, 0], [0, -1, 0]])
    surface = triangulation(points, [[0, 1, 2], [1, 0, 3]])
    assert (_keys(refined(surface, 10.0)) == _keys(surface)) == stays


def test_the_edge_of_a_triangle_that_is_too_long_is_flipped() -> None:
    points = np.array([[-2.0, 0, 0], [2, 0, 0], [0, 1, 0], [0, -1, 0]])
    surface = triangulation(points, [[0, 1, 2], [1, 0, 3]])
    assert _keys(refined(surface, 4.0)) == _keys(surface)
    assert _keys(refined(surface, 3.9)) == {(0, 2, 3), (1, 2, 3)}


def test_an_edge_that_is_there_is_not_made_again() -> None:
    """A flat rhombus whose shorter diagonal is an edge of a third triangle."""
    points = np.array([[-4.5, 0, 0], [4.5, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1]])
    triangles = [[0, 1, 2], [1, 0, 3], [2, 3, 4]]
    kept = refined(triangulation(points, triangles), 10.0)
    np.testing.assert_array_equal(kept.triangles, triangles)


def test_labels_go_with_their_parts() -> None:
    surface = grid(2)
    labels = surface.points[surface.triangles].mean(axis=1)[:, 0] > 1.0
    finer = refined(surface._replace(labels=labels), 0.3)
    centres = finer.points[finer.triangles].mean(axis=1)
    np.testing.assert_array_equal(finer.labels, centres[:, 0] > 1.0)


def test_what_does_not_come_to_an_end_in_time_is_split_everywhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refinement, "MAX_ROUNDS", 1)
    finer = refined(fan(40), 0.2)
    assert lengths(finer).max() <= 0.2 and is_whole(finer, fan(40))


def test_turned_copies_are_refined_alike() -> None:
    from scipy.spatial.transform import Rotation

    surface = fan(31, 0.0)
    finer = refined(surface, 0.23)
    turn = Rotation.from_rotvec([0.3, -1.1, 0.7]).as_matrix()
    turned = refined(surface._replace(points=surface.points @ turn.T), 0.23)
    np.testing.assert_array_equal(turned.triangles, finer.triangles)
    np.testing.assert_allclose(turned.points, finer.points @ turn.T, atol=1e-12)


def test_nothing_is_refined_to_nothing() -> None:
    empty = triangulation(np.zeros((0, 3)), np.zeros((0, 3)))
    assert len(refined(empty, 1.0).triangles) == 0


def test_an_edge_of_just_the_longest_length_stays() -> None:
    corner = triangulation([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    assert len(refined(corner, float(np.sqrt(2.0))).points) == 3
    assert len(refined(corner, 1.414).points) == 4


@pytest.mark.parametrize(
    ("ratios", "are_inner", "apart", "chosen"),
    [
        ([1.2, 1.5], [True, True], 0.49, [False, True]),
        ([1.5, 1.2], [True, True], 0.49, [True, False]),
        ([1.5, 1.5 + 1e-9], [True, True], 0.49, [True, False]),
        ([1.2, 1.5], [False, True], 0.49, [True, False]),
        ([1.5, 1.2], [True, False], 0.49, [False, True]),
        ([1.2, 1.5], [False, False], 0.49, [True, True]),
        ([1.2, 1.5], [True, True], 0.51, [True, True]),
    ],
)
def test_of_two_edges_whose_middles_are_near_the_one_that_is_needed_more_is_split(
    ratios: list[float], are_inner: list[bool], apart: float, chosen: list[bool]
) -> None:
    points = np.array([[0.0, 0, 0], [1, 0, 0], [0, apart, 0], [1, apart, 0], [9, 9, 9]])
    ends = np.array([[0, 1], [2, 3], [0, 4]])
    nothing = np.zeros((0, 3), dtype=np.intp)
    edges = refinement._Edges(ends, nothing, np.array([*are_inner, True]), nothing, nothing)
    long = np.array([True, True, False])
    split = refinement._far_apart(points, edges, np.array([*ratios, 0.5]), long, 1.0)
    assert split.tolist() == [*chosen, False]
