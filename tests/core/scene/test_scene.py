# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import numpy as np
import pytest

from supple.core import Channel, Ground, Scene, SceneError, SoftBody

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


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"bodies": [None]}, "Each of the bodies .* must be of the kind SoftBody, and one is None"),
        ({"colliders": [Ground()]}, "kind Sphere or Collider, and one is of the kind Ground"),
        ({"colliders": [None]}, "kind Sphere or Collider, and one is None"),
        (
            {"colliders": Ground()},
            "a list of Sphere or Collider, and is of the kind Ground",
        ),
        ({"absorbers": ["Wall"]}, "of the kind Absorber, and one is of the kind str"),
        (
            {"ground": True},
            "must be of the kind Ground, or None, and is of the kind bool",
        ),
        ({"contact": True}, "contact of a scene must be of the kind Contact, or None, and is of"),
    ],
)
def test_objects_of_another_kind_are_refused(make_block, members: dict, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        Scene(**{"bodies": [SoftBody(make_block())], **members})


def test_a_body_that_is_not_in_a_list_is_refused(make_block) -> None:
    with pytest.raises(SceneError, match="must be a list of SoftBody, and is of the kind SoftBody"):
        Scene(SoftBody(make_block()))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"touching": "tetrahedron"}, "Jelly: .* automatic, mesh, tetrahedra, not 'tetrahedron'"),
        ({"pin_path": np.zeros((3, 2, 3))}, "Jelly: the pin path moves nothing"),
    ],
)
def test_what_a_body_could_only_ignore_is_refused(make_block, settings, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        SoftBody(make_block(), name="Jelly", **settings)


def test_factors_within_frames_are_refused_by_frame(make_block) -> None:
    factors = Channel(np.array([1.0, 1.0, 1.0, 1.0, 1.0, 0.0]), per_frame=4)
    with pytest.raises(SceneError, match=r"above 0 at every frame, and is 0 at frame 1\.25"):
        SoftBody(make_block(), stiffness=factors)
