# SPDX-License-Identifier: GPL-3.0-or-later
"""The throw with which a body reaches a point.

A throw is three numbers, six with its spin. Finite differences of simulations give their effect,
with any integrator and through any collisions.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InstabilityError, SceneError
from ..integrators import Integrator
from ..preparation.prepared import prepare
from ..scene import checks
from ..scene.channel import Channel
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody, start_positions, tet_mesh_of
from ..simulator import Simulator
from .observer import Observer
from .refusals import chosen_body

FloatArray = NDArray[np.float64]

# Actual over predicted decrease of a step: below the first ratio the trust region shrinks, above
# the second it grows.
POOR_GAIN, GOOD_GAIN = 0.1, 0.75
# The factors on the radius.
SHRINKAGE, GROWTH = 0.5, 2.0
# The least predicted decrease of a step, relative to the present miss.
LEAST_PROMISE = 0.05
# The least change of the miss, relative to the tolerance; steps with a smaller one are not tried.
LEAST_CHANGE = 0.1


class Miss(Protocol):
    """The (R,) distances by which a simulation with (K,) parameters misses its target."""

    #: The number of simulations until now, and that of a Jacobian.
    runs: int
    jacobian_runs: int

    def missed(self, parameters: FloatArray) -> FloatArray:
        """Raises InstabilityError when the simulation fails."""
        ...

    def jacobian(self, parameters: FloatArray, missed: FloatArray, radius: float) -> FloatArray:
        """Return the (R, K) Jacobian, from the trust region about the parameters."""
        ...


def trust_region(
    miss: Miss,
    start: FloatArray,
    radius: float,
    near: float,
    max_runs: int,
    slope: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the parameters with the smallest known miss, and that (R,) miss.

    Gauss–Newton steps within a trust region, from the best so far. Each simulation corrects the
    Jacobian along the step to it; after a step with too little gain it is computed again, unless
    it is of that point or too few simulations are left. The search ends if it predicts next to no
    decrease, or if the region has become too small to matter.

    Source: Powell, "A hybrid method for nonlinear equations", in Rabinowitz (ed.), Numerical
    Methods for Nonlinear Algebraic Equations, 1970, with the corrections of Broyden, "A Class of
    Methods for Solving Nonlinear Simultaneous Equations", Mathematics of Computation 19, 1965.

    Args:
        miss: the simulation.
        start: (K,) initial parameters.
        radius: the radius of the first trust region.
        near: the norm of an acceptable miss.
        max_runs: the most simulations of ``miss``.
        slope: (R, K) approximate Jacobian at the start; None computes one.

    Raises:
        InstabilityError: when the simulation of the start, or its Jacobian, fails.
    """
    best, least = start, miss.missed(start)
    is_fresh = False
    while _size(least) > near and miss.runs < max_runs:
        may_ask = miss.runs + miss.jacobian_runs < max_runs
        if slope is None and may_ask:
            slope, is_fresh = _jacobian(miss, best, least, radius, best is start), True
        if slope is None:
            break
        step = bounded_step(slope, least, radius)
        promised = _size(least) - _size(least + slope @ step)
        if promised < LEAST_PROMISE * _size(least):
            if is_fresh:
                break
            slope = None
            continue
        trial = _tried(miss, best + step)
        gain = -np.inf if trial is None else _size(least) - _size(trial)
        if trial is not None:
            slope = slope + np.outer(trial - least - slope @ step, step) / (step @ step)
        if gain > GOOD_GAIN * promised:
            radius = max(radius, GROWTH * _size(step))
        elif gain < POOR_GAIN * promised:
            radius = SHRINKAGE * _size(step)
            if radius * np.linalg.norm(slope, 2) < LEAST_CHANGE * near:
                break
            slope = slope if is_fresh or trial is None or not may_ask else None
        if trial is not None and gain > 0.0:
            best, least, is_fresh = best + step, trial, False
    return best, least


def bounded_step(slope: FloatArray, missed: FloatArray, radius: float) -> FloatArray:
    """(K,) the step s of the least |r + J s| with |s| ≤ radius; of several the shortest.

    It is −(JᵀJ + λ)⁻¹ Jᵀ r, with λ such that it is as long as that, or zero (Levenberg, "A method
    for the solution of certain non-linear problems in least squares", Quarterly of Applied
    Mathematics 2, 1944).
    """
    left, sizes, right = np.linalg.svd(slope, full_matrices=False)
    along, squares = left.T @ missed, sizes**2
    counts = sizes > 1e-9 * max(float(sizes.max()), 1e-300)

    def step(damping: float) -> FloatArray:
        inverse = np.zeros_like(sizes)
        inverse[counts] = (sizes / (squares + damping))[counts]
        return -right.T @ (inverse * along)

    if _size(step(0.0)) <= radius:
        return step(0.0)
    # The step is shorter than |Jᵀ r| / λ.
    low, high = 0.0, _size(sizes * along) / radius
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _size(step(middle)) > radius else (low, middle)
    return step(high)


