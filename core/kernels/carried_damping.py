# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of damping relative to pins and goals that carry a body, see ``CarriedDamping``."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from ..math3.matrices import symmetric
from ..math3.vectors import NOTHING, advanced, cross, dot
from .deformation import AXES, diagonalized


@compiled()
def write_parameters(
    part: float,
    per_second: float,
    centre: Any,
    shift: Any,
    moments: Any,
    momentum: Any,
    arms: Any,
    bends: Any,
    groups: Any,
    min_inertia_ratio: float,
    out: Any,
) -> None:
    """Writes the parameters of the force a part of the way through an interval.

    Args:
        per_second: intervals a second.
        centre, shift, momentum: (G, 3) as ``_Interval`` has them.
        moments: (3, G, 3, 3) by the powers of the part.
        arms, bends: (3, N) of forces.
        groups: (N,) the group of each vertex.
        min_inertia_ratio: principal moments of inertia below this ratio of the largest are zero.
        out: (3, 3 G + N) centres, velocities, angular velocities, and forces in newtons.
    """
    count = centre.shape[0]
    for g in range(count):
        turn = _turn(part, moments, momentum, g, min_inertia_ratio)
        for i in range(3):
            out[i, g] = centre[g, i] + part * shift[g, i]
            out[i, count + g] = per_second * shift[g, i]
            out[i, 2 * count + g] = per_second * turn[i]
    for v in range(groups.shape[0]):
        at = 2 * count + groups[v]
        bend = bends[0, v], bends[1, v], bends[2, v]
        arm = advanced((arms[0, v], arms[1, v], arms[2, v]), part, bend)
        turned = cross((out[0, at], out[1, at], out[2, at]), arm)
        for i in range(3):
            out[i, 3 * count + v] = per_second * bend[i] - turned[i]


@compiled()
def _turn(part: float, moments: Any, momentum: Any, g: int, min_inertia_ratio: float) -> Any:
    """The rotation of a group in an interval, in radians a length of it."""
    a, b, c = moments[0, g], moments[1, g], moments[2, g]
    inertia = symmetric(
        a[0, 0] + part * (b[0, 0] + part * c[0, 0]),
        a[0, 1] + part * (b[0, 1] + part * c[0, 1]),
        a[0, 2] + part * (b[0, 2] + part * c[0, 2]),
        a[1, 1] + part * (b[1, 1] + part * c[1, 1]),
        a[1, 2] + part * (b[1, 2] + part * c[1, 2]),
        a[2, 2] + part * (b[2, 2] + part * c[2, 2]),
    )
    values, axes = diagonalized(inertia, AXES)
    smallest = min_inertia_ratio * max(values[0], values[1], values[2])
    angular, turn = (momentum[g, 0], momentum[g, 1], momentum[g, 2]), NOTHING
    for k in range(3):
        if values[k] > smallest:
            turn = advanced(turn, dot(axes[k], angular) / values[k], axes[k])
    return turn


@compiled()
def add_rate_forces(
    positions: Any, parameters: Any, groups: Any, momentum_rates: Any, out: Any
) -> None:
    """Takes the force on each vertex from ``out``, (3, N) in newtons.

    Args:
        parameters: as ``write_parameters`` writes them.
        groups: (N,) the group of each vertex.
        momentum_rates: (N,) in kg/s, zero where nothing carries a vertex.
    """
    count = (parameters.shape[1] - groups.shape[0]) // 3
    for v in range(groups.shape[0]):
        g = groups[v]
        arm = (
            positions[0, v] - parameters[0, g],
            positions[1, v] - parameters[1, g],
            positions[2, v] - parameters[2, g],
        )
        at = 2 * count + g
        turned = cross((parameters[0, at], parameters[1, at], parameters[2, at]), arm)
        for i in range(3):
            rigid = momentum_rates[v] * (parameters[i, count + g] + turned[i])
            out[i, v] -= rigid + parameters[i, 3 * count + v]
