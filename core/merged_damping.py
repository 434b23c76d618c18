# SPDX-License-Identifier: GPL-3.0-or-later
"""How fast velocities decay, for the vertices of several bodies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from .geometry.tet_mesh import TetMesh
from .scene.soft_body import PerTet, SoftBody


def merged_damping(
    bodies: list[SoftBody],
    meshes: list[TetMesh],
    tensor: Callable[[NDArray[np.float64]], Tensor],
) -> Tensor | float:
    """α in 1/s: a number where all have the same, else (N,).

    Args:
        bodies, meshes: they go together.
        tensor: makes one of an array.
    """
    rates = [_vertex_rates(*both) for both in zip(bodies, meshes, strict=True)]
    if all(np.ndim(rate) == 0 and rate == rates[0] for rate in rates):
        return float(rates[0])
    each = zip(rates, meshes, strict=True)
    return tensor(np.concatenate([np.broadcast_to(own, len(mesh.vertices)) for own, mesh in each]))


def _vertex_rates(body: SoftBody, mesh: TetMesh) -> PerTet:
    """The damping of a body, or (N,) of its vertices, which have the mean of the tets around them
    by their mass."""
    if np.ndim(body.damping) == 0:
        return body.damping
    density = np.asarray(body.density)
    return mesh.lumped_mass(density * body.damping) / mesh.lumped_mass(density)
