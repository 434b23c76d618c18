# SPDX-License-Identifier: GPL-3.0-or-later
"""When pins, attachments and stitches let go."""

from __future__ import annotations

import numpy as np

from ...core.scene.channel import Channel
from ...core.scene.release import Release
from ..units import exact_float
from .captured import CaptureError


def captured_release(owner: str, switch: Channel, force: float) -> Release | None:
    """What a switch that may be keyed and a break force come to; None where neither lets go.

    Args:
        owner: what messages call what holds.
        switch: 1 while it holds, else 0, at each frame. The first 0 is for good.
        force: in newtons; 0 is none.

    Raises:
        CaptureError: when the force is negative.
    """
    force = exact_float(force)
    if force < 0.0:
        raise CaptureError(
            f"{owner}: the Break Force must be above 0 N, or 0 to hold whatever pulls; it is "
            f"{force:g} N."
        )
    off = np.flatnonzero(switch.samples < 0.5)
    frame = int(off[0]) if len(off) else None
    return None if frame is None and force == 0.0 else Release(frame, force or None)
