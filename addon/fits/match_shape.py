# SPDX-License-Identifier: GPL-3.0-or-later
"""Match a Shape."""

from __future__ import annotations

import bpy
import numpy as np

from ...core.errors import SuppleError
from ...core.job.fits import FoundStiffness, MatchShape
from ...core.scene.scene import Scene
from ..animated import animated_settings
from ..capture.captured import Capture
from ..capture.motion import preserved_frame, transform, world_matrix
from ..capture.surfaces import Points, evaluated_mesh, vertex_coordinates
from ..units import exact_float
from .tool import Question, Tool, length

# The stiffness does not explain a mismatch that stays above this ratio of the former one.
_LITTLE_GAIN = 0.5


def _ask(question: Question) -> tuple[Scene, MatchShape]:
    obj, props = question.obj, question.obj.supple
    if "young" in animated_settings(obj):
        raise SuppleError(
            f"{obj.name}: Stiffness is keyed, and Match a Shape looks for one "
            "value. Remove the keys."
        )
    first = question.frame(props.fit_first, "the first frame of the shape")
    last = question.frame(props.fit_last, "the last frame of the shape")
    if last < first:
        raise SuppleError(f"{obj.name}: the last frame of the shape comes before its first.")
    shapes = _shapes(question, range(props.fit_first, props.fit_last + 1))
    unpainted = None
    if props.paint_young and exact_float(props.unpainted_young) < 1.0:
        unpainted = exact_float(props.unpainted_young)
    return question.captured.scene, MatchShape(question.index, first, shapes, unpainted)


def _shapes(question: Question, frames: range) -> Points:
    """Return the (T, V, 3) points of the object that shows the shapes, in metres."""
    obj, scene = question.obj, question.context.scene
    shown = obj.supple.fit_shape
    if shown is None or shown.name not in scene.objects:
        raise SuppleError(
            f"{obj.name} has no shape to match in this scene. Choose a mesh object under Goals."
        )
    if shown.supple.enabled:
        raise SuppleError(
            f"{shown.name} is a soft body, and both would be simulated. Bake it and remove its "
            "soft body, or choose another shape."
        )
    unit, shapes = question.captured.objects[question.index].unit, []
    with preserved_frame(scene):
        for frame in frames:
            scene.frame_set(frame)
            depsgraph = question.context.evaluated_depsgraph_get()
            with evaluated_mesh(shown, depsgraph) as mesh:
                points = vertex_coordinates(mesh)
            if len(points) != len(obj.data.vertices):
                raise SuppleError(
                    f"{shown.name} has {len(points)} vertices, and {obj.name} has "
                    f"{len(obj.data.vertices)}. Choose a shape of the same mesh."
                )
            if not np.isfinite(points).all():
                vertex = int(np.argwhere(~np.isfinite(points))[0, 0])
                raise SuppleError(
                    f"{shown.name}: vertex {vertex} is not at finite coordinates at frame "
                    f"{frame}. Move or delete it."
                )
            shapes.append(unit * transform(world_matrix(shown, depsgraph), points))
    return np.stack(shapes)


def _apply(obj: bpy.types.Object, captured: Capture, index: int, result: FoundStiffness) -> str:
    props = obj.supple
    if result.distance == result.before:
        return (
            f"{obj.name} already has this shape, to within {length(result.distance)}. Stiffness "
            "is unchanged."
        )
    props.young = result.young
    text = f"{obj.name}: Stiffness {result.young:.3g} Pa"
    if result.unpainted is not None:
        props.unpainted_young = result.unpainted
        text += f", and {props.unpainted_young:.3g} of it where unpainted"
    text += (
        f". It is now {length(result.distance)} from the shape, and was "
        f"{length(result.before)} from it."
    )
    if result.distance > _LITTLE_GAIN * result.before:
        text += (
            " Stiffness alone does not reach the shape: check Poisson's Ratio, density, pins "
            "and the location of the shape."
        )
    return text


TOOL = Tool(
    label="Match a Shape",
    description=(
        "Find the stiffness with which the body has the shape of another mesh at some frames. "
        "Where Stiffness is painted, this also finds Where Unpainted"
    ),
    icon="MOD_MESHDEFORM",
    settings=("fit_shape", "fit_first", "fit_last"),
    ask=_ask,
    apply=_apply,
)
