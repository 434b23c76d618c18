# SPDX-License-Identifier: GPL-3.0-or-later
"""Surfaces of a metre with parts far finer than their tetrahedra: machine parts, furniture and
clothes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]
Place = tuple[float, float, float]
Surface = tuple[Points, NDArray[np.int32]]


def closed(rings: list[Points]) -> Surface:
    """A surface through (R, 3) rings, one above the other, with a point in the middle of each
    end."""
    count, points = len(rings[0]), np.concatenate(rings)
    ends = [rings[0].mean(axis=0), rings[-1].mean(axis=0)]
    here, there = np.arange(count), (np.arange(count) + 1) % count
    faces = [np.stack([there, here, np.full(count, len(points))], axis=1)]
    faces += [_band(level * count, (level + 1) * count, count) for level in range(len(rings) - 1)]
    top = (len(rings) - 1) * count
    faces.append(np.stack([top + here, top + there, np.full(count, len(points) + 1)], axis=1))
    return np.concatenate([points, *(end[None] for end in ends)]), _joined(faces)


def tube(rings: list[Points]) -> Surface:
    """A surface through (R, 3) rings, the last of which is followed by the first."""
    count, starts = len(rings[0]), len(rings[0]) * np.arange(len(rings))
    faces = [_band(low, high, count) for low, high in zip(starts, np.roll(starts, -1), strict=True)]
    return np.concatenate(rings), _joined(faces)


def together(surfaces: list[Surface]) -> Surface:
    """Return one surface with the faces of all."""
    starts = np.cumsum([0, *(len(points) for points, _ in surfaces)])
    faces = [part_faces + start for (_, part_faces), start in zip(surfaces, starts, strict=False)]
    return np.concatenate([points for points, _ in surfaces]), _joined(faces)


def ring(radii: Points, height: float) -> Points:
    """(R, 3) points at so many radii around the z-axis."""
    angles = 2.0 * np.pi * np.arange(len(radii)) / len(radii)
    return np.column_stack(
        [radii * np.cos(angles), radii * np.sin(angles), np.full(len(radii), height)]
    )


def ball(radius: float, middle: Points) -> Surface:
    """A ball of 16 by 8 faces."""
    angles = np.linspace(0.0, np.pi, 9)[1:-1]
    rings = [ring(np.full(16, radius * np.sin(a)), -radius * np.cos(a)) + middle for a in angles]
    return closed(rings)


def beam(
    low: tuple[float, float, float], high: tuple[float, float, float], bevel: float
) -> Surface:
    """A box with bevelled edges."""

    def outline(inset: float, z: float) -> Points:
        (x, y, _), (right, back, _) = low, high
        x, y, right, back = x + inset, y + inset, right - inset, back - inset
        corners = [(x + bevel, y), (right - bevel, y), (right, y + bevel), (right, back - bevel)]
        corners += [(right - bevel, back), (x + bevel, back), (x, back - bevel), (x, y + bevel)]
        return np.column_stack([np.array(corners), np.full(8, z)])

    heights = [(bevel, low[2]), (0.0, low[2] + bevel), (0.0, high[2] - bevel), (bevel, high[2])]
    return closed([outline(inset, z) for inset, z in heights])


def chair() -> Surface:
    """A chair of bevelled beams that run into each other, with screws of 8 mm that stand out."""
    parts = [beam((0.0, 0.0, 0.42), (0.45, 0.45, 0.46), 0.004)]
    for x in (0.0, 0.41):
        parts.append(beam((x, 0.0, 0.0), (x + 0.04, 0.04, 0.43), 0.004))
        parts.append(beam((x, 0.41, 0.0), (x + 0.04, 0.45, 0.95), 0.004))
    for z in (0.55, 0.65, 0.75, 0.85):
        parts.append(beam((0.02, 0.42, z), (0.43, 0.44, z + 0.05), 0.003))
    for z in (0.15, 0.25):
        parts.append(beam((0.02, 0.01, z), (0.43, 0.03, z + 0.02), 0.003))
    screws = [np.array([x, y, 0.463]) for x in (0.02, 0.22, 0.43) for y in (0.02, 0.43)]
    return together([*parts, *(ball(0.004, place) for place in screws)])


def gear() -> Surface:
    """A cog wheel of 40 teeth, 10 cm thick, with a hole and bevels of 2 mm."""
    radii, thickness, bevel = np.tile([0.47, 0.5, 0.5, 0.47], 40), 0.1, 0.002
    hole = np.full(len(radii), 0.15)
    return tube(_washer(radii, hole, thickness, bevel))


def conrod() -> Surface:
    """Two eyes with bevels of 2 mm, joined by a beam with a groove on either side."""
    count, thickness, bevel, half = 64, 0.08, 0.002, 5
    angles = 2.0 * np.pi * np.arange(count) / count
    eyes = []
    for x, outer, inner, turn in ((0.0, 0.2, 0.13, 0.0), (1.0, 0.12, 0.07, np.pi)):
        rings = _washer(np.full(count, outer), np.full(count, inner), thickness, bevel)
        turned = np.column_stack([np.cos(angles + turn), np.sin(angles + turn)])
        for each in rings:
            radii = np.linalg.norm(each[:, :2], axis=1)[:, None]
            each[:, :2] = radii * turned + [x, 0.0]
        eyes.append(tube(rings))
    (left, left_faces), (right, right_faces) = eyes
    # The faces of the outer wall where the beam begins, and the loops around them.
    across = np.arange(-half, half + 1)
    gone = 2 * count + np.concatenate([across[:-1] % count, across[:-1] % count + count])
    near, far = across % count, across[::-1] % count
    first = np.concatenate([count + near, 2 * count + near[::-1]])
    last = np.concatenate([count + far, 2 * count + far[::-1]])
    points, faces = [left, right], [np.delete(left_faces, gone, axis=0)]
    faces.append(np.delete(right_faces, gone, axis=0) + len(left))
    before, start = first, len(left) + len(right)
    sides = np.where(np.arange(len(first)) < len(near), 1.0, -1.0)
    for share in np.linspace(0.0, 1.0, 14)[1:]:
        loop = (1.0 - share) * left[first] + share * right[last]
        middle = np.abs(loop[:, 1]) < 0.7 * np.abs(loop[:, 1]).max()
        loop[:, 2] += 0.02 * min(1.0, 4.0 * share, 4.0 - 4.0 * share) * sides * middle
        places = start + np.arange(len(loop))
        if share == 1.0:
            places = len(left) + last
        else:
            points.append(loop)
            start += len(loop)
        faces.append(_quads(places, before))
        before = places
    return np.concatenate(points), _joined(faces)


def cape() -> Surface:
    """A curved sheet of 5 mm, 1.2 m high, with 47 faces along each side."""
    count, thickness = 48, 0.005
    u, v = np.meshgrid(np.linspace(-1.0, 1.0, count), np.linspace(0.0, 1.0, count), indexing="ij")
    angles = 1.3 * u * (0.6 + 0.4 * v)
    radii = 0.3 + 0.35 * (1.0 - v) + 0.03 * (1.0 - v) * np.cos(14.0 * u)
    outwards = np.stack([np.sin(angles), -np.cos(angles), 0.0 * angles], axis=-1)
    middle = radii[..., None] * outwards + np.stack([0.0 * v, 0.0 * v, 1.2 * v], axis=-1)
    sides = [(middle + 0.5 * sign * thickness * outwards).reshape(-1, 3) for sign in (1.0, -1.0)]
    at = np.arange(count * count).reshape(count, count)
    a, b, c, d = (each.ravel() for each in (at[:-1, :-1], at[1:, :-1], at[1:, 1:], at[:-1, 1:]))
    outer = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    rim = np.concatenate([at[:-1, 0], at[-1, :-1], at[:0:-1, -1], at[0, :0:-1]])
    wall = _quads(rim, rim + count * count)
    return np.concatenate(sides), _joined([outer, outer[:, ::-1] + count * count, wall])


def _washer(outer: Points, inner: Points, thickness: float, bevel: float) -> list[Points]:
    """The rings of a disc with a hole and bevelled edges."""
    heights = 0.0, bevel, thickness - bevel, thickness
    insets = bevel, 0.0, 0.0, bevel
    rings = [ring(outer - inset, z) for inset, z in zip(insets, heights, strict=True)]
    return rings + [
        ring(inner + inset, z) for inset, z in zip(insets[::-1], heights[::-1], strict=True)
    ]


def _band(low: int, high: int, count: int) -> NDArray[np.int64]:
    """Faces between two rings that begin at so many points."""
    here, there = np.arange(count), (np.arange(count) + 1) % count
    first = np.stack([low + here, low + there, high + there], axis=1)
    return np.concatenate([first, np.stack([low + here, high + there, high + here], axis=1)])


def _quads(first: NDArray[np.int64], second: NDArray[np.int64]) -> NDArray[np.int64]:
    """Faces between two loops of as many points."""
    after, beyond = np.roll(first, -1), np.roll(second, -1)
    lower = np.stack([beyond, after, first], axis=1)
    return np.concatenate([lower, np.stack([second, beyond, first], axis=1)])


def _joined(faces: list[NDArray[np.int64]]) -> NDArray[np.int32]:
    return np.concatenate(faces).astype(np.int32)
