# SPDX-License-Identifier: GPL-3.0-or-later
"""The shape that a body starts in, carried over to its tetrahedra."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..geometry.embedding import embed
from ..geometry.posed_tets import posed_vertices
from ..geometry.tet_mesh import TetMesh, signed_volumes
from ..scene.soft_body import SoftBody
from ..scene.start import RunStart
from ..scene.start_shape import skin_embedding_of, start_positions, tet_mesh_of
from .tet_rest_transfer import rest_mesh

# J = det F, below which a tet counts as flat.
FLAT_VOLUME_RATIO = 0.01


def with_start(body: SoftBody) -> tuple[SoftBody, str]:
    """A body of tetrahedra with positions and velocities at the start, and a warning where tets
    are flat or inside out there.

    Args:
        body: its skin embedded.
    """
    start = body.start
    if start is None:
        return body, ""
    mesh = tet_mesh_of(body)
    if isinstance(start, RunStart):
        body = _as_it_was(body, rest_mesh(body), start)
    else:
        placed = posed_vertices(mesh, skin_embedding_of(body), start.points)
        body = replace(body, start=None, initial_positions=placed)
    return body, _inverted(body, mesh)


def _as_it_was(body: SoftBody, mesh: TetMesh, start: RunStart) -> SoftBody:
    other, positions, velocities = start.mesh, start.positions, start.velocities
    # Where tets overlap, a vertex may lie in one that it is no corner of.
    if not (
        np.array_equal(other.vertices, mesh.vertices) and np.array_equal(other.tets, mesh.tets)
    ):
        where = embed(other, mesh.vertices)
        positions, velocities = where.interpolate(positions), where.interpolate(velocities)
    return replace(body, start=None, initial_positions=positions, initial_velocities=velocities)


def _inverted(body: SoftBody, mesh: TetMesh) -> str:
    """Such as ``its start shape leaves 3 tets flat or inside out, the worst at vertex 12: …``."""
    positions = start_positions(body)
    ratios = signed_volumes(positions, mesh.tets) / mesh.rest_volumes
    turned = np.flatnonzero(ratios < FLAT_VOLUME_RATIO)
    if len(turned) == 0:
        return ""
    corners = mesh.tets[ratios.argmin()]
    points = mesh.vertices if body.skin is None else body.skin.points
    middle = mesh.vertices[corners].mean(axis=0)
    vertex = int(np.linalg.norm(points - middle, axis=1).argmin())
    count = "1 tet" if len(turned) == 1 else f"{len(turned)} tets"
    return (
        f"its start shape leaves {count} flat or inside out, the worst at vertex {vertex}: bend it "
        "less there, or choose a coarser resolution"
    )
