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

from supple.core.compiled import compiled, shared_range
from supple.core.geometry.box_pairs import Boxes, pairs_among, pairs_between
from supple.core.kernels.continuous_collision import distance_lower_bound
from supple.core.kernels.vectors import minus, vector_at, weighted
from supple.core.potentials.contact import accepted_moves
from supple.core.potentials.contact.surface import CollisionSurface

Points = NDArray[np.float64]
Indices = NDArray[np.intp]

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
        """
        Raises:
            MeetingPairsError: a pair of a vertex and a face, or of two edges, meets.
        """
        self.moves += 1
        for corners, are_edges in _near_pairs(surface, before, after):
            self.pairs += len(corners)
            meets = np.empty(len(corners), dtype=np.bool_)
            follow(corners, are_edges, before, after, meets)
            if meets.any():
                raise MeetingPairsError(_message(surface, corners[meets], are_edges))


@contextmanager
def checked_moves() -> Iterator[MoveCheck]:
    """Fails on the first accepted move on which surfaces go through each other."""
    check = MoveCheck()
    with accepted_moves.observed_by(check):
        yield check


def _near_pairs(
    surface: CollisionSurface, before: Points, after: Points
) -> Iterator[tuple[Indices, bool]]:
    """(P, 4) corners of the pairs that may collide and whose swept boxes overlap, and whether they
    are edges: two of the first edge and two of the second, or a vertex and three of a face."""
    may = surface.by_groups(surface.can_collide)
    edges, faces = surface.edges.astype(np.intp), surface.triangles.astype(np.intp)
    used = np.unique(faces)
    ends = np.stack([before, after])

    def swept(parts: Indices) -> Boxes:
        return Boxes.around(ends[:, parts].transpose(1, 0, 2, 3).reshape(len(parts), -1, 3))

    chunks = pairs_between(swept(used[:, None]), swept(faces))
    of_faces = [np.column_stack([used[vertex], faces[face]]) for vertex, face in chunks]
    chunks = pairs_among(swept(edges))
    of_edges = [np.column_stack([edges[one], edges[other]]) for one, other in chunks]
    for corners, are_edges in ((of_faces, False), (of_edges, True)):
        for chunk in corners:
            first, second = (
                (chunk[:, :2], chunk[:, 2:]) if are_edges else (chunk[:, :1], chunk[:, 1:])
            )
            collide = may[surface.group_of[chunk[:, 0]], surface.group_of[chunk[:, 3]]]
            share = (first[:, :, None] == second[:, None]).any(axis=(1, 2))
            yield chunk[collide & ~share], are_edges


@compiled(parallel=True)
def follow(corners: Any, are_edges: bool, before: Any, after: Any, out: Any) -> None:
    """(P,) whether pairs of (P, 4) corners meet as (V, 3) points go straight."""
    for k in shared_range(len(out)):
        a, b, c, d = corners[k, 0], corners[k, 1], corners[k, 2], corners[k, 3]
        # About the first corner, whose motion brings nothing closer.
        origin, end = vector_at(before, a), vector_at(after, a)
        start = (
            (0.0, 0.0, 0.0),
            minus(vector_at(before, b), origin),
            minus(vector_at(before, c), origin),
            minus(vector_at(before, d), origin),
        )
        stop = (
            (0.0, 0.0, 0.0),
            minus(vector_at(after, b), end),
            minus(vector_at(after, c), end),
            minus(vector_at(after, d), end),
        )
        out[k] = _meet(start, stop, are_edges)


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


def _message(surface: CollisionSurface, corners: Indices, are_edges: bool) -> str:
    first, last = surface.object_of[corners[0, [0, 3]]]
    kind = "pairs of edges" if are_edges else "pairs of a vertex and a face"
    return (
        f"{len(corners)} {kind} meet on an accepted move, the first of {surface.names[first]!r} "
        f"and {surface.names[last]!r}: vertices {corners[0].tolist()}."
    )
