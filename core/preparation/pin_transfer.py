# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins set on the skin, carried over to the tetrahedra around it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..geometry.embedding import Embedding
from ..geometry.inverse_distance import nearest_weights
from ..geometry.rigid_fit import rigid_fits

# A corner carries less of a point that lies on the face across from it.
NEGLIGIBLE_WEIGHT = 1e-9


def pinned_tet_vertices(embedding: Embedding, pinned: NDArray[np.int32]) -> NDArray[np.int32]:
    """The tet corners that carry a pinned point: with them, the point itself stands still.

    Args:
        embedding: of the skin.
        pinned: (P,) indices of skin points.

    Returns:
        (Q,) sorted indices of tet vertices.
    """
    carried = np.abs(embedding.weights[pinned]) > NEGLIGIBLE_WEIGHT
    return np.unique(embedding.indices[pinned][carried]).astype(np.int32)


def transfer_path(
    rest: NDArray[np.float64], path: NDArray[np.float64], vertices: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Paths of tet vertices from those of the pinned points beside them.

    The rigid motion that fits the points best is followed exactly; what the points do beyond it
    is interpolated from the nearest ones by inverse distance.

    Args:
        rest: (P, 3) pinned points at rest.
        path: (T, P, 3) where they go.
        vertices: (Q, 3) tet vertices at rest.

    Returns:
        (T, Q, 3).
    """
    rotations, offsets = rigid_fits(rest, path)
    residual = path - (np.einsum("tij,pj->tpi", rotations, rest) + offsets[:, None])
    rigid = np.einsum("tij,qj->tqi", rotations, vertices) + offsets[:, None]
    nearest, weights = nearest_weights(rest, vertices)
    result: NDArray[np.float64] = rigid + np.einsum("qk,tqki->tqi", weights, residual[:, nearest])
    return result
