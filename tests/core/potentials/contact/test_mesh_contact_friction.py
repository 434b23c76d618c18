# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from supple.core import Collider, Contact, PairFriction, Scene, SoftBody
from supple.core.potentials.contact.barrier import ContactBarrier
from supple.core.potentials.contact.friction import ContactFriction
from supple.core.potentials.contact.mesh_contact import MeshContact
from supple.core.potentials.contact.normal_collisions import Stencils, assembled
from supple.core.potentials.contact.surface import CollisionSurface, Points
from supple.core.scene.friction import FrictionTable
from supple.tests.core.potentials.contact.close_bodies import (
    FORMULATIONS,
    REACH,
    SLIP,
    TRIANGLE,
    contact_of,
    gradient,
    pyramid,
    rest,
    stack,
)
from supple.tests.core.potentials.contact.close_parts import collisions_at
from supple.verification.meshes import block

pytest.importorskip("ipctk")

#: Where each level goes relative to what lies below it.
SLIDES = torch.tensor([[1.0, 0, 0], [0, 1.0, 0], [-0.6, 0.8, 0]], dtype=torch.float64)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_each_pair_rubs_with_its_own_coefficient_times_the_normal_force(formulation) -> None:
    options = {"friction": 0.6, "formulation": formulation, "stiffness": 1e5}
    named = [PairFriction("Level 2", "Level 1", 0.3, 0.25)]
    contact, positions, levels = pyramid(pairs=named, **options)
    start, shift = positions.clone(), torch.zeros(3, dtype=torch.float64)
    for where, slide in zip(levels, SLIDES, strict=True):
        shift = shift + 5.0 * SLIP * slide
        start[:, where] -= shift[:, None]
    contact.begin_step(start, SLIP)
    contact.build_static_candidates(positions)
    contact.update_lagged(positions)
    with_friction = gradient(contact, positions)
    contact._friction = None
    pressed = gradient(contact, positions)
    rubbed = torch.stack([(with_friction - pressed)[:, where].sum(1) for where in levels])
    # What lies above a level is borne through it.
    normal = -torch.stack([pressed[2, where].sum() for where in levels]).flip(0).cumsum(0).flip(0)
    assert (normal > 0.0).all()
    expected = torch.tensor([math.sqrt(0.9 * 0.1), math.sqrt(0.9 * 0.4), 0.25], dtype=torch.float64)
    own = (expected * normal)[:, None] * SLIDES
    own[:-1] -= own[1:].clone()
    torch.testing.assert_close(rubbed, own, rtol=1e-6, atol=1e-6 * float(normal.max()))


@pytest.mark.parametrize(("ways", "share"), [(0.25, 0.4375), (0.5, 0.75), (1.0, 1.0), (3.0, 1.0)])
def test_what_sticks_is_held_by_a_part_of_the_force_that_breaks_it_loose(ways, share) -> None:
    assert rubbing(ways, friction=0.5) == pytest.approx(0.5 * share, rel=1e-6)


@pytest.mark.parametrize("ways", [2.0, 9.0])
def test_what_slides_is_held_with_the_kinetic_coefficient(ways) -> None:
    assert rubbing(ways, friction=0.8, kinetic_friction=0.2) == pytest.approx(0.2, rel=1e-6)


def test_before_it_slides_it_is_held_with_up_to_the_static_coefficient() -> None:
    held = [rubbing(w, friction=0.8, kinetic_friction=0.2) for w in np.linspace(0.05, 2.0, 40)]
    assert max(held) == pytest.approx(0.8, rel=0.01)


def rubbing(ways: float, **friction) -> float:
    """Friction in units of the normal force, so many slips from where a block began."""
    scene = Scene(
        [SoftBody(block((2, 2, 1), (1.0, 1.0, 0.3), (0.0, 0.0, 0.4 * REACH)))],
        colliders=[Collider(TRIANGLE, [[0, 1, 2]])],
        contact=Contact(distance=REACH, **friction),
    )
    contact, positions = contact_of(scene), rest(scene)
    start = positions.clone()
    start[0] -= ways * SLIP
    contact.begin_step(start, SLIP)
    contact.build_static_candidates(positions)
    contact.update_lagged(positions)
    total = gradient(contact, positions).sum(1)
    assert abs(float(total[1])) < 1e-9 * abs(float(total[2]))
    return float(-total[0] / total[2])


