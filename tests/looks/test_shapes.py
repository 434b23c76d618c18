# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry.triangles import point_triangle_distance
from supple.core.geometry.winding_number import winding_number
from supple.looks.filling import enclosed_volume
from supple.looks.implicit_surfaces import ellipsoid, surface, union, without
from supple.looks.shapes import SHAPES, Shape, shape
from supple.looks.static_squeeze import BODIES, distances, simulate
from supple.looks.triangle_distance import distance_to_triangles
from supple.looks.visible_mesh import VisibleMesh
from supple.verification.exact_intersections import count_intersections


def triangles_of(made: Shape) -> np.ndarray:
    return VisibleMesh.from_quads(made.vertices, made.quads).triangles


def uses_of_edges(quads: np.ndarray) -> np.ndarray:
    """The number of faces at each edge; an error where two go along it the same way."""
    sides = np.stack([quads, np.roll(quads, -1, axis=1)], axis=2).reshape(-1, 2)
    assert len(np.unique(sides, axis=0)) == len(sides)
    return np.unique(np.sort(sides, axis=1), axis=0, return_counts=True)[1]


@pytest.mark.parametrize("name", [name for name in SHAPES if name not in ("monkey", "cage")])
def test_bodies_are_closed_surfaces_of_a_few_thousand_faces(name: str) -> None:
    made = shape(name)
    assert (uses_of_edges(made.quads) == 2).all()
    assert 2000 <= len(made.quads) <= 8000
    assert 0.3 <= made.size.max() <= 1.0
    assert made.vertices[:, 2].min() == 0.0
    triangles = triangles_of(made)
    whole = enclosed_volume(made.vertices, triangles)
    assert 0.002 * whole < enclosed_volume(made.vertices, triangles, made.thin) < 0.6 * whole


def test_the_monkey_is_blender_s_with_two_levels_of_subdivision() -> None:
    made = shape("monkey")
    assert len(made.quads) == 7872
    assert made.size[0] == pytest.approx(2.7, abs=0.1)
    assert made.cage is None and made.levels == 0


@pytest.mark.parametrize("name", ["hand", "mouth", "rabbit"])
def test_bodies_of_one_shell_do_not_cross_themselves(name: str) -> None:
    made = shape(name)
    assert count_intersections(made.vertices, triangles_of(made)) == 0


def test_fingers_and_lips_are_apart_by_millimetres() -> None:
    hand, mouth = shape("hand"), shape("mouth")
    front = hand.vertices[:, 1].min()
    fingers = hand.vertices[np.abs(hand.vertices[:, 1] - front - 0.12) < 0.01]
    middle = 0.5 * (fingers[:, 2].min() + fingers[:, 2].max())
    gaps = gaps_along(hand, (-0.2, front + 0.12, middle), (0.2, front + 0.12, middle))
    assert len(gaps) == 3
    assert all(0.001 < gap < 0.012 for gap in gaps)
    lips = mouth.vertices[:, 1].min() + 0.03
    gaps = gaps_along(mouth, (0.0, lips, 0.0), (0.0, lips, 0.5))
    assert len(gaps) == 1
    assert 0.001 < gaps[0] < 0.012


def gaps_along(made: Shape, start: tuple[float, ...], end: tuple[float, ...]) -> list[float]:
    """Lengths of what is outside between parts that are inside, along a line."""
    points = np.linspace(start, end, 2001)
    inside = winding_number(points, made.vertices, triangles_of(made)) > 0.5
    changes = np.flatnonzero(np.diff(inside))
    step = float(np.linalg.norm(points[1] - points[0]))
    return [step * float(length) for length in np.diff(changes)[1::2]]


def test_a_surface_lies_where_its_field_is_zero_and_looks_outwards() -> None:
    vertices, quads = surface(
        ellipsoid((0.1, 0.2, 0.3), (1.0, 0.8, 0.6)), (-2, -2, -2), (2, 2, 2), 0.1
    )
    scaled = (vertices - [0.1, 0.2, 0.3]) / [1.0, 0.8, 0.6]
    np.testing.assert_allclose(np.linalg.norm(scaled, axis=1), 1.0, atol=2e-3)
    assert (uses_of_edges(quads) == 2).all()
    triangles = VisibleMesh.from_quads(vertices, quads).triangles
    volume = enclosed_volume(vertices, triangles)
    assert volume == pytest.approx(4.0 / 3.0 * np.pi * 0.48, rel=0.02)


def test_a_fillet_only_adds_where_two_meet() -> None:
    parts = ellipsoid((0, 0, 0), (1, 1, 1)), ellipsoid((1.5, 0, 0), (1, 1, 1))
    points = np.array([[0.75, 0.7, 0.0], [-1.01, 0.0, 0.0]])
    sharp, smooth = union(*parts)(points), union(*parts, blend=0.3)(points)
    assert smooth[0] < 0.0 < sharp[0]
    assert smooth[1] == sharp[1]


def test_what_is_taken_away_is_outside() -> None:
    field = without(ellipsoid((0, 0, 0), (1, 1, 1)), ellipsoid((0, 0, 1), (0.5, 0.5, 0.5)))
    assert field(np.array([[0.0, 0.0, 0.8]]))[0] > 0.0
    assert field(np.array([[0.0, 0.0, 0.2]]))[0] < 0.0


def test_the_grid_finds_what_brute_force_finds() -> None:
    rng = np.random.default_rng(4)
    centres = rng.uniform(-1, 1, (300, 1, 3))
    corners = centres + rng.normal(scale=0.15, size=(300, 3, 3))
    triangles = np.arange(900).reshape(300, 3)
    points = rng.uniform(-1.5, 1.5, (200, 3))
    pairs = [np.repeat(corners[:, k], len(points), axis=0) for k in range(3)]
    brute = point_triangle_distance(np.tile(points, (300, 1)), *pairs).reshape(300, -1).min(axis=0)
    brute[brute > 0.4] = np.inf
    found = distance_to_triangles(points, corners.reshape(-1, 3), triangles, 0.4)
    assert np.isinf(found).any()
    np.testing.assert_allclose(found, brute, atol=1e-12)


def test_without_triangles_everything_is_infinitely_far() -> None:
    found = distance_to_triangles(np.zeros((2, 3)), np.zeros((0, 3)), np.zeros((0, 3), int), 1.0)
    assert np.isinf(found).all()


def test_moving_and_turning_along_the_ground_is_no_distance() -> None:
    points = np.random.default_rng(1).normal(size=(50, 3)) * [3.0, 1.0, 0.5]
    cos, sin = np.cos(0.7), np.sin(0.7)
    turned = points @ np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])
    moved = turned + np.array([5.0, -2.0, 0.0])
    np.testing.assert_allclose(distances(points, moved), 0.0, atol=1e-12)


def test_height_and_shape_are_distances() -> None:
    points = np.random.default_rng(2).normal(size=(50, 3))
    np.testing.assert_allclose(distances(points, points + np.array([0.0, 0.0, 0.1])), 0.1)
    points -= points.mean(axis=0)
    wider = distances(points, 1.5 * points)
    np.testing.assert_allclose(wider, 0.5 * np.linalg.norm(points, axis=1))


def test_a_pebble_sinks_by_a_quarter_of_its_height_on_the_ground() -> None:
    found, seen = simulate("pebble", 0.6)
    height = float(np.ptp(BODIES["pebble"][0]()[0][:, 2]))
    assert 0.2 < 1e-3 * found["sunk_mm"] / height < 0.3
    assert found["below_ground_mm"] == 0.0
    assert len(seen) == len(BODIES["pebble"][0]()[0])
