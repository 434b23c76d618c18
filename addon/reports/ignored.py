# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of a scene that the solver ignores, each reported with its cure.

Panels read this at every redraw, so nothing is evaluated, and the weights of fine meshes, which
take long to count, are those of the last simulation.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...core.scene.integrator_table import INTEGRATORS
from .. import driving
from ..animated import (
    ANIMATION,
    GRAVITY,
    SETTINGS,
    animated_paths,
    animated_settings,
    curve_of,
    is_animated,
    movers,
    own_curves,
)
from ..bake import shape_keys
from ..capture import contact, control
from ..capture.attachments import is_stitch, rows_of
from ..capture.body import can_be_posed
from ..capture.captured import CaptureError
from ..capture.force_fields import ABSORPTION, absorbers, acts
from ..capture.motion import may_move
from ..capture.objects import is_collider, is_soft_body, left_out, shown_colliders, soft_bodies
from ..capture.paint import label, painted
from ..capture.rest_shape import has_shape_keys, is_kept, rest_keys
from ..capture.scene import simulated_range
from ..capture.surfaces import group_weights
from ..driving import CARRYING, keeps_vertices
from ..modifiers import find_modifier
from ..properties import material_sets
from ..settings.object import KEPT
from ..start_runs import POSE, RUN
from . import ignored_objects

# Vertices of a mesh, and seconds in all, that a panel may take to count weights.
_FEW_VERTICES, _REDRAW_SECONDS = 20_000, 0.02
# The share of the panels' time that may go into counting the weights of one body.
_COUNTING_TIME_RATIO = 0.02


@dataclass(frozen=True)
class Need:
    """A condition without which settings have no effect, or an unexpected one.

    Args:
        settings: their names.
        is_missing: whether they are set without their requirement, by the object or scene and the
            integrator.
        text: the effect, and the cure; ``{integrator}`` stands for its label.
    """

    settings: tuple[str, ...]
    is_missing: Callable[[Any, str], bool]
    text: str


