# SPDX-License-Identifier: GPL-3.0-or-later
"""Finds the throw with which a body hits a target, as the scene is simulated.

A throw is three numbers, six with its spin: differences of as many simulations tell how they act
through whatever there is on the way, in any steps.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..adjoint.hit_target import FIRST_RATIO, HIT_RATIO, MAX_RUNS, not_by_throw, refuse_far
from ..adjoint.observer import Observer
from ..adjoint.trust_region import trust_region
from ..errors import InstabilityError, SceneError
from ..scene.channel import Channel
from ..scene.soft_body import SoftBody
from ..scene.start_shape import start_positions, tet_mesh_of
from . import Job
from .fits import FoundThrow, HitTarget
from .output import say
from .search import positions, skin_of

FloatArray = NDArray[np.float64]

# Of the runs, those that are kept for a straight throw.
STRAIGHT_RUNS = 8
# Of the speed: so far are throws apart that tell how they act.
DIFFERENCE_RATIO = 0.05


def find_throw(job: Job, wanted: HitTarget, observe: Observer) -> FoundThrow:
    """Begins with the throw that the body has. Where no throw like it hits, and where it has none,
    with a straight one.

    Raises:
        SuppleError: when the target is too far, where the body is does not depend on its throw, or
            no throw that it begins with can be simulated.
    """
    throws = _Throws(job, wanted, observe)
    way = float(np.linalg.norm(throws.displacement))
    refuse_far(throws.body, way, way / throws.seconds, wanted.frame)
    given, straight = throws.given(), throws.straight()
    speed = max(float(np.linalg.norm(each)) for each in (given, straight, throws.slowest))
    throws.difference, near = DIFFERENCE_RATIO * speed, throws.near
    starts: list[tuple[FloatArray, int, FloatArray | None]]
    starts = [(straight, MAX_RUNS, throws.free_flight_jacobian())]
    if any(throws.body.velocity):
        starts = [(given, MAX_RUNS - STRAIGHT_RUNS, None), *starts]
    reached, failure = [], None
    for start, runs, slope in starts:
        try:
            throw, away = trust_region(throws, start, FIRST_RATIO * speed, near, runs, slope)
        except InstabilityError as error:
            failure = error
            continue
        reached.append((float(np.linalg.norm(away)), throw))
        if reached[-1][0] <= near:
            break
    if not reached and failure is not None:
        raise failure
    distance, throw = min(reached, key=lambda each: each[0])
    set_distance = reached[0][0] if len(reached) > 1 and distance < reached[0][0] else None
    return FoundThrow(
        **throws.changes(throw), distance=distance, hits=distance <= near, set_distance=set_distance
    )


class _Throws:
    """Throws of a body: velocities in m/s and, with spin, angular velocities times its radius.

    Args:
        observe: hears of the distance from the target after each.
    """

    def __init__(self, job: Job, wanted: HitTarget, observe: Observer) -> None:
        self.body = job.tet_scene.bodies[wanted.body]
        self._job, self._wanted, self._observe = job, wanted, observe
        self._target = np.asarray(wanted.target)
        self._mean = mean_of(self.body, wanted.weights)
        #: The way to the target in metres, and the time for it in seconds.
        self.displacement = self._target - self._mean @ start_positions(self.body)
        self._radius = 0.5 * tet_mesh_of(self.body).diagonal
        self.seconds = wanted.frame * job.settings.frame_time
        #: How near is a hit, in metres.
        self.near = HIT_RATIO * max(float(np.linalg.norm(self.displacement)), self._radius)
        #: With which it would go as far as its radius.
        self.slowest = self._radius / self.seconds
        #: How far throws are apart that tell how they act.
        self.difference = self.slowest
        self.runs, self.jacobian_runs = 0, 6 if wanted.with_spin else 3

    def missed(self, parameters: FloatArray) -> FloatArray:
        self.runs += 1
        frame, index = self._wanted.frame, self._wanted.body
        try:
            found = positions(self._job, index, frame, **self.changes(parameters))[-1]
        except InstabilityError as error:
            say(f"a throw failed: {error}")
            raise
        away: FloatArray = self._mean @ found - self._target
        self._observe(float(np.linalg.norm(away)), self.runs / MAX_RUNS)
        return away

    def jacobian(self, parameters: FloatArray, missed: FloatArray, radius: float) -> FloatArray:
        step = min(radius, self.difference)
        slope = np.zeros((len(missed), len(parameters)))
        for column, way in zip(slope.T, np.eye(len(parameters)), strict=True):
            # A throw that fails tells nothing.
            with suppress(InstabilityError):
                column[:] = (self.missed(parameters + step * way) - missed) / step
        if not slope.any():
            raise SceneError(not_by_throw(self.body, self._wanted.frame))
        return slope

    def given(self) -> FloatArray:
        """The throw that is set."""
        return self._parameters(np.asarray(self.body.velocity))

    def straight(self) -> FloatArray:
        """A free flight to the target, with the spin that is set."""
        weight = Channel.of(self._job.tet_scene.gravity, "Gravity", 3).at(0)
        return self._parameters(self.displacement / self.seconds - 0.5 * self.seconds * weight)

    def free_flight_jacobian(self) -> FloatArray:
        return self.seconds * np.eye(3, self.jacobian_runs)

    def _parameters(self, velocity: FloatArray) -> FloatArray:
        spin = self._radius * np.asarray(self.body.angular_velocity)
        return np.concatenate([velocity, spin]) if self._wanted.with_spin else velocity

    def changes(self, parameters: FloatArray) -> dict[str, Any]:
        """Of the body, by parameters."""
        spin = parameters[3:] / self._radius if self._wanted.with_spin else None
        return {
            "velocity": tuple(parameters[:3].tolist()),
            "angular_velocity": self.body.angular_velocity if spin is None else tuple(spin),
        }


def mean_of(body: SoftBody, weights: FloatArray | None) -> FloatArray:
    """(N,) of the tet vertices in the place that a body has: its centre of mass, or a mean of (V,)
    points of its skin. They sum to one."""
    mesh = tet_mesh_of(body)
    if weights is None:
        mass = mesh.lumped_mass(body.density)
        return mass / mass.sum()
    seen = skin_of(body)
    each = weights[:, None] * seen.weights
    mean = np.zeros(len(mesh.vertices))
    np.add.at(mean, seen.indices, each)
    return mean / mean.sum()
