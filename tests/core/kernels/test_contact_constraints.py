# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts between triangles in space, beside what convexity says of closest points."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from supple.core.integrators.contact_nodes import no_constraints
from supple.core.kernels.contact_constraints import (
    GROUND,
    OPEN_RATIO,
    SURFACES,
    Constraints,
    GroundLaws,
    Interpolation,
    PairLaws,
    carry,
    find_ground,
    find_pairs,
    gather,
)
from supple.core.kernels.contact_relaxation import surface_proximal
from supple.core.kernels.continuous_collision import CandidateStencils
from supple.core.potentials.contact.collision_detection import BroadPhase
from supple.tests.core.kernels.linear_contacts import barrier_of, matrix
from supple.tests.core.kernels.loose_parts import (
    dense,
    dhats_of,
    found_at,
    laws_of,
    mesh_of,
    stencils_of,
    themselves,
)
from supple.tests.core.potentials.contact.close_parts import (
    DART,
    FAR,
    FENCE,
    REACH,
    ROOF,
    STIFFNESS,
    TRIANGLE,
    Close,
    close,
    tet,
)

NOTHING = np.zeros((9, 3))


def random_points(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(9, 3))


def random_interpolation(seed: int, count: int) -> Interpolation:
    """Points in tets of ``count`` nodes, some of which they share; one is a node, and one place of
    a node is empty."""
    random = np.random.default_rng(seed)
    nodes = np.stack([random.permutation(count)[:4] for _ in range(9)]).astype(np.int32)
    weights = random.dirichlet(np.ones(4), 9)
    nodes[4, 1:], weights[4, 0] = -1, 1.0
    weights[5] = [0.5, 0.0, 0.5, 0.0]
    return Interpolation(nodes, weights)


# Closest points


@pytest.mark.parametrize("are_edges", [True, False])
def test_contacts_are_between_closest_points_whatever_features_those_are_on(are_edges) -> None:
    features: Counter[tuple[bool, ...]] = Counter()
    for seed in range(40):
        points = random_points(seed)
        mesh = mesh_of(points)
        stencils = stencils_of(mesh, are_edges, not are_edges)
        own = found_at(points, laws_of(area_weighted=False), stencils=stencils)
        rows = matrix(own, 9)
        assert len(rows) == len(stencils.edge_edges) + len(stencils.face_vertices)
        for k, row in enumerate(rows):
            if are_edges:
                first, second = (mesh.edges[edge] for edge in stencils.edge_edges[k])
            else:
                face, vertex = stencils.face_vertices[k]
                first, second = np.array([vertex]), mesh.faces[face]
            # The points are of their parts, their difference goes along the normal, and no corners
            # are closer along that: nothing else can be closer.
            assert row[first].min() >= -1e-12 and row[second].max() <= 1e-12
            assert row[first].sum() == pytest.approx(1.0) and row[second].sum() == pytest.approx(-1)
            assert abs(row).sum() == pytest.approx(2.0)
            difference, distance, normal = row @ points, own.distances[k], own.normals[k]
            np.testing.assert_allclose(difference, distance * normal, atol=1e-12)
            assert np.linalg.norm(normal) == pytest.approx(1.0)
            apart = (points[first] @ normal).min() - (points[second] @ normal).max()
            assert apart == pytest.approx(distance, abs=1e-12)
            features[tuple(np.concatenate([row[first], row[second]]) != 0.0)] += 1
    assert len(features) == (9 if are_edges else 7)
    assert min(features.values()) >= 5


# What carries them


def test_contacts_say_how_far_they_slid_and_how_easily_they_open() -> None:
    random, points = np.random.default_rng(1), random_points(1)
    displacements, mobility = random.normal(size=(9, 3)), random.uniform(0.5, 2.0, 9)
    own = found_at(points, laws_of(), displacements=displacements, mobility=mobility)
    rows = matrix(own, 9)
    np.testing.assert_allclose(own.displacements, rows @ displacements, atol=1e-14)
    np.testing.assert_allclose(own.compliances, rows**2 @ mobility, rtol=1e-13)
    assert not own.forces.any() and not own.frictions.any()
    assert (own.kinds == SURFACES).all()
    np.testing.assert_allclose(rows.sum(axis=1), 0.0, atol=1e-14)


