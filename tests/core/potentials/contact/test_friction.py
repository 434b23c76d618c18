# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from supple.core import Collider, Contact, Scene, SoftBody
from supple.core.potentials.contact.barrier import ContactBarrier
from supple.core.potentials.contact.friction import ContactFriction
from supple.core.potentials.contact.normal_collisions import Stencils, assembled
from supple.core.potentials.contact.surface import CollisionSurface, Points
from supple.core.scene.friction import FrictionTable
from supple.tests.core.potentials.contact.close_parts import collisions_at
from supple.verification.meshes import block

pytest.importorskip("ipctk")

REACH = 0.05
SLIP = 1e-3
STATIC, KINETIC = 0.7, 0.3
STEP = 1e-4 * SLIP
ASIDE = np.array([0.8, 0.6, 0.0])
TABLE = Collider(np.array([[-5.0, -5, 0], [5, -5, 0], [0, 9, 0]]), [[0, 1, 2]])


class Rubbing:
    """A block of some cells close to a table, not quite parallel to it."""

    def __init__(
        self, area_weighted: bool = True, kinetic: float = KINETIC, table: Collider = TABLE
    ) -> None:
        mesh = block((2, 2, 1), (1.0, 0.9, 0.3), (0.0, 0.0, 0.5 * REACH))
        mesh.vertices[:, 2] += 0.1 * REACH * (mesh.vertices @ [0.7, 0.3, 0.0])
        scene = Scene(
            [SoftBody(mesh)],
            colliders=[table],
            contact=Contact(distance=REACH, friction=STATIC, kinetic_friction=kinetic),
        )
        self.surface = CollisionSurface(scene, [mesh])
        self.barrier = ContactBarrier(self.surface, 1e5, area_weighted)
        coefficients = FrictionTable(scene).mesh_pairs
        self.friction = ContactFriction(self.surface, self.barrier, coefficients)
        self.area_weighted = area_weighted
        self.own = slice(0, self.surface.body_count)
        self.points = self.surface.points(mesh.vertices.T, self.surface.colliders_at(0, 0.0))
        self.friction.begin_step(self.points, np.full((2, 2), SLIP))
        self.lagged = self.update_lagged(self.points)

    def update_lagged(self, points: Points) -> tuple[float, float]:
        self.stencils = Stencils.of(collisions_at(self.surface, points, self.area_weighted), points)
        return self.friction.update_lagged(self.stencils)

    def hessian(self, points: Points, projected: bool) -> Points:
        """(3V, 3V)."""
        hessian_factors = self.friction.hessian_factors(points, projected)
        return np.asarray(assembled([hessian_factors], len(points)).toarray())

    def normal_force(self) -> float:
        """On the block, in newtons."""
        pushes = self.barrier.gradient(self.stencils)
        return float(-pushes[self.own, 2].sum())

    def slid(self, slips: float, uneven: float = 0.0) -> Points:
        """The block so many slips aside, each vertex by a little more or less than others."""
        points = self.points.copy()
        ways = np.random.default_rng(3).normal(size=(self.surface.body_count, 3))
        points[self.own] += SLIP * (slips * ASIDE + uneven * ways)
        return points

    def force(self, slips: float) -> float:
        """Against the way, in units of the normal force."""
        total = self.friction.gradient(self.slid(slips))[self.own].sum(axis=0)
        assert np.abs(np.cross(total, ASIDE)).max() <= 0.01 * np.abs(total).max()
        return float(total @ ASIDE) / self.normal_force()


def some_ways(points: Points) -> list[Points]:
    return [np.random.default_rng(seed).normal(size=points.shape) for seed in range(3)]


@pytest.fixture(params=[False, True], ids=["original", "by area"])
def rubbing(request) -> Rubbing:
    return Rubbing(request.param)


#: Of slips: sticking, just held, softening, and sliding.
STAGES = pytest.mark.parametrize("slips", [0.0, 0.3, 0.97, 1.03, 1.5, 1.97, 2.03, 8.0])


# Derivatives


@STAGES
def test_the_gradient_is_the_slope_of_the_energy(rubbing, slips) -> None:
    points, friction = rubbing.slid(slips, 0.05), rubbing.friction
    gradient = friction.gradient(points)
    scale = np.abs(gradient).sum()
    assert scale > 0.0
    for way in some_ways(points):
        after, before = (friction.energy(points + sign * STEP * way) for sign in (1, -1))
        slope = (after - before) / (2.0 * STEP)
        assert float((gradient * way).sum()) == pytest.approx(slope, abs=1e-5 * scale)