BODY_NEEDS = (
    Need(
        ("material_set",),
        lambda obj, _: bool(obj.supple.material_set and material_sets.differing(obj)),
        "another body of its Material Set has other values, as one from another file may. Change "
        "a value to give all of them those of this body, or press Make Single User.",
    ),
    Need(
        ("start_shape",),
        lambda obj, _: obj.supple.start_shape == POSE and not can_be_posed(obj),
        "Pose under Start has no effect, since neither modifiers before the frames nor shape "
        "keys pose it. Choose At Rest under Start, or add some.",
    ),
    Need(
        ("start_velocity", "start_spin", "start_from_animation"),
        lambda obj, _: obj.supple.start_shape == RUN and _is_thrown(obj.supple),
        "the velocity under Start is ignored, since the body starts with the velocity of "
        "another run. Set it to 0, or choose another Shape.",
    ),
    Need(
        ("use_plasticity",),
        lambda obj, _: obj.supple.start_shape == RUN and obj.supple.use_plasticity,
        "plastic deformation of the run that it starts from is lost. Turn Plasticity off, or "
        "simulate to the end in one run.",
    ),
    Need(
        ("start_from_animation",),
        lambda obj, _: (
            obj.supple.start_from_animation and obj.supple.start_shape != RUN and not may_move(obj)
        ),
        "it starts at rest, since From Animation under Start finds no animation. Key its "
        "location before the start frame, or set a velocity.",
    ),
    Need(
        ("target_volume",),
        lambda obj, _: (
            "target_volume" in animated_settings(obj) and not obj.supple.use_target_volume
        ),
        "the animation of Target Volume is ignored, since Target Volume is not ticked under "
        "Forces. Tick it, or remove the keys.",
    ),
    Need(
        ("kept_control",),
        lambda obj, _: control.kept_by(obj) == "pins" and not obj.supple.pin_group,
        "the pin motion from Follow My Keys is ignored, since it has no Pin Group. Choose "
        "one, or press Let Go of Keys under Goals.",
    ),
    Need(
        ("pinned",),
        lambda obj, _: curve_of(obj, "pinned") is not None and not obj.supple.pin_group,
        "the keys of Pinned are ignored, since it has no Pin Group. Choose one under Pins, or "
        "remove the keys.",
    ),
    Need(
        ("rest_shape",),
        lambda obj, _: obj.supple.rest_shape == KEPT and not is_kept(obj),
        "its Rest Shape is Kept, and there is no kept shape yet. Press Keep This Shape under "
        "Goals, or choose Modelled.",
    ),
    Need(
        ("rest_shape",),
        lambda obj, _: has_shape_keys(obj) and _are_still(obj),
        "its Rest Shape is Shape Keys, and all shape keys stay at 0. Key their values, or "
        "choose Modelled.",
    ),
    Need(
        ("loss_factor", "stiffness_damping", "viscosity"),
        lambda obj, taken: (
            not INTEGRATORS[taken].supports_viscosity
            and any(
                getattr(obj.supple, name)
                for name in ("loss_factor", "stiffness_damping", "viscosity")
            )
        ),
        "{integrator} ignores Loss Factor, Stiffness Damping and Viscosity. Set them to 0, or "
        "choose another integrator.",
    ),
    Need(
        ("jiggle_group",),
        lambda obj, taken: (
            not INTEGRATORS[taken].supports_plasticity and bool(obj.supple.jiggle_group)
        ),
        "{integrator} does not support Jiggle: the body sags and keeps its shape of the first "
        "frame. Choose another integrator.",
    ),
    Need(
        ("use_plasticity",),
        lambda obj, taken: not INTEGRATORS[taken].supports_plasticity and obj.supple.use_plasticity,
        "{integrator} ignores Plasticity. Turn it off, or choose another integrator.",
    ),
    Need(
        (),
        lambda obj, _: obj.rigid_body is not None,
        "its Rigid Body physics is ignored. Remove it under Physics.",
    ),
)
SCENE_NEEDS = (
    Need(
        ("substeps",),
        lambda scene, taken: scene.supple.substeps > 0 and INTEGRATORS[taken].is_adaptive,
        "Substeps is ignored, since {integrator} chooses its steps by the Tolerance. Set it "
        "to 0, or choose another integrator.",
    ),
    Need(
        ("friction_updates",),
        lambda scene, taken: (
            scene.supple.friction_updates > 0
            and scene.supple.contact != contact.NEVER
            and INTEGRATORS[taken].supports_contact
            and not (INTEGRATORS[taken].is_implicit or taken == "automatic")
        ),
        "Friction Passes is ignored, since {integrator} computes friction once per step. Set "
        "it to 0, or choose Automatic or Implicit Euler.",
    ),
    Need(
        (),
        lambda scene, _: bool(_stored(scene.supple).get("precision")),
        "the file was made with single precision, which the solver no longer has. It computes in "
        "double precision; saved frames of before are simulated again.",
    ),
)


def _stored(props: bpy.types.PropertyGroup) -> Any:
    """Return the stored values of settings, including settings that no longer exist."""
    read = getattr(props, "bl_system_properties_get", None)  # since Blender 5.0
    return props if read is None else read() or {}


def messages(
    context: bpy.types.Context, is_redraw: bool = False, followed: bpy.types.Object | None = None
) -> list[str]:
    """A message for each part of the scene that a simulation ignores. In a scene without soft
    bodies to simulate, the messages name those that are left out.

    Args:
        followed: an object with animation that is to be followed, and is thus not ignored.
    """
    bodies = soft_bodies(context)
    if not bodies:
        return left_out(context)
    end = time.perf_counter() + _REDRAW_SECONDS if is_redraw else math.inf
    frames = _frames(context.scene)
    integrator = context.scene.supple.integrator
    texts = [
        line for obj in bodies for line in _body_messages(obj, integrator, end, obj == followed)
    ]
    texts += [line for obj in bodies for line in switch_messages(obj, frames)]
    texts += ignored_objects.missing_caches(context)
    texts += [*_scene_messages(context, bodies), *_other_messages(context)]
    texts += ignored_objects.colliders_below_ground(
        context, bodies, _FEW_VERTICES if is_redraw else math.inf
    )
    texts += ignored_objects.force_fields(context, frames)
    return [*texts, *keys_at_other_frames(context, frames)]


