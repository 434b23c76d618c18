# SPDX-License-Identifier: GPL-3.0-or-later
"""Test frames without contact: nothing near is overlooked."""

from __future__ import annotations

import numpy as np
import pytest

from supple.benchmarks.fine_parts import _disc
from supple.benchmarks.fine_shapes import conrod
from supple.core import Collider, Scene, SoftBody, SurfaceMesh, TetMesh
from supple.core.potentials.contact.clearance import LEAST_CLEARANCE, Clearance, Trajectory
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.core.scene.collision_points import contact_distances
from supple.core.scene.contact_settings import Contact
from supple.verification.meshes import block

NOTHING = np.empty((0, 3))


def lone(cells: int = 3) -> Scene:
    return Scene([SoftBody(block((cells, cells, cells)))], contact=Contact())


def two(gap: float) -> Scene:
    """Blocks of a metre, one over the other."""
    lower, upper = block((2, 2, 2)), block((2, 2, 2), origin=(0.0, 0.0, 1.0 + gap))
    return Scene([SoftBody(lower), SoftBody(upper)], contact=Contact())


def clearance_of(scene: Scene) -> Clearance:
    return Clearance(scene, [body.mesh for body in scene.bodies])


def at_rest(clearance: Clearance) -> np.ndarray:
    return clearance.surface.rest[: clearance.surface.body_count]


def trajectory_of(places, colliders=(NOTHING, NOTHING), is_linear: bool = True) -> Trajectory:
    times = np.linspace(0.0, 1.0, len(places))
    return Trajectory(np.stack(places, axis=1), times, is_linear, colliders)


def lifted(clearance: Clearance, heights) -> list[np.ndarray]:
    """Places of two blocks, the upper one at so many metres above where it is at rest."""
    rest, upper = at_rest(clearance), clearance.surface.object_of == 1
    return [rest + np.outer(upper, (0.0, 0.0, height)) for height in heights]


# A body alone


def test_a_body_at_rest_has_room_to_move_in():
    clearance = clearance_of(lone())
    rest = at_rest(clearance)
    assert clearance.is_clear(rest, NOTHING)
    clearance_left = clearance.clearance_after(trajectory_of([rest, rest]), 0.0)
    assert clearance_left is not None and 0.0 < clearance_left <= clearance.max_clearance


def test_going_as_a_whole_takes_no_room():
    clearance = clearance_of(lone())
    rest = at_rest(clearance)
    falling = [rest - [0.0, 0.0, share * share] for share in np.linspace(0.0, 1.0, 9)]
    assert clearance.clearance_after(trajectory_of(falling), 0.01) == pytest.approx(0.01)


def test_moving_within_takes_more_room_than_two_parts_can_have_come_nearer():
    clearance = clearance_of(lone())
    rest = at_rest(clearance)
    pushed = rest + np.random.default_rng(0).uniform(-1e-4, 1e-4, rest.shape)
    moved = np.linalg.norm((pushed - rest) - (pushed - rest).mean(axis=0), axis=1).max()
    left = clearance.clearance_after(trajectory_of([rest, pushed]), 0.01)
    assert left is not None and left <= 0.01 - 2.0 * moved


def test_with_no_room_left_it_looks_again():
    clearance = clearance_of(lone())
    rest = at_rest(clearance)
    first = clearance.clearance_after(trajectory_of([rest, rest]), 0.0)
    wide = widened(rest, 0.2 * clearance.max_clearance)
    assert clearance.clearance_after(trajectory_of([rest, wide]), 1e-6) >= first > 1e-6


def test_how_much_room_is_left_is_not_asked_where_the_next_frame_would_need_more() -> None:
    """Nothing but that there is some."""
    clearance = clearance_of(lone())
    rest = at_rest(clearance)
    left = clearance.clearance_after(trajectory_of([rest, widened(rest, 0.2)]), 0.0)
    assert left is not None and 0.0 < left < 1e-9
    # What rests does with that, and what moves within is looked at again.
    assert clearance.clearance_after(trajectory_of([rest, rest]), left) == left
    wide = widened(rest, 0.2 * clearance.max_clearance)
    assert clearance.clearance_after(trajectory_of([rest, wide]), left) > 1e-6


