# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel that adds the blocks of elements to a matrix."""

from __future__ import annotations

from typing import Any

from ..compiled import compiled, shared_range
from .matrices import add3, transposed

NO_BLOCK = (0.0,) * 9


@compiled(parallel=True)
def add_elements(targets: Any, codes: Any, blocks: Any, out: Any) -> None:
    """Adds to (B, 9) ``out`` the (M · 10, 9) ``blocks`` that an ``ElementMap`` names for each."""
    places, mirrors, offsets = targets
    for target in shared_range(len(places)):
        total = NO_BLOCK
        for source in range(offsets[target], offsets[target + 1]):
            code = codes[source]
            b = blocks[max(code, ~code)]
            if code >= 0:
                total = add3(total, (b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8]))
            else:
                total = add3(total, (b[0], b[3], b[6], b[1], b[4], b[7], b[2], b[5], b[8]))
        place, mirror = places[target], mirrors[target]
        _add(total, out[place])
        if mirror != place:
            _add(transposed(total), out[mirror])


@compiled()
def _add(m: Any, out: Any) -> None:
    for entry in range(9):
        out[entry] += m[entry]
