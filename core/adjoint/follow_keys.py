# SPDX-License-Identifier: GPL-3.0-or-later
"""The smallest forces, or the smallest motion of pins, with which a body passes through keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ..errors import InstabilityError, SceneError
from ..integrators import ImplicitEuler, Integrator
from ..preparation.prepared import prepare
from ..scene import checks
from ..scene.channel import Channel
from ..scene.rest_shape import ControlKind
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody, start_positions, tet_mesh_of
from .observer import Observer
from .refusals import chosen_body, refuse_scene
from .simulations import simulate

# The first weight of residuals relative to their response, and its growth.
FIRST_WEIGHT, WEIGHT_GROWTH, MAX_GROWTH = 10.0, 10.0, 1e3
# The least response of residuals to the control, relative to the first one.
MIN_GRADIENT_RATIO = 1e-10
# Conjugate gradients end once a direction gains less than this ratio of the total gain, times its
# number; and the most directions.
LINEAR_GAIN, MAX_DIRECTIONS = 0.1, 40
# The search is at the minimum if a step gains this ratio of the predicted decrease, or if the
# predicted decrease is below the second ratio of the cost.
KEPT_PROMISE, LEAST_PROMISE = 0.2, 0.01
# The least decrease of the residual, relative to it, by a greater weight; and the number of
# weights without it that ends the search.
LEAST_GAIN, MAX_STALLED = 0.05, 3
# The shortest step of the line search.
MIN_STEP_SIZE = 1.0 / 16.0
TINY = 1e-150


class Controlled(Protocol):
    """A simulation under a control."""

    def residual(self, control: Tensor) -> Tensor:
        """Return the remaining distances, a (R,) vector."""
        ...

    def linearized(self, control: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        """Return the remaining distances, and their derivative J as w ↦ Jᵀ w, which has the shape
        of the control."""
        ...


@dataclass(frozen=True)
class LeastControl:
    """The control of least size that brings a body near its keys.

    Args:
        control: the control.
        residual: (R,) residuals of the control.
        runs: simulations that it took.
    """

    control: Tensor
    residual: Tensor
    runs: int


@dataclass(frozen=True)
class _Point:
    """A control, its residual r, the transposed derivative J of r, and Jᵀ r."""

    control: Tensor
    residual: Tensor
    pull: Callable[[Tensor], Tensor]
    slope: Tensor

    @property
    def gradient_ratio(self) -> float:
        """|Jᵀ r| / |r|."""
        size = float(self.residual.norm())
        return float(self.slope.norm()) / size if size > 0.0 else 0.0

    def cost(self, weight: float) -> float:
        """|u|² + w |r|²."""
        return float(self.control.square().sum() + weight * self.residual.square().sum())


class LeastControlSearch:
    """Find the least |u| with r(u) about zero. The minimum of |u|² + w |r(u)|² is followed with
    growing w until r is small enough, so that residuals with hardly any response are not forced.

    Gauss–Newton steps by conjugate gradients on (1 + w Jᵀ J) v = −u − w Jᵀ r, in which Jᵀ is a
    backward pass and J the difference of two simulations. (Nocedal and Wright, "Numerical
    Optimization", 2006, sections 7.1 and 17.1, has the method and the growing weight.)

    Args:
        problem: the simulation under a control.
        excess: the size of a residual relative to an acceptable one.
        trial: the norm of the change of residuals for finite differences.
        max_runs: simulations at most.
        report: is called with the residual of each tried point and base point, and with the
            progress from 0 to 1.
    """

    def __init__(
        self,
        problem: Controlled,
        excess: Callable[[Tensor], float],
        trial: float,
        max_runs: int,
        report: Callable[[Tensor, float], object],
    ) -> None:
        self._problem, self._excess, self._report = problem, excess, report
        self._trial, self._max_runs, self._runs = trial, max_runs, 0
        # A lower bound of |J|.
        self._largest = 0.0

    def minimized(self, start: Tensor) -> LeastControl:
        """Return the best control of a search from ``start``."""
        point, stalled = self._at(start), 0
        ratio = self._largest = point.gradient_ratio
        weight, least = FIRST_WEIGHT / max(ratio, TINY) ** 2, MIN_GRADIENT_RATIO * ratio
        if start.any():
            # The whole control counts as much as an acceptable residual.
            small = float(point.residual.norm()) / max(self._excess(point.residual), TINY)
            weight = max(weight, float(start.square().sum()) / max(small, TINY) ** 2)
        is_least = not start.any()
        while (
            self._runs < self._max_runs and stalled < MAX_STALLED and point.gradient_ratio > least
        ):
            excess = self._excess(point.residual)
            if is_least and excess <= 1.0:
                break
            is_heavier = is_least and bool(point.control.any())
            if is_heavier:
                weight *= min(max(WEIGHT_GROWTH, 2.0 * excess), MAX_GROWTH)
            direction, promised = self._newton_step(point, weight)
            missed = weight * float(point.residual.square().sum())
            if is_heavier and promised < 2.0 * LEAST_GAIN * missed:
                break
            better = self._searched(point, direction, weight)
            if better is None:
                break
            gain = point.cost(weight) - better.cost(weight)
            is_least = abs(
                gain - promised
            ) <= KEPT_PROMISE * promised or promised <= LEAST_PROMISE * better.cost(weight)
            came = 1.0 - float(better.residual.norm()) / float(point.residual.norm())
            stalled = 0 if came > LEAST_GAIN else stalled + is_heavier
            point = better
        return LeastControl(point.control, point.residual, self._runs)

    def _at(self, control: Tensor) -> _Point:
        self._runs += 1
        residual, pull = self._problem.linearized(control)
        self._report(residual, self._runs / self._max_runs)
        return _Point(control, residual, pull, pull(residual))

    def _newton_step(self, point: _Point, weight: float) -> tuple[Tensor, float]:
        """The step v, and the decrease of the cost that the linear problem predicts."""
        step = torch.zeros_like(point.control)
        left = -point.control - weight * point.slope
        direction, square, gained = left, float(left.square().sum()), 0.0
        for count in range(1, MAX_DIRECTIONS + 1):
            if self._runs >= self._max_runs or square == 0.0:
                break
            image = direction + weight * point.pull(self._pushed(point, direction))
            length = square / float((direction * image).sum())
            step, left = step + length * direction, left - length * image
            gained += length * square
            if count * length * square <= LINEAR_GAIN * gained and count > 1:
                break
            before, square = square, float(left.square().sum())
            direction = left + square / before * direction
        return step, gained

    def _pushed(self, point: _Point, direction: Tensor) -> Tensor:
        """J times a direction of the control."""
        self._runs += 1
        length = float(direction.norm())
        size = self._trial / max(self._largest * length, TINY)
        changed = self._problem.residual(point.control + size * direction)
        self._report(point.residual, self._runs / self._max_runs)
        image = (changed - point.residual) / size
        self._largest = max(self._largest, float(image.norm()) / max(length, TINY))
        return image

    def _searched(self, point: _Point, direction: Tensor, weight: float) -> _Point | None:
        """Return the point after the largest part of a step that lowers the cost."""
        step_size = 1.0
        while step_size >= MIN_STEP_SIZE and self._runs < self._max_runs:
            try:
                point_next = self._at(point.control + step_size * direction)
            except InstabilityError:  # the run failed, or there is no derivative through it
                point_next = None
            if point_next is not None and point_next.cost(weight) < point.cost(weight):
                return point_next
            step_size *= 0.5
        return None


# The tolerance of keys, and the displacement of trial controls, relative to the body's diagonal.
NEAR_DIAGONALS, TRIAL_DIAGONALS = 1e-2, 1e-2
MAX_RUNS = 200
# The tolerance of implicit steps for finite differences.
SOLVED_M_PER_S = 1e-6

#: The frame, the vertices and their positions of a key.
_Place = tuple[int, NDArray[np.int64], Tensor]


@dataclass(frozen=True, eq=False)
class Key:
    """A key: target positions of a body's vertices at a frame.

    Args:
        frame: when, 1 or later.
        positions: (P, 3) in metres.
        vertices: (P,) of its tets; None are all.
    """

    frame: int
    positions: ArrayLike
    vertices: ArrayLike | None = None


@dataclass(frozen=True)
class Following:
    """The result of a search for accelerations or pins through keys.

    Args:
        scene: with the accelerations, or the pin path, that were found.
        accelerations: (T, n, 3) of the vertices of the body, or of its pins, after each frame, in
            m/s².
        effort: the root of their mean square, over masses, or pins, and frames.
        distance: from a key, of the vertex that is farthest off, in metres.
        follows: whether that is within the tolerance.
        runs: simulations that it took.
    """

    scene: Scene
    accelerations: NDArray[np.float64]
    effort: float
    distance: float
    follows: bool
    runs: int


def follow_keys(
    scene: Scene,
    keys: Sequence[Key],
    *,
    body: int = 0,
    by: ControlKind = "forces",
    tolerance: float | None = None,
    integrator: Integrator | None = None,
    max_runs: int = MAX_RUNS,
    observe: Observer | None = None,
    **options: Any,
) -> Following:
    """Finds the smallest accelerations that bring a body through keys.

    They change linearly from frame to frame, and are of all its vertices by forces beside all
    others, ``SoftBody.accelerations``, or of its pins, which leave their path by as much: d and
    its change are zero at the start and grow by h² a and h a a frame of h seconds. The smallest
    have the least ``Σ m |a|²``, or ``Σ |a|²`` of pins, over the frames. The search begins with
    controls that reach the keys without ground, colliders and contact, since a body on the ground
    responds to other forces than a flying one; of several minima it finds one near those.

    If the keys cannot be reached, the result is the best known control, and ``follows`` is false.

    Args:
        scene: to begin from.
        body: index of it.
        tolerance: in metres; None is a hundredth of the body's diagonal.
        integrator: as for ``simulate``; None is implicit Euler to 1e-6 m/s.
        options: as for ``simulate``.
        max_runs: simulations at most.
        observe: hears of the distance from the keys after each simulation.

    Raises:
        SceneError: when keys do not fit the body or are not finite, it has no pins to move, or the
            scene has no gradients.
        InstabilityError: when a simulation fails.
    """
    prepared = prepare(scene)[0]
    points = tet_mesh_of(followed := chosen_body(prepared, body)).vertices
    diagonal = float(np.linalg.norm(np.ptp(points, axis=0)))
    near = NEAR_DIAGONALS * diagonal if tolerance is None else tolerance
    places = _all_checked(keys, followed, len(points))
    frames = max(key.frame for key in keys)
    options["integrator"] = integrator or ImplicitEuler(SOLVED_M_PER_S)
    # Before the search without the parts that have no gradients.
    refuse_scene(prepared)
    kind = _kind(by)

    def problem_of(scene: Scene) -> _Problem:
        control = kind(scene, body, frames, options.get("frame_time", 1.0 / 24.0))
        return _Problem(control, places, body, frames, options)

    search = _Search(near, diagonal, max_runs, observe)
    problem, free = problem_of(prepared), _without_obstacles(prepared)
    best = search.best(problem, None if free is None else problem_of(free))
    control, distance = problem.control, problem.farthest(best.residual)
    accelerations = (best.control / control.weights).transpose(1, 2).numpy()
    effort = float(best.control.square().sum() / frames) ** 0.5
    controlled, follows = control.applied(accelerations), distance <= near
    return Following(controlled, accelerations, effort, distance, follows, search.runs)


def _kind(by: ControlKind) -> type[_Forces] | type[_Pins]:
    checks.choice(by, ControlKind, "What brings a body through keys")
    return _Forces if by == "forces" else _Pins


class _Search:
    """For controls of one scene after the other, with one number of simulations.

    Args:
        near: to keys, in metres, that is near enough.
        diagonal: of the body, in metres.
        max_runs: simulations at most.
        observe: as for ``follow_keys``.
    """

    def __init__(
        self, near: float, diagonal: float, max_runs: int, observe: Observer | None
    ) -> None:
        checks.above_zero(near, "The tolerance of keys in metres")
        self._near, self._trial = near, TRIAL_DIAGONALS * diagonal
        self._max_runs, self._observe = max_runs, observe
        #: Simulations until now.
        self.runs = 0

    def best(self, problem: _Problem, free: _Problem | None) -> LeastControl:
        """Return the best control, starting from the best one without obstacles, if there are
        any."""
        start = torch.zeros(problem.frames + 1, 3, problem.control.count, dtype=torch.float64)
        if free is not None and self._misses(problem, start):
            start = self._best_from(free, start).control
        return self._best_from(problem, start)

    def _misses(self, problem: _Problem, control: Tensor) -> bool:
        """Whether a control leaves a key too far away."""
        self.runs += 1
        return problem.farthest(problem.residual(control)) > self._near

    def _best_from(self, problem: _Problem, start: Tensor) -> LeastControl:
        """The best from a control."""
        before, left = self.runs, self._max_runs - self.runs

        def report(residual: Tensor, done: float) -> None:
            if self._observe is not None:
                self._observe(problem.farthest(residual), (before + done * left) / self._max_runs)

        def excess(residual: Tensor) -> float:
            return problem.farthest(residual) / self._near

        trial = self._trial * float(problem.weights.norm())
        best = LeastControlSearch(problem, excess, trial, left, report).minimized(start)
        self.runs += best.runs
        return best


def _without_obstacles(scene: Scene) -> Scene | None:
    """Return the scene without obstacles; None where there are none, or bodies may be attached
    to them."""
    if scene.attachments or (scene.ground is None and scene.contact is None and not scene.spheres):
        return None
    return replace(scene, ground=None, colliders=[], contact=None)


class _Control:
    """Accelerations (T, n, 3) of n vertices after each frame.

    Args:
        frame_time: in seconds.
    """

    def __init__(self, scene: Scene, body: int, frames: int, frame_time: float) -> None:
        self._scene, self._index, self._frame_time = scene, body, frame_time
        #: That is controlled.
        self.body = scene.bodies[body]
        self._frames = frames
        #: (n,) roots of the weights of squares; they sum to one.
        self.weights = self._weights()

    @property
    def count(self) -> int:
        return len(self.weights)

    def applied(self, accelerations: Any) -> Scene:
        """The scene with them, an array or a tensor."""
        scene = copy(self._scene)
        scene.bodies = list(scene.bodies)
        scene.bodies[self._index] = self._changed(accelerations)
        return scene

    def _at_frames(self, channel: Channel) -> NDArray[np.float64]:
        """Its samples at the frames up to the last key."""
        return np.stack([channel.at(frame) for frame in range(self._frames + 1)])

    def _weights(self) -> Tensor:
        raise NotImplementedError

    def _changed(self, accelerations: Any) -> SoftBody:
        raise NotImplementedError


class _Forces(_Control):
    """On all vertices."""

    def _weights(self) -> Tensor:
        mass = torch.as_tensor(tet_mesh_of(self.body).lumped_mass(self.body.density))
        return (mass / mass.sum()).sqrt()

    def _changed(self, accelerations: Any) -> SoftBody:
        before = self.body.accelerations
        channel = (
            accelerations
            if before is None
            else accelerations + _like(self._at_frames(before), accelerations)
        )
        return replace(self.body, accelerations=_ended(channel))


class _Pins(_Control):
    """Control by pins, which leave their path by displacements."""

    def _weights(self) -> Tensor:
        if self.body.pinned is None:
            raise SceneError(f"{self.body.name}: there are no pins to move; pin some vertices.")
        count = len(self.body.pinned)
        return torch.full((count,), count**-0.5, dtype=torch.float64)

    def _changed(self, accelerations: Any) -> SoftBody:
        body, times = self.body, np.arange(self._frames + 1)
        path = body.pin_path or Channel.constant(start_positions(body)[body.pinned])
        since = np.maximum(times[:, None] - times + 1.0, 0.0)
        # Pins begin on their path.
        since[:, 0] = 0.0
        sums = _like(self._frame_time**2 * since, accelerations)
        moved = (sums @ accelerations.reshape(len(times), -1)).reshape(accelerations.shape)
        return replace(body, pin_path=moved + _like(self._at_frames(path), accelerations))


class _Problem:
    """The distances of keyed vertices from their keys."""

    def __init__(
        self, control: _Control, keys: list[_Place], body: int, frames: int, options: dict[str, Any]
    ) -> None:
        self.control, self._keys, self._index = control, keys, body
        self.frames, self._options = frames, options
        mesh = tet_mesh_of(control.body)
        masses = torch.as_tensor(mesh.lumped_mass(control.body.density))
        #: (R,) of one keyed vertex after the other, the roots of their masses over the mean: so
        #: that residuals weigh light and heavy vertices alike.
        self.weights = torch.cat(
            [(masses[vertices] / masses.mean()).sqrt() for _, vertices, _ in keys]
        )

    def farthest(self, residual: Tensor) -> float:
        """Return the largest distance of a vertex from its key, in metres."""
        return float((residual.view(-1, 3).norm(dim=1) / self.weights).max())

    def residual(self, control: Tensor) -> Tensor:
        return self._offsets(self.control.applied(self._accelerations(control).numpy()))

    def linearized(self, control: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        leaf = control.clone().requires_grad_()
        distances = self._offsets(self.control.applied(self._accelerations(leaf)))

        def pull(weights: Tensor) -> Tensor:
            return torch.autograd.grad(distances, leaf, weights, retain_graph=True)[0]

        return distances.detach(), pull

    def _accelerations(self, control: Tensor) -> Tensor:
        return (control / self.control.weights).transpose(1, 2)

    def _offsets(self, scene: Scene) -> Tensor:
        """Return the offsets of the vertices, key after key, x, y, z of each, in metres."""
        frames = simulate(scene, frames=self.frames, **self._options)
        parts = [
            frames[frame - 1].positions[self._index][vertices] - places
            for frame, vertices, places in self._keys
        ]
        return (self.weights[:, None] * torch.cat(parts)).ravel()


def _like(values: NDArray[np.float64], other: Any) -> Any:
    return torch.as_tensor(values) if isinstance(other, Tensor) else values


def _ended(samples: Any) -> Any:
    """Append samples of zero: a channel keeps its last sample."""
    if isinstance(samples, Tensor):
        return torch.cat([samples, torch.zeros_like(samples[:1])])
    return np.concatenate([samples, np.zeros_like(samples[:1])])


def _all_checked(keys: Sequence[Key], body: SoftBody, count: int) -> list[_Place]:
    if not keys:
        raise SceneError(f"{body.name}: there are no keys to follow; give one.")
    return [_checked(key, body, count) for key in keys]


def _checked(key: Key, body: SoftBody, count: int) -> _Place:
    vertices = (
        np.arange(count) if key.vertices is None else np.asarray(key.vertices, dtype=np.int64)
    )
    positions = np.asarray(key.positions, dtype=np.float64)
    what = f"{body.name}: the key at frame {key.frame}"
    if key.frame < 1:
        raise SceneError(f"{what} must be at frame 1 or later; the start is given.")
    if len(vertices) == 0 or vertices.min() < 0 or vertices.max() >= count:
        raise SceneError(f"{what} must name vertices from 0 to {count - 1}.")
    if positions.shape != (len(vertices), 3):
        raise SceneError(f"{what} must have ({len(vertices)}, 3) positions, not {positions.shape}.")
    if not np.isfinite(positions).all():
        raise SceneError(f"{what} is not finite everywhere.")
    return key.frame, vertices, torch.as_tensor(positions)
