# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the pins, attachments and stitches that have let go, and the scene that remains then.

This changes between frames: the free vertices, and all objects built on them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .errors import JobError
from .geometry.tet_mesh import TetMesh
from .potentials.attachments import Attachments
from .potentials.contact.surface import CollisionSurface
from .potentials.goals import GoalSprings
from .potentials.stitch_threads import StitchThreads
from .preparation.intersections import Surfaces, find_close
from .preparation.pins import bearing_count, held_vertices
from .scene.collision_points import attached_pair, contact_distances
from .scene.contact_settings import Attachment
from .scene.forces import Force
from .scene.scene import Scene
from .scene.soft_body import SoftBody, start_positions
from .scene.stitches import Release, Stitches
from .state import State
from .system import System

Pair = tuple[int, int]

# The least distance relative to the activation distance; closer bodies would be thrown apart by
# the barrier.
MIN_DISTANCE_RATIO = 0.5


def pairs_apart(
    scene: Scene, meshes: Sequence[TetMesh], state: State, pairs: Collection[Pair]
) -> set[Pair]:
    """Return the pairs of objects that nothing keeps from touching each other.

    Args:
        scene: with contact; ``meshes`` are the tetrahedra of its bodies.
        pairs: of objects, bodies first, then mesh colliders, the lower number first.
    """
    surface = CollisionSurface(replace(scene, attachments=[]), list(meshes))
    points = surface.points(state.positions.cpu().numpy(), surface.colliders_in(state))
    objects = surface.object_of.astype(np.int32)
    every = combinations_with_replacement(range(len(surface.names)), 2)
    excluded = set(every).difference(pairs)
    distances: NDArray[np.float64] = MIN_DISTANCE_RATIO * contact_distances(scene)
    surfaces = Surfaces(points, surface.triangles, objects, excluded)
    close = find_close(surfaces, max(float(distances[pair]) for pair in pairs))
    near = close.distances < distances[tuple(close.objects.T)]
    return set(pairs).difference(map(tuple, close.objects[near].tolist()))


Mask = NDArray[np.bool_]
Forces = NDArray[np.float64]


@dataclass(frozen=True)
class _Hold:
    """A hold that can let go: the pins of a body, an attachment, stitches.

    Args:
        release: when it does.
        count: of its parts, which let go one by one.
        first: the index of the first one among all.
        shares: the number of parts that bear its force equally.
    """

    release: Release | None
    count: int
    first: int
    shares: int

    @property
    def where(self) -> slice:
        return slice(self.first, self.first + self.count)

    @property
    def force(self) -> float | None:
        """In newtons, at which a part lets go."""
        if self.release is None or self.release.force is None:
            return None
        return self.release.force / max(1, self.shares)


