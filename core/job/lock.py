# SPDX-License-Identifier: GPL-3.0-or-later
"""One worker at a time in a job folder. Those who read it are never kept waiting.

The lock is the system's own. Its file stays, and only says who held it last.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import uuid
from collections.abc import Iterator
from pathlib import Path

from ..errors import JobError, JobInUseError
from ..system_lock import acquire
from .files import why_not_written

LOCK = "lock"
#: Begins the names of files that processes hold which show the frames, a file each.
SHOWN = "shown-"
_MAX_HOLDER_BYTES = 1000


@contextlib.contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Keeps other workers out of a folder.

    Raises:
        JobInUseError: when another process is at work there.
        JobError: when the folder cannot be written.
    """
    path = folder / LOCK
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise JobError(why_not_written(path, error)) from error
    try:
        if not acquire(descriptor):
            raise JobInUseError(folder, _said_holder(descriptor), "simulates")
        # On a full disk it is locked all the same, by a process that has no name.
        with contextlib.suppress(OSError):
            _write_holder(descriptor)
        yield
    finally:
        os.close(descriptor)


def holder(folder: Path) -> str:
    """The process that is at work in a folder, such as ``process 12``; empty when none is."""
    return _holder_of(folder / LOCK)


def check_free(folder: Path) -> None:
    """Looks whether a worker may begin in a folder now.

    Raises:
        JobInUseError: when another process is at work there.
    """
    _check_free(folder, folder / LOCK, "simulates")


@contextlib.contextmanager
def show(folder: Path) -> Iterator[None]:
    """Lets others work in a folder whose frames are shown, and keeps them from removing it."""
    path = folder / f"{SHOWN}{uuid.uuid4().hex}"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError:  # where nothing can be written, nothing can be removed
        yield
        return
    try:
        acquire(descriptor)
        with contextlib.suppress(OSError):
            _write_holder(descriptor)
        yield
    finally:
        os.close(descriptor)
        with contextlib.suppress(OSError):
            path.unlink()


def check_unused(folder: Path) -> None:
    """Looks whether a folder may be removed now.

    Raises:
        JobInUseError: when another process is at work there, or shows its frames.
    """
    check_free(folder)
    for path in folder.glob(f"{SHOWN}*"):
        _check_free(folder, path, "renders from")


def _check_free(folder: Path, path: Path, doing: str) -> None:
    if process := _holder_of(path):
        raise JobInUseError(folder, process, doing)


def _holder_of(path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:  # nobody has been at work there, or nobody can
        return ""
    try:
        return "" if acquire(descriptor) else _said_holder(descriptor)
    finally:
        os.close(descriptor)


def _write_holder(descriptor: int) -> None:
    os.ftruncate(descriptor, 0)
    os.lseek(descriptor, 0, os.SEEK_SET)
    holder = {"process": os.getpid(), "computer": platform.node()}
    os.write(descriptor, json.dumps(holder).encode())


def _said_holder(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    try:
        holder = json.loads(os.read(descriptor, _MAX_HOLDER_BYTES))
        process, computer = int(holder["process"]), str(holder["computer"])
    except (ValueError, TypeError, KeyError):  # it has only just begun
        return "another process"
    place = "" if computer == platform.node() else f" on {computer}"
    return f"process {process}{place}"
