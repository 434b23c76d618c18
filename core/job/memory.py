# SPDX-License-Identifier: GPL-3.0-or-later
"""Write the message about memory that runs out."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from ..machine import kilobytes, total_bytes

#: Ways to need less memory.
CURE = (
    "Lower the Resolution of the bodies or simplify their meshes and those of colliders, simulate "
    "fewer bodies at once, record fewer results, or close other programs"
)
# Messages of torch's allocators, on processors and graphics cards.
_TORCH_MESSAGES = ("can't allocate memory", "not enough memory", "out of memory")
_REQUESTS = (r"you tried to allocate (\d+) bytes", r"(?:allocate|allocating) ([\d.]+ [KMGTPE]iB)")
_UNITS = ("B", "kB", "MB", "GB", "TB")


def is_shortage(error: BaseException) -> bool:
    """Whether an error means that memory ran out."""
    message = str(error)
    is_torch = isinstance(error, RuntimeError) and any(part in message for part in _TORCH_MESSAGES)
    return isinstance(error, MemoryError) or is_torch


def shortage_message(error: BaseException) -> str:
    """Return the message on an error that means that memory ran out."""
    parts = []
    matches = [match for pattern in _REQUESTS if (match := re.search(pattern, str(error)))]
    if matches:
        request = matches[0][1]
        parts.append(f"{in_bytes(int(request)) if request.isdigit() else request} more were needed")
    return "Memory ran out" + _facts([*parts, *_used(peak_bytes())])


def killed_message(peak: int | None, output: Path) -> str:
    """The message on a solver that the system killed.

    Args:
        peak: bytes that it had taken, as far as that is known.
        output: the file that has its output.
    """
    facts = _facts(_used(peak))
    return (
        f"The solver was killed (signal 9), most likely since memory ran out{facts}. See {output}"
    )


def peak_bytes(process: int | None = None) -> int | None:
    """Return the most memory that a process has taken so far, this one by default; None if the
    system does not report it."""
    name = "self" if process is None else str(process)
    return kilobytes(Path("/proc") / name / "status", "VmHWM")


def peak_with_children() -> int | None:
    """Return the most memory that this process, or one that it has waited for, has taken so far;
    None if the system does not report it."""
    if sys.platform == "win32":
        return None
    import resource

    whose = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    uses = [resource.getrusage(who).ru_maxrss for who in whose]
    # Systems report it in kilobytes, except macOS.
    return max(uses) * (1 if sys.platform == "darwin" else 1024)


def in_bytes(count: int) -> str:
    """Return a size in readable units, such as ``12.3 GB``."""
    value, unit = float(count), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000.0, unit + 1
    return f"{value:.3g} {_UNITS[unit]}"


def _used(peak: int | None) -> list[str]:
    whole = total_bytes()
    if peak is None:
        return []
    limit = "" if whole is None else f" of {in_bytes(whole)}"
    return [f"the solver had taken {in_bytes(peak)}{limit}"]


def _facts(parts: list[str]) -> str:
    facts = f": {', '.join(parts)}" if parts else ""
    return f"{facts}. {CURE}"
