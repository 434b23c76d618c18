# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the pins, attachments and stitches that hold, and the scene with these alone.

This changes between frames: the free vertices, and all objects built on them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .errors import JobError
from .geometry.rigid_fit import rigid_fits
from .geometry.tet_mesh import TetMesh
from .potentials.attachments import Attachments, places_in
from .potentials.contact.surface import CollisionSurface
from .potentials.goals import GoalSprings
from .potentials.stitch_threads import StitchThreads
from .preparation.intersections import Surfaces, find_close
from .preparation.pins import anchored_paths, bearing_count, held_vertices, transfer_path
from .scene.channel import Channel
from .scene.collision_points import attached_pair, contact_distances
from .scene.contact_settings import Attachment, Collider
from .scene.forces import Force
from .scene.goals import Goals
from .scene.scene import Scene
from .scene.soft_body import SoftBody, skin_embedding_of, start_positions, tet_mesh_of
from .scene.stitches import Release, Stitches
from .state import State
from .system import System

Pair = tuple[int, int]
_NO_PINS = np.empty(0, dtype=np.int32)

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
Points = NDArray[np.float64]
#: (3, N) vertices of all bodies at each frame at which something has taken hold.
Grips = dict[int, Points]


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

    @property
    def grips(self) -> tuple[int, ...]:
        """Return the frames at which it takes hold again."""
        return () if self.release is None else self.release.grips

    def since(self, grips: Grips) -> int:
        """Return the frame at which it has taken hold; 0 is the start."""
        return max((frame for frame in self.grips if frame in grips), default=0)


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
        for hold in self._holds:
            mask[hold.where] &= state.frame not in hold.grips
        for hold, _ in self._attached:
            mask[hold.where.stop] &= state.frame not in hold.grips
        self._let_touch(system, state, mask)
        return mask

    def grips(self, state: State, mask: Mask) -> Grips:
        """Return the positions at which everything that holds has taken hold, when a frame begins
        in a state.

        Args:
            mask: the holds that are released then.
        """
        grips = dict(state.grips)
        if any(state.frame in hold.grips for hold in self._holds):
            grips[state.frame] = state.positions.cpu().numpy().astype(np.float64)
        used = {hold.since(grips) for hold in self._holds if not mask[hold.where].all()}
        return {frame: grips[frame] for frame in sorted(used) if frame}

    def bodies_gripped_at(self, frame: int) -> list[int]:
        """Return the bodies whose pins, or attachments to colliders, take hold at a frame."""
        bodies = [index for index, hold in enumerate(self._bodies) if frame in hold.grips]
        return bodies + [each.body for hold, each in self._attached if frame in hold.grips]

    def check(self, state: State) -> None:
        """Check the releases and grips of a state.

        Raises:
            JobError: when they are not of this scene.
        """
        mask = state.released
        shape = None if mask is None else (mask.shape, mask.dtype.kind)
        are_known = {frame for hold in self._holds for frame in hold.grips}.issuperset(state.grips)
        if shape != (((self._size,), "b") if self._holds else None) or not are_known:
            raise JobError("The checkpoint does not fit the releases of the scene. Simulate again.")

    def _due(self, mask: Mask, frame: int) -> Mask:
        """Return the mask with the parts that let go by a frame."""
        for hold in self._holds:
            mask[hold.where] |= hold.release is not None and not hold.release.holds_at(frame)
        return mask

    def names(self, before: Mask, after: Mask) -> tuple[str, ...]:
        """Return the names of everything that has let go since. With the masks exchanged, these
        are the names of everything that has taken hold."""
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

    def scene_of(self, mask: Mask | None, grips: Grips) -> Scene:
        """Return the scene without everything that has let go, and with everything that has taken
        hold again where it has."""
        if mask is None:
            return self._scene
        bodies = [self._body(index, mask, grips) for index in range(len(self._scene.bodies))]
        attachments = [
            self._attachment(hold, attachment, ~mask[hold.where], grips)
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

    def _attachment(
        self, hold: _Hold, attachment: Attachment, holding: Mask, grips: Grips
    ) -> Attachment:
        """Return an attachment with those of its vertices that it holds."""
        vertices, since = self._vertices(attachment)[holding], hold.since(grips)
        places = None
        if since and attachment.joins_bodies:
            other = attachment.other
            points = self._positions(attachment.body, grips, since)[vertices]
            positions = self._positions(other, grips, since)
            places = places_in(self._scene.bodies[other], positions, points)
        return replace(attachment, vertices=vertices, since=since, places=places)

    def _positions(self, index: int, grips: Grips, since: int) -> Points:
        """Return the (N, 3) vertices of a body at the frame at which something has taken hold; 0 is
        the start."""
        bodies = self._scene.bodies
        if since == 0:
            return start_positions(bodies[index])
        first = sum(len(tet_mesh_of(body).vertices) for body in bodies[:index])
        return grips[since][:, first : first + len(tet_mesh_of(bodies[index]).vertices)].T

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

    def _body(self, index: int, mask: Mask, grips: Grips) -> SoftBody:
        body, hold = self._scene.bodies[index], self._bodies[index]
        on_colliders = [
            (each, attachment)
            for each, attachment in self._attached
            if attachment.body == index and attachment.to == "collider"
        ]
        holds = [hold, *(each for each, _ in on_colliders)]
        if not any(mask[each.where].any() or each.since(grips) for each in holds):
            return body
        whole, parts = body, []
        if mask[hold.first]:
            skin = None if body.skin is None else replace(body.skin, goals=None)
            body = replace(body, goals=None, skin=skin)
        else:
            since = hold.since(grips)
            if since:
                body = _with_gripped_goals(body, self._positions(index, grips, since), since)
            parts.append(self._own_path(index, grips, since))
        for hold, attachment in on_colliders:
            vertices = self._vertices(attachment)[~mask[hold.where]]
            # Each vertex follows the first that holds it.
            for others, _ in parts:
                vertices = vertices[~np.isin(vertices, others)]
            since = hold.since(grips)
            positions = self._positions(index, grips, since)
            collider = self._scene.meshes[attachment.other]
            path = _path_on(collider, whole, attachment.points, vertices, positions, since)
            parts.append((vertices, path))
        return _with_pins(body, parts)

    def _own_path(
        self, index: int, grips: Grips, since: int
    ) -> tuple[NDArray[np.int32], Channel | None]:
        """Return the pins of a body that do not stem from an attachment, and their path."""
        body, pins = self._scene.bodies[index], self._own_pins[index]
        if len(pins) == 0:
            return pins, None
        assert body.pinned is not None
        path, is_own = body.pin_path, np.flatnonzero(np.isin(body.pinned, pins))
        if path is not None:
            path = path.mapped(lambda samples: samples[:, is_own])
        if since == 0:
            return pins, path
        start = Channel.constant(start_positions(body)[pins])
        after = _from_frame(path or start, since)
        places = self._positions(index, grips, since)[pins]
        moved = transfer_path(after.samples[0], after.samples, places)
        return pins, _joined(path or start, Channel(moved, after.per_frame), since)

    @cached_property
    def _own_pins(self) -> list[NDArray[np.int32]]:
        """Return the pins of each body that do not stem from an attachment."""
        pins = [_NO_PINS if body.pinned is None else body.pinned for body in self._scene.bodies]
        for attachment in self._scene.attachments:
            if attachment.to == "collider":
                shared = _NO_PINS if attachment.also_pinned is None else attachment.also_pinned
                others = np.setdiff1d(self._vertices(attachment), shared)
                body = attachment.body
                pins[body] = pins[body][~np.isin(pins[body], others)]
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


def _with_gripped_goals(body: SoftBody, positions: Points, frame: int) -> SoftBody:
    """Return a body whose goals take hold of it at a frame.

    Args:
        positions: (N, 3) its vertices at that frame, in metres.
    """
    if body.goals is not None:
        goals = _gripped_goals(body.goals, positions[body.goals.vertices], frame)
        body = replace(body, goals=goals)
    skin = body.skin
    if skin is not None and skin.goals is not None:
        points = skin_embedding_of(body).interpolate(positions)[skin.goals.vertices]
        body = replace(body, skin=replace(skin, goals=_gripped_goals(skin.goals, points, frame)))
    return body


def _gripped_goals(goals: Goals, points: Points, frame: int) -> Goals:
    """Return goals that are moved to points (P, 3) as a rigid whole at a frame, and go on from
    there."""
    after = _from_frame(goals.targets, frame)
    rotations, offsets = rigid_fits(after.samples[0], points[None])
    placed = after.samples[0] @ rotations[0].T + offsets[0]
    moved = Channel(transfer_path(after.samples[0], after.samples, placed), after.per_frame)
    return replace(goals, targets=_joined(goals.targets, moved, frame))


def _path_on(
    collider: Collider,
    body: SoftBody,
    points: NDArray[np.int32],
    vertices: NDArray[np.int32],
    positions: Points,
    since: int,
) -> Channel | None:
    """Return the path of vertices (Q, 3) that keep their place on a collider from a frame on, as
    ``pin_to_collider`` finds it from the start on; None where they stay there from the start.

    Args:
        points: of the body, which are attached; ``vertices`` carry them.
        positions: (N, 3) vertices of the body at that frame, in metres.
    """
    after, start = _from_frame(collider.vertices, since), start_positions(body)[vertices]
    if len(vertices) == 0 or (after.is_constant and since == 0):
        return None
    path = Channel.constant(positions[vertices])
    if not after.is_constant:
        seen = positions if body.skin is None else skin_embedding_of(body).interpolate(positions)
        anchors = seen[points]
        paths = anchored_paths(anchors, replace(collider, vertices=after))
        path = Channel(transfer_path(anchors, paths, positions[vertices]), after.per_frame)
    return path if since == 0 else _joined(Channel.constant(start), path, since)


def _from_frame(channel: Channel, frame: int) -> Channel:
    """Return the rest of a channel from a frame on."""
    first = min(frame * channel.per_frame, len(channel.samples) - 1)
    return Channel(channel.samples[first:], channel.per_frame)


def _joined(before: Channel, after: Channel, frame: int) -> Channel:
    """Return a channel up to a frame, then another one that begins there."""
    per_frame = math.lcm(before.per_frame, after.per_frame)
    early, late = (each.resampled(per_frame).samples for each in (before, after))
    places = np.minimum(np.arange(frame * per_frame), len(early) - 1)
    return Channel(np.concatenate([early[places], late]), per_frame)


def _with_pins(body: SoftBody, parts: list[tuple[NDArray[np.int32], Channel | None]]) -> SoftBody:
    """Return a body with these pins alone, each part with its path; None stays where it starts."""
    if body.pinned is None:
        return body
    pinned = np.concatenate([_NO_PINS, *(vertices for vertices, _ in parts)])
    if body.pin_path is None and all(path is None for _, path in parts):
        return replace(body, pinned=pinned)
    # It began at the position of its pins, regardless of its present holds.
    start = start_positions(body)
    paths = [path or Channel.constant(start[vertices]) for vertices, path in parts]
    none = Channel.constant(np.empty((0, 3)))
    path = Channel.side_by_side([none, *paths])
    return replace(body, pinned=pinned, pin_path=path, initial_positions=start)


def _threads(stitches: Stitches) -> NDArray[np.int32]:
    if stitches.threads is not None:
        return stitches.threads
    return np.arange(len(stitches.points), dtype=np.int32)
