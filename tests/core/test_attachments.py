# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from supple.core import (
    Attachment,
    Collider,
    Contact,
    Ground,
    Scene,
    SceneError,
    Simulator,
    Skin,
    SoftBody,
    Sphere,
    SurfaceMesh,
)
from supple.core.integrators import ImplicitEuler
from supple.core.job.scene_file import load_scene, save_scene
from supple.core.materials import StableNeoHookean
from supple.core.preparation.intersections import Surfaces, find_intersections
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.core.scene.collision_points import attached_pairs
from supple.tests.core.balls import ball_surface, seen_points

# Beside the blocks, whose z goes from 0 to 1.
TABLE = np.array([[-1.0, -1, -0.1], [2, -1, -0.1], [2, 2, -0.1], [-1, 2, -0.1]])
HALVES = np.array([[0, 1, 2], [0, 2, 3]])
# In every collider list, a sphere that mesh indices do not count.
BALL = Sphere((9.0, 9.0, 9.0), 0.1)


def _attached(body: SoftBody, points, collider: Collider) -> Any:
    """The body once it has been discretized."""
    scene = Scene([body], colliders=[BALL, collider], attachments=[_to_collider(points)])
    return tetrahedralize_scene(scene)[0].bodies[0]


def _to_collider(points) -> Attachment:
    return Attachment(0, points, 0, to="collider")


def _bottom(mesh) -> np.ndarray:
    return np.flatnonzero(mesh.vertices[:, 2] == 0.0)


def _turned(frames: int) -> tuple[np.ndarray, np.ndarray]:
    """Rotations (T, 3, 3) from none on and shifts (T, 3)."""
    angle = np.linspace(0.0, 2.5, frames)
    zero, one = np.zeros(frames), np.ones(frames)
    cos, sin = np.cos(angle), np.sin(angle)
    about_x = np.array([[one, zero, zero], [zero, cos, -sin], [zero, sin, cos]])
    about_z = np.array([[cos, -sin, zero], [sin, cos, zero], [zero, zero, one]])
    rotations = np.einsum("ijt,jkt->tik", about_x, about_z)
    return rotations, angle[:, None] * [0.3, -1.0, 0.5]


def _moved(points: np.ndarray, frames: int) -> np.ndarray:
    rotations, shifts = _turned(frames)
    return np.einsum("tij,pj->tpi", rotations, points) + shifts[:, None]


# Pins from colliders


def test_on_a_still_collider_attached_vertices_stand_still(make_block) -> None:
    mesh = make_block()
    body = _attached(SoftBody(mesh), _bottom(mesh), Collider(TABLE, HALVES))
    np.testing.assert_array_equal(np.sort(body.pinned), _bottom(mesh))
    assert body.pin_path is None


def test_on_a_collider_that_turns_the_attached_vertices_turn_with_it(make_block) -> None:
    mesh = make_block()
    body = _attached(SoftBody(mesh), _bottom(mesh), Collider(_moved(TABLE, 7), HALVES))
    np.testing.assert_allclose(
        body.pin_path.samples, _moved(mesh.vertices[body.pinned], 7), atol=1e-9
    )


def test_on_a_collider_that_stretches_they_follow_their_place_on_it(make_block) -> None:
    mesh = make_block()
    wider = np.stack([TABLE, TABLE * [2.0, 1.0, 1.0], TABLE * [2.0, 0.5, 1.0]])
    body = _attached(SoftBody(mesh), _bottom(mesh), Collider(wider, HALVES))
    places = mesh.vertices[body.pinned]
    expected = [places, places * [2.0, 1.0, 1.0], places * [2.0, 0.5, 1.0]]
    np.testing.assert_allclose(body.pin_path.samples, expected, atol=1e-8)


def test_points_beyond_the_edge_of_a_collider_are_carried_too(make_block) -> None:
    mesh = make_block(origin=(4.0, 3.0, 2.0))
    points = np.arange(len(mesh.vertices) - 1)
    body = _attached(SoftBody(mesh), points, Collider(_moved(TABLE, 5), HALVES))
    np.testing.assert_allclose(
        body.pin_path.samples, _moved(mesh.vertices[body.pinned], 5), atol=1e-8
    )


