# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core import Scene, Simulator, SoftBody
from supple.core.materials import StableNeoHookean
from supple.core.scene.channel import Channel
from supple.core.scene.contact_settings import Contact
from supple.verification.collider_meshes import bowl, sheet, slab
from supple.verification.exact_intersections import count_intersections
from supple.verification.meshes import block
from supple.verification.scene_intersections import scene_intersections


def _simulator(collider) -> Simulator:
    bodies = [
        SoftBody(block((1, 1, 1), (0.2, 0.2, 0.2), (0.0, 0.0, height)), StableNeoHookean(1e5, 0.3))
        for height in (0.01, 0.3)
    ]
    return Simulator(Scene(bodies, colliders=[collider], contact=Contact()), device="cpu")


def test_bodies_apart_do_not_intersect() -> None:
    assert scene_intersections(_simulator(sheet())) == 0


@pytest.mark.parametrize(("body", "lowered"), [(0, 0.05), (1, 0.15)], ids=["collider", "body"])
def test_bodies_that_are_moved_into_something_do(body: int, lowered: float) -> None:
    simulator = _simulator(sheet())
    where = simulator.system.body_slices()[body]
    simulator.state.positions[2, where] -= lowered
    assert scene_intersections(simulator) > 0


def test_colliders_are_where_they_have_been_led() -> None:
    led = sheet()
    led.vertices = Channel(led.at(0) + np.array([[[0.0, 0.0, 0.0]], [[0.0, 0.0, 0.004]]]))
    simulator = _simulator(led)
    for _ in simulator.run(1):
        pass
    assert simulator.state.colliders is not None
    assert scene_intersections(simulator) == 0
    simulator.state.colliders[:, 2] += 0.1
    assert scene_intersections(simulator) > 0


@pytest.mark.parametrize("collider", [sheet(), slab(0.01), bowl(0.4, 0.2)], ids=lambda c: c.name)
def test_meshes_to_land_on_do_not_intersect_themselves(collider) -> None:
    assert count_intersections(collider.at(0), collider.triangles) == 0


def test_a_slab_is_closed_and_a_bowl_open_at_its_rim() -> None:
    assert _open_edges(slab(0.01).triangles) == 0
    assert _open_edges(bowl(0.4, 0.2, sectors=12).triangles) == 12


def _open_edges(triangles) -> int:
    edges = np.sort(np.concatenate([triangles[:, [a, b]] for a, b in ((0, 1), (1, 2), (2, 0))]))
    _, counts = np.unique(np.sort(edges, axis=1), axis=0, return_counts=True)
    return int((counts == 1).sum())
