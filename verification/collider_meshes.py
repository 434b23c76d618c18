# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes to land on."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.core.scene.channel import Channel
from supple.core.scene.contact_settings import Collider


def sheet(height: float = 0.0, half: float = 1.0, name: str = "sheet") -> Collider:
    """A square of two triangles, level and without thickness."""
    corners = Channel.constant(_square(height, half))
    return Collider(corners, np.array([[0, 1, 2], [0, 2, 3]]), name=name)


def slab(thickness: float, half: float = 1.0) -> Collider:
    """A closed box about the origin, level."""
    top, bottom = _square(0.5 * thickness, half), _square(-0.5 * thickness, half)
    lid = np.array([[0, 1, 2], [0, 2, 3]])
    first, second = np.arange(4), np.roll(np.arange(4), -1)
    sides = [np.stack(corners, axis=1) for corners in _walls(first, second, first + 4, second + 4)]
    triangles = np.concatenate([lid, lid[:, ::-1] + 4, *sides])
    return Collider(Channel.constant(np.concatenate([top, bottom])), triangles, name="slab")


def bowl(radius: float, depth: float, rings: int = 6, sectors: int = 16) -> Collider:
    """A paraboloid, open above, its lowest point in the origin."""
    turn = 2.0 * np.pi * np.arange(sectors) / sectors
    circle = np.stack([np.cos(turn), np.sin(turn), np.zeros(sectors)], axis=1)
    shares = np.arange(1, rings + 1)[:, None, None] / rings
    points = radius * shares * circle + depth * shares**2 * np.array([0.0, 0.0, 1.0])
    first = np.arange(sectors)
    second = np.roll(first, -1)
    triangles = [np.stack([0 * first, first + 1, second + 1], axis=1)]
    for ring in range(rings - 1):
        inner, outer = 1 + ring * sectors, 1 + (ring + 1) * sectors
        corners = _walls(first + inner, second + inner, first + outer, second + outer)
        triangles += [np.stack(three, axis=1) for three in corners]
    vertices = np.concatenate([np.zeros((1, 3)), points.reshape(-1, 3)])
    return Collider(Channel.constant(vertices), np.concatenate(triangles), name="bowl")


def _square(height: float, half: float) -> NDArray[np.float64]:
    corners = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    return np.column_stack([half * corners, np.full(4, height)])


Indices = NDArray[np.int64]


def _walls(
    first: Indices, second: Indices, below: Indices, beside: Indices
) -> list[tuple[Indices, Indices, Indices]]:
    """Two triangles for each four-cornered face between two rows of vertices."""
    return [(first, below, second), (second, below, beside)]