def test_triangles_that_lose_their_area_leave_the_path_finite(make_block) -> None:
    mesh = make_block()
    collapsing = np.stack([TABLE, np.zeros_like(TABLE), TABLE])
    line = np.array([[0, 0, 1]])
    collider = Collider(collapsing, np.concatenate([line, HALVES]))
    body = _attached(SoftBody(mesh), _bottom(mesh), collider)
    assert np.isfinite(body.pin_path.samples).all()
    np.testing.assert_allclose(body.pin_path.samples[2], mesh.vertices[body.pinned], atol=1e-9)


def test_a_collider_of_nothing_but_lines_is_refused(make_block) -> None:
    line = Collider(np.stack([TABLE, TABLE]), np.array([[0, 1, 1]]), name="Wire")
    with pytest.raises(SceneError, match=r"^Wire: no triangle has an area"):
        _attached(SoftBody(make_block()), [0], line)


def test_points_of_a_skin_keep_their_place(make_block) -> None:
    mesh = make_block((3, 3, 3))
    skin = np.random.default_rng(1).uniform(0.0, 1.0, (20, 3)) * [1.0, 1.0, 0.3]
    body = _attached(
        SoftBody(mesh, skin=Skin(skin)), np.arange(8), Collider(_moved(TABLE, 4), HALVES)
    )
    for path, expected in zip(body.pin_path.samples, _moved(skin, 4), strict=True):
        vertices = np.full_like(mesh.vertices, np.nan)
        vertices[body.pinned] = path
        # Corners of no weight may be anywhere.
        corners = np.nan_to_num(vertices[body.skin.embedding.indices[:8]])
        found = np.einsum("va,vai->vi", body.skin.embedding.weights[:8], corners)
        # The fit of a rigid motion leans towards no turn by a millionth.
        np.testing.assert_allclose(found, expected[:8], atol=2e-6)


def test_a_surface_is_attached_by_its_own_vertices(make_block) -> None:
    mesh = make_block()
    surface = SurfaceMesh(mesh.vertices, mesh.surface, edge_length=0.4)
    body = _attached(SoftBody(surface), _bottom(mesh), Collider(TABLE, HALVES))
    moved = body.mesh.vertices.copy()
    free = np.setdiff1d(np.arange(len(moved)), body.pinned)
    moved[free] += 1.0
    held = body.skin.embedding.interpolate(moved)[_bottom(mesh)]
    np.testing.assert_allclose(held, mesh.vertices[_bottom(mesh)], atol=1e-7)


def test_a_start_shape_is_what_keeps_its_place(make_block) -> None:
    mesh = make_block()
    start = mesh.vertices * [1.0, 1.0, 0.8] + [0.0, 0.0, 0.3]
    collider = Collider(_moved(TABLE, 3), HALVES)
    body = _attached(SoftBody(mesh, initial_positions=start), _bottom(mesh), collider)
    np.testing.assert_allclose(body.pin_path.samples, _moved(start[body.pinned], 3), atol=1e-9)


# Beside other pins


@pytest.mark.parametrize("own_frames", [1, 3, 9])
def test_own_pins_keep_their_path_where_a_collider_claims_them_too(make_block, own_frames) -> None:
    mesh = make_block()
    own = np.array([_bottom(mesh)[0], len(mesh.vertices) - 1])
    path = mesh.vertices[own] + np.linspace(0.0, 1.0, own_frames)[:, None, None]
    body = SoftBody(mesh, pinned=own, pin_path=path)
    found = _attached(body, _bottom(mesh), Collider(_moved(TABLE, 5), HALVES))
    assert set(found.pinned) == {*own, *_bottom(mesh)}
    length = max(own_frames, 5)
    assert len(found.pin_path.samples) == length
    for column, vertex in enumerate(found.pinned):
        expected = _moved(mesh.vertices[[vertex]], 5)[:, 0]
        if vertex in own:
            expected = path[:, list(own).index(vertex)]
        waiting = np.minimum(np.arange(length), len(expected) - 1)
        np.testing.assert_allclose(found.pin_path.samples[:, column], expected[waiting], atol=1e-9)


def test_still_own_pins_stay_beside_attached_ones_that_move(make_block) -> None:
    mesh = make_block()
    top = np.flatnonzero(mesh.vertices[:, 2] == 1.0)
    body = SoftBody(mesh, pinned=top)
    found = _attached(body, _bottom(mesh), Collider(_moved(TABLE, 5), HALVES))
    is_top = np.isin(found.pinned, top)
    assert is_top.sum() == len(top)
    np.testing.assert_array_equal(
        found.pin_path.samples[:, is_top],
        np.repeat(mesh.vertices[found.pinned[is_top]][None], 5, axis=0),
    )


