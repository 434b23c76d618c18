# SPDX-License-Identifier: GPL-3.0-or-later
"""Processes that tests start. They hear Ctrl-C, and none outlives its test, even one that fails."""

from __future__ import annotations

import multiprocessing
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


def restore_ctrl_c() -> None:
    """Let processes that start from now on hear Ctrl-C, where this one ignores it.

    A shell starts the background jobs of a script with SIGINT ignored. Children inherit that, but
    not a handler: for them a handled signal is set back to its default. This process stays deaf.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, _ignore)


def _ignore(*_: object) -> None:
    pass


@contextmanager
def end_all() -> Iterator[None]:
    """Kill the processes that the body has started and that still run."""
    started: list[subprocess.Popen[Any]] = []

    class Popen(subprocess.Popen[Any]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self)

    before = multiprocessing.active_children()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", Popen)
        try:
            yield
        finally:
            for process in started:
                if process.poll() is None:
                    process.kill()
                    process.wait()
            for child in set(multiprocessing.active_children()) - {*before}:
                child.kill()
                child.join()
