# SPDX-License-Identifier: GPL-3.0-or-later
"""Smooth played or baked frames with a Corrective Smooth modifier, right after the frames.

It evens out how the mesh is deformed and puts back the details of the rest shape, so that neither
these nor the volume are lost. It stays when frames are baked to shape keys, so that playback, bake
and render are the same.
"""

from __future__ import annotations

import bpy

from .. import driving
from ..bake import shape_keys
from ..modifiers import SMOOTH, find_modifier, find_smooth, removed


def update(obj: bpy.types.Object) -> None:
    """Smooth the result by the object's setting; do nothing if it is already done."""
    passes = obj.supple.smooth
    if passes == 0 or not (find_modifier(obj) or shape_keys.has_bake(obj)):
        remove(obj)
        return
    modifier = find_smooth(obj) or _add(obj)
    playback = find_modifier(obj)
    driving.move_behind(obj, modifier, [playback] if playback else driving.drivers(obj))
    if modifier.iterations != passes:
        modifier.iterations = passes


def remove(obj: bpy.types.Object) -> bool:
    """Takes the smoothing away; False when there was none."""
    return removed(obj, find_smooth(obj))


def _add(obj: bpy.types.Object) -> bpy.types.Modifier:
    modifier = obj.modifiers.new(SMOOTH, "CORRECTIVE_SMOOTH")
    modifier.rest_source = "ORCO"
    modifier.smooth_type = "LENGTH_WEIGHTED"
    modifier.show_in_editmode = False
    modifier.show_expanded = False
    return modifier