def test_still_attached_pins_stay_beside_own_ones_that_move(make_block) -> None:
    mesh = make_block()
    last = len(mesh.vertices) - 1
    path = mesh.vertices[[last]] + np.arange(4.0)[:, None, None]
    body = SoftBody(mesh, pinned=[last], pin_path=path)
    found = _attached(body, _bottom(mesh), Collider(TABLE, HALVES))
    np.testing.assert_array_equal(found.pin_path.samples[:, :1], path)
    np.testing.assert_array_equal(found.pin_path.samples[3, 1:], mesh.vertices[found.pinned[1:]])


def test_a_body_hangs_between_two_colliders(make_block) -> None:
    mesh = make_block()
    top = np.flatnonzero(mesh.vertices[:, 2] == 1.0)
    ceiling = TABLE + np.array([0.0, 0.0, 1.2])
    rising = np.stack([ceiling, ceiling + np.array([0.0, 0.0, 0.5])])
    scene = Scene(
        [SoftBody(mesh)],
        colliders=[Collider(TABLE, HALVES), Collider(rising, HALVES)],
        attachments=[_to_collider(_bottom(mesh)), Attachment(0, top, 1, to="collider")],
    )
    body: Any = tetrahedralize_scene(scene)[0].bodies[0]
    rise = body.pin_path.samples[1, :, 2] - body.pin_path.samples[0, :, 2]
    np.testing.assert_allclose(rise, np.where(np.isin(body.pinned, top), 0.5, 0.0), atol=1e-9)


def test_a_body_of_which_nothing_could_move_is_refused(make_block) -> None:
    mesh = make_block()
    body = SoftBody(mesh, name="Jelly")
    with pytest.raises(SceneError, match=r"^Jelly: every vertex is pinned"):
        _attached(body, np.arange(len(mesh.vertices)), Collider(TABLE, HALVES))


@pytest.mark.parametrize("points", [[-1], [99999], [3, 3]])
def test_points_that_are_not_there_or_named_twice_are_refused(make_block, points) -> None:
    with pytest.raises(SceneError, match=r"^Jelly: an attached point"):
        _attached(SoftBody(make_block(), name="Jelly"), points, Collider(TABLE, HALVES))


# The scene afterwards


def test_a_scene_that_is_saved_and_discretized_again_stays_as_it_is(make_block, tmp_path) -> None:
    mesh = make_block()
    surface = SurfaceMesh(mesh.vertices, mesh.surface, edge_length=0.4)
    scene = Scene(
        [SoftBody(surface), SoftBody(make_block(origin=(0.0, 0.0, 2.0)))],
        colliders=[Collider(_moved(TABLE, 4), HALVES)],
        attachments=[_to_collider(_bottom(mesh)), Attachment(1, [0, 2], 0)],
    )
    once, _ = tetrahedralize_scene(scene)
    save_scene(tmp_path / "solids.json", once, {})
    again, _ = tetrahedralize_scene(load_scene(tmp_path / "solids.json")[0])
    for first, second in zip(once.bodies, again.bodies, strict=True):
        assert (first.pinned is None) == (second.pinned is None)
        if first.pinned is not None:
            np.testing.assert_array_equal(first.pinned, second.pinned)
            np.testing.assert_array_equal(first.pin_path.samples, second.pin_path.samples)
    assert [a.is_pinned for a in again.attachments] == [True, False]
    np.testing.assert_array_equal(again.attachments[1].points, [0, 2])
    assert attached_pairs(again) == attached_pairs(scene)


def test_the_scene_that_is_discretized_is_left_as_it_was(make_block) -> None:
    mesh = make_block()
    body = SoftBody(mesh)
    scene = Scene(
        [body], colliders=[Collider(TABLE, HALVES)], attachments=[_to_collider(_bottom(mesh))]
    )
    tetrahedralize_scene(scene)
    assert body.pinned is None and not scene.attachments[0].is_pinned


def test_attached_objects_are_pairs_whichever_is_attached_to_the_other(make_block) -> None:
    bodies = [SoftBody(make_block(origin=(2.0 * i, 0.0, 0.0))) for i in range(3)]
    meshes = [Collider(TABLE, HALVES), Collider(TABLE, HALVES)]
    attachments = [
        Attachment(2, [0], 0),
        Attachment(0, [1], 2),
        Attachment(1, [0], 1, to="collider"),
    ]
    scene = Scene(bodies, colliders=[meshes[0], BALL, meshes[1]], attachments=attachments)
    assert attached_pairs(scene) == {(0, 2), (1, 4)}
    assert attached_pairs(replace(scene, attachments=[])) == set()


