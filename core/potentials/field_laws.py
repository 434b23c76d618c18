# SPDX-License-Identifier: GPL-3.0-or-later
"""What force fields do at points: the laws of Blender's particles, in its order of settings.

Source: what Blender 4.5 does to a particle of 1 kg, which ``tests/addon/capture`` compares; its
effector code says which of its settings go in where.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import torch
from torch import Tensor

from ..scene.force_fields import ForceField
from .field_flow import FieldFlow
from .field_noise import GradientNoise
from .field_shadow import FieldShadow

# In the unit of a field: nearer than this there is no direction.
_MIN_DISTANCE = 1e-6


@dataclass(frozen=True)
class Response:
    """The acceleration push − (rate + speed_rate |v|) v + v × spin at the velocity v.

    Args:
        push: (3, N) in m/s².
        rate: (N,) in 1/s.
        speed_rate: (N,) in 1/m.
        spin: (3, N) in rad/s; None is none.
    """

    push: Tensor
    rate: Tensor
    speed_rate: Tensor | None = None
    spin: Tensor | None = None

    def detached(self) -> Response:
        """Without autograd's tape."""
        parts = (self.push, self.rate, self.speed_rate, self.spin)
        return Response(*(None if part is None else part.detach() for part in parts))  # type: ignore[arg-type]

    def rates(self, velocities: Tensor) -> Tensor:
        """(N,) at which (3, N) velocities are taken away, in 1/s."""
        if self.speed_rate is None:
            return self.rate
        return self.rate + self.speed_rate * _length(velocities)

    def acceleration(self, velocities: Tensor) -> Tensor:
        """(3, N) in m/s², at (3, N) velocities in m/s."""
        found = self.push - self.rates(velocities) * velocities
        if self.spin is not None:
            found = found + torch.linalg.cross(velocities, self.spin, dim=0)
        return found


class Law(ABC):
    """How something answers to its parameters at points."""

    def begin_frame(  # noqa: B027 (most have nothing to take)
        self, parameters: Tensor, positions: Tensor, frame: int
    ) -> None:
        """Takes from (3, N) positions when a frame begins what is constant through it."""

    @abstractmethod
    def __call__(self, parameters: Tensor, positions: Tensor) -> Response:
        """
        Args:
            parameters: as the channel of the potential has them.
            positions: (3, N) in metres; each vertex by itself.
        """
        ...


class WindLaw(Law):
    """Of ``Wind``."""

    def __call__(self, parameters: Tensor, positions: Tensor) -> Response:
        velocity, drag = parameters[:3], parameters[3]
        still = torch.zeros_like(positions)
        return Response(still + (drag * velocity)[:, None], still[0] + drag)


class FieldLaw(Law):
    """Of a ``ForceField``.

    Args:
        template: of whose device and type positions will be.
        shadow: what of it arrives; None is all.
    """

    def __init__(
        self, field: ForceField, template: Tensor, shadow: FieldShadow | None = None
    ) -> None:
        self._field, self._noise, self._shadow = field, GradientNoise(template), shadow
        self._flow = None if field.grid is None else FieldFlow(field.grid, template)

    def begin_frame(self, parameters: Tensor, positions: Tensor, frame: int) -> None:
        if self._shadow is not None:
            away = _Place(self._field, parameters, positions).away
            self._shadow.cast(positions, positions - self._field.unit * away, frame)

    def __call__(self, parameters: Tensor, positions: Tensor) -> Response:
        field = self._field
        arriving = None if self._shadow is None else self._shadow.visibility
        at = _Place(field, parameters, positions, arriving)
        if self._flow is not None:
            found = _fluid_flow(at, *self._flow.at(parameters[_OWN_PARAMETERS:], positions))
        elif field.kind == "turbulence":
            found = _turbulence(at, self._noise)
        else:
            found = _KINDS[field.kind](at)
        rate = found.rate
        if field.kind not in {"harmonic", "drag", "fluid_flow"}:
            rate = rate + at.numbers.flow * at.falloff
        weight = at.numbers.weight
        return Response(
            field.unit * weight * found.push,
            weight * rate,
            None if found.speed_rate is None else weight / field.unit * found.speed_rate,
            None if found.spin is None else weight * found.spin,
        )


class _Numbers(NamedTuple):
    """Behind origin and axis, in the order of ``ForceField.parameters``."""

    strength: Tensor
    flow: Tensor
    damping: Tensor
    size: Tensor
    weight: Tensor
    power: Tensor
    min_distance: Tensor
    max_distance: Tensor
    radial_power: Tensor
    min_radius: Tensor
    max_radius: Tensor


# Of every kind; behind them come those of a grid.
_OWN_PARAMETERS = 6 + len(_Numbers._fields)