def _frames(scene: bpy.types.Scene) -> range:
    """The simulated frames; empty where simulating reports that there are none."""
    try:
        return simulated_range(scene)
    except CaptureError:
        return range(0)


def _body_messages(
    obj: bpy.types.Object, taken: str, end: float, is_followed: bool
) -> Iterator[str]:
    yield from _deformations(obj)
    yield from _weights(obj, end)
    yield from _paint(obj.supple)
    yield from _settings(obj, animated_paths(obj))
    for need in BODY_NEEDS:
        if need.is_missing(obj, taken):
            yield f"{obj.name}: {need.text.format(integrator=INTEGRATORS[taken].label)}"
    yield from motion_without_pins(obj, is_followed)


def _is_thrown(props: bpy.types.PropertyGroup) -> bool:
    return props.start_from_animation or any((*props.start_velocity, *props.start_spin))


def _are_still(obj: bpy.types.Object) -> bool:
    """Whether the shape keys that a body rests in stay at 0."""
    keys = rest_keys(obj)
    is_zero = all(key.value == 0.0 for key in keys)
    return bool(keys) and is_zero and not is_animated(obj.data.shape_keys)


def _deformations(obj: bpy.types.Object) -> Iterator[str]:
    playback = find_modifier(obj)
    changing = ""
    for modifier in driving.refiners(obj):
        if not modifier.show_viewport:
            continue
        # ``notices`` reports modifiers that could stand before the frames, since it has the button.
        if modifier.type in CARRYING and changing:
            yield (
                f"{obj.name}: the modifier {modifier.name} only changes the visible mesh and "
                f"does not move the body, since {changing} before it changes the number of "
                f"vertices. Move it before {changing}, or apply it."
            )
        elif modifier.type in CARRYING and playback is None and modifier.use_pin_to_last:
            yield (
                f"{obj.name}: the modifier {modifier.name} only changes the visible mesh and "
                "does not move the body, since it is pinned to last. Unpin it, or apply it."
            )
        if not keeps_vertices(modifier):
            changing = changing or modifier.name


def _weights(obj: bpy.types.Object, end: float) -> Iterator[str]:
    props, rows = obj.supple, [row for _, row in rows_of(obj.supple)]
    groups = [(obj, row.attach_group, "Attach") for row in rows]
    groups += [(row.attach_to, row.stitch_group, "Other Group") for row in rows if is_stitch(row)]
    rule = "Weights above 0.5 count as 1, others as 0. Paint 0 or 1."
    rules = dict.fromkeys(groups, rule)
    if props.jiggle_group:
        rule = "With Jiggle, only a weight of 1 pins. Paint 1 or 0."
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
                f"{props.id_data.name}: {name!r} paints its {text}, and Plasticity is off. "
                "Turn it on, or clear the field under Paint."
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
                f"{owner.name}: the animation of {setting.name} is ignored, and the current "
                "value is used at all frames. Remove its keys or driver."
            )


def _scene_messages(context: bpy.types.Context, bodies: list[bpy.types.Object]) -> Iterator[str]:
    scene, integrator = context.scene, context.scene.supple.integrator
    for need in SCENE_NEEDS:
        if need.is_missing(scene, integrator):
            yield f"{scene.name}: {need.text.format(integrator=INTEGRATORS[integrator].label)}"
    if reason := _why_through_itself(context, bodies):
        yield f"{bodies[0].name} does not collide with itself, since {reason}"
    yield from _settings(scene, animated_paths(scene))


def _why_through_itself(context: bpy.types.Context, bodies: list[bpy.types.Object]) -> str:
    """The reason why a single body does not collide with itself, and the cure."""
    scene, props = context.scene, context.scene.supple
    is_off = props.contact == contact.NEVER or not props.self_contact
    if is_off or len(bodies) > 1 or bodies[0].supple.jiggle_group:
        return ""
    if not contact.is_possible(scene):
        return (
            f"{INTEGRATORS[props.integrator].label} only supports collisions with the ground "
            "and spheres. Choose Automatic or Implicit Euler, or set Contact to Never."
        )
    is_bouncy = props.use_ground and props.ground_response == "projection"
    if is_bouncy and not contact.is_wanted(scene, bodies, shown_colliders(context)):
        return (
            "a ground with the Response Bouncy excludes other contact. Choose Smooth, or "
            "untick Self Contact."
        )
    return ""