def test_friction_holds_with_the_forces_it_was_given_last_and_as_often_as_allowed() -> None:
    contact, positions, levels = pyramid(friction=0.5, friction_updates=2, stiffness=1e5)
    closer, closest = positions.clone(), positions.clone()
    closer[2, levels[2]] -= 0.1 * REACH
    closest[2, levels[2]] -= 0.2 * REACH
    aside = torch.zeros_like(positions)
    aside[0, levels[2]] = SLIP
    contact.begin_step(positions, SLIP)
    contact.collision_free_step_size(positions, closest + aside)
    held = friction_at(contact, positions + aside)
    assert held > 0.0
    assert friction_at(contact, closer + aside) == pytest.approx(held, rel=1e-3)
    changed, whole = contact.update_lagged(closer)
    assert 0.0 < changed < whole
    grown = friction_at(contact, closer + aside)
    assert grown > 1.02 * held
    # The second time was the last.
    assert contact.update_lagged(closest) == (0.0, 0.0)
    assert friction_at(contact, closest + aside) == pytest.approx(grown, rel=1e-3)
    contact.begin_step(positions, SLIP)
    assert contact.update_lagged(closest)[0] > 0.0


def friction_at(contact: MeshContact, positions: torch.Tensor) -> float:
    """Its energy, in joules."""
    friction = contact._friction
    assert friction is not None
    return float(friction.energy(contact.points(positions)))


def test_forces_taken_where_they_were_taken_before_have_not_changed() -> None:
    contact, positions, _ = pyramid(friction=0.5)
    contact.begin_step(positions, SLIP)
    changed, whole = contact.update_lagged(positions)
    assert changed == 0.0
    assert whole > 0.0


def test_what_stuck_creeps_by_as_many_slips_as_it_moved() -> None:
    contact, positions, levels = pyramid(friction=0.5)
    contact.begin_step(positions, SLIP)
    aside = torch.tensor([[SLIP], [0.0], [0.0]], dtype=torch.float64)
    assert contact.stick_drift(positions, positions) == 0.0
    assert contact.stick_drift(positions, positions + 0.25 * aside) == pytest.approx(0.25)
    assert contact.stick_drift(positions + 0.9 * aside, positions - aside) == pytest.approx(1.9)
    # What slid already may move on.
    assert contact.stick_drift(positions + 1.1 * aside, positions + 6.0 * aside) < 1e-9
    one = positions.clone()
    one[:, levels[2]] += 0.5 * aside
    # The farthest counts, whatever slides below.
    slid = one.clone()
    slid[:, levels[0]] += 7.0 * aside
    slid[:, levels[1]] += 7.0 * aside
    assert contact.stick_drift(positions, one) == pytest.approx(0.5)
    assert contact.stick_drift(slid, slid + aside) < 1e-9


def test_without_friction_nothing_lags_or_creeps() -> None:
    scene = stack("convergent", "boundary", {"friction": 0.0})
    contact, positions = contact_of(scene), rest(scene)
    contact.begin_step(positions, SLIP)
    assert contact.update_lagged(positions) == (0.0, 0.0)
    assert contact.stick_drift(positions, positions + 1.0) == 0.0


pytest.importorskip("ipctk")

FRICTION_REACH = 0.05
FRICTION_SLIP = 1e-3
STATIC, KINETIC = 0.7, 0.3
STEP = 1e-4 * FRICTION_SLIP
ASIDE = np.array([0.8, 0.6, 0.0])
TABLE = Collider(np.array([[-5.0, -5, 0], [5, -5, 0], [0, 9, 0]]), [[0, 1, 2]])