def widened(points: np.ndarray, ratio: float) -> np.ndarray:
    """Points widened by a fraction of their size, all around."""
    return points + ratio * (points - points.mean(axis=0))


def folded(clearance: Clearance, depth: float) -> np.ndarray:
    """The middle of the upper side pressed down to ``depth`` above the lower one, in metres."""
    points = at_rest(clearance).copy()
    upper = np.isclose(points[:, 2], 1.0) & (abs(points[:, :2] - 0.5).max(axis=1) < 0.2)
    assert upper.any()
    points[upper, 2] = depth
    return points


def test_a_side_that_comes_near_the_other_one_is_seen():
    clearance = clearance_of(lone())
    rest = at_rest(clearance)
    for depth, is_apart in ((0.3, True), (0.5 * clearance.max_clearance, False), (-0.1, False)):
        trajectory = trajectory_of([rest, folded(clearance, depth)])
        assert (clearance.clearance_after(trajectory, 0.0) is not None) == is_apart


def test_more_positions_tell_that_nothing_touched_and_are_looked_at_where_fewer_do_not():
    scene = lone()
    clearance, dhat = clearance_of(scene), contact_distances(scene)[0, 0]

    def left(least: float, step: int, acceleration: float = 0.5) -> float | None:
        times = np.linspace(0.0, 1.0, 17)[::step]
        depths = least + acceleration * (times - 0.5) ** 2
        return clearance.clearance_after(
            trajectory_of([folded(clearance, depth) for depth in depths], is_linear=False), 0.0
        )

    # Between eight positions it may have come nearer by a quarter of what changes at each, 0.0039.
    assert left(dhat + 0.003, 2) is None
    assert left(dhat + 0.003, 1) is not None
    assert left(dhat + 0.005, 2) is not None
    assert left(dhat - 0.001, 1) is None


def test_a_trajectory_of_many_positions_has_one_of_half_as_many():
    places = np.random.default_rng(2).normal(size=(3, 14, 3))
    times, corners = np.linspace(0.0, 1.0, 14), np.arange(14.0)[:, None] * np.ones((5, 14, 3))
    whole = Trajectory(places, times, False, (NOTHING, NOTHING), corners)
    coarser = whole.coarser()
    which = [0, 2, 4, 6, 8, 10, 12, 13]
    np.testing.assert_array_equal(coarser.positions, places[:, which])
    np.testing.assert_array_equal(coarser.times, times[which])
    assert coarser.vertices is not None
    np.testing.assert_array_equal(coarser.vertices[0, :, 0], which)
    assert coarser.positions.flags.c_contiguous and coarser.vertices.flags.c_contiguous
    assert coarser.coarser() is coarser and coarser.finer is whole
    straight = Trajectory(places, times, True, (NOTHING, NOTHING), corners)
    assert straight.coarser() is straight
    unknown = Trajectory(places, times, False, (NOTHING, NOTHING)).coarser()
    assert len(unknown.times) == 8 and unknown.vertices is None


def test_where_sides_are_near_it_is_not_clear():
    clearance = clearance_of(lone())
    assert clearance.is_clear(folded(clearance, 0.3), NOTHING)
    assert not clearance.is_clear(folded(clearance, 0.5 * clearance.max_clearance), NOTHING)


def test_tetrahedra_that_hardly_deform_hold_fine_parts_apart() -> None:
    """Bevels of 2 mm swing by far more than they are apart, and alike."""
    points, faces = _disc(True)
    surface = SurfaceMesh(points, faces.astype(np.int32), edge_length=1.0 / 12.0)
    (body,) = tetrahedralize_scene(Scene([SoftBody(surface)], contact=Contact()))[0].bodies
    clearance = clearance_of(Scene([body], contact=Contact()))

    def left(strength: float, is_held: bool = True) -> float | None:
        bent = body.mesh.vertices.copy()
        bent[:, 2] += strength * (bent[:, 0] ** 2 + 0.3 * bent[:, 0] * bent[:, 1])
        vertices = [body.mesh.vertices, bent, body.mesh.vertices]
        places = np.stack([clearance.surface.body_points(at.T) for at in vertices], axis=1)
        times, still = np.array([0.0, 0.5, 1.0]), (NOTHING, NOTHING)
        corners = np.stack(vertices, axis=1) if is_held else None
        return clearance.clearance_after(Trajectory(places, times, False, still, corners), 0.0)

    at_rest, flat = body.mesh.vertices, body.mesh.vertices * [1.0, 1.0, 0.01]
    for vertices, is_clear in ((at_rest, True), (flat, False)):
        assert left(0.1) == LEAST_CLEARANCE
        at = clearance.surface.body_points(vertices.T)
        assert clearance.is_clear(at, NOTHING, vertices) == is_clear
    assert left(0.1, is_held=False) is None
    assert left(2.0) is None


