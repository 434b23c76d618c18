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
            f"{obj.name} starts with the velocity of another run. Choose another Shape under Start."
        )
    place, weights = _place(question), None
    frame = question.frame(props.fit_frame, "the frame of the target")
    if props.fit_group:
        weights = group_weights(obj, find_group(obj, props.fit_group, "reach the target"))
        if not weights.any():
            raise SuppleError(
                f"{obj.name}: no vertex has a weight in the group {props.fit_group!r} that "
                "should hit the target. Paint some weights, or clear the group."
            )
    x, y, z = place.tolist()
    request = HitTarget(question.index, (x, y, z), frame, weights, bool(props.fit_spin))
    return question.captured.scene, request


def _place(question: Question) -> Points:
    """Return the (3,) place of the target at its frame, in metres."""
    scene, props = question.context.scene, question.obj.supple
    target = props.fit_target
    if target is None or target.name not in scene.objects:
        raise SuppleError(
            f"{question.obj.name} has no target in this scene. Choose an object under Goals, "
            "such as an empty."
        )
    with preserved_frame(scene):
        scene.frame_set(props.fit_frame)
        matrix = world_matrix(target, question.context.evaluated_depsgraph_get())
    if not np.isfinite(matrix).all():
        raise SuppleError(
            f"{target.name} is not at finite coordinates at frame {props.fit_frame}. Look at "
            "its keys and drivers."
        )
    return question.captured.objects[question.index].unit * matrix[:3, 3]


def _apply(obj: bpy.types.Object, captured: Capture, index: int, result: FoundThrow) -> str:
    props, unit = obj.supple, captured.objects[index].unit
    props.start_from_animation = False
    props.start_velocity = np.array(result.velocity) / unit
    props.start_spin = result.angular_velocity
    speed = length(float(np.linalg.norm(result.velocity)))
    straight = ""
    if result.set_distance is not None:
        straight = (
            f" Throws like the one under Start miss by at least {length(result.set_distance)}, so "
            "Supple used a straight throw."
        )
    if result.hits:
        within = f" to within {length(result.distance)}" if result.distance > NOTICED_METRES else ""
        return (
            f"{obj.name} hits the target{within}, thrown with {speed}/s."
            f"{straight} Simulate to see it."
        )
    return (
        f"{obj.name} misses the target by at least {length(result.distance)}.{straight} Choose "
        "another frame, tick Also Solve Spin, release pins, or move the target away from the "
        "ground and obstacles. You can also set a first throw under Start, such as one at the "
        "ground for a bounce."
    )


TOOL = Tool(
    label="Hit the Target",
    description=(
        "Find the start velocity with which the body hits a target at a frame, including "
        "bounces on the way"
    ),
    icon="TRACKER",
    settings=("fit_target", "fit_frame", "fit_group", "fit_spin"),
    ask=_ask,
    apply=_apply,
)
