# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers that may change over time: gravity, pins, colliders. No torch here."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SceneError
from . import checks
from .checks import Vector

# Rounding of a time in units of samples: a time this close before a sample is at it.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Channel:
    """Numbers, vectors or points at the start and after each frame, or part of one.

    In between they change linearly, and after the last sample they stay.

    Args:
        samples: (T, ...) at equal times; T = 1 is a constant.
        per_frame: samples a frame.
    """

    samples: NDArray[np.float64]
    per_frame: int = 1

    def __post_init__(self) -> None:
        samples = checks.numbers(self.samples, "The samples of a channel")
        object.__setattr__(self, "samples", samples)
        if checks.whole_number(self.per_frame, "The number of samples a frame") < 1:
            raise SceneError(f"A channel has 1 sample a frame or more, not {self.per_frame}.")

    @staticmethod
    def of(values: Channel | ArrayLike, what: str, *shape: int | None) -> Channel:
        """Make a checked channel of a constant or of samples; a channel stays as it is.

        Args:
            values: an array of the shape, or (T, ...) samples.
            what: the name in messages.
            shape: of one sample; None is any number.

        Raises:
            SceneError: when there is no sample, or one is of another shape or not finite.
        """
        if isinstance(values, Channel):
            samples, per_frame = values.samples, values.per_frame
        else:
            per_frame = 1
            samples = checks.numbers(values, what)
            samples = samples[None] if samples.ndim == len(shape) else samples
        if len(shape) != samples.ndim - 1 or len(samples) == 0 or not _fits(samples, shape):
            one = ", ".join("N" if size is None else str(size) for size in shape)
            expected = (
                f"({one}) or (frames, {one}) numbers" if shape else "a number, or one a frame"
            )
            raise SceneError(f"{what} must be {expected}, not {samples.shape}.")
        is_finite = np.isfinite(samples)
        if not is_finite.all():
            sample, *place = np.argwhere(~is_finite)[0].tolist()
            frame = f"{sample / per_frame:g}"
            which = f"number {place[0]}" if len(place) > 1 else "it"
            raise SceneError(f"{what} must be finite; {which} is not at frame {frame}.")
        return Channel(samples, per_frame)

    @staticmethod
    def constant(values: ArrayLike) -> Channel:
        """Return a channel whose value never changes."""
        return Channel(np.asarray(values, dtype=np.float64)[None])

    @staticmethod
    def side_by_side(channels: Sequence[Channel]) -> Channel:
        """Join channels of (P, ...) points into one: the points of the first, then of the second,
        and so on."""
        per_frame = math.lcm(*(channel.per_frame for channel in channels))
        finer = [channel.resampled(per_frame) for channel in channels]
        length = max(len(channel.samples) for channel in finer)
        parts = [
            channel.samples[np.minimum(np.arange(length), len(channel.samples) - 1)]
            for channel in finer
        ]
        return Channel(np.concatenate(parts, axis=1), per_frame)

    @property
    def is_constant(self) -> bool:
        """Whether there is one sample alone, so that the value never changes."""
        return len(self.samples) == 1

    def at(self, frame: int, fraction: float = 0.0) -> NDArray[np.float64]:
        """Return the value a ``fraction`` of the way from a frame to the next; frame 0 is the
        start."""
        first, second, part = around(frame, fraction, len(self.samples), self.per_frame)
        before: NDArray[np.float64] = self.samples[first]
        if part == 0.0 or self.is_constant:
            return before
        return before + part * (self.samples[second] - before)

    def mapped(self, change: Callable[[NDArray[np.float64]], NDArray[np.float64]]) -> Channel:
        """Return a channel of changed samples at the same times; ``change`` takes and returns (T,
        ...) samples."""
        return Channel(change(self.samples), self.per_frame)

    def resampled(self, per_frame: int) -> Channel:
        """Return the same values with ``per_frame`` samples a frame, a multiple of the present
        number."""
        factor = per_frame // self.per_frame
        if factor == 1 or self.is_constant:
            return Channel(self.samples, per_frame)
        count = factor * (len(self.samples) - 1) + 1
        times = (divmod(index, per_frame) for index in range(count))
        return Channel(np.stack([self.at(frame, k / per_frame) for frame, k in times]), per_frame)


def around(frame: int, fraction: float, count: int, per_frame: int) -> tuple[int, int, float]:
    """Between which of ``count`` samples a time lies: their numbers, and the part of the way from
    one to the other.

    Args:
        frame: the one before it.
        fraction: of the way to the next, 0 … 1.
    """
    since = min(int(fraction * per_frame + ROUNDING), per_frame - 1)
    first = frame * per_frame + since
    return min(first, count - 1), min(first + 1, count - 1), fraction * per_frame - since


def vector(values: Channel | Sequence[float], what: str) -> Channel | Vector:
    """A vector that may change: three numbers where it does not, else a channel of (3,).

    Raises:
        SceneError: when it is neither.
    """
    if not isinstance(values, Channel) and checks.numbers(values, what).ndim < 2:
        return checks.vector(values, what)
    channel = Channel.of(values, what, 3)
    return checks.vector(channel.at(0), what) if channel.is_constant else channel


def number(values: Channel | ArrayLike, what: str, least: float | None = None) -> Channel | float:
    """A number that may change: a number where it does not, else a channel of ().

    Raises:
        SceneError: when it is neither, or below ``least``.
    """
    channel = Channel.of(values, what)
    if least is not None and channel.samples.min() < least:
        raise SceneError(f"{what} must be {least:g} or more, not {channel.samples.min():g}.")
    return float(channel.at(0)) if channel.is_constant else channel


def above_zero(values: Channel | ArrayLike, what: str, more: str = "") -> Channel:
    """Numbers above 0 at every frame.

    Args:
        more: the end of a message.

    Raises:
        SceneError: when they are not.
    """
    channel = Channel.of(values, what)
    low = np.flatnonzero(channel.samples <= 0.0)
    if len(low):
        frame = low[0] / channel.per_frame
        raise SceneError(
            f"{what} must be above 0 at every frame, and is {channel.samples[low[0]]:g} at frame "
            f"{frame:g}{more}."
        )
    return channel


def _fits(samples: NDArray[np.float64], shape: tuple[int | None, ...]) -> bool:
    return all(
        size in (length, None) for length, size in zip(samples.shape[1:], shape, strict=True)
    )


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
        """Return the duration of the longest frame, in seconds."""
        return float(self._seconds.max())

    def of(self, frame: int) -> float:
        """From a frame, 0 being the start, to the next."""
        return float(self._seconds[min(frame, len(self._seconds) - 1)])

    def until(self, frame: int) -> float:
        """From the start to a frame."""
        whole = min(frame, len(self._seconds) - 1)
        return float(self._before[whole]) + (frame - whole) * self.of(frame)


def _means(scale: Channel) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the (F,) mean of each frame in turn; the last one holds for all later frames."""
    samples, per_frame = scale.samples, scale.per_frame
    middles = 0.5 * (samples[:-1] + samples[1:])
    frames = middles[: len(middles) // per_frame * per_frame].reshape(-1, per_frame)
    rest = middles[len(frames) * per_frame :]
    means = [float(frame.sum()) / per_frame for frame in frames]
    if len(rest):
        means.append(float(rest.sum() + (per_frame - len(rest)) * samples[-1]) / per_frame)
    return np.array([*means, samples[-1]])
