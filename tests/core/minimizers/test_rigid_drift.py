# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Scene, Simulator, SoftBody
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.core.minimizers.incremental_potential import RigidDrift
from supple.core.scene.contact_settings import Collider, Contact
from supple.core.system import System

STEP = 0.05
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
    assert drift(gradient, STEP) == pytest.approx(STEP**2 * 5.0 * count / mass, rel=1e-12)
    # The lightest goes farthest.
    gradient[0, where[2]] = 3.0
    mass = float(system.mass[where[2]].sum())
    assert drift(gradient, STEP) == pytest.approx(STEP**2 * 3.0 * count / mass, rel=1e-12)


def test_pins_hold_their_body(system: System) -> None:
    gradient = torch.zeros(3, len(system.mass), dtype=torch.float64)
    gradient[:, system.body_slices()[1]] = 1e3
    assert RigidDrift(system)(gradient, STEP) == 0.0


def test_what_adds_up_to_nothing_but_rounding_moves_nothing(system: System) -> None:
    gradient = torch.zeros(3, len(system.mass), dtype=torch.float64)
    gradient[0, 0], gradient[0, 1] = 1e9, np.nextafter(-1e9, 0.0)
    assert RigidDrift(system)(gradient, STEP) == 0.0
    gradient[0, 1] = -0.999e9
    assert RigidDrift(system)(gradient, STEP) > 0.0


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
