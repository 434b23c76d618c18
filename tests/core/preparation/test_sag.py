# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the estimated sag of bodies, pinned or under their own weight, at any size."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import brentq

from supple.core import Ground, Scene, SceneError, Simulator, SoftBody, TetMesh
from supple.core.integrators import Adaptive
from supple.core.materials import Linear, StableNeoHookean
from supple.core.preparation.sag import (
    Load,
    PinnedSag,
    default_viscosity,
    default_young,
    estimated_sag,
    pinned_sag,
)
from supple.tests.core.boxes import BOX_TRIANGLES, box_corners
from supple.verification.meshes import block, graded_ball

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


BOX = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
SELF_WEIGHT_G = 9.81


def settled_sag(mesh: TetMesh, young: float) -> float:
    """Share of its height by which a body on the ground is lower than at rest."""
    low = mesh.vertices[:, 2].min()
    standing = TetMesh(mesh.vertices - [0.0, 0.0, low], mesh.tets)
    body = SoftBody(standing, StableNeoHookean(young, 0.45))
    frame = Simulator(Scene([body], ground=Ground())).settle()
    top = frame.positions[0][:, 2].numpy().max()
    height = standing.vertices[:, 2].max()
    return float((height - top) / height)


@pytest.mark.parametrize("size", [0.01, 1.0, 10.0])
def test_a_block_sags_by_about_a_tenth_at_any_size(make_block, size) -> None:
    mesh = make_block((4, 4, 4), (size, size, size))
    assert 0.05 < settled_sag(mesh, default_young(mesh.vertices)) < 0.2


@pytest.mark.parametrize("size", [0.01, 1.0, 10.0])
def test_a_ball_sags_by_about_a_tenth_at_any_size(size) -> None:
    mesh = graded_ball(0.5 * size, 6, 2.0)
    assert 0.05 < settled_sag(mesh, default_young(mesh.vertices)) < 0.2


def test_a_slender_column_stands(make_block) -> None:
    mesh = make_block((2, 2, 8), (0.25, 0.25, 1.0))
    leaning = TetMesh(mesh.vertices + mesh.vertices[:, 2:] * [0.02, 0.0, 0.0], mesh.tets)
    young = default_young(leaning.vertices)
    assert estimated_sag(leaning.vertices, young / 4.0) == math.inf
    assert 0.0 < settled_sag(leaning, young) < 0.2


def test_of_a_block_the_estimate_is_the_closed_form() -> None:
    young = default_young(BOX, density=500.0, sag=0.05)
    assert young == pytest.approx(500.0 * SELF_WEIGHT_G / (2 * 0.05))
    assert estimated_sag(BOX, young, 500.0) == pytest.approx(0.05)
    assert estimated_sag(BOX, 2.0 * young, 500.0) == pytest.approx(0.025)


def test_a_column_is_as_stiff_as_twice_what_greenhills_height_wants() -> None:
    column = BOX * [0.5, 0.2, 1.0]
    critical = 12.0 * 1000.0 * SELF_WEIGHT_G / (7.837 * 0.2**2)
    assert default_young(column) == pytest.approx(2.0 * critical)
    assert estimated_sag(column, 0.99 * critical) == math.inf
    assert estimated_sag(column, 1.01 * critical) < 0.02


def test_a_block_carries_what_stands_on_it() -> None:
    """A load of two blocks of the same kind means five times the mean stress of its weight."""
    flat = BOX * [2.0, 2.0, 1.0]
    load = Load(mass=2.0 * 4000.0, height=0.5)
    alone, loaded = default_young(flat), default_young(flat, load=load)
    assert loaded == pytest.approx(5.0 * alone)
    assert estimated_sag(flat, loaded, load=load) == pytest.approx(0.1)
    assert estimated_sag(flat, loaded) == pytest.approx(0.02)


def test_a_stack_is_as_stiff_as_a_column_of_its_whole_height() -> None:
    load = Load(mass=2000.0, height=2.0)
    column = default_young(BOX * [1.0, 1.0, 3.0])
    assert default_young(BOX, load=load) == pytest.approx(column)
    critical = column / 2.0
    assert estimated_sag(BOX, 0.99 * critical, load=load) == math.inf
    assert estimated_sag(BOX, 1.01 * critical, load=load) < 0.1


def test_nothing_gets_stiffer_than_a_column_five_times_as_high_as_wide() -> None:
    assert default_young(BOX * [1e-6, 1.0, 1.0]) == pytest.approx(default_young(BOX * [0.2, 1, 1]))


def test_what_is_flat_is_as_stiff_as_what_is_a_quarter_as_high_as_it_is_long() -> None:
    flat = default_young(BOX * [0.8, 0.6, 0.0])
    assert flat == pytest.approx(1000.0 * SELF_WEIGHT_G * 0.25 / (2 * 0.1), rel=0.01)


