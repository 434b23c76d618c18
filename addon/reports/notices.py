# SPDX-License-Identifier: GPL-3.0-or-later
"""Notices about the soft bodies of a scene, with buttons that help."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path

import bpy
import numpy as np

from ...core.errors import JobError
from ...core.job import Job
from ...core.preparation.pins import PinJump, pin_jumps
from .. import driving, ids
from ..bake import own_mesh, shape_keys
from ..cache import cache_moves, packed_frames
from ..capture.body import linked_reason
from ..capture.captured import Capture, CaptureError
from ..capture.objects import is_soft_body, soft_bodies
from ..capture.paint import why_no_group
from ..capture.refined import subdivisions
from ..capture.scene import frame_range, played_range
from ..modifiers import find_modifier
from ..named import named
from ..paths import absolute
from ..playback import mesh_cache, pc2, refined_frames, retimed
from ..units import gravity, is_stretched, metres_per_unit
from . import coarse_meshes, obstacles, outdated

# A ratio to the size of a cell.
_MAX_ROUNDING_RATIO = 1e-3


def far_away(scene: bpy.types.Scene, obj: bpy.types.Object) -> str:
    """The message about rounded positions far from the origin; empty where rounding is invisible.

    The solver counts in double precision, and frames are kept in the object's own space. Blender
    keeps these, and shows them in the world, in single precision.
    """
    box, matrix = np.array(obj.bound_box), np.array(obj.matrix_world)
    scale = float(np.abs(np.linalg.svd(matrix[:3, :3], compute_uv=False)).max())
    world = np.abs(box @ matrix[:3, :3].T + matrix[:3, 3]).max()
    size = float((np.ptp(box, axis=0) * np.linalg.norm(matrix[:3, :3], axis=0)).max())
    allowed = _MAX_ROUNDING_RATIO * size / obj.supple.resolution
    in_world, in_object = _rounding(world), scale * _rounding(np.abs(box).max())
    if max(in_world, in_object) <= allowed or not np.isfinite(world):
        return ""
    unit = metres_per_unit(scene)
    rounding = f"{1e3 * unit * max(in_world, in_object):.2g} mm"
    cell = f"{1e3 * unit * size / obj.supple.resolution:.2g} mm"
    cures = []
    if in_world > allowed:
        cures.append("Move the scene to the world origin")
    if in_object > allowed:
        cures.append("Choose Object > Set Origin > Origin to Geometry")
    return (
        f"{obj.name} is so far from the origin that Blender rounds its positions to "
        f"{rounding}, which can be visible. Its cells measure {cell}. {'. '.join(cures)}."
    )


def _rounding(coordinate: float) -> float:
    return float(np.spacing(np.float32(coordinate)))


# A jump is felt for some frames.
_FRAMES_AFTER = 2


def jumping_pins(captured: Capture) -> Iterator[str]:
    """A message for each body whose pins teleport, with the frame and the cure."""
    for name, group in groupby(pin_jumps(captured.scene), lambda jump: jump.body):
        jumps = list(group)
        frame = captured.start_frame + jumps[0].frame
        yield (
            f"{name}: its pins {_jump_text(jumps[0])} from frame {frame - 1} to "
            f"{frame}{_more_jumps(jumps, captured.start_frame)}. The body is set down there as it "
            "is, unless something is in the way. To have it dragged there, spread the motion over "
            "more frames."
        )


@lru_cache(maxsize=4)
def frames_after_jumps(folder: Path) -> frozenset[int]:
    """The frames of a run, counted from its start, that pins which teleport disturb."""
    try:
        jumps = pin_jumps(Job(folder).scene)
    except JobError:  # not there any more
        return frozenset()
    return frozenset(jump.frame + k for jump in jumps for k in range(_FRAMES_AFTER + 1))


def _jump_text(jump: PinJump) -> str:
    through = f", through {jump.through}," if jump.through else ""
    if jump.turns:
        return f"turn by {math.degrees(jump.angle):.0f}°{through}"
    return f"jump by {jump.distance:.2g} m{through}"


def _more_jumps(jumps: list[PinJump], start: int) -> str:
    if len(jumps) < 2:
        return ""
    frames = ", ".join(str(start + jump.frame) for jump in jumps[1:4])
    more = f" and {len(jumps) - 4} more" if len(jumps) > 4 else ""
    return f", and again at {frames}{more}"


#: The gravity of a new scene, as Blender shows it.
EARTH_M_PER_S2 = 9.81


@dataclass(frozen=True)
class Notice:
    """A message of the sidebar, with the button that helps.

    Args:
        text: the message, with the cure.
        operator: the button that helps, such as ``supple.simulate``; empty where none does.
        name: of the object that the operator is to act on; empty where it takes none.
        is_problem: whether something does not work, rather than does so unexpectedly.
        hint_of: name of the object whose hint the user can dismiss; empty where it stays.
        state: the state of the simulation, as ``outdated`` has it, where the text reports it.
    """

    text: str
    operator: str = ""
    name: str = ""
    is_problem: bool = True
    hint_of: str = ""
    state: str = ""


def notices(context: bpy.types.Context) -> list[Notice]:
    """All notices of a scene, fast enough for panels."""
    objects = soft_bodies(context)
    listed = [notice for obj in objects for notice in _body_notices(context.scene, obj)]
    listed += [Notice(text, is_problem=False) for text in _gravity(context.scene) if objects]
    if any(map(find_modifier, objects)) and (what := outdated.changed_of_scene(context.scene)):
        listed.append(
            Notice(
                f"{context.scene.name} is out of date: {_list('', what)}. Simulate again.",
                ids.SIMULATE,
                state=outdated.state_of(context.scene, what),
            )
        )
    listed += [
        # A linked object cannot be changed.
        Notice(text, ids.ADD_COLLIDER, name, hint_of=name) if obj.is_editable else Notice(text)
        for name, text in _obstacles(context, is_redraw=True)
        for obj in [context.scene.objects[name]]
    ]
    listed += _run_notices(objects)
    if text := outdated.message(context):
        missing = outdated.FRAMES_MISSING
        listed.append(Notice(text, ids.SIMULATE, is_problem=False, state=missing))
    if packed_frames.staying_bodies([context.scene]):
        note = packed_frames.travel_note([context.scene])
        listed.append(Notice(note, ids.PACK_FRAMES, is_problem=False))
    if cache_moves.problem:
        listed.append(Notice(cache_moves.problem))
    return listed


def before_a_run(context: bpy.types.Context) -> list[str]:
    """Messages about settings that work in unexpected ways."""
    return [
        *_frame_step(context.scene),
        *_time_stretching(context.scene),
        *_gravity(context.scene),
        *(text for _, text in _obstacles(context)),
        *(
            text
            for obj in soft_bodies(context)
            for text in (
                *_scenes(context.scene, obj),
                *_mesh(context.scene, obj),
                far_away(context.scene, obj),
                _coarseness(obj),
            )
            if text
        ),
    ]


def _body_notices(scene: bpy.types.Scene, obj: bpy.types.Object) -> Iterator[Notice]:
    if reason := linked_reason(obj):
        yield Notice(reason, ids.MAKE_OVERRIDE, obj.name)
        return
    yield from (
        Notice(text, is_problem=False) for text in (*_scenes(scene, obj), *_mesh(scene, obj))
    )
    if reason := far_away(scene, obj):
        yield Notice(reason, is_problem=False)
    if reason := _coarseness(obj):
        # Subdividing would change the result of a modifier on the mesh.
        button = "" if subdivisions(obj) else ids.SUBDIVIDE
        name = obj.name if button else ""
        yield Notice(reason, button, name, is_problem=False, hint_of=obj.name)
    if shape_keys.has_idle_keys(obj):
        yield Notice(
            f"{obj.name} has shape keys that were added after Bake and have no effect.",
            ids.MAKE_KEYS_WORK,
            obj.name,
        )
    if reason := why_no_group(obj):
        yield Notice(reason)
    modifier = find_modifier(obj)
    if modifier is not None:
        yield from _playback_notices(obj, modifier)
    elif shape_keys.has_bake(obj) and (names := outdated.changed_settings(obj)):
        yield Notice(
            f"The bake of {obj.name} is out of date: {_list('', names)}. Simulate and bake again.",
            ids.SIMULATE,
            is_problem=False,
        )


def _playback_notices(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> Iterator[Notice]:
    problem = (
        mesh_cache.why_not_playing(obj)
        or pc2.why_unreadable(absolute(modifier.filepath))
        or refined_frames.why_still(obj, bpy.context.view_layer.depsgraph)
    )
    if problem:
        text = f"{obj.name} does not play its frames: {problem}"
        yield Notice(text, ids.SIMULATE, state=outdated.FRAMES_MISSING)
        return
    order = list(_order_notices(obj))
    yield from order
    if any(notice.is_problem for notice in order):
        return
    if text := retimed.hint(obj):
        yield Notice(text, is_problem=False)
    if what := outdated.changed(obj):
        yield Notice(
            f"{obj.name} is out of date: {_list('', what)}. Simulate again.",
            ids.SIMULATE,
            state=outdated.state_of(obj, what),
        )
    last = mesh_cache.last_frame(obj)
    if shape_keys.has_bake(obj) and not shape_keys.is_of(obj, mesh_cache.run_of(obj), last or 0):
        yield Notice(f"The bake of {obj.name} is older than its simulation. Bake again.", ids.BAKE)


def _run_notices(objects: list[bpy.types.Object]) -> Iterator[Notice]:
    """Bodies that were not simulated with the others."""
    runs: dict[str, list[str]] = {}
    for obj in objects:
        if run := mesh_cache.run_of(obj).partition("/")[0]:
            runs.setdefault(run, []).append(obj.name)
    if len(runs) < 2:
        return
    with_most, *rest = sorted(runs.values(), key=len, reverse=True)
    names = [name for each in rest for name in each]
    plays = "plays" if len(names) == 1 else "play"
    yield Notice(
        f"{_list('', names)} {plays} another simulation than {with_most[0]}, so that they do "
        "not collide. Simulate again.",
        ids.SIMULATE,
    )


def _order_notices(obj: bpy.types.Object) -> Iterator[Notice]:
    """Modifiers on the other side of the frames than where they do most."""
    now, leading = driving.drivers(obj), driving.leading_drivers(obj)
    for modifier in now[len(leading) :]:
        if modifier.show_viewport:
            yield Notice(
                (
                    f"{modifier.name} of {obj.name} comes before the simulated frames and has no "
                    "effect."
                ),
                ids.ORDER_MODIFIERS,
                obj.name,
            )
            return
    if names := ", ".join(m.name for m in leading[len(now) :] if m.show_viewport):
        yield Notice(
            f"{names} of {obj.name} comes after the simulated frames, so that it only moves "
            "the visible mesh, not the body or its pins.",
            ids.ORDER_MODIFIERS,
            obj.name,
            is_problem=False,
        )


def _obstacles(context: bpy.types.Context, is_redraw: bool = False) -> Iterator[tuple[str, str]]:
    """The name of each mesh in the way, and the text about it."""
    for each in obstacles.find(context, is_redraw):
        bodies = [context.scene.objects[name] for name in each.bodies]
        pass_through = "passes" if len(bodies) == 1 else "pass"
        yield (
            each.name,
            f"{named(bodies)} {pass_through} through {each.name}, which is not a collider. "
            "Press Add Collider to land on it.",
        )


def _frame_step(scene: bpy.types.Scene) -> Iterator[str]:
    if scene.frame_step > 1:
        yield (
            f"The Step {scene.frame_step} under Output › Frame Range only affects playback and "
            "renders. Every frame is simulated. Bake has its own Frame Step."
        )


def _time_stretching(scene: bpy.types.Scene) -> Iterator[str]:
    if not is_stretched(scene):
        return
    try:
        played, simulated = played_range(scene), frame_range(scene)
    except CaptureError:  # Simulate reports it
        return
    yield (
        f"Time Stretching plays the frames {simulated[0]} to {simulated[-1]} of the animation "
        f"as the frames {played[0]} to {played[-1]} of the timeline. Messages use the frame "
        "numbers of keyframes."
    )


def _gravity(scene: bpy.types.Scene) -> Iterator[str]:
    """The message about gravity in a scene with a unit scale."""
    unit, pull = metres_per_unit(scene), math.hypot(*gravity(scene))
    number = round(pull / unit, 2)
    if unit != 1.0 and number == EARTH_M_PER_S2:
        pace = "slow motion" if unit < 1.0 else "a rush"
        yield (
            f"Gravity is {pull:.3g} m/s², since Blender reads its {number} in units of "
            f"{unit:.3g} m: bodies fall in {pace}. Type -{number} m/s² under Scene › Gravity "
            "for the gravity of the Earth."
        )


def _scenes(scene: bpy.types.Scene, obj: bpy.types.Object) -> Iterator[str]:
    others = [other.name for other in obj.users_scene if other != scene]
    if others:
        yield (
            f"{obj.name} is also in {_list('the scene', others)} and plays the same frames "
            "there. To simulate it separately, choose Object > Relations > Make Single User > "
            "Object & Data."
        )


def _mesh(scene: bpy.types.Scene, obj: bpy.types.Object) -> Iterator[str]:
    """The message about a shared mesh, for the first of the scene's bodies that share it."""
    others = own_mesh.sharing_objects(obj)
    shown = (each for each in others if each.name in scene.objects and each.visible_get())
    bodies = list(filter(is_soft_body, shown))
    if not others or any(each.name < obj.name for each in bodies):
        return
    bakes = "each its own mesh" if bodies else "it its own mesh"
    names = sorted(each.name for each in others)
    yield (f"{obj.name} shares its mesh with {_list('', names)}. Bake gives {bakes} until Free.")


def _coarseness(obj: bpy.types.Object) -> str:
    if not coarse_meshes.hides_bending(obj):
        return ""
    if modifiers := subdivisions(obj):
        return (
            f"{obj.name} has too few vertices to bend visibly. Raise the levels of "
            f"{modifiers[0].name}."
        )
    return (
        f"{obj.name} has too few vertices to bend visibly. Press Subdivide, which keeps its shape."
    )


def _list(noun: str, names: list[str]) -> str:
    plural = f"{noun}s" if noun and len(names) > 1 else noun
    return f"{plural} {outdated.listed(names)}".strip()
