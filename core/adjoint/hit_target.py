# SPDX-License-Identifier: GPL-3.0-or-later
"""The throw with which a body reaches a point."""

from __future__ import annotations

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
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody
from ..scene.start_shape import start_positions
from .least_squares import least_squares
from .observer import Observer
from .simulations import simulate

# Of the way that it has to go: this near is a hit, and the search goes on to a tenth of it.
HIT_RATIO = 0.01
MAX_RUNS = 30


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
        jacobian: (3, K) of the place at the frame by the velocity, and the spin where it was
            wanted.
    """

    scene: Scene
    velocity: tuple[float, ...]
    angular_velocity: tuple[float, ...]
    distance: float
    hits: bool
    runs: int
    jacobian: NDArray[np.float64]


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
        SceneError: when the target is not finite, or the scene has no gradients.
        InstabilityError: when it does not depend on the throw where the body is.
    """
    prepared, there = prepare(scene)[0], torch.as_tensor(_checked(target, frame))
    thrown = prepared.bodies[body]
    mean = torch.as_tensor(_weights(thrown, vertices, weights))
    way = float((there - mean @ torch.as_tensor(start_positions(thrown))).norm())

    def residuals(parameters: Tensor) -> Tensor:
        own = _thrown(prepared, body, parameters)
        last = simulate(own, integrator, frames=frame, **options)[-1]
        return mean @ last.positions[body] - there

    def heard(residual: float, done: float) -> None:
        if observe is not None:
            observe(residual * 3.0**0.5, done)

    first = [*thrown.velocity, *(thrown.angular_velocity if with_spin else ())]
    # Of the mean of three residuals, a tenth of a hit.
    enough = 0.1 * HIT_RATIO * way / 3.0**0.5
    start = torch.tensor(first, dtype=torch.float64)
    fit = least_squares(residuals, start, enough, max_runs, heard, _pinned(thrown, frame))
    distance = fit.residual * 3.0**0.5
    found = _thrown(prepared, body, fit.parameters).bodies[body]
    own = copy(prepared)
    own.bodies = [found if k == body else other for k, other in enumerate(prepared.bodies)]
    return Throw(
        own,
        found.velocity,
        found.angular_velocity,
        distance,
        distance <= HIT_RATIO * way,
        fit.runs,
        fit.jacobian.numpy(),
    )


def _checked(target: ArrayLike, frame: int) -> NDArray[np.float64]:
    wanted = np.asarray(target, dtype=np.float64)
    if wanted.shape != (3,) or not np.isfinite(wanted).all():
        raise SceneError(f"The target must be three finite numbers, not {target!r}.")
    if frame < 1:
        raise SceneError(f"The target must be reached at frame 1 or later, not {frame}.")
    return wanted


def _pinned(body: SoftBody, frame: int) -> str:
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
    if given is not None:
        weights = np.asarray(given, dtype=np.float64)
    elif vertices is None:
        weights = body.mesh.lumped_mass(body.density)
    else:
        weights = np.bincount(np.asarray(vertices), minlength=len(body.mesh.vertices)).astype(float)
    return weights / weights.sum()
