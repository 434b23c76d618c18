# SPDX-License-Identifier: GPL-3.0-or-later
"""Stitches between bodies, and releases of pins, goals and attachments. No torch here."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from . import channel, checks
from .channel import Channel
from .forces import DescribedForce
from .schema import IF_THERE, check_kinds


@dataclass(frozen=True)
class Release:
    """When pins, an attachment or stitches let go, and when pins and attachments take hold again.

    Args:
        frame: after which nothing is held any more; 0 is the start, None is no frame.
        force: the force in newtons above which it lets go; None never lets go by force. Pins and
            goals of a body let go together, by the sum of their forces. Attachments and stitches
            let go pair by pair, each of the n pairs at force/n, so that they tear from the most
            loaded pair.
        again: later frames at which it takes hold and lets go, in turn. It takes hold of the body
            in the place and shape of that moment, and follows the motion from there. Parts that a
            force has torn off are held again, too.
    """

    frame: int | None = None
    force: float | None = None
    again: tuple[int, ...] = field(default=(), metadata={IF_THERE: True})

    def __post_init__(self) -> None:
        if self.frame is not None:
            frame = checks.whole_number(self.frame, "The frame of a release")
            if frame < 0:
                raise SceneError(f"The frame of a release must be 0 or later, not {frame}.")
        if self.force is not None:
            checks.above_zero(self.force, "The break force in newtons")
        if not isinstance(self.again, (tuple, list)):
            raise SceneError(f"The frames of grips must be a sequence, not {self.again!r}.")
        again = tuple(checks.whole_number(each, "The frame of a grip") for each in self.again)
        object.__setattr__(self, "again", again)
        frames = (-1 if self.frame is None else self.frame, *again)
        if again and (self.frame is None or any(np.diff(frames) < 1)):
            raise SceneError(
                f"A release takes hold again at later frames than it lets go, in order, not at "
                f"{', '.join(map(str, again))} after {self.frame}."
            )

    def holds_at(self, frame: int) -> bool:
        """Whether it holds after a frame, if no force has torn it off."""
        if self.frame is None or frame < self.frame:
            return True
        return sum(frame >= each for each in self.again) % 2 == 1

    @property
    def grips(self) -> tuple[int, ...]:
        """Return the frames at which it takes hold again."""
        return self.again[::2]


@dataclass(eq=False)
class Stitches(DescribedForce):
    """A thread from each of some points to the nearest one of others.

    A thread only pulls. It is as long as the points are apart at the start where it is open, and
    as the gap where it is closed; in between its length changes linearly. Points that start closer
    than the gap stay as they are. Contacts persist.

    Args:
        body: index of the body among those of the scene.
        points: indices of its skin's points, or of its tet vertices where it has no skin.
        other: index of the body that they are stitched to; the same one is a seam of its own.
        other_points: of that body, those to choose from; None is all, which takes another body.
        closed: channel of how far they are, from 0 to 1.
        gap: the distance between the points of closed stitches, in metres; None is the distance at
            which the two bodies touch, 0 where nothing touches.
        release: when they let go; None is never.
        threads: numbers of the points, among ``points``, that still are stitched; None is all.
    """

    body: int
    points: NDArray[np.int32]
    other: int
    other_points: NDArray[np.int32] | None = None
    closed: Channel | float = 1.0
    gap: float | None = None
    release: Release | None = field(default=None, metadata={IF_THERE: True})
    threads: NDArray[np.int32] | None = field(default=None, metadata={IF_THERE: True})

    def __post_init__(self) -> None:
        self.body = checks.whole_number(self.body, "Stitches: the index of the body")
        self.other = checks.whole_number(self.other, "Stitches: the index of the other body")
        self.points = _indices(self.points)
        if self.other_points is not None:
            self.other_points = _indices(self.other_points)
        elif self.other == self.body:
            raise SceneError("Stitches within a body need the points of either side; name both.")
        self.closed = channel.number(self.closed, "How far stitches are closed", least=0.0)
        most = Channel.of(self.closed, "").samples.max()
        if most > 1.0:
            raise SceneError(f"Stitches are closed from 0 to 1, not {most:g}.")
        if self.gap is not None:
            checks.at_least_zero(self.gap, "The gap of stitches in metres")
        if self.threads is not None:
            self.threads = checks.whole_numbers(self.threads, "A thread").ravel()
        if self.release is not None and not isinstance(self.release, Release):
            raise SceneError(f"The release of stitches must be a Release, not {self.release!r}.")
        if self.release is not None and self.release.again:
            raise SceneError(
                "Stitches let go for good. Leave out the frames at which they take hold again, or "
                "use an attachment."
            )
        check_kinds(self, "Stitches")


def _indices(points: NDArray[np.int32]) -> NDArray[np.int32]:
    indices = checks.whole_numbers(points, "A stitched point").ravel()
    if len(indices) == 0:
        raise SceneError("Stitches: there is no point to stitch.")
    return indices
