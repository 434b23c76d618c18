# SPDX-License-Identifier: GPL-3.0-or-later
"""Test that impossible obstacles are refused when they are described."""

from __future__ import annotations

import math
from typing import Any

import pytest

from supple.core import Ground, SceneError, Sphere

CONTACT = [
    ({"friction": -0.1}, "friction must be 0 or more, not -0.1"),
    ({"friction": math.nan}, "friction must be 0 or more"),
    ({"restitution": 1.1}, "restitution must be 0 … 1, not 1.1"),
    ({"restitution": math.nan}, "restitution must be 0 … 1"),
    ({"penalty": -1.0}, "penalty must be 0 or more per second, not -1"),
    ({"penalty": math.inf}, "penalty must be 0 or more per second, not inf"),
]


@pytest.mark.parametrize(("settings", "words"), CONTACT)
def test_a_ground_with_contact_that_does_not_exist(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SceneError, match=f"Ground: .*{words}"):
        Ground(**settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        *CONTACT,
        ({"radius": 0.0}, "radius must be above 0 m, not 0"),
        ({"radius": math.inf}, "radius must be above 0 m, not inf"),
        ({"center": (0.0, math.nan, 0.0)}, "center must be three finite numbers"),
        ({"center": (0.0, 1.0)}, "center must be three finite numbers"),
    ],
)
def test_a_sphere_that_does_not_exist(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(SceneError, match=f"Ball: .*{words}"):
        Sphere(**{"center": (0.0, 0.0, 0.0), "radius": 1.0, "name": "Ball", **settings})
