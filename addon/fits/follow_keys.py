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

# What is in a vertex group is so by more than this.
_INSIDE = 0.5
_KEPT = {"forces": "Its forces act", "pins": "Its pin motion acts"}


def _ask(question: Question) -> tuple[Scene, FollowKeys]:
    obj, captured = question.obj, question.captured
    by = obj.supple.fit_by
    if by == "pins" and not obj.supple.pin_group:
        raise SuppleError(
            f"{obj.name} has no pins to move; choose a Pin Group, or Forces under Follow My Keys."
        )
    frames = _frames(question)
    after = [question.frame(frame, "the frame of a key") for frame in frames]
    shapes = captured.objects[question.index].unit * keyed_poses(question.context, obj, frames)
    bodies = list(captured.scene.bodies)
    # Sought from what it does by itself, whatever was found before.
    bodies[question.index] = replace(bodies[question.index], tet_control=None)
    wanted = FollowKeys(question.index, np.array(after, dtype=np.int32), shapes, _points(obj), by)
    return replace(captured.scene, bodies=bodies), wanted


def _frames(question: Question) -> list[int]:
    """Of the keys after the start."""
    obj, start = question.obj, question.captured.start_frame
    keyed = keyed_frames(obj)
    if not keyed:
        raise SuppleError(
            f"{obj.name} has no keys to follow; key where it is to be: its place, its shape keys "
            "or its rig. What NLA strips and drivers do has no keys: bake it to an action."
        )
    after = [frame for frame in keyed if frame > start]
    if not after:
        last = f"frame {keyed[0]}" if len(keyed) == 1 else f"frames up to {keyed[-1]}"
        raise SuppleError(
            f"{obj.name} has keys at {last} alone, and it starts at frame {start}, where it is "
            "given; key it at later frames."
        )
    return after


def _points(obj: bpy.types.Object) -> NDArray[np.int32] | None:
    name = obj.supple.fit_keyed_group
    if not name:
        return None
    inside = group_weights(obj, find_group(obj, name, "follow the keys")) > _INSIDE
    if not inside.any():
        raise SuppleError(
            f"{obj.name}: no vertex has a weight above {_INSIDE} in the group {name!r} that is to "
            "follow the keys; paint some, or clear Only Group."
        )
    return np.flatnonzero(inside).astype(np.int32)


def _apply(obj: bpy.types.Object, captured: Capture, index: int, found: FoundControl) -> str:
    own = captured.objects[index]
    control.keep(obj, found.control, own.matrices.at(0), own.unit)
    fingerprint.forget()
    moved = f"{found.effort:.3g} m/s² in the mean"
    by = f"forces of {moved}" if found.control.by == "forces" else f"moving its pins by {moved}"
    if found.follows:
        return (
            f"{obj.name} passes through its keys, within {length(found.distance)}, by {by}. "
            "Simulate to see it."
        )
    where = f"frame {captured.start_frame + found.frame}"
    near = (
        f"{obj.name} misses its keys by {length(found.distance)} at the best, at {where}, by {by}."
    )
    if found.search_distance < 0.1 * found.distance:
        return (
            f"{near} Without touching itself, in implicit steps, it comes within "
            f"{length(found.search_distance)}: choose BDF2 or Implicit Euler as Integrator."
        )
    help_by = "Give it more frames to get there, keep keys off the ground and what is in the way"
    if found.control.by == "pins":
        return f"{near} {help_by}, choose Forces, or name with Only Group what matters."
    return f"{near} {help_by}, a finer Resolution, or name with Only Group what matters."


def _kept(obj: bpy.types.Object) -> str:
    return _KEPT.get(control.kept_by(obj), "")


TOOL = Tool(
    label="Follow My Keys",
    description=(
        "Finds the smallest forces, or motion of pins, with which the simulation passes through "
        "the poses that the body is keyed in, as blocking"
    ),
    icon="KEYINGSET",
    settings=("fit_by", "fit_keyed_group"),
    ask=_ask,
    apply=_apply,
    follows=True,
    kept=_kept,
)
