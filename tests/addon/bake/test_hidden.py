# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies that are hidden while others are baked."""

from __future__ import annotations

import bpy

from supple.addon import actions
from supple.addon.bake import shape_keys


def test_what_is_hidden_is_baked_where_it_has_frames(scene, add_body, play):
    scene.supple.use_ground = False
    first, second = add_body("First"), add_body("Second", location=(3, 0, 0))
    play(3)
    third = add_body("Third", location=(6, 0, 0))
    second.hide_set(True)
    third.hide_set(True)
    message = actions.bake(bpy.context)
    assert "shape keys: First, Second." in message
    assert [shape_keys.has_bake(obj) for obj in (first, second, third)] == [True, True, False]
