# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a scene the solver does not see: each is reported with its cure, not passed over.

Panels ask at every redraw, so nothing is evaluated, and the weights of fine meshes, which take long
to count, are those of the last simulation.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import bpy
import numpy as np

from .. import driving
from ..animated import animated_paths, animated_settings, is_animated
from ..capture import kept_control
from ..capture.absorbers import absorbers
from ..capture.attachments import is_stitch, rows_of
from ..capture.captured import CaptureError
from ..capture.kept_shape import is_kept
from ..capture.motion import may_move
from ..capture.objects import is_collider, is_soft_body, left_out, soft_bodies
from ..capture.paint import label, painted
from ..capture.rest_shape import KEPT, has_shape_keys, rest_keys
from ..capture.scene import simulated_range
from ..capture.start_shape import POSE, can_be_posed
from ..capture.surfaces import group_weights
from ..deforming import CARRYING, keeps_vertices
from ..modifiers import find_modifier
from ..start_runs import RUN
from . import (
    ignored_fields,
    ignored_ground,
    ignored_integrators,
    ignored_keys,
    ignored_motion,
    ignored_switches,
    missing_caches,
)

# Vertices of a mesh, and seconds in all, that a panel may take to count weights.
_FEW_VERTICES, _REDRAW_SECONDS = 20_000, 0.02
# Of the time that panels take, no more than this share goes into counting the weights of one body.
_COUNTING_TIME_RATIO = 0.02


def messages(
    context: bpy.types.Context, is_redraw: bool = False, followed: bpy.types.Object | None = None
) -> list[str]:
    """One for each thing in the scene that a simulation ignores; of a scene without a soft body to
    simulate, those that are left out.

    Args:
        followed: whose animation is to be followed, so that it does count.
    """
    bodies = soft_bodies(context)
    if not bodies:
        return left_out(context)
    end = time.perf_counter() + _REDRAW_SECONDS if is_redraw else math.inf
    frames = _frames(context.scene)
    found = [line for obj in bodies for line in _of_body(obj, end, obj == followed)]
    found += [line for obj in bodies for line in ignored_switches.messages(obj, frames)]
    found += missing_caches.messages(context)
    found += ignored_integrators.messages(context, bodies)
    found += [*_of_scene(context.scene), *_of_others(context)]
    found += ignored_ground.messages(context, bodies, _FEW_VERTICES if is_redraw else math.inf)
    found += ignored_fields.messages(context, frames)
    return [*found, *ignored_keys.messages(context, frames)]


def _frames(scene: bpy.types.Scene) -> range:
    """Those that are simulated; none where simulating reports that there are none."""
    try:
        return simulated_range(scene)
    except CaptureError:
        return range(0)


def _of_body(obj: bpy.types.Object, end: float, is_followed: bool) -> Iterator[str]:
    yield from _deformations(obj)
    yield from _weights(obj, end)
    yield from _paint(obj.supple)
    yield from _settings(obj, animated_paths(obj))
    yield from _start(obj)
    yield from _unused_animation(obj)
    yield from _rest_shape(obj)
    yield from ignored_motion.messages(obj, is_followed)
    if obj.rigid_body is not None:
        yield f"{obj.name}: its rigid body is ignored. Remove it under Physics."


def _start(obj: bpy.types.Object) -> Iterator[str]:
    props = obj.supple
    if props.start_shape == POSE and not can_be_posed(obj):
        yield (
            f"{obj.name}: nothing poses it, since it has neither modifiers that bend it before the "
            "frames nor shape keys beside those of its Rest Shape. Choose At Rest under Start, or "
            "add some."
        )
    if props.start_shape != RUN:
        return
    if props.start_from_animation or any((*props.start_velocity, *props.start_spin)):
        yield (
            f"{obj.name}: the velocity under Start is ignored, since it goes on as fast as it was "
            "in the run that it starts from. Set it to 0, or choose another Shape."
        )
    if props.use_plasticity:
        yield (
            f"{obj.name}: what gave way in the run that it starts from springs back, since it goes "
            "on from its shape alone. Switch Plasticity off, or simulate on to the end in one run."
        )


def _unused_animation(obj: bpy.types.Object) -> Iterator[str]:
    props = obj.supple
    if props.start_from_animation and props.start_shape != RUN and not may_move(obj):
        yield (
            f"{obj.name}: it starts at rest, since From Animation under Start finds no animation. "
            "Key its place before the start frame, or set a velocity there."
        )
    if "target_volume" in animated_settings(obj) and not props.use_target_volume:
        yield (
            f"{obj.name}: the animation of Target Volume is ignored, since that is not ticked "
            "under Forces. Tick it, or remove the keys."
        )
    if kept_control.kept_by(obj) == "pins" and not props.pin_group:
        yield (
            f"{obj.name}: the motion of its pins that Follow My Keys found is ignored, since it "
            "has none any more. Choose a Pin Group, or press Let Go of Keys under Find."
        )


def _rest_shape(obj: bpy.types.Object) -> Iterator[str]:
    if obj.supple.rest_shape == KEPT and not is_kept(obj):
        yield (
            f"{obj.name}: its Rest Shape is Kept, and none was found yet. Press Keep This Shape "
            "under Find, or choose Modelled."
        )
    keys = rest_keys(obj) if has_shape_keys(obj) else []
    if keys and not is_animated(obj.data.shape_keys) and all(key.value == 0.0 for key in keys):
        yield (
            f"{obj.name}: its Rest Shape is its shape keys, and all of them stay at 0. Key their "
            "values, or choose Modelled."
        )


