# SPDX-License-Identifier: GPL-3.0-or-later
"""Two things timed in turns, so that a machine whose speed drifts treats them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def in_turns(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median seconds of each call over ``rounds`` rounds, after one that does not count."""
    seconds: dict[str, list[float]] = {name: [] for name in calls}
    for index in range(rounds + 1):
        for name, call in calls.items():
            began = time.perf_counter()
            call()
            if index:
                seconds[name].append(time.perf_counter() - began)
    return {name: statistics.median(values) for name, values in seconds.items()}
