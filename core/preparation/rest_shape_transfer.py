# SPDX-License-Identifier: GPL-3.0-or-later
"""A rest shape given on the skin, carried over to the tetrahedra around it, and checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.embedding import Embedding
from ..geometry.harmonic import harmonic_extension
from ..geometry.inverse_distance import nearest_weights
from ..geometry.tet_mesh import TetMesh, signed_volumes
from ..scene.rest_shape import RestShape
from ..scene.soft_body import SoftBody
from .pin_transfer import NEGLIGIBLE_WEIGHT

FloatArray = NDArray[np.float64]

# Sweeps in which tet vertices take what points of the skin are still off by.
FIT_SWEEPS = 20
# Of the way from one sample to the next, where rest shapes are checked.
_CHECKED_FRACTIONS = (0.0, 0.25, 0.5, 0.75)
# Of the volume of a tet as it was modelled: what rests flatter is inside out but for rounding.
MIN_VOLUME_RATIO = 1e-9


def transferred(
    rest_shape: RestShape, points: FloatArray, embedding: Embedding, mesh: TetMesh
) -> RestShape:
    """The rest shape of tet vertices, from that of (V, 3) points of the skin.

    The affine map that fits a displacement best is followed exactly. What is left is taken by the
    tet vertices around points so that the skin shows it, as far as the tets are fine enough, and is
    harmonic between.
    """
    keys, count = rest_shape.displacements, len(rest_shape.displacements)
    design, of_tets = _affine(points, points), _affine(mesh.vertices, points)
    # All displacements side by side: (V, 3K).
    wanted = keys.swapaxes(0, 1).reshape(len(points), 3 * count)
    fit = np.linalg.lstsq(design, wanted, rcond=1e-9)[0]
    left = wanted - design @ fit
    found = of_tets @ fit + _extended(left, points, embedding, mesh)
    moved = found.reshape(len(mesh.vertices), count, 3).swapaxes(0, 1)
    return RestShape(np.ascontiguousarray(moved), rest_shape.amounts)


def _affine(points: FloatArray, around: FloatArray) -> FloatArray:
    """(P, 4) coordinates and a one, from the middle of the points ``around``."""
    offsets = (points - around.mean(axis=0)) / max(float(np.ptp(around, axis=0).max()), 1e-300)
    return np.concatenate([offsets, np.ones((len(points), 1))], axis=1)


def _extended(
    left: FloatArray, points: FloatArray, embedding: Embedding, mesh: TetMesh
) -> FloatArray:
    """(N, C) of all tet vertices, from (V, C) of the skin."""
    count = len(mesh.vertices)
    if not left.any():
        return np.zeros((count, left.shape[1]))
    carrying = embedding.indices[np.abs(embedding.weights) > NEGLIGIBLE_WEIGHT]
    is_known = np.zeros(count, dtype=bool)
    is_known[mesh.surface] = is_known[carrying] = True
    known = np.flatnonzero(is_known)
    values = np.zeros((count, left.shape[1]))
    nearest, weights = nearest_weights(points, mesh.vertices[known])
    values[known] = np.einsum("qk,qkc->qc", weights, left[nearest])
    _fit(values, left, embedding)
    return harmonic_extension(mesh, known, values[known])


def _fit(values: FloatArray, wanted: FloatArray, embedding: Embedding) -> None:
    """Changes (N, C) values of tet vertices so that points show the (V, C) ones wanted.

    Each sweep adds to a vertex the mean of what its points are off by, by their weights (the
    simultaneous iterative reconstruction technique: Gilbert, "Iterative Methods for the
    Three-Dimensional Reconstruction of an Object from Projections", 1972).
    """
    from scipy.sparse import coo_array

    rows = np.repeat(np.arange(len(wanted)), embedding.indices.shape[1])
    shape = len(wanted), len(values)
    places = rows, embedding.indices.ravel()
    matrix = coo_array((embedding.weights.ravel(), places), shape=shape).tocsr()
    sizes = coo_array((np.abs(embedding.weights).ravel(), places), shape=shape).tocsr()
    of_points, of_vertices = (np.asarray(sizes.sum(axis=axis)).ravel() for axis in (1, 0))
    for _ in range(FIT_SWEEPS):
        off = (wanted - matrix @ values) / of_points[:, None]
        values += (matrix.T @ off) / np.maximum(of_vertices, NEGLIGIBLE_WEIGHT)[:, None]


def check_rest_shape(body: SoftBody) -> None:
    """
    Raises:
        SceneError: when the rest shape of a body turns tets inside out at any time.
    """
    mesh, rest_shape = body.mesh, body.rest_shape
    if rest_shape is None or not isinstance(mesh, TetMesh):
        return
    channel, seen = rest_shape.amounts, set()
    for number in range(len(channel.samples)):
        frame, sample = divmod(number, channel.per_frame)
        for fraction in _CHECKED_FRACTIONS:
            amounts = channel.at(frame, (sample + fraction) / channel.per_frame)
            if amounts.tobytes() in seen:
                continue
            seen.add(amounts.tobytes())
            shape = rest_shape.displaced(mesh.vertices, amounts)
            ratios = signed_volumes(shape, mesh.tets) / mesh.rest_volumes
            if ratios.min() <= MIN_VOLUME_RATIO:
                raise SceneError(_inverted_message(body.name, frame, ratios))


def _inverted_message(name: str, frame: int, ratios: FloatArray) -> str:
    count = int((ratios <= MIN_VOLUME_RATIO).sum())
    which = "1 of its tets" if count == 1 else f"{count} of its {len(ratios)} tets"
    return (
        f"{name}: {frame} frames after the start, its rest shape turns {which} flat or inside out. "
        "Use less of its shape keys then, smoother keys, or another resolution."
    )
