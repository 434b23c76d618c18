# SPDX-License-Identifier: GPL-3.0-or-later
"""What stands still for bodies to land on: the ground, and spheres."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from ..errors import SceneError
from ..tracked import tracks_tensors
from . import checks
from .checks import Vector
from .contact_settings import check_friction
from .schema import IF_THERE


@tracks_tensors
@dataclass(eq=False)
class Ground:
    """A horizontal half-space, z below ``height``.

    Args:
        height: in metres.
        friction: static Coulomb coefficient; that of two surfaces is the mean of theirs (see
            ``FrictionTable``).
        restitution: fraction of the normal speed kept at a bounce, for ``projection`` only.
        response: ``barrier`` keeps every vertex strictly above by a smooth energy,
            ``projection`` puts those that fell below back on the plane.
        distance: at which the barrier begins to push, in metres; None is a thousandth of each
            body's own diagonal.
        penalty: k in 1/s of the push k m |v| on a vertex below, for ``projection`` only.
        kinetic_friction: once something slides; None is the static one.
    """

    height: float = 0.0
    friction: float = 0.5
    restitution: float = 0.0
    response: Literal["barrier", "projection"] = "barrier"
    distance: float | None = None
    penalty: float = 0.0
    kinetic_friction: float | None = field(default=None, metadata={IF_THERE: True})

    def __post_init__(self) -> None:
        if not math.isfinite(self.height):
            raise SceneError(f"Ground: the height must be a finite number, not {self.height}.")
        check_friction("Ground", self.friction, self.kinetic_friction)
        _check_bounce("Ground", self.restitution, self.penalty)
        if self.response not in ("barrier", "projection"):
            raise SceneError(f"Ground: there is no response {self.response!r}.")
        if self.distance is not None and not self.distance > 0.0:
            raise SceneError(f"Ground: the distance must be above 0 m, not {self.distance:g}.")


@dataclass(eq=False)
class Sphere:
    """A fixed solid sphere that bodies land on, in explicit steps.

    Args:
        center: in metres.
        radius: in metres.
        friction: static Coulomb coefficient.
        restitution: fraction of the normal speed kept at a bounce.
        penalty: k in 1/s of the push k m |v| on a vertex inside.
        name: what messages call it.
        kinetic_friction: once something slides; None is the static one.
    """

    center: Vector
    radius: float
    friction: float = 0.5
    restitution: float = 0.0
    penalty: float = 0.0
    name: str = "Sphere"
    kinetic_friction: float | None = field(default=None, metadata={IF_THERE: True})

    def __post_init__(self) -> None:
        self.center = checks.vector(self.center, f"{self.name}: the center")
        if not (math.isfinite(self.radius) and self.radius > 0.0):
            raise SceneError(f"{self.name}: the radius must be above 0 m, not {self.radius:g}.")
        check_friction(self.name, self.friction, self.kinetic_friction)
        _check_bounce(self.name, self.restitution, self.penalty)


def _check_bounce(name: str, restitution: float, penalty: float) -> None:
    if not 0.0 <= restitution <= 1.0:
        raise SceneError(f"{name}: restitution must be 0 … 1, not {restitution:g}.")
    if not (math.isfinite(penalty) and penalty >= 0.0):
        raise SceneError(f"{name}: the penalty must be 0 or more per second, not {penalty:g}.")