def _jacobian(
    miss: Miss, parameters: FloatArray, missed: FloatArray, radius: float, is_start: bool
) -> FloatArray | None:
    """The Jacobian; None where simulations fail, but of the start."""
    try:
        return miss.jacobian(parameters, missed, radius)
    except InstabilityError:
        if is_start:
            raise
        return None


def _tried(miss: Miss, parameters: FloatArray) -> FloatArray | None:
    """Simulate; None where that fails."""
    try:
        return miss.missed(parameters)
    except InstabilityError:
        return None


def _size(vector: FloatArray) -> float:
    return float(np.linalg.norm(vector))


# Distance that counts as a hit, relative to the distance to the target.
HIT_RATIO = 0.01
MAX_RUNS = 30
# Runs that are left for a straight throw.
STRAIGHT_RUNS = 8
# Largest change by the first step, relative to the speed.
FIRST_RATIO = 0.5
# Difference of the throws that make a Jacobian, relative to the speed.
DIFFERENCE_RATIO = 0.05
# About the speed that leaves the earth. Faster throws are mistakes, of units or of a decimal point.
MAX_SPEED_M_PER_S = 1e4

#: From a scene with another throw to the (N, 3) tet vertices of the body at the frame.
Flight = Callable[[Scene], FloatArray]


@dataclass(frozen=True)
class Throw:
    """The throw that comes nearest to a target.

    Args:
        scene: with this throw.
        velocity: in m/s.
        angular_velocity: in rad/s.
        distance: from the target at the frame, in metres.
        hits: whether that is within a hundredth of the distance to the target at the start, or of
            the radius of the body where it is larger.
        runs: simulations that it took.
        set_distance: from the target, in metres, of the best throw like the one that was set, where
            a straight one comes nearer.
    """

    scene: Scene
    velocity: tuple[float, float, float]
    angular_velocity: tuple[float, float, float]
    distance: float
    hits: bool
    runs: int
    set_distance: float | None = None


def hit_target(
    scene: Scene,
    target: ArrayLike,
    frame: int,
    *,
    body: int = 0,
    vertices: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    with_spin: bool = False,
    integrator: Integrator | None = None,
    max_runs: int = MAX_RUNS,
    observe: Observer | None = None,
    **options: Any,
) -> Throw:
    """Find the velocity at the start, and on request the spin, with which a body reaches a point at
    a frame, bounces on the way included.

    The search begins with the throw that the body has. If no similar throw hits, or the body has
    none, the search begins with a straight one. If the target cannot be reached, the result is the
    best known throw, and ``hits`` is false.

    Args:
        scene: is simulated.
        target: (3,) in metres.
        frame: when it is to be there, 1 or later.
        body: index of it.
        vertices: the tet vertices whose mean is to hit the target; None is its centre of mass.
        weights: (N,) of all of its tet vertices in that mean, instead.
        with_spin: whether the angular velocity may change, too.
        integrator, options: as for ``Simulator``.
        max_runs: simulations at most.
        observe: hears of the distance from the target after each simulation.

    Raises:
        SceneError: when the target is not finite or too far to be reached, where the body is does
            not depend on its throw, or the scene cannot be simulated.
        InstabilityError: when no throw that the search begins with can be simulated.
    """
    prepared, there = prepare(scene)[0], _checked(target, frame)
    thrown = chosen_body(prepared, body)

    def fly(changed: Scene) -> FloatArray:
        simulator = Simulator(changed, integrator, is_prepared=True, **options)
        *_, last = simulator.run(frame)
        return last.positions[body].double().cpu().numpy()

    seconds = frame * float(options.get("frame_time", 1.0 / 24.0))
    mean = _weights(thrown, vertices, weights)
    throws = Throws(prepared, body, fly, there, mean, frame, seconds, with_spin, max_runs, observe)
    return find_throw(throws)


def find_throw(throws: Throws) -> Throw:
    """The throw with which a body comes nearest to its target.

    Raises:
        SceneError, InstabilityError: as ``hit_target`` does.
    """
    _refuse_far(throws)
    body, max_runs = throws.body, throws.max_runs
    gravity = Channel.of(throws.scene.gravity, "Gravity", 3).at(0)
    present = throws.parameters(np.asarray(body.velocity))
    straight = throws.parameters(
        throws.displacement / throws.seconds - 0.5 * throws.seconds * gravity
    )
    speed = max(float(np.linalg.norm(each)) for each in (present, straight, throws.slowest))
    throws.difference, near = DIFFERENCE_RATIO * speed, throws.near
    free_flight = throws.seconds * np.eye(3, len(straight))
    starts: list[tuple[FloatArray, int, FloatArray | None]] = [(straight, max_runs, free_flight)]
    if any(body.velocity):
        starts = [(present, max_runs - STRAIGHT_RUNS, None), *starts]
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
    is_other = len(reached) > 1 and distance < reached[0][0]
    scene = throws.thrown(throw)
    best = scene.bodies[throws.index]
    return Throw(
        scene,
        best.velocity,
        best.angular_velocity,
        distance,
        distance <= near,
        throws.runs,
        reached[0][0] if is_other else None,
    )


