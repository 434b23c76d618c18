# SPDX-License-Identifier: GPL-3.0-or-later
"""The acceleration of force fields at one point, and loops over points.

Source: the forces of Blender 4.5 on a particle of 1 kg, compared in ``tests/addon/capture``; its
effector code shows the use of each setting.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..compiled import as_index, compiled, shared_range
from ..math3.elementwise import angle, at_least, at_most, choose, root
from ..math3.vectors import advanced, cross, dot, minus, plus, scaled
from .force_fields import octaves

KINDS = (
    *("force", "wind", "vortex", "magnetic", "harmonic"),
    *("charge", "lennard_jones", "turbulence", "drag", "fluid_flow"),
)
FORCE, WIND, VORTEX, MAGNETIC, HARMONIC = range(5)
CHARGE, LENNARD_JONES, TURBULENCE, DRAG, FLUID_FLOW = range(5, 10)
SHAPES = ("point", "line", "plane")
POINT, LINE, PLANE = range(len(SHAPES))
FALLOFFS = ("sphere", "tube", "cone")
SPHERE, TUBE, CONE = range(len(FALLOFFS))
SIDES = ("both", "positive", "negative")
BOTH, POSITIVE, NEGATIVE = range(len(SIDES))
# In the unit of a field: nearer than this there is no direction.
MIN_DISTANCE = 1e-6
# Added to the square of a length, which then has a slope of 0 at 0, in single precision too.
LEAST_SQUARE = 1.2e-38
# The largest repulsion of Lennard-Jones fields in Blender.
MAX_REPULSION = 2.0
DEGREES = 180.0 / math.pi
#: The rows of a response: push, rate, speed rate, spin. Drag alone has a speed rate, and magnetic
#: fields alone a spin.
ROWS, DRAG_ROWS, PLAIN_ROWS = 8, 5, 4


class FieldType(NamedTuple):
    """The settings of a field that never change, as indices into the names above.

    Args:
        kind: its law.
        shape: of the source.
        falloff: the shape of its falloff.
        side: of the plane through the origin that it acts on.
        is_inverse_square: whether the kind ``force`` weakens by 1/d² as well.
        is_global: whether turbulence stays in the world.
        unit: its unit of length, in metres.
    """

    kind: int
    shape: int
    falloff: int
    side: int
    is_inverse_square: bool
    is_global: bool
    unit: float


class FieldNumbers(NamedTuple):
    """Behind origin and axis, in the order of ``ForceField.parameters``."""

    strength: Any
    flow: Any
    damping: Any
    size: Any
    weight: Any
    power: Any
    min_distance: Any
    max_distance: Any
    radial_power: Any
    min_radius: Any
    max_radius: Any


@compiled()
def field_response(
    field: Any, numbers: Any, origin: Any, axis: Any, point: Any, arriving: Any, sample: Any
) -> Any:
    """Return the push in m/s², the rate in 1/s, the speed rate in 1/m and the spin in rad/s at a
    point; ``Response`` says what these are.

    Args:
        field: ``FieldType``.
        numbers: ``FieldNumbers``.
        origin: of the field, in metres.
        axis: of the field, of length 1.
        point: in metres.
        arriving: the share that absorbers let past.
        sample: of turbulence its three components, −1 … 1, and of a fluid flow the velocity in m/s
            and its weight; four numbers.
    """
    from_origin = _from_origin(field, origin, point)
    away = _away(field, axis, from_origin)
    distance = _length(away)
    falloff = arriving * _falloff(field, numbers, axis, from_origin, distance)
    push, rate, speed_rate, spin = _response(
        field, numbers, axis, from_origin, away, distance, falloff, sample
    )
    if field.kind != HARMONIC and field.kind != DRAG and field.kind != FLUID_FLOW:
        rate = rate + numbers.flow * falloff
    weight = numbers.weight
    push, spin = scaled(field.unit * weight, push), scaled(weight, spin)
    return push, weight * rate, weight / field.unit * speed_rate, spin


@compiled()
def away_from_source(field: Any, origin: Any, axis: Any, point: Any) -> Any:
    """Return the vector from the nearest point of the source to a point, in the field's unit;
    arguments as ``field_response`` has them."""
    return _away(field, axis, _from_origin(field, origin, point))


@compiled()
def turbulence_place(field: Any, size: Any, origin: Any, axis: Any, point: Any) -> Any:
    """Return the place in the noise that a point has, 1 its longest wavelength; other arguments as
    ``field_response`` has them."""
    place = scaled(1.0 / field.unit, point)
    if not field.is_global:
        place = plus(_from_origin(field, origin, point), axis)
    return scaled(1.0 / choose(size > 0.0, size, 1.0), place)


@compiled()
def _from_origin(field: Any, origin: Any, point: Any) -> Any:
    """Return the vector from the origin to a point, in the field's unit."""
    return scaled(1.0 / field.unit, minus(point, origin))


