# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.geometry.winding_number import PointGrid, solid_angle_fraction, winding_number


def exact(points, vertices, triangles):
    """The sum over all triangles, one point at a time, in double precision."""
    corners = vertices[triangles].transpose(1, 2, 0)
    return np.array([solid_angle_fraction(*(corners - point[:, None])).sum() for point in points])


def test_an_octant_seen_from_the_corner_is_an_eighth_of_the_sphere() -> None:
    a, b, c = np.eye(3)[:, :, None]
    assert solid_angle_fraction(a, b, c) == pytest.approx([1 / 8])


def test_a_face_of_a_cube_seen_from_the_centre_is_a_sixth_of_the_sphere(cube) -> None:
    vertices, triangles = cube
    top = triangles[(vertices[triangles][:, :, 2] > 0).all(axis=1)]
    assert exact(np.zeros((1, 3)), vertices, top) == pytest.approx([1 / 6])


def test_it_is_one_inside_a_closed_surface_and_zero_outside(cube) -> None:
    points = np.random.default_rng(1).uniform(-2, 2, (2000, 3))
    inside = (np.abs(points) < 1).all(axis=1)
    np.testing.assert_allclose(winding_number(points, *cube), inside, atol=1e-4)


def test_it_changes_sign_with_the_orientation(sphere) -> None:
    vertices, triangles = sphere(2)
    found = winding_number(np.zeros((1, 3)), vertices, triangles[:, ::-1])
    assert found == pytest.approx([-1], abs=0.1)


def test_a_disc_seen_from_its_axis_follows_the_closed_form() -> None:
    angles = np.linspace(0, 2 * np.pi, 2000, endpoint=False)
    rim = np.stack([np.cos(angles), np.sin(angles), 0 * angles], axis=1)
    vertices = np.vstack([[[0.0, 0, 0]], rim])
    index = np.arange(len(rim))
    triangles = np.stack([0 * index, 1 + index, 1 + (index + 1) % len(rim)], axis=1)
    heights = np.array([0.1, 0.5, 1.0, 3.0])
    points = np.stack([0 * heights, 0 * heights, -heights], axis=1)
    expected = 0.5 * (1 - heights / np.sqrt(1 + heights**2))
    np.testing.assert_allclose(winding_number(points, vertices, triangles), expected, atol=0.02)


def test_the_tree_agrees_with_the_sum_over_all_triangles(sphere) -> None:
    vertices, triangles = sphere(5)
    bumpy = vertices * (1 + 0.2 * np.sin(7 * vertices[:, :1]) * np.cos(5 * vertices[:, 1:2]))
    half = triangles[bumpy[triangles][:, :, 2].mean(axis=1) > -0.3]
    points = np.random.default_rng(2).uniform(-1.3, 1.3, (300, 3))
    found = winding_number(points, bumpy, half)
    np.testing.assert_allclose(found, exact(points, bumpy, half), atol=0.1)


@pytest.mark.parametrize(("scale", "shift"), [(1e-3, 0.0), (100.0, 0.0), (1.0, 1e6)])
def test_scale_and_place_do_not_matter(sphere, scale, shift) -> None:
    vertices, triangles = sphere(3)
    points = np.array([[0.0, 0, 0], [0.9, 0, 0], [1.1, 0, 0], [3.0, 3, 3]])
    found = winding_number(points * scale + shift, vertices * scale + shift, triangles)
    np.testing.assert_allclose(found, [1, 1, 0, 0], atol=0.1)


@pytest.mark.parametrize("cell", [1e-9, 0.05, 0.3, 10.0])
@pytest.mark.parametrize("flat", [False, True])
def test_it_finds_all_points_in_each_box_once(cell, flat) -> None:
    rng = np.random.default_rng(5)
    points = rng.uniform(-1, 1, (400, 3)) * ([1, 1, 0] if flat else [1, 1, 1])
    low = rng.uniform(-1.5, 1.0, (60, 3))
    high = low + rng.uniform(0, 0.8, (60, 3))
    found = [
        (int(box), int(point))
        for boxes, chunk in PointGrid(points, cell).pairs(low, high)
        for box, point in zip(boxes, chunk, strict=True)
    ]
    inside = (points >= low[:, None]) & (points <= high[:, None])
    expected = np.argwhere(inside.all(axis=2))
    assert sorted(found) == [tuple(pair) for pair in expected.tolist()]
