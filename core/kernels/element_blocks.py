# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel that adds the blocks of elements to a matrix."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, shared_range


@compiled(parallel=True)
def add_elements(offsets: Any, codes: Any, blocks: Any, out: Any) -> None:
    """Adds to (B, 9) ``out`` the (M · 10, 9) ``blocks`` that an ``ElementMap`` names for each."""
    for target in shared_range(out.shape[0]):
        a0, a1, a2, a3, a4, a5, a6, a7, a8 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for source in range(offsets[target], offsets[target + 1]):
            code = codes[source]
            b = blocks[max(code, ~code)]
            if code >= 0:
                a0, a1, a2 = a0 + b[0], a1 + b[1], a2 + b[2]
                a3, a4, a5 = a3 + b[3], a4 + b[4], a5 + b[5]
                a6, a7, a8 = a6 + b[6], a7 + b[7], a8 + b[8]
            else:
                a0, a1, a2 = a0 + b[0], a1 + b[3], a2 + b[6]
                a3, a4, a5 = a3 + b[1], a4 + b[4], a5 + b[7]
                a6, a7, a8 = a6 + b[2], a7 + b[5], a8 + b[8]
        block = out[target]
        block[0] += a0
        block[1] += a1
        block[2] += a2
        block[3] += a3
        block[4] += a4
        block[5] += a5
        block[6] += a6
        block[7] += a7
        block[8] += a8