def test_a_search_without_held_leaves_finds_what_a_whole_one_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points, faces = conrod()
    surface = SurfaceMesh(points, faces.astype(np.int32), edge_length=0.1)
    (body,) = tetrahedralize_scene(Scene([SoftBody(surface)], contact=Contact()))[0].bodies
    rest = body.mesh.vertices
    middle, bends = rest[:, 0].mean(), []

    def left(strength: float, leaves_out: bool) -> tuple[float | None, int]:
        clearance = clearance_of(Scene([body], contact=Contact()))
        clearance._has_held_leaves = leaves_out
        broad_phase, searched = clearance._one_object, 0
        among = broad_phase.among

        def counted(swept, leaves):
            nonlocal searched
            searched += len(leaves)
            return among(swept, leaves)

        monkeypatch.setattr(broad_phase, "among", counted)
        bent = rest.copy()
        bent[:, 2] += strength * (rest[:, 0] - middle) ** 2
        bent[:, 0] += 0.5 * strength * rest[:, 2] * (rest[:, 0] - middle)
        places = np.stack([clearance.surface.body_points(at.T) for at in (rest, bent)], axis=1)
        trajectory = Trajectory(
            places, np.array([0.0, 1.0]), True, (NOTHING, NOTHING), np.stack([rest, bent], axis=1)
        )
        return clearance.clearance_after(trajectory, 0.0), searched

    for strength in (0.2, 0.5, 1.0, 3.0, 8.0):
        (whole, all_leaves), (less, fewer) = left(strength, False), left(strength, True)
        assert less == whole
        bends.append((whole is not None, fewer < 0.6 * all_leaves))
    assert bends[0] == (True, True)
    assert bends[-1][0] is False


def test_a_side_that_goes_through_the_other_one_and_back_is_seen():
    clearance = clearance_of(lone())
    rest = at_rest(clearance)
    there_and_back = [rest, folded(clearance, 0.4), folded(clearance, -0.1), rest]
    assert clearance.clearance_after(trajectory_of(there_and_back), 0.0) is None
    assert (
        clearance.clearance_after(trajectory_of([rest, folded(clearance, 0.4), rest]), 0.0)
        is not None
    )


def thin(gap: float) -> Scene:
    """Two boards, one over the other, that are one body."""
    board = block((4, 2, 1), size=(1.0, 0.5, 0.2))
    vertices = np.concatenate([board.vertices, board.vertices + np.array([0.0, 0.0, 0.2 + gap])])
    tets = np.concatenate([board.tets, board.tets + len(board.vertices)])
    return Scene([SoftBody(TetMesh(vertices, tets))], contact=Contact())


@pytest.mark.parametrize(("lag", "is_clear"), [(0.0, True), (0.8, True), (1.2, False)])
def test_near_parts_that_swing_alike_need_no_contact(lag: float, is_clear: bool) -> None:
    """Far more than they are apart, beside a part that rests; one may lag by three quarters of
    that, the least of what pushes."""
    gap, boards = 1e-3, thin(1e-3).bodies[0].mesh
    rests = block((1, 1, 1), origin=(0.0, 0.0, 2.0))
    vertices = np.concatenate([boards.vertices, rests.vertices])
    tets = np.concatenate([boards.tets, rests.tets + len(boards.vertices)])
    clearance = clearance_of(Scene([SoftBody(TetMesh(vertices, tets))], contact=Contact()))
    rest = at_rest(clearance)
    swings, upper = rest[:, 2] < 1.0, (rest[:, 2] > 0.2 + 0.5 * gap) & (rest[:, 2] < 1.0)
    path = [rest + np.outer(swings, (0.0, 0.0, 0.3 * np.sin(angle))) for angle in np.arange(9.0)]
    path[4] = path[4] - np.outer(upper, (0.0, 0.0, 0.75 * lag * gap))
    left = clearance.clearance_after(trajectory_of(path, is_linear=lag > 0.0), 0.0)
    assert (left is not None) == is_clear


