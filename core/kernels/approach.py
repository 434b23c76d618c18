# SPDX-License-Identifier: GPL-3.0-or-later
"""Pairs of triangles that move towards each other with their outsides."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..compiled import as_index, compiled, shared_range
from ..math3.vectors import dot, vector_at


class Parts(NamedTuple):
    """Parts of surfaces that move in straight lines, and their elements.

    Args:
        points, displacements: (V, 3) of vertices, in metres.
        order: (E,) elements, those of one part after those of another.
        first, counts: (P,) where those of each part begin, and how many there are.
        ends: (E, 3) vertices of elements.
        normals: (E, 3) outward unit normals; zero without an area.
        extremes: (E, 3) the least and the largest height of the own vertices along the normal, and
            their largest displacement, in metres.
        objects: (E,) the object of each element.
        exempt: (E,) bits of the objects that an attached element passes through.
        exempt_bits: (O, O) the bits of every two objects.
    """

    points: Any
    displacements: Any
    order: Any
    first: Any
    counts: Any
    ends: Any
    normals: Any
    extremes: Any
    objects: Any
    exempt: Any
    exempt_bits: Any


@compiled(parallel=True)
def write_extremes(points: Any, displacements: Any, ends: Any, normals: Any, out: Any) -> None:
    """Write the ``extremes`` of ``Parts``."""
    for index in shared_range(len(ends)):
        e = as_index(index)
        least, largest, _, move = _range_along(points, displacements, ends, e, normals, e)
        out[e, 0], out[e, 1], out[e, 2] = least, largest, move


@compiled(inline=True)
def _range_along(
    points: Any, displacements: Any, ends: Any, element: int, normals: Any, other: int
) -> Any:
    """Return the least and the largest height of an element's vertices along the normal of
    another, and the least and the largest of their displacements."""
    normal = vector_at(normals, other)
    least, most, slowest, fastest = math.inf, -math.inf, math.inf, -math.inf
    for corner in range(3):
        v = ends[element, corner]
        height = dot(normal, vector_at(points, v))
        move = dot(normal, vector_at(displacements, v))
        least, most = min(least, height), max(most, height)
        slowest, fastest = min(slowest, move), max(fastest, move)
    return least, most, slowest, fastest


@compiled(inline=True)
def _towards(parts: Any, element: int, other: int) -> Any:
    """Return by how much an element approaches another that lies ahead along its normal, in
    metres, and the part of the motion after which it may be there; 0 where none is ahead."""
    least, most, slowest, _ = _range_along(
        parts.points, parts.displacements, parts.ends, other, parts.normals, element
    )
    if not most > parts.extremes[element, 0]:
        return 0.0, 0.0
    towards = max(parts.extremes[element, 2] - slowest, 0.0)
    gap = max(least - parts.extremes[element, 1], 0.0)
    return towards, gap / towards if towards > 0.0 else math.inf


@compiled()
def _collision(parts: Any, one: int, other: int, meeting: float) -> Any:
    """Return by how much two elements approach with both outsides, in metres, and the fraction of
    the motion at which they collide; 0 and infinity where they do not.

    Args:
        meeting: the fraction before which they do not.
    """
    never = (0.0, math.inf)
    if not dot(vector_at(parts.normals, one), vector_at(parts.normals, other)) < 0.0:
        return never
    bits = parts.exempt_bits[parts.objects[one], parts.objects[other]]
    if (parts.exempt[one] | parts.exempt[other]) & bits != 0:
        return never
    closing, fraction = _towards(parts, one, other)
    meeting = max(meeting, fraction)
    if not (closing > 0.0 and meeting < 1.0):
        return never
    towards, fraction = _towards(parts, other, one)
    closing, meeting = min(closing, towards), max(meeting, fraction)
    if not (closing > 0.0 and meeting < 1.0):
        return never
    return closing, meeting


@compiled()
def find_collisions(
    parts: Any, one: Any, other: Any, meeting: Any, fractions: Any, elements: Any
) -> int:
    """Write the collisions of elements in (K,) pairs of parts, as many as there is room for; how
    many there are.

    Args:
        meeting: (K,) fractions of the motion before which the parts do not collide.
        fractions: (C,) of the motion, of each collision.
        elements: (2, C) that collide.
    """
    count = 0
    for k in range(len(one)):
        a, b = one[k], other[k]
        for i in range(parts.first[a], parts.first[a] + parts.counts[a]):
            for j in range(parts.first[b], parts.first[b] + parts.counts[b]):
                first, second = parts.order[i], parts.order[j]
                closing, fraction = _collision(parts, first, second, meeting[k])
                if closing > 0.0:
                    if count < len(fractions):
                        fractions[count] = fraction
                        elements[0, count], elements[1, count] = first, second
                    count += 1
    return count


@compiled(parallel=True)
def write_step_sizes(
    parts: Any, one: Any, other: Any, allowed: Any, meeting: Any, out: Any
) -> None:
    """Write the (K,) parts of the motion that pairs of parts allow; infinity for all of it.

    Args:
        allowed: (K,) the largest approach after a collision, in metres.
        meeting: (K,) fractions of the motion before which the parts do not collide.
    """
    for index in shared_range(len(one)):
        k = as_index(index)
        a, b = one[k], other[k]
        least = math.inf
        for i in range(parts.first[a], parts.first[a] + parts.counts[a]):
            for j in range(parts.first[b], parts.first[b] + parts.counts[b]):
                first, second = parts.order[i], parts.order[j]
                closing, fraction = _collision(parts, first, second, meeting[k])
                if (1.0 - fraction) * closing > allowed[k]:
                    least = min(least, fraction + allowed[k] / closing)
        out[k] = least