@pytest.mark.parametrize("slips", [0.3, 0.8, 3.0, 8.0])
def test_the_exact_second_derivative_is_that_of_the_gradient(rubbing, slips) -> None:
    points, friction = rubbing.slid(slips, 0.05), rubbing.friction
    matrix = rubbing.hessian(points, projected=False)
    for way in some_ways(points):
        found = (matrix @ way.ravel()).reshape(-1, 3)
        change = slope_of_gradient(friction, points, way)
        np.testing.assert_allclose(found, change, atol=1e-5 * np.abs(change).max())


def test_where_it_softens_it_is_exact_across_the_way_and_none_along_it(rubbing) -> None:
    points, friction = rubbing.slid(1.5), rubbing.friction
    matrix = rubbing.hessian(points, projected=False)
    across, along = np.zeros_like(points), np.zeros_like(points)
    across[rubbing.own], along[rubbing.own] = np.cross(ASIDE, [0, 0, 1.0]), ASIDE
    found = (matrix @ across.ravel()).reshape(-1, 3)
    change = slope_of_gradient(friction, points, across)
    np.testing.assert_allclose(found, change, atol=1e-3 * np.abs(change).max())
    # The block is tilted a little against the table.
    softening = slope_of_gradient(friction, points, along)[rubbing.own].sum(axis=0) @ ASIDE
    assert softening < -np.abs(change).max()
    assert np.abs(matrix @ along.ravel()).max() < 1e-3 * np.abs(change).max()


@STAGES
def test_projected_it_is_not_less_and_holds_along_the_way_as_across_it(rubbing, slips) -> None:
    points = rubbing.slid(slips)
    exact, projected = (rubbing.hessian(points, flag) for flag in (False, True))
    least = -1e-9 * np.linalg.eigvalsh(projected)[-1]
    for matrix in (exact, projected, projected - exact):
        np.testing.assert_allclose(matrix, matrix.T, atol=-least)
        assert np.linalg.eigvalsh(matrix)[0] >= least
    ways = np.zeros((2, *points.shape))
    ways[0, rubbing.own], ways[1, rubbing.own] = ASIDE, np.cross(ASIDE, [0, 0, 1.0])
    along, across = (float(way.ravel() @ projected @ way.ravel()) for way in ways)
    assert along == pytest.approx(across, rel=0.02)


def slope_of_gradient(friction: ContactFriction, points: Points, way: Points) -> Points:
    after, before = (friction.gradient(points + sign * STEP * way) for sign in (1, -1))
    return (after - before) / (2.0 * STEP)


# The law


def test_the_static_coefficient_holds_up_to_the_slip_and_the_kinetic_one_from_two_on() -> None:
    rubbing = Rubbing()
    forces = {s: rubbing.force(s) for s in (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 50.0)}
    expected = [0.0, 0.4375 * STATIC, 0.75 * STATIC, STATIC, 0.5 * (STATIC + KINETIC)]
    expected += 3 * [KINETIC]
    assert list(forces.values()) == pytest.approx(expected, rel=2e-3)


def test_it_falls_steadily_from_the_one_to_the_other() -> None:
    rubbing = Rubbing()
    forces = [rubbing.force(s) for s in np.linspace(1.0, 2.0, 21)]
    assert forces == sorted(forces, reverse=True)
    # Without a jump or a kink at either end.
    assert forces[0] - forces[1] < 0.02 * (STATIC - KINETIC)
    assert forces[-2] - forces[-1] < 0.02 * (STATIC - KINETIC)


def test_without_a_kinetic_coefficient_the_static_one_holds_however_far() -> None:
    rubbing = Rubbing(kinetic=STATIC)
    assert [rubbing.force(s) for s in (1.0, 1.5, 2.0, 9.0)] == pytest.approx(4 * [STATIC], rel=2e-3)


def test_its_forces_cancel_and_what_goes_together_feels_none(rubbing) -> None:
    gradient = rubbing.friction.gradient(rubbing.slid(1.3, 0.2))
    np.testing.assert_allclose(gradient.sum(axis=0), 0.0, atol=1e-9 * np.abs(gradient).max())
    least, energy = (rubbing.friction.energy(rubbing.slid(slips)) for slips in (0.0, 5.0))
    assert energy > least
    for together in (0.0, 5.0):
        points = rubbing.points + together * SLIP * ASIDE
        assert rubbing.friction.energy(points) == pytest.approx(least, rel=1e-9)
        assert np.abs(rubbing.friction.gradient(points)).max() < 1e-6 * np.abs(gradient).max()


