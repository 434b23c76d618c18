# SPDX-License-Identifier: GPL-3.0-or-later
"""Test paintable settings, and settings with one value a tet."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from supple.core import Paint, Plasticity, SceneError, SoftBody, SurfaceMesh
from supple.core.materials import StableNeoHookean

CORNERS = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
FACES = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]


@pytest.mark.parametrize(
    ("setting", "wrong", "message"),
    [
        ("young", 0.0, "young must be above 0 everywhere, and is 0 at vertex 2"),
        ("density", -1.0, "density must be above 0 everywhere, and is -1 at vertex 2"),
        ("damping", -0.5, "damping must be 0 or more everywhere, and is -0.5 at vertex 2"),
        ("viscosity", math.nan, "viscosity must be 0 or more everywhere, and is nan at vertex 2"),
    ],
)
def test_factors_out_of_range_are_refused_by_vertex(setting, wrong, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        Paint(setting, np.array([1.0, 1.0, wrong, 1.0]))


def test_what_cannot_be_painted_is_refused_with_what_can() -> None:
    with pytest.raises(SceneError, match="'poisson' cannot be painted; choose one of young"):
        Paint("poisson", np.ones(4))


def test_a_surface_wants_one_factor_a_vertex_and_one_paint_a_setting() -> None:
    with pytest.raises(SceneError, match=r"have the shape \(3,\), but the surface has 4 vertices"):
        SurfaceMesh(CORNERS, FACES, paint=[Paint("young", np.ones(3))])
    with pytest.raises(SceneError, match="two paints of one setting"):
        SurfaceMesh(CORNERS, FACES, paint=[Paint("damping", np.ones(4))] * 2)


@pytest.mark.parametrize("setting", ["density", "damping", "stiffness_damping", "viscosity"])
def test_a_setting_may_have_one_value_a_tet_and_no_other_number_of_them(
    make_block, setting: str
) -> None:
    mesh = make_block((1, 1, 1))
    body = SoftBody(mesh, **{setting: [1, 2, 3, 4, 5, 6]})
    np.testing.assert_array_equal(getattr(body, setting), [1.0, 2, 3, 4, 5, 6])
    name = setting.replace("_", " ")
    with pytest.raises(SceneError, match=rf"Jelly: the {name} has the shape \(3,\), .* 6 tets"):
        SoftBody(mesh, **{setting: np.ones(3)}, name="Jelly")
    with pytest.raises(SceneError, match=rf"Jelly: the {name} must be .*, not -1"):
        SoftBody(mesh, **{setting: np.array([1.0, 1, 1, 1, 1, -1])}, name="Jelly")


def test_a_surface_has_no_tets_that_settings_could_differ_in() -> None:
    surface = SurfaceMesh(CORNERS, FACES)
    for options in ({"density": np.ones(6)}, {"material": StableNeoHookean(np.ones(6))}):
        with pytest.raises(SceneError, match="Give one number and paint the surface"):
            SoftBody(surface, **options)


def test_a_painted_yield_stress_wants_a_plasticity() -> None:
    surface = SurfaceMesh(CORNERS, FACES, paint=[Paint("yield_stress", np.ones(4))])
    with pytest.raises(SceneError, match="Jelly: its yield stress is painted, but it has no"):
        SoftBody(surface, name="Jelly")
    assert SoftBody(surface, plasticity=Plasticity(1e3)).mesh is surface


def test_only_what_resists_rates_makes_a_body_viscous(make_block) -> None:
    body = SoftBody(make_block((1, 1, 1)), damping=1.0)
    assert not body.is_viscous
    assert not replace(body, viscosity=np.zeros(6)).is_viscous
    assert replace(body, viscosity=np.array([0.0, 0, 0, 0, 0, 1])).is_viscous
    assert replace(body, stiffness_damping=0.1).is_viscous
