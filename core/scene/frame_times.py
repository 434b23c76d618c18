# SPDX-License-Identifier: GPL-3.0-or-later
"""How much time is simulated from frame to frame. No torch here."""

from __future__ import annotations

import numpy as np

from .channel import Channel


class FrameTimes:
    """Seconds that are simulated from each frame to the next: the integral of the time scale.

    Within a frame they pass evenly, so that a frame whose scale changes has the mean of it.

    Args:
        frame_time: seconds from one frame to the next, where the scale is 1.
        scale: simulated seconds in one; a channel where it changes.
    """

    def __init__(self, frame_time: float, scale: Channel | float = 1.0) -> None:
        self._seconds = frame_time * _means(Channel.of(scale, "The time scale"))
        self._before = np.cumsum([0.0, *self._seconds])

    @property
    def longest(self) -> float:
        """Of all frames."""
        return float(self._seconds.max())

    def of(self, frame: int) -> float:
        """From a frame, 0 being the start, to the next."""
        return float(self._seconds[min(frame, len(self._seconds) - 1)])

    def until(self, frame: int) -> float:
        """From the start to a frame."""
        whole = min(frame, len(self._seconds) - 1)
        return float(self._before[whole]) + (frame - whole) * self.of(frame)


def _means(scale: Channel) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """(F,) of each frame in turn; the last is of all that follow."""
    samples, per_frame = scale.samples, scale.per_frame
    middles = 0.5 * (samples[:-1] + samples[1:])
    frames = middles[: len(middles) // per_frame * per_frame].reshape(-1, per_frame)
    rest = middles[len(frames) * per_frame :]
    means = [float(own.sum()) / per_frame for own in frames]
    if len(rest):
        means.append(float(rest.sum() + (per_frame - len(rest)) * samples[-1]) / per_frame)
    return np.array([*means, samples[-1]])
