# SPDX-License-Identifier: GPL-3.0-or-later
"""The bodies, made by code: what is soft in many a scene, and hard to get right.

They stand on z = 0 and look along -y.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import bpy
import numpy as np
from numpy.typing import NDArray

from .implicit_surfaces import ellipsoid, limb, ring, surface, union, without
from .region import EVERYWHERE, Region

Points = NDArray[np.float64]
Indices = NDArray[np.int64]
Shell = tuple[Points, Indices]
# Vertices (V, 3), and those of each face.
Cage = tuple[Points, list[list[int]]]

SUBDIVISION_LEVELS = 2


@dataclass(frozen=True, eq=False)
class Shape:
    """A surface of quads.

    Args:
        vertices: (V, 3) in metres.
        quads: (F, 4), counter-clockwise seen from outside.
        thin: where it is thin.
        cage: what a Subdivision makes these of; None where they are the mesh itself.
    """

    vertices: Points
    quads: Indices
    thin: Region = EVERYWHERE
    cage: Cage | None = None

    @property
    def levels(self) -> int:
        """Return the levels of the Subdivision modifier."""
        return 0 if self.cage is None else SUBDIVISION_LEVELS

    @property
    def size(self) -> Points:
        """Return the (3,) size in metres."""
        extent: Points = np.ptp(self.vertices, axis=0)
        return extent


def monkey() -> Shape:
    """Blender's own, 2.7 m wide, with two levels of subdivision applied."""
    bpy.ops.mesh.primitive_monkey_add()
    return _subdivided(bpy.context.object.data)[0]


def cage() -> Shape:
    """The monkey, its subdivision left to a modifier."""
    bpy.ops.mesh.primitive_monkey_add()
    primitive = bpy.context.object.data
    cage_mesh = _vertices(primitive), [list(face.vertices) for face in primitive.polygons]
    # Subdivision numbers points by edges, which get an order of their own here.
    mesh = bpy.data.meshes.new("Cage")
    mesh.from_pydata(cage_mesh[0].tolist(), [], cage_mesh[1])
    bpy.context.object.data = mesh
    made, shift = _subdivided(mesh)
    return replace(made, cage=(cage_mesh[0] + shift, cage_mesh[1]))


def _subdivided(mesh: bpy.types.Mesh) -> tuple[Shape, Points]:
    """Return the subdivided shape of the active object, which has the mesh, and the offset that
    centred it. The object and the mesh are removed.
    """
    made = bpy.context.object
    modifier = made.modifiers.new("Subdivision", "SUBSURF")
    modifier.levels = SUBDIVISION_LEVELS
    bpy.ops.object.modifier_apply(modifier=modifier.name)
    corners = np.empty(len(mesh.loops), dtype=np.int32)
    mesh.loops.foreach_get("vertex_index", corners)
    points = _vertices(mesh)
    bpy.data.objects.remove(made)
    bpy.data.meshes.remove(mesh)
    standing = _standing(points, corners.reshape(-1, 4).astype(np.int64), _beyond(0, 0.92))
    return standing, standing.vertices[0] - points[0]


def _vertices(mesh: bpy.types.Mesh) -> Points:
    vertices = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", vertices)
    return vertices.reshape(-1, 3).astype(np.float64)


def hand() -> Shape:
    """Half a metre long, palm down, fingers side by side, a few millimetres apart."""
    rows = zip((-0.087, -0.029, 0.029, 0.087), (0.170, 0.215, 0.225, 0.190), strict=True)
    fingers = union(*(limb((x, 0.03, 0.0), (x, -long, 0.0), 0.021, 0.018) for x, long in rows))
    palm = union(
        ellipsoid((0.0, 0.075, 0.0), (0.118, 0.11, 0.036)),
        limb((0.0, 0.12, 0.0), (0.0, 0.24, 0.0), 0.052, 0.048),
        blend=0.05,
    )
    thumb = limb((0.07, 0.13, -0.004), (0.165, -0.005, -0.012), 0.03, 0.021)
    whole = union(union(palm, thumb, blend=0.04), fingers, blend=0.015)
    vertices, quads = surface(whole, (-0.16, -0.27, -0.08), (0.21, 0.31, 0.08), 0.007)
    vertices = _close_fingers(vertices)
    y = vertices[:, 1] - 0.03
    vertices[:, 2] -= np.where(y < 0.0, 0.9, 0.4) * y**2
    return _standing(vertices, quads, _below(1, -0.09))


