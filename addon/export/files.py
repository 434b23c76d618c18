# SPDX-License-Identifier: GPL-3.0-or-later
"""Alembic and USD files of soft bodies, with their velocities and recorded fields."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError
from ..capture.scene import frame_range
from ..named import named
from ..playback import fields
from .motion import Motion, into, moving_bodies, sampled, why_none

ALEMBIC, USD = "alembic", "usd"
#: The attribute that Blender's exporters write as velocities, in units per second.
VELOCITY = "velocity"

Vectors = NDArray[np.float32]


_LABELS = {ALEMBIC: "Alembic", USD: "USD"}


def why_not(context: bpy.types.Context, kind: str) -> str:
    """The reason why no file of a kind can be written; empty where it can."""
    if not getattr(bpy.app.build_options, kind):
        return f"This Blender was built without {_LABELS[kind]}. Use one from blender.org."
    return why_none(context)


def write(context: bpy.types.Context, path: Path, kind: str) -> str:
    """Write all moving bodies over the frame range of the simulation.

    Args:
        context: the context of the scene with the bodies.
        path: the file, which is replaced once the new one is whole.
        kind: ``ALEMBIC`` or ``USD``.

    Returns:
        The message for the user.

    Raises:
        SuppleError: when no body moves, or the file cannot be written.
    """
    bodies, scene = moving_bodies(context), context.scene
    if reason := why_not(context, kind):
        raise SuppleError(reason)
    frames = frame_range(scene)
    motions = _finished(sampled(context, bodies))
    partial = path.with_name(f"{path.stem}.partial{path.suffix}")
    with ExitStack() as stack:
        stack.enter_context(_selected(context, bodies))
        stack.enter_context(_range(scene, frames))
        stack.enter_context(_attributes(scene, motions))
        try:
            if kind == ALEMBIC:
                bpy.ops.wm.alembic_export(
                    filepath=str(partial), start=frames[0], end=frames[-1], selected=True
                )
            else:
                # Blend shapes would leave out velocities and fields after the first frame.
                bpy.ops.wm.usd_export(
                    filepath=str(partial),
                    selected_objects_only=True,
                    export_animation=True,
                    export_shapekeys=False,
                )
            partial.replace(path)
        except (RuntimeError, OSError) as error:
            reason = getattr(error, "strerror", None) or "Blender could not export it"
            raise SuppleError(f"{path} cannot be written: {reason}.") from error
    return f"Exported frames {frames[0]} to {frames[-1]} of {named(bodies)} to {path.name}."


@contextmanager
def _selected(context: bpy.types.Context, bodies: Sequence[bpy.types.Object]) -> Iterator[None]:
    """Select these bodies alone."""
    before = list(context.selected_objects)
    for obj in before:
        obj.select_set(False)
    for obj in bodies:
        obj.select_set(True)
    try:
        yield
    finally:
        for obj in bodies:
            obj.select_set(obj in before)
        for obj in before:
            obj.select_set(True)


@contextmanager
def _range(scene: bpy.types.Scene, frames: range) -> Iterator[None]:
    """Let the scene have another frame range, and keep its current frame."""
    before, frame = (scene.frame_start, scene.frame_end), scene.frame_current_final
    scene.frame_start, scene.frame_end = frames[0], frames[-1]
    try:
        yield
    finally:
        scene.frame_start, scene.frame_end = before
        scene.frame_set(int(frame // 1), subframe=frame % 1)


@contextmanager
def _attributes(scene: bpy.types.Scene, motions: dict[bpy.types.Object, Motion]) -> Iterator[None]:
    """Give meshes their velocities and recorded fields, frame by frame."""
    velocities = {
        obj: _velocities(scene, motion)
        for obj, motion in motions.items()
        if obj.data.is_editable and VELOCITY not in obj.data.attributes
    }

    def update(scene: bpy.types.Scene, *_: object) -> None:
        for obj, values in velocities.items():
            index = min(max(scene.frame_current - motions[obj].start, 0), len(values) - 1)
            vectors = obj.data.attributes[VELOCITY].data
            vectors.foreach_set("vector", values[index].ravel())
            obj.data.update_tag()

    with fields.all_recorded(list(velocities), scene):
        for obj in velocities:
            obj.data.attributes.new(VELOCITY, "FLOAT_VECTOR", "POINT")
        bpy.app.handlers.frame_change_pre.append(update)
        try:
            yield
        finally:
            bpy.app.handlers.frame_change_pre.remove(update)
            for obj in velocities:
                obj.data.attributes.remove(obj.data.attributes[VELOCITY])


def _velocities(scene: bpy.types.Scene, motion: Motion) -> Vectors:
    """(F, V, 3) velocities in the space of the object, in units per second."""
    local = np.stack([into(*each) for each in zip(motion.matrices, motion.points, strict=True)])
    if len(local) == 1:
        return np.zeros(local.shape, dtype=np.float32)
    rate = scene.render.fps / scene.render.fps_base
    return (rate * np.gradient(local, axis=0)).astype(np.float32)


def _finished(steps: Iterator[float]) -> dict[bpy.types.Object, Motion]:
    """Take all steps of reading motions."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            motions: dict[bpy.types.Object, Motion] = end.value
            return motions
