# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest

from supple.core import SceneError, Sphere
from supple.core.overlap import check_clear_of


def _check(mesh, *spheres: Sphere) -> None:
    check_clear_of("Box", mesh.vertices, mesh.surface, spheres)


def _below(gap: float, radius: float = 0.3) -> Sphere:
    """Under the middle of a cube's lowest face."""
    return Sphere((0.5, 0.5, -radius - gap), radius, name="Ball")


def test_a_body_beside_a_sphere_is_fine_and_so_is_one_that_just_touches(make_block) -> None:
    _check(make_block(), _below(0.1), _below(0.0), _below(-0.0017))


def test_an_overlap_is_measured_to_the_nearest_point_of_a_face(make_block) -> None:
    with pytest.raises(SceneError, match=r"Box starts 0\.002 m inside the collider Ball; move"):
        _check(make_block((1, 1, 1)), _below(0.1), _below(-0.002))


def test_a_sphere_that_the_body_surrounds_is_an_overlap(make_block) -> None:
    inside = Sphere((0.5, 0.5, 0.5), 0.1, name="Ball")
    with pytest.raises(SceneError, match=r"Box starts 0\.6 m inside the collider Ball"):
        _check(make_block(), inside)


def test_a_body_in_the_middle_of_a_sphere_is_an_overlap(make_block) -> None:
    around = Sphere((0.5, 0.5, -1.0), 10.0, name="Ball")
    with pytest.raises(SceneError, match=r"Box starts 9 m inside the collider Ball"):
        _check(make_block(), around)


def test_a_surface_that_is_inside_out_surrounds_as_well(make_block) -> None:
    mesh, inside = make_block(), Sphere((0.5, 0.5, 0.5), 0.1, name="Ball")
    with pytest.raises(SceneError, match=r"0\.6 m inside"):
        check_clear_of("Box", mesh.vertices, mesh.surface[:, ::-1], [inside])
