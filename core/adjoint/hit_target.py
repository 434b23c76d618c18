# SPDX-License-Identifier: GPL-3.0-or-later
"""The throw with which a body reaches a point."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ..errors import SceneError
from ..integrators import Integrator
from ..preparation.prepared import prepare
from ..scene import checks
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody
from ..scene.start_shape import start_positions
from .observer import Observer
from .refusals import chosen_body
from .simulations import simulate
from .trust_region import FloatArray, trust_region

# Of the way that it has to go: this near is a hit; and of a hit, where the search ends.
HIT_RATIO, ENOUGH_RATIO = 0.01, 0.1
MAX_RUNS = 30
# Of the speed: by so much the first step may change it.
FIRST_RATIO = 0.5
# In m/s: about what leaves the earth. Faster throws are mistakes, of units or of a decimal point.
MAX_SPEED_M_PER_S = 1e4


@dataclass(frozen=True)
class Throw:
    """
    Args:
        scene: with the velocity, and the spin where it was wanted, of the body.
        velocity: in m/s.
        angular_velocity: in rad/s.
        distance: from the target at the frame, in metres.
        hits: whether that is within a hundredth of the way.
        runs: simulations that it took.
    """

    scene: Scene
    velocity: tuple[float, ...]
    angular_velocity: tuple[float, ...]
    distance: float
    hits: bool
    runs: int


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
    """Finds the velocity at the start, and the spin if wanted, with which a body reaches a point at
    a frame, bounces on the way included.

    Where the target cannot be reached, the throw is the best that was found, and ``hits`` is false.

    Args:
        scene: where the throw that it has begins the search.
        target: (3,) in metres.
        frame: when it is to be there, 1 or later.
        body: index of it.
        vertices: whose mean is to be there, of its tets; None is its centre of mass.
        weights: (N,) of all of its tet vertices in that mean, instead.
        with_spin: whether the angular velocity may change, too.
        integrator, options: as for ``simulate``.
        observe: hears of the distance from the target after each simulation.

    Raises:
        SceneError: when the target is not finite or too far to be reached, where the body is does
            not depend on its throw, or the scene has no gradients.
        InstabilityError: when the throw that it has cannot be simulated, or has no gradient.
    """
    prepared, there = prepare(scene)[0], _checked(target, frame)
    thrown = chosen_body(prepared, body)
    mean = _weights(thrown, vertices, weights)
    way = float(np.linalg.norm(there - mean @ start_positions(thrown)))

    def place(parameters: Tensor) -> Tensor:
        scene = _thrown(prepared, body, parameters)
        last = simulate(scene, integrator, frames=frame, **options)[-1]
        reached = last.positions[body].double()
        return torch.as_tensor(mean) @ reached

    def heard(distance: float, runs: int) -> None:
        if observe is not None:
            observe(distance, runs / max_runs)

    speed = way / (frame * options.get("frame_time", 1.0 / 24.0))
    refuse_far(thrown, way, speed, frame)
    throws = _Throws(place, there, heard, not_by_throw(thrown, frame))
    start = np.array([*thrown.velocity, *(thrown.angular_velocity if with_spin else ())])
    radius = FIRST_RATIO * max(float(np.linalg.norm(start)), speed)
    near = ENOUGH_RATIO * HIT_RATIO * way
    parameters, missed = trust_region(throws, start, radius, near, max_runs)
    distance = float(np.linalg.norm(missed))
    best = _thrown(prepared, body, torch.as_tensor(parameters))
    flying, hits = best.bodies[body], distance <= HIT_RATIO * way
    return Throw(best, flying.velocity, flying.angular_velocity, distance, hits, throws.runs)


class _Throws:
    """By what throws miss a place, with gradients.

    Args:
        place: by the velocity, and the spin where it is wanted, on autograd's tape.
        target: (3,) in metres.
        heard: of the distance after each simulation, and their number.
        if_flat: what the error says where the place does not depend on the throw.
    """

    jacobian_runs = 1

    def __init__(
        self,
        place: Callable[[Tensor], Tensor],
        target: FloatArray,
        heard: Callable[[float, int], object],
        if_flat: str,
    ) -> None:
        self._place, self._target, self._heard = place, target, heard
        self._if_flat, self.runs = if_flat, 0
        #: The latest throw, and where it led.
        self._latest: tuple[Tensor, Tensor] | None = None

    def missed(self, parameters: FloatArray) -> FloatArray:
        self.runs += 1
        self._latest = None
        own = torch.tensor(parameters, requires_grad=True)
        found = self._place(own)
        self._latest = own, found
        away: FloatArray = found.detach().numpy() - self._target
        self._heard(float(np.linalg.norm(away)), self.runs)
        return away

    def jacobian(self, parameters: FloatArray, missed: FloatArray, radius: float) -> FloatArray:
        """By a backward pass for each coordinate."""
        if self._latest is None or not np.array_equal(self._latest[0].detach(), parameters):
            self.missed(parameters)
        assert self._latest is not None
        own, found = self._latest
        rows = [torch.autograd.grad(part, own, retain_graph=True)[0] for part in found]
        slope: FloatArray = torch.stack(rows).numpy()
        if not slope.any():
            raise SceneError(self._if_flat)
        return slope


def _checked(target: ArrayLike, frame: int) -> NDArray[np.float64]:
    wanted = np.asarray(target, dtype=np.float64)
    if wanted.shape != (3,) or not np.isfinite(wanted).all():
        raise SceneError(f"The target must be three finite numbers, not {target!r}.")
    if frame < 1:
        raise SceneError(f"The target must be reached at frame 1 or later, not {frame}.")
    return wanted


def refuse_far(body: SoftBody, way: float, speed: float, frame: int) -> None:
    """
    Args:
        way: to the target in metres.
        speed: in m/s with which it is gone until the frame.

    Raises:
        SceneError: where no sensible throw is as fast.
    """
    if not speed <= MAX_SPEED_M_PER_S:
        raise SceneError(
            f"{body.name}: the target is {way:.3g} m away, so that it would have to be thrown with "
            f"{speed:.3g} m/s to be there at frame {frame}; {MAX_SPEED_M_PER_S:g} m/s is the most. "
            "Move the target nearer, look at the unit scale, or choose a later frame."
        )


def not_by_throw(body: SoftBody, frame: int) -> str:
    """What the error says where no throw changes the place."""
    return (
        f"{body.name}: where it is at frame {frame} does not depend on how it is thrown. Let go "
        "what is pinned, or let vertices reach the target that are not."
    )


def _thrown(scene: Scene, body: int, parameters: Tensor) -> Scene:
    changes: dict[str, Any] = {"velocity": parameters[:3]}
    if len(parameters) > 3:
        changes["angular_velocity"] = parameters[3:]
    own = copy(scene)
    own.bodies = list(scene.bodies)
    own.bodies[body] = replace(scene.bodies[body], **changes)
    return own


def _weights(body: Any, vertices: ArrayLike | None, given: ArrayLike | None) -> NDArray[np.float64]:
    """(N,) that sum to one."""
    count = len(body.mesh.vertices)
    if given is not None:
        weights = np.asarray(given, dtype=np.float64)
    elif vertices is None:
        weights = body.mesh.lumped_mass(body.density)
    else:
        what = f"{body.name}: a vertex that is to hit the target"
        weights = np.bincount(checks.indices(vertices, count, what), minlength=count).astype(float)
    if weights.shape != (count,) or not np.isfinite(weights).all() or weights.sum() == 0.0:
        raise SceneError(
            f"{body.name}: what is to hit the target must be vertices, at least one, or {count} "
            "weights, one a tet vertex, that do not sum to zero."
        )
    return weights / weights.sum()
