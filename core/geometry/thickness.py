# SPDX-License-Identifier: GPL-3.0-or-later
"""The offset surface around a mesh that has a thickness."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .groups import vertex_sums
from .triangles import have_area

FloatArray = NDArray[np.float64]
Triangles = NDArray[np.integer[Any]]

# The largest displacement of a vertex in thicknesses; sharper corners become thinner.
MAX_OFFSET_RATIO = 2.0
# A vertex whose mean normal is shorter than this has none: the faces' normals cancel.
MIN_NORMAL_LENGTH = 1e-9


def thickened(
    vertices: FloatArray, triangles: Triangles, thickness: float
) -> tuple[FloatArray, Triangles]:
    """The surface at a distance to either side of a mesh.

    Two copies of the surface, along and against its vertex normals, joined by a rim where the mesh
    is open. A closed mesh keeps both: something may lie in its hollow. Vertices without a normal,
    since no triangle there has an area, stay where they are.

    Args:
        vertices: (…, V, 3) positions in metres, at one moment or many.
        triangles: (F, 3) indices of vertices.
        thickness: in metres.

    Returns:
        (…, 2V, 3) vertices, the outer ones first, and (G, 3) triangles; the same objects where the
        thickness is 0.
    """
    if thickness == 0.0:
        return vertices, triangles
    count = vertices.shape[-2]
    # One sample after the other: temporary arrays are many times as large as the result.
    samples = vertices.reshape(-1, count, 3)
    normals = np.stack([_offset_normals(sample, triangles) for sample in samples])
    offsets = thickness * normals.reshape(vertices.shape)
    offset_surface = np.concatenate([vertices + offsets, vertices - offsets], axis=-2)
    inner = triangles[:, ::-1] + count
    return offset_surface, np.concatenate([triangles, inner, _rim(triangles, count)])


def _offset_normals(vertices: FloatArray, triangles: Triangles) -> FloatArray:
    """(V, 3) vertex normals, as long as faces need to move by one.

    They are the mean of the face normals weighted by the angles at the vertex (Thürmer and
    Wüthrich, "Computing vertex normals from polygonal facets", 1998). Its length is the mean
    cosine between the vertex normal and those of the faces, so dividing by its square moves the
    faces by one, in the mean.
    """
    corners = vertices[triangles]
    edges = np.roll(corners, -1, axis=1) - corners
    before = -np.roll(edges, 1, axis=1)
    crossed = np.cross(edges, before)
    doubled_area = np.linalg.norm(crossed, axis=2, keepdims=True)
    cosines = np.einsum("fai,fai->fa", edges, before)[..., None]
    has_area = have_area(corners)[:, None, None]
    angles = np.where(has_area, np.arctan2(doubled_area, cosines), 0.0)
    weighted = angles * crossed / np.where(has_area, doubled_area, 1.0)
    total = vertex_sums(angles, triangles, len(vertices))
    mean = vertex_sums(weighted, triangles, len(vertices)) / np.where(total > 0.0, total, 1.0)
    length = np.linalg.norm(mean, axis=1, keepdims=True)
    exists = length > MIN_NORMAL_LENGTH
    safe = np.where(exists, length, 1.0)
    return np.where(exists, mean / safe * np.minimum(1.0 / safe, MAX_OFFSET_RATIO), 0.0)


def _rim(triangles: Triangles, count: int) -> Triangles:
    """(R, 3) triangles between the copies along the edges that belong to a single triangle."""
    edges = np.stack([triangles, np.roll(triangles, -1, axis=1)], axis=2).reshape(-1, 2)
    _, first, times = np.unique(
        np.sort(edges, axis=1), axis=0, return_index=True, return_counts=True
    )
    i, j = edges[np.sort(first[times == 1])].T
    near = np.stack([j, i, i + count], axis=1)
    far = np.stack([j, i + count, j + count], axis=1)
    return np.concatenate([near, far])
