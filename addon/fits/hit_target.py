# SPDX-License-Identifier: GPL-3.0-or-later
"""Hit the Target."""

from __future__ import annotations

import bpy
import numpy as np

from ...core.errors import SuppleError
from ...core.job.fits import FoundThrow, HitTarget
from ...core.scene.scene import Scene
from ..capture.captured import Capture
from ..capture.motion import preserved_frame, world_matrix
from ..capture.paint import find_group
from ..capture.surfaces import Points, group_weights
from ..start_runs import RUN
from .tool import NOTICED_METRES, Question, Tool, length


def _ask(question: Question) -> tuple[Scene, HitTarget]:
    obj, props = question.obj, question.obj.supple
    if props.start_shape == RUN:
        raise SuppleError(
            f"{obj.name} goes on as fast as another run left it; choose another Shape under Start."
        )
    place, weights = _place(question), None
    frame = question.frame(props.fit_frame, "the frame of the target")
    if props.fit_group:
        weights = group_weights(obj, find_group(obj, props.fit_group, "reach the target"))
        if not weights.any():
            raise SuppleError(
                f"{obj.name}: no vertex has a weight in the group {props.fit_group!r} that is to "
                "reach the target; paint some, or clear the group."
            )
    x, y, z = place.tolist()
    wanted = HitTarget(question.index, (x, y, z), frame, weights, bool(props.fit_spin))
    return question.captured.scene, wanted


def _place(question: Question) -> Points:
    """(3,) of the target at its frame, in metres."""
    scene, props = question.context.scene, question.obj.supple
    target = props.fit_target
    if target is None or target.name not in scene.objects:
        raise SuppleError(
            f"{question.obj.name} has no target in this scene; choose an object under Find, such "
            "as an empty."
        )
    with preserved_frame(scene):
        scene.frame_set(props.fit_frame)
        matrix = world_matrix(target, question.context.evaluated_depsgraph_get())
    if not np.isfinite(matrix).all():
        raise SuppleError(
            f"{target.name} is not at finite coordinates at frame {props.fit_frame}; look at its "
            "keys and drivers."
        )
    place: Points = question.captured.objects[question.index].unit * matrix[:3, 3]
    return place


def _apply(obj: bpy.types.Object, captured: Capture, index: int, found: FoundThrow) -> str:
    props, unit = obj.supple, captured.objects[index].unit
    props.start_from_animation = False
    props.start_velocity = np.array(found.velocity) / unit
    props.start_spin = found.angular_velocity
    speed = length(float(np.linalg.norm(found.velocity)))
    straight = ""
    if found.set_distance is not None:
        straight = (
            f" No throw like the one that was set comes nearer than {length(found.set_distance)}; "
            "this one begins straight."
        )
    if found.hits:
        within = f" to within {length(found.distance)}" if found.distance > NOTICED_METRES else ""
        return (
            f"{obj.name} hits the target{within}, thrown with {speed}/s."
            f"{straight} Simulate to see it."
        )
    return (
        f"{obj.name} misses the target by {length(found.distance)} at the best.{straight} Choose "
        "another frame, begin with a throw of your own under Start, such as one at the ground for "
        "a bounce, tick Spin Too, let go what is pinned, or move the target off the ground and "
        "what is in the way."
    )


TOOL = Tool(
    label="Hit the Target",
    description=(
        "Finds the velocity at the start with which the body reaches a place at a frame, bounces "
        "on the way included"
    ),
    icon="TRACKER",
    settings=("fit_target", "fit_frame", "fit_group", "fit_spin"),
    ask=_ask,
    apply=_apply,
)
