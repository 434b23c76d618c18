# SPDX-License-Identifier: GPL-3.0-or-later
"""Check before each frame of a render that its bodies play their frames, log those that do not,
and stop the render if the scene demands it.

Blender has no call that stops a render. It gives up where an image cannot be written, and without
a window also where Ctrl-C comes.
"""

from __future__ import annotations

import signal
from pathlib import Path

import bpy

from ..core.errors import SuppleError, legible
from .bake import shape_keys
from .capture.objects import is_soft_body
from .modifiers import find_modifier
from .playback import mesh_cache, rendered

#: In the path of an image that is not to be written; Blender prints it.
NO_IMAGE = "Supple stopped this render: simulated frames are missing"

_logged: set[str] = set()
# The paths of images, by the session_uid of scenes whose images are not to be written.
_image_paths: dict[int, str] = {}
_is_interrupted = False


def begin(scene: bpy.types.Scene) -> None:
    """Check a scene's frames before a render begins."""
    _logged.clear()
    # Blender chooses the path of a still's image before its frame begins.
    if scene.supple.stop_renders and _problems(scene):
        _refuse_images(scene)


def check(scene: bpy.types.Scene) -> None:
    """Check the frames of bodies before a frame is rendered."""
    problems = _problems(scene)
    if problems and scene.supple.stop_renders:
        _log(f"Error: The render stops at frame {scene.frame_current}. {_CURE}")
        _stop(scene)
    else:
        _accept_images(scene)


def check_again(scene: bpy.types.Scene) -> None:
    """Check again after a frame was rendered, since its files may have been deleted meanwhile."""
    _problems(scene)


def end(scene: bpy.types.Scene) -> None:
    """Restore the paths of images after a render, however it ended."""
    _accept_images(scene)


_CURE = (
    "Restore the frames or simulate again. To render anyway, untick Stop Renders under Scene "
    "› Simulation."
)


def _problems(scene: bpy.types.Scene) -> dict[str, str]:
    """Why bodies are without their frames, by their names; unexpected errors go to the log, once
    in a render."""
    problems = {}
    for obj in rendered.objects(scene):
        if problem := rendered.why_without_frames(obj):
            problems[obj.name] = problem
            _log(f"Error: {obj.name} is rendered without its frames: {problem}")
        elif text := _stands_still(obj, scene.frame_current):
            _log(f"Warning: {text}")
    return problems


def _stands_still(obj: bpy.types.Object, frame: int) -> str:
    if not is_soft_body(obj):
        return ""
    if find_modifier(obj) is None:
        return "" if shape_keys.has_bake(obj) else f"{obj.name} is not simulated."
    try:
        last = mesh_cache.last_frame(obj)
    except SuppleError:  # reported as a problem where it is seen
        return ""
    if last is None or frame <= last:
        return ""
    return f"{obj.name} has no frames after frame {last} and stands still."


def _log(text: str) -> None:
    if text not in _logged:
        _logged.add(text)
        print(f"Supple: {legible(text)}", flush=True)


def _stop(scene: bpy.types.Scene) -> None:
    global _is_interrupted
    if not scene.render.is_movie_format:
        _refuse_images(scene)
    elif bpy.app.background and not bpy.app.module and not _is_interrupted:
        # Blender takes note of the first one, and would end at the second.
        _is_interrupted = True
        signal.raise_signal(signal.SIGINT)
    else:
        _log("Warning: Blender cannot be stopped from rendering a film here. Press Esc.")


def _refuse_images(scene: bpy.types.Scene) -> None:
    if not scene.render.is_movie_format:
        _image_paths.setdefault(scene.session_uid, scene.render.filepath)
        # No folder can lie in a file.
        scene.render.filepath = str(Path(__file__) / NO_IMAGE)


def _accept_images(scene: bpy.types.Scene) -> None:
    path = _image_paths.pop(scene.session_uid, None)
    if path is not None:
        scene.render.filepath = path