def _deformations(obj: bpy.types.Object) -> Iterator[str]:
    playback = find_modifier(obj)
    changing = ""
    for modifier in driving.refiners(obj):
        if not modifier.show_viewport:
            continue
        # What could stand before the frames is for ``notices``, which have the button.
        if modifier.type in CARRYING and changing:
            yield (
                f"{obj.name}: the modifier {modifier.name} does not move the solid, only what is "
                f"seen of the result, since {changing} before it changes the number of vertices. "
                f"Move it before {changing}, or apply it."
            )
        elif modifier.type in CARRYING and playback is None and modifier.use_pin_to_last:
            yield (
                f"{obj.name}: the modifier {modifier.name} does not move the solid, only what is "
                "seen of the result, since it is pinned to last. Unpin it, or apply it."
            )
        if not keeps_vertices(modifier):
            changing = changing or modifier.name


def _weights(obj: bpy.types.Object, end: float) -> Iterator[str]:
    props, rows = obj.supple, [row for _, row in rows_of(obj.supple)]
    found = [(obj, row.attach_group, "Attach") for row in rows]
    found += [(row.attach_to, row.stitch_group, "Other Group") for row in rows if is_stitch(row)]
    rule = "Above 0.5 counts wholly, the rest not at all; paint 0 or 1."
    rules = dict.fromkeys(found, rule)
    if props.jiggle_group:
        rule = "Beside what jiggles 1 holds and less does nothing; paint 1 or 0."
        rules[obj, props.pin_group, "Pin Group"] = rule
    for (owner, name, setting), rule in rules.items():
        group = owner.vertex_groups.get(name)
        count = 0 if group is None else _partial_weights(owner, group, end)
        if count:
            vertices = "1 vertex has" if count == 1 else f"{count} vertices have"
            weight = f"a weight between 0 and 1 in {setting} {name!r}"
            yield f"{owner.name}: {vertices} {weight}. {rule}"


def has_partial_weights(obj: bpy.types.Object, name: str) -> bool:
    """Whether vertices are in a group by a part, or may be where a redraw cannot find out."""
    group = obj.vertex_groups.get(name)
    if group is not None and len(obj.data.vertices) > _FEW_VERTICES:
        return True
    end = time.perf_counter() + _REDRAW_SECONDS
    return group is not None and _partial_weights(obj, group, end) > 0


def _paint(props: bpy.types.PropertyGroup) -> Iterator[str]:
    for setting, name in painted(props):
        text = label(props, setting)
        if setting == "yield_stress" and not props.use_plasticity:
            yield (
                f"{props.id_data.name}: {name!r} paints its {text}, and Plasticity is off. Switch "
                "it on, or clear the field under Paint."
            )
        elif getattr(props, setting) == 0.0 and setting not in animated_settings(props.id_data):
            yield (
                f"{props.id_data.name}: {name!r} paints its {text}, which is 0 everywhere. Set "
                f"{text} above 0, or clear the field under Paint."
            )


def _settings(owner: bpy.types.ID, paths: set[str]) -> Iterator[str]:
    for path in sorted(paths):
        prefix, _, name = path.partition(".")
        setting = owner.supple.bl_rna.properties.get(name) if prefix == "supple" else None
        if setting is not None and not setting.is_animatable:
            yield (
                f"{owner.name}: the animation of {setting.name} is ignored; the value it has now "
                "counts throughout. Remove its keys or driver."
            )


def _of_scene(scene: bpy.types.Scene) -> Iterator[str]:
    yield from _settings(scene, animated_paths(scene))


def _of_others(context: bpy.types.Context) -> Iterator[str]:
    absorbing = absorbers(context)
    for obj in context.view_layer.objects:
        if is_collider(obj) and not obj.visible_get():
            yield f"{obj.name} is a collider and hidden, so nothing lands on it. Show it."
        if _is_blenders_collider(obj) and obj.visible_get() and obj not in absorbing:
            yield (
                f"{obj.name}: soft bodies do not see Blender's Collision physics. Tick Collider "
                "in the tab Supple."
            )
    yield from left_out(context)


def _is_blenders_collider(obj: bpy.types.Object) -> bool:
    if not any(modifier.type == "COLLISION" for modifier in obj.modifiers):
        return False
    return not is_soft_body(obj) and not is_collider(obj)


# Counting weights takes milliseconds for each ten thousand vertices.

_counts: dict[tuple[int, str], tuple[int, float]] = {}


def _partial_weights(obj: bpy.types.Object, group: bpy.types.VertexGroup, end: float) -> int:
    """How many vertices are in the group by a part, counted anew unless that is too much now."""
    key, now = (obj.session_uid, group.name), time.perf_counter()
    count, due = _counts.get(key, (0, 0.0))
    is_redraw = end < math.inf
    too_much = now > end or now < due or len(obj.data.vertices) > _FEW_VERTICES
    if not (is_redraw and too_much):
        weights = group_weights(obj, group)
        count = int(np.count_nonzero((weights > 0.0) & (weights < 1.0)))
        took = time.perf_counter() - now
        _counts[key] = (count, now + took / _COUNTING_TIME_RATIO)
    return count
