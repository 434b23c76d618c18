# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the thickness of a solid below its surface."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.meshing import surface
from supple.core.meshing.surface import default_edge_length, thin_part

from .conftest import CUBE, CUBE_TRIANGLES


def turned(points):
    turn, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    return points @ turn.T


def joined(*surfaces):
    """Several shells as one surface."""
    counts = np.cumsum([0, *(len(points) for points, _ in surfaces)])
    points = np.concatenate([points for points, _ in surfaces])
    each = zip(surfaces, counts[:-1], strict=True)
    return points, np.concatenate([triangles + first for (_, triangles), first in each])


def test_a_slab_is_as_thick_as_it_is_however_it_lies(cube) -> None:
    slab = cube[0] * [1.0, 1.0, 0.05]
    assert thin_part(slab, cube[1], 0.5) == pytest.approx(0.1)
    assert thin_part(turned(slab), cube[1], 0.5) == pytest.approx(0.1, rel=1e-6)


def test_a_ball_is_two_thirds_as_thick_as_it_is_wide_or_more(sphere) -> None:
    assert (
        2.0 / 3.0 * 0.95
        < thin_part(*sphere(4), fraction=0.01)
        < thin_part(*sphere(4), fraction=0.99)
        < 2.01
    )


def test_overlapping_shells_are_one_solid(cube) -> None:
    left, right = cube[0], cube[0] + np.array([1.9, 0.0, 0.0])
    both = joined((left, cube[1]), (right, cube[1]))
    assert thin_part(*both, fraction=0.01) == pytest.approx(2.0)


def test_shells_apart_are_not(cube) -> None:
    both = joined(cube, (cube[0] * [1.0, 1.0, 0.1] + [0.0, 0.0, 3.0], cube[1]))
    assert thin_part(*both, fraction=0.2) == pytest.approx(0.2)
    assert thin_part(*both, fraction=0.99) == pytest.approx(2.0)


def test_inside_out_and_upside_down_are_the_same(sphere) -> None:
    vertices, triangles = sphere(3)
    there = thin_part(vertices, triangles, 0.3)
    assert thin_part(vertices, triangles[:, ::-1], 0.3) == pytest.approx(there)
    assert thin_part(-vertices, triangles, 0.3) == pytest.approx(there, rel=0.02)


def test_what_has_a_hole_is_judged_by_the_rest_of_it(cube) -> None:
    # Without its top: rays along z find no way in or out.
    open_box = CUBE_TRIANGLES[~(CUBE[CUBE_TRIANGLES][..., 2] == 1.0).all(axis=1)]
    assert thin_part(cube[0], open_box, 0.5) == pytest.approx(2.0)


def test_what_encloses_nothing_has_no_thickness(plane) -> None:
    assert thin_part(*plane, fraction=0.1) == np.inf


def test_pieces_of_the_work_change_nothing(sphere, monkeypatch) -> None:
    whole = thin_part(*sphere(3), fraction=0.3)
    monkeypatch.setattr(surface, "_MAX_PAIRS", 7)
    assert thin_part(*sphere(3), fraction=0.3) == whole


def plate_with_wings(thickness):
    """A cube with two thin plates beside it, which are most of its surface."""
    wing, beside = CUBE * [1.0, 1.0, 0.5 * thickness], np.array([1.4, 0.0, 0.0])
    shells = [CUBE * 0.6, wing + beside, wing - beside]
    return joined(*((shell, CUBE_TRIANGLES) for shell in shells))


@pytest.mark.parametrize(
    ("thickness", "refined"), [(1.0, 1.0), (0.24, 0.24 / 0.267), (0.15, 0.794), (0.01, 1.0)]
)
def test_thin_parts_are_filled_more_finely_up_to_twice_as_many_tets(
    monkeypatch, thickness, refined
) -> None:
    body = plate_with_wings(thickness)
    edge_length = default_edge_length(*body)
    monkeypatch.setattr(surface, "_MOST_REFINEMENT", 1.0)
    assert edge_length / default_edge_length(*body) == pytest.approx(refined, rel=0.01)


def test_a_hole_in_one_shell_leaves_the_others_as_they_are(cube) -> None:
    open_box = CUBE_TRIANGLES[~(CUBE[CUBE_TRIANGLES][..., 2] == 1.0).all(axis=1)]
    slab = cube[0] * [1.0, 1.0, 0.1]
    for side in (-1.0, 1.0):
        both = joined((cube[0] + side * np.array([5.0, 0.0, 0.0]), open_box), (slab, cube[1]))
        assert thin_part(*both, fraction=0.2) == pytest.approx(0.2)
