# SPDX-License-Identifier: GPL-3.0-or-later
"""Numbers that make no sense cannot be typed."""

from __future__ import annotations

from typing import Any

import pytest

from supple.addon.properties.object import SuppleAttachment, SuppleObject, SuppleScene

# Heights, pressures and ratios that may be below 0.
_SIGNED = {"poisson", "pressure", "ground_height", "fluid_level"}


def positive_settings(owner: Any) -> list[str]:
    described = owner.bl_rna.properties
    shown = [each for each in described if not each.is_hidden]
    numbers = [each for each in shown if each.type == "FLOAT" and not each.is_array]
    return [each.identifier for each in numbers if each.identifier not in _SIGNED]


@pytest.mark.parametrize("owner", [SuppleObject, SuppleScene, SuppleAttachment])
def test_no_number_goes_below_0_that_makes_no_sense_there(scene, owner):
    names = positive_settings(owner)
    assert names
    low = {name: owner.bl_rna.properties[name].hard_min for name in names}
    assert {name: value for name, value in low.items() if value < 0.0} == {}


def test_what_is_typed_or_set_below_0_becomes_0(scene, add_body):
    props = add_body().supple
    for owner in (props, scene.supple):
        for name in positive_settings(type(owner)):
            setattr(owner, name, -1e30)
            assert getattr(owner, name) == pytest.approx(owner.bl_rna.properties[name].hard_min)
    assert (props.young, props.density, props.damping, props.friction) == (0.0, 0.0, 0.0, 0.0)
