# SPDX-License-Identifier: GPL-3.0-or-later
"""Locks of the system on files: they go with the process that holds them, however that ends."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

# Windows keeps others from reading the byte that is locked: one that is never written.
_LOCKED_BYTE = 1 << 20

if sys.platform == "win32":
    import msvcrt

    def acquire(descriptor: int) -> bool:
        """Locks an open file until it is closed; False where another process has done so."""
        os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def acquire(descriptor: int) -> bool:
        """Locks an open file until it is closed; False where another process has done so."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            # Some network drives know no locks: a run there is worth more than the check.
            return True
        return True


@contextlib.contextmanager
def lock_file(path: Path) -> Iterator[int | None]:
    """A descriptor of a file that is there to be locked; None where it cannot be written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)
