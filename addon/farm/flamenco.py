# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs of Flamenco 3. Its manager compiles them by a script, the job type, and takes them by REST.

Source: Flamenco's own OpenAPI description, version 3: ``SubmittedJob``, ``POST /api/v3/jobs``.
"""

from __future__ import annotations

import json
import shutil
import sys
import urllib.error
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any

from ...core.errors import SuppleError
from .farm_job import FarmJob, write_files

JOB_TYPE = Path(__file__).with_name("supple_simulate_and_render.js")
SUBMISSION = "flamenco_job.json"
PRIORITY = 50
_SECONDS = 10.0
# The names of platforms in Flamenco.
_PLATFORMS = {"win32": "windows", "darwin": "darwin"}


def type_name() -> str:
    """The name that a manager has for the job type, by its file."""
    return JOB_TYPE.stem.replace("_", "-")


def submission(job: FarmJob) -> dict[str, Any]:
    """Return the job as a manager takes it. Its two-way variables map the paths of machines."""
    return {
        "name": job.name,
        "type": type_name(),
        "priority": PRIORITY,
        "submitter_platform": _PLATFORMS.get(sys.platform, "linux"),
        "settings": {
            "blendfile": job.file.as_posix(),
            "cache": job.cache.as_posix(),
            "baked_file": job.baked.as_posix(),
            "images": job.images.as_posix(),
            "frames": job.frame_range,
            "chunk_size": job.chunk,
        },
    }


def submit(job: FarmJob, manager: str) -> str:
    """Send a job to a manager; returns the number that it gives it.

    Args:
        job: the job.
        manager: the address, such as ``http://flamenco:8080``.

    Raises:
        SuppleError: the manager is not there, or refuses the job.
    """
    try:
        request = urllib.request.Request(
            f"{manager.rstrip('/')}/api/v3/jobs",
            data=json.dumps(submission(job)).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=_SECONDS) as response:
            answer = json.loads(response.read())
        return str(answer["id"])
    except urllib.error.HTTPError as error:
        raise SuppleError(
            f"The Flamenco manager at {manager} refused the job: {_reason(error)}. If it does not "
            f"know the job type {type_name()}, copy that to its folder scripts first."
        ) from error
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", error)
        raise SuppleError(
            f"There is no Flamenco manager at {manager}: {reason}. Correct its address."
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise SuppleError(
            f"No Flamenco manager answers at {manager}. Correct its address."
        ) from error


def write(job: FarmJob, folder: Path) -> Path:
    """Write the job, as a manager takes it, into a folder; returns the file.

    Raises:
        SuppleError: the folder cannot be written.
    """
    write_files(folder, {SUBMISSION: submission(job)})
    return folder / SUBMISSION


def copy_job_type(folder: Path) -> Path:
    """Copy the job type to where a manager reads it: the folder ``scripts`` beside its program.

    Raises:
        SuppleError: it cannot be written there.
    """
    target = folder / JOB_TYPE.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(JOB_TYPE, target)
    except OSError as error:
        raise SuppleError(f"{target} cannot be written: {error.strerror}.") from error
    return target


def _reason(error: urllib.error.HTTPError) -> str:
    """Return the reason that a manager gives, or the status of its answer."""
    try:
        return str(json.loads(error.read())["message"])
    except (ValueError, KeyError, TypeError, OSError):
        return f"{error.code} {error.reason}"