def test_embedded_points_that_share_nodes_count_each_of_them_once() -> None:
    random, points = np.random.default_rng(2), random_points(2)
    interpolation = random_interpolation(2, 12)
    displacements, mobility = random.normal(size=(12, 3)), random.uniform(0.5, 2.0, 12)
    plain = matrix(found_at(points, laws_of()), 9)
    own = found_at(
        points,
        laws_of(),
        interpolation=interpolation,
        nodes=12,
        displacements=displacements,
        mobility=mobility,
    )
    for nodes in own.nodes:
        used = nodes[nodes >= 0]
        assert len(set(used.tolist())) == len(used)
        assert (nodes[len(used) :] == -1).all()
    rows = plain @ dense(interpolation, 12)
    np.testing.assert_allclose(matrix(own, 12), rows, atol=1e-14)
    np.testing.assert_allclose(own.compliances, rows**2 @ mobility, rtol=1e-12)
    np.testing.assert_allclose(own.displacements, rows @ displacements, atol=1e-13)


def test_nodes_that_have_no_part_in_a_contact_are_not_in_it() -> None:
    points, interpolation = random_points(3), random_interpolation(3, 40)
    own = found_at(points, laws_of(), interpolation=interpolation, nodes=40)
    weights = dense(interpolation, 40)
    plain = matrix(found_at(points, laws_of()), 9)
    for nodes, row in zip(own.nodes, plain, strict=True):
        carriers = np.flatnonzero(weights[row != 0.0].any(axis=0))
        assert sorted(nodes[nodes >= 0].tolist()) == carriers.tolist()


def test_what_never_pushes_is_left_out() -> None:
    """Beside a pair that is closer a pair counts nothing."""
    points = random_points(3)
    own, whole = found_at(points, laws_of()), found_at(points, laws_of(area_weighted=False))
    assert 0 < len(own.forces) < len(whole.forces) and own.scales.min() > 0.0
    kept = np.isin(whole.distances, own.distances)
    assert kept.sum() == len(own.forces)
    for part in ("nodes", "coefficients", "normals", "distances", "compliances"):
        np.testing.assert_array_equal(getattr(own, part), getattr(whole, part)[kept])


def test_points_are_gathered_from_what_carries_them() -> None:
    random, interpolation = np.random.default_rng(4), random_interpolation(4, 12)
    values, out = random.normal(size=(12, 3)), np.empty((9, 3))
    gather(interpolation, values, out)
    moves = dense(interpolation, 12) @ values
    np.testing.assert_allclose(out, moves, atol=1e-14)
    carry(interpolation, 2.0 * moves, values, out)
    np.testing.assert_allclose(out, 3.0 * moves, atol=1e-14)


# Who is found


