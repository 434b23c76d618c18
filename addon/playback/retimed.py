# SPDX-License-Identifier: GPL-3.0-or-later
"""Frames that play otherwise than simulated, since the user has changed the Mesh Cache.

*Frame Scale*, *Evaluation*, *Influence*, *Flip* and the like, set or animated, are the user's to
choose. Blender itself evaluates them, frame by frame.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import product
from math import ceil, floor

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError
from .. import driving
from ..animated import curves_of, is_modifier_animated
from ..capture.captured import CaptureError
from ..capture.motion import preserved_frame
from ..capture.scene import frame_range
from ..capture.surfaces import evaluated_mesh, vertex_coordinates
from ..modifiers import find_modifier, find_refined
from ..paths import absolute
from . import pc2

Frames = NDArray[np.float32]

# As Supple sets a Mesh Cache. Its interpolation shows between frames alone.
_AS_SIMULATED = {
    "factor": 1.0,
    "frame_scale": 1.0,
    "play_mode": "SCENE",
    "time_mode": "FRAME",
    "deform_mode": "OVERWRITE",
    "forward_axis": "POS_Y",
    "up_axis": "POS_Z",
    "vertex_group": "",
}
# Frames that are looked at. If more frames could differ, only those of the scene are compared.
_MOST_FRAMES = 10_000


@dataclass(frozen=True)
class Shown:
    """The frames of a body as the viewport shows them.

    Args:
        start: the frame of the first, after which others are shown.
        frames: (F, V, 3) of its own vertices, in its own space.
        refined: (F, R, 3) vertices after its modifiers; None where that mesh is not played.
    """

    start: int
    frames: Frames
    refined: Frames | None


def is_retimed(obj: bpy.types.Object) -> bool:
    """Whether a body shows its frames otherwise than they were simulated."""
    return not all(map(_plays_as_simulated, _players(obj)))


def hint(obj: bpy.types.Object) -> str:
    """A hint where to change the timing, if a modifier was changed whose frames are not visible."""
    playback = find_modifier(obj)
    leading = next((m for m in find_refined(obj) if m.show_viewport), None)
    if playback is None or leading is None or _plays_as_simulated(playback):
        return ""
    if not _plays_as_simulated(leading):
        return ""
    return (
        f"{obj.name} shows the frames of its modifier {leading.name}, which comes after "
        f"{playback.name}. Change the timing there, too."
    )


def shown_frames(
    context: bpy.types.Context, objects: Sequence[bpy.types.Object]
) -> dict[bpy.types.Object, Shown]:
    """The frames of bodies as the viewport shows them, from the first that changes to the last.

    Raises:
        SuppleError: when an object is hidden, or animation switches its modifiers on and off.
    """
    for obj in objects:
        if not obj.visible_get():
            raise SuppleError(
                f"{obj.name} is hidden, and its modifier {_leading(obj).name} has edited "
                "settings. Show the object, then bake."
            )
    ranges = [_range(context.scene, obj) for obj in objects]
    if not ranges:
        return {}
    frames = range(min(each.start for each in ranges), max(each.stop for each in ranges))
    refined = [obj for obj in objects if _leading(obj) != _playback(obj)]
    with preserved_frame(context.scene):
        with ExitStack() as stack:
            for obj in objects:
                stack.enter_context(vertices_alone(obj))
            vertices = _sampled(context, objects, frames)
        with ExitStack() as stack:
            for obj in refined:
                stack.enter_context(_without_followers(obj, _leading(obj)))
            refined_frames = _sampled(context, refined, frames)
    for obj in objects:
        count = len(obj.data.vertices)
        if vertices[obj].shape[1] != count:
            raise SuppleError(
                f"{obj.name} has {count} vertices, but {vertices[obj].shape[1]} where its "
                f"frames are played. Move the modifier {_playback(obj).name} before those that "
                "change the number of vertices."
            )
    return {obj: _trimmed(frames.start, vertices[obj], refined_frames.get(obj)) for obj in objects}


def _players(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    playback = find_modifier(obj)
    return [] if playback is None else [playback, *find_refined(obj)]


def _leading(obj: bpy.types.Object) -> bpy.types.Modifier:
    """The modifier whose frames the viewport shows."""
    return next((m for m in find_refined(obj) if m.show_viewport), _playback(obj))


def _playback(obj: bpy.types.Object) -> bpy.types.Modifier:
    """The modifier that plays its own vertices, of a body that has one."""
    modifier = find_modifier(obj)
    assert modifier is not None
    return modifier


def _plays_as_simulated(modifier: bpy.types.Modifier) -> bool:
    return (
        all(getattr(modifier, name) == value for name, value in _AS_SIMULATED.items())
        and not any(modifier.flip_axis)
        and float(modifier.frame_start).is_integer()
        and not is_modifier_animated(modifier)
    )


def _range(scene: bpy.types.Scene, obj: bpy.types.Object) -> range:
    """The frames of the scene, and those at which a body could be shown otherwise."""
    try:
        frames = frame_range(scene)
    except CaptureError:
        frames = range(scene.frame_start, max(scene.frame_end, scene.frame_start) + 1)
    modifier = _leading(obj)
    ends = [*_animated_ends(modifier), *_played_ends(scene, modifier)]
    first = min((floor(end) for end in ends), default=frames[0])
    last = max((ceil(end) for end in ends), default=frames[-1])
    wider = range(min(first, frames[0]), max(last, frames[-1]) + 1)
    return wider if len(wider) <= _MOST_FRAMES else frames


def _animated_ends(modifier: bpy.types.Modifier) -> Iterator[float]:
    """First and last frame of the animation of a modifier."""
    for curve in _curves(modifier):
        yield from curve.range()
    data = modifier.id_data.animation_data
    for track in () if data is None else data.nla_tracks:
        for strip in track.strips:
            yield from (strip.frame_start, strip.frame_end)


def _played_ends(scene: bpy.types.Scene, modifier: bpy.types.Modifier) -> Iterator[float]:
    """The frames that show the first and the last sample, where the scene's time counts."""
    if modifier.play_mode != "SCENE":
        return
    last = pc2.frame_count(absolute(modifier.filepath)) - 1
    fps = scene.render.fps / scene.render.fps_base
    # A unit of its time in frames, and its time at the last sample, as Blender has them.
    unit, end = {
        "FRAME": (1.0, float(last)),
        "TIME": (fps, last * fps),
        "FACTOR": (float(scene.frame_end - scene.frame_start), 1.0),
    }[modifier.time_mode]
    scales = filter(None, _values(modifier, "frame_scale"))
    for scale, start in product(scales, _values(modifier, "frame_start")):
        yield unit * start / scale
        yield unit * (start + end) / scale


