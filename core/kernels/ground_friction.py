# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel of friction with the ground for embedded points, in searches."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..compiled import compiled
from .obstacle_points import at_point, point_compliances, scatter_force


class SmoothFriction(NamedTuple):
    """Smoothed friction of S points in a step.

    Args:
        start: (2, S) of the points, in metres.
        limits: (S,) μN in newtons.
        thresholds: (S,) displacements ε below which a point sticks, in metres.
    """

    start: Any
    limits: Any
    thresholds: Any


@compiled(allocates=True)
def solve_tangential_displacements(
    x: Any,
    y: Any,
    ground: Any,
    friction: Any,
    compliance: Any,
    near: Any,
    forces: Any,
    max_sweeps: int,
    tolerance: float,
) -> None:
    """Moves (N,) coordinates of vertices to where friction holds them.

    Least is ½ Σ ‖x − x̃‖²/c + Σ μN ε f₀(‖u‖/ε), u the displacement of a point from its start and x̃
    the coordinates without the forces that points have at the beginning (see ``GroundFriction``).

    Args:
        ground, friction: ``EmbeddedGround`` and ``SmoothFriction``.
        compliance: (N,) c of each vertex in m/N.
        near: (K,) points in contact.
        forces: (2, S) against the displacements, in newtons; they are changed.
        max_sweeps: through all points.
        tolerance: change of a displacement over its threshold at which it ends.
    """
    corners, shares, start = ground.corners, ground.shares, friction.start
    limits, thresholds = friction.limits, friction.thresholds
    point_compliance = point_compliances(corners, shares, compliance, near)
    for _ in range(max_sweeps):
        change = 0.0
        for i in range(len(near)):
            p, own = near[i], point_compliance[i]
            if own > 0.0:
                pull_x = (at_point(x, corners, shares, p) - start[0, p]) / own + forces[0, p]
                pull_y = (at_point(y, corners, shares, p) - start[1, p]) / own + forces[1, p]
                size = math.sqrt(pull_x * pull_x + pull_y * pull_y)
                ratio = 0.0
                if size > 0.0:
                    displacement = displacement_under(size, 1.0 / own, limits[p], thresholds[p])
                    ratio = displacement / (own * size)
                force_x, force_y = pull_x * (1.0 - ratio), pull_y * (1.0 - ratio)
                more_x, more_y = force_x - forces[0, p], force_y - forces[1, p]
                forces[0, p], forces[1, p] = force_x, force_y
                scatter_force(-more_x, corners, shares, compliance, p, x)
                scatter_force(-more_y, corners, shares, compliance, p, y)
                change = max(change, own * (abs(more_x) + abs(more_y)) / thresholds[p])
        if change <= tolerance:
            break


@compiled()
def displacement_under(pull: Any, stiffness: Any, limit: Any, threshold: Any) -> Any:
    """The displacement s with k s + μN f₁(s/ε) = pull, for a spring of the given stiffness k."""
    sliding = (pull - limit) / stiffness
    if sliding >= threshold:
        return sliding
    linear = stiffness + 2.0 * limit / threshold
    root = math.sqrt(max(0.0, linear * linear - 4.0 * limit * pull / (threshold * threshold)))
    return 2.0 * pull / (linear + root)
