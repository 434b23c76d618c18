# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers that may change over time: gravity, pins, colliders. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SceneError
from . import checks
from .checks import Vector


@dataclass(frozen=True, eq=False)
class Channel:
    """Numbers, vectors or points at the start and after each frame.

    In between they change linearly, and after the last frame they stay.

    Args:
        samples: (T, ...) one a frame; T = 1 is a constant.
    """

    samples: NDArray[np.float64]

    def __post_init__(self) -> None:
        samples = np.asarray(self.samples, dtype=np.float64, order="C")
        object.__setattr__(self, "samples", samples)

    @staticmethod
    def of(values: Channel | ArrayLike, what: str, *shape: int | None) -> Channel:
        """A channel of a constant, of samples, or as it is, checked.

        Args:
            values: of the shape, or (T, ...) of so many.
            what: what messages call it.
            shape: of one sample; None is any number.

        Raises:
            SceneError: when there is no sample, or one is of another shape or not finite.
        """
        if isinstance(values, Channel):
            samples = values.samples
        else:
            samples = np.asarray(values, dtype=np.float64)
            samples = samples[None] if samples.ndim == len(shape) else samples
        if len(shape) != samples.ndim - 1 or len(samples) == 0 or not _fits(samples, shape):
            one = ", ".join("N" if size is None else str(size) for size in shape)
            wanted = f"({one}) or (frames, {one}) numbers" if shape else "a number, or one a frame"
            raise SceneError(f"{what} must be {wanted}, not {samples.shape}.")
        broken = np.argwhere(~np.isfinite(samples))
        if len(broken):
            frame, *place = broken[0].tolist()
            which = f"number {place[0]}" if len(place) > 1 else "it"
            raise SceneError(f"{what} must be finite; {which} is not at frame {frame}.")
        return Channel(samples)

    @staticmethod
    def constant(values: ArrayLike) -> Channel:
        """Of what stays as it is."""
        return Channel(np.asarray(values, dtype=np.float64)[None])

    @staticmethod
    def side_by_side(channels: Sequence[Channel]) -> Channel:
        """One of the points (P, ...) of the first, then of the second, and so on."""
        length = max(len(channel.samples) for channel in channels)
        kept = [
            channel.samples[np.minimum(np.arange(length), len(channel.samples) - 1)]
            for channel in channels
        ]
        return Channel(np.concatenate(kept, axis=1))

    @property
    def is_constant(self) -> bool:
        return len(self.samples) == 1

    def at(self, frame: int, fraction: float = 0.0) -> NDArray[np.float64]:
        """What it is a ``fraction`` of the way from a frame to the next; frame 0 is the start."""
        first, second = around(frame, len(self.samples))
        before: NDArray[np.float64] = self.samples[first]
        if fraction == 0.0:
            return before
        return before + fraction * (self.samples[second] - before)


def around(frame: int, count: int) -> tuple[int, int]:
    """Which of ``count`` samples is that of a frame, and which that of the next."""
    return min(frame, count - 1), min(frame + 1, count - 1)


def vector(values: Channel | Sequence[float], what: str) -> Channel | Vector:
    """A vector that may change: three numbers where it does not, else a channel of (3,).

    Raises:
        SceneError: when it is neither.
    """
    if not isinstance(values, Channel) and np.ndim(values) < 2:
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


def _fits(samples: NDArray[np.float64], shape: tuple[int | None, ...]) -> bool:
    return all(size in (own, None) for own, size in zip(samples.shape[1:], shape, strict=True))