@compiled()
def _from_axis(axis: Any, from_origin: Any) -> Any:
    """Return the vector from the nearest point of the axis."""
    return advanced(from_origin, -dot(axis, from_origin), axis)


@compiled()
def _away(field: Any, axis: Any, from_origin: Any) -> Any:
    """Return the vector from the nearest point of the source."""
    if field.shape == POINT:
        return from_origin
    # Around its axis a vortex has the same in planes as along lines.
    if field.shape == LINE or field.kind == VORTEX:
        return _from_axis(axis, from_origin)
    return scaled(dot(axis, from_origin), axis)


@compiled()
def _falloff(field: Any, numbers: Any, axis: Any, from_origin: Any, distance: Any) -> Any:
    """Return the part of the field that is left at a place, 0 … 1."""
    height = dot(axis, from_origin)
    along = distance if field.falloff == SPHERE else abs(height)
    factor = _weakened(along, numbers.power, numbers.min_distance, numbers.max_distance)
    if field.falloff != SPHERE:
        across = _length(_from_axis(axis, from_origin))
        if field.falloff == CONE:
            across = DEGREES * angle(across, height)
        least, most = numbers.min_radius, numbers.max_radius
        factor = factor * _weakened(across, numbers.radial_power, least, most)
    if field.side == POSITIVE:
        factor = choose(height < 0.0, 0.0, factor)
    if field.side == NEGATIVE:
        factor = choose(height > 0.0, 0.0, factor)
    return factor


@compiled()
def _weakened(distance: Any, power: Any, least: Any, most: Any) -> Any:
    factor = (1.0 + at_least(distance - least, 0.0)) ** -power
    return choose(distance > most, 0.0, factor)


@compiled()
def _length(vector: Any) -> Any:
    return root(dot(vector, vector) + LEAST_SQUARE)


@compiled()
def _unit(vector: Any) -> Any:
    return scaled(1.0 / at_least(_length(vector), MIN_DISTANCE), vector)


@compiled()
def _response(
    field: Any,
    numbers: Any,
    axis: Any,
    from_origin: Any,
    away: Any,
    distance: Any,
    falloff: Any,
    sample: Any,
) -> Any:
    """Return push, rate, speed rate and spin in the unit of the field."""
    strength, pull, none = numbers.strength, numbers.strength * falloff, 0.0 * falloff
    still = (none, none, none)
    if field.kind == WIND:
        return scaled(pull, axis), none, none, still
    if field.kind == CHARGE:
        return scaled(pull, away), none, none, still
    if field.kind == TURBULENCE:
        return scaled(pull, (sample[0], sample[1], sample[2])), none, none, still
    if field.kind == FLUID_FLOW:
        taken = pull * sample[3]
        push = scaled(taken / field.unit, (sample[0], sample[1], sample[2]))
        return push, numbers.flow * taken, none, still
    if field.kind == DRAG:
        return still, numbers.damping * falloff, pull, still
    if field.kind == MAGNETIC:
        if field.shape == PLANE:
            return still, none, none, scaled(pull, axis)
        return still, none, none, scaled(pull, _unit(cross(axis, away)))
    if field.kind == VORTEX and field.shape == POINT:
        return scaled(pull * distance, _unit(cross(axis, away))), none, none, still
    if field.kind == FORCE:
        if field.is_inverse_square:
            nearness = 1.0 / at_least(distance, MIN_DISTANCE)
            pull = choose(distance > MIN_DISTANCE, pull * nearness * nearness, 0.0)
        return scaled(pull, _unit(away)), none, none, still
    reaches = choose(falloff > 0.0, none + 1.0, none)
    if field.kind == VORTEX:
        # It drives velocities to those of a rotation, and adds the centripetal acceleration.
        target = scaled(pull, cross(axis, from_origin))
        return plus(target, scaled(pull, cross(axis, target))), reaches, none, still
    if field.kind == HARMONIC:
        rate = 2.0 * numbers.damping * root(abs(strength))
        stretched = advanced(away, -numbers.size, _unit(away))
        return scaled(-pull, stretched), rate * reaches, none, still
    near = at_least(distance, MIN_DISTANCE)
    sixth = (numbers.size / near) ** 6
    slope = at_most(sixth * (sixth - 1.0) / near, MAX_REPULSION)
    return scaled(reaches * strength * slope, away), none, none, still


