# SPDX-License-Identifier: GPL-3.0-or-later
"""What presses on the surfaces of bodies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import SceneError
from ..potentials import GroundBarrier
from ..potentials.ground_points import EmbeddedPoints
from ..state import State
from ..system import System
from .fields import Field, IsImplicit, by_body
from .surface_forces import SurfaceForces

Values = NDArray[np.float64]


def contact_pressure(system: System, is_implicit: IsImplicit) -> Field:
    """Normal force over area at rest, in Pa, of each vertex that carries some of the surface; zero
    of all others.

    Forces are the gradients of barriers where the frame ends: implicit and explicit steps alike
    solve for these there.

    Raises:
        SceneError: when something pushes without a force that is known, or with one that adapts.
    """
    if system.obstacles.need_explicit_steps:
        who = "spheres put" if system.obstacles.colliders else "a bouncy ground puts"
        raise SceneError(
            f"{system.names}: the contact pressure is not known, since {who} back what falls in "
            "without a force that lasts. Use a smooth ground, and mesh colliders with contact, or "
            "do not record it."
        )
    barrier = system.ground_barrier
    ground = None if barrier is None else _Carriers.of_ground(system, barrier)
    forces = None if system.scene.contact is None else SurfaceForces(system)
    surfaces = None if forces is None else _Carriers.of_surfaces(forces)

    def field(state: State) -> list[Tensor]:
        pressures = np.zeros(system.vertex_count)
        if barrier is not None and ground is not None:
            own = barrier.normal_force(state.positions)
            pressures += ground.pressures(own.double().cpu().numpy())
        if forces is not None and surfaces is not None:
            own_forces = forces.at(state, is_implicit())
            pressures += surfaces.pressures(np.linalg.norm(own_forces, axis=1))
        return by_body(system, torch.as_tensor(pressures).to(state.positions))

    return field


@dataclass(frozen=True, eq=False)
class _Carriers:
    """How P points of surfaces share forces among N vertices: as these carry them, but that none
    pulls where others push.

    Args:
        shares: (N, P) sparse, none negative; those of a point sum to one.
        areas: (P,) around the points at rest, in m².
    """

    shares: Any
    areas: Values

    @staticmethod
    def of_ground(system: System, barrier: GroundBarrier) -> _Carriers:
        points = barrier.points
        corners, shares = barrier.vertices[None], torch.ones(1, len(points))
        if isinstance(points, EmbeddedPoints):
            corners, shares = points.corners, points.shares
        columns, values = corners.T.cpu().numpy(), shares.T.double().cpu().numpy()
        rows = np.repeat(np.arange(len(points)), columns.shape[1])
        size = len(points), system.vertex_count
        carried = sparse.coo_array((values.ravel(), (rows, columns.ravel())), size)
        return _Carriers.of(carried, system.obstacles.areas)

    @staticmethod
    def of_surfaces(forces: SurfaceForces) -> _Carriers:
        surface = forces.surface
        return _Carriers.of(surface.displacement_map, surface.body_areas)

    @staticmethod
    def of(carried: Any, areas: Values) -> _Carriers:
        """By a (P, N) matrix from vertices to points."""
        shares = carried.tocsr().maximum(0.0)
        sums = np.asarray(shares.sum(axis=1)).ravel()
        return _Carriers((sparse.diags_array(1.0 / sums) @ shares).T.tocsr(), areas)

    @property
    def vertex_areas(self) -> Values:
        """(N,) of the surface that each vertex carries, in m²."""
        return np.asarray(self.shares @ self.areas)

    def pressures(self, forces: Values) -> Values:
        """(N,) in Pa from (P,) in newtons: the mean of those of the points, by area."""
        on_vertices, areas = self.shares @ forces, self.vertex_areas
        return np.divide(on_vertices, areas, out=np.zeros(len(areas)), where=areas > 0.0)
