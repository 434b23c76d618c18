# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core.kernels.collisions import POINTS
from supple.core.math3.closest_points import CROSSING
from supple.core.potentials.contact.surface import Points
from supple.tests.core.potentials.contact.close_parts import (
    DART,
    FAR,
    FENCE,
    GAP,
    KINDS,
    REACH,
    SLANTED,
    TRIANGLE,
    Close,
    close,
    tet,
)
from supple.verification.meshes import block


@pytest.fixture(params=[False, True], ids=["original", "by area"])
def area_weighted(request) -> bool:
    return request.param


@pytest.fixture(params=KINDS)
def kind(request) -> str:
    return request.param


def check_gradient(found: Close) -> None:
    """That of the barrier, from the forces of its collisions one by one."""
    stencils = found.stencils()
    assert len(stencils) > 0
    assert (stencils.mollifiers == 1.0).all()
    pushes = found.barrier.forces(stencils)[:, None] * stencils.normals
    total = np.zeros_like(found.points)
    shares = stencils.coefficients[:, :, None] * pushes[:, None]
    np.add.at(total, stencils.collisions.vertices, -shares)
    expected = found.barrier.gradient(stencils)
    assert np.abs(expected).max() > 0.0
    np.testing.assert_allclose(total, expected, atol=1e-12 * np.abs(expected).max())


def test_each_kind_of_collision_pushes_as_the_barrier_says(kind, area_weighted) -> None:
    corners, collider, features = KINDS[kind]
    found = close([FAR, tet(corners)], collider, area_weighted)
    assert np.isin(found.collisions.features, features).any()
    check_gradient(found)


def test_many_collisions_push_as_the_barrier_says(area_weighted) -> None:
    upper = block((3, 2, 1), (0.8, 0.7, 0.9), (0.13, 0.11, 1.0 + GAP))
    # Turned, so that no edges are parallel but those of one body.
    cos, sin = np.cos(0.5), np.sin(0.5)
    turned = upper.vertices @ np.array([[cos, sin, 0.0], [-sin, cos, 0.0], [0.0, 0.0, 1.0]])
    bodies = [block((3, 3, 1)), upper.with_vertices(turned + np.array([0.2, 0.0, 0.0]))]
    found = close(bodies, TRIANGLE - [0.0, 0.0, 9.0], area_weighted)
    assert len(found.collisions) > 20
    check_gradient(found)


def test_differences_are_as_long_as_the_gap_and_made_of_the_coefficients(
    kind, area_weighted
) -> None:
    corners, collider, _ = KINDS[kind]
    stencils = close([FAR, tet(corners)], collider, area_weighted).stencils()
    np.testing.assert_allclose(stencils.distances, GAP, rtol=1e-12)
    corners = stencils.points[stencils.collisions.vertices]
    sums = np.einsum("ka,kai->ki", stencils.coefficients, corners)
    np.testing.assert_allclose(sums, stencils.differences, atol=1e-14)
    np.testing.assert_allclose(stencils.coefficients.sum(axis=1), 0.0, atol=1e-12)


def test_the_first_and_the_last_vertex_belong_to_the_two_that_are_close(
    kind, area_weighted
) -> None:
    corners, collider, _ = KINDS[kind]
    found = close([FAR, tet(corners)], collider, area_weighted)
    ends = found.surface.object_of[found.collisions.vertices[:, [0, 3]]]
    np.testing.assert_array_equal(np.sort(ends, axis=1), found.collisions.objects)
    assert (found.collisions.objects == [1, 2]).all()
    # And no vertex is one that the collision has not.
    assert (found.surface.object_of[found.collisions.vertices] > 0).all()


