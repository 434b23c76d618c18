# SPDX-License-Identifier: GPL-3.0-or-later
"""Garbage collection, kept away from what stays: it goes through all there is, again and again."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Nothing is gone through meanwhile."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def kept_for_good() -> Iterator[None]:
    """For packages that are loaded until the process ends: what there is by then is not gone
    through later, either."""
    with uncollected():
        yield
        gc.freeze()