# Several


def test_bodies_far_apart_are_not_looked_at_and_those_in_reach_are_clear_or_not():
    far, near = clearance_of(two(0.5)), clearance_of(two(1e-3))
    assert far.is_clear(at_rest(far), NOTHING)
    assert not near.is_clear(at_rest(near), NOTHING)
    assert far.clearance_after(trajectory_of(lifted(far, (0.0, -0.3))), 0.01) is not None
    assert far.clearance_after(trajectory_of(lifted(far, (0.0, -0.4999))), 0.01) is None


@pytest.mark.parametrize("last", [-0.49999, -0.6, -3.0])
def test_a_body_that_reaches_the_other_one_or_went_through_is_seen(last: float):
    clearance = clearance_of(two(0.5))
    heights = np.linspace(0.0, last, 9)
    assert clearance.clearance_after(trajectory_of(lifted(clearance, heights)), 1.0) is None


def test_a_body_that_went_through_and_back_is_seen():
    clearance = clearance_of(two(0.5))
    assert (
        clearance.clearance_after(trajectory_of(lifted(clearance, (0.0, -0.2, -0.7, -0.1))), 1.0)
        is None
    )
    assert clearance.clearance_after(trajectory_of(lifted(clearance, (0.0, -0.2, -0.4, -0.1))), 1.0)


def test_what_bodies_have_left_to_themselves_is_theirs_whoever_else_is_near() -> None:
    """Also where they fall, faster and faster, and the boxes around them overlap."""
    clearance = clearance_of(two(0.01))
    rest, falls = at_rest(clearance), [share * share for share in np.linspace(0.0, 1.0, 9)]
    falling = [rest - [0.0, 0.0, 0.3 * fall] for fall in falls]
    left = clearance.clearance_after(trajectory_of(falling, is_linear=False), 0.5)
    assert left == pytest.approx(0.5, abs=1e-12)
    alone = clearance_of(lone(2))
    rests = trajectory_of([at_rest(alone)] * 2)
    expected = alone.clearance_after(rests, 0.0)
    assert expected is not None and expected > 1e-6
    found = clearance.clearance_after(trajectory_of(falling, is_linear=False), 0.0)
    assert found == pytest.approx(min(expected, clearance.max_clearance), rel=0.01)


def test_a_body_that_folds_while_another_is_near_is_seen() -> None:
    clearance = clearance_of(two(0.01))
    rest, lower = at_rest(clearance), clearance.surface.object_of == 0
    beside = [rest, rest.copy()]
    top = lower & (rest[:, 2] == 1.0) & (abs(rest[:, :2] - 0.5).max(axis=1) < 0.2)
    assert top.any()
    beside[1][top, 2] = 0.5 * clearance.max_clearance
    assert clearance.clearance_after(trajectory_of(beside), 0.0) is None
    assert not clearance.is_clear(beside[1], NOTHING)
    beside[1][top, 2] = 0.5
    assert clearance.clearance_after(trajectory_of(beside), 0.0) is not None
    assert clearance.is_clear(beside[1], NOTHING)


def test_what_lies_between_the_known_places_counts():
    """At constant acceleration the lowest point of the way lies between two of them."""
    scene = two(0.5)
    clearance, reach = clearance_of(scene), float(contact_distances(scene)[0, 1])
    lowest = -0.5 + 1.5 * reach
    fall = 0.5
    heights = [lowest + fall * (share - 0.5) ** 2 for share in np.linspace(0.0, 1.0, 4)]
    assert min(heights) > -0.5 + 2.0 * reach
    straight, bent = (
        clearance.clearance_after(trajectory_of(lifted(clearance, heights), is_linear=each), 0.0)
        for each in (True, False)
    )
    assert straight is not None
    assert bent is None


