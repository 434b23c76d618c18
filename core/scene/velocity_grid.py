# SPDX-License-Identifier: GPL-3.0-or-later
"""Velocities of a fluid in the cells of a box. No torch here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from . import channel, checks
from .channel import Channel
from .checks import Vector
from .schema import check_kinds

Number = Channel | float


@dataclass(eq=False)
class VelocityGrid:
    """What flows in a box, at the start and after each frame, and in between linearly.

    Args:
        velocities: (T, Z, Y, X, 3) at the centres of cells, along the axes of the box, or
            (Z, Y, X, 3) where they stay; kept in half precision where that loses nothing, else in
            single.
        matrix: (3, 4) from the box to the world in metres, which may move. What turns the axes may
            skew them, too: a velocity keeps its size.
        start: corner of the first cell, in the box.
        cell: three sides of a cell, in the box.
        speed: what 1 is of ``velocities`` in m/s.
        density: (T, Z, Y, X), or (Z, Y, X), by which the flow counts; None is 1.
        name: what messages call it.

    Raises:
        SceneError: when shapes do not match, or a setting is out of its range.
    """

    velocities: NDArray[np.float32]
    matrix: Channel
    start: Vector = (0.0, 0.0, 0.0)
    cell: Vector = (1.0, 1.0, 1.0)
    speed: Number = 1.0
    density: NDArray[np.float32] | None = None
    name: str = "Velocity grid"

    def __post_init__(self) -> None:
        check_kinds(self, "Velocity grid")
        self.velocities = self._cells(self.velocities, "velocities", 5)
        if self.velocities.shape[-1] != 3 or 0 in self.velocities.shape:
            raise SceneError(
                f"{self.name}: velocities must be (frames, Z, Y, X, 3) numbers, not "
                f"{self.velocities.shape}."
            )
        if self.density is not None:
            self.density = self._cells(self.density, "density", 4)
            if self.density.shape != self.velocities.shape[:-1]:
                raise SceneError(
                    f"{self.name}: the density must be one number a cell and frame, "
                    f"{self.velocities.shape[:-1]}, not {self.density.shape}."
                )
        self.matrix = Channel.of(self.matrix, f"{self.name}: the matrix", 3, 4)
        flat = np.abs(np.linalg.det(self.matrix.samples[:, :, :3])) == 0.0
        if flat.any():
            raise SceneError(
                f"{self.name}: the box is flat at frame {np.flatnonzero(flat)[0]}; scale it up."
            )
        self.start = checks.vector(self.start, f"{self.name}: the start")
        self.cell = checks.vector(self.cell, f"{self.name}: the cell")
        for side in self.cell:
            checks.above_zero(side, f"{self.name}: a side of a cell")
        self.speed = channel.number(self.speed, f"{self.name}: the speed", least=0.0)

    def _cells(
        self, values: NDArray[np.float32], what: str, dimensions: int
    ) -> NDArray[np.float32]:
        array = checks.array(values, f"{self.name}: the {what}")
        array = array[None] if array.ndim == dimensions - 1 else array
        if array.ndim != dimensions:
            raise SceneError(
                f"{self.name}: {what} must have {dimensions} dimensions, not {array.ndim}."
            )
        if not np.isfinite(array).all():
            raise SceneError(f"{self.name}: {what} must be finite.")
        return _compact(array)


def _compact(array: NDArray[np.float32]) -> NDArray[np.float32]:
    """Blender's caches hold numbers of half precision unless they are told otherwise."""
    single = np.ascontiguousarray(array, dtype=np.float32)
    with np.errstate(over="ignore"):
        half = single.astype(np.float16)
    # An annotation of either would say less.
    return half if (half == single).all() else single  # type: ignore[return-value]
