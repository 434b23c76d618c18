# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the estimated sag of pinned bodies against beam theory, at any size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq

from supple.core import SceneError
from supple.core.preparation.sag import PinnedSag, pinned_sag
from supple.tests.core.boxes import BOX_TRIANGLES, box_corners

G, DENSITY = 9.81, 500.0
LENGTH, SIDE = 5.0, 0.5

Points = NDArray[np.float64]
Choice = Callable[[Points], NDArray[np.bool_]]


def sag_of(size: tuple[float, float, float], pinned: Choice, **options) -> PinnedSag:
    """The estimate of a box from the origin on, whose surface is pinned where ``pinned`` says."""
    steps = [np.linspace(0.0, side, 41) for side in size]
    grid = np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, 3)
    corners = box_corners(size=size)
    corners -= corners.min(axis=0)
    turn = options.pop("turn", np.eye(3))
    surface, pins = corners @ turn.T, grid[pinned(grid)] @ turn.T
    return pinned_sag(surface, BOX_TRIANGLES, pins, DENSITY, poisson=0.3, **options)


def at_start(points: Points) -> NDArray[np.bool_]:
    return points[:, 0] == 0.0


def turned(angle: float) -> Points:
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]])


#: ρ g A L⁴ / 8 E I over the length, at E = 1 Pa.
CANTILEVER = 12.0 * DENSITY * G * LENGTH**3 / (8.0 * SIDE**2)


@pytest.mark.parametrize("scale", [0.01, 1.0, 10.0])
def test_a_bar_pinned_at_one_end_bends_as_a_cantilever(scale) -> None:
    sag = sag_of((scale * LENGTH, scale * SIDE, scale * SIDE), at_start)
    assert sag.compliance == pytest.approx(scale * CANTILEVER, rel=0.15)
    assert sag.standing_young == 0.0
    assert sag.young(0.2) == pytest.approx(sag.compliance / 0.2)
    assert sag.sag(sag.young(0.2)) == pytest.approx(0.2)


@pytest.mark.parametrize("axes", [None, turned(0.6)], ids=["in steps", "along the bar"])
def test_a_bar_bends_as_much_however_it_is_turned(axes) -> None:
    sag = sag_of((LENGTH, SIDE, SIDE), at_start, turn=turned(0.6), axes=axes)
    assert sag.compliance == pytest.approx(CANTILEVER, rel=0.25)


def test_a_bar_pinned_at_both_ends_bends_as_a_clamped_beam() -> None:
    """ρ g A L⁴ / 384 E I in the middle, half the length from the pins."""
    sag = sag_of((LENGTH, SIDE, SIDE), lambda p: at_start(p) | (p[:, 0] == LENGTH))
    assert sag.compliance == pytest.approx(2.0 * CANTILEVER * 8.0 / 384.0, rel=0.2)


def test_a_bar_that_hangs_is_stretched() -> None:
    """The bar is longer by ρ g L² / 2E."""
    sag = sag_of((SIDE, SIDE, LENGTH), lambda p: p[:, 2] == LENGTH)
    assert sag.compliance == pytest.approx(0.5 * DENSITY * G * LENGTH, rel=0.1)
    assert sag.standing_young == 0.0


def test_a_bar_that_stands_on_its_pins_has_twice_the_stiffness_of_greenhills_column() -> None:
    sag = sag_of((SIDE, SIDE, LENGTH), lambda p: p[:, 2] == 0.0)
    greenhill = 12.0 * DENSITY * G * LENGTH**3 / (7.837 * SIDE**2)
    assert sag.standing_young == pytest.approx(2.0 * greenhill, rel=0.15)
    assert sag.young() == sag.standing_young


def mushroom(stem: float, height: float, head: float, thickness: float) -> tuple[Points, list]:
    """A square stem from the origin up, and a square head on it."""
    rings = [(stem, 0.0), (stem, height), (head, height), (head, height + thickness)]
    corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    points = np.concatenate([np.column_stack([w * corners, np.full(4, z)]) for w, z in rings])
    sides = [[4 * k + i, 4 * k + (i + 1) % 4] for k in range(3) for i in range(4)]
    triangles = [[a, b, b + 4] for a, b in sides] + [[a, b + 4, a + 4] for a, b in sides]
    return points, [*triangles, [0, 2, 1], [0, 3, 2], [12, 13, 14], [12, 14, 15]]


