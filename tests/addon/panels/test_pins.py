# SPDX-License-Identifier: GPL-3.0-or-later
"""The rows of the panel of pins."""

from __future__ import annotations

import bpy

from supple.addon.panels.pins import SUPPLE_PT_pins
from supple.addon.reports import ignored

from ..layout import drawn


def test_goals_have_settings_where_weights_are_partial(add_body):
    obj = add_body()
    group = obj.vertex_groups.new(name="Pin")
    group.add([1, 2], 1.0, "REPLACE")
    assert drawn(SUPPLE_PT_pins, obj).settings == ["pin_group"]
    # As messages call it.
    assert drawn(SUPPLE_PT_pins, obj).labels == ["Pin Group"]
    obj.supple.pin_group = "Pin"
    assert drawn(SUPPLE_PT_pins, obj).settings == ["pin_group", "pinned", "pin_force"]
    group.add([2], 0.5, "REPLACE")
    ignored._counts.clear()
    layout = drawn(SUPPLE_PT_pins, obj)
    assert layout.labels[1:3] == ["Goal Frequency", "Goal Damping Ratio"]


def test_the_order_of_the_stack_is_told(add_body):
    obj = add_body()
    assert drawn(SUPPLE_PT_pins, obj).texts[-1][1].startswith("To pin")
    obj.vertex_groups.new(name="Pin")
    assert drawn(SUPPLE_PT_pins, obj).texts == []
    obj.modifiers.new("Armature", "ARMATURE").object = bpy.data.objects.new("Rig", None)
    obj.modifiers.new("Subdivision", "SUBSURF")
    text = ("MODIFIER", "Follows: Armature. Applied after: Subdivision.")
    assert drawn(SUPPLE_PT_pins, obj).texts == [text]