@pytest.mark.parametrize("poisson", [0.0, 0.45])
def test_a_joint_gives_by_less_than_a_hundredth_of_what_the_bodies_do(make_block, poisson) -> None:
    """Two cubes of the same mesh hang from each other."""
    upper, lower = make_block(origin=(0.0, 0.0, 1.0)), make_block()
    material = StableNeoHookean(1e5, poisson)
    bodies = [
        SoftBody(upper, material, pinned=np.flatnonzero(upper.vertices[:, 2] > 1.99)),
        SoftBody(lower, material),
    ]
    faces = [np.flatnonzero(np.abs(mesh.vertices[:, 2] - 1.0) < 1e-9) for mesh in (upper, lower)]
    scene = Scene(bodies, attachments=[Attachment(1, faces[1], 0)])
    hanging = [part.numpy() for part in Simulator(scene).settle().positions]
    gap = np.linalg.norm(hanging[0][faces[0]] - hanging[1][faces[1]], axis=1).max()
    stretched = -hanging[1][:, 2].min()
    assert stretched > 0.05
    assert 0.0 < gap < 0.01 * stretched


# Where they collide


def _crossing_faces(bodies: list[SoftBody], positions: Any, triangles: np.ndarray) -> int:
    """Pairs of faces of two bodies of the same (F, 3) triangles that cross each other."""
    points = [
        seen_points(body, np.asarray(own)) for body, own in zip(bodies, positions, strict=True)
    ]
    count = len(points[0])
    surfaces = Surfaces(
        np.concatenate(points),
        np.concatenate([triangles, triangles + count]).astype(np.int32),
        np.repeat([0, 1], count).astype(np.int32),
        {(0, 0), (1, 1)},
    )
    return len(find_intersections(surfaces))


@pytest.mark.parametrize("inner", [0.42, 0.47])
def test_a_ball_that_is_attached_by_its_upper_half_stays_in_another_below(inner: float) -> None:
    bodies = []
    for radius, young in ((0.5, 2e4), (inner, 1e5)):
        points, triangles = ball_surface(3, radius, (0.0, 0.0, 0.55))
        mesh = SurfaceMesh(points, triangles.astype(np.int32), edge_length=0.2)
        bodies.append(SoftBody(mesh, StableNeoHookean(young, 0.4)))
    upper = np.flatnonzero(points[:, 2] > 0.56).astype(np.int32)
    scene = Scene(bodies, Ground(), contact=Contact(), attachments=[Attachment(1, upper, 0)])
    simulator = Simulator(scene, ImplicitEuler())
    contacts = 0
    for frame in simulator.run(8):
        assert _crossing_faces(simulator.scene.bodies, frame.positions, triangles) == 0
        contacts = max(contacts, frame.report.solver_statistics.contacts or 0)
    assert contacts > 0


def test_what_crosses_where_it_is_attached_holds_no_force(make_block) -> None:
    """A block whose lower end is in another one, without gravity."""
    bodies = [SoftBody(make_block()), SoftBody(make_block(origin=(0.13, 0.17, 0.8)))]
    lower = np.flatnonzero(bodies[1].mesh.vertices[:, 2] < 0.81)
    scene = Scene(
        bodies, gravity=(0.0, 0.0, 0.0), contact=Contact(), attachments=[Attachment(1, lower, 0)]
    )
    *_, last = Simulator(scene, ImplicitEuler()).run(3)
    for body, positions in zip(bodies, last.positions, strict=True):
        np.testing.assert_allclose(positions, body.mesh.vertices, atol=1e-6)


def test_a_body_attached_to_a_collider_by_one_end_lands_on_it_with_the_other(make_block) -> None:
    """A plate that hangs over a table by the points of one side, and swings down to it."""
    mesh = make_block((4, 2, 1), (1.0, 0.5, 0.1))
    side = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    table = TABLE - [0.0, 0.0, 0.1]
    scene = Scene(
        [SoftBody(mesh, StableNeoHookean(3e3, 0.3))],
        colliders=[Collider(table, HALVES)],
        contact=Contact(),
        attachments=[_to_collider(side)],
    )
    lowest = [float(frame.positions[0][:, 2].min()) for frame in Simulator(scene).run(16)]
    assert -0.2 < min(lowest) < -0.15
