# SPDX-License-Identifier: GPL-3.0-or-later
"""How points that share vertices slide along the ground, as a compiled loop."""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled
from .obstacle_points import at_point, given_way, spread


@compiled()
def slide(
    x: Any,
    y: Any,
    corners: Any,
    shares: Any,
    compliance: Any,
    start: Any,
    limits: Any,
    slips: Any,
    near: Any,
    forces: Any,
    sweeps: int,
    still: float,
) -> None:
    """Moves (N,) places of vertices to where friction holds them.

    Least is ½ Σ ‖x − x̃‖²/c + Σ μN ε f₀(‖u‖/ε), u the way of a point from its start and x̃ the places
    without the forces that points have at the beginning (see ``GroundFriction``).

    Args:
        compliance: (N,) c of each vertex in m/N.
        start: (2, S) of the points.
        limits, slips: (S,) μN in newtons, and the way below which a point sticks in metres.
        near: (K,) points to look at.
        forces: (2, S) against the ways, in newtons; they are changed.
        sweeps: through all points at most.
        still: change of a way over its slip at which it ends.
    """
    give = given_way(corners, shares, compliance, near, len(near))
    for _ in range(sweeps):
        change = 0.0
        for i in range(len(near)):
            p, own = near[i], give[i]
            if own > 0.0:
                pull_x = (at_point(x, corners, shares, p) - start[0, p]) / own + forces[0, p]
                pull_y = (at_point(y, corners, shares, p) - start[1, p]) / own + forces[1, p]
                size = math.sqrt(pull_x * pull_x + pull_y * pull_y)
                left = 0.0
                if size > 0.0:
                    left = way_left(size, 1.0 / own, limits[p], slips[p]) / (own * size)
                force_x, force_y = pull_x * (1.0 - left), pull_y * (1.0 - left)
                more_x, more_y = force_x - forces[0, p], force_y - forces[1, p]
                forces[0, p], forces[1, p] = force_x, force_y
                spread(-more_x, corners, shares, compliance, p, x)
                spread(-more_y, corners, shares, compliance, p, y)
                change = max(change, own * (abs(more_x) + abs(more_y)) / slips[p])
        if change <= still:
            break


@compiled()
def way_left(pull: Any, stiffness: Any, limit: Any, slip: Any) -> Any:
    """The way s with k s + μN f₁(s/ε) = pull, for a spring of the given stiffness k."""
    sliding = (pull - limit) / stiffness
    if sliding >= slip:
        return sliding
    linear = stiffness + 2.0 * limit / slip
    root = math.sqrt(max(0.0, linear * linear - 4.0 * limit * pull / (slip * slip)))
    return 2.0 * pull / (linear + root)
