# SPDX-License-Identifier: GPL-3.0-or-later
"""Which vertices of an object are pinned, and which are drawn to goals."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.scene.channel import Channel
from ...core.scene.goals import Goals
from ..units import exact_float
from .captured import CaptureError
from .motion import Motion
from .surfaces import Points, group_weights
from .vertex_groups import find_group

#: From it on a weight pins; below it is that of a goal. What is painted as 1 may come out as less.
PIN_WEIGHT = 0.999


@dataclass(frozen=True)
class Pins:
    """The vertices of an object's pin group.

    Args:
        vertices: (P,) indices of those that have a weight.
        weights: (P,) in 0 … 1.
    """

    vertices: NDArray[np.int32]
    weights: Points

    @staticmethod
    def read(obj: bpy.types.Object) -> Pins:
        """
        Raises:
            CaptureError: when the group does not exist, is empty, or pins every vertex.
        """
        name = obj.supple.pin_group
        if not name:
            return Pins(np.empty(0, dtype=np.int32), np.empty(0))
        weights = group_weights(obj, find_group(obj, name, "pin"))
        vertices = np.flatnonzero(weights > 0.0).astype(np.int32)
        if len(vertices) == 0:
            raise CaptureError(
                f"{obj.name}: no vertex has a weight above 0 in the group {name!r} to pin; paint "
                "some, or clear the pin group."
            )
        pins = Pins(vertices, weights[vertices])
        if pins.is_hard.sum() == len(weights):
            raise CaptureError(
                f"{obj.name}: every vertex is pinned by the group {name!r}, so nothing can move; "
                "pin fewer, or paint weights below 1, which are goals."
            )
        return pins

    @property
    def is_hard(self) -> NDArray[np.bool_]:
        """(P,) whether a vertex is pinned."""
        hard: NDArray[np.bool_] = self.weights >= PIN_WEIGHT
        return hard

    def pinned(self) -> NDArray[np.int32] | None:
        """(Q,) indices of the vertices that are pinned; None for none."""
        return self.vertices[self.is_hard] if self.is_hard.any() else None

    def pin_path(self, motion: Motion, unit: float, is_placed: bool = False) -> Channel | None:
        """Of the (Q, 3) pinned vertices in metres; None when they stay where they are at rest.

        Args:
            motion: of all the vertices.
            unit: metres in a Blender unit.
            is_placed: whether they start elsewhere than at rest.
        """
        if not self.is_hard.any() or (motion.pins.is_constant and not is_placed):
            return None
        return motion.pins.mapped(lambda samples: unit * samples[:, self.is_hard])

    def goals(self, obj: bpy.types.Object, motion: Motion, unit: float) -> Goals | None:
        """Of the vertices that are not pinned; None without any."""
        is_soft = ~self.is_hard
        if not is_soft.any():
            return None
        return Goals(
            self.vertices[is_soft],
            motion.pins.mapped(lambda samples: unit * samples[:, is_soft]),
            self.weights[is_soft],
            exact_float(obj.supple.goal_frequency),
            exact_float(obj.supple.goal_damping),
        )
