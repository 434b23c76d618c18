# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep garbage collection away from permanent objects, which it would visit again and again."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Disable garbage collection within the context."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def kept_for_good() -> Iterator[None]:
    """Disable collection while permanent packages load, and exempt all objects up to then from
    later collections."""
    with uncollected():
        yield
        gc.freeze()
