# SPDX-License-Identifier: GPL-3.0-or-later
"""Workers as on several machines, on a drive that knows no locks."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path

from supple.core.errors import JobInUseError
from supple.core.job import lock

from . import apart

#: Seconds, short enough for tests.
BEAT, STALE = 0.02, 0.3


def be_machine(name: str, stale: float = STALE) -> None:
    """Let this process be one of another machine, which takes over claims of some age."""
    patched: dict[str, object] = {"acquire": lambda _: True, "_kernel": lambda: name}
    patched |= {"BEAT_SECONDS": BEAT, "STALE_SECONDS": stale}
    for attribute, value in patched.items():
        setattr(lock, attribute, value)
    platform.node = lambda: name


def work(name: str, folder: Path, stale: float = STALE) -> None:
    be_machine(name, stale)
    try:
        apart.work_quietly(folder)
    except JobInUseError as error:
        (folder / f"{name}.refused").write_text(str(error))


def take_turns(name: str, folder: Path, log: Path, turns: int) -> None:
    """Hold a folder again and again, and log when."""
    be_machine(name)
    number = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    taken = 0
    for _ in range(100 * turns):
        try:
            with lock.hold(folder):
                os.write(number, f"{name} in\n".encode())
                time.sleep(0.001)
                os.write(number, f"{name} out\n".encode())
            taken += 1
        except JobInUseError:
            time.sleep(0.001 * (1 + len(name)))
        if taken == turns:
            return
