# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from supple.core import Collider, Contact, Scene, SoftBody
from supple.core.kernels.rest_distance import SEARCH_RADIUS_RATIO
from supple.core.potentials.contact.collision_detection import Detection
from supple.core.potentials.contact.mesh_contact import MeshContact
from supple.core.potentials.contact.surface import CollisionSurface
from supple.tests.core.potentials.contact.close_bodies import (
    DART,
    REACH,
    TRIANGLE,
    contact_of,
    rest,
    tet,
)
from supple.verification.exact_intersections import count_intersections
from supple.verification.meshes import block

pytest.importorskip("ipctk")

#: Its lowest edge lies along y, above an edge along x.
ROOF = tet((0.0, -0.4, 1), (0.0, 0.4, 1), (0.4, 0.1, 2), (-0.4, 0.1, 2))
#: Seen along y it is a line, whose upper edge is long.
FENCE = np.array([[-9.0, 0, 0], [9, 0, 0], [0, 0, -9]])
#: Its corner points up.
THORN = np.array([[0.0, 0, 0], [0.1, 0.1, -9], [-0.1, 0.1, -9]])

NEAR = Contact(distance=REACH)


@pytest.mark.parametrize(
    ("body", "obstacle"),
    [(DART, TRIANGLE), (ROOF, FENCE), (ROOF, TRIANGLE)],
    ids=["point through triangle", "edge through edge", "edge through triangle"],
)
@pytest.mark.parametrize("fall", [1.001, 3.0, 1000.0])
def test_nothing_tunnels(body, obstacle, fall) -> None:
    scene = Scene([body], colliders=[Collider(obstacle, [[0, 1, 2]])])
    contact, before = contact_of(scene), rest(scene)
    after = before.clone()
    after[2] -= fall
    share = contact.collision_free_step_size(before, after)
    assert 0.0 < share < 1.0 / fall
    # It goes nearly all the way there.
    assert share > 0.89 / fall
    check_apart(contact, before + share * (after - before))


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 2e-6])
@pytest.mark.parametrize(("body", "obstacle"), [(DART, TRIANGLE), (ROOF, FENCE)])
def test_what_is_very_close_already_does_not_tunnel_but_may_leave(body, obstacle, gap) -> None:
    scene = Scene([body], colliders=[Collider(obstacle, [[0, 1, 2]])], contact=NEAR)
    contact, before = contact_of(scene), rest(scene)
    before[2] -= 1.0 - gap * REACH
    after = before.clone()
    after[2] -= 2.0 * gap * REACH
    share = contact.collision_free_step_size(before, after)
    # All but a tenth of the gap.
    assert share == pytest.approx(0.45, rel=1e-6)
    check_apart(contact, before + share * (after - before))
    assert contact.collision_free_step_size(before, before - 3.0 * (after - before)) == 1.0


def test_as_much_room_as_was_asked_for_is_left() -> None:
    scene = Scene([DART], colliders=[Collider(TRIANGLE, [[0, 1, 2]])], contact=NEAR)
    contact, before = contact_of(scene), rest(scene)
    after = before.clone()
    after[2] -= 3.0
    share = contact.collision_free_step_size(before, after, min_separation=0.4 * REACH)
    end = before + share * (after - before)
    contact.build_static_candidates(end)
    assert 0.4 * REACH <= float(end[2].min()) < 0.15
    # On from there, there is none.
    nearer = end.clone()
    nearer[2] += 0.5 * REACH - end[2].min()
    assert (
        contact.collision_free_step_size(nearer, nearer - 0.5, min_separation=0.49 * REACH) < 0.02
    )


@pytest.mark.parametrize("self_contact", [False, True])
def test_what_got_narrowest_on_a_way_is_what_blocks_it(self_contact) -> None:
    options = Contact(distance=REACH, self_contact=self_contact)
    aside = torch.tensor([[0.0, 3.0, -3.0], [0.0, 0.0, 0.0], [0.0, 0.02, 2.0]], dtype=torch.float64)
    scene = Scene([DART] * 3, colliders=[Collider(TRIANGLE, [[0, 1, 2]])], contact=options)
    contact, before = contact_of(scene), rest(scene)
    before += aside.repeat_interleave(4, dim=1)
    after = before.clone()
    after[2] -= 1.1
    after = before + contact.collision_free_step_size(before, after) * (after - before)
    places = contact.points(before), contact.points(after)
    assert contact.blocked(*places) == {0, 3}


