# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact between the surfaces of a scene, as energies of the vertices of its tetrahedra."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..scene import Scene
from ..tet_mesh import TetMesh
from .barrier import ContactBarrier
from .detection import Detection
from .distance import contact_distance
from .friction import ContactFriction
from .friction_pairs import FrictionPairs
from .pairs import Pairs, Values
from .squares import assembled
from .stiffness import AdaptiveStiffness, physical_stiffness
from .surface import CollisionSurface, Points

# No vertex goes further in one step of a search, in mean edges: what is looked at grows with the
# cube of the way.
LONGEST_WAY = 4.0
# What gets about as narrow as the narrowest place is one with it.
NARROW = 1.05


class MeshContact:
    """Barrier and friction at work on the positions of all bodies, (3, N) in metres.

    Colliders are where ``colliders`` says, (C, 3) in metres. Energies are defined on the straight
    way that was swept last.

    Args:
        scene: with contact; its bodies have tetrahedra.
        meshes: those of its bodies.
        mean_mass: of the vertices, in kg.
    """

    def __init__(self, scene: Scene, meshes: list[TetMesh], mean_mass: float) -> None:
        contact = scene.contact
        assert contact is not None
        by_area = contact.formulation == "convergent"
        distance = contact_distance(scene)
        self.surface = CollisionSurface(scene, meshes)
        self._detection = Detection(self.surface, distance, by_area)
        self._adaptive: AdaptiveStiffness | None = None
        if by_area:
            stiffness = physical_stiffness(scene)
        else:
            stiffness = contact.stiffness or 1.0
            if contact.stiffness is None:
                self._adaptive = AdaptiveStiffness(distance, mean_mass)
        self.barrier = ContactBarrier(self.surface, distance, stiffness, by_area)
        pairs = FrictionPairs(scene)
        self._friction: ContactFriction | None = None
        if pairs.static.any():
            self._friction = ContactFriction(self.surface, self.barrier, pairs)
        self._updates = contact.friction_updates or math.inf
        self._updates_left = 0.0
        self.longest_way = LONGEST_WAY * self.surface.edge_length
        self.colliders = self.surface.colliders_at(0, 0.0)
        self._seen: Tensor | None = None
        self._around: Tensor | None = None
        #: Below it pairs stick, in metres.
        self.slip = 0.0
        #: Steps of a search that had to be cut, in this frame.
        self.limited_steps = 0

    # Where things are

    @property
    def colliders(self) -> Points:
        """(C, 3) where the colliders are, in metres."""
        return self._colliders

    @colliders.setter
    def colliders(self, places: Points) -> None:
        self._colliders, self._seen, self._around = places, None, None

    def points(self, positions: Tensor, colliders: Points | None = None) -> Points:
        """(V, 3) of the surface; colliders are where they are unless told otherwise."""
        places = self._colliders if colliders is None else colliders
        return self.surface.points(positions.cpu().numpy(), places)

    def _look(self, positions: Tensor) -> None:
        """Finds what is close, unless it was looked for there last."""
        if positions is self._seen:
            return
        self._points = self.points(positions)
        self._collisions = self._detection.collisions(self._points)
        self._near: Pairs | None = None
        self._seen = positions

    @property
    def _pairs(self) -> Pairs:
        """What was found where it was looked last."""
        if self._near is None:
            self._near = Pairs.of(self._collisions, self.surface.mesh, self._points)
        return self._near

    # Ways

    def stay(self, positions: Tensor) -> None:
        """Looks around (3, N) positions alone, unless that was done last."""
        if positions is self._around:
            return
        points = self.points(positions)
        self._detection.sweep(points, points)
        self._seen, self._around = None, positions

    def sweep(
        self, before: Tensor, after: Tensor, colliders: Points | None = None, room: float = 0.0
    ) -> float:
        """Looks along the straight way between two (3, N) places.

        Args:
            colliders: (C, 3) where they go meanwhile; None where they stay.
            room: what has to be left between surfaces, in metres.

        Returns:
            The share of the way that can be gone before anything meets.
        """
        start, end = self.points(before), self.points(after, colliders)
        self._detection.sweep(start, end)
        self._around = None
        rounding = torch.finfo(before.dtype).eps * max(abs(start).max(), abs(end).max())
        return self._detection.free_share(start, end, room, rounding)

    def blocked(self, before: Points, after: Points) -> set[int]:
        """The objects between which the way swept last got narrowest, between two (V, 3) places."""
        distances = [self._detection.near(points) for points in (before, after)]
        found = np.isfinite(distances[0])
        share = np.full(len(found), math.inf)
        share[found] = distances[1][found] / distances[0][found]
        # The other side of the same place may have had something else as near before.
        left = distances[1][share.argmin()]
        narrowest = (share <= NARROW * share.min()) | np.isclose(distances[1], left, 1e-6, 0.0)
        return set(self.surface.object_of[narrowest].tolist())

    # The step

    def begin(self, colliders: Points | None) -> None:
        """Begins a step with (C, 3) colliders where the last one led them."""
        self.colliders = self.surface.colliders_at(0, 0.0) if colliders is None else colliders
        self.limited_steps = 0

    def begin_step(self, start: Tensor, slip: float, lagged: Tensor | None = None) -> None:
        """Measures ways of friction from (3, N) ``start``, below ``slip`` metres without sliding.

        Args:
            lagged: (3, N) where normal forces are taken, if not at the start.
        """
        self._updates_left, self.slip = self._updates, slip
        around = start if lagged is None else lagged
        self.stay(around)
        if self._friction is not None:
            self._friction.begin_step(self.points(start), slip)
            self.lag(around)

    @property
    def adapts(self) -> bool:
        """Whether the stiffness does."""
        return self._adaptive is not None

    def adapt_at_start(self, positions: Tensor, step: float, gradient: Tensor) -> None:
        """Finds the stiffness to begin with, where it adapts.

        Args:
            gradient: (3, N) of all other energies.
        """
        assert self._adaptive is not None
        self.stay(positions)
        self._look(positions)
        self.barrier.stiffness = 1.0
        own = self.barrier.gradient(self._collisions, self._points)
        forces = np.zeros_like(self._points)
        bodies = forces[: self.surface.body_count]
        bodies[:] = self.surface.follow @ gradient.T.cpu().numpy()
        self.barrier.stiffness = self._adaptive.begin_step(self._points, step, forces, own)

    def adapt(self, positions: Tensor) -> bool:
        """Makes the barrier stiffer where surfaces get too close; whether it did."""
        if self._adaptive is None:
            return False
        before = self.barrier.stiffness
        stiffness = self._adaptive.update(before, self.gap(positions))
        if stiffness != before:
            self.barrier.stiffness = stiffness
        return stiffness != before

    def lag(self, positions: Tensor) -> tuple[float, float]:
        """Takes the normal forces of friction from (3, N) positions, as often as is allowed.

        Returns:
            By how much they changed, and their sum, in newtons.
        """
        if self._friction is None or self._updates_left <= 0:
            return 0.0, 0.0
        self._updates_left -= 1
        self._look(positions)
        return self._friction.lag(self._collisions, self._pairs, self._points)

    def creep(self, before: Tensor, after: Tensor) -> float:
        """How far pairs that stuck have moved between two places, at most, in slips."""
        if self._friction is None:
            return 0.0
        return self._friction.creep(self.points(before), self.points(after))

    # Energies

    def energy(self, positions: Tensor) -> Tensor:
        """In joules."""
        self._look(positions)
        total = self.barrier.energy(self._collisions, self._points)
        if self._friction is not None:
            total += self._friction.energy(self._points)
        return positions.new_tensor(total)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds (3, N) in newtons to ``out``."""
        self._look(positions)
        gradient = self.barrier.gradient(self._collisions, self._points)
        if self._friction is not None:
            gradient = gradient + self._friction.gradient(self._points)
        out += torch.as_tensor(self.surface.pull_back(gradient)).to(out)

    def hessian(self, positions: Tensor, projected: bool) -> Any:
        """(3V, 3V) sparse over the vertices of the surface, in N/m, always positive semi-definite:
        where surfaces slide and roll over each other, that of the barrier itself rarely is."""
        self._look(positions)
        parts = [self.barrier.squares(self._pairs, self._points)]
        if self._friction is not None:
            parts.append(self._friction.squares(self._points, projected))
        return assembled(parts, len(self._points))

    def drag(self, positions: Tensor, way: Tensor, aside: Points) -> Tensor:
        """(3, N) by how much the gradient changes as vertices go (3, N) ``way`` and colliders
        (C, 3) ``aside``, in newtons."""
        moved = self.surface.points(way.cpu().numpy(), aside)
        change = self.hessian(positions, True) @ np.ascontiguousarray(moved).ravel()
        return torch.as_tensor(self.surface.pull_back(change.reshape(-1, 3))).to(positions)

    # Account

    def led_pairs(self, positions: Tensor, pinned: Tensor) -> tuple[NDArray[np.int64], Values]:
        """What is close to each other although nothing of it moves freely.

        Args:
            pinned: (N,) vertices that do not.

        Returns:
            (K, 2) objects, the lower one first, and (K,) distances in metres.
        """
        self._look(positions)
        surface = self.surface
        led = np.ones(len(surface.object_of), dtype=bool)
        led[: surface.body_count] = surface.follow @ (~pinned.cpu().numpy()).astype(float) == 0.0
        pairs = self._pairs
        kept = led[pairs.vertices].all(axis=1)
        distances = np.linalg.norm(pairs.differences(self._points), axis=1)
        return np.sort(surface.object_of[pairs.ends()[kept]], axis=1), distances[kept]

    def gap(self, positions: Tensor) -> float:
        """The least distance between surfaces that are close, in metres; else infinite."""
        self._look(positions)
        return self._detection.gap(self._collisions, self._points)

    def touching(self, positions: Tensor) -> set[int]:
        """The objects that are close to others or themselves."""
        self.stay(positions)
        self._look(positions)
        return set(self.surface.object_of[self._pairs.ends()].ravel().tolist())

    def count(self, positions: Tensor) -> int:
        """Pairs that are close."""
        self._look(positions)
        return len(self._collisions)
