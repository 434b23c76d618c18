# SPDX-License-Identifier: GPL-3.0-or-later
"""Round surfaces of equal triangles."""

from __future__ import annotations

import numpy as np

from supple.core import SoftBody, SurfaceMesh
from supple.core.materials import StableNeoHookean

_OCTAHEDRON = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
_FACES = np.array(
    [
        [x, y, z] if (x + y + z) % 2 == 0 else [x, z, y]
        for x in (0, 1)
        for y in (2, 3)
        for z in (4, 5)
    ]
)


def ball_surface(
    subdivisions: int = 3, radius: float = 0.5, middle: tuple[float, float, float] = (0, 0, 0)
) -> tuple[np.ndarray, np.ndarray]:
    """The (V, 3) points and (F, 3) faces of an octahedron whose faces are split again and again."""
    points, faces = _OCTAHEDRON, _FACES
    for _ in range(subdivisions):
        ends = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=2), axis=2)
        edges, number = np.unique(ends.reshape(-1, 2), axis=0, return_inverse=True)
        (a, b, c), (ab, bc, ca) = faces.T, (len(points) + number.reshape(-1, 3)).T
        points = np.concatenate([points, points[edges].mean(axis=1)])
        faces = np.concatenate(
            [np.stack(f, axis=1) for f in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        )
    away = points / np.linalg.norm(points, axis=1, keepdims=True)
    return radius * away + np.asarray(middle, dtype=float), faces


def soft_ball(
    middle: tuple[float, float, float], resolution: int = 5, subdivisions: int = 4, **options
) -> SoftBody:
    """A metre wide, of jelly."""
    points, faces = ball_surface(subdivisions, 0.5, middle)
    mesh = SurfaceMesh(points, faces.astype(np.int32), edge_length=1.0 / resolution)
    options.setdefault("material", StableNeoHookean(3e4, 0.45))
    return SoftBody(mesh, name="Ball", **options)


def seen_points(body: SoftBody, positions: np.ndarray) -> np.ndarray:
    """The (V, 3) visible points, for the tet vertices of a body at (N, 3)."""
    assert body.skin is not None and body.skin.embedding is not None
    return body.skin.embedding.interpolate(positions)
