# SPDX-License-Identifier: GPL-3.0-or-later
"""From a triangle surface to tetrahedra, by one of several methods."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import first_use
from ..errors import SceneError
from ..geometry.tet_mesh import TetMesh
from .other_meshers import mesh_ftetwild, mesh_tetgen
from .surface import check_surface, default_edge_length, is_tetrahedron


def _mesh_lattice(
    vertices: NDArray[np.float64], triangles: NDArray[np.intp], edge_length: float
) -> TetMesh:
    # Its loops and graphs want packages that Blender itself does not have.
    from .lattice import mesh_lattice

    return mesh_lattice(vertices, triangles, edge_length)


METHODS = {"lattice": _mesh_lattice, "ftetwild": mesh_ftetwild, "tetgen": mesh_tetgen}


def _longest_edge(corners: NDArray[np.float64]) -> float:
    """Return the longest of the six edges of a tetrahedron."""
    return float(np.linalg.norm(corners[:, None] - corners, axis=2).max())


def tetrahedralize(
    vertices: ArrayLike,
    triangles: ArrayLike,
    method: str = "lattice",
    edge_length: float | None = None,
) -> TetMesh:
    """Fill a surface with tetrahedra.

    Args:
        vertices: (V, 3) positions in metres.
        triangles: (T, 3) vertex indices.
        method: "lattice" takes any surface: open, intersecting itself, inside out, in several
            shells. "ftetwild" follows it more closely and takes seconds to minutes. "tetgen"
            keeps its triangles and needs it closed and free of intersections. The last two are
            optional packages in native code: call them where a crash does no harm.
        edge_length: of a typical tet, in metres; the default gives about three thousand. A surface
            that is a tetrahedron stays one, where a cube of this length may hold it.

    Raises:
        SceneError: on a surface or a setting that cannot be meshed, in words for the user.
    """
    first_use.watch()
    surface = check_surface(vertices, triangles)
    if method not in METHODS:
        known = ", ".join(METHODS)
        raise SceneError(f"There is no tetrahedralizer called '{method}'; choose one of {known}.")
    if edge_length is None:
        edge_length = default_edge_length(*surface)
    elif not 0.0 < edge_length < float("inf"):
        raise SceneError(f"The edge length is {edge_length} m; it must be more than zero.")
    if is_tetrahedron(surface[1]) and _longest_edge(surface[0]) <= 3.0**0.5 * edge_length:
        return TetMesh(surface[0], [[0, 1, 2, 3]])
    return METHODS[method](*surface, float(edge_length))
