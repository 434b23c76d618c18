# SPDX-License-Identifier: GPL-3.0-or-later
"""Keep the played simulation as a take, show a take again, remove it, go back to its settings."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import bpy

from ...core.errors import SuppleError
from ...core.job import lock
from .. import start_runs
from ..cache import trash
from ..cache.unused_caches import folder_size, formatted_size
from ..capture.objects import all_soft_bodies, is_collider, is_soft_body
from ..modifiers import find_modifier, find_refined
from ..named import named
from ..paths import absolute, portable
from ..playback import mesh_cache, pc2
from . import snapshot

# A ``SuppleTake``, whose properties Blender makes.
Take = Any


def why_no_keep(context: bpy.types.Context) -> str:
    """The reason why there is nothing to keep; empty where there is."""
    shown = _shown_folder(context)
    if shown is None:
        return "Nothing is simulated yet. Press Simulate first."
    take = next((t for t in context.scene.supple.takes if absolute(t.folder) == shown), None)
    return "" if take is None else f"The present frames are already kept as {take.name}."


def keep(context: bpy.types.Context) -> str:
    """Keep the played frames and the settings as a new take; return the message for the user.

    Raises:
        SuppleError: when there are none, or they are kept already.
    """
    if reason := why_no_keep(context):
        raise SuppleError(reason)
    scene, folder = context.scene, _shown_folder(context)
    assert folder is not None
    bodies = [obj for obj in all_soft_bodies(context) if _playing_from(obj) == folder]
    take = scene.supple.takes.add()
    scene.supple.take_index = len(scene.supple.takes) - 1
    take.name = _unused_name(scene)
    take.folder, take.fingerprint = portable(folder), scene.supple.simulated_as
    take.settings = snapshot.scene_settings(scene)
    take.stiffness = _stiffness(bodies)
    take.date = time.strftime("%Y-%m-%d %H:%M")
    take.size = formatted_size(folder_size(folder.parent))
    take.frames = max(obj.supple.simulated_frames for obj in bodies)
    for obj in scene.objects:
        if is_soft_body(obj) or is_collider(obj):
            _add(take, obj, obj in bodies)
    return f"Kept {named(bodies)} as {take.name}, {take.size} on the disk."


def why_no_show(context: bpy.types.Context) -> str:
    """The reason why the active take cannot be shown; empty where it can."""
    take = active(context.scene)
    if take is None:
        return "There is no take. Press Keep as Take after a simulation."
    return f"{take.name} is shown already." if is_shown(context, take) else ""


def show(context: bpy.types.Context, take: Take) -> str:
    """Let bodies play the frames of a take; return the message for the user.

    Raises:
        SuppleError: when a file cannot be read, or a mesh has another number of vertices.
    """
    folder = absolute(take.folder)
    bodies = [body for body in take.bodies if body.files and is_soft_body(body.object)]
    if not bodies:
        raise SuppleError(f"The soft bodies of {take.name} are not in this file any more.")
    for body in bodies:
        problem = pc2.why_unreadable(folder / body.files.partition("/")[0])
        if problem:
            raise SuppleError(f"{take.name} cannot be shown: {problem}")
        count = len(body.object.data.vertices)
        if count != body.vertices:
            raise SuppleError(
                f"{body.object.name} has {count} vertices and had {body.vertices} in {take.name}. "
                "Undo the change to the mesh."
            )
    for obj in all_soft_bodies(context):
        if obj not in [body.object for body in bodies]:
            mesh_cache.detach(obj)
    for body in bodies:
        frames = mesh_cache.Frames(
            body.first, body.count, body.pre_roll, body.vertices, body.fingerprint
        )
        mesh_cache.attach(body.object, [folder / name for name in body.files.split("/")], frames)
    context.scene.supple.simulated_as = take.fingerprint
    return f"{take.name} is shown: {named([body.object for body in bodies])}."


def restore(context: bpy.types.Context, take: Take) -> str:
    """Set all settings as they were in a take; return the message for the user."""
    snapshot.restore_scene(context.scene, take.settings)
    objects = [body.object for body in take.bodies if body.object is not None]
    for body in take.bodies:
        if body.object is not None and body.object.is_editable:
            snapshot.restore_object(body.object, body.settings)
    return f"Set as in {take.name}: {named(objects, 'objects')}."


def remove(context: bpy.types.Context, take: Take) -> str:
    """Remove a take, and move its frames to the trash unless anything plays or needs them; return
    the message for the user.

    Raises:
        JobInUseError: when another process is at work there.
    """
    scene, name, size = context.scene, take.name, take.size
    folder = absolute(take.folder).parent
    shown = {mesh_cache.folder_of(path) for _, path in mesh_cache.playing(bpy.data.objects)}
    if folder not in shown and folder.exists():
        lock.check_unused(folder)
    index = next(i for i, each in enumerate(scene.supple.takes) if each == take)
    scene.supple.takes.remove(index)
    scene.supple.take_index = max(min(index, len(scene.supple.takes) - 1), 0)
    if folder in shown | start_runs.folders() or not folder.exists():
        return f"Removed {name}. Its frames stay, since they are in use."
    trash.put(folder)
    return (
        f"Removed {name} and its frames, {size}. Undo brings them back. Remove Unused Caches "
        "deletes them from the disk."
    )


def active(scene: bpy.types.Scene) -> Take | None:
    """The take that is chosen in the list."""
    takes, index = scene.supple.takes, scene.supple.take_index
    return takes[index] if 0 <= index < len(takes) else None


def is_shown(context: bpy.types.Context, take: Take) -> bool:
    """Whether the scene plays the frames of a take."""
    return _shown_folder(context) == absolute(take.folder)


def _shown_folder(context: bpy.types.Context) -> Path | None:
    """The folder of the playback files that the scene plays."""
    bodies = filter(is_soft_body, context.view_layer.objects)
    return next(filter(None, map(_playing_from, bodies)), None)


def _playing_from(obj: bpy.types.Object) -> Path | None:
    modifier = find_modifier(obj)
    return None if modifier is None else absolute(modifier.filepath).parent


def _add(take: Take, obj: bpy.types.Object, is_playing: bool) -> None:
    body = take.bodies.add()
    body.object, body.settings = obj, snapshot.object_settings(obj)
    if not is_playing:
        return
    players = [find_modifier(obj), *find_refined(obj)]
    body.files = "/".join(absolute(each.filepath).name for each in players)
    frames = mesh_cache.frames_of(obj)
    for name in ("first", "count", "pre_roll", "vertices", "fingerprint"):
        setattr(body, name, getattr(frames, name))


def _unused_name(scene: bpy.types.Scene) -> str:
    names = {take.name for take in scene.supple.takes}
    return next(name for n in range(1, len(names) + 2) if (name := f"Take {n}") not in names)


def _stiffness(bodies: list[bpy.types.Object]) -> str:
    low, high = (f(obj.supple.young for obj in bodies) for f in (min, max))
    return f"{low:.3g} Pa" if low == high else f"{low:.3g} … {high:.3g} Pa"
