# SPDX-License-Identifier: GPL-3.0-or-later
"""A body does not push itself at rest, however near its parts are there."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core import Collider, Contact, ContactSurface, Scene, SoftBody, TetMesh
from supple.core.potentials.contact.clearance import Clearance
from supple.core.potentials.contact.rest_distance import MIN_DISTANCE_RATIO
from supple.core.scene.contact_distances import contact_distances
from supple.tests.core.potentials.contact.close_bodies import (
    HALVES,
    TABLE,
    contact_of,
    gradient,
    rest,
)
from supple.verification.meshes import block

pytest.importorskip("ipctk")

BOX = block((1, 1, 1))


def jaws(gap: float) -> SoftBody:
    """Two blocks of a metre as one body, one over the other."""
    lower, upper = block((2, 2, 2)), block((2, 2, 2), origin=(0.2, 0.1, 1.0 + gap))
    vertices = np.concatenate([lower.vertices, upper.vertices])
    return SoftBody(TetMesh(vertices, np.concatenate([lower.tets, upper.tets + 27])))


def usual(gap: float) -> float:
    return float(contact_distances(Scene([jaws(gap)], contact=Contact(friction=0.0)))[0, 0])


def test_what_is_near_at_rest_does_not_push_there_and_does_when_it_comes_nearer() -> None:
    gap = 0.6 * usual(0.004)
    scene = Scene([jaws(gap)], contact=Contact(friction=0.0))
    contact, positions = contact_of(scene), rest(scene)
    assert contact.collision_free_step_size(positions, positions) == 1.0
    assert not gradient(contact, positions).any()
    nearer = positions.clone()
    nearer[2, 27:] -= 0.5 * gap
    contact.collision_free_step_size(positions, nearer)
    pushed = gradient(contact, nearer)
    assert float(pushed[2, 27:].sum()) < 0.0 < float(pushed[2, :27].sum())


def test_what_all_but_touches_at_rest_still_pushes_from_afar() -> None:
    contact = contact_of(Scene([jaws(1e-5)], contact=Contact(friction=0.0)))
    assert contact.distances[0, 0] == pytest.approx(MIN_DISTANCE_RATIO * usual(1e-5))


def test_what_is_apart_at_rest_keeps_its_distance() -> None:
    assert contact_of(Scene([jaws(0.5)], contact=Contact(friction=0.0))).distances[0, 0] == usual(
        0.5
    )


def test_what_goes_through_its_own_body_neither_pushes_it_nor_shortens_its_distance() -> None:
    mesh, points = block((2, 2, 2)), [0.2, 0.2, 0.2] + 0.5 * BOX.vertices
    points = np.concatenate([points, [0.45, 0.3, 0.3] + [0.5, 0.3, 0.3] * BOX.vertices])
    triangles = np.concatenate([BOX.surface, BOX.surface + 8]).astype(np.int32)
    own = np.arange(len(triangles)) < len(BOX.surface)
    found = {}
    for through in (None, own, ~own):
        around = ContactSurface(points, triangles, through_own=through)
        scene = Scene([SoftBody(mesh, contact_surface=around)], contact=Contact(friction=0.0))
        contact, positions = contact_of(scene), rest(scene)
        share = contact.collision_free_step_size(positions, positions)
        found[through is None] = contact.distances[0, 0], share, len(contact._detection.candidates)
        if through is not None:
            assert found[False] == (contact_distances(scene)[0, 0], 1.0, 0)
    assert found[True][0] < found[False][0]
    assert found[True][2] > 0


def test_other_objects_are_met_from_as_far_as_ever() -> None:
    gap = 0.25 * usual(0.004)
    other = SoftBody(block((1, 1, 1), origin=(5.0, 0, 0)))
    table = Collider(TABLE - [0.0, 0.0, 0.9 * usual(gap)], HALVES)
    scene = Scene([jaws(gap), other], colliders=[table], contact=Contact(friction=0.0))
    solids = contact_of(scene)
    expected = contact_distances(scene)
    assert solids.distances[0, 0] < expected[0, 0]
    np.fill_diagonal(expected, np.diag(solids.distances))
    np.testing.assert_array_equal(solids.distances, expected)
    # It is found there, too.
    positions = rest(scene)
    solids.collision_free_step_size(positions, positions)
    assert {0, 2} <= solids.objects_in_contact(positions)


def test_the_frames_that_do_without_contact_know_the_same_distance() -> None:
    gap = 0.6 * usual(0.004)
    scene = Scene([jaws(gap)], contact=Contact(friction=0.0))
    clearance = Clearance(scene, [body.mesh for body in scene.bodies])
    points = clearance.surface.rest.copy()
    nothing = np.empty((0, 3))
    assert clearance.is_clear(points, nothing)
    upper = points[:, 2] > 1.0 + 0.5 * gap
    points[upper, 2] -= 0.6 * gap
    assert not clearance.is_clear(points, nothing)