class Rubbing:
    """A block of some cells close to a table, not quite parallel to it."""

    def __init__(
        self, area_weighted: bool = True, kinetic: float = KINETIC, table: Collider = TABLE
    ) -> None:
        mesh = block((2, 2, 1), (1.0, 0.9, 0.3), (0.0, 0.0, 0.5 * FRICTION_REACH))
        mesh.vertices[:, 2] += 0.1 * FRICTION_REACH * (mesh.vertices @ [0.7, 0.3, 0.0])
        scene = Scene(
            [SoftBody(mesh)],
            colliders=[table],
            contact=Contact(distance=FRICTION_REACH, friction=STATIC, kinetic_friction=kinetic),
        )
        self.surface = CollisionSurface(scene, [mesh])
        self.barrier = ContactBarrier(self.surface, 1e5, area_weighted)
        coefficients = FrictionTable(scene).mesh_pairs
        self.friction = ContactFriction(self.surface, self.barrier, coefficients)
        self.area_weighted = area_weighted
        self.own = slice(0, self.surface.body_count)
        self.points = self.surface.points(mesh.vertices.T, self.surface.colliders_at(0, 0.0))
        self.friction.begin_step(self.points, np.full((2, 2), FRICTION_SLIP))
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
        points[self.own] += FRICTION_SLIP * (slips * ASIDE + uneven * ways)
        return points

    def force(self, slips: float) -> float:
        """Against the way, in units of the normal force."""
        total = self.friction.gradient(self.slid(slips))[self.own].sum(axis=0)
        assert np.abs(np.cross(total, ASIDE)).max() <= 0.01 * np.abs(total).max()
        return float(total @ ASIDE) / self.normal_force()


def some_ways(points: Points) -> list[Points]:
    return [np.random.default_rng(seed).normal(size=points.shape) for seed in range(3)]


@pytest.fixture(params=[False, True], ids=["original", "by area"])
def friction_rubbing(request) -> Rubbing:
    return Rubbing(request.param)


#: Of slips: sticking, just held, softening, and sliding.
STAGES = pytest.mark.parametrize("slips", [0.0, 0.3, 0.97, 1.03, 1.5, 1.97, 2.03, 8.0])


# Derivatives


@STAGES
def test_the_gradient_is_the_slope_of_the_energy(friction_rubbing, slips) -> None:
    points, friction = friction_rubbing.slid(slips, 0.05), friction_rubbing.friction
    gradient = friction.gradient(points)
    scale = np.abs(gradient).sum()
    assert scale > 0.0
    for way in some_ways(points):
        after, before = (friction.energy(points + sign * STEP * way) for sign in (1, -1))
        slope = (after - before) / (2.0 * STEP)
        assert float((gradient * way).sum()) == pytest.approx(slope, abs=1e-5 * scale)


@pytest.mark.parametrize("slips", [0.3, 0.8, 3.0, 8.0])
def test_the_exact_second_derivative_is_that_of_the_gradient(friction_rubbing, slips) -> None:
    points, friction = friction_rubbing.slid(slips, 0.05), friction_rubbing.friction
    matrix = friction_rubbing.hessian(points, projected=False)
    for way in some_ways(points):
        found = (matrix @ way.ravel()).reshape(-1, 3)
        change = slope_of_gradient(friction, points, way)
        np.testing.assert_allclose(found, change, atol=1e-5 * np.abs(change).max())


def test_where_it_softens_it_is_exact_across_the_way_and_none_along_it(friction_rubbing) -> None:
    points, friction = friction_rubbing.slid(1.5), friction_rubbing.friction
    matrix = friction_rubbing.hessian(points, projected=False)
    across, along = np.zeros_like(points), np.zeros_like(points)
    across[friction_rubbing.own], along[friction_rubbing.own] = np.cross(ASIDE, [0, 0, 1.0]), ASIDE
    found = (matrix @ across.ravel()).reshape(-1, 3)
    change = slope_of_gradient(friction, points, across)
    np.testing.assert_allclose(found, change, atol=1e-3 * np.abs(change).max())
    # The block is tilted a little against the table.
    softening = slope_of_gradient(friction, points, along)[friction_rubbing.own].sum(axis=0) @ ASIDE
    assert softening < -np.abs(change).max()
    assert np.abs(matrix @ along.ravel()).max() < 1e-3 * np.abs(change).max()


