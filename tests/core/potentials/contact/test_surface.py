# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import sparse

from supple.core import Attachment, Collider, Contact, ContactSurface, Scene, SoftBody
from supple.core.potentials.contact.surface import CollisionSurface
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.core.state import State
from supple.verification.meshes import block

pytest.importorskip("ipctk")

SQUARE = np.array([[-1.0, -1, -0.5], [2, -1, -0.5], [2, 2, -0.5], [-1, 2, -0.5]])
HALVES = np.array([[0, 1, 2], [0, 2, 3]])
#: Around the block from 2 to 3 along x, and coarser.
OCTAHEDRON = np.array(
    [[0.6, 0, 0], [-0.6, 0, 0], [0, 0.6, 0], [0, -0.6, 0], [0, 0, 0.6], [0, 0, -0.6]]
) + np.array([2.5, 0.5, 0.5])
EIGHT = np.array(
    [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]]
)


def surface_of(scene: Scene) -> CollisionSurface:
    solids = tetrahedralize_scene(scene)[0]
    return CollisionSurface(solids, [body.mesh for body in solids.bodies])


def bodies(embedded: bool = True) -> list[SoftBody]:
    """Two bodies: the boundary of the first touches, with a vertex inside; the second has a
    surface around it."""
    around = ContactSurface(OCTAHEDRON, EIGHT) if embedded else None
    first = SoftBody(block((2, 2, 2)), name="Jelly")
    second = SoftBody(block((1, 2, 1), origin=(2.0, 0.0, 0.0)), contact_surface=around, name="Cake")
    return [first, second]


def shaken(scene: Scene, seed: int = 1) -> np.ndarray:
    """(3, N)."""
    rest = np.concatenate([body.mesh.vertices for body in scene.bodies]).T
    return rest + np.random.default_rng(seed).normal(scale=0.05, size=rest.shape)


@pytest.fixture(params=["boundary of the tetrahedra", "a surface in them"])
def scene(request) -> Scene:
    collider = Collider(SQUARE, HALVES, name="Table")
    return Scene(bodies("in them" in request.param), colliders=[collider])


# What follows what


def test_the_boundary_of_tetrahedra_goes_where_they_go_and_nothing_inside_takes_part() -> None:
    scene = Scene(bodies(embedded=False), contact=Contact())
    surface, moved = surface_of(scene), shaken(scene)
    assert surface.body_count == len(surface.object_of) == 26 + 12
    points = surface.points(moved, surface.colliders_at(0, 0.0))
    first, second = (body.mesh for body in scene.bodies)
    expected = np.concatenate(
        [moved.T[first.surface], moved.T[len(first.vertices) + second.surface]]
    )
    np.testing.assert_array_equal(points[surface.triangles], expected)
    assert points.flags.c_contiguous


def test_a_surface_in_the_tetrahedra_is_carried_along_with_them() -> None:
    scene = Scene(bodies(), contact=Contact())
    surface = surface_of(scene)
    assert surface.vertex_indices is None
    bend = np.array([[1.0, 0.3, 0.0], [0.0, 0.8, -0.2], [0.1, 0.0, 1.2]])
    rest = np.concatenate([body.mesh.vertices for body in scene.bodies])
    points = surface.points(bend @ rest.T, np.empty((0, 3)))
    own = points[surface.object_of == 1]
    # Linear tetrahedra reproduce what is affine.
    np.testing.assert_allclose(own[EIGHT], OCTAHEDRON[EIGHT] @ bend.T, atol=1e-12)
    np.testing.assert_allclose(surface.rest[26:], OCTAHEDRON, atol=1e-12)


def test_faces_of_a_surface_without_area_and_vertices_without_a_face_take_no_part() -> None:
    points = np.concatenate([[[2.5, 0.5, 0.5]], OCTAHEDRON])
    triangles = np.concatenate([[[1, 1, 2]], EIGHT + 1])
    body = SoftBody(
        block(origin=(2.0, 0.0, 0.0)), contact_surface=ContactSurface(points, triangles)
    )
    surface = surface_of(Scene([body], contact=Contact()))
    assert len(surface.object_of) == 6
    np.testing.assert_allclose(surface.rest[surface.triangles], OCTAHEDRON[EIGHT], atol=1e-12)