def _other_messages(context: bpy.types.Context) -> Iterator[str]:
    absorbing = absorbers(context)
    for obj in context.view_layer.objects:
        if is_collider(obj) and not obj.visible_get():
            yield f"{obj.name} is a hidden collider, so that nothing lands on it. Show it."
        if _is_blenders_collider(obj) and obj.visible_get() and obj not in absorbing:
            yield (
                f"{obj.name}: soft bodies ignore Blender's Collision physics. Tick Collider in "
                "the Supple tab."
            )
    yield from left_out(context)


def _is_blenders_collider(obj: bpy.types.Object) -> bool:
    if not any(modifier.type == "COLLISION" for modifier in obj.modifiers):
        return False
    return not is_soft_body(obj) and not is_collider(obj)


# Counting weights takes milliseconds for each ten thousand vertices.

_counts: dict[tuple[int, str], tuple[int, float]] = {}


def _partial_weights(obj: bpy.types.Object, group: bpy.types.VertexGroup, end: float) -> int:
    """The number of vertices with a weight between 0 and 1, counted again if time allows."""
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


def keys_at_other_frames(context: bpy.types.Context, frames: range) -> Iterator[str]:
    """A message for each setting that only changes outside the simulated frames, with the cure.

    ``switch_messages`` has those of switches.
    """
    scene = context.scene
    if not frames:
        return
    for obj in soft_bodies(context):
        yield from _owner_messages(obj, (SETTINGS,), frames)
    for obj in context.view_layer.objects:
        if acts(scene, obj):
            yield from _owner_messages(obj, ("field.",), frames)
    for obj in absorbers(context):
        yield from _owner_messages(obj, (ABSORPTION,), frames)
    yield from _owner_messages(scene, (*GRAVITY, SETTINGS), frames)


def _owner_messages(owner: bpy.types.ID, paths: tuple[str, ...], frames: range) -> Iterator[str]:
    outside: dict[str, str] = {}
    for curve in own_curves(owner):
        if (
            not curve.data_path.startswith(paths)
            or _setting(owner, curve.data_path).type == "BOOLEAN"
        ):
            continue
        if side := _side(curve, frames):
            outside.setdefault(curve.data_path, side)
    for path, side in outside.items():
        name = _setting(owner, path).name
        yield (
            f"{owner.name}: all keys of {name} are {side}, so that it does not change. Move "
            "the keys, or change the frame range."
        )


def _side(curve: bpy.types.FCurve, frames: range) -> str:
    """The side of the simulated frames on which all keys of a curve lie; empty where some lie
    inside."""
    points = curve.keyframe_points
    if curve.extrapolation == "LINEAR" or len(curve.modifiers):
        return ""
    if all(point.co.y == points[0].co.y for point in points):
        return ""
    first, last = curve.range()
    if first >= frames[-1]:
        return f"after the end frame {frames[-1]}"
    return f"before the start frame {frames[0]}" if last <= frames[0] else ""


def _setting(owner: bpy.types.ID, path: str) -> bpy.types.Property:
    prefix, _, name = path.rpartition(".")
    settings = owner.path_resolve(prefix) if prefix else owner
    return settings.bl_rna.properties[name]


def switch_messages(obj: bpy.types.Object, frames: range) -> Iterator[str]:
    """Yield messages about keys of attachments that have no effect: stitches let go once, and for
    good.

    Args:
        obj: a soft body.
        frames: that are simulated.
    """
    if obj.supple.pin_group:
        yield from _switch_messages(obj, "pinned", "Pinned", frames)
    for row, props in rows_of(obj.supple):
        path = f"{row}.attached" if row else "attached"
        label = f"Attached to {props.attach_to.name}"
        yield from _switch_messages(obj, path, label, frames, may_grip=not is_stitch(props))


