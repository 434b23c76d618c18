# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of a tool that finds a property of a soft body."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import bpy

from ...core.errors import SuppleError
from ...core.job.fits import Wanted
from ...core.scene.scene import Scene
from ..capture.captured import Capture


@dataclass(frozen=True)
class Question:
    """The question to the worker.

    Args:
        context: that it is asked in.
        obj: the soft body.
        captured: the scene, which may be changed for the search.
        index: of the body in it.
    """

    context: bpy.types.Context
    obj: bpy.types.Object
    captured: Capture
    index: int

    def frame(self, number: int, what: str) -> int:
        """Frames after the start of one on the timeline.

        Raises:
            SuppleError: when that is not simulated.
        """
        first, last = self.captured.start_frame + 1, self.captured.end_frame
        if not first <= number <= last:
            raise SuppleError(
                f"{self.obj.name}: {what} is {number}, and frames {first} to {last} are "
                "simulated. Choose one of these, or change the frame range."
            )
        return number - self.captured.start_frame


@dataclass(frozen=True)
class Tool:
    """A tool that searches for something and sets the result.

    Args:
        label, description, icon: of its button.
        settings: names of the object's settings that it reads.
        ask: from a question to the scene to search and the goal; raises SuppleError.
        apply: set the result on an object, and return the message for the user.
        follows: whether it goes by the animation of the object.
        control_label: the part of its result that acts until it is removed, in words; empty for
            none.
    """

    label: str
    description: str
    icon: str
    settings: tuple[str, ...]
    ask: Callable[[Question], tuple[Scene, Wanted]]
    apply: Callable[[bpy.types.Object, Capture, int, Any], str]
    follows: bool = False
    control_label: Callable[[bpy.types.Object], str] = lambda _: ""


#: Shorter distances are rounding.
NOTICED_METRES = 1e-6


def length(metres: float) -> str:
    """Format a length, such as ``1.2 mm`` or ``0.31 m``."""
    if metres < NOTICED_METRES:
        return "0 mm"
    return f"{1e3 * metres:.3g} mm" if metres < 0.1 else f"{metres:.3g} m"