def test_each_vertex_knows_its_object_and_each_object_its_name(scene) -> None:
    surface = surface_of(scene)
    assert surface.names == ["Jelly", "Cake", "Table"]
    counts = np.bincount(surface.object_of)
    assert counts[0] == 26 and counts[2] == 4
    assert (surface.object_of[: surface.body_count] < 2).all()
    owners = surface.object_of[surface.triangles]
    assert (owners == owners[:, :1]).all()
    assert (np.diff(surface.object_of) >= 0).all()


def test_edges_at_a_vertex_are_as_long_as_in_the_mean_and_of_colliders_as_those_of_bodies() -> None:
    table = Collider(SQUARE, HALVES, name="Table")
    surface = surface_of(Scene(bodies(), colliders=[table], contact=Contact()))
    lengths: list[list[float]] = [[] for _ in surface.rest]
    for first, second in surface.edges:
        length = float(np.linalg.norm(surface.rest[first] - surface.rest[second]))
        lengths[first].append(length)
        lengths[second].append(length)
    expected = np.array([np.mean(own) for own in lengths])
    most = expected[: surface.body_count].max()
    assert (expected[surface.body_count :] > most).all()
    np.testing.assert_allclose(surface.edge_lengths, np.minimum(expected, most), rtol=1e-12)


def test_triangles_of_bodies_are_seen_from_outside() -> None:
    surface = surface_of(Scene(bodies(), contact=Contact()))
    a, b, c = surface.rest[surface.triangles].swapaxes(0, 1)
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    assert volume == pytest.approx(1.0 + 0.6**3 * 4.0 / 3.0)


# Forces


def test_pulling_back_is_the_transpose_of_carrying_along(scene) -> None:
    surface, random = surface_of(scene), np.random.default_rng(2)
    way = random.normal(size=shaken(scene).shape)
    forces = random.normal(size=(len(surface.object_of), 3))
    moved = surface.points(way, np.zeros((4, 3)))
    pulled = surface.pull_back(forces)
    assert pulled.shape == way.shape
    assert (moved * forces).sum() == pytest.approx((way * pulled).sum(), rel=1e-12)


def test_what_colliders_feel_reaches_no_body(scene) -> None:
    surface = surface_of(scene)
    forces = np.zeros((len(surface.object_of), 3))
    forces[surface.body_count :] = 1.0
    assert not surface.pull_back(forces).any()


def test_a_second_derivative_is_pulled_back_as_the_dense_product(scene) -> None:
    surface = surface_of(scene)
    size = 3 * len(surface.object_of)
    matrix = sparse.random(size, size, 0.1, "csr", random_state=3)
    found = surface.pull_back_matrix(matrix).toarray()
    columns = shaken(scene).shape[1]
    displacement_map = np.zeros((size, columns, 3))
    for vertex, unit in enumerate(np.eye(columns)):
        for axis in np.eye(3):
            way = surface.points(np.outer(axis, unit), np.zeros((4, 3)))
            displacement_map[:, vertex] += way.reshape(-1, 1) * axis
    displacement_map = displacement_map.reshape(size, -1)
    np.testing.assert_allclose(
        found, displacement_map.T @ matrix.toarray() @ displacement_map, atol=1e-12
    )


# Colliders


def colliders_of(*colliders: Collider) -> CollisionSurface:
    return surface_of(Scene(bodies(), colliders=list(colliders), contact=Contact()))


def test_a_still_collider_is_always_where_it_is() -> None:
    surface = colliders_of(Collider(SQUARE, HALVES))
    for frame, fraction in ((0, 0.0), (0, 0.7), (99, 1.0)):
        np.testing.assert_array_equal(surface.colliders_at(frame, fraction), SQUARE)


