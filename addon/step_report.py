# SPDX-License-Identifier: GPL-3.0-or-later
"""How the time steps of a run went: its log in words for the user."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ..core.errors import JobError
from ..core.job import Job


@dataclass(frozen=True)
class StepReport:
    """What a panel shows of a run.

    Args:
        steps: those of the latest frame, such as ``Implicit Euler, 1 step a frame, 4 iterations``.
        warning: what went wrong, and the cure.

    Both are empty where there is nothing to say.
    """

    steps: str = ""
    warning: str = ""

    def sentences(self) -> list[str]:
        return [f"{text}." for text in (self.steps, self.warning) if text]


def read(job: Job) -> StepReport:
    """The report on the frames so far. Panels ask at every redraw: an unchanged log is not read."""
    try:
        status = job.log_path.stat()
    except OSError:  # not begun yet, or the cache is not there any more
        return StepReport()
    return _read(job.folder, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1)
def _read(folder: Path, *_version: int) -> StepReport:
    try:
        records = Job(folder).records()
    except JobError as error:
        return StepReport(warning=str(error))
    # Frames of a version that knew one integrator alone do not name it.
    if not records or "integrator" not in records[-1]:
        return StepReport()
    last = records[-1]
    parts = [last["integrator"], f"{_count(last['substeps'], 'step')} a frame"]
    if last["iterations"]:
        parts.append(_count(last["iterations"], "iteration"))
    missed = sum(not record.get("converged", True) for record in records)
    warning = f"{_count(missed, 'frame')} did not reach the tolerance: more substeps help"
    return StepReport(", ".join(parts), warning if missed else "")


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
