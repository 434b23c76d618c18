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
