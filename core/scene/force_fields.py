# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields, as Blender's particles feel them, and wind. No torch here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from ..errors import SceneError
from ..tracked import tracks_tensors
from . import channel, checks
from .channel import Channel
from .checks import Vector
from .forces import DescribedForce
from .schema import IF_THERE, check_kinds
from .velocity_grid import VelocityGrid

Number = Channel | float
FieldKind = Literal[
    "force",
    "wind",
    "vortex",
    "magnetic",
    "harmonic",
    "charge",
    "lennard_jones",
    "turbulence",
    "drag",
    "fluid_flow",
]
FieldShape = Literal["point", "line", "plane"]
FalloffShape = Literal["sphere", "tube", "cone"]
FieldSide = Literal["both", "positive", "negative"]

#: What of a field may change over time, one number each, as ``ForceField.parameters`` has them
#: behind origin and axis; of the falloff, as that names them.
OWN_NUMBERS = ("strength", "flow", "damping", "size", "weight")
FALLOFF_NUMBERS = (
    "power",
    "min_distance",
    "max_distance",
    "radial_power",
    "min_radius",
    "max_radius",
)


# In the unit of a field: farther than anything.
_ENDLESS_DISTANCE = 1e30


@dataclass(eq=False)
class Falloff:
    """How a field weakens away from its source: by (1 + d − d_min)^−power beyond a distance d_min,
    to nothing beyond d_max.

    Args:
        shape: ``sphere`` goes by the distance from the source. ``tube`` goes by the height along
            the axis, and by the distance from the axis in the same way. ``cone`` goes by the angle
            from the axis in place of that distance.
        power: ≥ 0 of the distance, or of the height.
        min_distance, max_distance: d_min and d_max; None is without end.
        radial_power, min_radius, max_radius: the same of the distance from the axis of a tube; in
            degrees of a cone.
        side: of the plane through the origin that the field acts on.
    """

    shape: FalloffShape = "sphere"
    power: Number = 0.0
    min_distance: Number = 0.0
    max_distance: Number | None = None
    radial_power: Number = 0.0
    min_radius: Number = 0.0
    max_radius: Number | None = None
    side: FieldSide = "both"

    def __post_init__(self) -> None:
        checks.choice(self.shape, FalloffShape, "The shape of a falloff")
        checks.choice(self.side, FieldSide, "The side of a falloff")
        for name in FALLOFF_NUMBERS:
            value = getattr(self, name)
            if value is not None:
                what = f"{name} of a falloff"
                setattr(self, name, channel.number(value, what, least=0.0))


