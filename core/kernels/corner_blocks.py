# SPDX-License-Identifier: GPL-3.0-or-later
"""The second derivatives of a tet's energy in its corners, made of those in its edges from
corner 0, for the kernels over tets."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled
from .matrices import add3, scaled, transposed


@compiled()
def products(u: Any, v: Any, w: Any, x: Any) -> Any:
    """u vᵀ + w xᵀ of vectors."""
    return (
        u[0] * v[0] + w[0] * x[0],
        u[0] * v[1] + w[0] * x[1],
        u[0] * v[2] + w[0] * x[2],
        u[1] * v[0] + w[1] * x[0],
        u[1] * v[1] + w[1] * x[1],
        u[1] * v[2] + w[1] * x[2],
        u[2] * v[0] + w[2] * x[0],
        u[2] * v[1] + w[2] * x[1],
        u[2] * v[2] + w[2] * x[2],
    )


@compiled()
def write_corner_blocks(
    h11: Any, h12: Any, h13: Any, h22: Any, h23: Any, h33: Any, out: Any
) -> None:
    """Writes (10, 9) blocks in the order of ``CORNER_PAIRS``.

    Moving all corners alike changes nothing, which gives the blocks of corner 0.

    Args:
        h11, …: blocks of corners 1 to 3, nine numbers each.
    """
    b01 = _negative_sum(h11, transposed(h12), transposed(h13))
    b02 = _negative_sum(h12, h22, transposed(h23))
    b03 = _negative_sum(h13, h23, h33)
    _write(transposed(_negative_sum(b01, b02, b03)), out[0])
    _write(b01, out[1])
    _write(b02, out[2])
    _write(b03, out[3])
    _write(h11, out[4])
    _write(h12, out[5])
    _write(h13, out[6])
    _write(h22, out[7])
    _write(h23, out[8])
    _write(h33, out[9])


@compiled()
def _negative_sum(a: Any, b: Any, c: Any) -> Any:
    return scaled(-1.0, add3(a, add3(b, c)))


@compiled()
def _write(m: Any, out: Any) -> None:
    out[0], out[1], out[2] = m[0], m[1], m[2]
    out[3], out[4], out[5] = m[3], m[4], m[5]
    out[6], out[7], out[8] = m[6], m[7], m[8]
