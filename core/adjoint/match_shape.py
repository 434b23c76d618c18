# SPDX-License-Identifier: GPL-3.0-or-later
"""The stiffness with which a body moves as an animation shows."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.optimize as optimize
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ..errors import InstabilityError, SceneError
from ..integrators import Integrator
from ..preparation.prepared import prepare
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody
from .simulations import simulate

MAX_ITERATIONS = 40
# Of the loss, what its slope must be for stiffness to matter.
LEAST_SLOPE = 1e-9
# Moduli are sought within this of where the search begins, as logarithms: a factor of a thousand.
MAX_LOGARITHM = 7.0


@dataclass(frozen=True)
class Match:
    """
    Args:
        scene: with the stiffness found.
        young: (R,) Young's modulus of each region, in pascal.
        distance: the root of the mean squared distance from the animation, in metres.
        losses: that of each simulation.
    """

    scene: Scene
    young: NDArray[np.float64]
    distance: float
    losses: tuple[float, ...]


def match_shape(
    scene: Scene,
    positions: Sequence[ArrayLike],
    *,
    body: int = 0,
    regions: ArrayLike | None = None,
    integrator: Integrator | None = None,
    **options: Any,
) -> Match:
    """Finds Young's modulus, of a body or of each of its regions, with which it goes
    through shapes.

    L-BFGS (Nocedal, "Updating Quasi-Newton Matrices with Limited Storage", Mathematics of
    Computation 35, 1980) on the logarithms of the moduli.

    Args:
        scene: the modulus that it has begins the search.
        positions: of each frame, (N, 3) of the body's tet vertices in metres.
        body: index of it.
        regions: (M,) from 0, the region of each tet; None is one for all.
        integrator, options: as for ``simulate``.

    Raises:
        SceneError: when shapes do not fit the body or are not finite, or there are no gradients.
        InstabilityError: when the shapes do not tell of the stiffness.
    """
    prepared = prepare(scene)[0]
    own = prepared.bodies[body]
    targets = [torch.as_tensor(_checked(shape, own, k)) for k, shape in enumerate(positions)]
    count = len(own.mesh.tets)  # type: ignore[union-attr]
    of_tet = np.zeros(count, np.int64) if regions is None else np.asarray(regions, dtype=np.int64)
    if of_tet.shape != (count,) or of_tet.min(initial=0) < 0:
        raise SceneError(f"{own.name}: regions must be {count} numbers from 0, one a tet.")
    first = np.broadcast_to(np.asarray(own.material.young, dtype=np.float64), count)
    start = np.bincount(of_tet, np.log(first)) / np.bincount(of_tet)
    losses: list[float] = []

    def loss(logarithms: Tensor) -> Tensor:
        young = logarithms.exp()[torch.as_tensor(of_tet)]
        stiff = _with_young(prepared, body, young)
        frames = simulate(stiff, integrator, frames=len(targets), **options)
        pairs = zip(frames, targets, strict=True)
        away = [(frame.positions[body] - target).square().sum(1).mean() for frame, target in pairs]
        mean = torch.stack(away).mean()
        losses.append(float(mean.detach().sqrt()))
        return mean

    found = _minimized(loss, torch.as_tensor(start))
    young = found.exp().numpy()
    return Match(_with_young(prepared, body, young[of_tet]), young, losses[-1], tuple(losses))


def _minimized(loss: Any, start: Tensor) -> Tensor:
    scale: list[float] = []

    def evaluated(logarithms: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        own = torch.as_tensor(logarithms).clone().requires_grad_()
        value = loss(own)
        (gradient,) = torch.autograd.grad(value, own)
        if not scale:
            if not float(gradient.norm()) > LEAST_SLOPE * float(value.detach()):
                raise InstabilityError(
                    "The shapes do not tell of the stiffness: nothing in them is deformed. Give "
                    "frames in which the body bends, or begin softer."
                )
            scale.append(max(float(value.detach()), float(gradient.norm())))
        return float(value.detach()) / scale[0], gradient.numpy() / scale[0]

    bounds = [(log - MAX_LOGARITHM, log + MAX_LOGARITHM) for log in start.tolist()]
    options = {"maxiter": MAX_ITERATIONS, "ftol": 1e-12, "gtol": 1e-7}
    found = optimize.minimize(
        evaluated, start.numpy(), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    loss(torch.as_tensor(found.x))
    return torch.as_tensor(found.x)


def _with_young(scene: Scene, body: int, young: Any) -> Scene:
    own, stiff = copy(scene), scene.bodies[body]
    own.bodies = list(scene.bodies)
    own.bodies[body] = replace(stiff, material=replace(stiff.material, young=young))
    return own


def _checked(shape: ArrayLike, body: SoftBody, index: int) -> NDArray[np.float64]:
    found, mesh = np.asarray(shape, dtype=np.float64), body.mesh
    if found.shape != mesh.vertices.shape:
        raise SceneError(
            f"{body.name}: shape {index} has the shape {found.shape}, the body's vertices "
            f"{mesh.vertices.shape}."
        )
    if not np.isfinite(found).all():
        raise SceneError(f"{body.name}: shape {index} is not finite everywhere.")
    return found
