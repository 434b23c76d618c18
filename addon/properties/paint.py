# SPDX-License-Identifier: GPL-3.0-or-later
"""Which settings of a soft body differ from place to place, and with what they are painted."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import EnumProperty, FloatProperty, StringProperty

from ...core.scene.paint import PaintedSetting
from ..capture.paint import can_paint
from .options import NOT_KEYED

# A body has some stiffness and weight everywhere.
_LEAST_RATIO = 0.001


def _choices(props: bpy.types.PropertyGroup, _context: object, _text: str) -> list[str]:
    obj = props.id_data
    attributes = [each.name for each in obj.data.attributes if can_paint(each)]
    return [group.name for group in obj.vertex_groups] + attributes


def _source(label: str) -> Any:
    return StringProperty(
        name=label,
        description=(
            "Vertex group or attribute that scales this setting from place to place: a group, a "
            "float attribute on points, or a colour attribute by how bright it is. 1 is the whole "
            "setting, 0 what is left where unpainted"
        ),
        search=_choices,
        options=NOT_KEYED,
    )


def _unpainted(least: float = 0.0) -> Any:
    return FloatProperty(
        name="Where Unpainted",
        description="Share of the setting that is left where the weight is 0",
        default=0.1,
        min=least,
        soft_max=1.0,
        precision=3,
        step=1,
        options=NOT_KEYED,
    )


# As panels call what can be painted.
_LABELS: dict[PaintedSetting, str] = {
    "young": "Stiffness",
    "density": "Density",
    "damping": "Damping",
    "stiffness_damping": "Stiffness Damping",
    "viscosity": "Viscosity",
    "yield_stress": "Yield Stress",
    "friction": "Friction",
    "drag": "Drag",
}


def overlay_property() -> Any:
    """Belongs to a scene."""
    items = [
        (name, text, f"Where {text} is painted on soft bodies: blue is none, red all of it")
        for name, text in _LABELS.items()
    ]
    return EnumProperty(
        name="Overlay",
        description="What is painted, drawn over all soft bodies in viewports that show overlays",
        items=[("none", "Off", "Nothing is drawn"), *items],
        default="none",
        options=NOT_KEYED,
    )


class PaintSettings:
    """Belongs to the settings of every soft body."""

    paint_young: _source(_LABELS["young"])
    unpainted_young: _unpainted(_LEAST_RATIO)
    paint_density: _source(_LABELS["density"])
    unpainted_density: _unpainted(_LEAST_RATIO)
    paint_damping: _source(_LABELS["damping"])
    unpainted_damping: _unpainted()
    paint_stiffness_damping: _source(_LABELS["stiffness_damping"])
    unpainted_stiffness_damping: _unpainted()
    paint_viscosity: _source(_LABELS["viscosity"])
    unpainted_viscosity: _unpainted()
    paint_yield_stress: _source(_LABELS["yield_stress"])
    unpainted_yield_stress: _unpainted(_LEAST_RATIO)
    paint_friction: _source(_LABELS["friction"])
    unpainted_friction: _unpainted()
    paint_drag: _source(_LABELS["drag"])
    unpainted_drag: _unpainted()
