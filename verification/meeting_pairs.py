# SPDX-License-Identifier: GPL-3.0-or-later
"""A check of every move that a step accepts, by a search of its own: no pair meets on the way.

It knows nothing of the solver's candidates. All pairs of a vertex and a face or of two edges that
may collide and whose swept boxes overlap are followed along their straight moves.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.core.compiled import compiled
from supple.core.kernels.continuous_collision import distance_lower_bound
from supple.core.math3.vectors import NOTHING, minus, vector_at, weighted
from supple.core.potentials.contact import accepted_moves
from supple.core.potentials.contact.surface import CollisionSurface

Points = NDArray[np.float64]
Indices = NDArray[np.intp]

# The parts of a surface, by their number of corners. The two of a pair have four together.
VERTEX, EDGE, FACE = 1, 2, 3
# A pair that is not known to be apart on so small a part of its move meets there.
MAX_HALVINGS, MAX_PARTS = 44, 100_000


class MeetingPairsError(AssertionError):
    """Surfaces went through each other on a move that a step accepted."""


@dataclass
class MoveCheck:
    """Refuses moves on which pairs meet.

    Args:
        moves: how many it has looked at.
        pairs: how many pairs it has followed.
    """

    moves: int = 0
    pairs: int = 0

    def __call__(self, surface: CollisionSurface, before: Points, after: Points) -> None:
        """Check a move for meeting pairs.

        Raises:
            MeetingPairsError: a pair of a vertex and a face, or of two edges, meets.
        """
        self.moves += 1
        parts, kinds = _parts(surface)
        corners = np.stack([before[parts], after[parts]]).transpose(1, 0, 2, 3)
        corners = corners.reshape(len(parts), -1, 3)
        low, high = corners.min(axis=1), corners.max(axis=1)
        order = np.argsort(low[:, 0], kind="stable")
        may_collide = surface.group_collisions(surface.can_collide)
        followed, meeting, first, second = follow_pairs(
            *(order, parts, kinds, low, high, surface.group_of, may_collide),
            np.bitwise_and.reduce(surface.exempt[parts], axis=1),
            np.tile(surface.exempt_bits, (2, 2)),
            *(np.ascontiguousarray(before), np.ascontiguousarray(after)),
        )
        self.pairs += followed
        if meeting:
            raise MeetingPairsError(_message(surface, meeting, parts[first], parts[second]))


@contextmanager
def checked_moves() -> Iterator[MoveCheck]:
    """Fails on the first accepted move on which surfaces go through each other."""
    check = MoveCheck()
    with accepted_moves.observed_by(check):
        yield check


def _parts(surface: CollisionSurface) -> tuple[Indices, Indices]:
    """(P, 3) corners of all vertices, edges and faces, the last one repeated where there are
    fewer, and (P,) their number of corners."""
    edges, faces = surface.edges.astype(np.intp), surface.triangles.astype(np.intp)
    vertices = np.unique(faces)
    parts = (
        np.repeat(vertices[:, None], 3, axis=1),
        np.column_stack([edges, edges[:, 1]]),
        faces,
    )
    kinds = np.repeat([VERTEX, EDGE, FACE], [len(each) for each in parts])
    return np.concatenate(parts), kinds


@compiled()
def follow_pairs(
    order: Any,
    parts: Any,
    kinds: Any,
    low: Any,
    high: Any,
    group_of: Any,
    may_collide: Any,
    exempt: Any,
    exempt_bits: Any,
    before: Any,
    after: Any,
) -> Any:
    """The number of pairs whose boxes overlap and which may collide, how many of them meet as
    (V, 3) points go straight, and the first of those.

    Args:
        order: (P,) parts by the lowest x of their swept boxes, along which they are gone through.
        parts, kinds: (P, 3) corners and (P,) the number of them.
        low, high: (P, 3) of the swept boxes.
        group_of, may_collide: (V,) groups of vertices, and (G, G) whether two may collide.
        exempt, exempt_bits: (P,) bits of parts, and (G, G) those of two groups with which a part
            goes through the other group, since it is attached to that.
    """
    followed, meeting, first, second = 0, 0, -1, -1
    for place in range(len(order)):
        one = order[place]
        for next_place in range(place + 1, len(order)):
            other = order[next_place]
            if low[other, 0] > high[one, 0]:
                break
            if kinds[one] + kinds[other] != 4 or not _may_touch(one, other, low, high):
                continue
            group, other_group = group_of[parts[one, 0]], group_of[parts[other, 0]]
            if not may_collide[group, other_group]:
                continue
            if (exempt[one] | exempt[other]) & exempt_bits[group, other_group]:
                continue
            if _share_corner(parts, one, other):
                continue
            followed += 1
            if _meets(parts, kinds, one, other, before, after):
                meeting += 1
                first, second = one, other
    return followed, meeting, first, second


@compiled()
def _may_touch(one: int, other: int, low: Any, high: Any) -> bool:
    """Whether the swept boxes of two parts overlap across the axis of the sweep."""
    for axis in (1, 2):
        if low[one, axis] > high[other, axis] or low[other, axis] > high[one, axis]:
            return False
    return True


@compiled()
def _share_corner(parts: Any, one: int, other: int) -> bool:
    for i in range(3):
        for j in range(3):
            if parts[one, i] == parts[other, j]:
                return True
    return False


@compiled()
def _meets(parts: Any, kinds: Any, one: int, other: int, before: Any, after: Any) -> bool:
    """Whether two edges, or a vertex and a face, meet."""
    if kinds[one] == FACE:
        one, other = other, one
    are_edges = kinds[one] == EDGE
    a, d = parts[one, 0], parts[other, 1 if are_edges else 2]
    b = parts[one, 1] if are_edges else parts[other, 0]
    c = parts[other, 0] if are_edges else parts[other, 1]
    # About the first corner, whose motion brings nothing closer.
    origin, end = vector_at(before, a), vector_at(after, a)
    start = (
        NOTHING,
        minus(vector_at(before, b), origin),
        minus(vector_at(before, c), origin),
        minus(vector_at(before, d), origin),
    )
    stop = (
        NOTHING,
        minus(vector_at(after, b), end),
        minus(vector_at(after, c), end),
        minus(vector_at(after, d), end),
    )
    return _meet(start, stop, are_edges)


@compiled()
def _meet(start: Any, stop: Any, are_edges: bool) -> bool:
    """Whether a pair comes together, by halving its move until each part is known to be free."""
    part, halvings = 0, 0
    for _ in range(MAX_PARTS):
        width = 0.5**halvings
        since, until = part * width, (part + 1) * width
        bound = distance_lower_bound(_at(start, stop, since), _at(start, stop, until), are_edges)
        if bound > 0.0:
            part += 1
            while part % 2 == 0 and halvings > 0:
                part //= 2
                halvings -= 1
            if halvings == 0:
                return False
        elif halvings == MAX_HALVINGS:
            return True
        else:
            part, halvings = 2 * part, halvings + 1
    return True


@compiled()
def _at(start: Any, stop: Any, time: float) -> Any:
    """The four corners at a time from 0 to 1."""
    left = 1.0 - time
    return (
        weighted(left, start[0], time, stop[0]),
        weighted(left, start[1], time, stop[1]),
        weighted(left, start[2], time, stop[2]),
        weighted(left, start[3], time, stop[3]),
    )


def _message(surface: CollisionSurface, count: int, first: Indices, second: Indices) -> str:
    names = [surface.names[surface.object_of[part[0]]] for part in (first, second)]
    corners = [sorted(set(part.tolist())) for part in (first, second)]
    return (
        f"{count} pairs meet on an accepted move, one of them vertices {corners[0]} of "
        f"{names[0]!r} and {corners[1]} of {names[1]!r}."
    )
