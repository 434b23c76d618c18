# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists of pairs of indices, sorted by the first, then by the second, each once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled


@compiled()
def _order(first: Any, i: int, second: Any, j: int) -> int:
    """Negative where pair i of the first list comes before pair j of the second, 0 for the same."""
    by_first = first[i, 0] - second[j, 0]
    return by_first if by_first != 0 else first[i, 1] - second[j, 1]


@compiled()
def find_among(pairs: Any, known: Any, offset: int, out: Any) -> None:
    """(P,) where each pair stands among (K, 2) known ones, counted from ``offset``; −1 where it is
    none of them."""
    j = 0
    for i in range(len(pairs)):
        while j < len(known) and _order(known, j, pairs, i) < 0:
            j += 1
        is_known = j < len(known) and _order(known, j, pairs, i) == 0
        out[i] = offset + j if is_known else -1


@compiled(allocates=True)
def merged(first: Any, second: Any) -> Any:
    """(M, 2) the pairs of either list."""
    out, count = np.empty((len(first) + len(second), 2), np.int32), 0
    i = j = 0
    while i < len(first) or j < len(second):
        order = -1 if j == len(second) else 1
        if i < len(first) and j < len(second):
            order = _order(first, i, second, j)
        if order <= 0:
            out[count, 0], out[count, 1] = first[i, 0], first[i, 1]
        else:
            out[count, 0], out[count, 1] = second[j, 0], second[j, 1]
        count += 1
        i += order <= 0
        j += order >= 0
    return out[:count].copy()
