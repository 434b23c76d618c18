# SPDX-License-Identifier: GPL-3.0-or-later
"""Estimate the sag of a body by its weight, free and from its pins, and the viscosity of new
bodies.

A block of height H that stands on its face carries ρ g (H − z) at height z, strains by that over
E, and is lower by ρ g H² / 2E in all, and by P H / AE more under a load P. A column taller than
its width buckles long before it is pressed together: it stands while H³ < 7.837 E I / ρ g A
(Greenhill, "Determination of the Greatest Height Consistent with Stability that a Vertical Pole or
Mast Can Be Made", 1881), I / A being w² / 12 across its smaller side w. A load on top counts as
more of the same column. Flat bodies bend rather than sag, so a quarter of their length counts as
height.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SceneError
from ..geometry.groups import expand
from ..meshing.surface import is_closed
from ..scene import checks

#: The sag of a body without a chosen stiffness, relative to its height.
DEFAULT_SAG = 0.1
#: In m/s².
EARTH = (0.0, 0.0, -9.81)

_GREENHILL = 7.837 / 12.0  # of a rectangular column: H³ / w² in units of E / ρ g
_SAFETY_FACTOR = 2.0  # stiffness, in units of that at which a column buckles
_MAX_SLENDERNESS = 5.0  # height over width; more slender columns may buckle
_FLAT_RATIO = 0.25  # height, in units of the length, below which a body counts as flat
_DIRECTIONS = 60  # in which the width is looked for


def default_young(
    points: ArrayLike,
    density: float = 1000.0,
    gravity: Sequence[float] = EARTH,
    sag: float = DEFAULT_SAG,
    load: Load | None = None,
) -> float:
    """Return Young's modulus in Pa with which a body sags by about ``sag`` of its height, and
    stands.

    Args:
        points: (V, 3) in metres, of its surface or of a box around it.
        density: in kg/m³.
        gravity: (3,) in m/s²; where there is none, the Earth's counts.
        sag: share of the height.
        load: the load on the body, which has to carry it without buckling.

    Raises:
        SceneError: without extent, where a point or gravity is not finite, or density or sag are
            not above zero.
    """
    checks.above_zero(density, "The density in kg/m³")
    checks.above_zero(sag, "The sag, as a share of the height,")
    acceleration = checks.vector(gravity, "Gravity in m/s²")
    places = checks.positions(points, "the body whose stiffness is sought")
    size = _Size.of(places, acceleration if any(acceleration) else EARTH, load or Load())
    if not size.stress > 0.0:
        raise SceneError("All points are at one place, so no stiffness suits their size.")
    return max(size.squeeze(density) / sag, _SAFETY_FACTOR * size.buckling_young(density))


def estimated_sag(
    points: ArrayLike,
    young: float,
    density: float = 1000.0,
    gravity: Sequence[float] = EARTH,
    load: Load | None = None,
) -> float:
    """Share of its height by which a body sags; infinite where it buckles.

    Args:
        points: (V, 3) in metres, of its surface or of a box around it.
        young: Young's modulus in Pa.
        density: in kg/m³.
        gravity: (3,) in m/s².
        load: the load on the body.
    """
    size = _Size.of(points, gravity, load or Load())
    if young <= max(size.buckling_young(density), 0.0):
        return math.inf
    return size.squeeze(density) / young


@dataclass(frozen=True)
class Load:
    """Bodies that stand on another one.

    Args:
        mass: in kg.
        height: in metres, above the top of the one below.
    """

    mass: float = 0.0
    height: float = 0.0


@dataclass(frozen=True)
class _Size:
    """The measures of a body's extent that determine how its weight deforms it.

    Args:
        stress: at its foot, over the density: gravity times height, in m²/s².
        slenderness: height, with that of its load, over the smaller width.
        pressure: of its load, in Pa.
    """

    stress: float
    slenderness: float
    pressure: float = 0.0

    def squeeze(self, density: float) -> float:
        """The mean stress along gravity, in Pa."""
        return 0.5 * density * self.stress + self.pressure

    def buckling_young(self, density: float) -> float:
        """Young's modulus in Pa at which it buckles, with its load as one column."""
        return (density * self.stress + self.pressure) * self.slenderness**2 / _GREENHILL

    @staticmethod
    def of(points: ArrayLike, gravity: Sequence[float], load: Load) -> _Size:
        places, acceleration = (
            np.asarray(points, dtype=np.float64),
            np.asarray(gravity, dtype=np.float64),
        )
        strength = float(np.linalg.norm(acceleration))
        if len(places) == 0 or strength == 0.0:
            return _Size(0.0, 0.0)
        # Two columns of a rotation whose first is along gravity.
        frame, _ = np.linalg.qr(np.column_stack([acceleration, np.eye(3)]))
        height = float(np.ptp(places @ frame[:, 0]))
        widths = _widths(places @ frame[:, 1:3])
        column = height + load.height
        slenderness = column / max(float(widths.min()), column / _MAX_SLENDERNESS, 1e-300)
        length = max(height, float(widths.max()))
        # The smallest rectangle around it.
        area = float((widths * np.roll(widths, _DIRECTIONS // 2)).min())
        pressure = load.mass * strength / area if area > 0.0 else 0.0
        return _Size(strength * max(height, _FLAT_RATIO * length), slenderness, pressure)


def _widths(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the widths of points (V, 2) in directions over half a turn."""
    turns = np.linspace(0.0, math.pi, _DIRECTIONS, endpoint=False)
    return np.ptp(points @ [np.cos(turns), np.sin(turns)], axis=0)


FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]
Flags = NDArray[np.bool_]

#: Largest displacement, as a share of the largest distance to a pinned point, with which a pinned
#: body bends visibly and keeps its look.
DEFAULT_BEND = 0.15

_MAX_BOXES = 500  # of the grid
_MAX_ACROSS = 8  # boxes along the two shorter sides, which the solve takes to the third power
_RAYS = 3  # a box and direction: the share of a box that is filled is measured by their points
_MIN_FILLED = 0.02  # filled part of a box; emptier boxes are left out
_FILLED_POWER = 2.0  # stiffness of a partly filled box, as a power of its filled share
_MAX_POISSON = 0.45  # nearly incompressible bodies bend as this does
# Deflection under sideways gravity over the free length, at twice the stiffness at which a column
# buckles: Greenhill's column would have 7.837 / 8 of its length at that stiffness.
_STANDING_BEND = 0.5 * 7.837 / 8.0


@dataclass(frozen=True)
class PinnedSag:
    """The sag of a pinned body at any stiffness, and the stiffness at which it stands.

    Args:
        compliance: ρ g times the largest displacement over the free length, at a Young's modulus
            of 1 Pa; in Pa.
        standing_young: the least Young's modulus in Pa with which parts above pins do not buckle.
    """

    compliance: float
    standing_young: float

    def sag(self, young: float) -> float:
        """The largest displacement over the largest distance to a pinned point."""
        return self.compliance / young if young > 0.0 else math.inf

    def young(self, sag: float = DEFAULT_BEND) -> float:
        """Young's modulus in Pa with which a body sags by that, and stands."""
        return max(self.compliance / sag, self.standing_young)


def pinned_sag(
    vertices: ArrayLike,
    triangles: ArrayLike,
    pinned: ArrayLike,
    density: float = 1000.0,
    gravity: Sequence[float] = EARTH,
    poisson: float = 0.45,
    axes: ArrayLike | None = None,
) -> PinnedSag:
    """Estimate how a pinned body sags.

    Args:
        vertices, triangles: (V, 3) in metres and (T, 3), of its surface.
        pinned: (P, 3) pinned points in metres.
        density: in kg/m³.
        gravity: (3,) in m/s²; where there is none, the Earth's counts.
        poisson: Poisson's ratio.
        axes: (3, 3) orthonormal columns along which the grid is laid; the world's by default.

    Raises:
        SceneError: if the body has no extent beside its pins, or a value is not usable.
    """
    checks.above_zero(density, "The density in kg/m³")
    vector = checks.vector(gravity, "Gravity in m/s²")
    acceleration = np.asarray(vector if any(vector) else EARTH)
    frame = np.eye(3) if axes is None else np.asarray(axes, dtype=np.float64)
    points = checks.positions(vertices, "the body whose stiffness is sought") @ frame
    held = checks.positions(pinned, "the pins") @ frame
    grid = _Grid.around(points, np.asarray(triangles), held)
    weight = density * (acceleration @ frame)
    sideways = _across(weight)
    loads = [weight, *sideways] if grid.stands(weight) else [weight]
    bends = grid.displacements(loads, min(poisson, _MAX_POISSON)) / grid.free_length
    return PinnedSag(float(bends[0]), float(bends[1:].max(initial=0.0)) / _STANDING_BEND)


def _across(weight: FloatArray) -> list[FloatArray]:
    """Two vectors as long as a weight, at right angles to it and to each other."""
    rotation, _ = np.linalg.qr(np.column_stack([weight, np.eye(3)]))
    return [np.linalg.norm(weight) * rotation[:, 1], np.linalg.norm(weight) * rotation[:, 2]]


@dataclass(frozen=True)
class _Grid:
    """Boxes around a body, the longest side of the grid first.

    Args:
        size: (3,) of a box in metres.
        filled: (A, B, C) share of each box that the body fills; 0 where it is not joined to pins.
        is_pinned: (A + 1, B + 1, C + 1) of the nodes.
        order: (3,) which axis of the body each axis of the grid is.
        centre, pin_centre: (3,) of the boxes and of the pinned nodes, in the axes of the body.
        free_length: the largest distance from a box to a pinned node, in metres.
    """

    size: FloatArray
    filled: FloatArray
    is_pinned: Flags
    order: IndexArray
    centre: FloatArray
    pin_centre: FloatArray
    free_length: float

    @staticmethod
    def around(points: FloatArray, triangles: IndexArray, pinned: FloatArray) -> _Grid:
        extent = np.ptp(points, axis=0)
        if len(pinned) == 0 or not extent.max() > 0.0:
            raise SceneError("All points are at one place or nothing is pinned.")
        order = np.argsort(-extent, kind="stable")
        points, pinned, extent = points[:, order], pinned[:, order], extent[order]
        counts = _counts(extent)
        # Flat bodies count as thick as a hundredth of their length.
        size = np.maximum(extent, 0.01 * extent[0]) / counts
        low = points.min(axis=0) + 0.5 * (extent - size * counts)
        fill = _filled if is_closed(triangles) else _crossed
        filled = fill(points[triangles], low, size, counts)
        is_pinned = _pinned_nodes(counts, (pinned - low) / size)
        filled, is_pinned = _joined(filled, is_pinned)
        nodes = low + np.argwhere(is_pinned) * size
        boxes = low + (np.argwhere(filled > 0.0) + 0.5) * size
        distances = np.linalg.norm(boxes[:, None] - nodes[None], axis=2).min(axis=1)
        share = filled[filled > 0.0]
        centre = (share[:, None] * boxes).sum(axis=0) / share.sum()
        back = np.argsort(order)
        return _Grid(
            *(size, filled, is_pinned, order, centre[back], nodes.mean(axis=0)[back]),
            free_length=float(distances.max() + 0.5 * size.max()),
        )

    def stands(self, weight: FloatArray) -> bool:
        """Whether the body stands above its pins rather than hangs from them."""
        height = float((self.pin_centre - self.centre) @ weight / np.linalg.norm(weight))
        return height > 0.1 * self.free_length

    def displacements(self, loads: Sequence[FloatArray], poisson: float) -> FloatArray:
        """(L,) the largest displacement by loads (3,) in N/m³, at a Young's modulus of 1 Pa."""
        counts = np.array(self.filled.shape)
        across = (counts[1] + 1) * (counts[2] + 1)
        diagonal = np.zeros((counts[0] + 1, 3 * across, 3 * across))
        coupling = np.zeros((counts[0], 3 * across, 3 * across))
        right = np.zeros((counts[0] + 1, 3 * across, len(loads)))
        at, j, k = np.nonzero(self.filled)
        share = self.filled[at, j, k]
        corner = (j[:, None] + [0, 0, 1, 1]) * (counts[2] + 1) + k[:, None] + [0, 1, 0, 1]
        rows = (3 * corner[:, :, None] + np.arange(3)).reshape(len(at), 12)
        stiffness = _box_stiffness(self.size, poisson)
        soft = (share**_FILLED_POWER)[:, None, None]
        here, first, second = at[:, None, None], rows[:, :, None], rows[:, None, :]
        np.add.at(diagonal, (here, first, second), soft * stiffness[:12, :12])
        np.add.at(diagonal, (here + 1, first, second), soft * stiffness[12:, 12:])
        np.add.at(coupling, (here, first, second), soft * stiffness[:12, 12:])
        mass = share * self.size.prod() / 8.0
        for load, force in enumerate(loads):
            each = mass[:, None] * np.tile(force[self.order], 4)
            np.add.at(right[:, :, load], (at[:, None], rows), each)
            np.add.at(right[:, :, load], (at[:, None] + 1, rows), each)
        fixed = np.repeat(self.is_pinned.reshape(len(diagonal), -1), 3, axis=1)
        fixed |= diagonal.diagonal(axis1=1, axis2=2) == 0.0
        solved = _solve(diagonal, coupling, right, fixed).reshape(len(diagonal), across, 3, -1)
        moved = np.linalg.norm(solved, axis=2)
        # A node of boxes that are nearly empty alone swings more than the body.
        solid = np.zeros((len(diagonal), across))
        np.maximum.at(solid, (at[:, None], corner), share[:, None])
        np.maximum.at(solid, (at[:, None] + 1, corner), share[:, None])
        return moved[solid >= min(0.25, share.max())].max(axis=0)


def _counts(extent: FloatArray) -> IndexArray:
    """Return the (3,) numbers of boxes along sides of descending length."""
    edge = (max(extent.prod(), 1e-6 * extent[0] ** 3) / _MAX_BOXES) ** (1 / 3)
    for _ in range(30):
        counts = np.maximum(np.rint(extent / edge), 1).astype(np.intp)
        if counts.prod() <= _MAX_BOXES and counts[1] <= 2 * _MAX_ACROSS:
            break
        edge *= 1.1
    counts[1:] = np.minimum(counts[1:], [2 * _MAX_ACROSS, _MAX_ACROSS])
    return counts


def _filled(
    corners: FloatArray, low: FloatArray, size: FloatArray, counts: IndexArray
) -> FloatArray:
    """(A, B, C) share of each box inside triangles (T, 3, 3), by rays along the first axis."""
    fine = _RAYS * counts
    # Rays and points are a little aside, so that none runs along an edge of the grid.
    places = (corners - low) / size * _RAYS - np.array([0.5, 0.5 + 1.3e-4, 0.5 + 2.7e-4])
    flat = places[:, :, 1:]
    first = np.clip(np.ceil(flat.min(axis=1)), 0, fine[1:]).astype(np.intp)
    last = np.clip(np.floor(flat.max(axis=1)), -1, fine[1:] - 1).astype(np.intp)
    spans = np.maximum(last - first + 1, 0)
    triangle, inside = expand(spans.prod(axis=1))
    ray = first[triangle] + np.column_stack(
        [inside // np.maximum(spans[triangle, 1], 1), inside % np.maximum(spans[triangle, 1], 1)]
    )
    a, b, c = flat[triangle].swapaxes(0, 1)
    area = _cross(b - a, c - a)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight_b, weight_c = _cross(ray - a, c - a) / area, _cross(b - a, ray - a) / area
    hits = (weight_b >= 0.0) & (weight_c >= 0.0) & (weight_b + weight_c <= 1.0) & (area != 0.0)
    along = places[triangle, :, 0]
    height = (
        along[:, 0] * (1.0 - weight_b - weight_c) + along[:, 1] * weight_b + along[:, 2] * weight_c
    )
    crossings = np.zeros((fine[0] + 1, *fine[1:]))
    begin = np.clip(np.ceil(height[hits]), 0, fine[0]).astype(np.intp)
    np.add.at(crossings, (begin, ray[hits, 0], ray[hits, 1]), 1)
    is_inside = np.cumsum(crossings, axis=0)[:-1] % 2 == 1
    blocks = is_inside.reshape(counts[0], _RAYS, counts[1], _RAYS, counts[2], _RAYS)
    share: FloatArray = blocks.mean(axis=(1, 3, 5))
    return np.where(share < _MIN_FILLED, 0.0, share)


def _crossed(
    corners: FloatArray, low: FloatArray, size: FloatArray, counts: IndexArray
) -> FloatArray:
    """(A, B, C) 1 for each box that one of the triangles (T, 3, 3) crosses, else 0."""
    places = (corners - low) / size
    longest = np.linalg.norm(np.roll(places, 1, axis=1) - places, axis=2).max(axis=1)
    parts = np.clip(np.ceil(2.0 * longest), 1, 2 * counts.max()).astype(np.intp)
    triangle, point = expand((parts + 1) ** 2)
    part = parts[triangle]
    first, second = point // (part + 1) / part, point % (part + 1) / part
    is_inside = first + second <= 1.0
    triangle, first, second = triangle[is_inside], first[is_inside], second[is_inside]
    a, b, c = places[triangle].swapaxes(0, 1)
    points = a + first[:, None] * (b - a) + second[:, None] * (c - a)
    filled = np.zeros(counts)
    filled[tuple(np.clip(points, 0, counts - 1).astype(np.intp).T)] = 1.0
    return filled


def _cross(a: FloatArray, b: FloatArray) -> FloatArray:
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]


def _pinned_nodes(counts: IndexArray, places: FloatArray) -> Flags:
    """The nodes of the boxes that hold pinned points, (P, 3) in boxes from the first node, as a
    pinned point pins the tetrahedron around it."""
    is_pinned = np.zeros(counts + 1, dtype=bool)
    box = np.clip(places, 0, counts - 1).astype(np.intp)
    for corner in np.ndindex(2, 2, 2):
        is_pinned[tuple((box + corner).T)] = True
    return is_pinned


def _joined(filled: FloatArray, is_pinned: Flags) -> tuple[FloatArray, Flags]:
    """The boxes that hang together with pinned ones, and their pinned nodes.

    Raises:
        SceneError: if there are none.
    """
    counts, corners = np.array(filled.shape), list(np.ndindex(2, 2, 2))
    is_body, is_held = filled > 0.0, np.zeros(filled.shape, dtype=bool)
    for corner in corners:
        is_held |= is_pinned[_window(corner, counts)]
    is_held &= is_body
    if not is_held.any():
        raise SceneError("No pinned point is near the body.")
    for _ in range(is_held.size):
        grown = np.pad(is_held, 1)
        near = is_held.copy()
        for axis in range(3):
            for step in (-1, 1):
                near |= np.roll(grown, step, axis)[1:-1, 1:-1, 1:-1]
        near &= is_body
        if (near == is_held).all():
            break
        is_held = near
    nodes = np.zeros_like(is_pinned)
    for corner in corners:
        nodes[_window(corner, counts)] |= is_held
    return np.where(is_held, filled, 0.0), is_pinned & nodes


def _window(corner: tuple[int, ...], counts: IndexArray) -> tuple[slice, ...]:
    """The nodes that are one corner of each box, (A, B, C) of all (A + 1, B + 1, C + 1)."""
    return tuple(slice(first, first + count) for first, count in zip(corner, counts, strict=True))


def _box_stiffness(size: FloatArray, poisson: float) -> FloatArray:
    """Return the (24, 24) stiffness of a box at a Young's modulus of 1 Pa. Corners run as in
    ``np.ndindex(2, 2, 2)``."""
    shear = 0.5 / (1.0 + poisson)
    lame = poisson / ((1.0 + poisson) * (1.0 - 2.0 * poisson))
    law = np.diag([2.0 * shear] * 3 + [shear] * 3)
    law[:3, :3] += lame
    signs = 2.0 * np.array(list(np.ndindex(2, 2, 2))) - 1.0
    whole = np.zeros((33, 33))
    for place in signs / math.sqrt(3.0):
        factors = 1.0 + signs * place
        slopes = np.empty((11, 3))
        for axis in range(3):
            others = np.delete(factors, axis, axis=1).prod(axis=1)
            slopes[:8, axis] = signs[:, axis] * others / 8.0 * 2.0 / size[axis]
        # Incompatible modes 1 − ξ², one a direction.
        slopes[8:] = np.diag(-2.0 * place * 2.0 / size)
        strain = np.zeros((6, 33))
        for row, (a, b) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))):
            strain[row, a::3] += slopes[:, b]
            if a != b:
                strain[row, b::3] += slopes[:, a]
        whole += strain.T @ law @ strain * size.prod() / 8.0
    modes = np.linalg.solve(whole[24:, 24:], whole[24:, :24])
    return whole[:24, :24] - whole[:24, 24:] @ modes


def _solve(
    diagonal: FloatArray, coupling: FloatArray, right: FloatArray, fixed: Flags
) -> FloatArray:
    """Solve a symmetric system whose blocks couple to the next one alone; 0 where it is fixed.

    Args:
        diagonal, coupling: (S, N, N) and (S − 1, N, N), to the next block; overwritten.
        right: (S, N, L); overwritten.
        fixed: (S, N) which unknowns are.
    """
    one = np.arange(diagonal.shape[1])
    for block, still in enumerate(fixed):
        diagonal[block][still] = 0.0
        diagonal[block][:, still] = 0.0
        diagonal[block][one[still], one[still]] = 1.0
        right[block][still] = 0.0
        if block:
            coupling[block - 1][:, still] = 0.0
        if block < len(coupling):
            coupling[block][still] = 0.0
    width, solved = coupling.shape[2], []
    for block in range(len(diagonal) - 1):
        both = np.concatenate([coupling[block], right[block]], axis=1)
        solved.append(np.linalg.solve(diagonal[block], both))
        diagonal[block + 1] -= coupling[block].T @ solved[-1][:, :width]
        right[block + 1] -= coupling[block].T @ solved[-1][:, width:]
    right[-1] = np.linalg.solve(diagonal[-1], right[-1])
    for block in range(len(diagonal) - 2, -1, -1):
        right[block] = solved[block][:, width:] - solved[block][:, :width] @ right[block + 1]
    return right


#: The default loss factor of the slowest vibration, without a chosen viscosity: it loses 6 % from
#: swing to swing, and a vibration ten times as fast loses half of its amplitude. Gelatine has 0.03
#: (Bonavia 2025).
DEFAULT_LOSS_FACTOR = 0.02


def default_viscosity(
    size: float,
    young: float,
    poisson: float,
    density: float,
    loss_factor: float = DEFAULT_LOSS_FACTOR,
) -> float:
    """Viscosity in Pa s with which the slowest wobble of a body has a loss factor.

    Args:
        size: of the body where it is longest, in metres.
        young: Young's modulus in Pa.
        poisson: Poisson's ratio.
        density: in kg/m³.
        loss_factor: tan δ of that wobble.
    """
    shear_modulus = young / (2.0 * (1.0 + poisson))
    slowest = 0.5 * math.pi / size * math.sqrt(shear_modulus / density)
    return loss_factor * shear_modulus / slowest
