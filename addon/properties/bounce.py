# SPDX-License-Identifier: GPL-3.0-or-later
"""How what explicit steps put back springs off: of colliders and the ground alike."""

from __future__ import annotations

from typing import Any

from bpy.props import FloatProperty

from .options import NOT_KEYED


def restitution_property(surface: str) -> Any:
    """The share of its speed that a vertex keeps which hits the ``surface``."""
    return FloatProperty(
        name="Bounce",
        description=f"Share of the speed kept when a vertex hits the {surface}",
        default=0.0,
        min=0.0,
        max=1.0,
        subtype="FACTOR",
        options=NOT_KEYED,
    )


def penalty_property(what: str) -> Any:
    """How hard a vertex is pushed back that did ``what``."""
    return FloatProperty(
        name="Penalty (1/s)",
        description=(
            f"How hard a vertex is pushed out that {what}: the faster it moves, the harder, "
            "like a mat that gives and throws back. 0 only puts it back"
        ),
        default=0.0,
        min=0.0,
        soft_max=1000.0,
        precision=1,
        step=100,
        options=NOT_KEYED,
    )