class Throws:
    """Throws of a body: velocities in m/s and, with spin, angular velocities times its radius.

    Args:
        scene: holds the body.
        index: of the body.
        fly: simulates it.
        target: (3,) in metres.
        mean: (N,) weights of its tet vertices in the point that is to be there; they sum to one.
        frame, seconds: when.
        observe: hears of the distance from the target after each throw.
    """

    def __init__(
        self,
        scene: Scene,
        index: int,
        fly: Flight,
        target: FloatArray,
        mean: FloatArray,
        frame: int,
        seconds: float,
        with_spin: bool,
        max_runs: int,
        observe: Observer | None,
    ) -> None:
        self.scene, self.index, self.body = scene, index, (body := scene.bodies[index])
        self._fly, self._target, self._mean = fly, target, mean
        self.frame, self.seconds, self.max_runs = frame, seconds, max_runs
        self._with_spin, self._observe = with_spin, observe
        #: The distance to the target in metres.
        self.displacement = target - mean @ start_positions(body)
        self._radius = 0.5 * tet_mesh_of(body).diagonal
        #: The largest distance of a hit, in metres.
        self.near = HIT_RATIO * max(float(np.linalg.norm(self.displacement)), self._radius)
        #: The speed with which it would go as far as its radius.
        self.slowest = self._radius / seconds
        #: Difference of the throws that make a Jacobian.
        self.difference = self.slowest
        self.runs, self.jacobian_runs = 0, 6 if with_spin else 3

    def missed(self, parameters: FloatArray) -> FloatArray:
        self.runs += 1
        away: FloatArray = self._mean @ self._fly(self.thrown(parameters)) - self._target
        if self._observe is not None:
            self._observe(float(np.linalg.norm(away)), self.runs / self.max_runs)
        return away

    def jacobian(self, parameters: FloatArray, missed: FloatArray, radius: float) -> FloatArray:
        step = min(radius, self.difference)
        slope = np.zeros((len(missed), len(parameters)))
        for column, direction in zip(slope.T, np.eye(len(parameters)), strict=True):
            # A failed throw gives no information.
            with suppress(InstabilityError):
                column[:] = (self.missed(parameters + step * direction) - missed) / step
        if not slope.any():
            raise SceneError(
                f"{self.body.name}: its position at frame {self.frame} does not depend on the "
                "throw. Release its pins, or choose vertices that are not pinned."
            )
        return slope

    def parameters(self, velocity: FloatArray) -> FloatArray:
        """Return the parameters of a throw with the body's spin."""
        spin = self._radius * np.asarray(self.body.angular_velocity)
        return np.concatenate([velocity, spin]) if self._with_spin else velocity

    def thrown(self, parameters: FloatArray) -> Scene:
        """The scene with another throw."""
        changes: dict[str, Any] = {"velocity": tuple(parameters[:3].tolist())}
        if self._with_spin:
            changes["angular_velocity"] = tuple((parameters[3:] / self._radius).tolist())
        scene = copy(self.scene)
        scene.bodies = [*scene.bodies]
        scene.bodies[self.index] = replace(self.body, **changes)
        return scene


def _checked(target: ArrayLike, frame: int) -> NDArray[np.float64]:
    point = np.asarray(target, dtype=np.float64)
    if point.shape != (3,) or not np.isfinite(point).all():
        raise SceneError(f"The target must be three finite numbers, not {target!r}.")
    if frame < 1:
        raise SceneError(f"The target must be reached at frame 1 or later, not {frame}.")
    return point


def _refuse_far(throws: Throws) -> None:
    distance = float(np.linalg.norm(throws.displacement))
    speed = distance / throws.seconds
    if not speed <= MAX_SPEED_M_PER_S:
        raise SceneError(
            f"{throws.body.name}: the target is {distance:.3g} m away. To be there at frame "
            f"{throws.frame}, the body would need a speed of {speed:.3g} m/s, and the limit is "
            f"{MAX_SPEED_M_PER_S:g} m/s. Move the target nearer, check the unit scale, or choose a "
            "later frame."
        )


def _weights(
    body: SoftBody, vertices: ArrayLike | None, weighting: ArrayLike | None
) -> NDArray[np.float64]:
    """Return (N,) weights that sum to one."""
    mesh = tet_mesh_of(body)
    count = len(mesh.vertices)
    if weighting is not None:
        weights = np.asarray(weighting, dtype=np.float64)
    elif vertices is None:
        weights = mesh.lumped_mass(body.density)
    else:
        what = f"{body.name}: a vertex that is to hit the target"
        weights = np.bincount(checks.indices(vertices, count, what), minlength=count).astype(float)
    if weights.shape != (count,) or not np.isfinite(weights).all() or weights.sum() == 0.0:
        raise SceneError(
            f"{body.name}: the points that should hit the target must be one or more vertices, or "
            f"{count} weights, one per tet vertex, whose sum is not zero."
        )
    return weights / weights.sum()
