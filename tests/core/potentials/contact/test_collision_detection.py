# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from supple.core import Collider, Contact, ContactSurface, Scene, SoftBody, TetMesh
from supple.core.compiled import numba
from supple.core.kernels.collisions import POINTS
from supple.core.kernels.rest_distance import REST_DISTANCE_RATIO, SEARCH_RADIUS_RATIO
from supple.core.potentials.contact.clearance import Clearance
from supple.core.potentials.contact.collision_detection import (
    MARGIN_RATIO,
    BroadPhase,
    CachedPairs,
    Candidates,
    Detection,
    Sweep,
    pair_distances,
)
from supple.core.potentials.contact.mesh_contact import MeshContact
from supple.core.potentials.contact.normal_collisions import NormalCollisions
from supple.core.potentials.contact.surface import CollisionSurface, Points, Values
from supple.core.scene.collision_points import contact_distances
from supple.tests.core.balls import ball_surface
from supple.tests.core.potentials.contact.close_bodies import (
    DART,
    HALVES,
    REACH,
    TABLE,
    TRIANGLE,
    contact_of,
    gradient,
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


kit: Any = pytest.importorskip("ipctk")

CELLS, MOMENTS = (1, 1, 2), 9
BLOCK = block(CELLS)
OBJECTS = 4


def surface() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Blocks in a row, and the last object of two pieces, one at either end."""
    used, triangles = np.unique(BLOCK.surface, return_inverse=True)
    points, faces, objects = [], [], []
    for index, owner in enumerate([0, 1, 2, 3, 3]):
        place = [0.0, 1.03, 2.06, -1.03, 3.09][index]
        points.append(BLOCK.vertices[used] + [place, 0.02 * index, 0.0])
        faces.append(triangles.reshape(-1, 3) + index * len(used))
        objects.append(np.full(len(used), owner))
    faces = np.concatenate(faces).astype(np.int32)
    edges = np.asarray(kit.edges(np.asfortranarray(faces)))
    return np.concatenate(points), edges, faces, np.concatenate(objects)


BROAD_PHASE_POINTS, EDGES, FACES, OWNERS = surface()
ALL = np.ones((OBJECTS, OBJECTS), dtype=bool)


# How much farther than by their radii objects are looked for.
NOTHING = np.zeros((OBJECTS, OBJECTS))
EXTRAS = np.array(
    [[0.0, 0.05, 0.0, 0.02], [0.05, 0.01, 0.0, 0.0], [0.0, 0.0, 0.3, 0.02], [0.02, 0.0, 0.02, 0.04]]
)


# The vertices of a pair of edges, and of a face and a vertex.
CORNERS = (lambda pair: {*EDGES[pair[0]], *EDGES[pair[1]]}, lambda pair: {*FACES[pair[0]], pair[1]})


def broad_phase(can_collide: np.ndarray = ALL, extras: np.ndarray | None = None) -> BroadPhase:
    return BroadPhase(BROAD_PHASE_POINTS, EDGES, FACES, OWNERS, can_collide, extras)


def test_boxes_at_rest_enclose_exactly_what_is_below_them() -> None:
    whole = broad_phase()
    for node, (first, last) in enumerate(whole.ranges):
        corners = BROAD_PHASE_POINTS[whole.faces[first:last]].reshape(-1, 3)
        expected = np.concatenate([corners.min(axis=0), corners.max(axis=0)])
        np.testing.assert_array_equal(whole._rest_boxes[node], expected)


def test_boxes_of_leaves_leave_out_their_own_mean_motion(moved) -> None:
    whole = broad_phase()
    swept = whole.sweep(BROAD_PHASE_POINTS, moved, np.zeros(len(moved)))
    for node in whole.leaves:
        corners = whole.faces[slice(*whole.ranges[node])].ravel()
        motion = (moved - BROAD_PHASE_POINTS)[corners].mean(axis=0)
        assert swept.leaf_motions[node] == pytest.approx(motion)
        places = np.concatenate([BROAD_PHASE_POINTS[corners], moved[corners] - motion])
        expected = np.concatenate([places.min(axis=0), places.max(axis=0)])
        assert swept.leaf_boxes[node] == pytest.approx(expected)


def as_sets(found: Candidates) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    edges, faces = ({(a, b) for a, b in own.tolist()} for own in vars(found).values())
    assert (len(edges), len(faces)) == (len(found.edge_edges), len(found.face_vertices))
    return edges, faces


def expected(
    before: np.ndarray,
    after: np.ndarray,
    radii: np.ndarray,
    can_collide: np.ndarray,
    extras: np.ndarray = NOTHING,
    sagittas: np.ndarray | float = 0.0,
) -> tuple[set[tuple[int, int]], set[tuple[int, int]]]:
    """The pairs whose distance at some moment is less than the sum of their radii and the extra
    one."""
    widest, moments = radii + 0.5 * extras.max(), np.linspace(0.0, 1.0, MOMENTS)
    places = [
        before + t * (after - before) + 4.0 * t * (1.0 - t) * sagittas for t in moments.tolist()
    ]
    pairs: tuple[set[tuple[int, int]], set[tuple[int, int]]] = (set(), set())
    for i, k in _whose_boxes_meet(places, widest, EDGES, EDGES):
        a, b = EDGES[i], EDGES[k]
        if i >= k or set(a) & set(b) or not can_collide[OWNERS[a[0]], OWNERS[b[0]]]:
            continue
        reach = radii[a].max() + radii[b].max() + extras[OWNERS[a[0]], OWNERS[b[0]]]
        if any(kit.edge_edge_distance(*x[a], *x[b]) < reach**2 for x in places):
            pairs[0].add((i, k))
    for i, k in _whose_boxes_meet(
        places, widest, FACES, np.arange(len(BROAD_PHASE_POINTS))[:, None]
    ):
        face = FACES[i]
        if k in face or not can_collide[OWNERS[face[0]], OWNERS[k]]:
            continue
        reach = radii[face].max() + radii[k] + extras[OWNERS[face[0]], OWNERS[k]]
        if any(kit.point_triangle_distance(x[k], *x[face]) < reach**2 for x in places):
            pairs[1].add((i, k))
    return pairs


def _whose_boxes_meet(
    places: list[np.ndarray], radii: np.ndarray, first: np.ndarray, second: np.ndarray
) -> Iterator[tuple[int, int]]:
    boxes = []
    for parts in (first, second):
        own, reach = np.stack(places)[:, parts], radii[parts].max(axis=1)[:, None]
        boxes.append((own.min(axis=(0, 2)) - reach, own.max(axis=(0, 2)) + reach))
    (low, high), (other_low, other_high) = boxes
    meet = (low[:, None] <= other_high).all(axis=2) & (other_low <= high[:, None]).all(axis=2)
    yield from map(tuple, np.argwhere(meet).tolist())


@pytest.fixture
def moved() -> np.ndarray:
    """All go their ways, and one vertex far through everything."""
    random = np.random.default_rng(3)
    after = BROAD_PHASE_POINTS + random.normal(scale=0.02, size=BROAD_PHASE_POINTS.shape)
    after[OWNERS == 1] += [0.0, 0.2, 0.1]
    after[5] += [4.0, 0.3, 0.2]
    return after


def near_ones(points: np.ndarray) -> np.ndarray:
    """(V,) radii that differ between objects and vertices."""
    random = np.random.default_rng(4)
    return random.uniform(0.0, 0.03, len(points)) * np.array([1.0, 0.1, 2.0, 1.0])[OWNERS]


def test_nothing_that_comes_near_is_missing_and_little_else_is_there(moved) -> None:
    radii = near_ones(BROAD_PHASE_POINTS)
    found = as_sets(broad_phase().candidates(BROAD_PHASE_POINTS, moved, radii))
    wanted = expected(BROAD_PHASE_POINTS, moved, radii, ALL)
    for own, needed in zip(found, wanted, strict=True):
        assert len(needed) > 50
        assert own >= needed
        assert len(own) < 4 * len(needed)


def test_where_nothing_moves_there_is_exactly_what_is_near() -> None:
    radii = near_ones(BROAD_PHASE_POINTS)
    found = as_sets(broad_phase().candidates(BROAD_PHASE_POINTS, BROAD_PHASE_POINTS, radii))
    wanted = expected(BROAD_PHASE_POINTS, BROAD_PHASE_POINTS, radii, ALL)
    assert found == wanted


@pytest.mark.parametrize("ratio", [1.0, 2.5])
def test_two_objects_are_looked_for_as_much_farther_as_was_asked(moved, ratio) -> None:
    radii, trees = near_ones(BROAD_PHASE_POINTS), broad_phase(extras=EXTRAS)
    found = as_sets(trees.candidates(BROAD_PHASE_POINTS, BROAD_PHASE_POINTS, radii, ratio))
    wanted = expected(BROAD_PHASE_POINTS, BROAD_PHASE_POINTS, radii, ALL, ratio * EXTRAS)
    assert found == wanted
    assert wanted > expected(BROAD_PHASE_POINTS, BROAD_PHASE_POINTS, radii, ALL)
    swept = as_sets(trees.candidates(BROAD_PHASE_POINTS, moved, radii, ratio))
    wanted = expected(BROAD_PHASE_POINTS, moved, radii, ALL, ratio * EXTRAS)
    for own, needed in zip(swept, wanted, strict=True):
        assert own >= needed


def test_what_all_do_together_adds_nothing() -> None:
    radii = near_ones(BROAD_PHASE_POINTS)
    trees = broad_phase()
    still = as_sets(trees.candidates(BROAD_PHASE_POINTS, BROAD_PHASE_POINTS, radii))
    assert (
        as_sets(
            trees.candidates(
                BROAD_PHASE_POINTS, BROAD_PHASE_POINTS + np.array([9.0, -7.0, 3.0]), radii
            )
        )
        == still
    )


def test_on_parabolas_nothing_that_comes_near_is_missing(moved) -> None:
    radii = near_ones(BROAD_PHASE_POINTS)
    sagittas = np.random.default_rng(8).normal(scale=0.02, size=moved.shape)
    sagittas[OWNERS == 2] += [0.0, 0.0, 0.4]
    path = BROAD_PHASE_POINTS, moved, radii
    found = as_sets(broad_phase().candidates(*path, sagittas=sagittas))
    wanted, straight = expected(*path, ALL, sagittas=sagittas), expected(*path, ALL)
    for some, needed, others in zip(found, wanted, straight, strict=True):
        assert some >= needed
        assert len(needed - others) > 10
        assert len(some) < 4 * len(needed)


def test_what_bends_alike_comes_no_nearer() -> None:
    path = BROAD_PHASE_POINTS, BROAD_PHASE_POINTS, near_ones(BROAD_PHASE_POINTS)
    alike = np.full_like(BROAD_PHASE_POINTS, 0.3)
    assert as_sets(broad_phase().candidates(*path, sagittas=alike)) == as_sets(
        broad_phase().candidates(*path)
    )


def test_parts_that_move_with_what_is_around_them_need_no_search() -> None:
    """A sheet in which each strip goes further than the one before it."""
    x, y = (grid.ravel() for grid in np.meshgrid(np.arange(41.0), np.arange(9.0), indexing="ij"))
    points, corner = np.stack([x, y, 0.0 * x], axis=1), np.arange(360).reshape(40, 9)[:, :8].ravel()
    quads = np.stack([corner, corner + 9, corner + 10, corner + 1], axis=1)
    faces = np.concatenate([quads[:, :3], quads[:, [0, 2, 3]]]).astype(np.int32)
    edges = np.asarray(kit.edges(np.asfortranarray(faces)))
    group, may = np.zeros(len(points), dtype=int), np.ones((1, 1), dtype=bool)
    trees, radii = BroadPhase(points, edges, faces, group, may), np.full(len(points), 0.01)
    sheared = points + np.outer(points[:, 0], [0.0, 1.0, 1.0])
    still = trees.sweep(points, points, radii).leaves
    moving = trees.sweep(points, sheared, radii).leaves
    assert 50 < len(still) <= len(moving) < 2 * len(still)


def test_who_may_not_meet_does_not(moved) -> None:
    can_collide = ALL.copy()
    can_collide[0, 0] = False
    can_collide[1, 2] = can_collide[2, 1] = False
    radii = near_ones(BROAD_PHASE_POINTS)
    found = broad_phase(can_collide).candidates(BROAD_PHASE_POINTS, moved, radii)
    everything = broad_phase().candidates(BROAD_PHASE_POINTS, moved, radii)
    for own, before, first, second in (
        (found.edge_edges, everything.edge_edges, EDGES[:, 0], EDGES[:, 0]),
        (
            found.face_vertices,
            everything.face_vertices,
            FACES[:, 0],
            np.arange(len(BROAD_PHASE_POINTS)),
        ),
    ):
        allowed = can_collide[OWNERS[first[before[:, 0]]], OWNERS[second[before[:, 1]]]]
        assert not allowed.all()
        np.testing.assert_array_equal(own, before[allowed])


@pytest.mark.parametrize("vertices", [[5], [0, 30], list(range(20, 40))])
def test_around_what_goes_another_way_all_pairs_of_that_are_found_and_no_others(
    moved, vertices: list[int]
) -> None:
    trees, radii, is_moved = (
        broad_phase(),
        near_ones(BROAD_PHASE_POINTS),
        np.zeros(len(BROAD_PHASE_POINTS), dtype=bool),
    )
    is_moved[vertices] = True
    before, after = BROAD_PHASE_POINTS.copy(), moved.copy()
    swept = trees.sweep(before, after, radii)
    after[vertices] += [0.3, -0.9, 0.05]
    before[vertices] += [0.0, 0.02, 0.0]
    radii[vertices] *= 2.0
    again = trees.sweep_moved(swept, is_moved, before, after, radii)
    found = as_sets(trees.among(again, again.leaves))
    wanted = expected(before, after, radii, ALL)
    for own, needed, of in zip(found, wanted, CORNERS, strict=True):
        assert all(of(pair) & set(vertices) for pair in own)
        needed = {pair for pair in needed if of(pair) & set(vertices)}
        assert own >= needed and len(needed) > 0
    # What is known of the others still holds.
    assert as_sets(trees.among(again, trees.sweep(before, after, radii).leaves)) == found


@pytest.mark.parametrize("vertices", [[5], [0, 30], list(range(20, 40))])
def test_of_queried_vertices_all_pairs_are_found_and_no_others(moved, vertices: list[int]) -> None:
    trees, radii = broad_phase(), near_ones(BROAD_PHASE_POINTS)
    queried = np.zeros(len(BROAD_PHASE_POINTS), dtype=bool)
    queried[vertices] = True
    whole = trees.sweep(BROAD_PHASE_POINTS, moved, radii)
    needed = as_sets(trees.among(whole, whole.leaves))
    at_once = trees.sweep(BROAD_PHASE_POINTS, moved, radii, queried=queried)
    for swept in (at_once, trees.around(whole, queried), trees.around(at_once, queried)):
        found = as_sets(trees.among(swept, swept.leaves))
        for own, of_all, of in zip(found, needed, CORNERS, strict=True):
            assert own == {pair for pair in of_all if of(pair) & set(vertices)}
            assert 0 < len(own) < len(of_all)


def test_pairs_are_in_order_and_the_same_with_any_number_of_threads(moved) -> None:
    radii = near_ones(BROAD_PHASE_POINTS)
    answers = []
    for threads in (1, numba.config.NUMBA_NUM_THREADS):
        numba.set_num_threads(threads)
        answers.append(broad_phase().candidates(BROAD_PHASE_POINTS, moved, radii))
    for own in vars(answers[0]).values():
        np.testing.assert_array_equal(own, own[np.lexsort((own[:, 1], own[:, 0]))])
    for first, second in zip(vars(answers[0]).values(), vars(answers[1]).values(), strict=True):
        np.testing.assert_array_equal(first, second)
    assert (answers[0].edge_edges[:, 0] < answers[0].edge_edges[:, 1]).all()


def test_more_pairs_than_there_was_room_for_are_all_there() -> None:
    trees = broad_phase()
    radii = np.full(len(BROAD_PHASE_POINTS), 10.0)
    found = trees.candidates(BROAD_PHASE_POINTS, BROAD_PHASE_POINTS, radii)
    apart = sum(not set(a) & set(b) for a, b in itertools.combinations(EDGES.tolist(), 2))
    assert len(found.edge_edges) == apart
    corners = sum(len(set(face)) for face in FACES.tolist())
    assert len(found.face_vertices) == len(FACES) * len(BROAD_PHASE_POINTS) - corners
    assert len(found) == len(found.edge_edges) + len(found.face_vertices)


def test_a_vertex_without_a_triangle_meets_nothing() -> None:
    points = np.vstack([BROAD_PHASE_POINTS, BROAD_PHASE_POINTS[0] + 1e-3])
    owners = np.append(OWNERS, 1)
    trees = BroadPhase(points, EDGES, FACES, owners, ALL)
    found = trees.candidates(points, points, np.full(len(points), 0.01))
    assert len(BROAD_PHASE_POINTS) not in found.face_vertices[:, 1]


PLATE = block((8, 8, 1), (1.0, 1.0, 0.1))
RADIUS, MARGIN = 0.01, 0.02


class Watched(BroadPhase):
    """Counts the pairs of leaves that are looked at, and the searches from nothing."""

    looked_at = searches = 0

    def among(self, swept: Sweep, leaves: Any) -> Candidates:
        self.looked_at += len(leaves)
        return super().among(swept, leaves)

    def candidates(self, before: Any, after: Any, *radii: Any, **others: Any) -> Candidates:
        self.searches += 1
        return super().candidates(before, after, *radii, **others)


def plates(gaps: list[float]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """One above the other, all but the lowest turned somewhat."""
    used, triangles = np.unique(PLATE.surface, return_inverse=True)
    triangles, flat = triangles.reshape(-1, 3), PLATE.vertices[used] - PLATE.vertices.mean(axis=0)
    points, faces, height = [], [], 0.0
    for number, gap in enumerate([0.0, *gaps]):
        height += gap + (0.1 if number else 0.0)
        turn = 0.3 * number
        around = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        points.append(np.column_stack([flat[:, :2] @ around.T, flat[:, 2] + height]))
        faces.append(triangles + number * len(used))
    sides = np.concatenate(faces)[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    edges = np.unique(np.sort(sides, axis=1), axis=0).astype(np.int32)
    owners = np.repeat(np.arange(len(points)), len(used))
    return np.concatenate(points), edges, np.concatenate(faces).astype(np.int32), owners


class Pile:
    def __init__(
        self, gaps: list[float], least: float = 0.5, extras: np.ndarray | None = None
    ) -> None:
        self.points, edges, faces, self.owners = plates(gaps)
        count = self.owners.max() + 1
        parts = edges, faces, self.owners, np.ones((count, count), dtype=bool), extras
        self.broad_phase = Watched(self.points, *parts)
        self._alone = Watched(self.points, *parts)
        random = np.random.default_rng(1)
        # Each vertex has its own.
        self.radii = RADIUS * random.uniform(least, 1.0, len(self.points))
        margins = MARGIN * random.uniform(least, 1.0, len(self.points))
        self.pairs = CachedPairs(self.broad_phase, self.radii, margins / MARGIN_RATIO)

    def check(self, before: np.ndarray, after: np.ndarray) -> Candidates:
        """Return the candidates, once both ways have found the same."""
        found = self.pairs.candidates(before, after)
        wanted = self._alone.candidates(before, after, self.radii)
        np.testing.assert_array_equal(found.edge_edges, wanted.edge_edges)
        np.testing.assert_array_equal(found.face_vertices, wanted.face_vertices)
        return found

    @property
    def share_looked_at(self) -> float:
        """The share of leaves that this search looks at, among those of a search from nothing."""
        return self.broad_phase.looked_at / self._alone.looked_at


#: How much farther than by their radii three plates are looked for.
CACHED_PAIRS_EXTRAS = np.array([[0.0, 0.004, 0.02], [0.004, 0.002, 0.0], [0.02, 0.0, 0.0]])


@pytest.mark.parametrize("extras", [None, CACHED_PAIRS_EXTRAS], ids=["", "some farther"])
@pytest.mark.parametrize("scale", [1e-3, 4e-3, 2e-2])
def test_whatever_moves_the_candidates_are_those_of_a_search_from_nothing(scale, extras) -> None:
    pile, random = Pile([0.01, 0.015], extras=extras), np.random.default_rng(2)
    points, sizes = pile.points, []
    for _ in range(25):
        # Each vertex trembles, and each plate goes its way.
        along = random.normal(scale=scale, size=(3, 3))[pile.owners]
        after = points + along + random.normal(scale=0.1 * scale, size=points.shape)
        sizes.append(len(pile.check(points, after)))
        points = points + random.uniform() * (after - points)
    assert max(sizes) > min(sizes) > 100
    # What trembles little has its pairs kept.
    assert pile.share_looked_at < {1e-3: 0.4, 4e-3: 0.7, 2e-2: 1.5}[scale]


def test_what_rests_is_looked_at_twice_and_then_never_again() -> None:
    pile = Pile([0.01])
    for _ in range(5):
        pile.check(pile.points, pile.points)
    searches, looked_at = pile.broad_phase.searches, pile.broad_phase.looked_at
    for _ in range(20):
        assert len(pile.check(pile.points, pile.points)) > 100
    assert pile.broad_phase.searches == searches == 1
    assert pile.broad_phase.looked_at == looked_at


@pytest.mark.parametrize("overshoot", [-1e-3, 1e-9, 1e-3])
@pytest.mark.parametrize("is_swept", [False, True])
def test_what_was_just_too_far_away_to_be_kept_is_found_when_it_comes(overshoot, is_swept) -> None:
    # Nothing of the upper plate is kept, and all of it comes near at once.
    pile = Pile([2.0 * (RADIUS + MARGIN) + 1e-3], least=1.0)
    for _ in range(3):
        assert not _between(pile, pile.check(pile.points, pile.points))
    lowered = pile.points.copy()
    lowered[pile.owners == 1, 2] -= 2.0 * MARGIN + 1e-3 + overshoot
    found = pile.check(pile.points if is_swept else lowered, lowered)
    assert bool(_between(pile, found)) == (overshoot > 0.0)


def test_half_the_way_before_and_half_along_a_trajectory_add_up() -> None:
    pile = Pile([2.0 * (RADIUS + MARGIN) + 1e-3], least=1.0)
    for _ in range(3):
        pile.check(pile.points, pile.points)
    half, whole = pile.points.copy(), pile.points.copy()
    half[pile.owners == 1, 2] -= 0.5 * (2.0 * MARGIN + 2e-3)
    whole[pile.owners == 1, 2] -= 2.0 * MARGIN + 2e-3
    assert _between(pile, pile.check(half, whole))


def test_one_that_is_lifted_far_away_and_put_elsewhere_is_found_there() -> None:
    pile = Pile([0.01, 1.0])
    for _ in range(3):
        pile.check(pile.points, pile.points)
    moved = pile.points.copy()
    moved[pile.owners == 0, 2] += 5.0
    moved[pile.owners == 2, 2] -= 1.0 - 0.01
    for _ in range(4):
        assert _between(pile, pile.check(moved, moved), 1, 2)
    assert _between(pile, pile.check(pile.points, pile.points), 0, 1)


def test_one_vertex_through_everything_has_little_looked_at_anew() -> None:
    pile = Pile([0.01, 0.01])
    for _ in range(3):
        pile.check(pile.points, pile.points)
    looked_at = pile.broad_phase.looked_at
    after = pile.points.copy()
    after[5] += [0.3, 0.2, 0.8]
    sizes = [len(pile.check(pile.points, after)) for _ in range(8)]
    assert min(sizes) > 500
    # Kept pairs are found anew only where that would help.
    assert pile.broad_phase.searches == 1
    assert pile.broad_phase.looked_at > looked_at


def _between(pile: Pile, found: Candidates, first: int = 0, second: int = 1) -> int:
    """The number of pairs of a face and a vertex on two plates."""
    faces, vertices = found.face_vertices.T
    count = len(PLATE.surface)
    return int(((faces // count == first) & (pile.owners[vertices] == second)).sum())


KNOWN = Candidates(
    np.array([[0, 3], [1, 2], [7, 9]], dtype=np.int32),
    np.array([[0, 3], [4, 1], [4, 5]], dtype=np.int32),
)


def listed(found: Candidates) -> list[list[list[int]]]:
    return [found.edge_edges.tolist(), found.face_vertices.tolist()]


@pytest.mark.parametrize("shift", [0, 1, 3])
def test_pairs_have_the_places_that_they_have_among_known_ones(shift: int) -> None:
    edges = np.array([[0, 2], [0, 3], [1, 2], [7, 9], [8, 1]], dtype=np.int32)[shift:]
    faces = np.array([[4, 0], [4, 5]], dtype=np.int32)
    expected = [-1, 0, 1, 2, -1][shift:]
    assert Candidates(edges, faces).places_among(KNOWN).tolist() == [*expected, -1, 5]


def test_nothing_has_a_place_among_no_pairs() -> None:
    assert len(Candidates.none().places_among(KNOWN)) == 0
    assert KNOWN.places_among(Candidates.none()).tolist() == [-1] * 6
    assert KNOWN.places_among(KNOWN).tolist() == list(range(6))


def test_merged_are_those_of_both_in_order_and_each_once() -> None:
    random = np.random.default_rng(5)
    for _ in range(20):
        parts = [
            [np.unique(random.integers(0, 6, (size, 2), dtype=np.int32), axis=0) for size in sizes]
            for sizes in random.integers(0, 20, (2, 2))
        ]
        first, second = (Candidates(*part) for part in parts)
        unions = [
            np.unique(np.concatenate(pair), axis=0).tolist() for pair in zip(*parts, strict=True)
        ]
        assert listed(first.merged(second)) == listed(second.merged(first)) == unions
    assert listed(KNOWN.merged(Candidates.none())) == listed(KNOWN)


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
