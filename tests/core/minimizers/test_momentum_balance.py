# SPDX-License-Identifier: GPL-3.0-or-later
"""Net forces and net moments that a search has left over are taken away."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Contact, Ground, Scene, Simulator, SoftBody
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.core.minimizers.incremental_potential import IncrementalPotential, RigidDrift
from supple.core.minimizers.momentum_balance import MomentumBalance
from supple.core.potentials import TimeStep
from supple.core.scene.contact_settings import Collider
from supple.core.system import System
from supple.verification.meshes import block

STEP = 1.0 / 24.0
CPU = torch.device("cpu")


def begun(*bodies: SoftBody, **options) -> tuple[IncrementalPotential, torch.Tensor]:
    objective = IncrementalPotential(System(Scene(list(bodies), **options), CPU, torch.float64))
    rest = objective.system.rest_positions()
    if objective.contact is not None:
        objective.contact.begin(None)
    objective.begin(TimeStep(rest, rest, STEP, STEP))
    return objective, rest


def cube(at: float = 0.0, **options) -> SoftBody:
    mesh = block((2, 2, 2), (0.2, 0.2, 0.2), (at, 0.0, 0.0))
    return SoftBody(mesh, StableNeoHookean(1e5, 0.3), **options)


def left_over(objective: IncrementalPotential, at: torch.Tensor) -> tuple[float, float]:
    """The net force and the net moment, in newtons and newton metres."""
    gradient, mass = objective.gradient(at), objective.system.mass
    arms = at - ((mass * at).sum(1) / mass.sum())[:, None]
    moment = torch.linalg.cross(arms, gradient, dim=0).sum(1)
    return float(gradient.sum(1).norm()), float(moment.norm())


def test_a_body_that_has_turned_and_shifted_goes_back_to_where_nothing_pulls() -> None:
    objective, rest = begun(cube(), gravity=(0.0, 0.0, 0.0))
    axis = torch.tensor([[0.01], [-0.02], [0.015]], dtype=torch.float64).expand_as(rest)
    centre = rest.mean(1, keepdim=True)
    moved = rest + torch.linalg.cross(axis, rest - centre, dim=0) + 0.003
    before = left_over(objective, moved)
    balanced = MomentumBalance(objective)(moved)
    after = left_over(objective, balanced)
    assert after[0] < 1e-9 * before[0]
    assert after[1] < 2e-2 * before[1]
    # What is left of it is of second order, and the shape is the same.
    again = left_over(objective, MomentumBalance(objective)(balanced))
    assert again[1] < 1e-3 * before[1]
    sizes = [(at[:, 1:] - at[:, :-1]).norm(dim=0) for at in (moved, balanced)]
    torch.testing.assert_close(*sizes, rtol=0.0, atol=1e-12)


def test_what_is_pinned_stays() -> None:
    objective, rest = begun(cube(pinned=np.array([0])), gravity=(0.0, 0.0, 0.0))
    moved = torch.where(objective.system.free, rest + 0.003, rest)
    assert torch.equal(MomentumBalance(objective)(moved), moved)


def test_bodies_that_do_not_touch_are_balanced_one_by_one() -> None:
    objective, rest = begun(cube(), cube(1.0), gravity=(0.0, 0.0, 0.0), contact=Contact())
    first, second = objective.system.body_slices()
    moved = rest.clone()
    moved[0, first] += 0.002
    moved[1, second] -= 0.003
    balanced = MomentumBalance(objective)(moved)
    torch.testing.assert_close(balanced, rest, rtol=0.0, atol=1e-9)


def test_bodies_that_would_meet_on_their_ways_keep_the_momentum_of_both() -> None:
    bodies = cube(), cube(1.0)
    objective, rest = begun(*bodies, gravity=(0.0, 0.0, 0.0), contact=Contact())
    first, second = objective.system.body_slices()
    moved = rest.clone()
    moved[0, first] += 1.3
    moved[1, second] += 0.01
    balanced = MomentumBalance(objective)(moved)
    net_force, _ = left_over(objective, moved)
    assert left_over(objective, balanced)[0] < 1e-9 * net_force
    assert float(balanced[0, first].min()) > float(balanced[0, second].max())


def test_bodies_that_all_but_touch_keep_the_momentum_of_both() -> None:
    """Their common turn cannot be told from a collision."""
    objective, rest = begun(
        cube(), cube(0.2 + 1e-6), gravity=(0.0, 0.0, 0.0), contact=Contact(friction=0.0)
    )
    axis = torch.tensor([[0.0], [0.01], [0.0]], dtype=torch.float64).expand_as(rest)
    moved = rest + torch.linalg.cross(axis, rest, dim=0) + 0.003
    objective.contact.build_static_candidates(moved)
    net_force, _ = left_over(objective, moved)
    balanced = MomentumBalance(objective)(moved)
    assert left_over(objective, balanced)[0] < 1e-9 * net_force
    shift = balanced - moved
    torch.testing.assert_close(shift, shift[:, :1].expand_as(shift), rtol=0.0, atol=1e-12)


def test_nothing_is_balanced_to_below_the_ground() -> None:
    # In the step it falls by 17 mm.
    objective, rest = begun(cube(), ground=Ground(-0.01))
    moved = rest + torch.tensor([[0.0], [0.0], [1.0]], dtype=torch.float64)
    assert torch.equal(MomentumBalance(objective)(moved), moved)


RIGID_DRIFT_STEP = 0.05
MATERIAL = StableNeoHookean(1e5, 0.3)


@pytest.fixture
def system(make_block) -> System:
    """Two free bodies around a pinned one."""
    mesh = make_block()
    bodies = [
        SoftBody(mesh, MATERIAL, density=1000.0),
        SoftBody(mesh, MATERIAL, density=1000.0, pinned=[0]),
        SoftBody(mesh, MATERIAL, density=100.0),
    ]
    return System(Scene(bodies), torch.device("cpu"), torch.float64)


def test_it_is_the_way_that_the_net_force_makes_a_body_go(system: System) -> None:
    drift, where = RigidDrift(system), system.body_slices()
    gradient = torch.zeros(3, len(system.mass), dtype=torch.float64)
    gradient[0, where[0]], gradient[2, where[0]] = 3.0, 4.0
    mass = float(system.mass[where[0]].sum())
    count = where[0].stop - where[0].start
    assert drift(gradient, RIGID_DRIFT_STEP) == pytest.approx(
        RIGID_DRIFT_STEP**2 * 5.0 * count / mass, rel=1e-12
    )
    # The lightest goes farthest.
    gradient[0, where[2]] = 3.0
    mass = float(system.mass[where[2]].sum())
    assert drift(gradient, RIGID_DRIFT_STEP) == pytest.approx(
        RIGID_DRIFT_STEP**2 * 3.0 * count / mass, rel=1e-12
    )


def test_pins_hold_their_body(system: System) -> None:
    gradient = torch.zeros(3, len(system.mass), dtype=torch.float64)
    gradient[:, system.body_slices()[1]] = 1e3
    assert RigidDrift(system)(gradient, RIGID_DRIFT_STEP) == 0.0


def test_what_adds_up_to_nothing_but_rounding_moves_nothing(system: System) -> None:
    gradient = torch.zeros(3, len(system.mass), dtype=torch.float64)
    gradient[0, 0], gradient[0, 1] = 1e9, np.nextafter(-1e9, 0.0)
    assert RigidDrift(system)(gradient, RIGID_DRIFT_STEP) == 0.0
    gradient[0, 1] = -0.999e9
    assert RigidDrift(system)(gradient, RIGID_DRIFT_STEP) > 0.0


def test_a_stiff_block_slides_over_the_edges_within_a_smooth_floor(make_block) -> None:
    """The surface all but touches: it is so stiff that Newton steps are short from the first on."""
    mesh = make_block()
    size = np.ptp(mesh.vertices, axis=0).max()
    vertices = 0.1 / size * (mesh.vertices - mesh.vertices.min(axis=0))
    body = SoftBody(
        mesh.with_vertices(vertices + np.array([-0.15, -0.05, 1e-3])),
        StableNeoHookean(2e7, 0.3),
        velocity=(1.0, 0.0, 0.0),
    )
    side = np.linspace(-0.4, 0.4, 17)
    corners = np.stack(np.meshgrid(side, side, [0.0], indexing="ij"), axis=-1).reshape(-1, 3)
    a = (np.arange(16)[:, None] * 17 + np.arange(16)).ravel()
    triangles = np.concatenate([np.stack([a, a + 17, a + 18], 1), np.stack([a, a + 18, a + 1], 1)])
    scene = Scene([body], colliders=[Collider(corners, triangles)], contact=Contact(friction=0.0))
    *_, last = Simulator(scene, ImplicitEuler(), device="cpu").run(4)
    way = float(last.positions[0][:, 0].mean()) - body.mesh.vertices[:, 0].mean()
    assert way == pytest.approx(4.0 / 24.0, rel=0.05)
