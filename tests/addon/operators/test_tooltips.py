# SPDX-License-Identifier: GPL-3.0-or-later
"""The tooltips that Blender shows beside the pointer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

import bpy
import pytest

from supple import addon
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


def _described(classes: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """The labels and tooltips of classes, their properties and the choices of menus."""
    for each in classes:
        yield getattr(each, "bl_label", ""), getattr(each, "bl_description", "")
        properties = each.bl_rna.properties if hasattr(each, "bl_rna") else ()
        for prop in filter(lambda prop: prop.is_runtime and not prop.is_hidden, properties):
            yield prop.name, prop.description
            yield from ((item.name, item.description) for item in getattr(prop, "enum_items", ()))


def test_tooltips_are_at_most_three_sentences():
    for label, tip in _described(addon.CLASSES):
        # The presets list their values and sources in lines.
        if "\n" not in tip:
            sentences = re.findall(r"[.!?]\s(?!Unit: )", tip)
            assert len(sentences) < 3 and not tip.endswith("."), (label, tip)


def test_labels_are_in_title_case():
    words = {word for label, _ in _described(addon.CLASSES) for word in re.findall(r"\b\w+", label)}
    small = {"a", "and", "as", "at", "by", "for", "from", "in", "of", "on", "per", "the", "to"}
    assert {word for word in words if word[0].islower()} - small <= {"fTetWild", "s"}
