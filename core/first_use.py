# SPDX-License-Identifier: GPL-3.0-or-later
"""The line on standard error that explains to a script why its first frames take long."""

from __future__ import annotations

import sys
from functools import cache
from importlib import import_module

_MESSAGE = "supple: compiling the solver for its first use. This takes up to a few minutes, once."

_is_announced = False


def watch() -> None:
    """Print the line as soon as a kernel is compiled, rather than loaded, from now on."""
    # A worker is silent, and loads numba in another thread: two that import it block each other.
    if not _is_announced:
        _register()


@cache
def _register() -> None:
    try:
        event = import_module("numba.core.event")
    except ImportError:  # the first called loop reports it
        return

    class Listener(event.Listener):  # type: ignore[misc, name-defined]
        def on_start(self, _: object) -> None:
            announce()

        def on_end(self, _: object) -> None:
            pass

    event.register("numba:compile", Listener())


def announce() -> None:
    """Print the line, once a process."""
    if not _is_announced:
        silence()
        print(_MESSAGE, file=sys.stderr, flush=True)


def silence() -> None:
    """Print nothing from now on, where progress is reported in another way."""
    global _is_announced
    _is_announced = True
