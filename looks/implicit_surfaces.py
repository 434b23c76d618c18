# SPDX-License-Identifier: GPL-3.0-or-later
"""Smooth closed surfaces of quads around the zeros of a function that is negative inside."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .visible_mesh import neighbour_means, quad_edges

Points = NDArray[np.float64]
Indices = NDArray[np.int64]
#: Of points (K, 3) in metres; about the distance in metres, negative inside.
Field = Callable[[Points], Points]

RELAXATIONS = 8
# In cells.
DIFFERENCE = 1e-3
LONGEST_MOVE = 0.5


def ellipsoid(centre: ArrayLike, radii: ArrayLike, turn: ArrayLike | None = None) -> Field:
    """About the distance: Quilez, "Ellipsoid SDF", 2008, first-order.

    Args:
        turn: (3, 3) rotation of the axes about the centre.
    """
    middle, size = np.asarray(centre, dtype=float), np.asarray(radii, dtype=float)
    axes = np.eye(3) if turn is None else np.asarray(turn)

    def field(points: Points) -> Points:
        local = (points - middle) @ axes
        scaled = np.linalg.norm(local / size, axis=1)
        slope = np.linalg.norm(local / size**2, axis=1)
        distance: Points = scaled * (scaled - 1.0) / np.maximum(slope, 1e-12)
        # At the very centre both vanish.
        return np.where(scaled < 1e-6, -size.min(), distance)

    return field


def limb(start: ArrayLike, end: ArrayLike, start_radius: float, end_radius: float) -> Field:
    """A rod with round ends whose radius changes evenly."""
    first, along = np.asarray(start, dtype=float), np.subtract(end, start).astype(float)

    def field(points: Points) -> Points:
        share = np.clip((points - first) @ along / (along @ along), 0.0, 1.0)
        distance = np.linalg.norm(points - first - share[:, None] * along, axis=1)
        radius = start_radius + share * (end_radius - start_radius)
        rest: Points = distance - radius
        return rest

    return field


def ring(centre: ArrayLike, radius: float, thickness: float, width: float) -> Field:
    """A torus around the y axis, drawn out along x ``width`` times."""
    middle = np.asarray(centre, dtype=float)

    def field(points: Points) -> Points:
        x, y, z = (points - middle).T
        distance: Points = np.hypot(np.hypot(x / width, z) - radius, y) - thickness
        return distance

    return field


def union(*fields: Field, blend: float = 0.0) -> Field:
    """Return the union of fields; where two are closer than about ``blend`` metres, a fillet joins
    them.

    Quilez, "Smooth minimum", 2013, the quadratic one.
    """

    def field(points: Points) -> Points:
        least = fields[0](points)
        for other in fields[1:]:
            value = other(points)
            nearness = np.maximum(blend - np.abs(least - value), 0.0)
            fillet = 0.25 * nearness**2 / blend if blend else 0.0
            least = np.minimum(least, value) - fillet
        return least

    return field


def without(field: Field, hollow: Field, blend: float = 0.0) -> Field:
    """Return the first field less the second, with rounded rims."""

    def negative(points: Points) -> Points:
        return -field(points)

    inverse = union(negative, hollow, blend=blend)
    return lambda points: -inverse(points)


def surface(field: Field, low: ArrayLike, high: ArrayLike, cell: float) -> tuple[Points, Indices]:
    """Vertices (V, 3) and quads (F, 4) around the zeros of a field.

    Args:
        low, high: (3,) corners of a box around them, in metres.
        cell: length of a quad's side, in metres. What is thinner is not seen.
    """
    first, last = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    axes = [np.arange(first[k], last[k] + cell, cell) for k in range(3)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    values = field(grid.reshape(-1, 3)).reshape(grid.shape[:3])
    vertices, quads = surface_nets(values)
    vertices = first + cell * vertices
    edges = quad_edges(quads)
    for _ in range(RELAXATIONS):
        vertices = 0.5 * (vertices + neighbour_means(vertices, edges))
        vertices = _moved_onto(field, vertices, cell)
    return vertices, quads


def surface_nets(values: Points) -> tuple[Points, Indices]:
    """Vertices, in cells, and quads that separate the negative nodes of a grid from the others.

    Gibson, "Constrained elastic surface nets", 1998, without the relaxation: one vertex in each
    cell with nodes on both sides, at the mean of where its edges cross.
    """
    sums, counts = np.zeros((*values.shape, 3)), np.zeros(values.shape, dtype=np.int64)
    around, is_leaving = [], []
    for axis in range(3):
        size = values.shape[axis]
        first = np.take(values, np.arange(size - 1), axis)
        second = np.take(values, np.arange(1, size), axis)
        node = np.argwhere((first < 0.0) != (second < 0.0))
        begin, end = first[tuple(node.T)], second[tuple(node.T)]
        crossing = node.astype(np.float64)
        crossing[:, axis] += begin / (begin - end)
        u, v = (axis + 1) % 3, (axis + 2) % 3
        cells = np.repeat(node[:, None], 4, axis=1)
        # Counter-clockwise about the axis.
        cells[:, :, u] -= [1, 0, 0, 1]
        cells[:, :, v] -= [1, 1, 0, 0]
        for corner in range(4):
            where = tuple(cells[:, corner].T)
            np.add.at(sums, where, crossing)
            np.add.at(counts, where, 1)
        around.append(cells)
        is_leaving.append(begin < 0.0)
    used = counts > 0
    number = np.full(values.shape, -1)
    number[used] = np.arange(used.sum())
    quads = number[tuple(np.moveaxis(np.concatenate(around), -1, 0))]
    entering = ~np.concatenate(is_leaving)
    quads[entering] = quads[entering, ::-1]
    return sums[used] / counts[used][:, None], quads


def _moved_onto(field: Field, points: Points, cell: float) -> Points:
    """A step of Newton's method along the gradient, by central differences."""
    step = DIFFERENCE * cell
    gradient = np.stack(
        [(field(points + step * e) - field(points - step * e)) / (2.0 * step) for e in np.eye(3)],
        axis=1,
    )
    squared = np.maximum((gradient**2).sum(axis=1, keepdims=True), 1e-6)
    move = -field(points)[:, None] * gradient / squared
    length = np.linalg.norm(move, axis=1, keepdims=True)
    limited = np.minimum(1.0, LONGEST_MOVE * cell / np.maximum(length, 1e-12))
    return points + limited * move
