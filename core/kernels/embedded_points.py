# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of sums over the corners of embedded points: torch takes ten times as long."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled


@compiled()
def gather(values: Any, corners: Any, shares: Any, out: Any) -> None:
    """(K, S) at points from (K, N) at vertices; corners and shares are (4, S)."""
    for k in range(out.shape[0]):
        for p in range(out.shape[1]):
            total = shares[0, p] * values[k, corners[0, p]]
            for corner in range(1, 4):
                total += shares[corner, p] * values[k, corners[corner, p]]
            out[k, p] = total


@compiled()
def add(values: Any, corners: Any, shares: Any, out: Any) -> None:
    """Adds (K, S) at points to (K, N) at vertices, one point after the other."""
    for k in range(values.shape[0]):
        for p in range(values.shape[1]):
            if values[k, p] != 0.0:
                for corner in range(4):
                    out[k, corners[corner, p]] += shares[corner, p] * values[k, p]


@compiled()
def add_pulls(values: Any, goals: Any, factors: Any, corners: Any, shares: Any, out: Any) -> None:
    """Adds factor × (value − goal) of points to (K, N) at vertices, one point after the other.

    Args:
        values: (K, N) at vertices.
        goals: (K, S) of points.
        factors: (S,) of points.
        corners, shares: (4, S); a point that is a vertex has it as all of its corners.
    """
    for p in range(corners.shape[1]):
        if factors[p] == 0.0:
            continue
        if corners[0, p] == corners[1, p]:
            v = corners[0, p]
            for k in range(values.shape[0]):
                out[k, v] += factors[p] * (values[k, v] - goals[k, p])
            continue
        a, b, c, d = corners[0, p], corners[1, p], corners[2, p], corners[3, p]
        x, y, z, w = shares[0, p], shares[1, p], shares[2, p], shares[3, p]
        for k in range(values.shape[0]):
            value = x * values[k, a] + y * values[k, b] + z * values[k, c] + w * values[k, d]
            pull = factors[p] * (value - goals[k, p])
            out[k, a] += x * pull
            out[k, b] += y * pull
            out[k, c] += z * pull
            out[k, d] += w * pull


@compiled()
def pull_energy_change(
    values: Any, before: Any, after: Any, factors: Any, corners: Any, shares: Any
) -> float:
    """Σ factor × ½ (|value − after|² − |value − before|²) over points: see ``add_pulls``.

    Args:
        before, after: (K, S) goals of points.
    """
    total = 0.0
    for p in range(corners.shape[1]):
        change = 0.0
        for k in range(values.shape[0]):
            value = 0.0
            for corner in range(4):
                value += shares[corner, p] * values[k, corners[corner, p]]
            step = before[k, p] - after[k, p]
            change += step * (value - 0.5 * (before[k, p] + after[k, p]))
        total += factors[p] * change
    return total


@compiled()
def add_blocks(blocks: Any, places: Any, shares: Any, out: Any) -> None:
    """Adds (S, 9) second derivatives at points to (B, 9) blocks of a matrix, one point after the
    other.

    Args:
        places: (4, 4, S) of the block of each two corners; -1 where there is none.
    """
    for p in range(len(blocks)):
        if not blocks[p].any():
            continue
        for a in range(4):
            for b in range(4):
                place, share = places[a, b, p], shares[a, p] * shares[b, p]
                if place >= 0:
                    for k in range(9):
                        out[place, k] += share * blocks[p, k]
