# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies whose pins teleport are set down where those are, in the shape and the motion they had."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .geometry.rigid_fit import rigid_fits
from .potentials.contact.surface import CollisionSurface
from .preparation.intersections import Surfaces, find_close
from .preparation.pins import path_jumps
from .scene.collision_points import contact_distances
from .scene.contact_settings import Collider
from .state import State
from .system import System

# The largest relative motion of jumping pins at which the body keeps its shape, relative to its
# longest side.
MAX_CHANGE_RATIO = 0.02
# The least distance of a body that is set down, relative to d̂.
MIN_DISTANCE_RATIO = 0.1


class SetDown:
    """Follows the jumps of pins that no motion of their bodies could.

    A jump is a cut of the animation (``preparation/pins``), and no path: pins that are 5 m away
    after 1/24 s would draw the body out, or crush it, by far more than its waves can answer. If
    they jump as a rigid whole, the body goes with them at the start of the frame, and its
    velocities are rotated. It does not, and is dragged along, where that place is taken, or where
    something else holds it.

    Args:
        system: of the bodies.
    """

    def __init__(self, system: System) -> None:
        self._system, self._scene = system, system.scene
        #: The bodies whose pins jump, by the frame in which they do.
        self._bodies: dict[int, list[int]] = {}
        colliders = [each for each in self._scene.colliders if isinstance(each, Collider)]
        held = {each.body for each in self._scene.attachments}
        held |= {each.other for each in self._scene.attachments if each.to == "body"}
        held |= {k for each in self._scene.stitches for k in (each.body, each.other)}
        for index, body in enumerate(system.bodies):
            path = body.pin_path
            if path is None or body.pinned is None or index in held:
                continue
            for jump in path_jumps(body.name, path, system.meshes[index].vertices, colliders):
                self._bodies.setdefault(jump.frame - 1, []).append(index)

    @property
    def first_jump(self) -> tuple[str, int] | None:
        """The name of the first body whose pins jump, and the frame at which they have; None where
        no pins jump."""
        if not self._bodies:
            return None
        frame = min(self._bodies)
        return self._scene.bodies[self._bodies[frame][0]].name, frame + 1

    def begin_frame(self, state: State) -> State:
        """The state from which a frame goes on; pins that have jumped stay where they are in it."""
        pins = self._system.moving_pins
        if pins is None:
            return state
        pins.held.clear()
        for body in self._bodies.get(state.frame, ()):
            state = self._set_down(state, body)
        return state

    def _set_down(self, state: State, body: int) -> State:
        """The state with a body where its pins are at the end of the frame, if it can be there."""
        system, where = self._system, self._system.body_slices()[body]
        pins = system.moving_pins
        assert pins is not None
        is_among = (pins.vertices >= where.start) & (pins.vertices < where.stop)
        places = torch.nonzero(is_among)[:, 0]
        pinned = pins.vertices[places]
        before = state.positions[:, pinned].T.cpu().numpy().astype(np.float64)
        after = pins.positions(state.frame, 1.0)[:, places]
        targets = after.T.cpu().numpy().astype(np.float64)
        rotations, offsets = rigid_fits(before, targets[None])
        change = np.abs(before @ rotations[0].T + offsets[0] - targets).max()
        if change > MAX_CHANGE_RATIO * np.ptp(system.meshes[body].vertices, axis=0).max():
            return state
        motion = tuple(torch.as_tensor(part[0]).to(after) for part in (rotations, offsets))
        positions, velocities = _moved(state.positions, state.velocities, where, *motion)
        positions[:, pinned] = after
        if not self._is_vacant(state, positions, body):
            return state
        for part in system.forces:
            part.set_down(state.frame, where)
        pins.held[state.frame] = torch.cat([pins.held.get(state.frame, places[:0]), places])
        previous = state.previous
        if previous is not None:
            previous = _moved(*previous, where, *motion)
        clocks = state.clocks
        if clocks is not None:
            clocks = clocks.copy()
            clocks[:, body] = 0.0, 1.0
        return replace(
            state,
            positions=positions,
            velocities=velocities,
            previous=previous,
            clocks=clocks,
            energy_limit=None,
            clearance=0.0,
        )

    @cached_property
    def _surface(self) -> CollisionSurface:
        return CollisionSurface(self._scene, self._system.meshes)

    def _is_vacant(self, state: State, positions: Tensor, body: int) -> bool:
        """Whether nothing is where (3, N) positions set a body down."""
        height = self._system.minimum_ground_distance(positions)
        if height is not None and height <= 0.0:
            return False
        if self._scene.contact is None:
            return True
        surface = self._surface
        points = surface.points(positions.cpu().numpy(), surface.colliders_in(state))
        distances = contact_distances(self._scene)[body]
        objects = surface.object_of.astype(np.int32)
        surfaces = Surfaces(points, surface.triangles, objects, _all_but(body, len(distances)))
        return len(find_close(surfaces, MIN_DISTANCE_RATIO * float(distances.max()))) == 0


def _moved(
    positions: Tensor, velocities: Tensor, where: slice, rotation: Tensor, offset: Tensor
) -> tuple[Tensor, Tensor]:
    """(3, N) positions and velocities after a rigid motion of one body."""
    positions, velocities = positions.clone(), velocities.clone()
    positions[:, where] = rotation @ positions[:, where] + offset[:, None]
    velocities[:, where] = rotation @ velocities[:, where]
    return positions, velocities


def _all_but(body: int, count: int) -> NDArray[np.intp]:
    """(K, 2) the pairs of objects without that of a body and another object."""
    pairs = np.stack(np.triu_indices(count), axis=1)
    return pairs[((pairs == body).sum(axis=1) != 1)]
