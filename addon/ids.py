# SPDX-License-Identifier: GPL-3.0-or-later
"""The operators' ids, by which Blender, key maps and users' scripts call them.

They stand apart from the operators, since these import modules that show buttons for them. Panels
are named by their classes.
"""

from __future__ import annotations

ADD = "supple.add"
ADD_ATTACHMENT = "supple.add_attachment"
ADD_COLLIDER = "supple.add_collider"
APPLY_PRESET = "supple.apply_preset"
BAKE = "supple.bake"
COPY_JOB_TYPE = "supple.copy_job_type"
DISMISS_HINT = "supple.dismiss_hint"
DOCTOR = "supple.doctor"
DOCTOR_REPORT = "supple.doctor_report"
FIND = "supple.find"
FREE = "supple.free"
HELP = "supple.help"
HIDE_FIELD = "supple.hide_field"
JIGGLE = "supple.jiggle"
INSTALL_SOLVER = "supple.install_solver"
MAKE_KEYS_WORK = "supple.make_keys_work"
MAKE_OVERRIDE = "supple.make_override"
ORDER_MODIFIERS = "supple.order_modifiers"
PACK_FRAMES = "supple.pack_frames"
PUSH_APART = "supple.push_apart"
QUICK_JELLY = "supple.quick_jelly"
REMOVE = "supple.remove"
REMOVE_ATTACHMENT = "supple.remove_attachment"
REMOVE_CACHES = "supple.remove_caches"
REMOVE_CONTROL = "supple.remove_control"
SELECT_INTERSECTIONS = "supple.select_intersections"
SHOW_FIELD = "supple.show_field"
SHOW_PAINT = "supple.show_paint"
SIMULATE = "supple.simulate"
SUBDIVIDE = "supple.subdivide"
SUBMIT = "supple.submit"
SUIT_RESOLUTION = "supple.suit_resolution"
SUIT_YOUNG = "supple.suit_young"
TAKE_START = "supple.take_start"
TETRAHEDRALIZE = "supple.tetrahedralize"
