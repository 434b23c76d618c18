# SPDX-License-Identifier: GPL-3.0-or-later
"""What was computed of a tensor, kept for whoever asks for it next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from torch import Tensor

T = TypeVar("T")


class CachedAt(Generic[T]):
    """A function of positions that keeps its last value, until other ones are asked for or these
    are written to.

    Args:
        compute: the function.
    """

    def __init__(self, compute: Callable[[Tensor], T]) -> None:
        self._compute = compute
        self._last: tuple[Tensor, int, T] | None = None

    def __call__(self, positions: Tensor) -> T:
        last = self._last
        if last is None or last[0] is not positions or last[1] != positions._version:
            last = positions, positions._version, self._compute(positions)
            self._last = last
        return last[2]

    def forget(self) -> None:
        """Computes it anew next time, since something else that it depends on has changed."""
        self._last = None