@tracks_tensors
@dataclass(eq=False)
class ForceField(DescribedForce):
    """An acceleration that goes by place and velocity, the same for all that has mass.

    It is what the field of Blender does to a particle of 1 kg, charge 1. ``docs/physics.md`` has
    the formula of each kind.

    Args:
        kind: the law.
        strength: S of the law.
        origin: of the field in metres.
        axis: any length but zero; Blender's fields have their local Z there.
        shape: of the source: the origin, the line along the axis or the plane across it.
        flow: rate in 1/s at which velocities are taken away, where the falloff is 1, but by
            harmonic fields and drag; of a fluid flow times S, so that 1 leads to what flows.
        damping: of harmonic fields, 1 is critical; of drag the part that is linear in the speed,
            in 1/s.
        size: of turbulence the scale, of harmonic fields the length at rest, of Lennard-Jones ones
            the distance at which repulsion turns to attraction.
        falloff: how it weakens away from its source.
        is_inverse_square: whether the kind ``force`` weakens by 1/d² as well.
        is_global: whether turbulence stays in the world where the field moves.
        weight: what counts of all it does.
        unit: how many metres are 1 in ``strength``, ``size`` and the falloff.
        name: what messages call it.
        is_absorbed: whether the absorbers of the scene shade bodies from it.
        grid: what flows, of the kind ``fluid_flow`` alone.

    Raises:
        SceneError: when a setting is out of its range.
    """

    kind: FieldKind
    strength: Number = 1.0
    origin: Channel | Vector = (0.0, 0.0, 0.0)
    axis: Channel | Vector = (0.0, 0.0, 1.0)
    shape: FieldShape = "point"
    flow: Number = 0.0
    damping: Number = 0.0
    size: Number = 0.0
    falloff: Falloff = field(default_factory=Falloff)
    is_inverse_square: bool = False
    is_global: bool = False
    weight: Number = 1.0
    unit: float = 1.0
    name: str = "Force field"
    is_absorbed: bool = field(default=False, metadata={IF_THERE: True})
    grid: VelocityGrid | None = field(default=None, metadata={IF_THERE: True})

    def __post_init__(self) -> None:
        check_kinds(self, "Force field")
        checks.choice(self.kind, FieldKind, f"{self.name}: the kind")
        checks.choice(self.shape, FieldShape, f"{self.name}: the shape")
        checks.above_zero(self.unit, f"{self.name}: the unit")
        for name in OWN_NUMBERS:
            least = 0.0 if name in {"size", "weight"} else None
            what = f"{self.name}: the {name}"
            setattr(self, name, channel.number(getattr(self, name), what, least))
        self.origin = channel.vector(self.origin, f"{self.name}: the origin")
        self.axis = channel.vector(self.axis, f"{self.name}: the axis")
        if (np.linalg.norm(_flat(self.axis).samples, axis=1) == 0.0).any():
            raise SceneError(f"{self.name}: the axis has no length, and so no direction.")
        if self.kind == "lennard_jones" and _flat(self.size).samples.min() == 0.0:
            raise SceneError(
                f"{self.name}: Lennard-Jones needs a size above 0, at which it neither attracts "
                "nor repels."
            )
        if (self.kind == "fluid_flow") != (self.grid is not None):
            raise SceneError(
                f"{self.name}: a grid of velocities belongs to a fluid flow, and to no other kind."
            )

    @property
    def parameters(self) -> Channel:
        """(17,) of the origin, the axis, and the numbers in their order; of a fluid flow then the
        matrix, the speed and the time of its grid in frames."""
        own = [getattr(self, name) for name in OWN_NUMBERS]
        falloff = [getattr(self.falloff, name) for name in FALLOFF_NUMBERS]
        endless = [_ENDLESS_DISTANCE if value is None else value for value in falloff]
        grid, moving = self.grid, []
        if grid is not None:
            frames = np.arange(len(grid.velocities), dtype=float)
            moving = [grid.matrix, grid.speed, Channel(frames)]
        return _row([self.origin, self.axis, *own, *endless, *moving])


@tracks_tensors
@dataclass(eq=False)
class Wind(DescribedForce):
    """Air that takes along what has mass: the acceleration ``drag`` (w − v) at the velocity v.

    What falls through it ends at the speed w + g / drag.

    Args:
        velocity: w in m/s.
        drag: in 1/s, ≥ 0.
        name: what messages call it.

    Raises:
        SceneError: when a setting is out of its range.
    """

    velocity: Channel | Vector
    drag: Number = 1.0
    name: str = "Wind"

    def __post_init__(self) -> None:
        check_kinds(self, "Wind")
        self.velocity = channel.vector(self.velocity, f"{self.name}: the velocity")
        self.drag = channel.number(self.drag, f"{self.name}: the drag", least=0.0)

    @property
    def parameters(self) -> Channel:
        """(4,) of the velocity and the drag."""
        return _row([self.velocity, self.drag])


def _row(values: list[Channel | Vector | float]) -> Channel:
    """Vectors and numbers one behind the other."""
    return Channel.side_by_side([_flat(value) for value in values])


def _flat(value: Channel | Vector | float) -> Channel:
    """(n,) of a vector or a matrix, (1,) of a number."""
    values = value if isinstance(value, Channel) else Channel.constant(value)
    return values.mapped(lambda samples: samples.reshape(len(samples), -1))
