# SPDX-License-Identifier: GPL-3.0-or-later
"""The panels in the 3D view's sidebar, and the same ones in Properties › Physics."""

from __future__ import annotations

from typing import Any

import bpy

from . import body, export, main, solver, takes
from .base import SupplePanel

#: In the order in which they stand.
CONTENTS: list[type[SupplePanel]] = [
    main.SUPPLE_PT_main,
    main.SUPPLE_PT_statistics,
    body.SUPPLE_PT_material,
    body.SUPPLE_PT_plasticity,
    body.SUPPLE_PT_paint,
    body.SUPPLE_PT_material_advanced,
    body.SUPPLE_PT_pins,
    body.SUPPLE_PT_jiggle,
    body.SUPPLE_PT_attach,
    body.SUPPLE_PT_collisions,
    body.SUPPLE_PT_ground,
    body.SUPPLE_PT_collisions_advanced,
    body.SUPPLE_PT_forces,
    body.SUPPLE_PT_fluid,
    body.SUPPLE_PT_force_fields,
    body.SUPPLE_PT_start,
    solver.SUPPLE_PT_solver,
    solver.SUPPLE_PT_cache,
    solver.SUPPLE_PT_fields,
    solver.SUPPLE_PT_farm,
    solver.SUPPLE_PT_solver_advanced,
    body.SUPPLE_PT_goals,
    takes.SUPPLE_PT_takes,
    export.SUPPLE_PT_playback,
    export.SUPPLE_PT_export,
]


class SUPPLE_PT_physics(bpy.types.Panel):
    """Holds the panels in Properties › Physics, beside those of Blender's own simulations."""

    bl_idname = "SUPPLE_PT_physics"
    bl_label = "Supple"
    bl_space_type, bl_region_type, bl_context = "PROPERTIES", "WINDOW", "physics"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return context.object is not None

    def draw(self, context: bpy.types.Context) -> None:
        pass


LISTS: list[Any] = [takes.SUPPLE_UL_takes]
_SIDEBAR = {"bl_space_type": "VIEW_3D", "bl_region_type": "UI", "bl_category": "Supple"}
_PHYSICS = {
    name: getattr(SUPPLE_PT_physics, name)
    for name in ("bl_space_type", "bl_region_type", "bl_context")
}


def _placed(content: type[SupplePanel], place: dict[str, str], suffix: str, top: str) -> Any:
    """The class of a panel in a place.

    Args:
        suffix: of its name there.
        top: the panel that all others stand below there; empty for none.
    """
    name = content.__name__ + suffix
    below = content.parent.__name__ + suffix if content.parent else top
    more: dict[str, Any] = {"bl_idname": name, **({"bl_parent_id": below} if below else {})}
    if content.is_closed:
        more["bl_options"] = {"DEFAULT_CLOSED"}
    return type(name, (content, bpy.types.Panel), {"__module__": __name__, **place, **more})


CLASSES: list[Any] = [
    *(_placed(content, _SIDEBAR, "", "") for content in CONTENTS),
    SUPPLE_PT_physics,
    *(_placed(content, _PHYSICS, "_physics", SUPPLE_PT_physics.bl_idname) for content in CONTENTS),
]