@compiled(parallel=True)
def write_responses(
    field: Any,
    numbers: Any,
    origin: Any,
    axis: Any,
    positions: Any,
    visibility: Any,
    flow: Any,
    out: Any,
) -> None:
    """Write the (8, N) rows of responses at (3, N) positions.

    Args:
        visibility: (N,) shares that absorbers let past, or (1,).
        flow: (4, N) velocities of a fluid flow in m/s and their weights, or (4, 0).
    """
    for index in shared_range(positions.shape[1]):
        n = as_index(index)
        point = positions[0, n], positions[1, n], positions[2, n]
        sample = 0.0, 0.0, 0.0, 0.0
        if field.kind == TURBULENCE:
            x, y, z = turbulence_place(field, numbers.size, origin, axis, point)
            sample = octaves(x, y, z)[0], octaves(y, z, x)[0], octaves(z, x, y)[0], 0.0
        elif field.kind == FLUID_FLOW:
            sample = flow[0, n], flow[1, n], flow[2, n], flow[3, n]
        arriving = visibility[n if len(visibility) > 1 else 0]
        push, rate, speed_rate, spin = field_response(
            field, numbers, origin, axis, point, arriving, sample
        )
        out[0, n], out[1, n], out[2, n] = push
        out[3, n], out[4, n] = rate, speed_rate
        out[5, n], out[6, n], out[7, n] = spin


@compiled()
def decay_rate(rate: Any, speed_rate: Any, velocity: Any) -> Any:
    """Return the rate in 1/s at which a velocity in m/s decays."""
    return rate + speed_rate * _length(velocity)


@compiled()
def acceleration(response: Any, velocity: Any) -> Any:
    """Return the acceleration in m/s² by the eight numbers of a response, at a velocity in m/s."""
    p, q, r, rate, speed_rate, x, y, z = response
    slowed = advanced((p, q, r), -decay_rate(rate, speed_rate, velocity), velocity)
    return plus(slowed, cross(velocity, (x, y, z)))


@compiled(parallel=True)
def add_response_forces(responses: Any, mass: Any, velocities: Any, out: Any) -> None:
    """Subtract the forces of (8, N) responses, in newtons, from (3, N) ``out``.

    Args:
        mass: (N,) in kg.
        velocities: (3, N) in m/s.
    """
    for index in shared_range(len(mass)):
        n, r = as_index(index), responses
        numbers = r[0, n], r[1, n], r[2, n], r[3, n], r[4, n], r[5, n], r[6, n], r[7, n]
        a = acceleration(numbers, (velocities[0, n], velocities[1, n], velocities[2, n]))
        for i in range(3):
            out[i, n] -= mass[n] * a[i]


@compiled(parallel=True)
def write_sample_points(corners: Any, weights: Any, positions: Any, out: Any) -> None:
    """Write the (3, Q) points that (C, Q) vertices carry by (C, Q) weights, at (3, N) positions."""
    for index in shared_range(corners.shape[1]):
        q = as_index(index)
        x = y = z = 0.0
        for c in range(corners.shape[0]):
            vertex, weight = corners[c, q], weights[c, q]
            x += weight * positions[0, vertex]
            y += weight * positions[1, vertex]
            z += weight * positions[2, vertex]
        out[0, q], out[1, q], out[2, q] = x, y, z


@compiled(parallel=True)
def write_means(order: Any, offsets: Any, shares: Any, rows: Any, count: int, out: Any) -> None:
    """Write the (R, N) means at vertices of (R, Q) rows at samples.

    Args:
        order: (CQ,) places in ``shares``, grouped by vertex.
        offsets: (N + 1,) of each vertex in these.
        shares: (C, Q) of the mean at the vertices that carry each sample.
        count: of the rows that are not zero.
    """
    samples = shares.shape[1]
    for index in shared_range(out.shape[1]):
        vertex = as_index(index)
        for row in range(rows.shape[0]):
            out[row, vertex] = 0.0
        for place in range(offsets[vertex], offsets[vertex + 1]):
            corner, sample = order[place] // samples, order[place] % samples
            share = shares[corner, sample]
            for row in range(count):
                out[row, vertex] += share * rows[row, sample]
