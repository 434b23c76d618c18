# SPDX-License-Identifier: GPL-3.0-or-later
"""Supple's actions as functions that wait for the result, for scripts and the command line.

Each returns a sentence for the user and raises SuppleError with one when it cannot be done.
"""

from __future__ import annotations

from collections.abc import Callable

import bpy

from ..core.errors import SuppleError
from ..core.results import RESULTS
from . import modifiers, runs, start_runs
from .bake import own_mesh, shape_keys
from .bake_run import AUTOMATIC, Bake
from .cache import packed_frames, scene_cache
from .capture.objects import all_soft_bodies, soft_bodies
from .fits.fit_run import Fit
from .named import named
from .paths import absolute, portable
from .playback import fields, mesh_cache, pc2, preview, smooth
from .reports import run_reports
from .worker import session

Log = Callable[[str], object]


def simulate(context: bpy.types.Context, log: Log | None = None, may_go_on: bool = False) -> str:
    """Simulates all soft bodies of the scene, or goes on where a simulation was broken off.

    Args:
        may_go_on: whether frames after the last one may play, too, where the run has them.
    """
    return _complete(runs.Simulation(context, may_go_on), context, log)


def tetrahedralize(context: bpy.types.Context, log: Log | None = None) -> str:
    """Fills all soft bodies of the scene and shows their tetrahedra."""
    return _complete(runs.Tetrahedralization(context), context, log)


def find(
    context: bpy.types.Context, obj: bpy.types.Object, tool: str, log: Log | None = None
) -> str:
    """Finds something of a soft body, and sets it.

    Args:
        tool: ``keep_shape``, ``hit_target``, ``match_shape`` or ``follow_keys``, which go by the
            settings of the object.
    """
    return _complete(Fit(context, obj, tool), context, log)


def _complete(run: runs.Run, context: bpy.types.Context, log: Log | None) -> str:
    if log is not None:
        for warning in run.warnings:
            log(f"Warning: {warning}")
    return runs.complete(run, context, log)


def bake(context: bpy.types.Context, step: int = 1, kind: str = AUTOMATIC) -> str:
    """Turns the simulated frames of all soft bodies into shape keys, one every ``step`` frames and
    one at the last, of a kind of ``bake_run.KINDS``."""
    run = Bake(context, step, kind)
    while run.step():
        pass
    return run.finish(context)


def pack_frames(context: bpy.types.Context, is_inside: bool = False) -> str:
    """Makes the open file ready for another machine: frames of all its scenes beside it, or those
    of this scene within it, as a bake."""
    return bake(context) if is_inside else packed_frames.pack_beside(list(bpy.data.scenes))


def pack_notes(context: bpy.types.Context) -> list[str]:
    """Return notes on the files that other machines need to show the scene; none before a
    simulation."""
    return [note] if (note := packed_frames.travel_note([context.scene])) else []


def why_no_bake(context: bpy.types.Context) -> str:
    """The reason why soft bodies cannot be baked, found quickly; empty when they can."""
    playing = dict(mesh_cache.playing(all_soft_bodies(context)))
    if not playing:
        return "Nothing is simulated yet. Press Simulate first."
    return next(filter(None, map(pc2.why_unreadable, playing.values())), "")


def take_start(obj: bpy.types.Object, source: bpy.types.Object, frame: int) -> str:
    """Lets a body start as the simulated frames of another, or its own, are at a frame of the
    animation."""
    modifier = modifiers.find_modifier(source)
    if modifier is None:
        raise SuppleError(f"{source.name} shows no simulated frames. Simulate it first.")
    now, then = len(obj.data.vertices), source.supple.simulated_vertices
    if then and now != then:
        raise SuppleError(
            f"{obj.name} has {now} vertices, and {source.name} had {then} when it was "
            "simulated. Choose a run of the same mesh."
        )
    path = absolute(modifier.filepath)
    last = pc2.frame_count(path) - 1
    sample = min(max(round(modifiers.sample_at(modifier, frame)), 0), last)
    shown = modifiers.first_frame(modifier) + round(sample / (modifier.frame_scale or 1.0))
    simulated = source.supple.simulated_pre_roll + sample
    if simulated == 0:
        raise SuppleError(
            f"{source.name} has not moved yet at frame {shown}, the start of that run. Go to a "
            "later frame."
        )
    props = obj.supple
    props.start_run, props.start_run_frame = portable(path), simulated
    props.start_shape = start_runs.RUN
    return f"{obj.name} starts as {source.name} is at frame {shown}. Simulate again."


def show_field(context: bpy.types.Context, name: str) -> str:
    """Shows a recorded result on all soft bodies, as an attribute and in colours."""
    objects = soft_bodies(context)
    if not objects:
        raise SuppleError("The scene has no soft body, so there is no field to show.")
    colours = fields.show(objects, name, context.scene)
    return (
        f"{RESULTS[name].label}: {colours}. Material Preview, Rendered and renders show the colors."
    )


def hide_field(context: bpy.types.Context) -> str:
    """Takes colours and attributes away again."""
    hidden = [fields.hide(obj) for obj in context.scene.objects if obj.is_editable]
    return "The fields are hidden." if any(hidden) else "No field is shown."


def free(context: bpy.types.Context) -> str:
    """Removes playback, baked keys and previews, and moves the scene's simulated frames on the
    disk to the trash, from which undo takes them back; returns which of them existed."""
    if session.is_running():
        raise SuppleError("A simulation is running. Cancel it with Esc first.")
    scene = context.scene
    editable = [obj for obj in scene.objects if obj.is_editable]
    scene_cache.check_free(scene)
    # Keys first: a mesh that is being edited keeps its own, and then all is kept.
    copies = {obj: obj.data for obj in editable if own_mesh.shared_mesh(obj) is not None}
    baked = [obj for obj in editable if shape_keys.free(obj)]
    edited = [obj for obj, mesh in copies.items() if obj.data == mesh]
    had_frames = scene_cache.free(scene)
    coloured = [obj for obj in editable if fields.hide(obj)]
    played = [obj for obj in editable if mesh_cache.detach(obj)]
    smoothed = [obj for obj in editable if smooth.remove(obj)]
    for obj in editable:
        fields.forget(obj)
    had_preview = preview.remove(scene)
    run_reports.forget(scene)
    removed = [f"the simulated frames of {named(played)}"] if played else []
    removed += ["the simulated frames on the disk"] if had_frames and not played else []
    removed += [f"the baked shape keys of {named(baked)}"] if baked else []
    removed += [f"the colors of {named(coloured)}"] if coloured else []
    removed += [f"the smoothing of {named(smoothed)}"] if smoothed and not played else []
    removed += ["the preview of tetrahedra"] if had_preview else []
    if not removed:
        return "There is nothing to remove."
    *others, last = removed
    message = f"Removed {', '.join(others)} and {last}." if others else f"Removed {last}."
    if edited:
        message += (
            f" These objects keep their own meshes, which were edited after Bake: {named(edited)}."
        )
    if not had_frames:
        return message
    return f"{message} Undo brings them back. Remove Unused Caches deletes them from the disk."


def baked_bodies(scene: bpy.types.Scene) -> list[bpy.types.Object]:
    """Return the objects with baked keys that ``free`` would remove."""
    return [obj for obj in scene.objects if obj.is_editable and shape_keys.has_bake(obj)]


def can_free(scene: bpy.types.Scene) -> bool:
    """Whether ``free`` would find anything in the scene itself."""
    return any(
        modifiers.find_modifier(obj) or shape_keys.has_bake(obj) or obj.supple.is_preview
        for obj in scene.objects
        if obj.is_editable
    )