def test_what_lifts_off_rubs_as_before_and_not_at_all_once_it_is_looked_for_anew(rubbing) -> None:
    high = rubbing.slid(5.0)
    high[rubbing.own, 2] += 2.0 * REACH
    assert rubbing.friction.energy(high) > 0.0
    rubbing.update_lagged(high)
    assert rubbing.friction.energy(high) == 0.0
    assert not rubbing.friction.gradient(high).any()
    assert len(rubbing.friction.hessian_factors(high, True)) == 0
    assert rubbing.friction.stick_drift(rubbing.points, high) == 0.0


# Pairs that cancel others


def test_pairs_of_negative_weight_push_nothing_and_the_whole_stays() -> None:
    # Points above points and edges above edges, which would count more than once.
    below = block((2, 2, 1), (1.0, 0.9, 0.3), (0.0, 0.0, -0.3))
    rubbing = Rubbing(table=Collider(below.vertices, below.surface))
    # Almost parallel edges rub nothing.
    stencils = rubbing.stencils.where(rubbing.stencils.mollifiers == 1.0)
    assert (stencils.weights < 0.0).any()
    whole = float(rubbing.barrier.forces(stencils).sum())
    pushes = rubbing.friction.gradient(rubbing.slid(9.0))[rubbing.own] @ ASIDE
    assert (pushes > -1e-9 * pushes.max()).all()
    assert float(pushes.sum()) == pytest.approx(KINETIC * whole, rel=2e-3)


def test_edges_that_are_almost_parallel_rub_nothing() -> None:
    rubbing = Rubbing()
    faded = np.full(len(rubbing.stencils), 0.999)
    rubbing.friction.update_lagged(replace(rubbing.stencils, mollifiers=faded))
    assert rubbing.friction.energy(rubbing.slid(5.0)) == 0.0


# What lags


def test_lagging_tells_the_change_of_forces_and_their_sum(rubbing) -> None:
    changed, whole = rubbing.lagged
    assert changed == whole > 0.0
    assert rubbing.update_lagged(rubbing.points) == (0.0, whole)
    lower = rubbing.points.copy()
    lower[rubbing.own, 2] -= 0.05 * REACH
    changed, pressed = rubbing.update_lagged(lower)
    assert pressed > whole
    assert changed >= (pressed - whole) * (1.0 - 1e-9)


def test_the_farthest_of_what_stuck_creeps_and_what_slid_does_not(rubbing) -> None:
    friction, points = rubbing.friction, rubbing.points
    assert friction.stick_drift(points, points) == 0.0
    assert friction.stick_drift(points, rubbing.slid(0.4)) == pytest.approx(0.4, rel=1e-3)
    assert friction.stick_drift(points, rubbing.slid(7.0)) == pytest.approx(7.0, rel=1e-3)
    assert friction.stick_drift(rubbing.slid(-0.6), rubbing.slid(0.4)) == pytest.approx(
        1.0, rel=1e-3
    )
    assert friction.stick_drift(rubbing.slid(1.1), rubbing.slid(7.0)) == 0.0


# Relaxed updates


def test_a_relaxed_update_takes_a_fraction_of_the_new_normal_forces(rubbing) -> None:
    points = rubbing.slid(8.0)
    before = rubbing.friction.gradient(points)
    rubbing.barrier.stiffness = 3.0 * rubbing.barrier.stiffness
    change, whole = rubbing.friction.update_lagged(rubbing.stencils, 0.25)
    assert change == pytest.approx(2.0 / 3.0 * whole)
    np.testing.assert_allclose(
        rubbing.friction.gradient(points), 1.5 * before, atol=5e-3 * np.abs(before).max()
    )


def test_a_relaxed_update_keeps_part_of_the_friction_of_pairs_that_came_apart(rubbing) -> None:
    points = rubbing.slid(8.0)
    before = rubbing.friction.gradient(points)
    apart = rubbing.points + [0.0, 0.0, 2.0 * REACH] * (
        np.arange(len(points))[:, None] < len(points[rubbing.own])
    )
    nothing = Stencils.of(collisions_at(rubbing.surface, apart, rubbing.area_weighted), apart)
    for left in (0.75, 0.75**2):
        rubbing.friction.update_lagged(nothing, 0.25)
        np.testing.assert_allclose(
            rubbing.friction.gradient(points), left * before, atol=5e-3 * np.abs(before).max()
        )
    rubbing.friction.update_lagged(nothing)
    assert not rubbing.friction.gradient(points).any()
