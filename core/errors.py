# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong, each message naming the object, the cause and the cure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .intersection_report import IntersectionReport


class SuppleError(Exception):
    """Base of every error that is meant to be read by the user as it stands."""


class SceneError(SuppleError, ValueError):
    """The description of the scene cannot be simulated."""


class IntersectionError(SceneError):
    """Bodies intersect each other, themselves or colliders at the start."""

    def __init__(self, message: str, report: IntersectionReport) -> None:
        super().__init__(message)
        self.report = report


class JobError(SuppleError):
    """A job folder is missing, damaged or cannot be written."""


class InstabilityError(SuppleError):
    """A time step was too long for the stiffness of the scene."""
