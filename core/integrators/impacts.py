# SPDX-License-Identifier: GPL-3.0-or-later
"""Predict visible impacts: when surfaces collide, and how long they stay in contact.

A step that is much longer than a contact cannot show that a body springs back. Hertz's theory
gives the duration of the contact beforehand, and the rigid motion of bodies gives its start.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..materials.bounce import contact_seconds
from ..potentials.contact.approach_limit import PredictedMotion
from ..potentials.contact.mesh_contact import MeshContact
from ..scene.soft_body import PerTet
from ..state import State
from ..system import System
from .rigid_frames import RigidFrames, RigidMotion
from .unhindered_motion import Unhindered

# Steps in the time of a contact. Two blocks that collide at up to 1.7 times their speed of sound
# exchange the momentum of explicit steps within 1.6 %; with 8 steps, up to 4 % less.
CONTACT_STEPS = 16
# The duration of the short steps, relative to Hertz's contact time. Bodies that are no balls, and
# softer parts, take longer.
WINDOW_RATIO = 1.25
# The time before and after the collision that its step covers, relative to a short step.
ONSET_RATIO = 0.125
# The shortest step for an impact, relative to the rest of the frame. Shorter contacts get one
# damped step. A ball of 10 cm and 1e9 Pa takes steps of 1/400 of a frame.
LEAST_STEP_RATIO = 1e-4
# The most steps a frame. The rest of the frame is then one step.
MAX_IMPACT_STEPS = 32
# The least visible height of a rebound, relative to the body's diagonal.
VISIBLE_RATIO = 0.01
# The gravity for visible rebounds in weightless scenes, in m/s².
GRAVITY = 9.81
# The number of poses that are searched for the lowest point of a body.
POSES = 8

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Impact:
    """A coming impact.

    Args:
        seconds: the time until it begins.
        contact_seconds: the duration of the contact.
    """

    seconds: float
    contact_seconds: float

    @property
    def step_seconds(self) -> float:
        """The length of the short steps."""
        return self.contact_seconds / CONTACT_STEPS

    @property
    def window(self) -> float:
        """The time until the short steps end, in seconds."""
        return self.seconds + WINDOW_RATIO * self.contact_seconds


class Impacts:
    """Find the first impact of a coming interval.

    Args:
        system: the system of the bodies.
        frames: the rigid frames of its bodies.
        contact: the contact of surfaces; None where they pass through each other.
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
        #: (O,) for bodies, then colliders and the ground: the inverse mass in 1/kg, the curvature
        #: of the ball with the same diagonal in 1/m, and (1 − ν²)/E in 1/Pa.
        self._inverse_mass = _followed_by(np.where(is_free, 1.0 / np.array(masses), 0.0), more)
        self._curvature = _followed_by(2.0 * math.sqrt(3.0) / size, more)
        self._compliance = _followed_by(np.array(compliance), more)
        gravity = system.max_gravity or GRAVITY
        #: (B,) the least speed of an impact with a visible rebound, in m/s.
        self._visible_speeds = np.sqrt(2.0 * gravity * VISIBLE_RATIO * size)
        # Plastic bodies absorb the impact and do not spring back.
        flows = np.array([body.plasticity is not None for body in system.bodies])
        self._visible_speeds[flows] = np.inf
        self._object_visible_speeds = _followed_by(self._visible_speeds, more)

    def first(
        self,
        state: State,
        seconds: float,
        unhindered: Unhindered,
        collider_moves: Values | None,
    ) -> Impact | None:
        """Return the first visible impact within ``seconds``; None without one.

        Args:
            state: the state at the start.
            unhindered: the motion without obstacles.
            collider_moves: (C, 3) displacements of colliders; None without contact.
        """
        impacts = [self._first_on_ground(state, seconds, unhindered)]
        if self._contact is not None and collider_moves is not None:
            impacts.append(self._first_on_surfaces(state, seconds, unhindered, collider_moves))
        known = [impact for impact in impacts if impact is not None]
        return min(known, key=lambda impact: impact.seconds, default=None)

    def _impact(self, one: int, other: int, seconds: float, speed: float) -> Impact:
        """Return the impact of two objects after ``seconds``, by their indices; −1 is the ground.

        Args:
            speed: the closing speed, in m/s.
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
        max_fall = seconds * float(fastest) - 0.5 * seconds**2 * min(
            0.0, float(fall.min(initial=0.0))
        )
        if float(self._heights(state.positions).min()) > max_fall:
            return None
        times = np.linspace(0.0, seconds, POSES + 1)
        heights = np.stack(
            [self._heights(self._places(state, motion, t)).cpu().numpy() for t in times]
        )
        # Points in contact do not keep falling, nor do points that land without a visible rebound.
        first = np.full(count, np.inf)
        free_fall_heights = heights + 0.5 * fall * (times**2)[:, None]
        for k in range(POSES, -1, -1):
            first[bodies[free_fall_heights[k] <= 0.0]] = times[max(0, k - 1)]
        until = np.minimum(times[:, None], first[bodies])
        heights += fall * until * (times[:, None] - 0.5 * until)
        part = seconds / POSES
        for k in range(POSES):
            high, low = heights[k], heights[k + 1]
            speed = (high - low) / part
            hits = (low <= 0.0) & ((high > 0.0) | (k == 0)) & (speed > self._visible_speeds[bodies])
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
        """Return the body index of each point, (S,)."""
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
        free, velocity_gains = self._frames.are_free, seconds * acceleration
        start = torch.where(free, motion.velocities(at, 0.0), state.velocities)
        moved = motion.carried(at, 0.0, seconds)
        end = torch.where(free, motion.velocities(moved, seconds), state.velocities)
        collider_speeds = collider_moves / seconds
        gains = surface.points(velocity_gains.cpu().numpy(), np.zeros_like(collider_speeds))
        predicted = PredictedMotion(
            surface.points(at.cpu().numpy(), colliders),
            surface.points(displacement.cpu().numpy(), collider_moves),
            tuple(surface.points(v.cpu().numpy(), collider_speeds) for v in (start, end)),
            gains,
            0.5 * seconds * gains,
            self._object_visible_speeds[:-1],
        )
        collision = contact.approach_limit.first_collision(predicted)
        if collision is None:
            return None
        return self._impact(*collision.objects, collision.fraction * seconds, collision.speed)


def _followed_by(values: Values, zeros: int) -> Values:
    """Return the values of bodies followed by zeros for colliders and the ground."""
    return np.concatenate([values, np.zeros(zeros + 1)])


def mean_of(values: PerTet) -> float:
    """Return the mean of a body's setting over its tets; differentiable for tensors."""
    return float(torch.as_tensor(values).mean())
