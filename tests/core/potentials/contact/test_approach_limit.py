# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core import Collider, Contact, Scene, SoftBody, TetMesh
from supple.core.potentials.contact.approach_limit import COLLISIONS, ApproachLimit, PredictedMotion
from supple.core.potentials.contact.surface import CollisionSurface, Points
from supple.tests.core.boxes import BOX_TRIANGLES, box_corners
from supple.verification.meshes import block

GAP, SIDE, FAR, HALF = 0.01, 0.2, 1.0, 0.5


def cube(
    height: float = 0.0, size: tuple[float, float, float] = (SIDE,) * 3, cells: int = 2
) -> TetMesh:
    return block((cells,) * 3, size, (-0.5 * size[0], -0.5 * size[1], height))


def limit_of(
    meshes: list[TetMesh], colliders: list[Collider] | None = None, **options
) -> tuple[CollisionSurface, ApproachLimit]:
    bodies = [SoftBody(mesh) for mesh in meshes]
    scene = Scene(bodies, colliders=colliders or [], contact=Contact(**options))
    surface = CollisionSurface(scene, meshes)
    defaults = [float(mesh.mean_edges.mean()) for mesh in meshes]
    return surface, ApproachLimit(surface, np.array([*defaults, *[np.inf] * len(scene.meshes)]))


def share(
    meshes: list[TetMesh], moves: list[Points], colliders: list[Collider] | None = None
) -> float:
    """The allowed fraction of displacements of whole objects."""
    surface, limit = limit_of(meshes, colliders)
    displacements = np.asarray(moves, dtype=float)[surface.object_of]
    return limit.approach(surface.rest, displacements).step_size


def sheet(half: float, height: float, upright: bool = False) -> Collider:
    """A square without thickness about the vertical axis, or one that stands on an edge."""
    if upright:
        corners = [[0, -half, 0], [0, half, 0], [0, half, 2 * half], [0, -half, 2 * half]]
    else:
        corners = [[-half, -half, 0], [half, -half, 0], [half, half, 0], [-half, half, 0]]
    vertices = np.add(corners, (0.0, 0.0, height))
    return Collider(vertices, [[0, 1, 2], [0, 2, 3]])


DOWN, STILL = np.array([0.0, 0.0, -FAR]), np.zeros(3)


def test_a_block_goes_until_it_meets_another_and_on_by_half_its_thickness() -> None:
    found = share([cube(), cube(SIDE + GAP)], [STILL, DOWN])
    assert found == pytest.approx((GAP + HALF * SIDE) / FAR, rel=1e-9)


def test_the_thinner_one_limits_it_whichever_moves() -> None:
    plate = cube(SIDE + GAP, (SIDE, SIDE, 0.02))
    expected = GAP + HALF * 0.02
    assert share([cube(), plate], [STILL, DOWN]) == pytest.approx(expected, rel=1e-9)
    assert share([cube(), plate], [-DOWN, STILL]) == pytest.approx(expected, rel=1e-9)


def test_both_limits_name_the_two_that_meet() -> None:
    meshes = [cube(-5.0), cube(), cube(SIDE + GAP)]
    surface, limit = limit_of(meshes)
    found = limit.approach(surface.rest, np.array([STILL, STILL, DOWN])[surface.object_of])
    assert found.objects is not None
    assert sorted(found.objects) == [1, 2]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (DOWN, DOWN),
        (DOWN, STILL),
        (STILL, np.array([FAR, 0.0, 0.0])),
        (STILL, np.array([FAR, 0.3 * FAR, 0.0])),
        (STILL, np.array([0.0, 0.0, -GAP - 0.4 * SIDE])),
    ],
)
def test_what_goes_along_parts_slides_or_hardly_meets_goes_all_the_way(first, second) -> None:
    assert share([cube(), cube(SIDE + GAP)], [first, second]) == 1.0


def test_what_passes_beside_another_goes_all_the_way() -> None:
    beside = block((2, 2, 2), (SIDE,) * 3, (0.5 * SIDE + GAP, -0.5 * SIDE, SIDE))
    assert share([cube(), beside], [STILL, 3.0 * DOWN]) == 1.0


def test_a_box_slides_over_a_plate_and_its_edges() -> None:
    ground = sheet(5.0, -GAP)
    assert share([cube()], [np.array([FAR, 0.0, 0.0]), STILL], [ground]) == 1.0


@pytest.mark.parametrize("moves", [[DOWN, STILL], [STILL, -DOWN]])
def test_a_sheet_leaves_it_to_the_body(moves) -> None:
    found = share([cube()], moves, [sheet(0.3, -GAP)])
    assert found == pytest.approx((GAP + HALF * SIDE) / FAR, rel=1e-9)


def test_a_blade_counts_by_its_edge() -> None:
    blade = sheet(0.15, SIDE + GAP, upright=True)
    found = share([cube()], [STILL, DOWN], [blade])
    assert found == pytest.approx((GAP + HALF * SIDE) / FAR, rel=1e-9)


def test_a_thin_closed_collider_counts_by_its_thickness() -> None:
    plate = Collider(box_corners((-0.3, -0.3, -0.01 - GAP), (0.6, 0.6, 0.01)), BOX_TRIANGLES)
    found = share([cube()], [DOWN, STILL], [plate])
    assert found == pytest.approx((GAP + HALF * 0.01) / FAR, rel=1e-9)


