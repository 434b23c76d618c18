# SPDX-License-Identifier: GPL-3.0-or-later
"""The stiffness with which a body moves as an animation shows."""

from __future__ import annotations

import math
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
from ..geometry.embedding import Embedding
from ..geometry.rigid_fit import rigid_fit
from ..integrators import Integrator
from ..preparation.prepared import prepare
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody, skin_embedding_of, start_positions
from .observer import Observer
from .refusals import chosen_body
from .simulations import simulate

MAX_ITERATIONS = 40
# The least slope of the loss, relative to it, at which stiffness matters.
LEAST_SLOPE = 1e-9
# The distance at which a body is already in a shape, relative to the deformation of the shape; and
# relative to the body's diagonal and its distance from the origin, which is the rounding of shapes
# in single precision.
MET_RATIO, MET_ROUNDING = 1e-3, 1e-6
# Moduli are sought within this of where the search begins, as logarithms: a factor of a thousand.
MAX_LOGARITHM = 7.0


@dataclass(frozen=True)
class Match:
    """The stiffness that matches shapes best.

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
    positions: Sequence[ArrayLike | None],
    *,
    body: int = 0,
    regions: ArrayLike | None = None,
    on_skin: bool = False,
    integrator: Integrator | None = None,
    observe: Observer | None = None,
    **options: Any,
) -> Match:
    """Finds Young's modulus, of a body or of each of its regions, with which it goes
    through shapes.

    L-BFGS (Nocedal, "Updating Quasi-Newton Matrices with Limited Storage", Mathematics of
    Computation 35, 1980) on the logarithms of the moduli.

    Args:
        scene: the modulus that it has begins the search.
        positions: of each frame, (N, 3) of the body's tet vertices in metres; None where a frame
            does not count.
        body: index of it.
        regions: (M,) integers from 0, the region of each tet, or (M, R) shares of the moduli of
            regions in that of a tet; None is one for all.
        on_skin: whether shapes are the (V, 3) points of its skin, as its tets carry them.
        integrator, options: as for ``simulate``.
        observe: hears of the distance from the animation after each simulation.

    A body that already goes through the shapes keeps its modulus.

    Raises:
        SceneError: when shapes do not fit the body or are not finite, or there are no gradients.
        InstabilityError: when the shapes do not depend on the stiffness.
    """
    prepared = prepare(scene)[0]
    matched = chosen_body(prepared, body)
    embedding = _carried(matched) if on_skin else None
    targets = _targets(positions, matched, embedding)
    shares = _shares(regions, matched)
    first = np.broadcast_to(np.asarray(matched.material.young, dtype=np.float64), len(shares))
    start = np.log(np.linalg.lstsq(shares, first, rcond=None)[0].clip(first.min()))
    losses: list[float] = []

    def loss(logarithms: Tensor) -> Tensor:
        stiff = _with_young(prepared, body, torch.as_tensor(shares) @ logarithms.exp())
        frames = simulate(stiff, integrator, frames=len(targets), **options)
        pairs = zip(frames, targets, strict=True)
        away = [
            (_embedded(frame.positions[body], embedding) - target).square().sum(1).mean()
            for frame, target in pairs
            if target is not None
        ]
        mean = torch.stack(away).mean()
        losses.append(float(mean.detach().sqrt()))
        if observe is not None:
            observe(losses[-1], min(1.0, len(losses) / MAX_ITERATIONS))
        return mean

    near = matched_distance(matched, [None if t is None else t.numpy() for t in targets], embedding)
    logarithms = _minimized(loss, torch.as_tensor(start), near)
    young = logarithms.exp().numpy()
    return Match(_with_young(prepared, body, shares @ young), young, losses[-1], tuple(losses))


def matched_distance(
    body: SoftBody, targets: Sequence[NDArray[np.float64] | None], embedding: Embedding | None
) -> float:
    """The root mean square distance of matched shapes, in metres.

    Args:
        targets: of each frame (N, 3) of the tet vertices, or (V, 3) of the skin; None where a frame
            does not count.
        embedding: the skin in the tets, where targets are of it.
    """
    start = start_positions(body)
    start = start if embedding is None else embedding.interpolate(start)
    bent, far = 0.0, 0.0
    for shape in targets:
        if shape is not None:
            rotation, offset = rigid_fit(start, shape)
            away = shape - (start @ rotation.T + offset)
            bent = max(bent, float(np.square(away).sum(1).mean()))
            far = max(far, float(np.abs(shape).max()))
    size = float(np.linalg.norm(np.ptp(start, axis=0)))
    return MET_RATIO * math.sqrt(bent) + MET_ROUNDING * max(size, far)


def _minimized(loss: Any, start: Tensor, near: float) -> Tensor:
    """The logarithms of the least loss, or the (R,) ``start`` where that is below the square of
    ``near`` metres."""
    scale: list[float] = []

    def evaluated(logarithms: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        leaf = torch.as_tensor(logarithms).clone().requires_grad_()
        value = loss(leaf)
        (gradient,) = torch.autograd.grad(value, leaf)
        if not scale:
            if not float(gradient.norm()) > LEAST_SLOPE * float(value.detach()):
                raise InstabilityError(
                    "The shapes do not depend on the stiffness, since nothing in them is "
                    "deformed. Give frames in which the body bends, or start with a lower "
                    "stiffness."
                )
            scale.append(max(float(value.detach()), float(gradient.norm())))
        return float(value.detach()) / scale[0], gradient.numpy() / scale[0]

    with torch.no_grad():
        if float(loss(start)) <= near**2:
            return start
    bounds = [(log - MAX_LOGARITHM, log + MAX_LOGARITHM) for log in start.tolist()]
    options = {"maxiter": MAX_ITERATIONS, "ftol": 1e-12, "gtol": 1e-7}
    minimum = optimize.minimize(
        evaluated, start.numpy(), jac=True, method="L-BFGS-B", bounds=bounds, options=options
    )
    loss(torch.as_tensor(minimum.x))
    return torch.as_tensor(minimum.x)


def _with_young(scene: Scene, body: int, young: Any) -> Scene:
    changed, stiff = copy(scene), scene.bodies[body]
    changed.bodies = list(scene.bodies)
    changed.bodies[body] = replace(stiff, material=replace(stiff.material, young=young))
    return changed


def _shares(regions: ArrayLike | None, body: SoftBody) -> NDArray[np.float64]:
    """Return the (M, R) shares of regions in tets."""
    count = len(body.mesh.tets)  # type: ignore[union-attr]
    members = np.zeros(count, np.int64) if regions is None else np.asarray(regions)
    if members.shape == (count,) and members.dtype.kind in "iu" and members.min(initial=0) >= 0:
        return np.eye(int(members.max()) + 1)[members]
    is_finite = members.ndim == 2 and members.dtype.kind == "f" and bool(np.isfinite(members).all())
    if not is_finite or len(members) != count or members.min(initial=0.0) < 0.0:
        raise SceneError(
            f"{body.name}: regions must be {count} integers from 0, one per tet, or the fractions "
            "of each tet in the regions."
        )
    return members.astype(np.float64)


def _carried(body: SoftBody) -> Embedding:
    """The points of the skin that is embedded in the tets."""
    embedding = skin_embedding_of(body)
    phong = body.skin.phong if body.skin is not None else None
    return embedding if phong is None else phong


def _targets(
    positions: Sequence[ArrayLike | None], body: SoftBody, embedding: Embedding | None
) -> list[Tensor | None]:
    targets = [
        None if shape is None else torch.as_tensor(_checked(shape, body, k, embedding))
        for k, shape in enumerate(positions)
    ]
    if all(target is None for target in targets):
        raise SceneError(f"{body.name}: no frame has a shape to match.")
    return targets


def _embedded(positions: Tensor, embedding: Embedding | None) -> Tensor:
    """Return the (V, 3) points of the skin, or the (N, 3) positions without one."""
    if embedding is None:
        return positions
    corners = positions[torch.as_tensor(embedding.indices, dtype=torch.int64)]
    return (torch.as_tensor(embedding.weights)[:, :, None] * corners).sum(dim=1)


def _checked(
    shape: ArrayLike, body: SoftBody, index: int, embedding: Embedding | None
) -> NDArray[np.float64]:
    points, mesh = np.asarray(shape, dtype=np.float64), body.mesh
    expected = mesh.vertices.shape if embedding is None else (len(embedding.indices), 3)
    if points.shape != expected:
        raise SceneError(
            f"{body.name}: target shape {index} is an array of the shape {points.shape}, and the "
            f"body's vertices are {expected}."
        )
    if not np.isfinite(points).all():
        raise SceneError(f"{body.name}: shape {index} is not finite everywhere.")
    return points