def mouth() -> Shape:
    """A head of half a metre with thick lips that nearly touch, hollow behind them."""
    head = ellipsoid((0.0, 0.0, 0.0), (0.26, 0.22, 0.25))
    head = without(head, lambda points: points[:, 2] + 0.2, blend=0.05)
    head = without(head, ellipsoid((0.0, -0.11, 0.0), (0.12, 0.14, 0.068)), blend=0.03)
    lips = ring((0.0, -0.2, 0.0), 0.07, 0.033, 1.8)
    vertices, quads = surface(
        union(head, lips, blend=0.02), (-0.3, -0.28, -0.25), (0.3, 0.26, 0.3), 0.0135
    )
    return _standing(_close_lips(vertices), quads, _below(1, -0.2))


def teddy() -> Shape:
    """Eleven shells, most of them in each other; arms, legs and belly just apart."""
    parts = [
        _ball((0.0, 0.0, 0.22), (0.19, 0.16, 0.22)),
        _ball((0.0, -0.02, 0.55), (0.17, 0.15, 0.155)),
        _ball((0.0, -0.15, 0.52), (0.075, 0.06, 0.055), 6),
        _ball((0.0, -0.21, 0.54), (0.022, 0.016, 0.016), 3),
    ]
    for side in (-1.0, 1.0):
        parts += [
            _ball((side * 0.135, 0.0, 0.68), (0.065, 0.032, 0.065), 6),
            _ball((side * 0.065, -0.155, 0.6), (0.02, 0.014, 0.022), 3),
            _ball((side * 0.2, -0.07, 0.31), (0.058, 0.06, 0.15), 8, -24.0 * side),
            _ball((side * 0.085, -0.2, 0.078), (0.076, 0.17, 0.078), 8),
        ]
    return _standing(*_joined(parts), _beyond(2, 0.69))


def rabbit() -> Shape:
    """It sits, its ears thin and long."""
    body = union(
        ellipsoid((0.0, 0.06, 0.18), (0.13, 0.17, 0.18)),
        ellipsoid((0.0, -0.08, 0.37), (0.1, 0.12, 0.1)),
        ellipsoid((0.0, 0.23, 0.1), (0.055, 0.055, 0.055)),
        *(limb((s * 0.05, -0.06, 0.2), (s * 0.062, -0.15, 0.035), 0.045, 0.035) for s in (-1, 1)),
        *(ellipsoid((s * 0.1, 0.1, 0.1), (0.07, 0.11, 0.1)) for s in (-1, 1)),
        *(ellipsoid((s * 0.105, 0.05, 0.035), (0.042, 0.12, 0.036)) for s in (-1, 1)),
        blend=0.035,
    )
    ears = union(
        *(
            ellipsoid((s * 0.065, -0.06, 0.575), (0.044, 0.034, 0.16), _about_y(9.0 * s))
            for s in (-1, 1)
        )
    )
    vertices, quads = surface(
        union(body, ears, blend=0.02), (-0.2, -0.25, -0.04), (0.2, 0.32, 0.78), 0.0122
    )
    share = _smoothstep(vertices[:, 2], 0.45, 0.52)
    vertices[:, 1] += share * 0.78 * (-0.06 - vertices[:, 1])
    return _standing(vertices, quads, _beyond(2, 0.53))


SHAPES: dict[str, Callable[[], Shape]] = {
    "monkey": monkey,
    "cage": cage,
    "hand": hand,
    "mouth": mouth,
    "teddy": teddy,
    "rabbit": rabbit,
}


@cache
def shape(name: str) -> Shape:
    """Return one of ``SHAPES``; treat it as constant."""
    return SHAPES[name]()


