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
