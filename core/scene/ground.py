# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe the fixed obstacles that bodies land on: the ground, and spheres."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ..tracked import tracks_tensors
from . import checks
from .checks import Vector
from .contact_settings import check_friction
from .schema import IF_THERE, check_kinds

ResponseChoice = Literal["barrier", "projection"]


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
        penalty: k in 1/s of the push ``k m |v|`` on a vertex below, for ``projection`` only.
        kinetic_friction: once something slides; None is the static one.
    """

    height: float = 0.0
    friction: float = 0.5
    restitution: float = 0.0
    response: ResponseChoice = "barrier"
    distance: float | None = None
    penalty: float = 0.0
    kinetic_friction: float | None = field(default=None, metadata={IF_THERE: True})

    def __post_init__(self) -> None:
        checks.finite(self.height, "Ground: the height")
        check_friction("Ground", self.friction, self.kinetic_friction)
        _check_bounce("Ground", self.restitution, self.penalty)
        checks.choice(self.response, ResponseChoice, "Ground: the response")
        if self.distance is not None:
            checks.above_zero(self.distance, "Ground: the distance", " m")


@dataclass(eq=False)
class Sphere:
    """A fixed solid sphere that bodies land on, in explicit steps.

    Args:
        center: in metres.
        radius: in metres.
        friction: static Coulomb coefficient.
        restitution: fraction of the normal speed kept at a bounce.
        penalty: k in 1/s of the push ``k m |v|`` on a vertex inside.
        name: the name in messages.
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
        check_kinds(self, "Sphere")
        self.center = checks.vector(self.center, f"{self.name}: the center")
        checks.above_zero(self.radius, f"{self.name}: the radius", " m")
        check_friction(self.name, self.friction, self.kinetic_friction)
        _check_bounce(self.name, self.restitution, self.penalty)


def _check_bounce(name: str, restitution: float, penalty: float) -> None:
    checks.share(restitution, f"{name}: restitution")
    checks.at_least_zero(penalty, f"{name}: the penalty", " per second")