def _standing(vertices: Points, quads: Indices, thin: Region) -> Shape:
    """Put on z = 0 above the origin; so is the region."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    shift = -np.array([0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), low[2]])
    x, y, z = (float(part) for part in shift)
    moved = Region(
        (thin.low[0] + x, thin.low[1] + y, thin.low[2] + z),
        (thin.high[0] + x, thin.high[1] + y, thin.high[2] + z),
    )
    return Shape(vertices + shift, quads, moved)


def _beyond(axis: int, value: float) -> Region:
    low = [-np.inf] * 3
    low[axis] = value
    return Region(low=(low[0], low[1], low[2]))


def _below(axis: int, value: float) -> Region:
    high = [np.inf] * 3
    high[axis] = value
    return Region(high=(high[0], high[1], high[2]))


def _close_fingers(vertices: Points) -> Points:
    """Takes the most of each gap out, so that it stays narrower than a quad is long."""
    gaps, half, left = np.array([-0.058, 0.0, 0.058]), 0.0068, 0.0005
    # The middle gap stays where it is, and all else moves towards it.
    centres = gaps - 2.0 * (half - left) * np.sign(gaps)
    before = (gaps[:, None] + [-half, half]).ravel()
    after = (centres[:, None] + [-left, left]).ravel()
    x, y, _ = vertices.T
    ends = np.array([-1.0, 1.0])
    knots = (
        np.insert(before[[0, -1]] + ends, 1, before),
        np.insert(after[[0, -1]] + ends, 1, after),
    )
    closed = np.interp(x, *knots)

    share = 1.0 - _smoothstep(y, -0.03, 0.06)
    moved = vertices.copy()
    moved[:, 0] += share * (closed - x)
    return moved


def _close_lips(vertices: Points) -> Points:
    """Brings the lips together about z = 0, most in their middle, and what is above and below with
    them."""
    left = 0.002
    x, y, z = vertices.T
    opening = np.maximum(0.036 * (1.0 - (x / 0.06) ** 2), left)
    height = np.abs(z)
    fade = 1.0 - _smoothstep(height, 0.08, 0.2)
    closed = np.where(height < opening, height * left / opening, height - fade * (opening - left))
    share = 1.0 - _smoothstep(y, -0.14, -0.04)
    moved = vertices.copy()
    moved[:, 2] += share * np.sign(z) * (closed - height)
    return moved


def _ball(
    centre: tuple[float, float, float],
    radii: tuple[float, float, float],
    cuts: int = 10,
    lean: float = 0.0,
) -> Shell:
    """An ellipsoid of six sides with cuts × cuts quads each, leaning by so many degrees about y."""
    across = np.tan(np.linspace(-math.pi / 4, math.pi / 4, cuts + 1))
    u, v = (part.ravel() for part in np.meshgrid(across, across, indexing="ij"))
    sides: list[Points] = []
    quads: list[Indices] = []
    index = np.arange((cuts + 1) ** 2).reshape(cuts + 1, cuts + 1)
    one = np.stack([index[:-1, :-1], index[1:, :-1], index[1:, 1:], index[:-1, 1:]], axis=-1)
    for axis in range(3):
        for sign in (-1.0, 1.0):
            side = np.empty((len(u), 3))
            side[:, axis], side[:, (axis + 1) % 3], side[:, (axis + 2) % 3] = sign, u, v
            corners = one.reshape(-1, 4)
            quads.append((corners if sign > 0.0 else corners[:, ::-1]) + len(u) * len(sides))
            sides.append(side)
    points = np.concatenate(sides)
    _, first, number = np.unique(
        np.round(points, 9), axis=0, return_index=True, return_inverse=True
    )
    points = points[first] / np.linalg.norm(points[first], axis=1, keepdims=True)
    turned = (points * radii) @ _about_y(lean).T
    return turned + np.asarray(centre), number.ravel()[np.concatenate(quads)].astype(np.int64)


def _joined(shells: list[Shell]) -> Shell:
    starts = np.cumsum([0, *(len(points) for points, _ in shells)])
    quads = [faces + start for (_, faces), start in zip(shells, starts, strict=False)]
    return np.concatenate([points for points, _ in shells]), np.concatenate(quads)


def _about_y(degrees: float) -> Points:
    """A rotation that leans what points up towards +x."""
    c, s = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def _smoothstep(values: Points, low: float, high: float) -> Points:
    """0 up to ``low``, 1 from ``high`` on."""
    share = np.clip((values - low) / (high - low), 0.0, 1.0)
    smooth: Points = share * share * (3.0 - 2.0 * share)
    return smooth
