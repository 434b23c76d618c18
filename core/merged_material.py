# SPDX-License-Identifier: GPL-3.0-or-later
"""One material for the tets of several bodies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from .geometry.tet_mesh import TetMesh
from .materials import Material
from .materials.material import PARAMETERS


def merged_material(
    parts: list[tuple[Material, TetMesh]], tensor: Callable[[NDArray[np.float64]], Tensor]
) -> Material:
    """Of one model; its parameters are tensors, a number a tet, where they differ.

    Args:
        parts: of each body its material and its tetrahedra.
        tensor: makes one of an array.
    """
    materials = [_filled(material, mesh) for material, mesh in parts]
    merged: dict[str, float | Tensor] = {}
    for name in PARAMETERS:
        values = [np.asarray(getattr(material, name), dtype=float) for material in materials]
        if all(value.ndim == 0 and value == values[0] for value in values):
            merged[name] = float(values[0])
        else:
            each = [
                np.broadcast_to(value, len(mesh.tets))
                for value, (_, mesh) in zip(values, parts, strict=True)
            ]
            merged[name] = tensor(np.concatenate(each))
    return replace(materials[0], **merged)


def fill(mesh: TetMesh) -> NDArray[np.float64]:
    """(M,) fraction of each tet that is material."""
    return np.ones(len(mesh.tets)) if mesh.fill is None else mesh.fill


def _filled(material: Material, mesh: TetMesh) -> Material:
    """The material, as much softer in each tet as that is empty."""
    if mesh.fill is None:
        return material
    return replace(material, young=np.asarray(material.young) * mesh.fill)