@STAGES
def test_projected_it_is_not_less_and_holds_along_the_way_as_across_it(
    friction_rubbing, slips
) -> None:
    points = friction_rubbing.slid(slips)
    exact, projected = (friction_rubbing.hessian(points, flag) for flag in (False, True))
    least = -1e-9 * np.linalg.eigvalsh(projected)[-1]
    for matrix in (exact, projected, projected - exact):
        np.testing.assert_allclose(matrix, matrix.T, atol=-least)
        assert np.linalg.eigvalsh(matrix)[0] >= least
    ways = np.zeros((2, *points.shape))
    ways[0, friction_rubbing.own], ways[1, friction_rubbing.own] = (
        ASIDE,
        np.cross(ASIDE, [0, 0, 1.0]),
    )
    along, across = (float(way.ravel() @ projected @ way.ravel()) for way in ways)
    assert along == pytest.approx(across, rel=0.02)


def slope_of_gradient(friction: ContactFriction, points: Points, way: Points) -> Points:
    after, before = (friction.gradient(points + sign * STEP * way) for sign in (1, -1))
    return (after - before) / (2.0 * STEP)


# The law


def test_the_static_coefficient_holds_up_to_the_slip_and_the_kinetic_one_from_two_on() -> None:
    friction_rubbing = Rubbing()
    forces = {s: friction_rubbing.force(s) for s in (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 50.0)}
    expected = [0.0, 0.4375 * STATIC, 0.75 * STATIC, STATIC, 0.5 * (STATIC + KINETIC)]
    expected += 3 * [KINETIC]
    assert list(forces.values()) == pytest.approx(expected, rel=2e-3)


def test_it_falls_steadily_from_the_one_to_the_other() -> None:
    friction_rubbing = Rubbing()
    forces = [friction_rubbing.force(s) for s in np.linspace(1.0, 2.0, 21)]
    assert forces == sorted(forces, reverse=True)
    # Without a jump or a kink at either end.
    assert forces[0] - forces[1] < 0.02 * (STATIC - KINETIC)
    assert forces[-2] - forces[-1] < 0.02 * (STATIC - KINETIC)


def test_without_a_kinetic_coefficient_the_static_one_holds_however_far() -> None:
    friction_rubbing = Rubbing(kinetic=STATIC)
    assert [friction_rubbing.force(s) for s in (1.0, 1.5, 2.0, 9.0)] == pytest.approx(
        4 * [STATIC], rel=2e-3
    )


def test_its_forces_cancel_and_what_goes_together_feels_none(friction_rubbing) -> None:
    gradient = friction_rubbing.friction.gradient(friction_rubbing.slid(1.3, 0.2))
    np.testing.assert_allclose(gradient.sum(axis=0), 0.0, atol=1e-9 * np.abs(gradient).max())
    least, energy = (
        friction_rubbing.friction.energy(friction_rubbing.slid(slips)) for slips in (0.0, 5.0)
    )
    assert energy > least
    for together in (0.0, 5.0):
        points = friction_rubbing.points + together * FRICTION_SLIP * ASIDE
        assert friction_rubbing.friction.energy(points) == pytest.approx(least, rel=1e-9)
        assert (
            np.abs(friction_rubbing.friction.gradient(points)).max() < 1e-6 * np.abs(gradient).max()
        )


def test_what_lifts_off_rubs_as_before_and_not_at_all_once_it_is_looked_for_anew(
    friction_rubbing,
) -> None:
    high = friction_rubbing.slid(5.0)
    high[friction_rubbing.own, 2] += 2.0 * FRICTION_REACH
    assert friction_rubbing.friction.energy(high) > 0.0
    friction_rubbing.update_lagged(high)
    assert friction_rubbing.friction.energy(high) == 0.0
    assert not friction_rubbing.friction.gradient(high).any()
    assert len(friction_rubbing.friction.hessian_factors(high, True)) == 0
    assert friction_rubbing.friction.stick_drift(friction_rubbing.points, high) == 0.0


# Pairs that cancel others


