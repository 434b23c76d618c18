# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the results of a frame from a file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..errors import DamageError
from ..geometry.tet_mesh import TetMesh
from ..results import RESULTS
from .files import read_arrays


def read_fields(
    path: Path, names: Iterable[str], meshes: list[TetMesh]
) -> dict[str, NDArray[np.float32]]:
    """Read the values of all bodies, by result name; errors as of ``read_arrays``.

    Raises:
        DamageError: when they are not of these results and tetrahedra.
    """
    fields = read_arrays(path)
    for name in names:
        values, expected = fields.get(name), (sum(value_counts(name, meshes)),)
        if values is None or values.shape != expected or values.dtype != np.float32:
            raise DamageError(path, f"it holds no {name} of this scene")
        if not np.isfinite(values).all():
            raise DamageError(path, f"{name} is not finite")
    return fields


def value_counts(name: str, meshes: Iterable[TetMesh]) -> list[int]:
    """Return the number of values of a result on each body."""
    is_of_tets = RESULTS[name].per == "tet"
    return [len(mesh.tets if is_of_tets else mesh.vertices) for mesh in meshes]
