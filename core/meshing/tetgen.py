# SPDX-License-Identifier: GPL-3.0-or-later
"""TetGen: tets that keep every triangle of a clean, closed surface.

Si, "TetGen, a Delaunay-based quality tetrahedral mesh generator", ACM Transactions on
Mathematical Software 41(2), 2015. Needs the package tetgen, whose core is under the AGPL: it is
used where the user has installed it and never required.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.tet_mesh import TetMesh
from ..geometry.triangles import without_unreferenced
from .surface import REGULAR_TETS_PER_CUBE, check_budget, is_closed, scratch_folder

_MAX_TETS = 5_000_000
_RADIUS_EDGE_RATIO = 1.4
_SMALLEST_DIHEDRAL = 10.0


@scratch_folder()
def mesh_tetgen(
    vertices: NDArray[np.float64], triangles: NDArray[np.intp], edge_length: float
) -> TetMesh:
    """Tets of at most about `edge_length` (m) in triangles (T, 3) over vertices (V, 3) (m).

    Where the triangles are smaller, so are the tets.

    Raises:
        SceneError: tetgen is not installed, or the surface is open or intersects itself.
    """
    module = _import()
    check_budget(vertices, edge_length, REGULAR_TETS_PER_CUBE, _MAX_TETS)
    if not is_closed(triangles):
        raise SceneError(
            "TetGen needs a closed surface whose normals agree, and this one has holes or flipped "
            "faces; close it or use the lattice method."
        )
    centre = vertices.mean(axis=0)
    surface = (np.ascontiguousarray(vertices - centre), triangles.astype(np.int32))
    try:
        points, tets, *_ = module.TetGen(*surface).tetrahedralize(
            minratio=_RADIUS_EDGE_RATIO,
            mindihedral=_SMALLEST_DIHEDRAL,
            fixedvolume=True,
            maxvolume=edge_length**3 / REGULAR_TETS_PER_CUBE,
        )
    except RuntimeError as error:
        raise SceneError(
            f"TetGen refused the surface ({str(error).rstrip('.')}); repair it or use the lattice "
            "method."
        ) from error
    points, tets = without_unreferenced(points, tets)
    return TetMesh(points + centre, tets)


def _import() -> ModuleType:
    try:
        import tetgen
    except ImportError as error:
        raise SceneError(
            "The TetGen method needs the package tetgen, which is not installed; install it where "
            "the solver runs or use the lattice method."
        ) from error
    module: ModuleType = tetgen
    return module
