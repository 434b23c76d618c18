# SPDX-License-Identifier: GPL-3.0-or-later
"""Errors of the solver; each message names the object, the cause and the cure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from .preparation.intersection_report import IntersectionReport

#: The exit status of a program that Ctrl-C ended.
INTERRUPTED = 130


def legible(text: str) -> str:
    """A text that can be drawn and written: names of files may hold bytes that are no letters, and
    of these each becomes a �."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


class SuppleError(Exception):
    """Base of every error that is meant to be read by the user as it stands."""

    def __str__(self) -> str:
        return legible(super().__str__())


class SceneError(SuppleError, ValueError):
    """The description of the scene cannot be simulated."""


class IntersectionError(SceneError):
    """Bodies intersect each other, themselves or colliders at the start."""

    def __init__(self, message: str, report: IntersectionReport) -> None:
        super().__init__(message)
        self.report = report


class JobError(SuppleError):
    """A job folder is missing, damaged or cannot be written."""


class DamageError(JobError):
    """A file of a job folder is not as it was written.

    Args:
        path: of the file.
        reason: the evidence; empty where it is not there at all.
    """

    def __init__(self, path: Path, reason: str = "") -> None:
        #: The problem without the cure.
        self.finding = legible(f"{path} is damaged ({reason})" if reason else f"{path} is missing")
        super().__init__(f"{self.finding}. Simulate again.")


class JobInUseError(JobError):
    """Another process is at work in a job folder.

    Args:
        folder: the job folder.
        holder: the process, such as ``process 12``.
        doing: its activity, such as ``simulates``.
    """

    def __init__(self, folder: Path, holder: str, doing: str) -> None:
        self.folder = folder
        super().__init__(
            f"{folder} is in use: {holder} {doing} there. Wait for it or end it, then simulate "
            "again. You can also choose another cache folder."
        )


class InstabilityError(SuppleError):
    """A time step was too long for the stiffness of the scene."""
