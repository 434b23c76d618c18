# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import pytest

from supple.core import SceneError, SoftBody

SETTINGS = ["damping", "stiffness_damping", "viscosity"]


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("value", [-1e-9, math.inf, -math.inf, math.nan])
def test_damping_that_is_negative_or_not_finite_is_refused_by_name(
    make_block, setting: str, value: float
) -> None:
    with pytest.raises(SceneError, match=rf"^Jelly: the .+ must be 0 .*or more.* not {value:g}"):
        SoftBody(make_block(), name="Jelly", **{setting: value})


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_damping_is_fine(make_block, setting: str) -> None:
    assert getattr(SoftBody(make_block(), **{setting: 0.0}), setting) == 0.0


def test_stiffness_damping_and_viscosity_have_to_be_asked_for(make_block) -> None:
    body = SoftBody(make_block())
    assert (body.stiffness_damping, body.viscosity) == (0.0, 0.0)
