# SPDX-License-Identifier: GPL-3.0-or-later
"""Impacts that would be seen, before they happen: when, and for how long surfaces will touch.

A step that is much longer than a contact cannot show that a body springs back. How long it lasts is
known beforehand by Hertz's theory, and so is when it begins, by how bodies move as rigid ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..materials.bounce import contact_seconds
from ..potentials.contact.approach_limit import Crossing
from ..potentials.contact.mesh_contact import MeshContact
from ..scene.soft_body import PerTet
from ..state import State
from ..system import System
from .rigid_frames import RigidFrames, RigidMotion
from .unhindered_motion import Unhindered

# Steps in the time of a contact. Of two blocks that meet at up to 1.7 times their speed of sound,
# the one that is hit gets within 1.6 % of the momentum of explicit steps; by 8, up to 4 % less.
CONTACT_STEPS = 16
# Of the time of contact by Hertz, how long the short steps go on: bodies that are no balls, and
# softer parts, take longer.
WINDOW_RATIO = 1.25
# Of those short steps, how long before and after surfaces meet the step is in which they do.
ONSET_RATIO = 0.125
# Of what is left of a frame: shorter contacts are no matter of steps, and what hits stays calm. A
# ball of 10 cm and 1e9 Pa takes steps of 1/400 of a frame.
LEAST_STEP_RATIO = 1e-4
# Steps a frame at most. What is left of the frame then is one.
MAX_IMPACT_STEPS = 32
# A rebound is seen above this share of the body's diagonal.
SEEN_RATIO = 0.01
# Where there is none, rebounds are seen as with this gravity, in m/s².
GRAVITY = 9.81
# Poses at which the lowest point of a body is looked for.
POSES = 8

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Impact:
    """A coming impact.

    Args:
        seconds: until it begins.
        contact_seconds: for how long surfaces will touch.
    """

    seconds: float
    contact_seconds: float


class Impacts:
    """Finds the first impact of a time to come.

    Args:
        system: whose bodies may hit something.
        frames: of its bodies.
        contact: between surfaces; None where they go through each other.
    """

    def __init__(self, system: System, frames: RigidFrames, contact: MeshContact | None) -> None:
        self._system, self._frames, self._contact = system, frames, contact
        self._slices = system.body_slices()
        size = np.array([mesh.diagonal for mesh in system.meshes])
        masses = [float(system.mass[where].sum()) for where in self._slices]
        is_free = [bool(system.free[where].all()) for where in self._slices]
        compliance = [
            (1.0 - mean_of(body.material.poisson) ** 2) / mean_of(body.material.young)
            for body in system.bodies
        ]
        more = 0 if contact is None else len(contact.surface.names) - len(size)
        #: (O,) of bodies, then colliders and the ground: one over the mass in kg, one over the
        #: radius of the ball with the diagonal in metres, and (1 − ν²)/E in 1/Pa.
        self._inverse_mass = _followed_by(np.where(is_free, 1.0 / np.array(masses), 0.0), more)
        self._curvature = _followed_by(2.0 * math.sqrt(3.0) / size, more)
        self._compliance = _followed_by(np.array(compliance), more)
        gravity = system.max_gravity or GRAVITY
        #: (B,) the speed in m/s with which what hits is seen to come back.
        self._seen_speed = np.sqrt(2.0 * gravity * SEEN_RATIO * size)
        # What flows takes the impact and does not spring back.
        flows = np.array([body.plasticity is not None for body in system.bodies])
        self._seen_speed[flows] = np.inf
        self._seen = _followed_by(self._seen_speed, more)

    def first(
        self,
        state: State,
        seconds: float,
        unhindered: Unhindered,
        collider_moves: Values | None,
    ) -> Impact | None:
        """The first impact in so many seconds; None where there is none that would be seen.

        Args:
            state: at their start.
            unhindered: the motion meanwhile, if nothing is in the way.
            collider_moves: (C, 3) displacements of colliders; None without contact.
        """
        impacts = [self._first_on_ground(state, seconds, unhindered)]
        if self._contact is not None and collider_moves is not None:
            impacts.append(self._first_on_surfaces(state, seconds, unhindered, collider_moves))
        known = [impact for impact in impacts if impact is not None]
        return min(known, key=lambda impact: impact.seconds, default=None)

    def _impact(self, one: int, other: int, seconds: float, speed: float) -> Impact:
        """The impact of two objects after so many seconds, by their numbers; −1 is the ground.

        Args:
            speed: with which they close, in m/s.
        """
        inverse_mass, curvature, compliance = (
            float(values[one] + values[other])
            for values in (self._inverse_mass, self._curvature, self._compliance)
        )
        if inverse_mass == 0.0:
            return Impact(seconds, 0.0)
        return Impact(seconds, contact_seconds(inverse_mass, curvature, compliance, speed))

    # Ground

    def _first_on_ground(
        self, state: State, seconds: float, unhindered: Unhindered
    ) -> Impact | None:
        _, acceleration, motion = unhindered
        barrier = self._system.ground_barrier
        if barrier is None:
            return None
        bodies, count = self._bodies_of_points(), len(self._slices)
        each = [acceleration[2, where].mean() for where in self._slices]
        fall = torch.stack(each).cpu().numpy()[bodies]
        fastest = torch.linalg.vector_norm(state.velocities, dim=0).max()
        reach = seconds * float(fastest) - 0.5 * seconds**2 * min(0.0, float(fall.min(initial=0.0)))
        if float(self._heights(state.positions).min()) > reach:
            return None
        times = np.linspace(0.0, seconds, POSES + 1)
        heights = np.stack(
            [self._heights(self._places(state, motion, t)).cpu().numpy() for t in times]
        )
        # What touches already does not fall on, nor does what lands without being seen to.
        first = np.full(count, np.inf)
        falling = heights + 0.5 * fall * (times**2)[:, None]
        for k in range(POSES, -1, -1):
            first[bodies[falling[k] <= 0.0]] = times[max(0, k - 1)]
        until = np.minimum(times[:, None], first[bodies])
        heights += fall * until * (times[:, None] - 0.5 * until)
        part = seconds / POSES
        for k in range(POSES):
            high, low = heights[k], heights[k + 1]
            speed = (high - low) / part
            hits = (low <= 0.0) & ((high > 0.0) | (k == 0)) & (speed > self._seen_speed[bodies])
            if not hits.any():
                continue
            since = times[k] + np.maximum(0.0, high[hits]) / speed[hits]
            which = int(since.argmin())
            body = int(bodies[hits][which])
            fastest = float(speed[hits & (bodies == body)].max())
            return self._impact(body, -1, float(since[which]), fastest)
        return None

    def _places(self, state: State, motion: RigidMotion, seconds: float) -> Tensor:
        """Return the (3, N) positions after a time without forces, in metres."""
        straight = state.positions + seconds * state.velocities
        carried = motion.carried(state.positions, 0.0, seconds)
        return torch.where(self._frames.are_free, carried, straight)

    def _heights(self, positions: Tensor) -> Tensor:
        """Return the (S,) heights of points above the ground's activation distance, in metres."""
        barrier = self._system.ground_barrier
        assert barrier is not None
        return barrier.points.gather(positions[2]) - barrier.height - barrier.distances

    def _bodies_of_points(self) -> NDArray[np.int64]:
        """(S,) the body of each point."""
        barrier = self._system.ground_barrier
        assert barrier is not None
        numbers = torch.empty(self._system.vertex_count, dtype=torch.long)
        for number, where in enumerate(self._slices):
            numbers[where] = number
        numbers = numbers.to(self._system.device)
        bodies: NDArray[np.int64] = barrier.points.from_bodies(numbers).cpu().numpy()
        return bodies

    # Surfaces

    def _first_on_surfaces(
        self, state: State, seconds: float, unhindered: Unhindered, collider_moves: Values
    ) -> Impact | None:
        displacement, acceleration, motion = unhindered
        contact = self._contact
        assert contact is not None
        surface, at = contact.surface, state.positions
        colliders = surface.colliders_in(state)
        free, pull = self._frames.are_free, seconds * acceleration
        start = torch.where(free, motion.velocities(at, 0.0), state.velocities)
        moved = motion.carried(at, 0.0, seconds)
        end = torch.where(free, motion.velocities(moved, seconds), state.velocities)
        collider_speeds = collider_moves / seconds
        gains = surface.points(pull.cpu().numpy(), np.zeros_like(collider_speeds))
        crossing = Crossing(
            surface.points(at.cpu().numpy(), colliders),
            surface.points(displacement.cpu().numpy(), collider_moves),
            tuple(surface.points(v.cpu().numpy(), collider_speeds) for v in (start, end)),
            gains,
            0.5 * seconds * gains,
            self._seen[:-1],
        )
        meeting = contact.approach_limit.first_meeting(crossing)
        if meeting is None:
            return None
        return self._impact(*meeting.objects, meeting.share * seconds, meeting.speed)


def _followed_by(values: Values, zeros: int) -> Values:
    """Values of bodies, then zeros of so many colliders and of the ground."""
    return np.concatenate([values, np.zeros(zeros + 1)])


def mean_of(values: PerTet) -> float:
    """The mean of a setting of a body over its tets; of tensors, too, that gradients go by."""
    return float(torch.as_tensor(values).mean())
