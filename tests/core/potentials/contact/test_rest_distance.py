# SPDX-License-Identifier: GPL-3.0-or-later
"""A body does not push itself at rest, however near its parts are there, and meets itself all the
same."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Collider, Contact, ContactSurface, Scene, SoftBody, TetMesh
from supple.core.kernels.collisions import POINTS
from supple.core.kernels.rest_distance import REST_DISTANCE_RATIO
from supple.core.potentials.contact.clearance import Clearance
from supple.core.potentials.contact.collision_detection import (
    BroadPhase,
    Candidates,
    Detection,
    pair_distances,
)
from supple.core.potentials.contact.normal_collisions import NormalCollisions
from supple.core.potentials.contact.surface import CollisionSurface, Points, Values
from supple.core.scene.contact_distances import contact_distances
from supple.tests.core.balls import ball_surface
from supple.tests.core.potentials.contact.close_bodies import (
    HALVES,
    TABLE,
    contact_of,
    gradient,
    rest,
)
from supple.verification.meshes import block

BOX = block((1, 1, 1))
# Where the upper jaw closes to, in gaps: beyond what pushes, and within it.
BEYOND, WITHIN = 1.2 * REST_DISTANCE_RATIO, 0.8 * REST_DISTANCE_RATIO


def jaws(gap: float) -> SoftBody:
    """Two blocks of a metre as one body, one over the other."""
    lower, upper = block((2, 2, 2)), block((2, 2, 2), origin=(0.2, 0.1, 1.0 + gap))
    vertices = np.concatenate([lower.vertices, upper.vertices])
    return SoftBody(TetMesh(vertices, np.concatenate([lower.tets, upper.tets + 27])))


def usual(gap: float) -> float:
    return float(contact_distances(Scene([jaws(gap)], contact=Contact(friction=0.0)))[0, 0])


def closed(positions: torch.Tensor, gap: float, ratio: float) -> torch.Tensor:
    """With the upper jaw closed to a ratio of the gap."""
    nearer = positions.clone()
    nearer[2, 27:] -= (1.0 - ratio) * gap
    return nearer


@pytest.mark.parametrize("share", [2.0, 0.6, 1e-3])
@pytest.mark.parametrize("chosen", [False, True])
@pytest.mark.parametrize("formulation", ["convergent", "original"])
def test_what_is_near_at_rest_pushes_from_a_quarter_of_that(
    share: float, chosen: bool, formulation: str
) -> None:
    gap = share * usual(0.004)
    distance = usual(0.004) if chosen else None
    own = Contact(distance, friction=0.0, formulation=formulation, stiffness=1e5)
    scene = Scene([jaws(gap)], contact=own)
    contact, positions = contact_of(scene), rest(scene)
    for nearer, pushes in ((1.0, False), (BEYOND, False), (WITHIN, True)):
        at = closed(positions, gap, nearer)
        assert contact.collision_free_step_size(at, at) == 1.0
        pushed = gradient(contact, at)
        assert bool(pushed.any()) == pushes == (contact.count(at) > 0)
        assert not pushes or float(pushed[2, 27:].sum()) < 0.0 < float(pushed[2, :27].sum())


def test_the_force_of_what_is_near_at_rest_is_that_of_its_shorter_distance() -> None:
    gap = 0.6 * usual(0.004)
    contact = contact_of(Scene([jaws(gap)], contact=Contact(friction=0.0)))
    positions = rest(Scene([jaws(gap)]))
    other = contact_of(Scene([jaws(1.0)], contact=Contact(REST_DISTANCE_RATIO * gap, friction=0.0)))
    far = rest(Scene([jaws(1.0)]))
    at = closed(positions, gap, WITHIN)
    far[2, 27:] = at[2, 27:]
    for each, places in ((contact, at), (other, far)):
        each.collision_free_step_size(places, places)
    expected = gradient(other, far)
    assert float(expected.abs().max()) > 0.0
    torch.testing.assert_close(gradient(contact, at), expected, rtol=1e-6, atol=0.0)


@pytest.mark.parametrize("share", [2.0, 1e-3])
def test_what_is_near_at_rest_is_kept_from_crossing(share: float) -> None:
    gap = share * usual(0.004)
    scene = Scene([jaws(gap)], contact=Contact(friction=0.0))
    contact, positions = contact_of(scene), rest(scene)
    through = closed(positions, gap, -1.0)
    free = contact.collision_free_step_size(positions, through)
    assert 0.25 < free < 0.5


def test_parts_that_are_apart_at_rest_push_from_afar_however_near_others_are() -> None:
    """The distance of a pair depends on that pair alone."""
    gap, away = 1e-4, 0.5
    body = jaws(gap)
    third = block((2, 2, 2), origin=(0.1, 0.2, 2.0 + gap + away))
    vertices = np.concatenate([body.mesh.vertices, third.vertices])
    body = SoftBody(TetMesh(vertices, np.concatenate([body.mesh.tets, third.tets + 54])))
    scene = Scene([body], contact=Contact(friction=0.0))
    contact, positions = contact_of(scene), rest(scene)
    dhat = float(contact_distances(scene)[0, 0])
    for ratio, pushes in ((1.02, False), (0.98, True)):
        nearer = positions.clone()
        nearer[2, 54:] -= away - ratio * dhat
        contact.collision_free_step_size(nearer, nearer)
        pushed = gradient(contact, nearer)
        assert bool(pushed[2, 54:].any()) == pushes
        assert not pushed[2, :27].any()


def test_what_goes_through_its_own_body_does_not_push_it() -> None:
    mesh, points = block((2, 2, 2)), [0.2, 0.2, 0.2] + 0.5 * BOX.vertices
    points = np.concatenate([points, [0.45, 0.3, 0.3] + [0.5, 0.3, 0.3] * BOX.vertices])
    triangles = np.concatenate([BOX.surface, BOX.surface + 8]).astype(np.int32)
    own = np.arange(len(triangles)) < len(BOX.surface)
    counts = []
    for through in (None, own, ~own):
        around = ContactSurface(points, triangles, through_own=through)
        scene = Scene([SoftBody(mesh, contact_surface=around)], contact=Contact(friction=0.0))
        contact, positions = contact_of(scene), rest(scene)
        contact.collision_free_step_size(positions, positions)
        counts.append(len(contact._detection.candidates))
    assert counts[0] > 0
    assert counts[1:] == [0, 0]


def test_other_objects_are_met_from_as_far_as_ever() -> None:
    gap = 0.25 * usual(0.004)
    table = Collider(TABLE - [0.0, 0.0, 0.9 * usual(gap)], HALVES)
    scene = Scene([jaws(gap)], colliders=[table], contact=Contact(friction=0.0))
    contact, positions = contact_of(scene), rest(scene)
    contact.collision_free_step_size(positions, positions)
    assert contact.objects_in_contact(positions) == {0, 1}


def test_the_frames_that_do_without_contact_know_the_same_distance() -> None:
    gap = 0.6 * usual(0.004)
    scene = Scene([jaws(gap)], contact=Contact(friction=0.0))
    clearance = Clearance(scene, [body.mesh for body in scene.bodies])
    at_rest, nothing = clearance.surface.rest, np.empty((0, 3))
    upper = at_rest[:, 2] > 1.0 + 0.5 * gap
    for nearer, is_clear in ((1.0, True), (BEYOND, True), (WITHIN, False)):
        points = at_rest.copy()
        points[upper, 2] -= (1.0 - nearer) * gap
        assert clearance.is_clear(points, nothing) == is_clear


# Surfaces far finer than d̂


DHAT = 0.1


def fine_surface(subdivisions: int = 4) -> tuple[CollisionSurface, Scene]:
    """A ball of a metre in a block of a few tetrahedra, with edges of about a third of d̂."""
    points, triangles = ball_surface(subdivisions, 0.5, (0.5, 0.5, 0.5))
    around = ContactSurface(points, triangles.astype(np.int32))
    body = SoftBody(block((3, 3, 3)), contact_surface=around)
    scene = Scene([body], contact=Contact(DHAT, friction=0.0))
    contact = contact_of(scene)
    return contact.surface, scene


def every_pair(surface: CollisionSurface, points: Points) -> Candidates:
    """Without regard to what is near at rest."""
    broad_phase = BroadPhase(
        *(surface.rest, surface.edges, surface.triangles, surface.group_of),
        surface.group_collisions(surface.can_collide),
    )
    return broad_phase.candidates(points, points, np.full(len(points), 0.51 * DHAT))


def table_of(value: float) -> Values:
    return np.full((1, 1), value)


def test_a_fine_surface_has_no_pairs_at_rest() -> None:
    surface, _ = fine_surface()
    detection = Detection(surface, table_of(DHAT))
    turned = surface.rest @ np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0] + 5.0
    for points in (surface.rest, turned):
        detection.build_swept_candidates(points, points)
        assert len(every_pair(surface, points)) > 10_000
        assert len(detection.candidates) == 0


@pytest.mark.parametrize("area_weighted", [True, False])
@pytest.mark.parametrize("squeeze", [0.3, 0.15, 0.05])
def test_what_is_left_out_of_the_search_would_not_push(area_weighted: bool, squeeze: float) -> None:
    """A ball that is pressed flat: opposite sides meet, and so does what is near at rest."""
    surface, _ = fine_surface(3)
    points = surface.rest * [1.0, 1.0, squeeze]
    points[:, 2] += 0.01 * np.random.default_rng(5).normal(size=len(points)) * squeeze
    detection = Detection(surface, table_of(DHAT))
    detection.build_swept_candidates(points, points)
    own, expected = (
        NormalCollisions.of(
            *(candidates, points, surface.topology, table_of(DHAT), area_weighted, surface)
        )
        for candidates in (detection.candidates, every_pair(surface, points))
    )
    assert len(own) > 0
    for part, other in zip(vars(own).values(), vars(expected).values(), strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-9)
    assert (own.distances <= DHAT).all()
    assert (own.distances < DHAT).any() or squeeze == 0.3


def test_explicit_and_implicit_steps_know_the_same_distances() -> None:
    surface, _ = fine_surface(2)
    everything = every_pair(surface, surface.rest * [1.0, 1.0, 0.1])
    dhats = pair_distances(everything, surface, table_of(DHAT))
    edges, faces = everything.edge_edges, everything.face_vertices
    stencils = np.concatenate(
        [
            surface.edges[edges].reshape(-1, 4),
            np.column_stack([faces[:, 1], surface.triangles[faces[:, 0]]]),
        ]
    )
    keys = [(k < len(edges), *sorted(row)) for k, row in enumerate(stencils)]
    known = dict(zip(keys, dhats, strict=True))
    points = surface.rest * [1.0, 1.0, 0.1]
    found = NormalCollisions.of(everything, points, surface.topology, table_of(DHAT), True, surface)
    whole = [k for k, row in enumerate(found.vertices) if len(set(row)) == 4]
    assert len(whole) > 10
    for k in whole:
        key = bool(found.features[k] < POINTS), *sorted(found.vertices[k])
        assert found.distances[k] == pytest.approx(known[key], rel=1e-12)
