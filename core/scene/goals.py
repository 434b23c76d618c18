# SPDX-License-Identifier: GPL-3.0-or-later
"""Goals: targets to which springs pull points of a body. No torch here."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..tracked import tracks_tensors
from . import checks
from .channel import Channel
from .forces import BodyForce
from .schema import IF_THERE, check_kinds


@tracks_tensors
@dataclass(eq=False)
class Goals(BodyForce):
    """Springs from points of a body to targets, each with a dashpot beside it.

    With the mass m of a point, its weight w and ω = 2π frequency, the spring has the stiffness k =
    w m ω² in N/m and the dashpot c = 2 damping_ratio √(k m) in N s/m. It resists the motion
    relative to the target, so that a body which moves with its targets is not slowed. The masses
    of the points sum to that of the body: with weights of 1 all over, a stiff body swings about
    its targets as a whole with the frequency, and gravity g pulls it g/ω² below them. If goals of
    a skin are sag-free, each tet vertex has the dashpots of the points near it, per mass, against
    the motion relative to the pose, so that parts between points come to rest with them.

    Args:
        vertices: (P,) indices of tet vertices, or of points where they are the goals of a skin.
        targets: channel of (P, 3) positions in metres, or its (T, P, 3) samples.
        weights: (P,) in 0 … 1, or one for all.
        frequency: in Hz.
        damping_ratio: 0 keeps swinging, 1 is critical, for any weight.
        sag_free: whether the body is at rest where goals and pins have it: its tets take their
            rest shape from there at any time, and its weight is borne. Only acceleration then
            moves it away from them.
        falloff_depth: of the goals of a skin that are ``sag_free``: the depth below the surface,
            in units of the greatest in the body, from which on the inside is held where the
            animation has it, above 0 and up to 1. From the surface to there springs stiffen
            smoothly. None leaves the inside to follow the surface.
    """

    vertices: NDArray[np.int32]
    targets: Channel
    weights: NDArray[np.float64] | float = 1.0
    frequency: float = 4.0
    damping_ratio: float = 0.2
    sag_free: bool = field(default=False, metadata={IF_THERE: True})
    falloff_depth: float | None = field(default=None, metadata={IF_THERE: True})

    def __post_init__(self) -> None:
        self.vertices = checks.whole_numbers(self.vertices, "A vertex with a goal").ravel()
        count = len(self.vertices)
        if count == 0:
            raise SceneError("Goals need a vertex; name some, or leave them out.")
        self.targets = Channel.of(self.targets, "The targets of goals", count, 3)
        weights = checks.numbers(self.weights, "The weights of goals")
        if weights.shape not in ((), (1,), (count,)):
            raise SceneError(
                f"The weights of goals have the shape {weights.shape}, but there are {count} "
                "vertices; give one number, or one a vertex."
            )
        weights = np.broadcast_to(weights, count).copy()
        if not ((weights >= 0.0) & (weights <= 1.0)).all():
            raise SceneError("The weights of goals must be numbers from 0 to 1.")
        self.weights = weights
        check_kinds(self, "Goals")
        checks.above_zero(self.frequency, "The frequency of goals")
        checks.at_least_zero(self.damping_ratio, "The damping ratio of goals")
        if self.falloff_depth is not None:
            self._check_falloff(self.falloff_depth)

    def check(self, count: int, name: str) -> None:
        """Check the vertices of the goals.

        Raises:
            SceneError: when one is of a point beyond ``count``, or a point has two.
        """
        checks.indices(self.vertices, count, f"{name}: a vertex with a goal")

    def _check_falloff(self, falloff: float) -> None:
        depth = checks.number(falloff, "The depth to which goals fall off")
        if not 0.0 < depth <= 1.0:
            raise SceneError(
                "The depth to which goals fall off is a share of the greatest depth of the body, "
                f"above 0 and up to 1, not {depth:g}."
            )
        if not self.sag_free:
            raise SceneError(
                "Only sag-free goals can fall off with the depth, since other goals do not place "
                "the inside."
            )


@dataclass(frozen=True, eq=False)
class GoalDampers(BodyForce):
    """The dashpots of goals."""

    goals: Goals


@dataclass(frozen=True, eq=False)
class Support(BodyForce):
    """The force that bears the weight of a body with an animated pose."""
