# SPDX-License-Identifier: GPL-3.0-or-later
"""What was computed of positions, kept for whoever asks for it next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import torch
from torch import Tensor

T = TypeVar("T")


class CachedAt(Generic[T]):
    """A function of positions that keeps its last value, until it is asked for at others.

    Positions are the same where their numbers are, which takes no time beside computing anything
    of them.

    Args:
        compute: the function.
    """

    def __init__(self, compute: Callable[[Tensor], T]) -> None:
        self._compute = compute
        self._last: tuple[Tensor, T] | None = None

    def __call__(self, positions: Tensor) -> T:
        if self._last is None or not torch.equal(self._last[0], positions):
            self._last = positions.detach().clone(), self._compute(positions)
        return self._last[1]

    def on_host(self, positions: Tensor) -> T:
        """The same, and computed each time on CUDA, where comparing positions waits for them, and
        for positions on autograd's tape."""
        if positions.is_cuda or positions.requires_grad:
            return self._compute(positions)
        return self(positions)

    def forget(self) -> None:
        """Computes it anew next time, since something else that it depends on has changed."""
        self._last = None
