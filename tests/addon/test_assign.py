# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings that a list or a command line names."""

from __future__ import annotations

import re

import bpy
import pytest

from supple.addon.settings.assign import assign
from supple.core.errors import SuppleError
from supple.tests.addon.conftest import AddBody


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("Cube.001.young", "2e4", 2e4),
        ("Cube.001.young", 3000, 3000.0),
        ("Cube.001.model", "linear", "linear"),
        ("self_contact", "off", False),
        ("ground_height", "0.5", 0.5),
        ("use_ground", False, False),
        ("substeps", "4", 4),
        ("results", "speed,stretch", {"speed", "stretch"}),
        ("results", ["speed"], {"speed"}),
    ],
)
def test_numbers_switches_choices_and_sets(add_body: AddBody, scene, name, value, wanted) -> None:
    obj = add_body("Cube.001")
    assign(scene, name, value)
    owner = obj.supple if "." in name else scene.supple
    assert getattr(owner, name.rpartition(".")[2]) == wanted


def test_three_numbers(add_body: AddBody, scene: bpy.types.Scene) -> None:
    obj = add_body()
    assign(scene, "Cube.start_velocity", "1,2,3")
    assert tuple(obj.supple.start_velocity) == (1.0, 2.0, 3.0)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("Cube.yuong", 1, "An object such as Cube has no setting 'yuong'. Did you mean young?"),
        ("ground_hight", 1, "The scene has no setting 'ground_hight'. Did you mean ground_height?"),
        ("Ball.young", 1, "Ball.young: the scene Scene has no object Ball."),
        ("Cube.young", "soft", "Cube.young cannot be 'soft': write a number from "),
        ("Cube.poisson", "7", "Cube.poisson cannot be 7: write a number from -1 to 0.5"),
        ("self_contact", "maybe", "self_contact cannot be 'maybe': write true or false."),
        ("Cube.model", "jam", "Cube.model cannot be 'jam': choose one of stable_neo_hookean"),
    ],
)
def test_what_cannot_be_is_said(add_body: AddBody, scene, name, value, said) -> None:
    add_body()
    with pytest.raises(SuppleError, match=f"^{re.escape(said)}"):
        assign(scene, name, value)