def test_a_moving_collider_goes_straight_from_frame_to_frame_and_stays_at_the_end() -> None:
    path = np.stack([SQUARE, SQUARE + 0.1, 2.0 * SQUARE])
    surface = colliders_of(Collider(path, HALVES))
    np.testing.assert_array_equal(surface.colliders_at(0, 0.0), path[0])
    np.testing.assert_allclose(surface.colliders_at(0, 0.25), SQUARE + 0.025)
    np.testing.assert_allclose(surface.colliders_at(1, 0.5), 0.5 * (path[1] + path[2]))
    np.testing.assert_allclose(surface.colliders_at(1, 1.0), path[2])
    np.testing.assert_array_equal(surface.colliders_at(7, 0.3), path[2])


def test_colliders_of_paths_of_different_lengths_lie_one_after_the_other() -> None:
    short = np.stack([SQUARE, SQUARE - 1.0])
    long = np.stack([SQUARE + k for k in range(4)])
    surface = colliders_of(
        Collider(SQUARE - 3.0, HALVES), Collider(short, HALVES), Collider(long, HALVES)
    )
    found = surface.colliders_at(2, 0.5)
    for where, expected in zip(
        surface.collider_slices, (SQUARE - 3.0, SQUARE - 1.0, SQUARE + 2.5), strict=True
    ):
        np.testing.assert_allclose(found[where], expected)


def test_a_thick_collider_has_a_skin_to_either_side() -> None:
    surface = colliders_of(Collider(SQUARE, HALVES, thickness=0.1))
    heights = surface.colliders_at(0, 0.0)[:, 2]
    np.testing.assert_allclose(np.unique(heights.round(9)), [-0.6, -0.4])
    path = np.stack([SQUARE, np.add(SQUARE, (0.0, 0.0, 2.0))])
    moving = colliders_of(Collider(path, HALVES, thickness=0.1))
    heights = moving.colliders_at(0, 0.5)[:, 2]
    np.testing.assert_allclose(np.unique(heights.round(9)), [0.4, 0.6])


def test_the_colliders_in_a_state_are_where_they_have_got_to() -> None:
    surface = colliders_of(Collider(np.stack([SQUARE, SQUARE + 0.1]), HALVES))
    zeros = torch.zeros((3, 4))
    start = State(zeros, zeros, frame=0, substeps=1)
    np.testing.assert_array_equal(surface.colliders_in(start), SQUARE)
    np.testing.assert_array_equal(surface.colliders_in(replace(start, frame=1)), SQUARE + 0.1)
    behind = replace(start, frame=1, colliders=SQUARE + 0.05)
    np.testing.assert_array_equal(surface.colliders_in(behind), SQUARE + 0.05)


def test_without_colliders_there_are_no_vertices_of_them() -> None:
    surface = colliders_of()
    assert surface.colliders_at(3, 0.5).shape == (0, 3)
    assert surface.collider_slices == []


# Who meets whom


def meetings(scene: Scene) -> set[tuple[int, int]]:
    """Pairs of objects that may meet."""
    may = surface_of(scene).can_collide
    np.testing.assert_array_equal(may, may.T)
    return {(i, j) for i, j in np.argwhere(may).tolist() if i <= j}


def crowd(**options) -> Scene:
    """Two bodies, and two colliders numbered 2 and 3."""
    colliders = [Collider(SQUARE, HALVES), Collider(SQUARE - 1.0, HALVES)]
    return Scene(bodies(), colliders=colliders, **options)


BODIES_AND_COLLIDERS = {(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)}


def test_bodies_meet_all_but_colliders_do_not_meet_each_other() -> None:
    assert meetings(crowd()) == {*BODIES_AND_COLLIDERS, (0, 0), (1, 1)}