def test_a_way_around_something_is_free_although_the_straight_one_is_not():
    clearance = clearance_of(two(0.5))
    rest, upper = at_rest(clearance), clearance.surface.object_of == 1
    around = [(0, 0, 0), (1.5, 0, 0), (1.5, 0, -3.5), (0, 0, -3.5)]
    places = [rest + np.outer(upper, each) for each in around]
    assert clearance.clearance_after(trajectory_of([places[0], places[-1]]), 0.0) is None
    assert clearance.clearance_after(trajectory_of(places), 0.0) is not None


# Colliders


def plated() -> tuple[Clearance, np.ndarray]:
    corners = np.array([[-1.0, -1, 0], [2, -1, 0], [2, 2, 0], [-1, 2, 0]])
    plate = Collider(np.stack([corners - [0, 0, 1], corners]), [[0, 1, 2], [0, 2, 3]])
    scene = Scene([SoftBody(block((2, 2, 2)))], colliders=[plate])
    return clearance_of(scene), corners


def test_a_collider_that_comes_is_seen_and_one_that_stays_away_is_not():
    clearance, corners = plated()
    rest = at_rest(clearance)
    below, near = corners - [0.0, 0.0, 1.0], corners - [0.0, 0.0, 0.5]
    assert clearance.clearance_after(trajectory_of([rest, rest], (below, near)), 0.0) is not None
    through = corners + np.array([0.0, 0.0, 3.0])
    assert clearance.clearance_after(trajectory_of([rest, rest], (below, through)), 1.0) is None
    assert clearance.is_clear(rest, near)
    assert not clearance.is_clear(rest, corners - [0.0, 0.0, 1e-3])


def test_between_frames_colliders_go_straight_whatever_bodies_do():
    before, after = np.random.default_rng(3).normal(size=(2, 4, 3))
    bodies = np.random.default_rng(4).normal(size=(5, 3, 3))
    trajectory = Trajectory(bodies, np.array([0.0, 0.2, 1.0]), False, (before, after))
    for index, expected in enumerate((before, before + 0.2 * (after - before), after)):
        np.testing.assert_array_equal(trajectory.position_at(index)[:5], bodies[:, index])
        np.testing.assert_allclose(trajectory.position_at(index)[5:], expected, rtol=1e-12)


def test_a_collider_goes_on_from_where_it_was_held():
    clearance, corners = plated()
    held = corners - [0.0, 0.0, 0.7]
    np.testing.assert_array_equal(clearance.colliders(held, 0, 0.0), held)
    np.testing.assert_array_equal(clearance.colliders(None, 0, 0.0), corners - [0, 0, 1.0])
    np.testing.assert_array_equal(clearance.colliders(held, 0, 1.0), corners)


# Near at rest


def test_parts_that_are_near_at_rest_do_not_count_until_they_are_a_quarter_as_near():
    gap = 1e-3
    scene = thin(gap)
    assert gap < contact_distances(scene)[0, 0]
    clearance = clearance_of(scene)
    rest = at_rest(clearance)
    upper = rest[:, 2] > 0.2 + 0.5 * gap
    assert clearance.is_clear(rest, NOTHING)
    assert not clearance.is_clear(rest - np.outer(upper, (0.0, 0.0, 0.8 * gap)), NOTHING)
    for share, is_apart in ((0.7, True), (0.8, False), (1.5, False)):
        pressed = rest - np.outer(upper, (0.0, 0.0, share * gap))
        assert (
            clearance.clearance_after(trajectory_of([rest, pressed]), 0.0) is not None
        ) == is_apart


def test_a_body_that_may_not_touch_itself_needs_no_room():
    scene = lone()
    scene.bodies[0].self_contact = False
    clearance = clearance_of(scene)
    rest = at_rest(clearance)
    assert clearance.clearance_after(trajectory_of([rest, folded(clearance, -0.1)]), 0.0) == np.inf