@pytest.mark.parametrize(
    ("stem", "head"), [(0.3, (1.2, 0.5)), (0.2, (0.8, 0.3)), (0.3, (0.9, 0.3))]
)
def test_a_column_with_a_heavy_head_stands_with_about_twice_the_stiffness_to_buckle(
    stem: float, head: tuple[float, float]
) -> None:
    """The head is rigid: P = k² E I where k e tan(k H) = 1, with e from the tip to its centre."""
    height, (width, thickness) = 1.5, head
    points, triangles = mushroom(stem, height, width, thickness)
    steps = (-0.5 * stem, 0.0, 0.5 * stem)
    pins = [[x, y, 0.0] for x in steps for y in steps]
    sag = pinned_sag(points, triangles, pins, DENSITY)
    above = 0.5 * thickness
    k = brentq(lambda k: k * above * np.tan(k * height) - 1.0, 1e-6, 0.4999 * np.pi / height)
    moment, load = stem**4 / 12.0, DENSITY * G * width**2 * thickness
    critical = load / (k * k * moment)
    assert 1.5 * critical < sag.young() < 2.7 * critical
    # What gravity presses along its axis shortens little, however soft it may be.
    assert sag.sag(sag.young()) < 0.01


def test_a_body_is_taken_for_jelly_where_nothing_says_how_compressible_it_is() -> None:
    """A wide short block that hangs: the less compressible, the less it gives way."""
    corners = box_corners(size=(1.0, 1.0, 0.2))
    pins = corners[corners[:, 2] == corners[:, 2].max()]
    default, jelly, cork = (
        pinned_sag(corners, BOX_TRIANGLES, pins, DENSITY, **options).compliance
        for options in ({}, {"poisson": 0.45}, {"poisson": 0.2})
    )
    assert default == jelly
    assert jelly < 0.9 * cork


def test_a_wide_plate_bends_as_its_strips_do() -> None:
    sag = sag_of((2.0, 2.0, 0.1), at_start)
    assert sag.compliance == pytest.approx(12.0 * DENSITY * G * 8.0 / (8.0 * 0.01), rel=0.3)


def test_the_sag_is_along_gravity_and_as_strong() -> None:
    down = sag_of((LENGTH, SIDE, SIDE), at_start, gravity=(0.0, 0.0, -5.0))
    aside = sag_of((LENGTH, SIDE, SIDE), at_start, gravity=(0.0, 5.0, 0.0))
    along = sag_of((LENGTH, SIDE, SIDE), at_start, gravity=(5.0, 0.0, 0.0))
    assert down.compliance == pytest.approx(CANTILEVER * 5.0 / G, rel=0.15)
    assert aside.compliance == pytest.approx(down.compliance, rel=1e-6)
    assert along.compliance == pytest.approx(0.5 * DENSITY * 5.0 * LENGTH, rel=0.1)


def test_without_gravity_the_earths_counts() -> None:
    nothing = sag_of((LENGTH, SIDE, SIDE), at_start, gravity=(0.0, 0.0, 0.0))
    assert nothing == sag_of((LENGTH, SIDE, SIDE), at_start)


def test_a_part_that_no_pin_holds_does_not_count() -> None:
    """Two bars apart, of which one is pinned."""
    one = box_corners(size=(LENGTH, SIDE, SIDE))
    both = np.concatenate([one, one + np.array([0.0, 3.0, 0.0])])
    triangles = np.concatenate([BOX_TRIANGLES, BOX_TRIANGLES + 8])
    end = one[one[:, 0] == one[:, 0].min()]
    steps = np.linspace(0.0, 1.0, 41)[:, None, None]
    side = end[0] + (end[-1] - end[0]) * steps * [0.0, 1.0, 0.0]
    pins = (side + (end[-1] - end[0]) * steps.reshape(1, -1, 1) * [0.0, 0.0, 1.0]).reshape(-1, 3)
    sag = pinned_sag(both, triangles, pins, DENSITY, poisson=0.3)
    assert sag.compliance == pytest.approx(CANTILEVER, rel=0.4)


def test_an_open_sheet_bends_as_one_a_hundredth_as_thick_as_it_is_long() -> None:
    sheet = np.array([[x, y, 0.0] for x in (0.0, 1.0) for y in np.linspace(0.0, 1.0, 21)])
    low = np.arange(20)
    triangles = np.concatenate([[low, low + 1, low + 21], [low + 1, low + 22, low + 21]], axis=1).T
    sag = pinned_sag(sheet, triangles, sheet[:21], DENSITY, poisson=0.3)
    assert sag.compliance == pytest.approx(12.0 * DENSITY * G / (8.0 * 0.01**2), rel=0.3)


def test_a_body_without_extent_or_pins_is_refused() -> None:
    corners = box_corners()
    with pytest.raises(SceneError, match="nothing is pinned"):
        pinned_sag(corners, BOX_TRIANGLES, np.empty((0, 3)))
    with pytest.raises(SceneError, match="one place"):
        pinned_sag(np.ones((8, 3)), BOX_TRIANGLES, np.ones((1, 3)))
    with pytest.raises(SceneError, match="must be above 0"):
        pinned_sag(corners, BOX_TRIANGLES, corners[:1], density=0.0)
