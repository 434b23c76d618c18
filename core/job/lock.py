# SPDX-License-Identifier: GPL-3.0-or-later
"""One worker at a time in a job folder. Readers never wait.

On one machine the lock is the system's, and ends with its process. Its file stays, and only names
its last holder. Network drives may know no locks, or keep them from other machines: a worker
therefore also claims the folder by a file of its own, which it touches every few seconds. A claim
of another machine that has not been touched for a minute is taken over, and its worker stops
before its next frame. All ages are by the clock of the drive.
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from ..errors import JobError, JobInUseError
from ..system_lock import acquire
from .files import why_not_written

LOCK = "lock"
#: Begins the names of files that processes hold which show the frames, a file each.
SHOWN = "shown-"
#: Begins the names of files by which workers claim a folder on drives of several machines.
CLAIM = "claim-"
_MAX_HOLDER_BYTES = 1000
BEAT_SECONDS = 5.0
# Longer than one compiled loop keeps a thread waiting, and than drives keep ages of files in mind.
STALE_SECONDS = 60.0

# The claims of this process, by their folders.
_claims: dict[Path, Path] = {}


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
        # On a full disk it is still locked, by a process without a name.
        with contextlib.suppress(OSError):
            _write_holder(descriptor)
        with _claimed(folder):
            yield
    finally:
        os.close(descriptor)


def check_held(folder: Path) -> None:
    """Looks whether a folder that this process holds is still its own. A machine that slept may
    have lost it.

    Raises:
        JobInUseError: when another process has taken it over.
    """
    claim = _claims.get(folder)
    if claim is not None and not claim.exists():
        raise JobInUseError(folder, _claimant(folder) or "another process", "simulates")


@contextlib.contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    """Claims a folder for machines that the system's lock does not reach.

    Raises:
        JobInUseError: when a process on another machine has a claim.
    """
    claim = folder / f"{CLAIM}{uuid.uuid4().hex}"
    try:
        descriptor = os.open(claim, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except OSError:  # a full disk; files on it can still be read
        yield
        return
    try:
        with contextlib.suppress(OSError):
            os.write(descriptor, json.dumps(_own_name()).encode())
    finally:
        os.close(descriptor)
    ended = threading.Event()
    try:
        # Two simultaneous claimants see each other, unless one was earlier.
        if other := _claimant(folder, claim):
            raise JobInUseError(folder, other, "simulates")
        threading.Thread(target=_beat, args=(claim, ended), daemon=True).start()
        _claims[folder] = claim
        yield
    finally:
        ended.set()
        _claims.pop(folder, None)
        with contextlib.suppress(OSError):
            claim.unlink()


def _beat(claim: Path, ended: threading.Event) -> None:
    """Touch a claim until it ends, or is taken away."""
    while not ended.wait(BEAT_SECONDS):
        try:
            os.utime(claim)
        except FileNotFoundError:
            return
        except OSError:  # a drive that is away for a moment
            continue


def _claimant(folder: Path, own_claim: Path | None = None) -> str:
    """The process that has a claim on a folder; empty when none has. A process with a claim of its
    own removes those of dead ones."""
    now = time.time() if own_claim is None else own_claim.stat().st_mtime
    for path in sorted(folder.glob(f"{CLAIM}*")):
        if path == own_claim:
            continue
        try:
            # Opening it makes network drives refresh its age.
            with path.open("rb") as file:
                name, age = file.read(_MAX_HOLDER_BYTES), now - os.fstat(file.fileno()).st_mtime
        except OSError:  # it has just ended
            continue
        is_here = _is_here(name) and _locks_work(folder / LOCK)
        if not is_here and age < STALE_SECONDS:
            return _described(name)
        if own_claim is not None:
            with contextlib.suppress(OSError):
                path.unlink()
    return ""


def _locks_work(path: Path) -> bool:
    """Whether the system supports locks on a drive: two on one file exclude each other."""
    try:
        first, second = (os.open(path, os.O_RDWR) for _ in range(2))
    except OSError:
        return True
    try:
        # Another worker may have the lock already.
        return not (acquire(first) and acquire(second))
    finally:
        os.close(first)
        os.close(second)


def holder(folder: Path) -> str:
    """The process that is at work in a folder, such as ``process 12``; empty when none is."""
    return _holder_of(folder / LOCK) or _claimant(folder)


def check_free(folder: Path) -> None:
    """Looks whether a worker may begin in a folder now.

    Raises:
        JobInUseError: when another process is at work there.
    """
    if process := holder(folder):
        raise JobInUseError(folder, process, "simulates")


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
        if process := _holder_of(path):
            raise JobInUseError(folder, process, "renders from")


def _holder_of(path: Path) -> str:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:  # no process has worked there, or none can
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


def _own_name() -> dict[str, object]:
    return {"process": os.getpid(), "computer": platform.node(), "kernel": _kernel()}


@cache
def _kernel() -> str:
    """A name for the running system, the same in all its containers."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{uuid.getnode():x}"


def _is_here(name: bytes) -> bool:
    """Whether a claim is of the system that runs here."""
    try:
        return bool(json.loads(name)["kernel"] == _kernel())
    except (ValueError, TypeError, KeyError, RecursionError):
        return False


def _said_holder(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    return _described(os.read(descriptor, _MAX_HOLDER_BYTES))


def _described(name: bytes) -> str:
    try:
        holder = json.loads(name)
        process, computer = int(holder["process"]), str(holder["computer"])
    except (ValueError, TypeError, KeyError, RecursionError):  # it has only just begun
        return "another process"
    place = "" if computer == platform.node() else f" on {computer}"
    return f"process {process}{place}"
