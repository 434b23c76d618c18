# SPDX-License-Identifier: GPL-3.0-or-later
"""The tooltips that Blender shows beside the pointer."""

from __future__ import annotations

import bpy
import pytest

from supple.addon.operators import CLASSES


@pytest.mark.parametrize("operator", CLASSES, ids=lambda each: each.bl_idname)
def test_the_tooltip_of_a_button_is_one_line_which_blender_wraps_and_ends(operator):
    prefix, _, name = operator.bl_idname.partition(".")
    text = getattr(getattr(bpy.ops, prefix), name).get_rna_type().description
    assert text and "\n" not in text and not text.endswith(".")


def test_every_setting_says_what_it_is(scene, add_body):
    for settings in (scene.supple, add_body().supple):
        for each in settings.bl_rna.properties:
            if each.identifier not in ("rna_type", "name") and not each.is_hidden:
                assert each.description and not each.description.endswith("."), each.identifier
