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
    assert cached(positions) == cached(positions.clone()) == 3.0
    assert len(computed) == 1
    positions[0] = 5.0
    assert cached(positions) == 7.0
    # Torch is not told of what is written through numpy.
    positions.numpy()[0] = 6.0
    assert cached(positions) == 8.0
    assert len(computed) == 3
    cached.forget()
    assert cached(positions) == 8.0
    assert len(computed) == 4
