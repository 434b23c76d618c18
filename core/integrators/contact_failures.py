# SPDX-License-Identifier: GPL-3.0-or-later
"""Why steps do not reach their end."""

from __future__ import annotations

from ..errors import InstabilityError


class BlockedStepError(InstabilityError):
    """Something cannot make way within a step."""


class CostlyFrameError(InstabilityError):
    """A frame costs more than its budget."""


class DivergedStepError(InstabilityError):
    """Steps gain energy, as short as they have become."""
