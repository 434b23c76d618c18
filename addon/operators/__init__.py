# SPDX-License-Identifier: GPL-3.0-or-later
"""Buttons: one operator a file."""

from typing import Any

from .add import SUPPLE_OT_add
from .add_attachment import SUPPLE_OT_add_attachment
from .apply_preset import SUPPLE_OT_apply_preset
from .bake import SUPPLE_OT_bake
from .dismiss_hint import SUPPLE_OT_dismiss_hint
from .doctor import SUPPLE_OT_doctor, SUPPLE_OT_doctor_report
from .find import SUPPLE_OT_find
from .free import SUPPLE_OT_free
from .hide_field import SUPPLE_OT_hide_field
from .install_solver import SUPPLE_OT_install_solver
from .jiggle import SUPPLE_OT_jiggle
from .make_collider import SUPPLE_OT_make_collider
from .make_keys_work import SUPPLE_OT_make_keys_work
from .make_override import SUPPLE_OT_make_override
from .order_modifiers import SUPPLE_OT_order_modifiers
from .pack_frames import SUPPLE_OT_pack_frames
from .push_apart import SUPPLE_OT_push_apart
from .remove import SUPPLE_OT_remove
from .remove_attachment import SUPPLE_OT_remove_attachment
from .remove_caches import SUPPLE_OT_remove_caches
from .remove_control import SUPPLE_OT_remove_control
from .select_intersections import SUPPLE_OT_select_intersections
from .show_field import SUPPLE_OT_show_field
from .show_paint import SUPPLE_OT_show_paint
from .simulate import SUPPLE_OT_simulate
from .subdivide import SUPPLE_OT_subdivide
from .suit_resolution import SUPPLE_OT_suit_resolution
from .suit_young import SUPPLE_OT_suit_young
from .take_start import SUPPLE_OT_take_start
from .tetrahedralize import SUPPLE_OT_tetrahedralize

CLASSES: list[Any] = [
    SUPPLE_OT_add,
    SUPPLE_OT_jiggle,
    SUPPLE_OT_remove,
    SUPPLE_OT_apply_preset,
    SUPPLE_OT_suit_young,
    SUPPLE_OT_show_paint,
    SUPPLE_OT_add_attachment,
    SUPPLE_OT_remove_attachment,
    SUPPLE_OT_take_start,
    SUPPLE_OT_suit_resolution,
    SUPPLE_OT_subdivide,
    SUPPLE_OT_dismiss_hint,
    SUPPLE_OT_tetrahedralize,
    SUPPLE_OT_simulate,
    SUPPLE_OT_find,
    SUPPLE_OT_remove_control,
    SUPPLE_OT_select_intersections,
    SUPPLE_OT_push_apart,
    SUPPLE_OT_bake,
    SUPPLE_OT_free,
    SUPPLE_OT_pack_frames,
    SUPPLE_OT_show_field,
    SUPPLE_OT_hide_field,
    SUPPLE_OT_make_override,
    SUPPLE_OT_make_collider,
    SUPPLE_OT_make_keys_work,
    SUPPLE_OT_order_modifiers,
    SUPPLE_OT_install_solver,
    SUPPLE_OT_doctor,
    SUPPLE_OT_doctor_report,
    SUPPLE_OT_remove_caches,
]
for _operator in CLASSES:
    # Blender would break a tooltip, and indent it, where a docstring breaks its lines.
    _operator.bl_description = " ".join(_operator.__doc__.split())
