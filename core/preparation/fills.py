# SPDX-License-Identifier: GPL-3.0-or-later
"""Fills the surfaces of a scene with tetrahedra, and chooses what of them touches.

A surface is filled where its object's own axes are those of the lattice, wherever it lies and
however it is turned or mirrored: its tetrahedra depend on its own shape and settings. Copies, alike
in that pose, take the same, so that a heap of them is filled in the time of one. No torch here.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.tet_mesh import TetMesh
from ..meshing import tetrahedralize
from ..meshing.report import report as report_mesh
from ..meshing.surface import check_surface, default_edge_length
from ..scene.contact_settings import ContactSurface
from ..scene.skin import Skin, SurfaceMesh
from ..scene.soft_body import SoftBody
from .carried_parts import carried_parts
from .contact_surface import with_contact_surfaces
from .paint_transfer import with_painted_settings

# Of the size of a surface: as far as a copy may be from it, by rounding in single precision.
ROUNDING_RATIO = 1e-6

Points = NDArray[np.float64]
Triangles = NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class _Pose:
    """Where an object stands: its (3, 3) axes, as columns, and its (3,) origin, in metres."""

    axes: Points
    origin: Points

    @staticmethod
    def of(surface: SurfaceMesh) -> _Pose:
        axes = np.eye(3) if surface.axes is None else surface.axes
        return _Pose(axes, surface.vertices.mean(axis=0))

    def local(self, points: Points) -> Points:
        """Points (..., 3) of the world, in the object's own axes."""
        return (points - self.origin) @ self.axes

    def placed(self, points: Points) -> Points:
        """Points (..., 3) in the object's own axes, in the world."""
        return points @ self.axes.T + self.origin

    def turned(self, triangles: Triangles) -> Triangles:
        """Triangles (T, 3) seen from the same side, whether the axes mirror or not."""
        is_mirrored = np.linalg.det(self.axes) < 0.0
        return np.ascontiguousarray(triangles[:, ::-1]) if is_mirrored else triangles

    def local_surface(self, surface: SurfaceMesh) -> SurfaceMesh:
        vertices, triangles = self.local(surface.vertices), self.turned(surface.triangles)
        return replace(surface, vertices=vertices, triangles=triangles, axes=None)

    def local_contact(self, surface: ContactSurface | None) -> ContactSurface | None:
        if surface is None:
            return None
        points, triangles = self.local(surface.points), self.turned(surface.triangles)
        return replace(surface, points=points, triangles=triangles)

    def placed_contact(self, surface: ContactSurface | None) -> ContactSurface | None:
        if surface is None:
            return None
        points, triangles = self.placed(surface.points), self.turned(surface.triangles)
        return replace(surface, points=points, triangles=triangles)

    def placed_mesh(self, mesh: TetMesh) -> TetMesh:
        placed = mesh.with_vertices(self.placed(mesh.vertices))
        if (tets := mesh.surface_tets) is not None:
            places, triangles = self.placed(tets.places), self.placed(tets.triangles)
            placed.surface_tets = replace(tets, places=places, triangles=triangles)
        return placed


@dataclass(frozen=True, eq=False)
class _Fill:
    """A surface in its own axes, and the body with its tetrahedra and what of them touches."""

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
        pose = _Pose.of(surface)
        local = pose.local_surface(surface)
        own_contact = pose.local_contact(body.contact_surface)
        fill = None if own_contact is not None else self._alike(body, local)
        if fill is None:
            fill = self._filled(replace(body, contact_surface=own_contact), local)
            if own_contact is None:
                self._fills.append(fill)
        mesh = fill.body.mesh
        assert isinstance(mesh, TetMesh)
        placed = replace(
            with_painted_settings(body, surface, mesh, local),
            mesh=pose.placed_mesh(mesh),
            skin=body.skin or Skin(surface.vertices),
            contact_surface=pose.placed_contact(fill.body.contact_surface),
            seen_surface=pose.placed_contact(fill.body.seen_surface),
        )
        return placed, {**fill.report, "name": body.name}

    def _filled(self, body: SoftBody, surface: SurfaceMesh) -> _Fill:
        seen = ContactSurface(surface.vertices, surface.triangles)
        try:
            carried = _carried(surface)
            mesh = tetrahedralize(
                *(surface.vertices, surface.triangles[~carried]),
                *(surface.method, surface.edge_length),
            )
        except SceneError as error:
            raise SceneError(f"{body.name}: {error}") from error
        report = report_mesh(mesh, surface.vertices, surface.triangles, surface.edge_length)
        if carried.any():
            seen = replace(seen, through_own=carried)
        is_affordable = len(surface.triangles) <= self._most_faces
        filled, verdict = with_contact_surfaces(
            replace(body, mesh=mesh), seen, self._has_contact, is_affordable
        )
        summary = {"summary": f"{report}; {verdict}", "touching": str(verdict)}
        return _Fill(surface, filled, {**asdict(report), **summary})

    def _alike(self, body: SoftBody, surface: SurfaceMesh) -> _Fill | None:
        """The fill of a surface that is the same in its own axes; None where there is none."""
        for fill in self._fills:
            if fill.body.touching == body.touching and _are_alike(fill.surface, surface):
                return fill
        return None


def _carried(surface: SurfaceMesh) -> NDArray[np.bool_]:
    """(F,) which triangles the tetrahedra leave out, since larger parts carry theirs."""
    if surface.method != "lattice":
        return np.zeros(len(surface.triangles), dtype=bool)
    points, triangles = check_surface(surface.vertices, surface.triangles)
    edge_length = surface.edge_length or default_edge_length(points, triangles)
    return carried_parts(points, triangles.astype(np.int32), edge_length)


def _are_alike(first: SurfaceMesh, second: SurfaceMesh) -> bool:
    """Whether two surfaces in their own axes are to be filled alike."""
    if (
        first.method != second.method
        or first.vertices.shape != second.vertices.shape
        or not _are_close(first.edge_length, second.edge_length)
        or not np.array_equal(first.triangles, second.triangles)
    ):
        return False
    farthest = float(np.abs(first.vertices - second.vertices).max())
    size = float(np.ptp(first.vertices, axis=0).max())
    return farthest <= ROUNDING_RATIO * size


def _are_close(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    return abs(first - second) <= ROUNDING_RATIO * first
