# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins that teleport, reported before a run and beside frames that were not solved for it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from ...core.errors import JobError
from ...core.job import Job
from ...core.preparation.pin_jumps import PinJump, pin_jumps
from ..capture.captured import Capture

# A jump is felt for some frames.
_FRAMES_AFTER = 2


def messages(captured: Capture) -> Iterator[str]:
    """One for each body whose pins teleport, with the frame and the cure."""
    for name, group in groupby(pin_jumps(captured.scene), lambda jump: jump.body):
        jumps = list(group)
        frame = captured.start_frame + jumps[0].frame
        yield (
            f"{name}: its pins {_what(jumps[0])} from frame {frame - 1} to {frame}"
            f"{_more(jumps, captured.start_frame)}. The solver follows all that lies between, so "
            "that such a frame takes long or is not solved. Spread the motion over more frames, or "
            f"begin another simulation at frame {frame}."
        )


@lru_cache(maxsize=4)
def frames_after_jumps(folder: Path) -> frozenset[int]:
    """The frames of a run, counted from its start, that pins which teleport disturb."""
    try:
        jumps = pin_jumps(Job(folder).scene)
    except JobError:  # not there any more
        return frozenset()
    return frozenset(jump.frame + k for jump in jumps for k in range(_FRAMES_AFTER + 1))


def _what(jump: PinJump) -> str:
    way = f", through {jump.through}," if jump.through else ""
    if jump.turns:
        return f"turn by {math.degrees(jump.angle):.0f}°{way}"
    return f"jump by {jump.distance:.2g} m{way}"


def _more(jumps: list[PinJump], start: int) -> str:
    if len(jumps) < 2:
        return ""
    frames = ", ".join(str(start + jump.frame) for jump in jumps[1:4])
    more = f" and {len(jumps) - 4} more" if len(jumps) > 4 else ""
    return f", and again at {frames}{more}"
