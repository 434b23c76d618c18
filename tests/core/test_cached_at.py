# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import torch

from supple.core.assembly.tensor_channel import CachedAt
from supple.tests.core.pretended_cuda import CUDA, pretended_cuda


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


def test_on_the_host_it_is_computed_each_time_where_comparing_waits_or_a_tape_is_kept() -> None:
    computed = []

    def doubled(positions: torch.Tensor) -> torch.Tensor:
        computed.append(positions)
        return 2.0 * positions

    cached, positions = CachedAt(doubled), torch.ones(3)
    assert cached.on_host(positions) is cached.on_host(positions.clone())
    assert len(computed) == 1
    taped = positions.clone().requires_grad_()
    for count in (2, 3):
        cached.on_host(taped).sum().backward()
        assert len(computed) == count
    with pretended_cuda() as device:
        far, before = positions.to(CUDA), device.waits
        for count in (4, 5):
            cached.on_host(far)
            assert len(computed) == count
        assert device.waits == before
