# SPDX-License-Identifier: GPL-3.0-or-later
"""The panels in German and in Chinese."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

# Blender's own translation of a word comes first. It has none of these.
WORDS = {
    "de_DE": ("Pins und Wackeln", "Steifigkeit aus Größe"),
    "zh_HANS": ("固定与抖动", "按大小设置刚度"),
}


def scenario(ui: Ui) -> Steps:
    with ui.context():
        bpy.ops.supple.add()
    yield from ui.open_sidebar("Supple")
    view = bpy.context.preferences.view
    label = bpy.app.translations.pgettext_iface
    try:
        for locale, (panel, button) in WORDS.items():
            view.language = locale
            view.use_translate_interface = view.use_translate_tooltips = True
            yield from ui.screenshot(locale)
            assert label("Pins and Jiggle") == panel
            assert label("Stiffness from Size", "Operator") == button
    finally:
        view.language = "en_US"
    ui.assert_clean_log()
