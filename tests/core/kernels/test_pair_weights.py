# SPDX-License-Identifier: GPL-3.0-or-later
"""Test pairs that come over the ridge of a flat floor within a step, from beside it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from supple.core.kernels.contact_constraints import Constraints
from supple.core.kernels.continuous_collision import CandidateStencils
from supple.core.kernels.local_minima import RAMP_SINE, edge_weight, face_weight
from supple.core.math3.closest_points import CROSSING, FACE_INSIDE, code_of_edges, place_on_face
from supple.core.math3.closest_points import between_edges as difference_of_edges
from supple.core.math3.closest_points import from_face as difference_from_face
from supple.core.potentials.contact.surface import Topology, topology
from supple.tests.core.kernels.loose_parts import found_at, laws_of

UP = np.array([0.0, 0.0, 1.0])
HEIGHT = 0.1
# The ridge from the first to the second, and a corner on either side.
FLOOR = np.array([[0.0, -3, 0], [0, 6, 0], [-9, 0, 0], [9, 0, 0]])
FACES = np.array([[3, 4, 5], [3, 6, 4], [0, 1, 2]])
OWNERS = np.array([0, 0, 0, 1, 1, 1, 1])


def contact(
    part: np.ndarray, move: np.ndarray, are_edges: bool, dhat: float = 1.0, blocked: int = 0
) -> Constraints:
    """The contact of a part's first vertex with the right face of the floor, or of its first
    edge with the ridge; the whole part moves.
    """
    points = np.concatenate([part, FLOOR])
    mesh = topology(points, FACES, OWNERS, 2)
    edges = [mesh.edges.tolist().index(edge) for edge in ([0, 1], [3, 4])]
    stencils = CandidateStencils(
        np.array([edges] if are_edges else [], dtype=np.int32).reshape(-1, 2),
        np.array([] if are_edges else [[1, 0]], dtype=np.int32).reshape(-1, 2),
        mesh.edges.astype(np.int32),
        FACES.astype(np.int32),
    )
    moves = np.zeros_like(points)
    moves[:3] = move
    parts = {"mesh": mesh, "stencils": stencils, "moves": moves, "blocked": blocked}
    return found_at(points, laws_of(distances=dhat), **parts)


def beside(height: float) -> np.ndarray:
    """A part that stands left of the ridge, and whose first edge leads away from that, level."""
    return np.array([[-0.2, 1.0, height], [-0.8, 1.1, height], [-0.3, 1.0, height + 5.0]])


@pytest.mark.parametrize("are_edges", [True, False])
@pytest.mark.parametrize("sink", [0.055, 0.15], ids=["lower", "through"])
def test_what_comes_over_a_ridge_is_held_up_and_not_back(are_edges, sink) -> None:
    own = contact(beside(HEIGHT), np.array([0.4, 0.0, -sink]), are_edges)
    still = contact(beside(HEIGHT), np.zeros(3), are_edges)
    assert own.scales[0] > 0.0 and len(still.scales) == 0
    np.testing.assert_allclose(own.normals[0], UP, atol=1e-12)
    still = contact(beside(HEIGHT), np.zeros(3), are_edges, blocked=1)
    assert still.normals[0] @ [-1.0, 0.0, 0.0] > 0.5
    used = own.nodes[0] >= 0
    of_part = used & (own.nodes[0] < 3)
    assert own.coefficients[0][of_part].sum() == pytest.approx(1.0)
    assert own.coefficients[0][used].sum() == pytest.approx(0.0)
    points = np.concatenate([beside(HEIGHT), FLOOR])
    apart = own.coefficients[0][used] @ points[own.nodes[0][used]]
    assert own.distances[0] == pytest.approx(apart @ own.normals[0])
    assert own.distances[0] == pytest.approx(HEIGHT)


@pytest.mark.parametrize("are_edges", [True, False])
@pytest.mark.parametrize("move", [(0.15, 0.0, -0.06), (0.4, 0.0, -0.045)], ids=["beside", "high"])
def test_what_stays_beside_it_or_hardly_closes_counts_nothing(are_edges, move) -> None:
    assert len(contact(beside(HEIGHT), np.array(move), are_edges).scales) == 0
    # If it was in the way, it counts in whole, where it is.
    own = contact(beside(HEIGHT), np.array(move), are_edges, blocked=1)
    assert own.scales[0] > 0.0
    assert own.distances[0] == pytest.approx(np.hypot(0.2, HEIGHT))


@pytest.mark.parametrize("are_edges", [True, False])
def test_what_was_in_the_way_over_a_ridge_is_parted_where_it_will_be(are_edges) -> None:
    move = np.array([0.4, 0.0, -0.15])
    own, blocked = (contact(beside(HEIGHT), move, are_edges, blocked=k) for k in (0, 1))
    np.testing.assert_array_equal(blocked.normals, own.normals)
    np.testing.assert_array_equal(blocked.distances, own.distances)
    assert blocked.scales[0] >= own.scales[0] > 0.0


@pytest.mark.parametrize(("height", "is_over"), [(0.018, False), (0.022, True)])
def test_what_a_plane_all_but_touches_already_is_parted_along_where_it_is(height, is_over) -> None:
    """A tenth of 0.2 m is the least that serves."""
    own = contact(beside(height), np.array([0.4, 0.0, -0.05]), False)
    assert own.scales[0] > 0.0
    assert (own.normals[0] @ UP > 0.99) == is_over
    assert own.distances[0] == pytest.approx(height if is_over else np.hypot(0.2, height))


@pytest.mark.parametrize("dhat", [0.85, 0.95])
def test_what_is_farther_than_a_quarter_of_the_contact_distance_has_time(dhat) -> None:
    own = contact(beside(HEIGHT), np.array([0.4, 0.0, -0.2]), False, dhat)
    assert (len(own.scales) > 0) == (0.25 * dhat > np.hypot(0.2, HEIGHT))


Points = np.ndarray


def joined(*parts: tuple[Points, np.ndarray]) -> tuple[Points, Topology]:
    """The points and the topology of parts (points, triangles), each an object."""
    starts = np.cumsum([0, *(len(points) for points, _ in parts)])
    points = np.concatenate([np.asarray(part[0], float) for part in parts])
    faces = np.concatenate([part[1] + start for part, start in zip(parts, starts, strict=False)])
    owners = np.repeat(np.arange(len(parts)), np.diff(starts))
    return points, topology(points, faces, owners, len(parts))


def needle(tip: Points, away: Points) -> tuple[Points, np.ndarray]:
    """A thin triangle that goes away from its tip, its first corner."""
    aside = np.cross(away, [0.3, 0.5, 0.8])
    return np.array([tip, tip + away, tip + away + 0.1 * aside]), np.array([[0, 1, 2]])


def tuples(points: Points) -> list[tuple[float, ...]]:
    return [tuple(point) for point in points]


def face_shares(points: Points, mesh: Topology, vertex: int) -> dict[int, tuple[int, float]]:
    """Place and share of all faces of other objects."""
    found = {}
    for face in np.flatnonzero(mesh.object_of[mesh.faces[:, 0]] != mesh.object_of[vertex]):
        corners = tuples(points[[vertex, *mesh.faces[face]]])
        apart, place = difference_from_face(*corners)
        assert place == place_on_face(*corners)
        found[face] = place, face_weight(points, mesh, face, vertex, place, apart)
    return found


def edge_shares(points: Points, mesh: Topology) -> list[tuple[int, float]]:
    """Code and share of all edges of the first object with those of the second, but for edges that
    cross."""
    first, second = (np.flatnonzero(mesh.object_of[mesh.edges[:, 0]] == k) for k in (0, 1))
    found = []
    for one in first:
        for other in second:
            ends = tuples(points[[*mesh.edges[one], *mesh.edges[other]]])
            code = code_of_edges(*ends)
            if code == CROSSING:
                continue
            between = difference_of_edges(*ends, code=code)
            found.append((code, edge_weight(points, mesh, one, other, code, *between)))
    return found


def test_a_tip_counts_once_wherever_it_is_beside_a_convex_body() -> None:
    random = np.random.default_rng(1)
    hull = ConvexHull(random.normal(size=(12, 3)))
    used, faces = np.unique(hull.simplices, return_inverse=True)
    body, kinds = hull.points[used], Counter[int]()
    for _ in range(300):
        direction = random.normal(size=3)
        direction /= np.linalg.norm(direction)
        tip = body.mean(axis=0) + 5.0 * direction
        points, mesh = joined(needle(tip, 20.0 * direction), (body, faces.reshape(-1, 3)))
        shares = face_shares(points, mesh, 0)
        # Seen through the body, the tip is above the inner side of faces.
        outer = [own for face, own in shares.items() if own[0] < 6 or is_above(points, mesh, face)]
        assert sum(share for _, share in outer) == pytest.approx(1.0)
        kinds.update({place // 3 for place, share in outer if share > 0.0})
    assert min(kinds[0], kinds[1], kinds[2]) > 20


def is_above(points: Points, mesh: Topology, face: int) -> bool:
    """Whether the first vertex and the middle of the body are on different sides of a face."""
    a, b, c = points[mesh.faces[face]]
    sides = np.stack([points[0], points[3:].mean(axis=0)]) - a
    return bool(np.prod(sides @ np.cross(b - a, c - a)) < 0.0)


FAN = np.array([[0.0, 0, 0], [1, 0, 0], [0.4, 1, 0], [-1, 0.3, 0], [0, -1, 0]])
FAN_FACES = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1]])


@pytest.mark.parametrize("corner_height", [0.0, -0.02])
def test_over_a_floor_a_tip_counts_at_the_face_below_it_alone(corner_height) -> None:
    floor = FAN + [0.0, 0.0, corner_height] * (np.arange(5) == 0)[:, None]
    for x, y in ((0.01, 0.02), (0.3, 0.01), (-0.02, 0.3), (-0.2, -0.01), (0.01, -0.2)):
        points, mesh = joined(
            needle(np.array([x, y, 0.1]), np.array([0, 0, 9.0])), (floor, FAN_FACES)
        )
        counted = [place for place, share in face_shares(points, mesh, 0).values() if share]
        # Where the floor is hollow, faces on both sides of an edge may be closest by themselves.
        assert set(counted) == {FACE_INSIDE}
        assert len(counted) == 1 or corner_height < 0.0


@pytest.mark.parametrize("place", [0.0, 0.3], ids=["corner", "edge"])
@pytest.mark.parametrize("sine", [0.0, 0.25 * RAMP_SINE, 2.0 * RAMP_SINE])
def test_right_over_a_corner_or_an_edge_of_a_floor_a_flat_part_counts_as_over_a_face(
    place, sine
) -> None:
    """One face turns away; the others lie as the part does, which lies over their border."""
    part = np.array([[place, 0.0, 0.5], [place + 1, 0.2, 0.5], [place - 0.4, 1, 0.5]])
    floor = FAN - [0.0, 0.0, sine] * (np.arange(5) == 4)[:, None]
    points, mesh = joined((part, np.array([[0, 1, 2]])), (floor, FAN_FACES))
    shares = [share for place, share in face_shares(points, mesh, 0).values() if place < 6]
    assert sum(shares) == pytest.approx(1.0)


@pytest.mark.parametrize("sine", [-0.5, 0.0, 0.25 * RAMP_SINE, 2.0 * RAMP_SINE])
def test_a_vertex_beside_an_edge_counts_as_far_as_what_adjoins_it_turns_away(sine) -> None:
    """The vertex is 3 m beside and 4 m above the edge of a floor, at the tip of two edges, one of
    which leaves by the sine."""
    apart = np.array([0.6, 0.0, 0.8])
    aside = np.cross(apart, [0.0, 1.0, 0.0])
    leaving = 7.0 * (sine * apart + np.sqrt(1.0 - sine**2) * aside)
    tip = 5.0 * apart
    part = np.array([tip, tip + leaving, tip + 3.0 * apart + [0.0, 0.1, 0.0]])
    floor = np.array([[0.0, -9, 0], [0, 9, 0], [-9, 0, 0]])
    points, mesh = joined((part, np.array([[0, 1, 2]])), (floor, np.array([[0, 1, 2]])))
    ((place, share),) = face_shares(points, mesh, 0).values()
    assert 3 <= place < 6
    assert share == pytest.approx(min(max(sine / RAMP_SINE, 0.0), 1.0))


@pytest.mark.parametrize("sine", [-0.5, 0.0, 0.25 * RAMP_SINE, 2.0 * RAMP_SINE])
@pytest.mark.parametrize("is_first", [True, False])
def test_the_edges_at_a_tip_count_once_beside_an_edge_as_far_as_its_faces_turn_away(
    sine, is_first
) -> None:
    """The tip is over the ridge of two faces, one of which goes down by the sine."""
    faces = np.array([[0, 1, 2], [0, 1, 3]])
    down = 5.0 * np.array([np.sqrt(1.0 - sine**2), 0.0, -sine])
    ridge = np.array([[0.0, -9, 0], [0, 9, 0], [-3, -9, -2], np.add([0.0, -9, 0], down)])
    parts = [needle(np.array([0.0, 0, 1]), np.array([0, 0, 9.0])), (ridge, faces)]
    points, mesh = joined(*(parts if is_first else parts[::-1]))
    shares = [share for _, share in edge_shares(points, mesh)]
    assert sum(shares) == pytest.approx(min(max(sine / RAMP_SINE, 0.0), 1.0))
    assert sum(share > 0.0 for share in shares) == (2 if sine > 0.0 else 0)


@pytest.mark.parametrize("sine", [-0.5, 0.25 * RAMP_SINE, 2.0 * RAMP_SINE])
@pytest.mark.parametrize("is_first", [True, False])
def test_the_edges_of_two_tips_count_once(sine, is_first) -> None:
    """An edge of one of them leaves by the sine."""
    other = np.array([[0.0, 0, 1], [np.sqrt(1.0 - sine**2), 0.0, 1.0 + sine], [0.1, 0.1, 4]])
    parts = [needle(np.zeros(3), np.array([0.0, 0, -9])), (other, np.array([[0, 1, 2]]))]
    points, mesh = joined(*(parts if is_first else parts[::-1]))
    shares = [share for code, share in edge_shares(points, mesh) if code in (0, 1, 3, 4)]
    assert sum(shares) == pytest.approx(min(max(sine / RAMP_SINE, 0.0), 1.0))


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("sine", [0.25 * RAMP_SINE, 0.5 * RAMP_SINE, 2.0 * RAMP_SINE])
def test_an_edge_that_is_crossed_beside_a_flat_end_hands_over_there(is_first, sine) -> None:
    """The end of the upper edge is seen under the sine from the lower one, a metre below."""
    beyond = sine / np.sqrt(1.0 - sine**2)
    upper = np.array([[beyond - 9.0, 0, 1], [beyond, 0, 1], [beyond + 1.0, 1, 1]])
    lower = np.array([[0.0, -9, 0], [0, 9, 0], [0, 0, -9]])
    parts = [(part, np.array([[0, 1, 2]])) for part in (upper, lower)]
    points, mesh = joined(*(parts if is_first else parts[::-1]))
    first, second = (np.flatnonzero((mesh.edges == [k, k + 1]).all(axis=1))[0] for k in (0, 3))
    ends = tuples(points[[0, 1, 3, 4]])
    assert code_of_edges(*ends) == CROSSING
    between = difference_of_edges(*ends, code=CROSSING)
    expected = min(sine / RAMP_SINE, 1.0)
    assert edge_weight(points, mesh, first, second, CROSSING, *between) == pytest.approx(expected)


def test_edges_that_cross_at_a_tip_count_in_whole() -> None:
    tip = needle(np.array([0.0, 0, 1]), np.array([0.01, 0, 9.0]))[0]
    lower = np.array([[0.0, -9, 0], [0.01, 9, 0], [0, 0, -9]])
    points, mesh = joined(*((part, np.array([[0, 1, 2]])) for part in (tip, lower)))
    crossed = edge_weight(points, mesh, 0, 3, CROSSING, (0.0, 0.0, 1.0), 1e-6, 0.5)
    assert crossed == 1.0
