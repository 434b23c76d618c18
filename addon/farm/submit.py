# SPDX-License-Identifier: GPL-3.0-or-later
"""Hands a job to a farm, in the format that it reads."""

from __future__ import annotations

from pathlib import Path

from ..farm_formats import OPEN_JOB
from . import flamenco, open_job
from .farm_job import FarmJob


def submit(job: FarmJob, farm: str, folder: Path, manager: str) -> str:
    """Write or submit a job; returns a sentence.

    Args:
        job: the job.
        farm: ``open_job`` or ``flamenco``.
        folder: the folder for written files.
        manager: the address of a Flamenco manager; empty to write a file.

    Raises:
        SuppleError: it cannot be done.
    """
    if farm == OPEN_JOB:
        return f"Wrote the job {open_job.write(job, folder)}."
    if manager:
        return f"Submitted {job.name} to Flamenco as job {flamenco.submit(job, manager)}."
    return f"Wrote the job {flamenco.write(job, folder)}."
