# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact and its barrier as functions on autograd's tape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..kernels.collisions import POINT_EDGE, POINT_FACE, POINTS
from ..math3.closest_points import CROSSING, END, INSIDE
from ..potentials import TimeStep
from ..potentials.contact.collision_detection import Detection
from ..potentials.contact.mesh_contact import STICK_SPEED_RATIO
from ..potentials.contact.normal_collisions import NormalCollisions, assembled
from ..potentials.contact.surface import CollisionSurface, Indices, Points, Values
from ..potentials.ground import slide_lengths
from ..scene.collision_points import contact_distances, pair_distances
from ..scene.friction import NO_FRICTION, slide_stiffness
from ..system import System
from .quantities import Quantities

Rows = tuple[tuple[float, float, float, float], ...]
_NONE = (0.0, 0.0, 0.0, 0.0)


def _shares_of(feature: int) -> Rows:
    """Return the weights of the four vertices in the difference of the closest points: constant,
    and along either parameter, zero where that is fixed."""
    if feature == POINTS:
        return (1.0, -1.0, 0.0, 0.0), _NONE, _NONE
    if feature == POINT_EDGE:
        return (1.0, -1.0, 0.0, 0.0), (0.0, 1.0, -1.0, 0.0), _NONE
    if feature == POINT_FACE:
        return (1.0, -1.0, 0.0, 0.0), (0.0, 1.0, -1.0, 0.0), (0.0, 1.0, 0.0, -1.0)
    first, second = float(feature // 3 == END), float(feature % 3 == END)
    along_first = (-1.0, 1.0, 0.0, 0.0) if feature // 3 == INSIDE else _NONE
    along_second = (0.0, 0.0, 1.0, -1.0) if feature % 3 == INSIDE else _NONE
    return (1.0 - first, first, second - 1.0, -second), along_first, along_second


class ClosestPoints:
    """The closest points of pairs, on the lines and planes of their features.

    Args:
        collisions: K pairs with constant features.
    """

    def __init__(self, collisions: NormalCollisions) -> None:
        features = torch.as_tensor(collisions.features)
        table = torch.tensor([_shares_of(k) for k in range(POINT_FACE + 1)], dtype=torch.float64)
        self._shares = table[features]
        self._thresholds = torch.as_tensor(collisions.thresholds)
        self._is_mollified = features <= CROSSING
        self.collisions = collisions
        self.vertices = torch.as_tensor(collisions.vertices)
        first, second = torch.as_tensor(collisions.objects.T.copy())
        #: Places of the pairs in tables of every two objects.
        self.objects = first, second
        #: (K,) the same for pairs of the same two objects.
        self.groups = torch.unique(torch.stack(self.objects), dim=1, return_inverse=True)[1]
        self.weights = torch.as_tensor(collisions.weights)

    def __len__(self) -> int:
        return len(self.collisions)

    def at(self, corners: Tensor) -> tuple[Tensor, Tensor]:
        """(K, 3) differences of the closest points, and the (K, 4) shares of the vertices in them.

        Args:
            corners: (K, 4, 3) where the vertices are.
        """
        offset, first, second = torch.einsum("kpa,kai->pki", self._shares, corners)
        a, b, c = ((x * y).sum(1) for x, y in ((first, first), (first, second), (second, second)))
        d, e = (first * offset).sum(1), (second * offset).sum(1)
        # A parameter that is fixed stays 0.
        a = torch.where(a > 0.0, a, 1.0)
        c = torch.where(c > 0.0, c, 1.0)
        size = a * c - b * b
        s, t = (b * e - c * d) / size, (b * d - a * e) / size
        shares = self._shares[:, 0] + s[:, None] * self._shares[:, 1]
        shares = shares + t[:, None] * self._shares[:, 2]
        return offset + s[:, None] * first + t[:, None] * second, shares

    def mollifiers(self, corners: Tensor) -> Tensor:
        """(K,) 1, but less for edges that are almost parallel."""
        ratios = self._parallel_ratios(corners)
        return ratios * (2.0 - ratios)

    def are_crossing(self, corners: Tensor) -> Tensor:
        """Return the (K,) pairs that are not mollified, as a mask."""
        return self._parallel_ratios(corners) >= 1.0

    def _parallel_ratios(self, corners: Tensor) -> Tensor:
        """Return the (K,) ratios of two edges' squared cross product to the threshold of the
        mollifier, at most 1."""
        a, b, c, d = corners.unbind(1)
        squares = torch.linalg.cross(b - a, d - c).square().sum(1)
        thresholds = torch.where(self._is_mollified, self._thresholds, 1.0)
        return torch.where(self._is_mollified, squares / thresholds, 1.0).clamp(max=1.0)


def painted_shares(shares: Tensor, factors: Tensor) -> Tensor:
    """(K,) geometric means √(f₁ f₂) of the painted friction at the closest points of pairs.

    Args:
        shares: (K, 4) of the vertices in the difference of the closest points.
        factors: (K, 4) on the friction at the vertices.
    """
    parts = shares * factors
    square = -parts.clamp(min=0.0).sum(1) * parts.clamp(max=0.0).sum(1)
    # The root of zero has no derivative.
    return square.clamp(min=torch.finfo(square.dtype).tiny).sqrt()


def barrier_gradients(
    pairs: ClosestPoints, corners: Tensor, distances: Tensor, scales: Tensor
) -> Tensor:
    """Return the (K, 4, 3) gradients of −s m (q − 1)² ln q, q = d²/d̂², by the vertices of pairs,
    in newtons.

    Args:
        corners: (K, 4, 3) where these are; it requires grad.
        distances: (K,) d̂ in metres.
        scales: (K,) s in joules, as ``ContactBarrier`` has them.
    """
    difference, _ = pairs.at(corners)
    ratios = (difference.square().sum(1) / distances.square()).clamp(max=1.0)
    energies = -(ratios - 1.0).square() * ratios.log() * pairs.mollifiers(corners)
    total = (scales * energies).sum()
    (gradients,) = torch.autograd.grad(total, corners, create_graph=True)
    return gradients


def barrier_hessians(
    pairs: ClosestPoints, corners: Tensor, distances: Tensor, scales: Tensor
) -> Tensor:
    """(K, 12, 12) the second derivative, in N/m, which need not be positive semi-definite."""
    count = len(pairs)
    if not count:
        return corners.new_zeros(0, 12, 12)
    with torch.enable_grad():
        leaf = corners.detach().clone().requires_grad_()
        forces = barrier_gradients(pairs, leaf, distances, scales).view(count, 12)
        units = torch.eye(12, dtype=forces.dtype)[:, None].expand(12, count, 12)
        (rows,) = torch.autograd.grad(forces, leaf, units, is_grads_batched=True)
    return rows.reshape(12, count, 12).transpose(0, 1)


@dataclass(frozen=True, eq=False)
class _PairHessians:
    """(K, 12, 12) second derivatives by the (K, 4) vertices of pairs, in N/m."""

    vertices: Indices
    values: Tensor

    def __len__(self) -> int:
        return len(self.vertices)

    def matrices(self) -> Values:
        return self.values.numpy()


class TapeContact:
    """The gradient of contact where an implicit step or an equilibrium has been found.

    Which parts of surfaces are close to each other is found there; their forces are functions of
    the positions, and normal forces of friction those that belong to them.

    Args:
        system: with contact, whose stiffness does not adapt.
    """

    def __init__(self, system: System) -> None:
        scene, contact = system.scene, system.scene.contact
        assert contact is not None
        self._is_area_weighted = contact.formulation == "convergent"
        self._surface = CollisionSurface(scene, system.meshes)
        self._distances = contact_distances(scene)
        self._detection = Detection(self._surface, self._distances)
        carried = self._surface.displacement_map.tocoo()
        self._rows, self._columns = (
            torch.as_tensor(part.astype(np.int64)) for part in (carried.row, carried.col)
        )
        self._shares = torch.as_tensor(carried.data)[:, None]
        sizes = pair_distances([mesh.diagonal for mesh in system.meshes], len(scene.meshes))
        self._sizes = torch.as_tensor(sizes)

    def colliders_at(self, frame: int, fraction: float) -> Points:
        """(C, 3) vertices of the colliders a fraction of the way from a frame to the next."""
        return self._surface.colliders_at(frame, fraction)

    def begin(
        self, positions: Tensor, step: TimeStep, quantities: Quantities, frame: int, fraction: float
    ) -> None:
        """Find the close pairs at the (3, N) positions where a step ended.

        Args:
            step: with nothing on the tape.
            frame, fraction: when it ended.
        """
        surface = self._surface
        self._colliders = surface.colliders_at(frame, fraction)
        points = surface.points(positions.cpu().numpy(), self._colliders)
        self._detection.build_swept_candidates(points, points)
        collisions = NormalCollisions.of(
            self._detection.candidates,
            points,
            surface.topology,
            self._distances,
            self._is_area_weighted,
            surface,
        )
        self._pairs = ClosestPoints(collisions)
        self._dhats = torch.as_tensor(collisions.distances)
        plain = {name: value.detach() for name, value in quantities.items()}
        self._corners = self._gathered(positions.detach(), self._colliders)
        distances, scales = self._activation(plain), self._scales(plain)
        self._barrier_hessians = barrier_hessians(self._pairs, self._corners, distances, scales)
        self._friction_hessian: tuple[Tensor, Tensor] | None = None
        if len(collisions) and bool((plain["contact static"] > 0.0).any()):
            self._friction_hessian = self._lagged_friction(step, plain)

    @property
    def has_friction(self) -> bool:
        """Whether surfaces that are close do, since ``begin``."""
        return self._friction_hessian is not None

    def add_hessian(self, matrix: BlockMatrix) -> None:
        """Adds the second derivative at the end of the step, the exact one of the barrier, and of
        friction the one with normal forces that stay."""
        values = self._barrier_hessians
        if self._friction_hessian is not None:
            shares, stiffness = self._friction_hessian
            more = torch.einsum("ka,kb,kij->kaibj", shares, shares, stiffness)
            values = values + more.reshape(-1, 12, 12)
        if not len(values):
            return
        pairs = _PairHessians(self._pairs.collisions.vertices, values)
        whole = self._surface.pull_back_matrix(assembled([pairs], len(self._surface.object_of)))
        matrix.add_sparse(whole)

    def lagged_friction_product(self, displacement: Tensor) -> Tensor:
        """Return the (3, N) product of friction's part of that second derivative with (3, N)
        displacements."""
        assert self._friction_hessian is not None
        shares, stiffness = self._friction_hessian
        moved = self._gathered(displacement, np.zeros_like(self._colliders))
        pull = torch.einsum("kij,kaj,ka->ki", stiffness, moved, shares)
        return self._scattered(shares[:, :, None] * pull[:, None], displacement)

    def gradient(self, positions: Tensor, step: TimeStep, quantities: Quantities) -> Tensor:
        """Return the (3, N) gradient of barrier and friction, in newtons."""
        if not len(self._pairs):
            return torch.zeros_like(positions)
        corners = self._gathered(positions, self._colliders)
        if not corners.requires_grad:
            corners.requires_grad_()
        forces = barrier_gradients(
            self._pairs, corners, self._activation(quantities), self._scales(quantities)
        )
        out = self._scattered(forces, positions)
        if self._friction_hessian is not None:
            out = out + self.friction(positions, step, quantities)
        return out

    def friction(self, positions: Tensor, step: TimeStep, quantities: Quantities) -> Tensor:
        """Return the (3, N) gradient of friction, whose normal forces are those of
        ``positions``."""
        corners = self._gathered(positions, self._colliders)
        origin = self._origin(step)
        difference, shares = self._pairs.at(corners)
        slide = self._tangential(corners - origin, difference, shares)
        thresholds = self._thresholds(step)
        lengths = slide_lengths(slide.square().sum(1), thresholds)
        limit, drop = self._limits(corners, difference, shares, quantities)
        pull = slide_stiffness(lengths, thresholds, limit, drop)[0][:, None] * slide
        return self._scattered(shares[:, :, None] * pull[:, None], positions)

    def _origin(self, step: TimeStep) -> Tensor:
        """Return the (K, 4, 3) positions from which displacements of the vertices of pairs are
        measured."""
        colliders = self._colliders if step.collider_origin is None else step.collider_origin
        return self._gathered(step.friction_origin, colliders)

    def _gathered(self, positions: Tensor, colliders: Points) -> Tensor:
        """Gather the (K, 4, 3) positions of the vertices of pairs, from (3, N) of tetrahedra."""
        vertices = positions.T.double()
        bodies = vertices.new_zeros(self._surface.body_count, 3).index_add(
            0, self._rows, self._shares * vertices[self._columns]
        )
        points = torch.cat([bodies, torch.as_tensor(colliders)])
        return points[self._pairs.vertices]

    def _scattered(self, forces: Tensor, template: Tensor) -> Tensor:
        """Distribute (K, 4, 3) forces on the vertices of pairs to (3, N) forces on those of
        tetrahedra."""
        points = forces.new_zeros(len(self._surface.object_of), 3).index_add(
            0, self._pairs.vertices.reshape(-1), forces.reshape(-1, 3)
        )
        carried = self._shares * points[self._rows]
        out = forces.new_zeros(template.shape[1], 3).index_add(0, self._columns, carried)
        return out.T.to(template)

    def _pair_values(self, name: str, quantities: Quantities) -> Tensor:
        """Return the (K,) values of pairs in a table of every two objects."""
        return quantities[f"contact {name}"][self._pairs.objects].double()

    def _activation(self, quantities: Quantities) -> Tensor:
        """(K,) d̂ in metres, of parts of one object that are near at rest as they lie there."""
        distances = self._pair_values("distance", quantities)
        return torch.where(self._dhats < distances.detach(), self._dhats, distances)

    def _scales(self, quantities: Quantities) -> Tensor:
        """(K,) weights of the barrier of q = d²/d̂², in joules."""
        distances = self._activation(quantities)
        powers = distances if self._is_area_weighted else distances**4
        return self._pairs.weights * self._pair_values("stiffness", quantities) * powers

    def _tangential(self, displacement: Tensor, difference: Tensor, shares: Tensor) -> Tensor:
        """(K, 3) the displacement of one closest point along the other surface."""
        whole = (shares[:, :, None] * displacement).sum(1)
        along = (whole * difference).sum(1) / difference.square().sum(1)
        return whole - along[:, None] * difference

    def _thresholds(self, step: TimeStep) -> Tensor:
        sizes = self._sizes[self._pairs.objects]
        return STICK_SPEED_RATIO * step.stick_time * sizes

    def _limits(
        self, corners: Tensor, difference: Tensor, shares: Tensor, quantities: Quantities
    ) -> tuple[Tensor, Tensor]:
        """Return (K,) μ N in newtons, and its relative drop once a pair slides, as in
        ``ContactFriction``."""
        squares = self._activation(quantities).square()
        square = difference.square().sum(1)
        ratios = (square / squares).clamp(max=1.0)
        shifted = ratios - 1.0
        derivatives = -shifted * (2.0 * ratios.log() + shifted / ratios)
        forces = -self._scales(quantities) * derivatives * 2.0 * square.sqrt() / squares
        forces = torch.where(self._pairs.are_crossing(corners), forces, 0.0)
        present, groups = forces.clamp(min=0.0), self._pairs.groups
        sums = forces.new_zeros(int(groups.max()) + 1)
        whole = sums.index_add(0, groups, forces)
        # Pairs of negative weight cancel others beside them.
        ratios_left = whole / sums.index_add(0, groups, present).clamp(min=NO_FRICTION)
        normal = present * ratios_left.clamp(0.0, 1.0)[groups]
        if len(factors := self._surface.friction_factors):
            normal = normal * painted_shares(shares, torch.as_tensor(factors)[self._pairs.vertices])
        static = self._pair_values("static", quantities)
        drop = 1.0 - self._pair_values("kinetic", quantities) / static.clamp(min=NO_FRICTION)
        return static * normal, drop

    def _lagged_friction(self, step: TimeStep, quantities: Quantities) -> tuple[Tensor, Tensor]:
        """(K, 4) weights of vertices in the displacement of a pair, and the (K, 3, 3) second
        derivative of friction by it, positive semi-definite, with normal forces and planes that
        stay."""
        corners = self._corners
        difference, shares = self._pairs.at(corners)
        slide, thresholds = (
            self._tangential(corners - self._origin(step), difference, shares),
            self._thresholds(step),
        )
        length = slide_lengths(slide.square().sum(1), thresholds)
        limit, drop = self._limits(corners, difference, shares, quantities)
        across, along = slide_stiffness(length, thresholds, limit, drop)
        unit, normal = slide / length[:, None], difference / difference.norm(dim=1)[:, None]
        plane = torch.eye(3, dtype=slide.dtype) - normal[:, :, None] * normal[:, None]
        change = (along.clamp(min=0.0) - across)[:, None, None] * unit[:, :, None] * unit[:, None]
        return shares, across[:, None, None] * plane + change
