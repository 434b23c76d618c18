# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws the ground, and the surface of the fluid, in the 3D viewports that show overlays: grids
around the soft bodies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ..capture.motion import transform
from ..capture.objects import soft_bodies
from ..properties.suited import rest_box

Point = tuple[float, float, float]
Colour = tuple[float, float, float]

_CELLS_ACROSS_BODIES = 4  # at rest
_MOST_CELLS = 32  # across them as they are shown
_MARGIN_CELLS = 4
_GROUND_COLOUR, _FLUID_COLOUR = (0.35, 0.75, 0.85), (0.2, 0.35, 1.0)
_LINE_ALPHA, _PLANE_ALPHA = 0.3, 0.06

_handler: Any = None


def register() -> None:
    """Does nothing without windows."""
    global _handler
    if not bpy.app.background:
        _handler = bpy.types.SpaceView3D.draw_handler_add(_draw, (), "WINDOW", "POST_VIEW")


def unregister() -> None:
    global _handler
    if _handler is not None:
        bpy.types.SpaceView3D.draw_handler_remove(_handler, "WINDOW")
        _handler = None


@dataclass(frozen=True)
class Patch:
    """The drawn piece of a plane, in Blender units: the crossings of its lines, and its height."""

    across: tuple[float, ...]
    along: tuple[float, ...]
    height: float
    colour: Colour

    def lines(self) -> list[Point]:
        """Return the ends of the lines, in pairs."""
        (left, right), (front, back), z = self._sides()
        ends = [(x, y, z) for x in self.across for y in (front, back)]
        return ends + [(x, y, z) for y in self.along for x in (left, right)]

    def triangles(self) -> list[Point]:
        """Two, as three points each."""
        (left, right), (front, back), z = self._sides()
        corners = [(left, front, z), (right, front, z), (right, back, z), (left, back, z)]
        return [corners[k] for k in (0, 1, 2, 0, 2, 3)]

    def _sides(self) -> tuple[tuple[float, float], tuple[float, float], float]:
        across, along = self.across, self.along
        return (across[0], across[-1]), (along[0], along[-1]), self.height


def patches(context: bpy.types.Context) -> list[Patch]:
    """The ground and the surface of the fluid around the soft bodies, as far as there are any."""
    bodies, planes = soft_bodies(context), list(_planes(context.scene.supple))
    if not (planes and bodies and context.space_data.overlay.show_overlays):
        return []
    places = np.concatenate([_box(obj) for obj in bodies])
    at_rest = np.concatenate([rest_box(obj)[:, :2] for obj in bodies])
    if not (np.isfinite(places).all() and np.isfinite(at_rest).all()):
        return []
    low, high = places.min(axis=0), places.max(axis=0)
    # Cells keep their size over the frames, unless bodies move far.
    least = max(np.ptp(at_rest, axis=0).max() / _CELLS_ACROSS_BODIES, 1e-6)
    least = max(least, (high - low).max() / _MOST_CELLS)
    # A power of two, so that the grid does not change while bodies are moved.
    cell = 2.0 ** np.ceil(np.log2(least))
    first = np.floor(low / cell).astype(int) - _MARGIN_CELLS
    last = np.ceil(high / cell).astype(int) + _MARGIN_CELLS
    across, along = (
        tuple(float(cell * k) for k in range(first[axis], last[axis] + 1)) for axis in (0, 1)
    )
    return [Patch(across, along, *plane) for plane in planes]


def _planes(props: bpy.types.PropertyGroup) -> Iterator[tuple[float, Colour]]:
    """Yield the height and the colour of each plane."""
    if props.use_ground:
        yield props.ground_height, _GROUND_COLOUR
    if props.use_fluid:
        yield props.fluid_level, _FLUID_COLOUR


def _box(obj: bpy.types.Object) -> np.ndarray:
    """Return (8, 2) the corners of a bounding box as seen from above."""
    return transform(np.array(obj.matrix_world), np.array(obj.bound_box))[:, :2]


def _draw() -> None:
    import gpu
    from gpu_extras.batch import batch_for_shader

    if not (planes := patches(bpy.context)):
        return
    shader = gpu.shader.from_builtin("UNIFORM_COLOR")
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_test_set("LESS_EQUAL")
    try:
        for plane in planes:
            for kind, points, alpha in (
                ("TRIS", plane.triangles(), _PLANE_ALPHA),
                ("LINES", plane.lines(), _LINE_ALPHA),
            ):
                shader.bind()
                shader.uniform_float("color", (*plane.colour, alpha))
                batch_for_shader(shader, kind, {"pos": points}).draw(shader)
    finally:
        gpu.state.depth_test_set("NONE")
        gpu.state.blend_set("NONE")
