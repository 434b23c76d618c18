# SPDX-License-Identifier: GPL-3.0-or-later
"""Back through how the ground lifts and slows vertices at the end of an explicit step.

A vertex is lifted to the root u of u − s + κ β'(u) = 0, s its height before and κ the stiffness
over mass times the squared time, so that du = (ds − β'(u) dκ) / (1 + κ β''(u)). By what its speed
changes, friction stops it or slows it down.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..compiled import compiled
from .obstacle_barrier import ground_derivatives, proximal


class VertexContacts(NamedTuple):
    """S vertices that the ground may push.

    Args:
        vertices: (S,) of all.
        weights, distances: (S,) of the barrier, in newtons and metres.
        static, kinetic: (S,) coefficients of friction.
        mobility: (S,) in metres a newton over the step.
        height: of the ground, in metres.
        min_ratio: of height and distance, told from zero.
        step: in seconds.
    """

    vertices: Any
    weights: Any
    distances: Any
    static: Any
    kinetic: Any
    mobility: Any
    height: float
    min_ratio: float
    step: float


class ByContacts(NamedTuple):
    """Gradients by members of ``VertexContacts`` of the same name, which grow; (1,) ``height``."""

    weights: Any
    kinetic: Any
    mobility: Any
    height: Any


@compiled()
def _lift(ground: Any, row: int, height: float) -> Any:
    """By how much the ground changes the speed of a vertex, with u and κ."""
    distance = ground.distances[row]
    stiffness = ground.mobility[row] * ground.weights[row] / distance
    ratio = proximal((height - ground.height) / distance, stiffness, ground.min_ratio)
    change = (ground.height + ratio * distance - height) / ground.step
    return change, ratio, stiffness


@compiled()
def change_velocities(ground: Any, rows: Any, heights: Any, velocities: Any, out: Any) -> None:
    """(3, K) changes of the (3, K) velocities of vertices at (K,) heights."""
    for k in range(len(rows)):
        row, x, y = rows[k], velocities[0, k], velocities[1, k]
        out[2, k], _, _ = _lift(ground, row, heights[k])
        speed, lost = math.sqrt(x * x + y * y), 1.0
        if speed > ground.static[row] * out[2, k]:
            lost = ground.kinetic[row] * out[2, k] / speed
        out[0, k], out[1, k] = -lost * x, -lost * y


@compiled()
def meet_back(
    ground: Any, rows: Any, heights: Any, velocities: Any, places: Any, by: Any, out: Any
) -> None:
    """Takes back what the ground does to K vertices.

    Args:
        rows: (K,) of them among the ground's.
        heights, velocities: (K,) and (3, K) before it.
        places: (K,) of them in the gradients.
        by: two (3, …) gradients by positions and velocities after it, which become those before.
        out: ``ByContacts``.
    """
    by_positions, by_velocities = by
    step = ground.step
    for k in range(len(rows)):
        row, v = rows[k], places[k]
        change, ratio, stiffness = _lift(ground, row, heights[k])
        x, y = velocities[0, k], velocities[1, k]
        # Where a vertex is stopped, its way in the step is taken back too.
        px, py = step * by_positions[0, v], step * by_positions[1, v]
        by_change, speed = by_velocities[2, v], math.sqrt(x * x + y * y)
        if speed > ground.static[row] * change:
            x, y = x / speed, y / speed
            along = (by_velocities[0, v] + px) * x + (by_velocities[1, v] + py) * y
            turns = ground.kinetic[row] * change / speed
            by_velocities[0, v] -= turns * (by_velocities[0, v] + px - along * x)
            by_velocities[1, v] -= turns * (by_velocities[1, v] + py - along * y)
            by_change -= ground.kinetic[row] * along
            out.kinetic[row] -= change * along
        else:
            by_velocities[0, v], by_velocities[1, v] = -px, -py
        slope, curvature = ground_derivatives(ratio, math.log(ratio))
        by_height = by_positions[2, v] + by_change / step
        by_start = by_height / (1.0 + stiffness * curvature)
        by_stiffness = -slope * by_start
        by_positions[2, v] = by_start - by_change / step
        out.height[0] += by_height - by_start
        out.weights[row] += by_stiffness * ground.mobility[row]
        out.mobility[row] += by_stiffness * ground.weights[row]