def test_a_paddle_hits_with_its_tip_though_its_middle_rests() -> None:
    paddle = Collider(box_corners((-1.0, -0.1, SIDE + GAP), (2.0, 0.2, SIDE)), BOX_TRIANGLES)
    off = block((2, 2, 2), (SIDE,) * 3, (0.7, -0.5 * SIDE, 0.0))
    surface, limit = limit_of([off], [paddle])
    moves = np.zeros_like(surface.rest)
    turning = surface.object_of == 1
    moves[turning, 2] = -FAR * surface.rest[turning, 0]
    found = limit.approach(surface.rest, moves).step_size
    # Its end goes by all of it, its part above the block by seven tenths at least.
    assert GAP + HALF * SIDE <= found * FAR <= (GAP + HALF * SIDE) / 0.7 + GAP


def two_fingers() -> TetMesh:
    """A block with a slot, 2 cm wide, between two fingers of 4 cm."""
    whole = block((5, 1, 4), (0.1, 0.04, 0.2), (0.0, 0.0, 0.0))
    centres = whole.vertices[whole.tets].mean(axis=1)
    slot = (abs(centres[:, 0] - 0.05) < 0.01) & (centres[:, 2] > 0.05)
    return TetMesh(whole.vertices, whole.tets[~slot])


def test_a_thin_part_counts_by_half_the_thickness_of_its_body() -> None:
    """A fin bends around what it meets, and pulls its body back."""
    block_with_fin = block((8, 4, 4), (0.8, 0.2, 0.2))
    places = block_with_fin.vertices - np.array([0.4, 0.1, 0.0])
    is_fin = places[:, 0] > 0.05
    places[is_fin, 2] *= 0.1
    over_the_fin = cube(SIDE + GAP, (0.1, 0.1, SIDE)).vertices + np.array([0.3, 0.0, -0.9 * SIDE])
    obstacle = cube().with_vertices(over_the_fin)
    found = share([block_with_fin.with_vertices(places), obstacle], [STILL, DOWN])
    assert found == pytest.approx((GAP + HALF * 0.5 * SIDE) / FAR, rel=0.1)


def test_parts_of_one_body_count_where_they_are_asked_for() -> None:
    mesh = two_fingers()
    surface, limit = limit_of([mesh])
    moves = np.zeros_like(surface.rest)
    right = (surface.rest[:, 0] > 0.055) & (surface.rest[:, 2] > 0.1)
    moves[right, 0] = -FAR
    assert limit.approach(surface.rest, moves).step_size == 1.0
    found = limit.approach(surface.rest, moves, within_pieces=True)
    assert found.step_size * FAR == pytest.approx(0.02 + HALF * 0.04, rel=0.5)
    # As a whole it turns and goes wherever it likes.
    turned = surface.rest[:, [1, 0, 2]] * [1.0, -1.0, 1.0] * 5.0 + DOWN
    assert limit.approach(surface.rest, turned, within_pieces=True).step_size == 1.0
    surface, limit = limit_of([mesh], self_contact=False)
    assert limit.approach(surface.rest, moves, within_pieces=True).step_size == 1.0


def test_a_body_alone_and_bodies_that_do_not_touch_are_free() -> None:
    assert share([cube()], [DOWN]) == 1.0
    colliders = [sheet(0.3, -GAP), sheet(0.3, -2.0 * GAP)]
    assert share([cube()], [STILL, DOWN, STILL], colliders) == 1.0


def predicted(
    surface: CollisionSurface, moves: np.ndarray, seconds: float = 0.1
) -> PredictedMotion:
    """Objects that move as a whole, whose forces do nothing."""
    displacements, zero = moves[surface.object_of], np.zeros_like(surface.rest)
    velocities = displacements / seconds
    visible = np.zeros(len(surface.names))
    return PredictedMotion(
        surface.rest, displacements, (velocities, velocities), zero, zero, visible
    )


@pytest.mark.parametrize("cells", [1, 12])
def test_the_first_collision_is_when_faces_meet_at_their_closing_speed(cells) -> None:
    """However many triangles the faces have."""
    surface, limit = limit_of([cube(cells=cells), cube(SIDE + GAP, cells=cells)])
    moves = np.array([STILL, 2.0 * DOWN])
    found = limit.first_collision(predicted(surface, moves))
    assert found is not None
    assert sorted(found.objects) == [0, 1]
    assert found.fraction == pytest.approx(GAP / 2.0, rel=1e-9)
    assert found.speed == pytest.approx(2.0 * FAR / 0.1, rel=1e-9)
    if cells > 1:
        everything = limit._collisions(surface.rest, moves[surface.object_of])[0]
        # Those of one face collide with most of the other: more than there is room for at first.
        assert len(everything) > cells**4 > COLLISIONS


@pytest.mark.parametrize("moves", [[STILL, -DOWN], [DOWN, DOWN], [STILL, [FAR, 0.0, 0.0]]])
def test_what_parts_or_slides_does_not_collide(moves) -> None:
    surface, limit = limit_of([cube(), cube(SIDE + GAP)])
    assert limit.first_collision(predicted(surface, np.asarray(moves, dtype=float))) is None


def test_of_several_collisions_the_first_counts() -> None:
    surface, limit = limit_of([cube(), cube(SIDE + GAP), cube(-SIDE - 3.0 * GAP)])
    moves = np.array([STILL, DOWN, -DOWN])
    found = limit.first_collision(predicted(surface, moves))
    assert found is not None
    assert sorted(found.objects) == [0, 1]
    assert found.fraction == pytest.approx(GAP, rel=1e-9)
