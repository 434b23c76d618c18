# SPDX-License-Identifier: GPL-3.0-or-later
"""Which settings of a soft body differ from place to place, and with what they are painted."""

from __future__ import annotations

from typing import Any

import bpy
from bpy.props import FloatProperty, StringProperty

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


class PaintSettings:
    """Belongs to the settings of every soft body."""

    paint_young: _source("Stiffness")
    unpainted_young: _unpainted(_LEAST_RATIO)
    paint_density: _source("Density")
    unpainted_density: _unpainted(_LEAST_RATIO)
    paint_damping: _source("Damping")
    unpainted_damping: _unpainted()
    paint_stiffness_damping: _source("Stiffness Damping")
    unpainted_stiffness_damping: _unpainted()
    paint_viscosity: _source("Viscosity")
    unpainted_viscosity: _unpainted()
