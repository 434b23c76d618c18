# SPDX-License-Identifier: GPL-3.0-or-later
"""Test pairs that come over the ridge of a flat floor within a step, from beside it."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.kernels.contact_constraints import Constraints
from supple.core.kernels.continuous_collision import CandidateStencils
from supple.core.potentials.contact.surface import topology
from supple.tests.core.kernels.loose_parts import found_at, laws_of

UP = np.array([0.0, 0.0, 1.0])
HEIGHT = 0.1
# The ridge from the first to the second, and a corner on either side.
FLOOR = np.array([[0.0, -3, 0], [0, 6, 0], [-9, 0, 0], [9, 0, 0]])
FACES = np.array([[3, 4, 5], [3, 6, 4], [0, 1, 2]])
OWNERS = np.array([0, 0, 0, 1, 1, 1, 1])


def contact(part: np.ndarray, move: np.ndarray, are_edges: bool, dhat: float = 1.0) -> Constraints:
    """The contact of a part's first vertex with the right face of the floor, or of its first
    edge with the ridge; the whole part moves.
    """
    points = np.concatenate([part, FLOOR])
    mesh = topology(points, FACES, OWNERS, 2)
    edges = [mesh.edges.tolist().index(edge) for edge in ([0, 1], [3, 4])]
    stencils = CandidateStencils(
        np.array([edges] if are_edges else [], dtype=np.int32).reshape(-1, 2),
        np.array([] if are_edges else [[1, 0]], dtype=np.int32).reshape(-1, 2),
        mesh.edges.astype(np.int32),
        FACES.astype(np.int32),
    )
    moves = np.zeros_like(points)
    moves[:3] = move
    return found_at(points, laws_of(distances=dhat), mesh=mesh, stencils=stencils, moves=moves)


def beside(height: float) -> np.ndarray:
    """A part that stands left of the ridge, and whose first edge leads away from that, level."""
    return np.array([[-0.2, 1.0, height], [-0.8, 1.1, height], [-0.3, 1.0, height + 5.0]])


@pytest.mark.parametrize("are_edges", [True, False])
@pytest.mark.parametrize("sink", [0.055, 0.15], ids=["lower", "through"])
def test_what_comes_over_a_ridge_is_held_up_and_not_back(are_edges, sink) -> None:
    own = contact(beside(HEIGHT), np.array([0.4, 0.0, -sink]), are_edges)
    still = contact(beside(HEIGHT), np.zeros(3), are_edges)
    assert own.scales[0] > 0.0 == still.scales[0]
    np.testing.assert_allclose(own.normals[0], UP, atol=1e-12)
    assert still.normals[0] @ [-1.0, 0.0, 0.0] > 0.5
    used = own.nodes[0] >= 0
    of_part = used & (own.nodes[0] < 3)
    assert own.coefficients[0][of_part].sum() == pytest.approx(1.0)
    assert own.coefficients[0][used].sum() == pytest.approx(0.0)
    points = np.concatenate([beside(HEIGHT), FLOOR])
    apart = own.coefficients[0][used] @ points[own.nodes[0][used]]
    assert own.distances[0] == pytest.approx(apart @ own.normals[0])
    assert own.distances[0] == pytest.approx(HEIGHT)


@pytest.mark.parametrize("are_edges", [True, False])
@pytest.mark.parametrize("move", [(0.15, 0.0, -0.06), (0.4, 0.0, -0.045)], ids=["beside", "high"])
def test_what_stays_beside_it_or_hardly_closes_counts_nothing(are_edges, move) -> None:
    own = contact(beside(HEIGHT), np.array(move), are_edges)
    assert own.scales[0] == 0.0
    assert own.distances[0] == pytest.approx(np.hypot(0.2, HEIGHT))


@pytest.mark.parametrize(("height", "is_over"), [(0.018, False), (0.022, True)])
def test_what_a_plane_all_but_touches_already_is_parted_along_where_it_is(height, is_over) -> None:
    """A tenth of 0.2 m is the least that serves."""
    own = contact(beside(height), np.array([0.4, 0.0, -0.05]), False)
    assert own.scales[0] > 0.0
    assert (own.normals[0] @ UP > 0.99) == is_over
    assert own.distances[0] == pytest.approx(height if is_over else np.hypot(0.2, height))


@pytest.mark.parametrize("dhat", [0.85, 0.95])
def test_what_is_farther_than_a_quarter_of_the_contact_distance_has_time(dhat) -> None:
    own = contact(beside(HEIGHT), np.array([0.4, 0.0, -0.2]), False, dhat)
    assert (own.scales[0] > 0.0) == (0.25 * dhat > np.hypot(0.2, HEIGHT))