def test_pairs_of_negative_weight_push_nothing_and_the_whole_stays() -> None:
    # Points above points and edges above edges, which would count more than once.
    below = block((2, 2, 1), (1.0, 0.9, 0.3), (0.0, 0.0, -0.3))
    friction_rubbing = Rubbing(table=Collider(below.vertices, below.surface))
    # Almost parallel edges rub nothing.
    stencils = friction_rubbing.stencils.where(friction_rubbing.stencils.mollifiers == 1.0)
    assert (stencils.weights < 0.0).any()
    whole = float(friction_rubbing.barrier.forces(stencils).sum())
    pushes = (
        friction_rubbing.friction.gradient(friction_rubbing.slid(9.0))[friction_rubbing.own] @ ASIDE
    )
    assert (pushes > -1e-9 * pushes.max()).all()
    assert float(pushes.sum()) == pytest.approx(KINETIC * whole, rel=2e-3)


def test_edges_that_are_almost_parallel_rub_nothing() -> None:
    friction_rubbing = Rubbing()
    faded = np.full(len(friction_rubbing.stencils), 0.999)
    friction_rubbing.friction.update_lagged(replace(friction_rubbing.stencils, mollifiers=faded))
    assert friction_rubbing.friction.energy(friction_rubbing.slid(5.0)) == 0.0


# What lags


def test_lagging_tells_the_change_of_forces_and_their_sum(friction_rubbing) -> None:
    changed, whole = friction_rubbing.lagged
    assert changed == whole > 0.0
    assert friction_rubbing.update_lagged(friction_rubbing.points) == (0.0, whole)
    lower = friction_rubbing.points.copy()
    lower[friction_rubbing.own, 2] -= 0.05 * FRICTION_REACH
    changed, pressed = friction_rubbing.update_lagged(lower)
    assert pressed > whole
    assert changed >= (pressed - whole) * (1.0 - 1e-9)


def test_the_farthest_of_what_stuck_creeps_and_what_slid_does_not(friction_rubbing) -> None:
    friction, points = friction_rubbing.friction, friction_rubbing.points
    assert friction.stick_drift(points, points) == 0.0
    assert friction.stick_drift(points, friction_rubbing.slid(0.4)) == pytest.approx(0.4, rel=1e-3)
    assert friction.stick_drift(points, friction_rubbing.slid(7.0)) == pytest.approx(7.0, rel=1e-3)
    assert friction.stick_drift(
        friction_rubbing.slid(-0.6), friction_rubbing.slid(0.4)
    ) == pytest.approx(1.0, rel=1e-3)
    assert friction.stick_drift(friction_rubbing.slid(1.1), friction_rubbing.slid(7.0)) == 0.0


# Relaxed updates


def test_a_relaxed_update_takes_a_fraction_of_the_new_normal_forces(friction_rubbing) -> None:
    points = friction_rubbing.slid(8.0)
    before = friction_rubbing.friction.gradient(points)
    friction_rubbing.barrier.stiffness = 3.0 * friction_rubbing.barrier.stiffness
    change, whole = friction_rubbing.friction.update_lagged(friction_rubbing.stencils, 0.25)
    assert change == pytest.approx(2.0 / 3.0 * whole)
    np.testing.assert_allclose(
        friction_rubbing.friction.gradient(points), 1.5 * before, atol=5e-3 * np.abs(before).max()
    )


def test_a_relaxed_update_keeps_part_of_the_friction_of_pairs_that_came_apart(
    friction_rubbing,
) -> None:
    points = friction_rubbing.slid(8.0)
    before = friction_rubbing.friction.gradient(points)
    apart = friction_rubbing.points + [0.0, 0.0, 2.0 * FRICTION_REACH] * (
        np.arange(len(points))[:, None] < len(points[friction_rubbing.own])
    )
    nothing = Stencils.of(
        collisions_at(friction_rubbing.surface, apart, friction_rubbing.area_weighted), apart
    )
    for left in (0.75, 0.75**2):
        friction_rubbing.friction.update_lagged(nothing, 0.25)
        np.testing.assert_allclose(
            friction_rubbing.friction.gradient(points),
            left * before,
            atol=5e-3 * np.abs(before).max(),
        )
    friction_rubbing.friction.update_lagged(nothing)
    assert not friction_rubbing.friction.gradient(points).any()
