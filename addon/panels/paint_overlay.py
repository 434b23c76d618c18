# SPDX-License-Identifier: GPL-3.0-or-later
"""Draw painted weights on soft bodies in 3D viewports with overlays, from blue for 0 to red for
1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ..capture.captured import CaptureError
from ..capture.objects import soft_bodies
from ..capture.paint import Values, painted_weights
from ..capture.surfaces import Triangles, triangles
from ..settings.object import SOURCE

Colours = NDArray[np.float32]

#: The choice that draws nothing.
NONE = "none"
# Red, green and blue of the weights from 0 to 1.
_COLOURS = np.array([(0, 0, 1), (0, 1, 1), (0, 1, 0), (1, 1, 0), (1, 0, 0)], dtype=float)
_OPACITY = 0.75
# In which Blender shows weights and colours by itself, or the mesh is another than was evaluated.
_OTHER_MODES = {"WEIGHT_PAINT", "VERTEX_PAINT", "EDIT", "SCULPT"}
# The ratio of the viewing distance by which the overlay is drawn nearer than the surface.
_NEARER = 2e-4

_draw_handler: Any = None
# Keys are the session_uid of objects. Batches are of one frame; colours and corners last, and are
# stored with the names of their paint; None where nothing is drawn.
_batches: dict[int, tuple[str, Any]] = {}
_paints: dict[int, tuple[str, tuple[Colours, Triangles] | None]] = {}


def register() -> None:
    """Does nothing without windows."""
    global _draw_handler
    if not bpy.app.background:
        space = bpy.types.SpaceView3D
        _draw_handler = space.draw_handler_add(_draw, (), "WINDOW", "POST_VIEW")


def unregister() -> None:
    global _draw_handler
    forget()
    if _draw_handler is not None:
        bpy.types.SpaceView3D.draw_handler_remove(_draw_handler, "WINDOW")
        _draw_handler = None


def forget(*_: object) -> None:
    """Forget all paint when another file is opened."""
    _batches.clear()
    _paints.clear()


def forget_shapes() -> None:
    """Forget shapes when the frame changes; the weights stay."""
    _batches.clear()


def forget_changed(depsgraph: bpy.types.Depsgraph) -> None:
    """Forget the data that Blender reports as changed."""
    if not (_batches or _paints):
        return
    if depsgraph.id_type_updated("MESH"):
        _paints.clear()
    for update in depsgraph.updates:
        if update.is_updated_geometry:
            _batches.pop(update.id.original.session_uid, None)


@dataclass(frozen=True, eq=False)
class Coloured:
    """A mesh as it is drawn, in the object's own space.

    Args:
        points: (V, 3).
        colours: (V, 4) red, green, blue, opacity.
        corners: (T, 3) points of triangles.
    """

    points: NDArray[np.float32]
    colours: Colours
    corners: Triangles


def coloured(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, setting: str
) -> Coloured | None:
    """The coloured mesh of an object; None where the setting is not painted."""
    mesh, uid, source = obj.evaluated_get(depsgraph).data, obj.session_uid, _source(obj, setting)
    if uid not in _paints or _paints[uid][0] != source:
        _paints[uid] = source, _paint_of(obj, mesh, setting)
    paint = _paints[uid][1]
    if paint is None or len(paint[0]) != len(mesh.vertices):
        return None
    points = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", points)
    return Coloured(points.reshape(-1, 3), *paint)


def _paint_of(
    obj: bpy.types.Object, mesh: bpy.types.Mesh, setting: str
) -> tuple[Colours, Triangles] | None:
    try:
        weights = painted_weights(obj, mesh, setting)
    except CaptureError:
        return None  # Simulate says why.
    return None if weights is None else (colours_of(weights), triangles(mesh))


def _source(obj: bpy.types.Object, setting: str) -> str:
    """Return the setting and the name of its attribute or vertex group."""
    return f"{setting} {getattr(obj.supple, SOURCE.format(setting))}"


def colours_of(weights: Values) -> Colours:
    """Return (V, 4) colours of (V,) weights, clamped to 0 … 1."""
    places = np.linspace(0.0, 1.0, len(_COLOURS))
    parts = [np.interp(weights, places, part) for part in _COLOURS.T]
    return np.stack([*parts, np.full(len(weights), _OPACITY)], axis=1).astype(np.float32)


def shown_bodies(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The soft bodies that are drawn over in a viewport."""
    if context.scene.supple.paint_overlay == NONE or not context.space_data.overlay.show_overlays:
        return []
    return [obj for obj in soft_bodies(context) if obj.mode not in _OTHER_MODES]


def _draw() -> None:
    context = bpy.context
    bodies = shown_bodies(context)
    if not bodies:
        return
    import gpu

    setting = context.scene.supple.paint_overlay
    shader = gpu.shader.from_builtin("SMOOTH_COLOR")
    depsgraph = context.evaluated_depsgraph_get()
    gpu.state.blend_set("ALPHA")
    gpu.state.depth_test_set("LESS_EQUAL")
    try:
        with gpu.matrix.push_pop_projection():
            gpu.matrix.load_projection_matrix(_nearer(gpu.matrix.get_projection_matrix()))
            for obj in bodies:
                batch = _batch(obj, depsgraph, setting, shader)
                if batch is not None:
                    with gpu.matrix.push_pop():
                        gpu.matrix.multiply_matrix(obj.matrix_world)
                        batch.draw(shader)
    finally:
        gpu.state.depth_test_set("NONE")
        gpu.state.blend_set("NONE")


def _batch(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, setting: str, shader: Any) -> Any:
    """The batch that draws an object; None where nothing is drawn."""
    from gpu_extras.batch import batch_for_shader

    uid, source = obj.session_uid, _source(obj, setting)
    if uid not in _batches or _batches[uid][0] != source:
        made, batch = coloured(obj, depsgraph, setting), None
        if made is not None:
            content = {"pos": made.points, "color": made.colours}
            batch = batch_for_shader(shader, "TRIS", content, indices=made.corners)
        _batches[uid] = source, batch
    return _batches[uid][1]


def _nearer(projection: Any) -> Any:
    """A projection by which everything is a little nearer, at the same place in the picture."""
    nearer = projection.copy()
    nearer[2] = projection[2] - _NEARER * projection[3]
    return nearer