@pytest.mark.parametrize("kind", [*KINDS, "two edges that are almost parallel"])
def test_normals_turn_as_collisions_say(kind, area_weighted) -> None:
    corners, collider, _ = (KINDS | {kind: KINDS.get(kind, (SLANTED, FENCE, []))})[kind]
    found = close([FAR, tet(corners)], collider, area_weighted)
    stencils, step = found.stencils(), 1e-6 * REACH
    ways = np.random.default_rng(2).normal(size=found.points.shape)
    after, before = (found.stencils(found.points + sign * step * ways).normals for sign in (1, -1))
    across = np.einsum("ki,kai->ka", stencils.normals, ways[stencils.collisions.vertices])
    turned = np.einsum("ka,kai->ki", across, stencils.normal_jacobians)
    change = (after - before) / (2.0 * step)
    # Where only an edge turns it, or nothing, it turns freely in other directions.
    sizes = np.linalg.norm(turned, axis=1)[:, None]
    told = turned / np.maximum(sizes, 1e-300)
    features = stencils.collisions.features
    whole = (features == CROSSING) | (features > POINTS + 1)
    tolerance = 1e-5 if (stencils.mollifiers == 1.0).all() else 1e-3
    np.testing.assert_allclose(turned[whole], change[whole], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose((change * told).sum(axis=1), sizes[:, 0], rtol=tolerance)
    assert (sizes > 0.0).all() == (kind != "two points")


def test_edges_that_are_almost_parallel_push_less_and_are_told(area_weighted) -> None:
    mollifiers = []
    for slant in (1e-7, 1e-3, 0.02, 0.3):
        along = np.array([[-0.4, -0.4 * slant, GAP], [0.4, 0.4 * slant, GAP]])
        corners = np.concatenate([along, [[0.1, 0.4, 2.0], [0.1, -0.4, 2.0]]])
        stencils = close([FAR, tet(corners)], FENCE, area_weighted).stencils()
        (edges,) = np.flatnonzero(stencils.collisions.features == CROSSING)
        ratio = min(slant**2 / (1.0 + slant**2) / 1e-3, 1.0)
        mollifiers.append(stencils.mollifiers[edges])
        assert mollifiers[-1] == pytest.approx(ratio * (2.0 - ratio), rel=1e-6)
        weight = stencils.collisions.weights[edges]
        assert stencils.weights[edges] == weight * mollifiers[-1]
    assert 0.0 < mollifiers[0] < mollifiers[1] < mollifiers[2] <= mollifiers[3] == 1.0


def test_edges_that_are_almost_parallel_are_as_near_as_their_nearest_points(area_weighted) -> None:
    # Their lines cross far beyond the end of one.
    along = np.array([[-0.4, 0.012, GAP], [0.4, 0.004, GAP], [0.1, 0.4, 2], [0.1, -0.4, 2]])
    stencils = close([FAR, tet(along)], FENCE, area_weighted).stencils()
    fading = stencils.where(stencils.mollifiers < 1.0)
    nearest = fading.distances.min()
    assert nearest == pytest.approx(np.hypot(GAP, 0.004), rel=1e-12)
    assert (np.abs(fading.coefficients) <= 1.0).all()


def test_edges_that_are_parallel_push_nothing(area_weighted) -> None:
    along = np.array([[-0.4, 0.0, GAP], [0.4, 0.0, GAP], [0.1, 0.4, 2], [0.1, -0.4, 2]])
    stencils = close([FAR, tet(along)], FENCE, area_weighted).stencils()
    edges = stencils.where(stencils.collisions.features < POINTS)
    assert len(edges) > 0
    assert not edges.mollifiers.any()
    np.testing.assert_allclose(edges.distances, GAP, rtol=1e-12)
    assert np.isfinite(stencils.normal_jacobians).all()


def test_where_nothing_is_close_there_are_no_collisions(area_weighted) -> None:
    found = close([FAR], TRIANGLE, area_weighted)
    stencils = found.stencils()
    assert len(stencils) == 0
    assert stencils.normals.shape == (0, 3)
    assert found.barrier.energy(stencils) == 0.0
    assert not found.barrier.gradient(stencils).any()


def test_the_force_is_the_slope_of_the_barrier_and_ends_at_its_distance(area_weighted) -> None:
    found, step = close([FAR, tet(DART)], TRIANGLE, area_weighted), 1e-6 * REACH
    own = slice(len(FAR.vertices), 2 * len(FAR.vertices))

    def raised(gap: float) -> Points:
        points = found.points.copy()
        points[own, 2] += gap - GAP
        return points

    energies = [found.barrier.energy(found.stencils(raised(GAP + s))) for s in (step, -step)]
    slope = (energies[1] - energies[0]) / (2.0 * step)
    forces = [found.barrier.forces(found.stencils(raised(g)))[0] for g in (GAP, REACH, 2 * REACH)]
    assert forces[0] == pytest.approx(slope, rel=1e-6)
    assert forces[1] == forces[2] == 0.0


def test_where_surfaces_touch_the_energy_is_infinite(area_weighted) -> None:
    found = close([FAR, tet(DART)], TRIANGLE, area_weighted)
    points = found.points.copy()
    points[found.surface.object_of == 1, 2] -= GAP
    assert found.barrier.energy(found.stencils(points)) == np.inf
