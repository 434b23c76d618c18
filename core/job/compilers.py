# SPDX-License-Identifier: GPL-3.0-or-later
"""Other processes that compile meanwhile: of several, one compiles a loop, and the others take it
from the disk."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from ..system_lock import acquire, lock_file

LAUNCHER = Path(__file__).resolve().parents[1] / "launch.py"
# All told, with the one that starts them: each takes some 400 MB.
MAX_PROCESSES = 4
# What somebody waits for comes first.
NICENESS = 5

# Their standard input closes when this process ends, and they end with it.
_started: list[subprocess.Popen[bytes]] = []


def start(threads: int) -> None:
    """Starts some, once; where loops cannot be kept on the disk none.

    Args:
        threads: how many this process may use, which is how many there may be.
    """
    if _started or not os.environ.get("NUMBA_CACHE_DIR"):
        return
    for _ in range(1, min(threads, MAX_PROCESSES)):
        # Without them it takes longer, and comes to the same.
        with contextlib.suppress(OSError):
            _started.append(
                subprocess.Popen(
                    [sys.executable, "-s", "-P", str(LAUNCHER), "--compile"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
                )
            )


def give_way() -> None:
    """Leaves the processor to others, where a process can say so."""
    if hasattr(os, "nice"):
        os.nice(NICENESS)


@contextlib.contextmanager
def claimed(name: str) -> Iterator[bool]:
    """Tells other processes that this one compiles what goes by a name; whether none of them is at
    it already."""
    folder = os.environ.get("NUMBA_CACHE_DIR")
    if not folder:
        yield True
        return
    with lock_file(Path(folder) / f"{name}.lock") as descriptor:
        yield descriptor is None or acquire(descriptor)
