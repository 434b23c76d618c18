# SPDX-License-Identifier: GPL-3.0-or-later
"""Fills the surfaces of a scene with tetrahedra, and chooses what of them touches.

A copy of a surface, wherever it lies and however it is turned, takes the tetrahedra of the first: a
heap of copies is filled in the time of one, and they are alike. No torch here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.rigid_fit import rigid_fit
from ..geometry.tet_mesh import TetMesh
from ..meshing import tetrahedralize
from ..meshing.report import report as report_mesh
from ..scene.contact_settings import ContactSurface
from ..scene.skin import Skin, SurfaceMesh
from ..scene.soft_body import SoftBody
from .contact_surface import with_contact_surfaces
from .paint_transfer import with_painted_settings

# Of the size of a surface: as far as a copy may be from it, by rounding in single precision.
ROUNDING_RATIO = 1e-6

Points = NDArray[np.float64]
Motion = Callable[[Points], Points]


@dataclass(frozen=True, eq=False)
class _Fill:
    """A surface, and the body with its tetrahedra and what of them touches."""

    surface: SurfaceMesh
    body: SoftBody
    report: dict[str, Any]


class Fills:
    """The surfaces of one scene that are filled.

    Args:
        has_contact: whether there is contact, not the ground and spheres alone.
        most_faces: of a dense mesh that may touch, where no simpler copy can.
    """

    def __init__(self, has_contact: bool, most_faces: int) -> None:
        self._has_contact, self._most_faces = has_contact, most_faces
        self._fills: list[_Fill] = []

    def fill(self, body: SoftBody, surface: SurfaceMesh) -> tuple[SoftBody, dict[str, Any]]:
        """The body with the tetrahedra of its surface, and a report on these.

        Raises:
            SceneError: when the surface cannot be filled.
        """
        filled = self._copied(body, surface) or self._filled(body, surface)
        mesh = filled.body.mesh
        assert isinstance(mesh, TetMesh)
        return with_painted_settings(filled.body, surface, mesh), dict(filled.report)

    def _filled(self, body: SoftBody, surface: SurfaceMesh) -> _Fill:
        try:
            mesh = tetrahedralize(
                surface.vertices, surface.triangles, surface.method, surface.edge_length
            )
        except SceneError as error:
            raise SceneError(f"{body.name}: {error}") from error
        report = report_mesh(mesh, surface.vertices, surface.triangles)
        body = replace(body, mesh=mesh, skin=body.skin or Skin(surface.vertices))
        seen = ContactSurface(surface.vertices, surface.triangles)
        is_affordable = len(surface.triangles) <= self._most_faces
        found, verdict = with_contact_surfaces(body, seen, self._has_contact, is_affordable)
        summary = {"summary": f"{report}; {verdict}", "touching": str(verdict)}
        fill = _Fill(surface, found, {"name": body.name, **asdict(report), **summary})
        if body.contact_surface is None:
            self._fills.append(fill)
        return fill

    def _copied(self, body: SoftBody, surface: SurfaceMesh) -> _Fill | None:
        """By the first fill of which the surface is a copy; None where there is none."""
        if body.contact_surface is not None:
            return None
        for fill in self._fills:
            motion = _motion(fill.surface, surface)
            if motion is not None and fill.body.touching == body.touching:
                return _moved(fill, motion, body, surface)
        return None


def _motion(first: SurfaceMesh, second: SurfaceMesh) -> Motion | None:
    """The rigid motion that takes one surface to the other, where they are to be filled alike."""
    if (
        first.method != second.method
        or first.vertices.shape != second.vertices.shape
        or not _are_close(first.edge_length, second.edge_length)
        or not np.array_equal(first.triangles, second.triangles)
    ):
        return None
    rotation, offset = rigid_fit(first.vertices, second.vertices)

    def move(points: Points) -> Points:
        return points @ rotation.T + offset

    farthest = float(np.abs(move(first.vertices) - second.vertices).max())
    size = float(np.ptp(first.vertices, axis=0).max())
    return move if farthest <= ROUNDING_RATIO * size else None


def _are_close(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return abs(first - second) <= ROUNDING_RATIO * first


def _moved(fill: _Fill, move: Motion, body: SoftBody, surface: SurfaceMesh) -> _Fill:
    """A body with what one that is like it has."""
    mesh = fill.body.mesh
    assert isinstance(mesh, TetMesh)
    own = mesh.with_vertices(move(mesh.vertices))
    if (tets := mesh.surface_tets) is not None:
        triangles = move(tets.triangles)
        own.surface_tets = replace(tets, places=move(tets.places), triangles=triangles)

    def moved(touching: ContactSurface | None) -> ContactSurface | None:
        return None if touching is None else replace(touching, points=move(touching.points))

    body = replace(
        body,
        mesh=own,
        skin=body.skin or Skin(surface.vertices),
        contact_surface=moved(fill.body.contact_surface),
        seen_surface=moved(fill.body.seen_surface),
    )
    return _Fill(surface, body, {**fill.report, "name": body.name})
