# SPDX-License-Identifier: GPL-3.0-or-later
"""The pinned vertices of an object, and the vertices that are drawn to goals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.scene.channel import Channel
from ...core.scene.goals import Goals
from ..units import exact_float
from .captured import CaptureError
from .motion import Motion
from .paint import find_group
from .surfaces import Points, group_weights

#: Lower weights are goals. A weight painted as 1 may be read as slightly less.
PIN_WEIGHT = 0.999
#: The jiggle weight up to which a vertex is fixed. The goal weight of a jiggling vertex is this
#: over its jiggle weight, and so this at a weight of 1.
HELD_WEIGHT = 0.02
# The ratio of a wobble that is left after its duration.
_LEFT_RATIO = 0.05


@dataclass(frozen=True)
class Pins:
    """The vertices of an object's pin group, or all where it jiggles.

    Args:
        vertices: (P,) indices of those that have a weight.
        weights: (P,) in 0 … 1.
        frequency, damping_ratio, sag_free, falloff_depth: of the goals, as ``Goals`` has them.
    """

    vertices: NDArray[np.int32]
    weights: Points
    frequency: float = Goals.frequency
    damping_ratio: float = Goals.damping_ratio
    sag_free: bool = False
    falloff_depth: float | None = None

    @staticmethod
    def read(obj: bpy.types.Object) -> Pins:
        """Read the pins of an object from its vertex group.

        Raises:
            CaptureError: when the group does not exist, is empty, or pins every vertex.
        """
        if obj.supple.jiggle_group:
            return _jiggle_pins(obj)
        name = obj.supple.pin_group
        if not name:
            return Pins(np.empty(0, dtype=np.int32), np.empty(0))
        weights = group_weights(obj, find_group(obj, name, "pin"))
        vertices = np.flatnonzero(weights > 0.0).astype(np.int32)
        if len(vertices) == 0:
            raise CaptureError(
                f"{obj.name}: no vertex has a weight above 0 in the group {name!r} to pin. "
                "Paint some weights, or clear the Pin Group."
            )
        pins = Pins(
            vertices,
            weights[vertices],
            exact_float(obj.supple.goal_frequency),
            exact_float(obj.supple.goal_damping),
        )
        if pins.is_hard.sum() == len(weights):
            raise CaptureError(
                f"{obj.name}: the group {name!r} pins every vertex, so that nothing can move. "
                "Pin fewer vertices, or paint weights below 1."
            )
        return pins

    @property
    def is_hard(self) -> NDArray[np.bool_]:
        """(P,) whether a vertex is pinned."""
        return self.weights >= PIN_WEIGHT

    def pinned(self) -> NDArray[np.int32] | None:
        """(Q,) indices of the vertices that are pinned; None for none."""
        return self.vertices[self.is_hard] if self.is_hard.any() else None

    def pin_path(self, motion: Motion, unit: float, is_placed: bool = False) -> Channel | None:
        """The path of the (Q, 3) pinned vertices in metres; None when they stay at rest.

        Args:
            motion: of all the vertices.
            unit: metres in a Blender unit.
            is_placed: whether they start elsewhere than at rest.
        """
        if not self.is_hard.any() or (motion.pins.is_constant and not is_placed):
            return None
        return motion.pins.mapped(lambda samples: unit * samples[:, self.is_hard])

    def goals(self, motion: Motion, unit: float) -> Goals | None:
        """The goals of vertices that are not pinned; None without any."""
        is_soft = ~self.is_hard
        if not is_soft.any():
            return None
        return Goals(
            self.vertices[is_soft],
            motion.pins.mapped(lambda samples: unit * samples[:, is_soft]),
            self.weights[is_soft],
            self.frequency,
            self.damping_ratio,
            self.sag_free,
            self.falloff_depth,
        )


def _jiggle_pins(obj: bpy.types.Object) -> Pins:
    """Pin all vertices. Half the weight in the group makes the pin of a vertex twice as stiff."""
    props = obj.supple
    group = find_group(obj, props.jiggle_group, "jiggle")
    wobbles = exact_float(props.jiggle_amount) * np.clip(group_weights(obj, group), 0.0, 1.0)
    if props.pin_group:
        pins = group_weights(obj, find_group(obj, props.pin_group, "pin"))
        wobbles[pins >= PIN_WEIGHT] = 0.0
    if not (wobbles > HELD_WEIGHT).any():
        raise CaptureError(
            f"{obj.name}: no vertex of the group {group.name!r} jiggles. Paint weights up to "
            "1, raise Amount, or clear Group under Jiggle."
        )
    speed, duration = exact_float(props.jiggle_speed), exact_float(props.jiggle_duration)
    return Pins(
        np.arange(len(wobbles), dtype=np.int32),
        HELD_WEIGHT / np.maximum(wobbles, HELD_WEIGHT),
        speed / math.sqrt(HELD_WEIGHT),
        -math.log(_LEFT_RATIO) / (2.0 * math.pi * speed * duration),
        sag_free=True,
        falloff_depth=exact_float(props.jiggle_depth) or None,
    )
