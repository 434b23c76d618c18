# SPDX-License-Identifier: GPL-3.0-or-later
"""The panels in German and in Chinese."""

from __future__ import annotations

from typing import TYPE_CHECKING

import bpy

if TYPE_CHECKING:
    from supple.tests.blender.stage import Steps, Ui

WORDS = {"de_DE": ("Steifigkeit", "Simulieren"), "zh_HANS": ("刚度", "模拟")}


def scenario(ui: Ui) -> Steps:
    with ui.context():
        bpy.ops.supple.add()
    yield from ui.open_sidebar("Supple")
    view = bpy.context.preferences.view
    label = bpy.app.translations.pgettext_iface
    try:
        for locale, (stiffness, simulate) in WORDS.items():
            view.language = locale
            view.use_translate_interface = view.use_translate_tooltips = True
            yield from ui.screenshot(locale)
            assert label("Stiffness") == stiffness
            assert label("Simulate", "Operator") == simulate
    finally:
        view.language = "en_US"
    ui.assert_clean_log()
