# SPDX-License-Identifier: GPL-3.0-or-later
"""The forces on a scene or a body: those of a few numbers, and force fields, as Blender's particles
feel them, wind, flows in a box, and absorbers of fields. No torch here.

The registry of ``potentials`` makes their energies.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..tracked import tracks_tensors
from . import channel, checks
from .channel import Channel
from .checks import Vector
from .schema import IF_THERE, check_kinds


class DescribedForce:
    """Base of the dataclasses that describe a force on all bodies of a scene."""


class BodyForce:
    """Base of the dataclasses that describe a force on one body, such as the pressure in it."""


@runtime_checkable
class CustomForce(Protocol):
    """A force of a script: anything that makes an energy of a scene as tensors."""

    def potential(self, system: Any) -> Any:
        """Return the ``Potential`` whose gradient, taken away, is the force; or several."""
        ...


Force = DescribedForce | CustomForce


@dataclass(frozen=True, eq=False)
class Accelerations(BodyForce):
    """Forces on single vertices, in proportion to their masses.

    Args:
        channel: of (N, 3) accelerations of the tet vertices of a body, in m/s².
    """

    channel: Channel


@dataclass(frozen=True, eq=False)
class Drag(BodyForce):
    """A force against all motion of a body, in proportion to its mass.

    Args:
        rate: channel of the rate in 1/s at which velocities decay.
        factors: on it, a number or (M,) one a tet.
    """

    rate: Channel
    factors: float | NDArray[np.float64] = 1.0


@dataclass(frozen=True)
class Pressure(BodyForce):
    """The pressure of the gas in a body's hollows; a body without gas counts as all gas.

    Args:
        pascal: above that around the body; below 0 it is sucked in.
    """

    pascal: Channel


@dataclass(frozen=True)
class TargetVolume(BodyForce):
    """The volume that the gas in a body swells or shrinks to, as far as its walls let it.

    Args:
        factors: on the volume that the gas has in the modelled shape.
        stiffness: in Pa, of the pressure for each whole of that volume that is missing.
    """

    factors: Channel
    stiffness: float


@dataclass(frozen=True)
class Fluid(DescribedForce):
    """A still fluid below a level, everywhere. Its buoyancy acts on the volume of the bodies'
    material, as if hollows were full of fluid, and its drag slows them.

    Args:
        level: z of its surface in metres.
        density: in kg/m³.
        drag: the drag coefficient, that of a body which faces the flow with a quarter of its
            surface, as convex ones do in the mean.
        damping: rate in 1/s at which velocities in it decay besides.
    """

    level: float = 0.0
    density: float = 1000.0
    drag: float = 1.0
    damping: float = 0.5

    def __post_init__(self) -> None:
        checks.finite(self.level, "Fluid: the level")
        checks.above_zero(self.density, "Fluid: the density in kg/m³")
        checks.at_least_zero(self.drag, "Fluid: the drag coefficient")
        checks.at_least_zero(self.damping, "Fluid: the damping per second")


Number = Channel | float


@dataclass(eq=False)
class VelocityGrid:
    """A grid of velocities in a box, at the start and after each frame, and linear in between.

    Args:
        velocities: (T, Z, Y, X, 3) at the centres of cells, along the axes of the box, or
            (Z, Y, X, 3) where they stay; kept in half precision where that loses nothing, else in
            single.
        matrix: (3, 4) from the box to the world in metres, which may move. The transformation of
            the axes may skew them, too; a velocity keeps its magnitude.
        start: corner of the first cell, in the box.
        cell: three sides of a cell, in the box.
        speed: the unit of ``velocities`` in m/s.
        density: (T, Z, Y, X), or (Z, Y, X), by which the flow counts; None is 1.
        name: the name in messages.

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
    """Blender's caches hold numbers of half precision unless their settings say otherwise."""
    single = np.ascontiguousarray(array, dtype=np.float32)
    with np.errstate(over="ignore"):
        half = single.astype(np.float16)
    # An annotation of either would say less.
    return half if (half == single).all() else single  # type: ignore[return-value]


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

