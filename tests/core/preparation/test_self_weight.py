# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the sag of bodies, estimated and in equilibrium, at any size."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from supple.core import Ground, Scene, SceneError, Simulator, SoftBody, TetMesh
from supple.core.materials import StableNeoHookean
from supple.core.preparation.sag import Load, default_young, estimated_sag
from supple.verification.meshes import graded_ball

BOX = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
G = 9.81


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
    assert young == pytest.approx(500.0 * G / (2 * 0.05))
    assert estimated_sag(BOX, young, 500.0) == pytest.approx(0.05)
    assert estimated_sag(BOX, 2.0 * young, 500.0) == pytest.approx(0.025)


def test_a_column_is_as_stiff_as_twice_what_greenhills_height_wants() -> None:
    column = BOX * [0.5, 0.2, 1.0]
    critical = 12.0 * 1000.0 * G / (7.837 * 0.2**2)
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
    assert flat == pytest.approx(1000.0 * G * 0.25 / (2 * 0.1), rel=0.01)


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
    assert young == pytest.approx(default_young(along(2)) * 5.0 / G, rel=0.1)


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
