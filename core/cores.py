# SPDX-License-Identifier: GPL-3.0-or-later
"""The processors of this machine."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """The number of logical processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
