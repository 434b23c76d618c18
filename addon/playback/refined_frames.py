# SPDX-License-Identifier: GPL-3.0-or-later
"""Show the mesh that collides, as modifiers make it of the frames and as the body carries it.

Otherwise they would shape it again from the frames of the object's own vertices, with a different
result. Blender does so where it makes another number of points than was simulated, and shows these
frames no more. Modifiers that make another number of vertices from a bent mesh get the mesh at
rest: the object's own frames are then switched off, and kept for a bake.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

from .. import driving
from ..capture.captured import CapturedObject
from ..modifiers import REFINED, find_modifier, find_refined, new_cache, removed
from ..paths import absolute, portable
from . import pc2, timing

# The end of the name of a file whose mesh is made of the object's mesh at the start.
_OF_REST = "_of_rest"


def paths(folder: Path, index: int, body: CapturedObject) -> list[Path]:
    """Return the playback files of the refined meshes of a body, the ``index``-th of its job."""
    end = _OF_REST if body.is_of_rest else ""
    return [folder / f"{index}_{visible_in}{end}.pc2" for visible_in in body.refined]


def attach(obj: bpy.types.Object, paths: Sequence[Path], first: int) -> None:
    """Let an object play these files and no others, unless it does already.

    Args:
        first: the scene frame of their first sample.
    """
    portable_paths = [portable(path) for path in paths]
    there = {modifier.filepath: modifier for modifier in find_refined(obj)}
    if there.keys() - portable_paths:
        detach(obj)
        there.clear()
    before = [other for other in driving.refiners(obj) if not other.use_pin_to_last]
    for path in portable_paths:
        modifier = there.get(path) or new_cache(obj, REFINED)
        if modifier.filepath != path:
            modifier.filepath = path
        timing.place(obj, modifier, first)
        driving.move_behind(obj, modifier, before)
        before.append(modifier)
    if len(there) < len(portable_paths):
        update(obj)


def update(obj: bpy.types.Object) -> None:
    """Shows them unless the frames are smoothed: of that, the modifiers themselves make more."""
    are_shown, playback = obj.supple.smooth == 0, find_modifier(obj)
    for modifier in find_refined(obj):
        visible_in = _name(modifier).partition("_")[2].removesuffix(_OF_REST)
        modifier.show_viewport = are_shown and visible_in != "renders"
        modifier.show_render = are_shown and visible_in != "viewport"
        if _is_of_rest(modifier) and playback is not None:
            playback.show_viewport = playback.show_render = not are_shown


def detach(obj: bpy.types.Object) -> bool:
    """Removes them; False when there were none."""
    modifiers, playback = find_refined(obj), find_modifier(obj)
    if playback is not None and any(map(_is_of_rest, modifiers)):
        playback.show_viewport = playback.show_render = True
    return sum(removed(obj, modifier) for modifier in modifiers) > 0


def why_still(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph | None) -> str:
    """The reason why the visible mesh of an object does not move; empty where it moves."""
    path = _shown_path(obj)
    if path is None or depsgraph is None or not any(map(_is_of_rest, find_refined(obj))):
        return ""
    if problem := pc2.why_unreadable(path):
        return problem
    now, counted = len(obj.evaluated_get(depsgraph).data.vertices), pc2.point_count(path)
    if now == counted:
        return ""
    return (
        f"{obj.name} has {now} vertices after its modifiers and had {counted} when it was "
        "simulated. Simulate again, or undo the change to its modifiers."
    )


def shown(obj: bpy.types.Object) -> NDArray[np.float32] | None:
    """Return (F, R, 3) frames of the mesh in the viewport, in the object's own space; None where
    the viewport shows the result of modifiers on the frames.

    Raises:
        SuppleError: when they cannot be read.
    """
    path = _shown_path(obj)
    return None if path is None else pc2.read(path)


def shown_points(obj: bpy.types.Object) -> int | None:
    """The number of points of the refined frames; None without frames that can be read."""
    path = _shown_path(obj)
    return None if path is None or pc2.why_unreadable(path) else pc2.point_count(path)


def _shown_path(obj: bpy.types.Object) -> Path | None:
    shown = (modifier for modifier in find_refined(obj) if modifier.show_viewport)
    modifier = next(shown, None)
    return None if modifier is None else absolute(modifier.filepath)


def _is_of_rest(modifier: bpy.types.Modifier) -> bool:
    return _name(modifier).endswith(_OF_REST)


def _name(modifier: bpy.types.Modifier) -> str:
    return Path(bpy.path.basename(modifier.filepath)).stem