#: The numbers of a field that may change over time, in the order of ``ForceField.parameters``
#: after origin and axis; of the falloff, as that names them.
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
    """The decay of a field away from its source: a factor of (1 + d − d_min)^−power beyond the
    distance d_min, and zero beyond d_max.

    Args:
        shape: ``sphere`` goes by the distance from the source. ``tube`` goes by the height along
            the axis, and by the distance from the axis in the same way. ``cone`` goes by the angle
            from the axis in place of that distance.
        power: ≥ 0 of the distance, or of the height.
        min_distance, max_distance: d_min and d_max; None is without end.
        radial_power, min_radius, max_radius: the same for the distance from the axis of a tube, or
            for the angle of a cone in degrees.
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
    """An acceleration that depends on position and velocity, but not on mass.

    It is the effect of Blender's field on a particle with a mass of 1 kg and a charge of 1.
    ``docs/physics.md`` has the formula of each kind.

    Args:
        kind: the law.
        strength: S of the law.
        origin: of the field in metres.
        axis: any length but zero; Blender's fields have their local Z there.
        shape: of the source: the origin, the line along the axis or the plane across it.
        flow: rate in 1/s at which velocities are taken away, where the falloff is 1, but by
            harmonic fields and drag; for a fluid flow times S, so that 1 leads to the velocity of
            the flow.
        damping: of harmonic fields, 1 is critical; of drag the part that is linear in the speed,
            in 1/s.
        size: of turbulence the scale, of harmonic fields the length at rest, of Lennard-Jones ones
            the distance at which repulsion turns to attraction.
        falloff: the decay away from its source.
        is_inverse_square: whether the kind ``force`` weakens by 1/d² as well.
        is_global: whether turbulence stays in the world where the field moves.
        weight: a factor on the whole effect.
        unit: the length of 1 in ``strength``, ``size`` and the falloff, in metres.
        name: the name in messages.
        is_absorbed: whether the absorbers of the scene shade bodies from it.
        grid: the flow, for the kind ``fluid_flow`` only.

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
        """Return the (17,) parameters: the origin, the axis, and the numbers in their order; for
        a fluid flow then the matrix, the speed and the time of its grid in frames."""
        numbers = [getattr(self, name) for name in OWN_NUMBERS]
        falloff = [getattr(self.falloff, name) for name in FALLOFF_NUMBERS]
        endless = [_ENDLESS_DISTANCE if value is None else value for value in falloff]
        grid, moving = self.grid, []
        if grid is not None:
            frames = np.arange(len(grid.velocities), dtype=float)
            moving = [grid.matrix, grid.speed, Channel(frames)]
        return _row([self.origin, self.axis, *numbers, *endless, *moving])


@tracks_tensors
@dataclass(eq=False)
class Wind(DescribedForce):
    """Moving air that drags bodies along: the acceleration ``drag`` (w − v) at the velocity v.

    A falling body reaches the velocity w + g / drag.

    Args:
        velocity: w in m/s.
        drag: in 1/s, ≥ 0.
        name: the name in messages.

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
        """Return the (4,) parameters: the velocity and the drag."""
        return _row([self.velocity, self.drag])


def _row(values: list[Channel | Vector | float]) -> Channel:
    """Vectors and numbers one behind the other."""
    return Channel.side_by_side([_flat(value) for value in values])


def _flat(value: Channel | Vector | float) -> Channel:
    """Return (n,) numbers of a vector or a matrix, (1,) of a number."""
    values = value if isinstance(value, Channel) else Channel.constant(value)
    return values.mapped(lambda samples: samples.reshape(len(samples), -1))


@tracks_tensors
@dataclass(eq=False)
class Absorber:
    """A mesh that shades bodies from force fields, as Blender's colliders do.

    It shades those fields alone that are absorbed, and not one of its own name.

    Args:
        vertices: channel of the (V, 3) positions in metres; (V, 3) where it stands still, or
            (T, V, 3) samples, become one.
        triangles: (F, 3) vertex indices; they need not be closed.
        absorption: the absorbed part of a field, from 0 to 1.
        name: the name in messages.

    Raises:
        SceneError: when a setting is out of its range.
    """

    vertices: Channel
    triangles: NDArray[np.int32]
    absorption: Channel | float = 1.0
    name: str = "Absorber"

    def __post_init__(self) -> None:
        check_kinds(self, "Absorber")
        self.vertices = Channel.of(self.vertices, f"{self.name}: the vertices", None, 3)
        self.triangles = checks.triangles(self.triangles, len(self.vertices.at(0)), self.name)
        what = f"{self.name}: the absorption"
        self.absorption = channel.number(self.absorption, what, least=0.0)
        most = Channel.of(self.absorption, what).samples.max()
        if most > 1.0:
            raise SceneError(f"{what} must be 1 or less, not {most:g}.")
