# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulated frames and the .blend file on their way to another machine."""

from __future__ import annotations

from pathlib import Path

import bpy

from ...core.errors import SuppleError
from ..modifiers import find_modifier, find_refined
from ..named import named
from ..paths import absolute
from ..playback.mesh_cache import folder_of
from . import cache_moves, scene_cache


def pack_beside(scenes: list[bpy.types.Scene]) -> str:
    """Let scenes play frames that lie beside the open file, copied there where they lie elsewhere.

    Returns:
        The message for the user.

    Raises:
        SuppleError: the file is not saved, nothing is simulated, or frames cannot be copied.
    """
    file = scene_cache.open_file()
    if file is None:
        raise SuppleError("Save the file first. Its frames are stored beside it.")
    bodies = _playing(scenes)
    if not bodies:
        raise SuppleError("Nothing is simulated yet. Press Simulate first.")
    for scene in scenes:
        if any(find_modifier(obj) for obj in scene.objects) and not _is_beside(scene, file):
            scene.supple.cache_folder = scene_cache.BESIDE_THE_FILE
    try:
        cache_moves.bring(scenes, file)
    except OSError as error:
        raise SuppleError(f"The frames cannot be copied beside the file: {error}.") from error
    left = [obj for obj in bodies if not _travels(obj, file)]
    parts = [travel_note(scenes)] if len(left) < len(bodies) else []
    if left:
        parts.append(
            f"The frames of {named(left)} were not packed. Simulate again, or pack them in "
            "their own file."
        )
    return " ".join(parts)


def staying_bodies(scenes: list[bpy.types.Scene]) -> list[bpy.types.Object]:
    """Return the bodies with frames that another machine would not find: with an absolute path, or
    outside of the folder of the .blend file."""
    file = scene_cache.open_file()
    return [] if file is None else [obj for obj in _playing(scenes) if not _travels(obj, file)]


def travel_note(scenes: list[bpy.types.Scene]) -> str:
    """Return a note on the files that other machines need beside the saved file; empty for none."""
    file, bodies = scene_cache.open_file(), _playing(scenes)
    if file is None or not bodies:
        return ""
    if staying := [obj for obj in bodies if not _travels(obj, file)]:
        folder = folder_of(_paths(staying[0])[0])
        return (
            f"Other machines would show {named(staying)} at rest: the frames are in {folder}. "
            "Press Pack Frames."
        )
    folders = {folder_of(path) for obj in bodies for path in _paths(obj)}
    names = sorted({str(folder.parent.relative_to(file.parent)) for folder in folders})
    return (
        f"Other machines need {file.name} and {', '.join(names)} beside it. Without them "
        f"{named(bodies)} stay at rest. Bake keeps the motion in the file."
    )


def _playing(scenes: list[bpy.types.Scene]) -> list[bpy.types.Object]:
    return list(dict.fromkeys(obj for each in scenes for obj in each.objects if find_modifier(obj)))


def _caches(obj: bpy.types.Object) -> list[bpy.types.Modifier]:
    return [*filter(None, [find_modifier(obj)]), *find_refined(obj)]


def _paths(obj: bpy.types.Object) -> list[Path]:
    return [absolute(each.filepath, library=obj.library) for each in _caches(obj)]


def _travels(obj: bpy.types.Object, file: Path) -> bool:
    are_relative = all(each.filepath.startswith("//") for each in _caches(obj))
    return are_relative and all(file.parent in path.parents for path in _paths(obj))


def _is_beside(scene: bpy.types.Scene, file: Path) -> bool:
    try:
        return file.parent in scene_cache.root(scene, file).parents
    except SuppleError:  # there can be no such folder
        return False
