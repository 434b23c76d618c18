# SPDX-License-Identifier: GPL-3.0-or-later
"""fTetWild and TetGen, where they are installed.

Hu, Schneider, Wang, Zorin and Panozzo, "Fast tetrahedral meshing in the wild", ACM Transactions
on Graphics 39(4), 2020. Needs the package pytetwild.

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

# The envelope sets the time much more than the edge length does. As a fraction of the edge
# length, then bounded as a fraction of the bounding box's diagonal.
_ENVELOPE = 0.2
_ENVELOPE_BOUNDS = (2e-3, 2e-2)
_MAX_FTETWILD_TETS = 500_000


@scratch_folder()
def mesh_ftetwild(
    vertices: NDArray[np.float64], triangles: NDArray[np.intp], edge_length: float
) -> TetMesh:
    """Tets of about `edge_length` (m) in triangles (T, 3) over vertices (V, 3) (m).

    The envelope is a fifth of the edge length, between 2e-3 and 2e-2 of the bounding box's
    diagonal.

    Raises:
        SceneError: pytetwild is not installed, found no tets, or would make too many.
    """
    pytetwild = _import_ftetwild()
    check_budget(vertices, edge_length, REGULAR_TETS_PER_CUBE, _MAX_FTETWILD_TETS)
    centre = vertices.mean(axis=0)
    diagonal = float(np.linalg.norm(np.ptp(vertices, axis=0)))
    envelope = float(np.clip(_ENVELOPE * edge_length / diagonal, *_ENVELOPE_BOUNDS))
    try:
        # In units of the diagonal: the package is tuned for meshes of about that size.
        points, tets = pytetwild.tetrahedralize(
            np.ascontiguousarray((vertices - centre) / diagonal),
            np.ascontiguousarray(triangles, dtype=np.int32),
            edge_length_abs=edge_length / diagonal,
            epsilon=envelope,
        )
    except RuntimeError as error:
        raise SceneError(
            f"fTetWild could not fill the mesh ({error}); use the lattice method."
        ) from error
    if len(tets) == 0:
        raise SceneError("fTetWild found no inside to fill; use the lattice method.")
    points, tets = without_unreferenced(points, tets)
    return TetMesh(points * diagonal + centre, tets)


def _import_ftetwild() -> ModuleType:
    try:
        import pytetwild
    except ImportError as error:
        raise SceneError(
            "The fTetWild method needs the package pytetwild 0.2.3, which is not installed; "
            "install it where the solver runs or use the lattice method."
        ) from error
    return pytetwild


_MAX_TETGEN_TETS = 5_000_000
_RADIUS_EDGE_RATIO = 1.4
_SMALLEST_DIHEDRAL = 10.0


@scratch_folder()
def mesh_tetgen(
    vertices: NDArray[np.float64], triangles: NDArray[np.intp], edge_length: float
) -> TetMesh:
    """Tets of at most about `edge_length` (m) in triangles (T, 3) over vertices (V, 3) (m).

    Smaller triangles give smaller tets.

    Raises:
        SceneError: tetgen is not installed, or the surface is open or intersects itself.
    """
    module = _import_tetgen()
    check_budget(vertices, edge_length, REGULAR_TETS_PER_CUBE, _MAX_TETGEN_TETS)
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


def _import_tetgen() -> ModuleType:
    try:
        import tetgen
    except ImportError as error:
        raise SceneError(
            "The TetGen method needs the package tetgen, which is not installed; install it where "
            "the solver runs or use the lattice method."
        ) from error
    return tetgen
