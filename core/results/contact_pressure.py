# SPDX-License-Identifier: GPL-3.0-or-later
"""The pressure between surfaces, by the barrier that the steps have solved for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sparse
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import SceneError
from ..integrators.contact_nodes import no_constraints
from ..kernels.barrier import barrier_derivative
from ..kernels.contact_constraints import (
    Constraints,
    Interpolation,
    PairLaws,
    find_pairs,
    write_pairs,
)
from ..potentials import GroundBarrier
from ..potentials.contact.barrier import ContactBarrier, physical_stiffness
from ..potentials.contact.collision_detection import Candidates, Detection, pair_distances
from ..potentials.contact.normal_collisions import NormalCollisions, Stencils
from ..potentials.contact.surface import CollisionSurface
from ..potentials.ground import EmbeddedPoints
from ..scene.collision_points import contact_distances
from ..state import State
from ..system import System
from .fields import Field, IsImplicit, split_by_body

Points = NDArray[np.float64]


class SurfaceForces:
    """Normal forces between the surfaces of a system with contact.

    Raises:
        SceneError: when the stiffness of contact adapts.
    """

    def __init__(self, system: System) -> None:
        scene, contact = system.scene, system.scene.contact
        assert contact is not None
        self.surface = surface = CollisionSurface(scene, system.meshes)
        self._distances = distances = contact_distances(scene)
        self._detection = Detection(surface, distances)
        self._is_area_weighted = contact.formulation == "convergent"
        stiffness = physical_stiffness(scene) if self._is_area_weighted else contact.stiffness
        if stiffness is None:
            raise SceneError(
                f"{system.names}: the contact pressure is unknown with an adaptive contact "
                "stiffness. Give contact a stiffness, choose its method Convergent, or do not "
                "record the pressure."
            )
        self._stiffness = np.broadcast_to(np.asarray(stiffness, dtype=float), distances.shape)

    def at(self, state: State, is_implicit: bool) -> Points:
        """Return the (B, 3) forces on the vertices of the bodies' surfaces, in newtons.

        Args:
            state: at the end of a frame.
            is_implicit: whether implicit steps took it.
        """
        surface = self.surface
        points = surface.points(state.positions.cpu().numpy(), surface.colliders_in(state))
        self._detection.build_swept_candidates(points, points)
        find_forces = self._implicit_forces if is_implicit else self._explicit_forces
        return find_forces(points, self._detection.candidates)[: surface.body_count]

    def _implicit_forces(self, points: Points, candidates: Candidates) -> Points:
        barrier = ContactBarrier(self.surface, self._stiffness.copy(), self._is_area_weighted)
        topology, is_area_weighted = self.surface.topology, self._is_area_weighted
        collisions = NormalCollisions.of(
            candidates, points, topology, self._distances, is_area_weighted, self.surface
        )
        return -barrier.gradient(Stencils.of(collisions, points))

    def _explicit_forces(self, points: Points, candidates: Candidates) -> Points:
        contacts = self._linear_contacts(points, candidates)
        forces = _barrier_forces(contacts)[:, None] * contacts.normals
        out = np.zeros_like(points)
        for nodes, coefficients in zip(contacts.nodes.T, contacts.coefficients.T, strict=True):
            used = nodes >= 0
            np.add.at(out, nodes[used], coefficients[used, None] * forces[used])
        return out

    def _linear_contacts(self, points: Points, candidates: Candidates) -> Constraints:
        """Find contacts of the points themselves, without the vertices that carry them."""
        surface, distances = self.surface, self._distances
        stencils = candidates.stencils(surface.edges, surface.triangles)
        still, shares = np.zeros_like(points), np.empty(len(candidates))
        dhats = pair_distances(candidates, surface, distances)
        itself = Interpolation(
            np.arange(len(points), dtype=np.int32)[:, None], np.ones((len(points), 1))
        )
        # Friction and how easily points give way have no part in it.
        none = np.zeros_like(distances)
        laws = PairLaws(distances, self._stiffness.copy(), none, none, self._is_area_weighted)
        # The frame has ended, so no pair is blocked.
        blocked = np.zeros(len(candidates), dtype=np.int64)
        pairs = (stencils, dhats, blocked, surface.topology, laws, points, points)
        find_pairs(*pairs, np.zeros(len(candidates)), shares)
        near = np.flatnonzero(shares)
        constraints = no_constraints(len(near), 1)
        write_pairs(near, *pairs, shares, itself, still, np.zeros(len(points)), constraints)
        return constraints


def _barrier_forces(contacts: Constraints) -> NDArray[np.float64]:
    """Return the (K,) forces in newtons: −∂/∂d of s β(q) with q = (d/d̂)²."""
    ratios = np.minimum(contacts.distances / contacts.dhats, 1.0)
    derivatives = barrier_derivative(torch.from_numpy(ratios * ratios)).numpy()
    return -contacts.scales * derivatives * 2.0 * ratios / contacts.dhats


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
        who = "spheres move" if system.obstacles.colliders else "a bouncy ground moves"
        raise SceneError(
            f"{system.names}: the contact pressure is unknown, since {who} vertices back without a "
            "lasting force. Use a smooth ground, and mesh colliders with contact, or do not "
            "record the pressure."
        )
    barrier = system.ground_barrier
    ground = None if barrier is None else _Carriers.for_ground(system, barrier)
    forces = None if system.scene.contact is None else SurfaceForces(system)
    surfaces = None if forces is None else _Carriers.for_surfaces(forces)

    def field(state: State) -> list[Tensor]:
        pressures = np.zeros(system.vertex_count)
        if barrier is not None and ground is not None:
            ground_forces = barrier.normal_force(state.positions)
            pressures += ground.pressures(ground_forces.double().cpu().numpy())
        if forces is not None and surfaces is not None:
            own_forces = forces.at(state, is_implicit())
            pressures += surfaces.pressures(np.linalg.norm(own_forces, axis=1))
        return split_by_body(system, torch.as_tensor(pressures).to(state.positions))

    return field


@dataclass(frozen=True, eq=False)
class _Carriers:
    """The shares of P surface points' forces that N vertices bear: their interpolation weights,
    without negative ones.

    Args:
        shares: (N, P) sparse, none negative; those of a point sum to one.
        areas: (P,) around the points at rest, in m².
    """

    shares: Any
    areas: Values

    @staticmethod
    def for_ground(system: System, barrier: GroundBarrier) -> _Carriers:
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
    def for_surfaces(forces: SurfaceForces) -> _Carriers:
        surface = forces.surface
        return _Carriers.of(surface.displacement_map, surface.body_areas)

    @staticmethod
    def of(carried: Any, areas: Values) -> _Carriers:
        """Build the shares from a (P, N) matrix that maps vertices to points."""
        shares = carried.tocsr().maximum(0.0)
        sums = np.asarray(shares.sum(axis=1)).ravel()
        return _Carriers((sparse.diags_array(1.0 / sums) @ shares).T.tocsr(), areas)

    @property
    def vertex_areas(self) -> Values:
        """Return the (N,) area of the surface that each vertex carries, in m²."""
        return np.asarray(self.shares @ self.areas)

    def pressures(self, forces: Values) -> Values:
        """Return the (N,) pressures in Pa from (P,) forces in newtons: the means over the
        points, by area."""
        on_vertices, areas = self.shares @ forces, self.vertex_areas
        return np.divide(on_vertices, areas, out=np.zeros(len(areas)), where=areas > 0.0)