def test_a_point_of_a_collider_does_not_go_through_the_side_of_a_body() -> None:
    body = tet((-1.0, -1, 1), (1, -1, 1), (0, 2, 1), (0, 0, 3))
    scene = Scene([body], colliders=[Collider(THORN, [[0, 1, 2]])])
    contact, positions = contact_of(scene), rest(scene)
    raised = contact.colliders + np.array([0.0, 0.0, 50.0])
    share = contact.collision_free_step_size(positions, positions, raised)
    assert 0.89 / 50.0 < share < 1.0 / 50.0
    # Looking moves nothing.
    np.testing.assert_array_equal(contact.colliders, THORN)
    contact.colliders = contact.colliders + share * (raised - contact.colliders)
    check_apart(contact, positions)


def test_a_body_does_not_go_through_itself_unless_it_may() -> None:
    mesh = block((6, 1, 1), (6.0, 1.0, 1.0))
    # Bent into a ring, one end goes through the other.
    angle = mesh.vertices[:, :1] / 6.0 * 1.7 * math.pi
    radius = 2.0 + mesh.vertices[:, 2:]
    bent = np.hstack([radius * np.cos(angle), radius * np.sin(angle), mesh.vertices[:, 1:2]])
    before, after = torch.as_tensor(bent.T.copy()), torch.as_tensor(bent.T.copy())
    after[1, mesh.vertices[:, 0] == 6.0] += 4.0
    shares = []
    for touches in (True, False):
        scene = Scene([SoftBody(mesh)], contact=Contact(self_contact=touches))
        shares.append(contact_of(scene).collision_free_step_size(before, after))
    assert shares[0] < 1.0
    assert shares[1] == 1.0


def test_where_nothing_is_in_the_way_all_of_it_is_free() -> None:
    scene = Scene([DART], colliders=[Collider(TRIANGLE, [[0, 1, 2]])])
    contact, before = contact_of(scene), rest(scene)
    aside = before + torch.tensor([[30.0], [0.0], [0.0]], dtype=torch.float64)
    # Over the obstacle and past its border.
    assert contact.collision_free_step_size(before, aside) == 1.0
    assert contact.collision_free_step_size(before, before) == 1.0
    below = aside - torch.tensor([[0.0], [0.0], [30.0]], dtype=torch.float64)
    assert contact.collision_free_step_size(aside, below) == 1.0


def check_apart(contact: MeshContact, positions: torch.Tensor) -> None:
    points = contact.points(positions)
    assert count_intersections(points, contact.surface.triangles) == 0
    contact.build_static_candidates(positions)
    assert contact.min_distance(positions) > 0.0


def test_any_two_objects_are_looked_for_within_their_own_distance_and_no_farther() -> None:
    blocks = [SoftBody(block((1, 1, 1), origin=(2.0 * k, 0.0, 0.0))) for k in range(2)]
    scene = Scene(blocks, colliders=[Collider(TRIANGLE - [0.0, 0.0, 5.0], [[0, 1, 2]])])
    surface = CollisionSurface(scene, [body.mesh for body in blocks])
    distances = np.array([[0.01, 0.04, 0.05], [0.04, 0.02, 0.03], [0.05, 0.03, 9.0]])
    detection = Detection(surface, distances)
    radii = np.array([detection.radii[surface.object_of == k].max() for k in range(3)])
    # That of a collider and itself counts for nothing: it never meets itself.
    assert radii == pytest.approx(SEARCH_RADIUS_RATIO * np.array([0.005, 0.01, 0.015]))
    extras = detection.broad_phase.trees.extras
    for k, other in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 1)):
        for group in (k, k + 3):
            found = radii[k] + radii[other] + extras[group, other]
            assert found == pytest.approx(SEARCH_RADIUS_RATIO * distances[k, other])
