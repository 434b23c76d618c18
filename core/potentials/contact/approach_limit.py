# SPDX-License-Identifier: GPL-3.0-or-later
"""Limit the motion of surfaces against each other in one implicit step.

No search lets surfaces cross, but the end of a step is a minimum of energy. If bodies would end
beyond each other, that minimum may lie around the obstacle: a soft block flows past the one that
it should hit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from ...compiled import use_threads
from ...geometry.box_pairs import Boxes, pairs_among
from ...geometry.groups import components, grouped, runs
from ...geometry.rigid_motion import rigid_velocity
from ...kernels.approach import Parts, find_collisions, write_extremes, write_step_sizes
from ...linear_solvers.rigid_modes import bisect
from ...meshing.surface import samples
from .surface import CollisionSurface, Points, Values

# The largest approach of two surfaces in a step, relative to the thinner solid's thickness.
APPROACH_RATIO = 0.5
# The least thickness of a part, relative to that of its connected piece: an ear that bends around
# an obstacle pulls its body back.
LEAST_THICKNESS_RATIO = 0.5
# The most parts of each connected piece, and roughly of all surfaces.
MAX_PIECE_PARTS, MAX_PARTS = 32, 2048
# Fewer triangles, or pairs of parts, than this a thread cost more to hand out than to compute.
ELEMENTS_PER_THREAD, PARTS_PER_THREAD = 2000, 4
# There is room for so many collisions at first.
COLLISIONS = 1024

Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Approach:
    """The part of a motion that may be one step.

    Args:
        step_size: the part of the motion, at most 1.
        objects: the two objects that limit it; None without a limit.
    """

    step_size: float
    objects: tuple[int, int] | None = None


class PredictedMotion(NamedTuple):
    """A predicted motion in which objects may collide.

    Args:
        points, displacements: (V, 3) start positions and displacements, in metres.
        velocities: (V, 3) at its start and its end, in m/s, without gains.
        gains, falls: (V, 3) changes of velocities, in m/s, and displacements, in metres, by forces
            until objects collide.
        visible_speeds: (O,) the least closing speeds of visible rebounds, in m/s.
    """

    points: Points
    displacements: Points
    velocities: tuple[Points, ...]
    gains: Points
    falls: Points
    visible_speeds: Values


class SurfaceCollision(NamedTuple):
    """The first visible collision of surfaces.

    Args:
        fraction: the time of the collision as a part of the motion.
        objects: the two objects that collide.
        speed: the closing speed, in m/s.
    """

    fraction: float
    objects: tuple[int, int]
    speed: float


class _Motion(NamedTuple):
    """The motion of the parts of a surface.

    Args:
        parts: as compiled loops take them.
        boxes: (2, P, 2, 3) lower and upper corners of the box of each part, at the start and the
            end.
        ranges: (P, 2, 3) least and largest displacements along each axis.
    """

    parts: Parts
    boxes: Points
    ranges: Points


class ApproachLimit:
    """Limit the motion of one step from a prediction without contact.

    Surfaces are divided into parts. Two parts collide no sooner than their bounding boxes do. Only
    triangles with outsides that face the motion and each other approach; triangles that slide
    along each other do not. From the collision on, they may go on by half the thickness of the
    solid behind the thinner one. Surfaces without a solid behind them, such as open colliders,
    take the limit of the other surface.

    Args:
        surface: the collision surface.
        default_thickness: (O,) of objects in metres, for parts at which rays find none.
    """

    def __init__(self, surface: CollisionSurface, default_thickness: Values) -> None:
        self._surface = surface
        triangles = surface.triangles.astype(np.intp)
        piece_of = components(len(surface.rest), surface.edges)
        faces, self._order, offsets = _divided(surface, triangles, piece_of)
        self._elements, self._is_border = faces
        self._first = offsets[:-1]
        self._counts = np.diff(offsets)
        # The third corner of a border tells only the outward side.
        borders = self._elements[:, [0, 1, 1]]
        self._ends = np.where(self._is_border[:, None], borders, self._elements)
        self._vertices = self._ends[self._order].ravel()
        first_vertices = self._vertices[3 * self._first]
        self._piece, self._object = piece_of[first_vertices], surface.object_of[first_vertices]
        self._group = surface.group_of[first_vertices]
        #: Attached parts pass through the object that they are attached to.
        self._exempt = np.bitwise_and.reduce(surface.exempt[self._ends], axis=1)
        self._element_objects = surface.object_of[self._ends[:, 0]]
        self._can_meet = surface.group_collisions(surface.can_collide)
        self._self_collides = np.diag(self._can_meet)[self._group]
        self._thickness = self._thicknesses(piece_of, triangles, default_thickness)
        self._thinnest = float(self._thickness.min(initial=np.inf))
        self._neighbours = self._find_neighbours()
        self._piece_of, self._piece_count = piece_of, int(piece_of.max(initial=-1)) + 1
        self._moves_alone = np.isin(np.arange(self._piece_count), self._piece[self._self_collides])

    def approach(
        self, points: Points, displacements: Points, within_pieces: bool = False
    ) -> Approach:
        """Return the part of a motion that may be one step.

        Args:
            points: (V, 3) start positions, in metres.
            displacements: (V, 3) linear displacements, in metres.
            within_pieces: whether parts of one connected piece may collide, too.
        """
        if len(self._first) == 0:
            return Approach(1.0)
        common = displacements[self._vertices].mean(axis=0)
        relative = displacements - common
        if 2.0 * _longest(relative[self._vertices]) <= APPROACH_RATIO * self._thinnest:
            return Approach(1.0)
        limits = [self._limit(self._motion(points, relative), within_piece=False)]
        if within_pieces and self._moves_alone.any():
            deforming = self._deforming(points, displacements)
            if 2.0 * _longest(deforming) > APPROACH_RATIO * self._thinnest:
                limits.append(self._limit(self._motion(points, deforming), within_piece=True))
        return min(limits, key=lambda limit: limit.step_size)

    def first_collision(self, predicted: PredictedMotion) -> SurfaceCollision | None:
        """Return the first visible collision of different pieces; None without one."""
        if len(self._first) == 0:
            return None
        fractions, elements, key = self._collisions(predicted.points, predicted.displacements)
        if len(fractions) == 0:
            return None
        first = np.full(len(self._surface.names) ** 2, np.inf)
        np.minimum.at(first, key, fractions)
        at_first = np.flatnonzero(fractions <= first[key])
        first_seen = self._first_visible(
            predicted, elements[:, at_first], fractions[at_first], fractions[at_first]
        )
        # Pieces that have collided without a visible rebound no longer gain speed.
        held = predicted.displacements - predicted.falls
        fractions, elements, key = self._collisions(predicted.points, held)
        later = np.flatnonzero((fractions > first[key]) & (first[key] < np.inf))
        more = self._first_visible(
            predicted, elements[:, later], fractions[later], first[key[later]]
        )
        collisions = [one for one in (first_seen, more) if one is not None]
        return min(collisions, key=lambda one: one.fraction, default=None)

    def _collisions(self, points: Points, displacements: Points) -> tuple[Values, Indices, Indices]:
        """Return (K,) fractions of a motion at which elements of different pieces collide, the (2,
        K) elements, and the (K,) indices of their pairs of objects."""
        common = displacements[self._vertices].mean(axis=0)
        motion = self._motion(points, displacements - common)
        low, high = motion.boxes[:, :, 0].min(axis=0), motion.boxes[:, :, 1].max(axis=0)
        collisions = [(np.empty(0), np.empty((2, 0), dtype=np.intp))]
        for one, other in pairs_among(Boxes(low, high)):
            one, other = self._collidable_pairs(one, other, within_piece=False)
            meeting, parting = self._contact_times(motion, one, other)
            may = meeting <= parting
            collisions.append(_element_collisions(motion.parts, one[may], other[may], meeting[may]))
        fractions = np.concatenate([part[0] for part in collisions])
        elements = np.concatenate([part[1] for part in collisions], axis=1)
        objects = self._element_objects[elements]
        count = len(self._surface.names)
        return fractions, elements, objects.min(axis=0) * count + objects.max(axis=0)

    def _first_visible(
        self, predicted: PredictedMotion, elements: Indices, fractions: Values, until: Values
    ) -> SurfaceCollision | None:
        """Return the first visible collision of these elements; None without one."""
        objects = self._element_objects[elements]
        speeds = self._closing_speeds(predicted, elements, fractions, until)
        seen = np.flatnonzero(speeds > predicted.visible_speeds[objects].max(axis=0))
        if len(seen) == 0:
            return None
        which = seen[fractions[seen].argmin()]
        pair = int(objects[0, which]), int(objects[1, which])
        return SurfaceCollision(float(fractions[which]), pair, float(speeds[which]))

    def _closing_speeds(
        self, predicted: PredictedMotion, elements: Indices, fractions: Values, until: Values
    ) -> Values:
        """Return the (K,) closing speeds of (2, K) elements when they meet, in m/s, against the
        lesser normal.

        Args:
            fractions: (K,) of the motion at which they collide.
            until: (K,) fractions of the motion until which they gain speed.
        """
        start, end, velocity_gains = (
            np.subtract(*(at[self._ends[element]].mean(axis=1) for element in elements))
            for at in (*predicted.velocities, predicted.gains)
        )
        relative = start + fractions[:, None] * (end - start) + until[:, None] * velocity_gains
        speeds = [
            sign * np.einsum("ki,ki->k", self._normals(predicted.points, element), relative)
            for sign, element in zip((1.0, -1.0), elements, strict=True)
        ]
        closing: Values = np.minimum(*speeds)
        return closing

    # Parts

    def _thicknesses(self, piece_of: Indices, triangles: Indices, default: Values) -> Values:
        """Return the (P,) thickness of the solid behind each part; infinite behind a sheet."""
        out = np.full(len(self._first), np.inf)
        surface, part_of = self._surface, np.empty(len(self._elements), dtype=np.intp)
        part_of[self._order] = np.repeat(np.arange(len(out)), self._counts)
        order, offsets = grouped(self._piece, int(piece_of.max(initial=-1)) + 1)
        for piece, parts in enumerate(np.split(order, offsets[1:-1])):
            members = np.flatnonzero(piece_of[triangles[:, 0]] == piece)
            if len(members) == 0:
                continue
            thickness, area, at = samples(surface.rest, triangles[members])
            whole = _median(thickness, area, default[surface.object_of[triangles[members[0], 0]]])
            for part in parts:
                chosen = part_of[members[at]] == part
                local = _median(thickness[chosen], area[chosen], whole)
                out[part] = max(local, LEAST_THICKNESS_RATIO * whole)
        return out

    def _find_neighbours(self) -> NDArray[np.int64]:
        """Return the sorted keys of the pairs of parts that share vertices."""
        part = np.repeat(np.arange(len(self._first)), 3 * self._counts)
        pairs = np.unique(np.stack([self._vertices, part], axis=1), axis=0)
        counts = np.bincount(pairs[:, 0])
        keys = [np.empty(0, dtype=np.int64)]
        starts = np.concatenate([[0], np.cumsum(counts)])
        for ahead in range(1, int(counts.max(initial=0))):
            # The rows of a vertex follow each other, in the order of its parts.
            first = np.arange(len(pairs) - ahead)
            same = first[first + ahead < starts[pairs[first, 0] + 1]]
            keys.append(self._key(pairs[same, 1], pairs[same + ahead, 1]))
        return np.unique(np.concatenate(keys))

    def _key(self, one: Indices, other: Indices) -> NDArray[np.int64]:
        key: NDArray[np.int64] = np.minimum(one, other) * len(self._first) + np.maximum(one, other)
        return key

    # Motion

    def _motion(self, points: Points, displacements: Points) -> _Motion:
        before, moved = points[self._vertices], displacements[self._vertices]
        starts = 3 * self._first
        low, high = np.minimum.reduceat, np.maximum.reduceat
        boxes = np.stack(
            [
                np.stack([low(at, starts), high(at, starts)], axis=1)
                for at in (before, before + moved)
            ]
        )
        ranges = np.stack([low(moved, starts), high(moved, starts)], axis=1)
        normals = self._normals(points, slice(None))
        extremes = np.empty_like(normals)
        use_threads(len(normals), ELEMENTS_PER_THREAD)
        write_extremes(points, displacements, self._ends, normals, extremes)
        elements = self._ends, normals, extremes, self._element_objects
        exempt = self._exempt, self._surface.exempt_bits
        order = self._order, self._first, self._counts
        return _Motion(Parts(points, displacements, *order, *elements, *exempt), boxes, ranges)

    def _deforming(self, points: Points, displacements: Points) -> Points:
        """Return (V, 3) displacements without the rigid motion of each piece that can collide with
        itself; zero elsewhere."""
        out = np.zeros_like(displacements)
        for piece in np.flatnonzero(self._moves_alone):
            members = np.flatnonzero(self._piece_of == piece)
            positions, moved = (
                torch.from_numpy(part[members].T) for part in (points, displacements)
            )
            rigid = rigid_velocity(torch.ones_like(moved[0]), positions, moved).at(positions)
            out[members] = (moved - rigid).T.numpy()
        return out

    def _limit(self, motion: _Motion, within_piece: bool) -> Approach:
        """Return the part of a motion that may be one step, for parts of one piece or of
        different ones.
        """
        low = motion.boxes[:, :, 0].min(axis=0)
        high = motion.boxes[:, :, 1].max(axis=0)
        limit = Approach(1.0)
        for one, other in pairs_among(Boxes(low, high)):
            one, other = self._collidable_pairs(one, other, within_piece)
            allowed = APPROACH_RATIO * np.minimum(self._thickness[one], self._thickness[other])
            speed = self._relative_range(motion, one, other)
            fast = speed > allowed
            one, other, allowed, speed = one[fast], other[fast], allowed[fast], speed[fast]
            meeting, parting = self._contact_times(motion, one, other)
            may = (meeting <= parting) & ((1.0 - meeting) * speed > allowed)
            one, other, allowed, meeting = one[may], other[may], allowed[may], meeting[may]
            if len(one) == 0:
                continue
            sizes = np.empty(len(one))
            use_threads(len(one), PARTS_PER_THREAD)
            write_step_sizes(motion.parts, one, other, allowed, meeting, sizes)
            least = int(sizes.argmin())
            if sizes[least] < limit.step_size:
                objects = int(self._object[one[least]]), int(self._object[other[least]])
                limit = Approach(float(sizes[least]), objects)
        return limit

    def _collidable_pairs(
        self, one: Indices, other: Indices, within_piece: bool
    ) -> tuple[Indices, Indices]:
        is_same = self._piece[one] == self._piece[other]
        chosen = self._can_meet[self._group[one], self._group[other]] & (is_same == within_piece)
        one, other = one[chosen], other[chosen]
        if within_piece and len(one):
            apart = ~np.isin(self._key(one, other), self._neighbours)
            one, other = one[apart], other[apart]
        return one, other

    @staticmethod
    def _relative_range(motion: _Motion, one: Indices, other: Indices) -> Values:
        """Return the (K,) largest relative displacements of two parts, in metres."""
        a, b = motion.ranges[one], motion.ranges[other]
        widest = np.maximum(np.abs(a[:, 1] - b[:, 0]), np.abs(a[:, 0] - b[:, 1]))
        lengths: Values = np.linalg.norm(widest, axis=1)
        return lengths

    @staticmethod
    def _contact_times(motion: _Motion, one: Indices, other: Indices) -> tuple[Values, Values]:
        """Return the (K,) fractions of the motion between which the boxes of two parts overlap."""
        a, b = motion.boxes[:, one], motion.boxes[:, other]
        gaps = np.concatenate([a[:, :, 0] - b[:, :, 1], b[:, :, 0] - a[:, :, 1]], axis=2)
        return _overlap(gaps[0], gaps[1])

    def _normals(self, points: Points, elements: Indices | slice) -> Points:
        """Return (E, 3) unit normals; for borders, in the plane of the triangle and outwards; zero
        without an area."""
        a, b, c = (points[self._elements[elements, k]] for k in range(3))
        normals = np.cross(b - a, c - a)
        borders = self._is_border[elements]
        normals[borders] = np.cross(b[borders] - a[borders], normals[borders])
        lengths = np.linalg.norm(normals, axis=1, keepdims=True)
        unit: Points = np.divide(normals, lengths, out=np.zeros_like(normals), where=lengths > 0.0)
        return unit


def _element_collisions(
    parts: Parts, one: Indices, other: Indices, meeting: Values
) -> tuple[Values, Indices]:
    """Return the (C,) fractions of a motion at which elements of two parts collide, and the (2, C)
    elements."""
    room = COLLISIONS
    while True:
        fractions, elements = np.empty(room), np.empty((2, room), dtype=np.intp)
        count = find_collisions(parts, one, other, meeting, fractions, elements)
        if count <= room:
            return fractions[:count], elements[:, :count]
        room = count


def _divided(
    surface: CollisionSurface, triangles: Indices, piece_of: Indices
) -> tuple[tuple[Indices, Mask], Indices, Indices]:
    """Return the elements of a surface with a mask of borders, their order by parts, and the (P +
    1,) offsets of parts. Elements are (E, 3) triangles, then border edges of open pieces with
    their opposite corner, then the triangles of open pieces with reversed orientation."""
    edges = np.sort(np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2), axis=2)
    _, numbers, counts = np.unique(
        edges.reshape(-1, 2), axis=0, return_inverse=True, return_counts=True
    )
    face, side = np.nonzero(counts[numbers.reshape(-1)].reshape(-1, 3) == 1)
    borders = np.stack([triangles[face, (side + k) % 3] for k in range(3)], axis=1)
    is_open = np.isin(piece_of[triangles[:, 0]], piece_of[borders[:, 0]])
    elements = np.concatenate([triangles, borders, triangles[is_open][:, ::-1]])
    kinds = np.repeat([0, 1, 2], [len(triangles), len(borders), np.count_nonzero(is_open)])
    _, number = np.unique(
        np.stack([piece_of[elements[:, 0]], kinds], axis=1), axis=0, return_inverse=True
    )
    order, starts = runs(number.ravel())
    pieces = np.split(order, starts[1:-1]) if len(order) else []
    most = max(1, min(MAX_PIECE_PARTS, MAX_PARTS // max(1, len(pieces))))
    centres = surface.rest[elements].mean(axis=1)
    parts = [
        part for piece in pieces for part in bisect(centres, piece, max(1, -(-len(piece) // most)))
    ]
    offsets = np.cumsum([0, *(len(part) for part in parts)])
    return (elements, kinds == 1), np.concatenate([np.empty(0, np.intp), *parts]), offsets


def _median(values: Values, weights: Values, default: float) -> float:
    """Return the weighted median; the default without values."""
    if len(values) == 0:
        return default
    order = np.argsort(values, kind="stable")
    sums = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(sums, 0.5 * sums[-1])])


def _longest(vectors: Points) -> float:
    return float(np.sqrt(np.einsum("vi,vi->v", vectors, vectors).max(initial=0.0)))


def _overlap(before: Values, after: Values) -> tuple[Values, Values]:
    """Return the (K,) fractions of a motion between which all (K, A) gaps are at most zero. Gaps
    change linearly from ``before`` to ``after``; the first fraction is above the second if they
    are never all at most zero."""
    change = after - before
    with np.errstate(divide="ignore", invalid="ignore"):
        zero = -before / change
    never = np.where(before > 0.0, np.inf, -np.inf)
    enter = np.where(change < 0.0, zero, np.where(change > 0.0, 0.0, never))
    leave = np.where(change > 0.0, zero, np.where(change < 0.0, 1.0, -never))
    return np.maximum(enter.max(axis=1), 0.0), np.minimum(leave.min(axis=1), 1.0)
