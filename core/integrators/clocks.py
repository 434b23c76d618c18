# SPDX-License-Identifier: GPL-3.0-or-later
"""Clocks of animated objects, which lag at an obstacle and catch up later."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ..potentials.contact.surface import CollisionSurface
from ..system import System

# The rate of a clock that is behind is at most the first. A complete step raises the rate by the
# next factor. An incomplete one multiplies it by its step size, at least by a half, down to the
# least rate.
MAX_RATE, RATE_GROWTH, MIN_RATE = 1.5, 1.25, 1.0 / 16.0
# The least reported lag at the end of a frame, in frames.
REPORTED_LAG_FRAMES = 0.5
# The samples a frame of a missed path, and the distance at which the path passes an object,
# relative to the distance between samples: the object gets there in its next step, and should not
# go farther than in other steps.
SAMPLES, NEAR_RATIO = 4, 0.05
# Rounding, relative to a frame.
ROUNDING = 1e-12


class Clocks:
    """Clocks with the progress of each collider, and of the pins of each body, on their paths.

    An object lags as a whole, and its clock replays the path that it has missed, since a short cut
    might lead through other objects. If the path has returned to the position of the blocked
    object, the part between is left out.

    Args:
        surface: the collision surface; each of its objects, bodies first, has a clock.
        system: the system, with the pins of its bodies.
    """

    def __init__(self, surface: CollisionSurface, system: System) -> None:
        self._surface, self._system = surface, system
        self._bodies = len(surface.names) - len(surface.collider_slices)
        self._lags, self._rates = self._start()
        self._target_lags = self._lags.copy()
        self._frame, self._since, self._until = 0, 0.0, 0.0
        self._pins_of = self._places_of_pins()

    def _start(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        count = len(self._surface.names)
        return np.zeros(count), np.ones(count)

    def _places_of_pins(self) -> list[NDArray[np.int64]]:
        """Return the indices of each body's pins among all moving pins."""
        pins = self._system.moving_pins
        if pins is None:
            return [np.empty(0, dtype=np.int64)] * self._bodies
        vertices = pins.vertices.cpu().numpy()
        return [
            np.flatnonzero((vertices >= where.start) & (vertices < where.stop))
            for where in self._system.body_slices()
        ]

    def begin(
        self,
        saved: NDArray[np.float64] | None,
        frame: int,
        positions: NDArray[np.float64],
        colliders: NDArray[np.float64],
    ) -> None:
        """Begin a frame.

        Args:
            saved: the value of ``saved`` at the end of the last frame.
            frame: the index of the frame before.
            positions: (3, N) of the bodies' vertices, in metres.
            colliders: (C, 3) of the colliders' vertices.
        """
        self._lags, self._rates = self._start()
        self._frame, self._until = frame, 0.0
        if saved is None:
            return
        self._lags[:], self._rates[:] = saved
        pins = self._system.moving_pins
        for item in np.flatnonzero(self._lags > 1.0 / SAMPLES):
            if item >= self._bodies:
                places = self._surface.collider_slices[item - self._bodies]
                self._skip_closed_loops(int(item), colliders[places])
            elif pins is not None:
                vertices = pins.vertices.cpu().numpy()[self._pins_of[item]]
                self._skip_closed_loops(int(item), positions[:, vertices].T)

    def _skip_closed_loops(self, item: int, points: NDArray[np.float64]) -> None:
        """Set a clock to the last time at which the path passed the position of the object.

        Args:
            points: (n, 3) of its vertices, in metres.
        """
        lags = np.append(np.arange(self._lags[item], 0.0, -1.0 / SAMPLES), 0.0)
        path = np.stack([self._at(item, lag) for lag in lags])
        displacements, before = np.diff(path, axis=0), points - path[:-1]
        # The nearest point on the line from each sample to the next.
        squares = (displacements * displacements).sum(axis=(1, 2))
        products = (displacements * before).sum(axis=(1, 2))
        parts = np.clip(products / np.where(squares > 0.0, squares, 1.0), 0.0, 1.0)
        distances = np.abs(before - parts[:, None, None] * displacements).max(axis=(1, 2))
        near = np.flatnonzero(distances <= NEAR_RATIO * np.abs(displacements).max(axis=(1, 2)))
        # At the first time it is at its present position.
        if len(near) and (last := near[-1]) > 0:
            self._lags[item] = lags[last] + parts[last] * (lags[last + 1] - lags[last])
            self._rates[item] = 1.0

    def _at(self, item: int, lag: float) -> NDArray[np.float64]:
        """Return (n, 3) vertices of an object a number of frames before the present, in metres."""
        if item >= self._bodies:
            return self._surface.collider_at(item - self._bodies, *self._time(lag))
        pins = self._system.moving_pins
        assert pins is not None
        return pins.positions(*self._time(lag)).cpu().numpy()[:, self._pins_of[item]].T

    @property
    def saved(self) -> NDArray[np.float64] | None:
        """Return (2, O) lags in frames, and rates; None without a lagging or slow object."""
        if not self._lags.any() and (self._rates >= 1.0).all():
            return None
        return np.stack([self._lags, self._rates])

    @property
    def lags(self) -> NDArray[np.float64]:
        """Return the (O,) lags of objects, in frames."""
        return self._lags

    def prescribe(self, frame: int, since: float, until: float) -> None:
        """Prescribe the next step, from ``since`` to ``until`` between two frames."""
        self._frame, self._since, self._until = frame, since, until
        step = until - since
        target_lags = step + self._lags - self._rates * step
        self._target_lags = np.where((self._lags == 0.0) & (self._rates >= 1.0), 0.0, target_lags)
        self._target_lags[self._target_lags < ROUNDING] = 0.0

    def colliders(self) -> NDArray[np.float64]:
        """Return the (C, 3) target positions of collider vertices after the next step, in
        metres."""
        targets = self._surface.colliders_at(self._frame, self._until)
        for collider, where in enumerate(self._surface.collider_slices):
            lag = self._target_lags[self._bodies + collider]
            if lag > 0.0:
                targets[where] = self._surface.collider_at(collider, *self._time(lag))
        return targets

    def pins(self) -> Tensor:
        """Return the (3, P) target positions of moving pins after the next step, in metres. The
        system must have moving pins."""
        pins = self._system.moving_pins
        assert pins is not None
        targets = pins.positions(self._frame, self._until)
        for body, places in enumerate(self._pins_of):
            lag = self._target_lags[body]
            if lag > 0.0 and len(places):
                targets = targets.clone()
                targets[:, places] = pins.positions(*self._time(lag))[:, places]
        return targets

    def _time(self, lag: float) -> tuple[int, float]:
        """Return the frame and the fraction at a number of frames before the end of the next
        step."""
        at = self._frame + self._until - lag
        frame = max(0, math.floor(at))
        return frame, max(0.0, at - frame)

    def advance(self, step_sizes: NDArray[np.float64]) -> None:
        """Advance clocks by the (O,) ``step_sizes`` of objects on the displacements of a step."""
        step = self._until - self._since
        is_whole = step_sizes >= 1.0
        requested = step + self._lags - self._target_lags
        incomplete = step + self._lags - step_sizes * requested
        self._lags = np.where(is_whole, self._target_lags, incomplete)
        max_rates = np.where(self._lags > 0.0, MAX_RATE, 1.0)
        faster = np.minimum(RATE_GROWTH * self._rates, max_rates)
        slower = np.maximum(np.maximum(0.5, step_sizes) * self._rates, MIN_RATE)
        self._rates = np.where(is_whole, faster, slower)

    def distance_behind(
        self, positions: NDArray[np.float64], colliders: NDArray[np.float64]
    ) -> float:
        """Return the largest distance of animated objects from their targets at the end of the
        last step, in metres.

        Args:
            positions: (3, N) of the vertices of bodies, in metres.
            colliders: (C, 3) of those of colliders.
        """
        max_distance, pins = 0.0, self._system.moving_pins
        for item in np.flatnonzero(self._lags):
            if item >= self._bodies:
                at = colliders[self._surface.collider_slices[item - self._bodies]]
            elif pins is not None and len(self._pins_of[item]):
                at = positions[:, pins.vertices.cpu().numpy()[self._pins_of[item]]].T
            else:
                # A body without moving pins has no target.
                continue
            displacements = np.linalg.norm(self._at(int(item), 0.0) - at, axis=1)
            max_distance = max(max_distance, float(displacements.max(initial=0.0)))
        return max_distance

    def late(self) -> list[int]:
        """Return the objects that lag by more than ``REPORTED_LAG_FRAMES``."""
        return [int(index) for index in np.flatnonzero(self._lags > REPORTED_LAG_FRAMES)]
