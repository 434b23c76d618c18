# SPDX-License-Identifier: GPL-3.0-or-later
"""The settings of objects and scenes as Blender keeps them in the .blend file."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import BoolProperty, CollectionProperty, IntProperty, StringProperty

from ...core.materials import bounce
from ...core.results import RESULTS
from ..capture.attachments import is_stitch
from ..capture.objects import is_collider, is_soft_body
from ..capture.paint import can_paint
from ..playback import refined_frames, smooth, timing
from ..settings import properties
from ..settings.object import ATTACHMENT, OBJECT, PAINTED, SOURCE
from ..settings.scene import SCENE
from . import material_sets
from .presets import PRESET_SETTINGS
from .takes import SuppleTake


def can_hold(props: bpy.types.PropertyGroup, obj: bpy.types.Object) -> bool:
    """Whether the owner of these settings may be attached to an object."""
    if is_stitch(props):
        return is_soft_body(obj)
    return obj != props.id_data and (is_soft_body(obj) or is_collider(obj))


def _can_show(props: bpy.types.PropertyGroup, obj: bpy.types.Object) -> bool:
    return obj.type == "MESH" and obj != props.id_data


def _is_another(props: bpy.types.PropertyGroup, obj: bpy.types.Object) -> bool:
    return obj != props.id_data


def _show_smoothed(props: bpy.types.PropertyGroup, _: bpy.types.Context) -> None:
    smooth.update(props.id_data)
    refined_frames.update(props.id_data)


def _play(props: bpy.types.PropertyGroup, _: bpy.types.Context) -> None:
    timing.update(props.id_data)


def _paint_choices(props: bpy.types.PropertyGroup, _context: object, _text: str) -> list[str]:
    obj = props.id_data
    attributes = [each.name for each in obj.data.attributes if can_paint(each)]
    return [group.name for group in obj.vertex_groups] + attributes


def _recorded(name: str) -> Any:
    """A tick for one of the results: of a menu of several, Blender's buttons each switch off the
    others."""

    def is_ticked(props: bpy.types.PropertyGroup) -> bool:
        return name in props.results

    def tick(props: bpy.types.PropertyGroup, is_on: bool) -> None:
        props.results = props.results | {name} if is_on else props.results - {name}

    row = RESULTS[name]
    return BoolProperty(
        name=row.label, description=row.description, get=is_ticked, set=tick, options=set()
    )


def _elasticity(props: bpy.types.PropertyGroup) -> tuple[float, float, float]:
    """Stiffness, Poisson's ratio and density of a body, for its rebound.

    The panel also reads the rebound for a stiffness or a density of 0, which is refused later.
    """
    return max(props.young, 1e-3), props.poisson, max(props.density, 1e-3)


def _bounciness(props: bpy.types.PropertyGroup) -> float:
    return 100.0 * bounce.bounciness(props.loss_factor, *_elasticity(props))


def _set_bounciness(props: bpy.types.PropertyGroup, percent: float) -> None:
    # Blender leaves the limits of such a property to it.
    share = 0.01 * min(max(percent, 1.0), 100.0)
    props.loss_factor = bounce.loss_factor(share, *_elasticity(props))


class SuppleAttachment(bpy.types.PropertyGroup):
    """A further attachment of a soft body."""

    __annotations__ = properties(ATTACHMENT, {"attach_to": {"poll": can_hold}})


def _set_name(props: bpy.types.PropertyGroup) -> str:
    return str(props.material_set)


_MORE: dict[str, dict[str, Any]] = {
    **{name: {"update": material_sets.share} for name in PRESET_SETTINGS},
    "attach_to": {"poll": can_hold},
    "attachments": {"type": SuppleAttachment},
    "bounciness": {"get": _bounciness, "set": _set_bounciness},
    "fit_target": {"poll": _is_another},
    "fit_shape": {"poll": _can_show},
    "smooth": {"update": _show_smoothed},
    "play_speed": {"update": _play},
    "play_offset": {"update": _play},
    **{SOURCE.format(row.name): {"search": _paint_choices} for row in PAINTED},
}


class SuppleObject(bpy.types.PropertyGroup):
    """Settings of one soft body, or of one object that soft bodies land on."""

    __annotations__ = properties(OBJECT, _MORE)
    __annotations__ |= {
        "material_set_name": StringProperty(
            name="Material Set",
            description="Name of the material that these soft bodies share",
            get=_set_name,
            set=material_sets.rename,
            options=set(),
        )
    }


class SuppleScene(bpy.types.PropertyGroup):
    """Settings that all soft bodies of a scene share."""

    __annotations__ = properties(SCENE, {})
    __annotations__ |= {f"record_{name}": _recorded(name) for name in RESULTS}
    __annotations__ |= {
        "takes": CollectionProperty(type=SuppleTake, options={"HIDDEN"}),
        "take_index": IntProperty(options={"HIDDEN"}),
    }


def make_overridable(cls: type) -> None:
    """Let library overrides keep values of these properties."""
    for described in cls.__annotations__.values():
        described.keywords["override"] = {"LIBRARY_OVERRIDABLE"}
        if described.function is CollectionProperty:
            described.keywords["override"].add("USE_INSERTION")


make_overridable(SuppleAttachment)
make_overridable(SuppleObject)
