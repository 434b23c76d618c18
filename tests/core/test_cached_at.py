# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import torch

from supple.core.cached_at import CachedAt


def test_a_value_is_computed_once_for_the_same_positions_and_anew_where_they_change() -> None:
    computed = []

    def total(positions: torch.Tensor) -> float:
        computed.append(positions)
        return float(positions.sum())

    cached, positions = CachedAt(total), torch.ones(3)
    assert cached(positions) == cached(positions) == 3.0
    assert len(computed) == 1
    # Others with the same numbers are not known to be the same.
    assert cached(torch.ones(3)) == 3.0
    assert len(computed) == 2
    assert cached(positions) == 3.0
    positions[0] = 5.0
    assert cached(positions) == 7.0
    assert len(computed) == 4
    cached.forget()
    assert cached(positions) == 7.0
    assert len(computed) == 5
