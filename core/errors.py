# SPDX-License-Identifier: GPL-3.0-or-later
"""What can go wrong, each message naming the object, the cause and the cure."""


class SuppleError(Exception):
    """Base of every error that is meant to be read by the user as it stands."""


class SceneError(SuppleError, ValueError):
    """The description of the scene cannot be simulated."""


class JobError(SuppleError):
    """A job folder is missing, damaged or cannot be written."""


class InstabilityError(SuppleError):
    """A time step was too long for the stiffness of the scene."""
