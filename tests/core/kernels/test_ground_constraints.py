# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts of points with the ground."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.integrators.contact_nodes import no_constraints
from supple.core.kernels.contact_constraints import (
    GROUND,
    Constraints,
    GroundLaws,
    Interpolation,
    find_ground,
)
from supple.tests.core.kernels.linear_contacts import matrix
from supple.tests.core.kernels.loose_parts import themselves

HEIGHT = 0.7


def found_ground(heights, moves, places: int = 9, before: int = 0, **own):
    """Contacts of points at some heights above the ground that make some moves."""
    count = len(heights)
    interpolation = own.get("interpolation", themselves(count))
    nodes = np.stack([np.arange(count), -np.arange(count), HEIGHT + np.array(heights)], axis=1)
    steps = np.zeros((count, 3))
    steps[:, 0], steps[:, 2] = 5.0, moves
    laws = GroundLaws(
        *(np.arange(1.0, count + 1), 0.1 * np.arange(1.0, count + 1)),
        *(0.3 * np.arange(count), 0.2 * np.arange(count), HEIGHT),
    )
    out = no_constraints(places, interpolation.nodes.shape[1])
    for part in out:
        part.fill(77)
    displacements = own.get("displacements", np.zeros((count, 3)))
    mobility = own.get("mobility", np.ones(count))
    found = find_ground(interpolation, laws, nodes, steps, displacements, mobility, out, before)
    return found, out


def test_points_that_are_low_or_will_be_stand_on_the_ground() -> None:
    found, out = found_ground([0.05, 0.25, 0.25, 0.35, -0.1, 0.65], [0.0, 0, -0.1, -0.1, 9, -0.01])
    # Their reaches are 0.1, 0.2, 0.3, …
    assert found == 4
    np.testing.assert_array_equal(out.nodes[:4, 0], [0, 2, 3, 4])
    assert (out.nodes[:4, 1:] == -1).all() and (out.coefficients[:4, 0] == 1.0).all()
    np.testing.assert_allclose(out.distances[:4], [0.05, 0.25, 0.35, -0.1], atol=1e-12)
    np.testing.assert_allclose(out.dhats[:4], [0.1, 0.3, 0.4, 0.5])
    np.testing.assert_allclose(out.scales[:4], [1 * 0.1, 3 * 0.3, 4 * 0.4, 5 * 0.5])
    np.testing.assert_allclose(out.static[:4], [0.0, 0.6, 0.9, 1.2])
    np.testing.assert_allclose(out.kinetic[:4], [0.0, 0.4, 0.6, 0.8])
    assert (out.kinds[:4] == GROUND).all() and not out.forces[:4].any()
    np.testing.assert_array_equal(out.normals[:4], [[0.0, 0.0, 1.0]] * 4)
    assert (out.distances[4:] == 77).all()


@pytest.mark.parametrize(("height", "move"), [(0.0999, 1.0), (0.3, -0.2001)])
def test_a_point_comes_into_reach_at_its_own_distance(height, move) -> None:
    assert found_ground([height], [move])[0] == 1
    assert found_ground([height + 2e-4], [move])[0] == 0


def test_the_ground_comes_after_what_there_is_and_counts_what_finds_no_place() -> None:
    found, out = found_ground([0.0] * 4, [0.0] * 4, places=5, before=3)
    assert found == 7
    np.testing.assert_array_equal(out.nodes[3:5, 0], [0, 1])
    assert (out.nodes[:3] == 77).all()


def test_an_embedded_point_stands_on_the_ground_with_all_that_carries_it() -> None:
    random = np.random.default_rng(8)
    nodes = np.array([[0, 2, 3, -1]], dtype=np.int32)
    interpolation = Interpolation(nodes, np.array([[0.5, 0.3, 0.2, 77.0]]))
    mobility, displacements = random.uniform(0.5, 2.0, 4), random.normal(size=(4, 3))
    heights = np.array([0.1, 99.0, 0.2, -0.2])
    nodes_at = np.stack([*np.zeros((2, 4)), heights], axis=1)
    weights, dhats, static, kinetic = np.array([[3.0], [0.1], [0.4], [0.3]])
    laws = GroundLaws(weights, dhats, static, kinetic, 0.0)
    out = no_constraints(2, 4)
    moves = np.zeros((4, 3))
    row = np.array([0.5, 0.0, 0.3, 0.2])
    assert find_ground(interpolation, laws, nodes_at, moves, displacements, mobility, out, 0) == 1
    assert out.distances[0] == pytest.approx(row @ heights)
    np.testing.assert_allclose(matrix(Constraints(*(p[:1] for p in out)), 4)[0], row)
    assert out.compliances[0] == pytest.approx(row**2 @ mobility)
    np.testing.assert_allclose(out.displacements[0], row @ displacements)
