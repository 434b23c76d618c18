# SPDX-License-Identifier: GPL-3.0-or-later
"""Compiled loops of the lattice: fragments of cells, and smoothing."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled
from ..geometry.triangle_loops import coordinate, crossing, normal_of, shape_gradients
from ..math3.vectors import add_to, advanced, dot, minus, scaled, vector_at

# A winding number above it is inside.
INSIDE_WINDING_NUMBER = 0.5
# The depth relative to the distance between a triangle and the surface behind it.
_DEPTH_RATIO = 0.47


@compiled()
def is_connected(
    start: Any, end: Any, winding: float, triangles: Any, places: Any, steps: Any
) -> bool:
    """Whether the way between two points inside stays inside, given the number at its start.

    Args:
        places, steps: (n,) scratch.
    """
    count = 0
    for k in range(len(triangles)):
        along, step = crossing(start, end, triangles[k])
        if step == 0.0:
            continue
        slot = count
        while slot > 0 and places[slot - 1] > along:
            places[slot], steps[slot] = places[slot - 1], steps[slot - 1]
            slot -= 1
        places[slot], steps[slot] = along, step
        count += 1
    number = winding
    for i in range(count):
        number += steps[i]
        if abs(number) <= INSIDE_WINDING_NUMBER:
            return False
    return True


@compiled()
def place_below(
    centre: Any, triangle: Any, triangles: Any, skip: int, maps: Any, sign: float, target: Any
) -> None:
    """Puts into ``target`` the point about halfway from a triangle, along its normal times
    ``sign``, to the next triangle or the end of the cell."""
    normal, reach = scaled(sign, normal_of(triangle)), 4.0
    for a in range(4):
        rate = dot(maps[a], normal)
        if rate < 0.0:
            height = max(0.0, coordinate(maps[a], centre[0], centre[1], centre[2]))
            reach = min(reach, -height / rate)
    target[0], target[1], target[2] = advanced(centre, reach, normal)
    nearest = 1.0
    for k in range(len(triangles)):
        if k != skip:
            along, step = crossing(centre, target, triangles[k])
            if step != 0.0:
                nearest = min(nearest, along)
    half = _DEPTH_RATIO * nearest * reach
    target[0], target[1], target[2] = advanced(centre, half, normal)


@compiled()
def _root(parent: Any, i: int) -> int:
    while parent[i] != i:
        parent[i] = parent[parent[i]]
        i = parent[i]
    return int(i)


@compiled()
def _unite(parent: Any, i: int, j: int) -> None:
    a, b = _root(parent, i), _root(parent, j)
    parent[max(a, b)] = min(a, b)


@compiled()
def _link_neighbours(triangles: Any, corners: Any, is_sheet: Any, maps: Any, parent: Any) -> None:
    """Unites triangles that share a corner in the cell; a sheet, any corner."""
    for k in range(len(triangles)):
        for a in range(3):
            point = triangles[k, a]
            inside = True
            for b in range(4):
                inside &= coordinate(maps[b], point[0], point[1], point[2]) >= 0.0
            for other in range(k):
                if not (inside or is_sheet[k] or is_sheet[other]):
                    continue
                for b in range(3):
                    if corners[other, b] == corners[k, a]:
                        _unite(parent, k, other)


@compiled(allocates=True)
def _link_seen(points: Any, numbers: Any, solid: Any, triangles: Any, parent: Any) -> None:
    """Unites points inside between which there is nothing but inside."""
    places, steps = np.empty(len(triangles)), np.empty(len(triangles))
    fragments = _count_roots(parent, solid)
    for i in range(len(points)):
        if fragments == 1:
            return
        if not solid[i]:
            continue
        for j in range(i + 1, len(points)):
            if (
                solid[j]
                and _root(parent, i) != _root(parent, j)
                and is_connected(points[i], points[j], numbers[i], triangles, places, steps)
            ):
                _unite(parent, i, j)
                fragments -= 1


@compiled(allocates=True)
def _count_roots(parent: Any, is_counted_point: Any) -> int:
    is_counted, count = np.zeros(len(parent), dtype=np.bool_), 0
    for i in range(len(parent)):
        root = _root(parent, i)
        if is_counted_point[i] and not is_counted[root]:
            is_counted[root] = True
            count += 1
    return count


@compiled(allocates=True)
def _number_roots(parent: Any, is_solid: Any, triangle_labels: Any, sample_labels: Any) -> int:
    """Puts the number of its fragment beside each triangle and sample, and counts fragments."""
    n, count = len(triangle_labels), 0
    names = np.full(len(parent), -1)
    for i in range(len(parent)):
        label = -1
        if is_solid[i]:
            root = _root(parent, i)
            if names[root] < 0:
                names[root] = count
                count += 1
            label = names[root]
        if i < n:
            triangle_labels[i] = label
        else:
            sample_labels[i - n] = label
    return count


@compiled(allocates=True)
def label_cell(
    triangles: Any,
    corners: Any,
    centres: Any,
    in_front: Any,
    maps: Any,
    samples: Any,
    windings: Any,
    triangle_labels: Any,
    sample_labels: Any,
) -> int:
    """Number the fragments of material in one cell, and return their count.

    Inside points with a free line of sight belong together, and so do triangles that touch in the
    cell.

    Args:
        triangles: (n, 3, 3) corners.
        corners: (n, 3) numbers of their corners, equal where they share one.
        centres: (n, 3) a point of each in the cell.
        in_front: (n,) winding numbers.
        maps: (4, 4) of the cell.
        samples, windings: (S, 3) points in the cell and their winding numbers.
        triangle_labels, sample_labels: (n,), (S,) to be filled, -1 outside.
    """
    n, s = len(triangles), len(samples)
    points, numbers = np.empty((n + s, 3)), np.empty(n + s)
    solid, is_sheet = np.zeros(n + s, dtype=np.bool_), np.zeros(n, dtype=np.bool_)
    for k in range(n):
        behind = in_front[k] + 1.0
        sign = -1.0 if abs(behind) > INSIDE_WINDING_NUMBER else 1.0
        numbers[k] = behind if sign < 0.0 else in_front[k]
        is_sheet[k] = abs(numbers[k]) <= INSIDE_WINDING_NUMBER
        solid[k] = not is_sheet[k]
        if solid[k]:
            place_below(centres[k], triangles[k], triangles, k, maps, sign, points[k])
    for i in range(s):
        solid[n + i] = abs(windings[i]) > INSIDE_WINDING_NUMBER
        numbers[n + i] = windings[i]
        for axis in range(3):
            points[n + i, axis] = samples[i, axis]
    parent = np.arange(n + s)
    _link_neighbours(triangles, corners, is_sheet, maps, parent)
    _link_seen(points, numbers, solid, triangles, parent)
    for k in range(n):
        solid[k] = True
    return _number_roots(parent, solid, triangle_labels, sample_labels)


@compiled(allocates=True)
def label_cells(
    first: Any,
    triangles: Any,
    corners: Any,
    centres: Any,
    in_front: Any,
    maps: Any,
    samples: Any,
    windings: Any,
    labels: Any,
    sample_labels: Any,
    counts: Any,
) -> None:
    """``label_cell`` for each of C cells, whose triangles begin at ``first`` (C + 1,)."""
    for c in range(len(samples)):
        a, b = first[c], first[c + 1]
        counts[c] = label_cell(
            triangles[a:b],
            corners[a:b],
            centres[a:b],
            in_front[a:b],
            maps[c],
            samples[c],
            windings[c],
            labels[a:b],
            sample_labels[c],
        )


_TARGET_ALTITUDE_SQUARED = 0.42**2
_POWER = 4
_STIFFNESS = 60.0
_MAX_DISPLACEMENT_RATIO = 0.4  # of the shortest altitude around a vertex


@compiled()
def measure(positions: Any, tets: Any, targets: Any, normals: Any) -> float:
    """The energy of ``smooth``; infinite where a tet has no volume, or is turned inside out."""
    total = 0.0
    for e in range(len(tets)):
        volume, gradients = shape_gradients(positions, tets[e])
        if not volume > 0.0:
            return np.inf
        for gradient in gradients:
            total += (dot(gradient, gradient) * _TARGET_ALTITUDE_SQUARED) ** _POWER
    for v in range(len(positions)):
        away = _from_plane(positions, targets, normals, v)
        total += _STIFFNESS * away * away
    return total


@compiled()
def write_descent(
    positions: Any, tets: Any, targets: Any, normals: Any, limits: Any, diagonals: Any, out: Any
) -> None:
    """The Newton direction (N, 3), with the altitudes' Hessian reduced to a scalar a vertex. The
    steps of vertices that would cross a thin tet are shortened, so as not to hold up the rest.

    Args:
        limits, diagonals: (N,) of room for how far each vertex may go, and its second derivative.
    """
    limits[:], diagonals[:], out[:] = np.inf, 0.0, 0.0
    for e in range(len(tets)):
        _add_tet(positions, tets[e], limits, diagonals, out)
    for v in range(len(positions)):
        normal = vector_at(normals, v)
        away = _from_plane(positions, targets, normals, v)
        force = advanced(vector_at(out, v), -2.0 * _STIFFNESS * away, normal)
        # (d I + s n nᵀ)⁻¹, by Sherman and Morrison.
        stiffness = 2.0 * _STIFFNESS
        along = stiffness * dot(normal, force) / (diagonals[v] + stiffness * dot(normal, normal))
        direction = scaled(1.0 / diagonals[v], advanced(force, -along, normal))
        length = np.sqrt(dot(direction, direction))
        factor = min(1.0, limits[v] / max(length, 1e-300))
        out[v, 0], out[v, 1], out[v, 2] = scaled(factor, direction)


@compiled()
def _add_tet(positions: Any, corners: Any, limits: Any, diagonals: Any, forces: Any) -> None:
    """Moving corner b by dx changes the gradient g_a by -g_b (g_a · dx)."""
    _, gradients = shape_gradients(positions, corners)
    longest = 0.0
    for gradient in gradients:
        longest = max(longest, dot(gradient, gradient))
    limit = _MAX_DISPLACEMENT_RATIO / np.sqrt(longest)
    for b in range(4):
        force, second = (0.0, 0.0, 0.0), 0.0
        for a in range(4):
            product = dot(gradients[a], gradients[b])
            square = dot(gradients[a], gradients[a])
            first = _POWER * (square * _TARGET_ALTITUDE_SQUARED) ** (_POWER - 1)
            first *= _TARGET_ALTITUDE_SQUARED
            force = advanced(force, 2.0 * first * product, gradients[a])
            second += (4 * _POWER - 2) * first / square * product * product
        add_to(forces, corners[b], force)
        diagonals[corners[b]] += second
        limits[corners[b]] = min(limits[corners[b]], limit)


@compiled()
def _from_plane(positions: Any, targets: Any, normals: Any, v: int) -> float:
    offset = minus(vector_at(positions, v), vector_at(targets, v))
    return dot(offset, vector_at(normals, v))
