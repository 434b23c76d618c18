# SPDX-License-Identifier: GPL-3.0-or-later
"""When what holds a body lets go. No torch here."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import SceneError
from . import checks


@dataclass(frozen=True)
class Release:
    """When pins, an attachment or stitches let go, for good.

    Args:
        frame: after which nothing is held any more; 0 is the start, None is no frame.
        force: in newtons, by which what is pulled harder lets go; None holds whatever pulls. Pins
            and goals of a body let go together, by the sum of what pulls at them. Of attachments
            and stitches each of the n pairs lets go by itself, at force/n, so that they tear from
            where they are pulled the most.
    """

    frame: int | None = None
    force: float | None = None

    def __post_init__(self) -> None:
        if self.frame is not None:
            frame = checks.whole_number(self.frame, "The frame after which is let go")
            if frame < 0:
                raise SceneError(f"What holds lets go after a frame from 0 on, not {frame}.")
        if self.force is not None:
            checks.above_zero(self.force, "The force in newtons that makes let go")

    def is_due(self, frame: int) -> bool:
        """Whether nothing holds after a frame."""
        return self.frame is not None and frame >= self.frame