def test_points_between_what_goes_through_its_own_body_and_the_rest_are_there_twice() -> None:
    through = np.arange(8) < 3
    around = ContactSurface(OCTAHEDRON, EIGHT, through_own=through)
    body = SoftBody(block((1, 2, 1), origin=(2.0, 0.0, 0.0)), contact_surface=around)
    scene = Scene([body], colliders=[Collider(SQUARE, HALVES)], contact=Contact())
    surface = surface_of(scene)
    groups = surface.group_of[surface.triangles]
    assert (groups == groups[:, :1]).all()
    np.testing.assert_array_equal(np.bincount(groups[:, 0]), [5, 2, 3])
    corners = surface.points(shaken(scene), surface.colliders_at(0, 0.0))[surface.triangles]
    seen = surface_of(replace(scene, bodies=[replace(body, contact_surface=plain(around))]))
    expected = seen.points(shaken(scene), seen.colliders_at(0, 0.0))[seen.triangles]
    order = np.concatenate([np.flatnonzero(~through), np.flatnonzero(through), [8, 9]])
    np.testing.assert_array_equal(corners, expected[order])


def plain(surface: ContactSurface) -> ContactSurface:
    return replace(surface, through_own=None)


def test_what_goes_through_its_own_body_meets_all_others_and_the_rest_meets_itself() -> None:
    surface = surface_of(Scene(bodies(), colliders=[Collider(SQUARE, HALVES)], contact=Contact()))
    groups = CollisionSurface.group_collisions(surface.can_collide)
    np.testing.assert_array_equal(groups, groups.T)
    found = {(i, j) for i, j in np.argwhere(groups).tolist() if i <= j}
    first, second, table = (0, 3), (1, 4), (2,)
    others = {tuple(sorted((i, j))) for i in first for j in second}
    others |= {tuple(sorted((i, j))) for i in (*first, *second) for j in (*table, 5)}
    assert found == others | {(0, 0), (1, 1)}


def test_without_self_contact_a_body_still_meets_the_others() -> None:
    assert meetings(crowd(contact=Contact(self_contact=False))) == BODIES_AND_COLLIDERS


def test_what_is_attached_is_joined_and_meets_itself_and_others() -> None:
    attachments = [Attachment(1, [0], 0), Attachment(0, [26], 1, to="collider")]
    scene = crowd(attachments=attachments)
    assert meetings(scene) == {*BODIES_AND_COLLIDERS, (0, 0), (1, 1)}
    joined = np.argwhere(surface_of(scene).are_joined)
    assert {tuple(pair) for pair in joined if pair[0] < pair[1]} == {(0, 1), (0, 3)}
    bits = surface_of(scene).exempt_bits
    np.testing.assert_array_equal(bits, bits.T)
    assert bits[0, 1] != bits[0, 3]
    assert set(np.unique(bits)) == {0, bits[0, 1], bits[0, 3]}


@pytest.mark.parametrize("raised", [0.2, 1e-9, 0.0])
def test_attached_points_and_what_meets_at_the_start_go_through(raised: float) -> None:
    """Two cubes one over the other, the upper one attached by one corner."""
    lower, upper = block((2, 2, 2)), block((2, 2, 2), origin=(0.1, 0.1, 1.0 + raised))
    scene = Scene(
        [SoftBody(lower), SoftBody(upper)], contact=Contact(), attachments=[Attachment(1, [0], 0)]
    )
    surface = surface_of(scene)
    (exempt,) = np.nonzero(surface.exempt & surface.exempt_bits[0, 1])
    at_start = surface.rest[exempt]
    if raised == 0.2:
        np.testing.assert_array_equal(at_start, [[0.1, 0.1, 1.2]])
    else:
        meets = abs(surface.rest[:, 2] - 1.0) < 1e-6
        assert set(np.flatnonzero(meets)) <= set(exempt)
        # Sides have corners there, and no others.
        assert (abs(at_start[:, 2] - 1.0) < 0.51).all()


def test_what_is_attached_meets_the_other_without_self_contact() -> None:
    scene = crowd(attachments=[Attachment(1, [0], 0)], contact=Contact(self_contact=False))
    assert meetings(scene) == BODIES_AND_COLLIDERS