def _values(modifier: bpy.types.Modifier, name: str) -> set[float]:
    """The values that a setting of a modifier has at its keys."""
    keyed = (curve for curve in _curves(modifier) if curve.data_path.endswith(f".{name}"))
    points = (point.co.y for curve in keyed for point in curve.keyframe_points)
    return {getattr(modifier, name), *points}


def _curves(modifier: bpy.types.Modifier) -> Iterator[bpy.types.FCurve]:
    """The curves of an object's action that animate a modifier."""
    begin, data = f"{modifier.path_from_id()}.", modifier.id_data.animation_data
    if data is None or data.action is None or data.action_slot is None:
        return
    for curve in curves_of(data.action, data.action_slot):
        if curve.data_path.startswith(begin):
            yield curve


@contextmanager
def vertices_alone(obj: bpy.types.Object) -> Iterator[None]:
    """Let the viewport show a body's own vertices, baked or with the timing of its frames."""
    playback = find_modifier(obj)
    if playback is None:
        with _switched_off(obj, obj.modifiers):
            yield
        return
    leading = _leading(obj)
    refining = [m for m in obj.modifiers[obj.modifiers.find(playback.name) + 1 :] if m != leading]
    path, shown = leading.filepath, leading.show_viewport
    with _switched_off(obj, refining):
        try:
            leading.filepath, leading.show_viewport = playback.filepath, True
            yield
        finally:
            leading.filepath, leading.show_viewport = path, shown


@contextmanager
def _without_followers(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> Iterator[None]:
    """Switches off the modifiers behind another."""
    with _switched_off(obj, obj.modifiers[obj.modifiers.find(modifier.name) + 1 :]):
        yield


@contextmanager
def _switched_off(obj: bpy.types.Object, modifiers: Sequence[bpy.types.Modifier]) -> Iterator[None]:
    shown = [m for m in driving.steady(obj, list(modifiers)) if m.show_viewport]
    try:
        for modifier in shown:
            modifier.show_viewport = False
        yield
    finally:
        for modifier in shown:
            modifier.show_viewport = True


def _sampled(
    context: bpy.types.Context, objects: Sequence[bpy.types.Object], frames: range
) -> dict[bpy.types.Object, Frames]:
    """Return the (F, V, 3) points of each object as the viewport shows it, in the object's
    space."""
    samples: dict[bpy.types.Object, list[Frames]] = {obj: [] for obj in objects}
    for frame in frames if objects else ():
        context.scene.frame_set(frame)
        depsgraph = context.evaluated_depsgraph_get()
        for obj, taken in samples.items():
            with evaluated_mesh(obj, depsgraph) as mesh:
                taken.append(vertex_coordinates(mesh).astype(np.float32))
    return {obj: np.stack(taken) for obj, taken in samples.items()}


def _trimmed(start: int, frames: Frames, refined: Frames | None) -> Shown:
    """Leaves out the frames before the first change and after the last."""
    both = [frames] if refined is None else [frames, refined]
    changes = np.zeros(len(frames) - 1, dtype=bool)
    for each in both:
        changes |= (each[1:] != each[:-1]).any(axis=(1, 2))
    changed = np.flatnonzero(changes)
    first, end = (int(changed[0]), int(changed[-1]) + 2) if len(changed) else (0, 1)
    visible = slice(first, end)
    return Shown(start + first, frames[visible], None if refined is None else refined[visible])
