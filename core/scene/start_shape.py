# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute the positions and velocities of a body at the start of a simulation. No torch here."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.embedding import Embedding
from ..geometry.tet_mesh import TetMesh
from .soft_body import SoftBody


def tet_mesh_of(body: SoftBody) -> TetMesh:
    """Its tetrahedra.

    Raises:
        SceneError: when it is still a surface.
    """
    if not isinstance(body.mesh, TetMesh):
        raise SceneError(f"{body.name} has no tetrahedra; tetrahedralize the scene first.")
    return body.mesh


def skin_embedding_of(body: SoftBody) -> Embedding:
    """The points of its skin in its tetrahedra.

    Raises:
        SceneError: when it has no skin, or that is not embedded yet.
    """
    if body.skin is None or body.skin.embedding is None:
        raise SceneError(
            f"{body.name}: its skin is not embedded in its tetrahedra; tetrahedralize the scene "
            "first."
        )
    return body.skin.embedding


def start_positions(body: SoftBody) -> NDArray[np.float64]:
    """(N, 3) tet vertices at the start, in metres: in their pose where they have one, moving pins
    where their path begins.

    Raises:
        SceneError: when the body has no tetrahedra.
    """
    mesh, placed = tet_mesh_of(body), body.initial_positions
    if placed is None:
        placed = _rest_at_start(body, mesh) if body.pose is None else body.pose.at(0)
    start = placed.copy()
    if body.pinned is not None and body.pin_path is not None:
        start[body.pinned] = body.pin_path.at(0)
    return start


def _rest_at_start(body: SoftBody, mesh: TetMesh) -> NDArray[np.float64]:
    return mesh.vertices if body.rest_shape is None else body.rest_shape.at_start(mesh.vertices)


def start_velocities(body: SoftBody, frame_time: float) -> NDArray[np.float64]:
    """Return the (N, 3) velocities of a body that has tetrahedra, in m/s: the sum of its rigid
    motion, the motion of its pose, and each vertex's velocity; its first frame takes
    ``frame_time`` seconds.
    """
    start, mass = start_positions(body), tet_mesh_of(body).lumped_mass(body.density)
    arms = start - mass @ start / mass.sum()
    velocities: NDArray[np.float64] = body.velocity + np.cross(body.angular_velocity, arms)
    if (pose := body.pose) is not None and not pose.is_constant:
        velocities += (pose.samples[1] - pose.samples[0]) * (pose.per_frame / frame_time)
    initial = body.initial_velocities
    return velocities if initial is None else velocities + initial
