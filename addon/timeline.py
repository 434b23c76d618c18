# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames as the artist counts them. The solver counts from 0, the start of a run."""

from __future__ import annotations

import re


def on_timeline(words: str, start_frame: int) -> str:
    """What the solver says, its frames as the timeline numbers them."""
    return re.sub(
        r"\b(frame) (\d+)\b", lambda found: f"{found[1]} {start_frame + int(found[2])}", words
    )
