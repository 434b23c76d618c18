# SPDX-License-Identifier: GPL-3.0-or-later
"""Follow My Keys."""

from __future__ import annotations

from dataclasses import replace

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError
from ...core.job.fits import FollowKeys, FoundControl
from ...core.scene.scene import Scene
from ..capture import control, fingerprint
from ..capture.captured import Capture
from ..capture.control import keyed_frames, keyed_poses
from ..capture.paint import find_group
from ..capture.surfaces import group_weights
from .tool import Question, Tool, length

# The weight from which a vertex counts as in a group.
_INSIDE = 0.5
_KEPT = {"forces": "Its forces act", "pins": "Its pin motion acts"}


def _ask(question: Question) -> tuple[Scene, FollowKeys]:
    obj, captured = question.obj, question.captured
    by = obj.supple.fit_by
    if by == "pins" and not obj.supple.pin_group:
        raise SuppleError(
            f"{obj.name} has no pins to move. Choose a Pin Group, or Forces under Follow My Keys."
        )
    frames = _frames(question)
    after = [question.frame(frame, "the frame of a key") for frame in frames]
    shapes = captured.objects[question.index].unit * keyed_poses(question.context, obj, frames)
    bodies = list(captured.scene.bodies)
    # The search starts from the free motion, not from an earlier result.
    bodies[question.index] = replace(bodies[question.index], tet_control=None)
    request = FollowKeys(question.index, np.array(after, dtype=np.int32), shapes, _points(obj), by)
    return replace(captured.scene, bodies=bodies), request


def _frames(question: Question) -> list[int]:
    """Frames of the keys after the start."""
    obj, start = question.obj, question.captured.start_frame
    keyed = keyed_frames(obj)
    if not keyed:
        raise SuppleError(
            f"{obj.name} has no keys to follow. Key its location, its shape keys or its rig. "
            "NLA strips and drivers have no keys: bake them to an action."
        )
    after = [frame for frame in keyed if frame > start]
    if not after:
        last = f"frame {keyed[0]}" if len(keyed) == 1 else f"frames up to {keyed[-1]}"
        raise SuppleError(
            f"{obj.name} only has keys at {last}, and the simulation starts at frame {start}. "
            "Key it at later frames."
        )
    return after


def _points(obj: bpy.types.Object) -> NDArray[np.int32] | None:
    name = obj.supple.fit_keyed_group
    if not name:
        return None
    inside = group_weights(obj, find_group(obj, name, "follow the keys")) > _INSIDE
    if not inside.any():
        raise SuppleError(
            f"{obj.name}: no vertex has a weight above {_INSIDE} in the group {name!r} that "
            "should follow the keys. Paint some weights, or clear Limit to Group."
        )
    return np.flatnonzero(inside).astype(np.int32)


def _apply(obj: bpy.types.Object, captured: Capture, index: int, result: FoundControl) -> str:
    body = captured.objects[index]
    control.keep(obj, result.control, body.matrices.at(0), body.unit)
    fingerprint.forget()
    moved = f"{result.effort:.3g} m/s² on average"
    by = f"forces of {moved}" if result.control.by == "forces" else f"moving its pins by {moved}"
    if result.follows:
        return (
            f"{obj.name} passes through its keys, within {length(result.distance)}, by {by}. "
            "Simulate to see it."
        )
    where = f"frame {captured.start_frame + result.frame}"
    near = f"{obj.name} misses its keys by at least {length(result.distance)}, at {where}, by {by}."
    if result.search_distance < 0.1 * result.distance:
        return (
            f"{near} Without self-contact and in implicit steps it comes within "
            f"{length(result.search_distance)}. Choose BDF2 or Implicit Euler as Integrator."
        )
    help_by = "Give it more frames, keep keys away from the ground and obstacles"
    if result.control.by == "pins":
        return f"{near} {help_by}, choose Forces, or choose a part with Limit to Group."
    return f"{near} {help_by}, use a finer Resolution, or choose a part with Limit to Group."


def _control_label(obj: bpy.types.Object) -> str:
    return _KEPT.get(control.kept_by(obj), "")


TOOL = Tool(
    label="Follow My Keys",
    description=(
        "Find the smallest forces, or motion of pins, that bring the body through its keyed poses"
    ),
    icon="KEYINGSET",
    settings=("fit_by", "fit_keyed_group"),
    ask=_ask,
    apply=_apply,
    follows=True,
    control_label=_control_label,
)
