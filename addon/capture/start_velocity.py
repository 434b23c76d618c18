# SPDX-License-Identifier: GPL-3.0-or-later
"""Velocities of bodies at the start, from their settings or their animation."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix
from numpy.typing import NDArray

from ..start_runs import RUN
from ..units import exact_float
from .motion import Matrices, may_move, world_matrix
from .surfaces import Points, Triangles

# The distance of samples of an animation before the start, in frames: long against rounding.
SAMPLE_FRAMES = 0.25

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class StartVelocity:
    """The velocity of a body at the start: of its centre of mass in m/s, and about it in rad/s."""

    linear: Vector
    angular: Vector

    @staticmethod
    def none() -> StartVelocity:
        """The velocity of a body that starts at rest."""
        return StartVelocity(np.zeros(3), np.zeros(3))


def takes_animation(obj: bpy.types.Object) -> bool:
    """Whether its start goes by its animation, and it may have one."""
    props = obj.supple
    return bool(props.start_from_animation) and props.start_shape != RUN and may_move(obj)


def earlier_matrices(
    context: bpy.types.Context, objects: list[bpy.types.Object], first: int
) -> dict[str, list[Matrices]]:
    """The object's transforms to the world at each sample and two before the first frame, for
    bodies that start from their animation.

    The scene is left at another frame.
    """
    matrices: dict[str, list[Matrices]] = {obj.name: [] for obj in objects if takes_animation(obj)}
    for count in (1, 2) if matrices else ():
        frame, subframe = divmod(first - count * SAMPLE_FRAMES, 1.0)
        context.scene.frame_set(int(frame), subframe=subframe)
        depsgraph = context.evaluated_depsgraph_get()
        for obj in objects:
            if obj.name in matrices:
                matrices[obj.name].append(world_matrix(obj, depsgraph))
    return matrices


def start_velocity(
    obj: bpy.types.Object,
    centre: Vector,
    start: Matrices,
    earlier: list[Matrices],
    unit: float,
    frame_time: float,
) -> StartVelocity:
    """The velocity and spin of one body at the start.

    Args:
        centre: (3,) of mass, in metres.
        start: object to world at the start.
        earlier: of ``earlier_matrices``; none where its animation does not count.
        unit: metres in a Blender unit.
        frame_time: seconds from one frame to the next.
    """
    props = obj.supple
    if props.start_shape == RUN:
        # It goes on as fast as it was.
        return StartVelocity(np.zeros(3), np.zeros(3))
    if not props.start_from_animation:
        linear = [unit * exact_float(part) for part in props.start_velocity]
        return StartVelocity(np.array(linear), _exact(props.start_spin))
    if not earlier:
        return StartVelocity(np.zeros(3), np.zeros(3))
    local_centre = np.linalg.solve(start, np.append(centre / unit, 1.0))
    moved = [unit * ((start - before) @ local_centre)[:3] for before in earlier]
    turned = [_rotation(before, start) for before in earlier]
    seconds = SAMPLE_FRAMES * frame_time
    return StartVelocity(_rate(moved, seconds), _rate(turned, seconds))


def centre_of_volume(vertices: Points, triangles: Triangles) -> Vector:
    """Return the (3,) centroid of the enclosed volume, or of the vertices where the volume is
    zero."""
    middle: Vector = vertices[np.unique(triangles)].mean(axis=0)
    a, b, c = (vertices - middle)[triangles].swapaxes(0, 1)
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c))
    if abs(volumes.sum()) <= 1e-9 * np.abs(volumes).sum():
        return middle
    moment: Vector = volumes @ (a + b + c) / (4.0 * volumes.sum())
    return middle + moment


def _rate(changes: list[Vector], seconds: float) -> Vector:
    """The rate from the changes since one sample and since two, exact for a constant
    acceleration."""
    one, two = changes
    return (4.0 * one - two) / (2.0 * seconds)


def _rotation(before: Matrices, after: Matrices) -> Vector:
    """(3,) axis times angle in radians, from one to the other."""
    first, second = (Matrix(matrix.tolist()).to_quaternion() for matrix in (before, after))
    turn = second @ first.inverted()
    if turn.w < 0.0:
        turn.negate()
    return np.array(turn.to_exponential_map())


def _exact(values: bpy.types.bpy_prop_array) -> Vector:
    return np.array([exact_float(value) for value in values])
