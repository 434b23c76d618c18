# SPDX-License-Identifier: GPL-3.0-or-later
"""A channel as tensors, where integrators read it in every step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

import torch
from torch import Tensor

from ..scene.channel import Channel, around


class TensorChannel:
    """A channel whose samples are a tensor.

    Args:
        samples: (T, ...) as a ``Channel`` has them, on the device.
        per_frame: samples a frame.
    """

    def __init__(self, samples: Tensor, per_frame: int = 1) -> None:
        self.samples, self.per_frame = samples, per_frame
        # Asking a tensor for its length takes longer than all else that finds a time.
        self._count = len(samples)
        #: Many explicit steps lie between the same two samples.
        self._last_rate: tuple[tuple[int, int, float], Tensor] | None = None

    @staticmethod
    def of(channel: Channel, template: Tensor) -> TensorChannel:
        """A channel on the device and in the precision of another tensor."""
        samples = torch.as_tensor(channel.samples).to(template).contiguous()
        return TensorChannel(samples, channel.per_frame)

    def with_samples(self, samples: Tensor) -> TensorChannel:
        """Return a channel of other samples at the same times."""
        return TensorChannel(samples, self.per_frame)

    @property
    def is_constant(self) -> bool:
        return self._count == 1

    def largest(self) -> Tensor:
        """Return the largest value over time, number by number."""
        return self.samples.amax(0)

    def at(self, frame: int, fraction: float) -> Tensor:
        """Return the value a ``fraction`` of the way from ``frame`` to the next."""
        first, second, part = self.interval(frame, fraction)
        return self.samples[first].lerp(self.samples[second], part)

    def write(self, frame: int, fraction: float, out: Tensor) -> None:
        """Write the value at that time into a tensor."""
        first, second, part = self.interval(frame, fraction)
        torch.lerp(self.samples[first], self.samples[second], part, out=out)

    def rate(self, frame: int, fraction: float, frame_seconds: float) -> Tensor:
        """Return the rate of change per second at that time, in a frame of ``frame_seconds``;
        read-only."""
        first, second, _ = self.interval(frame, fraction)
        if self._last_rate is None or self._last_rate[0] != (first, second, frame_seconds):
            change = (self.samples[second] - self.samples[first]) * self.per_frame
            rate = change / frame_seconds
            if rate.requires_grad:
                return rate
            self._last_rate = (first, second, frame_seconds), rate
        return self._last_rate[1]

    def interval(self, frame: int, fraction: float) -> tuple[int, int, float]:
        """Return the samples before and after a time, and its share of the way between them."""
        return around(frame, fraction, self._count, self.per_frame)


T = TypeVar("T")


class CachedAt(Generic[T]):
    """A function of positions that caches its last value.

    Positions are the same where their numbers are, which takes no time beside computing anything
    of them.

    Args:
        compute: the function.
    """

    def __init__(self, compute: Callable[[Tensor], T]) -> None:
        self._compute = compute
        self._last: tuple[Tensor, T] | None = None

    def __call__(self, positions: Tensor) -> T:
        if self._last is None or not torch.equal(self._last[0], positions):
            self._last = positions.detach().clone(), self._compute(positions)
        return self._last[1]

    def on_host(self, positions: Tensor) -> T:
        """The same, and computed each time on CUDA, where comparing positions waits for them, and
        for positions on autograd's tape."""
        if positions.is_cuda or positions.requires_grad:
            return self._compute(positions)
        return self(positions)

    def forget(self) -> None:
        """Drop the cached value, since another dependency has changed."""
        self._last = None
