# SPDX-License-Identifier: GPL-3.0-or-later
"""Friction as an artist sets it: of bodies, colliders and the ground alike."""

from __future__ import annotations

from typing import Any

from bpy.props import FloatProperty

from .options import NOT_KEYED


def friction_property() -> Any:
    """How hard it is to set going what lies on it."""
    return FloatProperty(
        name="Friction",
        description=(
            "0 is ice, 0.5 wood, 1 rubber. Between two surfaces it is the root of the product of "
            "theirs, so that of 0.2 and 0.8 it is 0.4"
        ),
        default=0.5,
        min=0.0,
        soft_max=2.0,
        precision=2,
        options=NOT_KEYED,
    )


def kinetic_friction_property() -> Any:
    """The share of it that is left once something slides."""
    return FloatProperty(
        name="Kinetic Friction",
        description=(
            "Share of the friction that is left once something slides: a crate is harder to set "
            "going than to keep going. 1 is all of it"
        ),
        default=1.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        options=NOT_KEYED,
    )
