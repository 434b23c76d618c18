# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import bpy

from supple.addon.panels.material import SUPPLE_PT_plasticity

from ..layout import drawn


def test_the_panel_has_the_switch_and_its_settings(add_body):
    shown = drawn(SUPPLE_PT_plasticity, add_body())
    assert shown.settings == [
        *("use_plasticity", "yield_stress", "creep_time", "hardening", "plastic_limit")
    ]
    assert shown.texts == []


def test_a_body_that_cannot_carry_itself_is_told_what_it_needs(add_body):
    body = add_body()
    body.supple.use_plasticity = True
    body.supple.density, body.supple.yield_stress = 1000.0, 9000.0
    ((icon, text),) = drawn(SUPPLE_PT_plasticity, body).texts
    # 1000 kg/m³ · 9.81 m/s² · 1 m
    assert icon == "INFO" and "a Yield Stress of 9810 Pa" in text
    body.supple.yield_stress = 9900.0
    assert drawn(SUPPLE_PT_plasticity, body).texts == []


def test_a_real_material_switches_it_off(add_body):
    body = add_body()
    body.supple.use_plasticity = True
    bpy.ops.supple.apply_preset(preset="rubber", size="real")
    assert not body.supple.use_plasticity