@pytest.mark.parametrize("turn", [0.0, 0.4, 1.3])
def test_turning_it_about_gravity_changes_little(turn) -> None:
    column = BOX * [0.5, 0.2, 1.0]
    matrix = np.array(
        [[math.cos(turn), -math.sin(turn), 0], [math.sin(turn), math.cos(turn), 0], [0, 0, 1]]
    )
    assert default_young(column @ matrix.T) == pytest.approx(default_young(column), rel=0.15)


def along(axis: int) -> NDArray[np.float64]:
    return np.roll(BOX * [0.3, 0.2, 1.0], axis - 2, axis=1)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_the_height_is_that_along_gravity(axis) -> None:
    gravity = np.zeros(3)
    gravity[axis] = -5.0
    young = default_young(along(axis), gravity=tuple(gravity))
    assert young == pytest.approx(default_young(along(2)) * 5.0 / SELF_WEIGHT_G, rel=0.1)


def test_without_gravity_nothing_sags_and_the_earths_counts_for_the_stiffness() -> None:
    nothing = (0.0, 0.0, 0.0)
    assert estimated_sag(BOX, 1e3, gravity=nothing) == 0.0
    assert default_young(BOX, gravity=nothing) == default_young(BOX)


@pytest.mark.parametrize("young", [0.0, -1.0])
def test_what_has_no_stiffness_falls(young) -> None:
    assert estimated_sag(BOX, young) == math.inf
    assert estimated_sag(BOX, young, gravity=(0.0, 0.0, 0.0)) == math.inf


def test_a_vertex_or_a_gravity_that_is_not_finite_is_named() -> None:
    torn = BOX.copy()
    torn[3, 1] = math.nan
    with pytest.raises(SceneError, match=r"vertex 3 .* not at a finite position .* or delete it"):
        default_young(torn)
    with pytest.raises(SceneError, match="Gravity in m/s² must be three finite numbers"):
        default_young(BOX, gravity=(0.0, 0.0, math.inf))


def test_what_has_no_size_or_no_weight_is_refused() -> None:
    with pytest.raises(SceneError, match="All points are at one place"):
        default_young(np.ones((3, 3)))
    with pytest.raises(SceneError, match="All points are at one place"):
        default_young(np.empty((0, 3)))
    with pytest.raises(SceneError, match="must be above 0"):
        default_young(BOX, density=0.0)
    with pytest.raises(SceneError, match="must be above 0"):
        default_young(BOX, sag=-0.1)


YOUNG, RIPPLES_DENSITY, HEIGHT, SWINGS = 2e4, 1000.0, 1.0, 3


def energy_left(loss_factor: float) -> float:
    """The energy of a wide block that shears from its foot, after some swings, in joules."""
    mesh = block((10, 1, 5), (10.0, 1.0, HEIGHT))
    heights = mesh.vertices[:, 2]
    bent = mesh.vertices.copy()
    bent[:, 0] += 1e-3 * np.sin(0.5 * math.pi * heights / HEIGHT)
    body = SoftBody(
        mesh,
        Linear(YOUNG, 0.0),
        RIPPLES_DENSITY,
        pinned=np.flatnonzero(heights == 0.0).astype(np.int32),
        viscosity=default_viscosity(HEIGHT, YOUNG, 0.0, RIPPLES_DENSITY, loss_factor),
        initial_positions=bent,
    )
    swing = 4.0 * HEIGHT / math.sqrt(0.5 * YOUNG / RIPPLES_DENSITY)
    scene = Scene([body], gravity=(0.0, 0.0, 0.0))
    (frame,) = Simulator(scene, Adaptive(), frame_time=SWINGS * swing).run(1)
    return frame.report.energies.kinetic + frame.report.energies.elastic


def test_the_slowest_wobble_loses_what_the_loss_factor_says() -> None:
    # Its free ends bend a little, too.
    left = energy_left(0.03) / energy_left(0.0)
    assert left == pytest.approx(math.exp(-2.0 * math.pi * 0.03 * SWINGS), rel=0.05)


def test_what_is_larger_stiffer_or_heavier_is_more_viscous() -> None:
    one = default_viscosity(1.0, 1e4, 0.25, 1000.0)
    assert one == pytest.approx(0.02 * math.sqrt(4e3 * 1000.0) * 2.0 / math.pi)
    assert default_viscosity(2.0, 1e4, 0.25, 1000.0) == pytest.approx(2.0 * one)
    assert default_viscosity(1.0, 4e4, 0.25, 1000.0) == pytest.approx(2.0 * one)
    assert default_viscosity(1.0, 1e4, 0.25, 4000.0) == pytest.approx(2.0 * one)
    assert default_viscosity(1.0, 1e4, 0.25, 1000.0, 0.04) == pytest.approx(2.0 * one)
