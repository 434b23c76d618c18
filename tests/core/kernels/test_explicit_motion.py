# SPDX-License-Identifier: GPL-3.0-or-later
"""Loops of one explicit step of the vertices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from supple.core.kernels.explicit_motion import end_step, work_done, write_fixed_moves, write_nodes


def test_work_is_force_times_way_along_every_axis() -> None:
    rng = np.random.default_rng(5)
    forces, before, after = rng.normal(size=(3, 3, 7))
    expected = float((forces * (after - before)).sum())
    assert work_done(forces, before, after) == pytest.approx(expected, rel=1e-13)


VERTICES, COLLIDERS = 7, 3


def _places(seed: int, kind: Any = np.float64) -> tuple[np.ndarray, ...]:
    """Positions of vertices at both ends of a step, and of colliders."""
    generator = np.random.default_rng(seed)
    of_vertices = generator.normal(size=(2, 3, VERTICES)).astype(kind)
    of_colliders = generator.normal(size=(2, COLLIDERS, 3))
    return *of_vertices, *of_colliders


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_nodes_are_the_vertices_of_tetrahedra_and_then_those_of_colliders(kind: Any) -> None:
    start, end, colliders, targets = _places(1, kind)
    first, predicted = np.empty((2, VERTICES + COLLIDERS, 3))
    write_nodes(start, end, colliders, targets, first, predicted)
    np.testing.assert_array_equal(first, np.concatenate([start.T, colliders]))
    np.testing.assert_array_equal(predicted, np.concatenate([end.T, targets]))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("factor", [0.1, 10.0], ids=["near", "far"])
def test_the_longest_move_is_of_vertices_and_the_largest_coordinate_of_all_nodes(
    seed: int, factor: float
) -> None:
    start, end, colliders, targets = _places(seed)
    targets *= factor
    nodes = np.empty((2, VERTICES + COLLIDERS, 3))
    longest, largest = write_nodes(start, end, colliders, targets, *nodes)
    assert longest == np.abs(end - start).max()
    assert largest == max(np.abs(end).max(), np.abs(targets).max())


@pytest.mark.parametrize("place", [(0, 0), (1, 3), (2, VERTICES - 1)])
def test_the_longest_move_is_no_number_where_any_is_none(place: tuple[int, int]) -> None:
    start, end, colliders, targets = _places(2)
    end[place] = math.nan
    nodes = np.empty((2, VERTICES + COLLIDERS, 3))
    assert math.isnan(write_nodes(start, end, colliders, targets, *nodes)[0])


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_vertices_end_a_step_where_nodes_do_with_the_velocity_that_led_there(kind: Any) -> None:
    predicted, velocities, last, _ = _places(3, kind)
    last, step = np.concatenate([last, last, last]), 0.01
    before, moving = predicted.copy(), velocities.copy()
    end_step(last, step, predicted, velocities)
    np.testing.assert_array_equal(predicted, last[:VERTICES].T.astype(kind))
    expected = moving + (predicted - before) / step
    np.testing.assert_allclose(velocities, expected, rtol=float(4.0 * np.finfo(kind).eps))


def test_what_does_not_move_freely_has_moves_where_it_went_somewhere() -> None:
    first, last = np.zeros((4, 3)), np.zeros((4, 3))
    mobility, moves = np.array([1.0, 0.0, 0.0, 2.0]), np.full((4, 3), 9.0)
    last[[0, 3]] = 1.0
    assert not write_fixed_moves(mobility, first, last, moves)
    assert (moves == 0.0).all()
    first[2], last[2] = [0.5, 0.0, 1.0], [0.5, 0.25, 1.0]
    assert write_fixed_moves(mobility, first, last, moves)
    np.testing.assert_array_equal(moves, [[0.0] * 3, [0.0] * 3, [0.0, 0.25, 0.0], [0.0] * 3])
