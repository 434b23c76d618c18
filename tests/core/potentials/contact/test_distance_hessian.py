# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from supple.core.errors import InstabilityError
from supple.core.kernels.collisions import POINTS
from supple.core.potentials.contact.normal_collisions import assembled
from supple.core.potentials.contact.surface import Points
from supple.tests.core.potentials.contact.close_parts import (
    FAR,
    FENCE,
    GAP,
    KINDS,
    REACH,
    ROOF,
    SLANTED,
    STIFFNESS,
    Close,
    close,
    tet,
)
from supple.tests.core.potentials.contact.reference import potential_of, reference_mesh

kit: Any = pytest.importorskip("ipctk")

ALMOST_PARALLEL = (SLANTED, FENCE, range(POINTS))
ALL_KINDS = KINDS | {"two edges that are almost parallel": ALMOST_PARALLEL}
#: ipctk's lists.
LISTS = {
    "two points": "vv_collisions",
    "a point and an edge": "ev_collisions",
    "two edges": "ee_collisions",
    "a point and a triangle": "fv_collisions",
}


@pytest.fixture(params=[False, True], ids=["original", "by area"])
def area_weighted(request) -> bool:
    return request.param


def one(kind: str, area_weighted: bool, aside: float = 0.0) -> Close:
    """A single collision of a kind."""
    corners, collider, features = ALL_KINDS[kind]
    lowest = corners[:, 2] == GAP
    # A little turned, in the plane of what is close alone.
    moved = corners + aside * lowest[:, None] * np.array([0.3, 0.2, 0.0])
    found = close([FAR, tet(moved)], collider, area_weighted)
    own = found.collisions
    acting = np.flatnonzero(np.isin(own.features, features) & (own.weights > 0.0))
    single = replace(found, collisions=own.where(np.arange(len(own)) == acting[0]))
    assert (single.stencils().mollifiers < 0.5).all() == ("parallel" in kind)
    return single


def hessian(found: Close) -> Points:
    """(3V, 3V)."""
    hessian_factors = found.barrier.hessian_factors(found.stencils())
    return np.asarray(assembled([hessian_factors], len(found.points)).toarray())


def exact_hessian(found: Close, kind: str, area_weighted: bool) -> Points:
    """The (3V, 3V) Hessian of the same collision as ipctk differentiates it, not projected."""
    mesh, points = reference_mesh(found.surface), np.asfortranarray(found.points)
    collisions, alone = kit.NormalCollisions(), kit.NormalCollisions()
    collisions.build(mesh, points, REACH)
    (vertices,) = found.collisions.vertices.tolist()
    edges, faces = np.asarray(mesh.edges), np.asarray(mesh.faces)
    for pair in getattr(collisions, LISTS[kind]):
        own = [vertex for vertex in pair.vertex_ids(edges, faces) if vertex >= 0]
        if set(own) == set(vertices):
            pair.weight = float(found.collisions.weights[0])
            setattr(alone, LISTS[kind], [pair])
    assert len(alone) == 1
    potential = potential_of(REACH, STIFFNESS, area_weighted)
    return np.asarray(potential.hessian(alone, mesh, points, kit.NONE).toarray())


def apart(found: Close) -> Points:
    """(V, 3) a way on which the pair parts along its normal alone."""
    (vertices,), (normal,) = found.collisions.vertices, found.stencils().normals
    way = np.zeros_like(found.points)
    way[vertices[found.surface.object_of[vertices] == 1]] = normal
    return way


# Single pairs


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_it_is_symmetric_and_positive_semidefinite(kind, area_weighted) -> None:
    matrix = hessian(one(kind, area_weighted, 0.1))
    np.testing.assert_array_equal(matrix, matrix.T)
    values = np.linalg.eigvalsh(matrix)
    assert values[0] >= -1e-12 * values[-1]
    assert values[-1] > 0.0


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_along_the_normal_it_is_the_change_of_the_force(kind, area_weighted) -> None:
    found = one(kind, area_weighted, 0.0)
    way, step = apart(found), 1e-6 * REACH
    after, before = (
        found.barrier.gradient(found.stencils(found.points + sign * step * way)) for sign in (1, -1)
    )
    change = (after - before) / (2.0 * step)
    own = hessian(found) @ way.ravel()
    assert float((change * way).sum()) > 0.0
    assert own @ way.ravel() == pytest.approx(float((change * way).sum()), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_nowhere_less_than_the_exact_one(kind, area_weighted) -> None:
    found = one(kind, area_weighted, 0.1)
    more = hessian(found) - exact_hessian(found, kind, area_weighted)
    values = np.linalg.eigvalsh(more)
    assert values[0] >= -1e-7 * np.abs(hessian(found)).max()


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_hardly_more_than_all_that_is_positive_of_the_exact_one(kind, area_weighted) -> None:
    found = one(kind, area_weighted, 0.1)
    values, vectors = np.linalg.eigh(exact_hessian(found, kind, area_weighted))
    clamped = vectors * np.maximum(values, 0.0) @ vectors.T
    assert np.linalg.norm(hessian(found) - clamped) < 0.02 * np.linalg.norm(clamped)


@pytest.mark.parametrize("kind", ["two edges", "a point and a triangle"])
def test_what_slides_is_held_as_its_turning_normal_asks_for(kind, area_weighted) -> None:
    found = one(kind, area_weighted, 0.1)
    stiffest = np.linalg.eigh(exact_hessian(found, kind, area_weighted))[1][:, -1:]
    aside = np.eye(len(stiffest)) - stiffest @ stiffest.T
    rest, exact = (
        aside @ hessian(found) @ aside,
        aside @ exact_hessian(found, kind, area_weighted) @ aside,
    )
    positive = np.linalg.eigvalsh(exact)[-1]
    assert positive > 0.0
    assert positive <= np.linalg.eigvalsh(rest)[-1] * (1.0 + 1e-9) < 3.0 * positive


def test_collisions_that_cancel_others_hold_nothing() -> None:
    found = close([FAR, tet(ROOF)], FENCE, True)
    flipped = replace(found.collisions, weights=-np.abs(found.collisions.weights))
    assert len(found.barrier.hessian_factors(replace(found, collisions=flipped).stencils())) == 0


# The barrier's own


def test_the_curvature_is_the_slope_of_the_force_and_ends_at_its_distance(area_weighted) -> None:
    found, step = one("a point and a triangle", area_weighted), 1e-6
    way = apart(found) * np.sign(apart(found)[:, 2].sum())

    def at(distance: float) -> Any:
        return found.stencils(found.points + (distance - GAP) * way)

    for share in (1e-4, 0.01, 0.3, 0.9, 0.99):
        distance = REACH * share
        after, before = (
            found.barrier.forces(at(distance * (1.0 + sign * step)))[0] for sign in (1, -1)
        )
        slope = (before - after) / (2.0 * step * distance)
        assert found.barrier.second_derivatives(at(distance))[0] == pytest.approx(slope, rel=1e-6)
    for share in (1.0, 2.0):
        assert found.barrier.second_derivatives(at(share * REACH))[0] == 0.0


@pytest.mark.parametrize("gap", [0.0, 1e-200, np.nan])
def test_surfaces_without_a_distance_are_named(gap) -> None:
    found = one("two points", True)
    touching = found.points.copy()
    touching[found.collisions.vertices[0, :2]] = [[0.0, 0.0, 0.0], [0.0, 0.0, gap]]
    with pytest.raises(InstabilityError, match="Body 0, Body 1, Collider: surfaces came closer"):
        found.barrier.hessian_factors(found.stencils(touching))