class _Place:
    """Where points are, as a field sees them, in its unit; and its numbers, as they are now.

    ``arriving`` is the (N,) share that absorbers let past; None is all.
    """

    def __init__(
        self,
        field: ForceField,
        parameters: Tensor,
        positions: Tensor,
        arriving: Tensor | None = None,
    ) -> None:
        self.field, self._arriving = field, arriving
        self.numbers = _Numbers(*parameters[6:_OWN_PARAMETERS].unbind())
        self.points = positions / field.unit
        axis = parameters[3:6, None]
        #: (3, 1), of length 1.
        self.axis = axis / torch.linalg.vector_norm(axis)
        #: (3, N) from the origin.
        self.from_origin = self.points - parameters[:3, None] / field.unit

    @cached_property
    def height(self) -> Tensor:
        """(N,) along the axis."""
        return (self.axis * self.from_origin).sum(0)

    @cached_property
    def from_axis(self) -> Tensor:
        """(3, N) from the nearest point of the axis."""
        return self.from_origin - self.height * self.axis

    @cached_property
    def away(self) -> Tensor:
        """(3, N) from the nearest point of the source."""
        if self.field.shape == "point":
            return self.from_origin
        # Around its axis a vortex has the same in planes as along lines.
        if self.field.shape == "line" or self.field.kind == "vortex":
            return self.from_axis
        return self.height * self.axis

    @cached_property
    def distance(self) -> Tensor:
        """(N,) from the source."""
        return _length(self.away)

    @cached_property
    def direction(self) -> Tensor:
        """(3, N) away from the source, of length 1."""
        return _unit(self.away)

    @cached_property
    def falloff(self) -> Tensor:
        """(N,) 0 … 1."""
        falloff, n = self.field.falloff, self.numbers
        along = self.distance if falloff.shape == "sphere" else self.height.abs()
        found = _weakened(along, n.power, n.min_distance, n.max_distance)
        if falloff.shape != "sphere":
            across = _length(self.from_axis)
            if falloff.shape == "cone":
                across = torch.rad2deg(torch.atan2(across, self.height))
            found = found * _weakened(across, n.radial_power, n.min_radius, n.max_radius)
        if falloff.side != "both":
            is_wrong = self.height < 0.0 if falloff.side == "positive" else self.height > 0.0
            found = torch.where(is_wrong, 0.0, found)
        return found if self._arriving is None else found * self._arriving

    @property
    def pull(self) -> Tensor:
        """(N,) the strength, weakened."""
        return self.numbers.strength * self.falloff

    @cached_property
    def reaches(self) -> Tensor:
        """(N,) 1 where the field acts at all, else 0."""
        return (self.falloff > 0.0).to(self.points)

    @property
    def still(self) -> Tensor:
        """(N,) zeros."""
        return torch.zeros_like(self.points[0])


def _weakened(distance: Tensor, power: Tensor, least: Tensor, most: Tensor) -> Tensor:
    found = (1.0 + (distance - least).clamp(min=0.0)) ** -power
    return torch.where(distance > most, 0.0, found)


def _length(vectors: Tensor) -> Tensor:
    """(N,) in a twentieth of the time of torch's own norm, and with a slope of 0 at 0."""
    return ((vectors * vectors).sum(0) + torch.finfo(vectors.dtype).tiny).sqrt()


def _unit(vectors: Tensor) -> Tensor:
    return vectors / _length(vectors).clamp(min=_MIN_DISTANCE)


# The kinds


def _force(at: _Place) -> Response:
    pull = at.pull
    if at.field.is_inverse_square:
        nearness = at.distance.clamp(min=_MIN_DISTANCE) ** -2
        pull = torch.where(at.distance > _MIN_DISTANCE, pull * nearness, 0.0)
    return Response(pull * at.direction, at.still)


def _wind(at: _Place) -> Response:
    return Response(at.pull * at.axis, at.still)


def _vortex(at: _Place) -> Response:
    if at.field.shape == "point":
        around = _unit(torch.linalg.cross(at.axis.expand_as(at.away), at.away, dim=0))
        return Response(at.pull * at.distance * around, at.still)
    # It leads velocities to those of a rotation, and pulls inwards as that needs.
    axis = at.axis.expand_as(at.from_origin)
    wanted = at.pull * torch.linalg.cross(axis, at.from_origin, dim=0)
    inwards = at.pull * torch.linalg.cross(axis, wanted, dim=0)
    return Response(wanted + inwards, at.reaches)


def _magnetic(at: _Place) -> Response:
    lines = at.axis.expand_as(at.away)
    if at.field.shape != "plane":
        lines = _unit(torch.linalg.cross(lines, at.away, dim=0))
    return Response(torch.zeros_like(at.away), at.still, spin=at.pull * lines)


def _harmonic(at: _Place) -> Response:
    stretched = at.away - at.numbers.size * at.direction
    rate = 2.0 * at.numbers.damping * at.numbers.strength.abs().sqrt()
    return Response(-at.pull * stretched, rate * at.reaches)


def _charge(at: _Place) -> Response:
    return Response(at.pull * at.away, at.still)


def _lennard_jones(at: _Place) -> Response:
    distance = at.distance.clamp(min=_MIN_DISTANCE)
    sixth = (at.numbers.size / distance) ** 6
    # Blender lets it repel so much at most.
    slope = (sixth * (sixth - 1.0) / distance).clamp(max=2.0)
    return Response(at.reaches * at.numbers.strength * slope * at.away, at.still)


def _turbulence(at: _Place, noise: GradientNoise) -> Response:
    points = at.points if at.field.is_global else at.from_origin + at.axis
    size = at.numbers.size
    return Response(at.pull * noise.vectors(points / torch.where(size > 0.0, size, 1.0)), at.still)


def _fluid_flow(at: _Place, velocities: Tensor, counted: Tensor) -> Response:
    taken = at.pull * counted
    return Response(taken * velocities / at.field.unit, at.numbers.flow * taken)


def _drag(at: _Place) -> Response:
    return Response(torch.zeros_like(at.away), at.numbers.damping * at.falloff, at.pull)


_KINDS: dict[str, Callable[[_Place], Response]] = {
    "force": _force,
    "wind": _wind,
    "vortex": _vortex,
    "magnetic": _magnetic,
    "harmonic": _harmonic,
    "charge": _charge,
    "lennard_jones": _lennard_jones,
    "drag": _drag,
}