class Releases:
    """The pins, attachments and stitches of a scene that can let go.

    Args:
        scene: all of whose bodies have tetrahedra.
    """

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._bodies: list[_Hold] = []
        self._attached: list[tuple[_Hold, Attachment]] = []
        self._stitched: list[tuple[_Hold, Stitches]] = []
        self._size = 0
        # Kept for the last system.
        self._attachments_of = lru_cache(maxsize=1)(_attachments_of)
        if not scene.may_let_go:
            return
        self._bodies = [self._hold(body.release, 1) for body in scene.bodies]
        for attachment in scene.attachments:
            vertices = self._vertices(attachment)
            shares = bearing_count(scene.bodies[attachment.body], vertices)
            hold = self._hold(attachment.release, len(vertices), shares)
            self._attached.append((hold, attachment))
            # One more: whether the two touch again.
            self._size += 1
        for stitches in scene.stitches:
            hold = self._hold(stitches.release, len(_threads(stitches)))
            self._stitched.append((hold, stitches))

    def at_start(self) -> Mask | None:
        """Return the (H,) mask of holds that are released from the start on; None where nothing
        ever lets go."""
        if not self._holds:
            return None
        return self._due(np.zeros(self._size, dtype=bool), 0)

    def now(self, system: System, state: State) -> Mask | None:
        """Return the (H,) mask of holds that are released when a frame begins in a state.

        Args:
            system: the system of the frame before.
        """
        if state.released is None:
            return None
        mask = state.released.copy()
        for hold, forces in self._pulls(system, state, state.released):
            mask[hold.where] |= forces > (hold.force or np.inf)
        self._due(mask, state.frame)
        self._let_touch(system, state, mask)
        return mask

    def check(self, mask: Mask | None) -> None:
        """Check a mask of releases.

        Raises:
            JobError: when it is not of this scene.
        """
        shape = None if mask is None else (mask.shape, mask.dtype.kind)
        if shape != (((self._size,), "b") if self._holds else None):
            raise JobError("The checkpoint does not fit the releases of the scene. Simulate again.")

    def _due(self, mask: Mask, frame: int) -> Mask:
        """Return the mask with the parts that let go by a frame."""
        for hold in self._holds:
            mask[hold.where] |= hold.release is not None and hold.release.is_due(frame)
        return mask

    def names(self, before: Mask, after: Mask) -> tuple[str, ...]:
        """Return the names of everything that has let go since."""
        bodies = self._scene.bodies
        holds = [
            (hold, f"the pins of {body.name}")
            for hold, body in zip(self._bodies, bodies, strict=False)
        ]
        for hold, attachment in self._attached:
            others = bodies if attachment.to == "body" else self._scene.meshes
            name = bodies[attachment.body].name
            holds.append((hold, f"{name}, attached to {others[attachment.other].name}"))
        for hold, each in self._stitched:
            names = f"{bodies[each.body].name}, stitched to {bodies[each.other].name}"
            holds.append((hold, names))
        return tuple(
            name
            for hold, name in holds
            if hold.count and after[hold.where].all() and not before[hold.where].all()
        )

    def scene_of(self, mask: Mask | None) -> Scene:
        """Return the scene without everything that has let go."""
        if mask is None:
            return self._scene
        bodies = [self._body(index, mask) for index in range(len(self._scene.bodies))]
        attachments = [
            replace(attachment, vertices=self._vertices(attachment)[~mask[hold.where]])
            for hold, attachment in self._attached
            if not mask[hold.where.stop]
        ]
        stitches = [
            replace(each, threads=_threads(each)[~mask[hold.where]])
            for hold, each in self._stitched
            if not mask[hold.where].all()
        ]
        others = [force for force in self._scene.forces if not isinstance(force, Stitches)]
        forces: list[Force] = [*others, *stitches]
        return replace(self._scene, bodies=bodies, attachments=attachments, forces=forces)

    @property
    def _holds(self) -> list[_Hold]:
        others = [*self._attached, *self._stitched]
        return self._bodies + [hold for hold, _ in others]

    def _hold(self, release: Release | None, count: int, shares: int | None = None) -> _Hold:
        made = _Hold(release, count, self._size, count if shares is None else shares)
        self._size += count
        return made

    def _vertices(self, attachment: Attachment) -> NDArray[np.int32]:
        return held_vertices(self._scene.bodies[attachment.body], attachment)

    # Bodies

    def _body(self, index: int, mask: Mask) -> SoftBody:
        body = self._scene.bodies[index]
        released = [np.empty(0, dtype=np.int32)]
        if mask[self._bodies[index].first]:
            released.append(self._own_pins[index])
            skin = None if body.skin is None else replace(body.skin, goals=None)
            body = replace(body, goals=None, skin=skin)
        for hold, attachment in self._attached:
            if attachment.body == index and attachment.to == "collider":
                released.append(self._vertices(attachment)[mask[hold.where]])
        return _without_pins(body, np.concatenate(released))

    @cached_property
    def _own_pins(self) -> list[NDArray[np.int32]]:
        """Return the pins of each body that do not stem from an attachment."""
        pins = [
            np.empty(0, dtype=np.int32) if body.pinned is None else body.pinned
            for body in self._scene.bodies
        ]
        for attachment in self._scene.attachments:
            if attachment.to == "collider":
                others = self._vertices(attachment)
                pins[attachment.body] = np.setdiff1d(pins[attachment.body], others)
        return pins

    # Forces

    def _pulls(self, system: System, state: State, mask: Mask) -> Iterator[tuple[_Hold, Forces]]:
        """Yield the holds that may tear, and the force in newtons on each of their parts, 0
        where a part has already let go."""
        if all(hold.force is None for hold in self._holds):
            return
        system.go_to(state.frame, 0.0)
        system.plastic_flow.plastic = state.plastic
        attached = self._attachments_of(system)
        gradient = torch.zeros_like(state.positions)
        system.add_gradient(state.positions, gradient)
        system.add_rate_forces(state.positions, state.velocities, gradient)
        if attached is not None:
            attached.add_gradient(state.positions, gradient)
        for index, hold in enumerate(self._bodies):
            if hold.force is not None and not mask[hold.first]:
                yield hold, np.array([self._pull_at_pins(system, state, index, gradient)])
        yield from self._pulls_at_pairs(system, state, mask, attached, gradient)

    def _pulls_at_pairs(
        self,
        system: System,
        state: State,
        mask: Mask,
        attached: Attachments | None,
        gradient: Tensor,
    ) -> Iterator[tuple[_Hold, Forces]]:
        """Yield the forces of attachments and stitches."""
        positions = state.positions
        tensions = np.zeros(0) if attached is None else _numbers(attached.tensions(positions))
        for hold, attachment in self._attached:
            forces, holding = np.zeros(hold.count), ~mask[hold.where]
            if attachment.to == "collider":
                pinned = (
                    self._vertices(attachment)[holding] + system.vertex_offsets[attachment.body]
                )
                pulls = torch.linalg.vector_norm(gradient, dim=0)
                forces[holding] = _numbers(pulls)[pinned]
            else:
                count = int(holding.sum())
                forces[holding], tensions = tensions[:count], tensions[count:]
            yield hold, forces
        parts = (part for part in system.forces if isinstance(part, StitchThreads))
        for hold, _ in self._stitched:
            forces, holding = np.zeros(hold.count), ~mask[hold.where]
            if holding.any():
                forces[holding] = _numbers(next(parts).tensions(positions))
            yield hold, forces

    def _pull_at_pins(self, system: System, state: State, index: int, gradient: Tensor) -> float:
        """Return the total force on the pins and goals of a body, in newtons."""
        body = self._scene.bodies[index]
        pinned = self._own_pins[index] + system.vertex_offsets[index]
        pull = gradient[:, torch.as_tensor(pinned, device=gradient.device)].sum(dim=1)
        for goals in (body.goals, None if body.skin is None else body.skin.goals):
            if goals is not None:
                springs = GoalSprings.of(system, index, goals)
                springs.go_to(state.frame, 0.0)
                pull = pull - springs.gradient(state.positions).sum(dim=1)
        return float(torch.linalg.vector_norm(pull))

    def _let_touch(self, system: System, state: State, mask: Mask) -> None:
        """Has objects collide that nothing attaches to each other any more, once they are apart."""
        pairs, holding = set(), set()
        for hold, attachment in self._attached:
            pair = attached_pair(self._scene, attachment)
            if attachment.release is None or not mask[hold.where].all():
                holding.add(pair)
            elif not mask[hold.where.stop]:
                pairs.add(pair)
        pairs -= holding
        if not pairs:
            return
        apart: set[Pair] = set(pairs)
        if self._scene.contact is not None:
            apart = pairs_apart(self._scene, system.meshes, state, pairs)
        for hold, attachment in self._attached:
            mask[hold.where.stop] |= attached_pair(self._scene, attachment) in apart


def _attachments_of(system: System) -> Attachments | None:
    """Return the attachments between bodies that still hold in a system."""
    return Attachments.from_scene(system.scene, system.vertex_offsets, system.mass)


def _numbers(values: Tensor) -> Forces:
    return values.cpu().numpy()


def _without_pins(body: SoftBody, released: NDArray[np.int32]) -> SoftBody:
    """The body with some vertices that are pinned no more."""
    if body.pinned is None or len(released) == 0:
        return body
    mask = ~np.isin(body.pinned, released)
    if body.pin_path is None:
        return replace(body, pinned=body.pinned[mask])
    path = body.pin_path.mapped(lambda samples: samples[:, mask])
    # It began at the position of its pins, regardless of its present holds.
    start = start_positions(body)
    return replace(body, pinned=body.pinned[mask], pin_path=path, initial_positions=start)


def _threads(stitches: Stitches) -> NDArray[np.int32]:
    if stitches.threads is not None:
        return stitches.threads
    return np.arange(len(stitches.points), dtype=np.int32)