def _switch_messages(
    obj: bpy.types.Object, path: str, label: str, frames: range, may_grip: bool = True
) -> Iterator[str]:
    curve = curve_of(obj, path)
    if curve is None:
        return
    off = [frame for frame in frames if curve.evaluate(frame) < 0.5]
    if not off:
        keys = [point.co[0] for point in curve.keyframe_points if point.co[1] < 0.5]
        if keys:
            yield (
                f"{obj.name}: {label} is keyed off at frame {keys[0]:g}, outside the simulated "
                f"frames {frames[0]} to {frames[-1]}, and never lets go. Move the key."
            )
        return
    on = [frame for frame in range(off[0], frames[-1] + 1) if curve.evaluate(frame) >= 0.5]
    if on and not may_grip:
        yield (
            f"{obj.name}: {label} is keyed on again at frame {on[0]}, which is ignored, since "
            f"stitches let go for good, here at frame {off[0]}. Remove the later key, or choose "
            "the type In Place."
        )
    elif on:
        return
    elif off[0] == frames[0]:
        yield (
            f"{obj.name}: {label} is already keyed off at the start frame {frames[0]} and "
            "never holds. Move the key to a later frame, or remove it."
        )


# Its own shape keys, as messages name them.
_KEYS = "its shape keys"


def motion_without_pins(obj: bpy.types.Object, is_followed: bool) -> Iterator[str]:
    """Messages about animation that moves or deforms a soft body without pins, each with the cure.

    Args:
        is_followed: whether a search is for how it follows its animation.
    """
    props = obj.supple
    if props.pin_group or props.jiggle_group or control.kept_by(obj) or is_followed:
        return
    carrying = [] if props.start_from_animation else movers(obj)
    cures = ["Press Jiggle", "choose a Pin Group"]
    if bending := [*_moving_keys(obj), *driving.followers(obj)]:
        names = [*carrying, f"the motion of {', '.join(bending)}"]
        cures.append("apply what deforms it")
    elif carrying:
        names, is_keyed = carrying, ANIMATION in carrying
        cures.append("tick From Animation under Start")
        if is_keyed:
            cures.append("press Follow My Keys under Goals")
        cures.append("remove the keys" if is_keyed else "remove its parent or constraint")
    else:
        return
    yield (
        f"{obj.name}: {_moves(names)} only its pins, and it has no Pin Group. "
        f"{', '.join(cures[:-1])}, or {cures[-1]}."
    )


def _moves(names: list[str]) -> str:
    return f"{' and '.join(names)} {'moves' if len(names) == 1 else 'move'}"


def _moving_keys(obj: bpy.types.Object) -> list[str]:
    """The shape keys as a moving part, where keys of the user bend the body and are animated."""
    keys, record = obj.data.shape_keys, shape_keys.record(obj)
    if keys is None or has_shape_keys(obj) or (record and not keys.use_relative):
        return []
    paths = animated_paths(keys)
    if not record.get("relative", keys.use_relative):
        return [_KEYS] if "eval_time" in paths else []
    blocks = [
        block
        for block in keys.key_blocks
        if not shape_keys.is_supple_key(block)
        and (not block.mute or block.name in record.get("muted", ()))
    ]
    values = {f'key_blocks["{bpy.utils.escape_identifier(each.name)}"].value' for each in blocks}
    return [] if paths.isdisjoint(values) else [_KEYS]


def why_unrecorded(context: bpy.types.Context, name: str) -> str:
    """Why a result cannot be recorded of a scene, or would be 0 everywhere, and the cure; empty
    where it can be."""
    if name == "contact_pressure":
        return _no_contact_pressure(context)
    if name == "plastic_strain":
        return _no_plastic_strain(context)
    return ""


def _no_contact_pressure(context: bpy.types.Context) -> str:
    props = context.scene.supple
    passes_through = props.contact == "never"
    if props.use_ground and props.ground_response == "projection":
        return "A bouncy ground has no pressure. Set Response to Smooth under Ground."
    if passes_through and shown_colliders(context):
        cure = props.bl_rna.properties["contact"].enum_items["automatic"].name
        return f"Without contact, colliders have no pressure. Set Contact to {cure}."
    if passes_through and not props.use_ground:
        return "There is no pressure without ground and contact."
    return ""


def _no_plastic_strain(context: bpy.types.Context) -> str:
    bodies = soft_bodies(context)
    if not bodies or any(body.supple.use_plasticity for body in bodies):
        return ""
    return "No soft body has Plasticity."
