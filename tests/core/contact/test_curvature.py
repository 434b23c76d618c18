# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from supple.core.contact.barrier import ContactBarrier
from supple.core.contact.squares import assembled
from supple.core.contact.surface import Points
from supple.core.errors import InstabilityError
from supple.tests.core.contact.test_pairs import (
    FAR,
    FENCE,
    GAP,
    KINDS,
    REACH,
    ROOF,
    Close,
    close,
    tet,
)

kit: Any = pytest.importorskip("ipctk")

#: Turned against the fence by little enough to be taken for almost parallel to it.
SLANTED = np.array([[-0.4, -0.004, GAP], [0.4, 0.004, GAP], [0.1, 0.4, 2], [0.1, -0.4, 2]])
ALMOST_PARALLEL = (SLANTED, FENCE, "ee_collisions")
ALL_KINDS = KINDS | {"two edges that are almost parallel": ALMOST_PARALLEL}


@pytest.fixture(params=[False, True], ids=["original", "by area"])
def by_area(request) -> bool:
    return request.param


def one(kind: str, by_area: bool, aside: float = 0.0) -> Close:
    """A single pair of a kind."""
    corners, collider, attribute = ALL_KINDS[kind]
    lowest = corners[:, 2] == GAP
    # A little turned, in the plane of what is close alone.
    moved = corners + aside * lowest[:, None] * np.array([0.3, 0.2, 0.0])
    found = close([FAR, tet(moved)], collider, by_area)
    alone = kit.NormalCollisions()
    positive = [pair for pair in getattr(found.collisions, attribute) if pair.weight > 0.0]
    setattr(alone, attribute, positive[:1])
    assert len(alone) == 1
    single = found._replace(collisions=alone)
    assert (single.pairs().skew < 0.5).all() == ("parallel" in kind)
    return single


def hessian(found: Close) -> Points:
    """(3V, 3V)."""
    squares = found.barrier.squares(found.pairs(), found.points)
    return np.asarray(assembled([squares], len(found.points)).toarray())


def exact_hessian(found: Close) -> Points:
    """(3V, 3V) as the toolkit differentiates it, not projected."""
    mesh, potential = found.surface.mesh, found.barrier.potential
    matrix = potential.hessian(found.collisions, mesh, found.points, kit.NONE)
    return np.asarray(matrix.toarray())


def apart(found: Close) -> Points:
    """(V, 3) a way on which the pair parts along its normal alone."""
    pairs, way = found.pairs(), np.zeros_like(found.points)
    (difference,) = pairs.differences(found.points)
    normal = difference / np.linalg.norm(difference)
    moving = found.surface.object_of[pairs.vertices[0]] == 1
    way[pairs.vertices[0][moving]] = normal
    return way


# Single pairs


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_it_is_symmetric_and_positive_semidefinite(kind, by_area) -> None:
    matrix = hessian(one(kind, by_area, 0.1))
    np.testing.assert_array_equal(matrix, matrix.T)
    values = np.linalg.eigvalsh(matrix)
    assert values[0] >= -1e-12 * values[-1]
    assert values[-1] > 0.0


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_along_the_normal_it_is_the_change_of_the_force(kind, by_area) -> None:
    found = one(kind, by_area, 0.0)
    way, step = apart(found), 1e-6 * REACH
    after, before = (
        found.barrier.gradient(found.collisions, found.points + sign * step * way)
        for sign in (1, -1)
    )
    change = (after - before) / (2.0 * step)
    own = hessian(found) @ way.ravel()
    assert float((change * way).sum()) > 0.0
    assert own @ way.ravel() == pytest.approx(float((change * way).sum()), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_nowhere_less_than_the_exact_one(kind, by_area) -> None:
    found = one(kind, by_area, 0.1)
    more = hessian(found) - exact_hessian(found)
    values = np.linalg.eigvalsh(more)
    assert values[0] >= -1e-7 * np.abs(hessian(found)).max()


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_hardly_more_than_all_that_is_positive_of_the_exact_one(kind, by_area) -> None:
    found = one(kind, by_area, 0.1)
    values, vectors = np.linalg.eigh(exact_hessian(found))
    clamped = vectors * np.maximum(values, 0.0) @ vectors.T
    assert np.linalg.norm(hessian(found) - clamped) < 0.02 * np.linalg.norm(clamped)


@pytest.mark.parametrize("kind", ["two edges", "a point and a triangle"])
def test_what_slides_is_held_as_its_turning_normal_asks_for(kind, by_area) -> None:
    found = one(kind, by_area, 0.1)
    stiffest = np.linalg.eigh(exact_hessian(found))[1][:, -1:]
    aside = np.eye(len(stiffest)) - stiffest @ stiffest.T
    rest, exact = aside @ hessian(found) @ aside, aside @ exact_hessian(found) @ aside
    positive = np.linalg.eigvalsh(exact)[-1]
    assert positive > 0.0
    assert positive <= np.linalg.eigvalsh(rest)[-1] * (1.0 + 1e-9) < 3.0 * positive


def test_pairs_that_cancel_others_hold_nothing() -> None:
    found = close([FAR, tet(ROOF)], FENCE, True)
    pairs = found.pairs()
    flipped = type(pairs)(**(vars(pairs) | {"weights": -np.abs(pairs.weights)}))
    assert len(found.barrier.squares(flipped, found.points)) == 0


# The barrier's own


def test_the_curvature_is_the_slope_of_the_force_and_ends_at_its_distance(by_area) -> None:
    barrier = close([FAR], FENCE, by_area).barrier
    distances, step = REACH * np.array([1e-4, 0.01, 0.3, 0.9, 0.99]), 1e-6
    after, before = (barrier.force(distances * (1.0 + sign * step)) for sign in (1, -1))
    slope = (before - after) / (2.0 * step * distances)
    np.testing.assert_allclose(barrier.curvature(distances), slope, rtol=1e-6)
    np.testing.assert_array_equal(barrier.curvature(REACH * np.array([1.0, 2.0])), 0.0)


@pytest.mark.parametrize("gap", [0.0, 1e-200, np.nan])
def test_surfaces_without_a_distance_are_named(gap) -> None:
    found = one("two points", True)
    touching = found.points.copy(order="F")
    touching[found.pairs().vertices[0, :2]] = [[0.0, 0.0, 0.0], [0.0, 0.0, gap]]
    barrier: ContactBarrier = found.barrier
    with pytest.raises(InstabilityError, match="Body 0, Body 1, Collider: surfaces came closer"):
        barrier.squares(found.pairs(), touching)