def test_what_is_closer_than_the_distance_of_its_objects_is_found() -> None:
    points = random_points(5)
    distances = np.array([[9.0, 0.9, 0.2], [0.9, 9.0, 1.4], [0.2, 1.4, 9.0]])
    everything = found_at(points, laws_of(area_weighted=False))
    objects = np.sort([np.flatnonzero(row)[[0, -1]] // 3 for row in matrix(everything, 9)], axis=1)
    limits = distances[objects[:, 0], objects[:, 1]]
    near = everything.distances < limits
    assert 5 < near.sum() < len(near) - 5
    own = found_at(points, laws_of(distances=distances, area_weighted=False))
    np.testing.assert_array_equal(own.distances, everything.distances[near])
    np.testing.assert_array_equal(own.dhats, limits[near])


# Two edges at right angles, a metre apart; what else there is is far.
UPPER, LOWER = [[-1.0, 0, 1], [1, 0, 1], [0, 0, 99]], [[0.0, -1, 0], [0, 1, 0], [0, 0, -99]]
CROSSED = np.array([*UPPER, *LOWER, [999.0, 0, 0], [999, 1, 0], [999, 0, 1]])
#: A corner a metre above a triangle.
ABOVE = np.array([[0.0, 0, 1], [1, 0, 9], [0, 1, 9], [-3, -3, 0], [3, -3, 0], [0, 3, 0]])
POINTED = np.concatenate([ABOVE, CROSSED[6:]])


def near(points: np.ndarray, are_edges: bool, dhat: float, moves: np.ndarray) -> Constraints:
    """The contacts of the first edges of two objects, or of a corner over a face."""
    mesh = mesh_of(points)
    stencils = stencils_of(mesh)
    edges, faces = np.array([[0, 3]], dtype=np.int32), np.array([[1, 0]], dtype=np.int32)
    stencils = stencils._replace(
        edge_edges=edges[: int(are_edges)], face_vertices=faces[int(are_edges) :]
    )
    return found_at(points, laws_of(distances=dhat), moves=moves, stencils=stencils, mesh=mesh)


@pytest.mark.parametrize("dhat", [0.1, 0.7])
def test_edges_that_may_come_closer_on_their_way_are_found(dhat) -> None:
    for closing, count in ((0.99, 0), (1.01, 1)):
        # One end of the upper edge and both of the lower one go half of the way.
        moves = NOTHING.copy()
        moves[1, 2] = -0.5 * closing * (1.0 - dhat)
        moves[3, 2] = moves[4, 2] = -moves[1, 2]
        own = near(CROSSED, True, dhat, moves)
        assert len(own.forces) == count
    assert (own.distances[0], own.dhats[0]) == (1.0, dhat)


@pytest.mark.parametrize(("points", "are_edges"), [(CROSSED, True), (POINTED, False)])
@pytest.mark.parametrize("dhat", [0.1, 0.7])
def test_it_does_not_matter_which_corner_brings_them_closer(points, are_edges, dhat) -> None:
    first, second = ((0, 1), (3, 4)) if are_edges else ((0,), (3, 4, 5))
    for vertex in range(9):
        moves = NOTHING.copy()
        moves[vertex, 2] = (1.01 if vertex in second else -1.01) * (1.0 - dhat)
        count = len(near(points, are_edges, dhat, moves).forces)
        assert count == (vertex in (*first, *second))


@pytest.mark.parametrize(("points", "are_edges"), [(CROSSED, True), (POINTED, False)])
def test_what_goes_the_same_way_does_not_come_closer(points, are_edges) -> None:
    for dhat, count in ((0.99, 0), (1.0, 0), (1.01, 1)):
        assert len(near(points, are_edges, dhat, np.full((9, 3), 70.0)).forces) == count


def test_what_is_known_to_be_out_of_reach_is_not_measured() -> None:
    points = random_points(5)
    everything = found_at(points, laws_of(area_weighted=False))
    limit = float(np.median(everything.distances))
    for known in (0.0, 0.5, 1.0):
        own = found_at(points, laws_of(distances=limit, area_weighted=False), known=known)
        near = everything.distances < limit
        np.testing.assert_array_equal(own.distances, everything.distances[near])


def test_what_is_said_of_a_distance_is_believed() -> None:
    points = random_points(5)
    mesh = mesh_of(points)
    stencils = stencils_of(mesh)
    said = np.full(len(stencils.edge_edges) + len(stencils.face_vertices), 1e3)
    shares, blocked = np.ones(len(said)), np.zeros(len(said), dtype=np.int64)
    pair_data = (stencils, dhats_of(stencils, mesh, laws_of()), blocked, mesh, laws_of())
    find_pairs(*pair_data, points, points, said, shares)
    assert not shares.any() and (said == 1e3).all()


# Energies


KINDS = {
    "a vertex over a face": (DART, TRIANGLE),
    "edges that cross": (ROOF, FENCE),
}


@pytest.mark.parametrize("area_weighted", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_contact_has_the_energy_of_the_barrier_of_surfaces(kind, area_weighted) -> None:
    corners, collider = KINDS[kind]
    scene = close([FAR, tet(corners)], collider, area_weighted)
    own = found_of(scene, area_weighted)
    expected = scene.barrier.energy(scene.stencils())
    energies = own.scales * barrier_of(own.kinds, own.distances / own.dhats)
    assert len(energies) == 1
    assert energies[0] == pytest.approx(expected, rel=1e-12) and expected > 0.0


def found_of(scene: Close, area_weighted: bool) -> Constraints:
    """The contacts of what is close, that rests."""
    surface = scene.surface
    distances = np.full((len(surface.names),) * 2, REACH)
    stiffness, none = np.full_like(distances, STIFFNESS), np.zeros_like(distances)
    pairs = BroadPhase(
        *(surface.rest, surface.edges, surface.triangles, surface.group_of),
        surface.group_collisions(surface.can_collide),
    ).candidates(scene.points, scene.points, np.full(len(scene.points), REACH))
    return found_at(
        scene.points,
        PairLaws(distances, stiffness, none, none, area_weighted),
        mesh=surface.topology,
        stencils=CandidateStencils(
            pairs.edge_edges, pairs.face_vertices, surface.edges, surface.triangles
        ),
    )


def test_edges_fade_out_as_they_become_parallel_and_do_not_rub_then() -> None:
    points, rest = random_points(9) * [1.0, 0.03, 0.03], random_points(10)
    mesh = mesh_of(rest)
    stencils = stencils_of(mesh, faces=False)
    laws = laws_of(static=0.3, kinetic=0.2, area_weighted=False)
    own = found_at(points, laws, stencils=stencils, mesh=mesh)
    along, lengths = (x[mesh.edges[:, 1]] - x[mesh.edges[:, 0]] for x in (points, rest))
    first, second = stencils.edge_edges.T
    squares = (np.cross(along[first], along[second]) ** 2).sum(axis=1)
    lengths = (lengths**2).sum(axis=1)
    ratios = np.minimum(squares / (1e-3 * lengths[first] * lengths[second]), 1.0)
    np.testing.assert_allclose(own.scales, 100.0**4 * ratios * (2.0 - ratios), rtol=1e-9)
    assert 3 < (ratios < 1.0).sum() < len(ratios) - 3
    np.testing.assert_array_equal(own.static, np.where(ratios < 1.0, 0.0, 0.3))
    np.testing.assert_array_equal(own.kinetic, np.where(ratios < 1.0, 0.0, 0.2))


def test_a_pair_that_was_in_the_way_counts_in_whole_and_opens_by_itself() -> None:
    points = random_points(5)
    own, stiffened = (found_at(points, laws_of(), blocked=blocked) for blocked in (0, 1))
    kept = np.isin(stiffened.distances, own.distances)
    assert 0 < kept.sum() == len(own.forces) < len(kept)
    assert (stiffened.scales[kept] >= own.scales).all() and stiffened.scales.min() > 0.0
    moves = stiffened.compliances > 0.0
    assert moves.any()
    starts = (stiffened.distances / stiffened.dhats)[moves]
    stiffness = (stiffened.scales * stiffened.compliances / stiffened.dhats**2)[moves]
    opened = [surface_proximal(*pair) for pair in zip(starts, stiffness, strict=True)]
    assert (starts < OPEN_RATIO).any() and min(opened) >= OPEN_RATIO * (1.0 - 1e-9)


def test_stiffness_and_friction_are_of_the_two_objects() -> None:
    points, numbers = random_points(7), np.array([[0.0, 1, 2], [1, 0, 4], [2, 4, 0]])
    mesh = mesh_of(points)
    stencils = stencils_of(mesh, edges=False)
    laws = laws_of(stiffness=numbers, static=10 * numbers, kinetic=5 * numbers, area_weighted=False)
    own = found_at(points, laws, stencils=stencils, mesh=mesh)
    of_pairs = numbers[stencils.face_vertices[:, 0], stencils.face_vertices[:, 1] // 3]
    np.testing.assert_array_equal(own.static, 10 * of_pairs)
    np.testing.assert_array_equal(own.kinetic, 5 * of_pairs)
    np.testing.assert_allclose(own.scales, of_pairs * 100.0**4)


HEIGHT = 0.7


def found_ground(heights, moves, places: int = 9, before: int = 0, **own):
    """Contacts of points at some heights above the ground that make some moves."""
    count = len(heights)
    interpolation = own.get("interpolation", themselves(count))
    nodes = np.stack([np.arange(count), -np.arange(count), HEIGHT + np.array(heights)], axis=1)
    steps = np.zeros((count, 3))
    steps[:, 0], steps[:, 2] = 5.0, moves
    laws = GroundLaws(
        *(np.arange(1.0, count + 1), 0.1 * np.arange(1.0, count + 1)),
        *(0.3 * np.arange(count), 0.2 * np.arange(count), HEIGHT),
    )
    out = no_constraints(places, interpolation.nodes.shape[1])
    for part in out:
        part.fill(77)
    displacements = own.get("displacements", np.zeros((count, 3)))
    mobility = own.get("mobility", np.ones(count))
    found = find_ground(interpolation, laws, nodes, steps, displacements, mobility, out, before)
    return found, out


def test_points_that_are_low_or_will_be_stand_on_the_ground() -> None:
    found, out = found_ground([0.05, 0.25, 0.25, 0.35, -0.1, 0.65], [0.0, 0, -0.1, -0.1, 9, -0.01])
    # Their reaches are 0.1, 0.2, 0.3, …
    assert found == 4
    np.testing.assert_array_equal(out.nodes[:4, 0], [0, 2, 3, 4])
    assert (out.nodes[:4, 1:] == -1).all() and (out.coefficients[:4, 0] == 1.0).all()
    np.testing.assert_allclose(out.distances[:4], [0.05, 0.25, 0.35, -0.1], atol=1e-12)
    np.testing.assert_allclose(out.dhats[:4], [0.1, 0.3, 0.4, 0.5])
    np.testing.assert_allclose(out.scales[:4], [1 * 0.1, 3 * 0.3, 4 * 0.4, 5 * 0.5])
    np.testing.assert_allclose(out.static[:4], [0.0, 0.6, 0.9, 1.2])
    np.testing.assert_allclose(out.kinetic[:4], [0.0, 0.4, 0.6, 0.8])
    assert (out.kinds[:4] == GROUND).all() and not out.forces[:4].any()
    np.testing.assert_array_equal(out.normals[:4], [[0.0, 0.0, 1.0]] * 4)
    assert (out.distances[4:] == 77).all()


@pytest.mark.parametrize(("height", "move"), [(0.0999, 1.0), (0.3, -0.2001)])
def test_a_point_comes_into_reach_at_its_own_distance(height, move) -> None:
    assert found_ground([height], [move])[0] == 1
    assert found_ground([height + 2e-4], [move])[0] == 0


def test_the_ground_comes_after_what_there_is_and_counts_what_finds_no_place() -> None:
    found, out = found_ground([0.0] * 4, [0.0] * 4, places=5, before=3)
    assert found == 7
    np.testing.assert_array_equal(out.nodes[3:5, 0], [0, 1])
    assert (out.nodes[:3] == 77).all()


def test_an_embedded_point_stands_on_the_ground_with_all_that_carries_it() -> None:
    random = np.random.default_rng(8)
    nodes = np.array([[0, 2, 3, -1]], dtype=np.int32)
    interpolation = Interpolation(nodes, np.array([[0.5, 0.3, 0.2, 77.0]]))
    mobility, displacements = random.uniform(0.5, 2.0, 4), random.normal(size=(4, 3))
    heights = np.array([0.1, 99.0, 0.2, -0.2])
    nodes_at = np.stack([*np.zeros((2, 4)), heights], axis=1)
    weights, dhats, static, kinetic = np.array([[3.0], [0.1], [0.4], [0.3]])
    laws = GroundLaws(weights, dhats, static, kinetic, 0.0)
    out = no_constraints(2, 4)
    moves = np.zeros((4, 3))
    row = np.array([0.5, 0.0, 0.3, 0.2])
    assert find_ground(interpolation, laws, nodes_at, moves, displacements, mobility, out, 0) == 1
    assert out.distances[0] == pytest.approx(row @ heights)
    np.testing.assert_allclose(matrix(Constraints(*(p[:1] for p in out)), 4)[0], row)
    assert out.compliances[0] == pytest.approx(row**2 @ mobility)
    np.testing.assert_allclose(out.displacements[0], row @ displacements)
