# SPDX-License-Identifier: GPL-3.0-or-later
"""The arrays that contact in explicit steps works on.

Its nodes are the N vertices of tetrahedra and then the C of colliders.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..kernels.contact_constraints import Constraints, GroundLaws, Interpolation
from ..potentials.contact.surface import CollisionSurface
from ..potentials.ground import EmbeddedPoints
from ..system import System


def step_size_owners(surface: CollisionSurface, system: System) -> NDArray[np.int64]:
    """(N,) the node whose step size each node has: its own, or of a collider and of the pins of a
    body the first one."""
    count = system.vertex_count
    pinned = ~system.free.cpu().numpy()
    nodes = np.arange(count)
    slices = [nodes[where][pinned[where]] for where in system.body_slices()]
    colliders = count + np.arange(len(surface.object_of) - surface.body_count)
    owners = np.concatenate([nodes, colliders])
    for group in [*slices, *(colliders[where] for where in surface.collider_slices)]:
        owners[group] = group[:1]
    return owners


def owners_of_objects(
    surface: CollisionSurface, system: System, owners: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return (O,) the nodes with the step sizes of the prescribed parts of objects; any node for a
    body without pins."""
    pinned = ~system.free.cpu().numpy()
    firsts = [where.start + int(np.argmax(pinned[where])) for where in system.body_slices()]
    firsts += [system.vertex_count + where.start for where in surface.collider_slices]
    return owners[np.array(firsts, dtype=np.int64)]


def ground_points(system: System) -> tuple[Interpolation, GroundLaws] | None:
    """The points that the ground of a scene holds up, and how; None without one."""
    barrier = system.ground_barrier
    if barrier is None:
        return None
    points = barrier.points
    if isinstance(points, EmbeddedPoints):
        nodes, weights = points.corners.numpy().T, points.shares.numpy().T
        nodes = np.where(weights != 0.0, nodes, -1)
    else:
        nodes = points.vertices.numpy()[:, None]
        weights = np.ones(nodes.shape)
    interpolation = Interpolation(
        np.ascontiguousarray(nodes, dtype=np.int32), np.ascontiguousarray(weights, dtype=np.float64)
    )
    point_values = (barrier.weights, barrier.distances, *system.obstacles.ground_friction)
    stiffness, distances, static, kinetic = (
        part.numpy().astype(np.float64) for part in point_values
    )
    return interpolation, GroundLaws(stiffness, distances, static, kinetic, barrier.height)


def no_constraints(count: int, width: int) -> Constraints:
    """Places for ``count`` contacts of points that are sums of ``width`` nodes each."""
    return Constraints(
        nodes=np.empty((count, 4 * width), dtype=np.int32),
        coefficients=np.empty((count, 4 * width)),
        normals=np.empty((count, 3)),
        distances=np.empty(count),
        displacements=np.empty((count, 3)),
        dhats=np.empty(count),
        scales=np.empty(count),
        compliances=np.empty(count),
        static=np.empty(count),
        kinetic=np.empty(count),
        kinds=np.empty(count, dtype=np.int8),
        forces=np.empty(count),
        frictions=np.empty((count, 3)),
    )
