# SPDX-License-Identifier: GPL-3.0-or-later
"""Work that pauses, for a window to go on."""

from __future__ import annotations

from collections.abc import Generator
from typing import TypeVar

Result = TypeVar("Result")

#: Yields which share of it is done, 0 … 1, and returns its result.
Steps = Generator[float, None, Result]


def scaled(steps: Steps[Result], share: float, first: float = 0.0) -> Steps[Result]:
    """Work that is a share of some other, after the first of that."""
    while True:
        try:
            done = next(steps)
        except StopIteration as end:
            result: Result = end.value
            return result
        yield first + share * done
