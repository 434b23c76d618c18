# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames as the artist counts them. The solver counts from 0, the start of a run."""

from __future__ import annotations

import re

# ``frame 3`` or ``frames 3, 4, 5``.
_FRAMES = re.compile(r"\bframes? \d+(?:, \d+)*")


def on_timeline(message: str, start_frame: int) -> str:
    """A message of the solver, its frames as the timeline numbers them."""

    def moved(number: re.Match[str]) -> str:
        return str(start_frame + int(number[0]))

    return _FRAMES.sub(lambda found: re.sub(r"\d+", moved, found[0]), message)
