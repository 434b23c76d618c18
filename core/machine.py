# SPDX-License-Identifier: GPL-3.0-or-later
"""The processors and the memory of this machine, and the number of processes that they carry."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

_THREADS = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_MEMINFO = Path("/proc/meminfo")
# The lines of macOS's vm_stat on pages that new processes can take.
_MAC_PAGES = ("free", "inactive", "speculative", "purgeable")


def usable_cores() -> int:
    """The number of logical processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def carried(at_most: int, available: int | None, bytes_each: int) -> int:
    """The number of processes that memory carries: one or more, and not above ``at_most``.

    Args:
        at_most: for another reason, such as the number of processors.
        available: bytes for all of them; None where they are not known.
        bytes_each: that one takes.
    """
    return max(1, at_most if available is None else min(at_most, available // bytes_each))


def thread_variables(count: int) -> dict[str, str]:
    """The environment of a process whose libraries compute on ``count`` threads."""
    return dict.fromkeys(_THREADS, str(count))


def total_bytes() -> int | None:
    """Return the memory of this machine; None if the system does not report it."""
    return _memory()[0]


def available_bytes() -> int | None:
    """Return the memory that new processes can take; None if the system does not report it."""
    return _memory()[1]


def kilobytes(path: Path, name: str) -> int | None:
    """The bytes of a line of Linux's files on memory; None where there is none."""
    try:
        match = re.search(rf"^{name}:\s+(\d+) kB", path.read_text(), re.MULTILINE)
    except OSError:
        return None
    return None if match is None else 1024 * int(match[1])


def _memory() -> tuple[int | None, int | None]:
    """The memory of this machine, and the part of it that is available."""
    if sys.platform == "win32":
        return _windows_memory()
    if sys.platform == "darwin":
        return _mac_memory()
    return kilobytes(_MEMINFO, "MemTotal"), kilobytes(_MEMINFO, "MemAvailable")


class _MemoryStatus(ctypes.Structure):
    """``MEMORYSTATUSEX`` of Windows."""

    _fields_ = [
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        *((name, ctypes.c_uint64) for name in ("total", "available")),
        *((f"other_{index}", ctypes.c_uint64) for index in range(5)),
    ]


def _windows_memory() -> tuple[int | None, int | None]:
    status = _MemoryStatus(length=ctypes.sizeof(_MemoryStatus))
    libraries: Any = ctypes
    if not libraries.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status)):
        return None, None
    return status.total, status.available


def _mac_memory() -> tuple[int | None, int | None]:
    total, pages = _printed("sysctl", "-n", "hw.memsize").strip(), _printed("vm_stat")
    size = re.search(r"page size of (\d+) bytes", pages)
    counts = [re.search(rf"Pages {name}:\s+(\d+)", pages) for name in _MAC_PAGES]
    available = None
    if size is not None and any(counts):
        available = int(size[1]) * sum(int(count[1]) for count in counts if count is not None)
    return int(total) if total.isdecimal() else None, available


def _printed(*command: str) -> str:
    """The output of a program of the system; empty where it fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.SubprocessError):
        return ""
