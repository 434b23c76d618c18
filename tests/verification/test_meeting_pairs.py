# SPDX-License-Identifier: GPL-3.0-or-later
"""The check of accepted moves finds what passes through, and only that."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from supple.core import Collider, Contact, Scene, Simulator, SoftBody
from supple.core.integrators import ImplicitEuler, SymplecticEuler
from supple.core.materials import StableNeoHookean
from supple.core.potentials.contact.surface import CollisionSurface
from supple.verification.meeting_pairs import MeetingPairsError, MoveCheck, checked_moves
from supple.verification.meshes import block

SIZE = 0.1


def two_blocks(gap: float) -> tuple[CollisionSurface, np.ndarray]:
    """Two blocks above each other, and the (V, 3) vertices of their surface."""
    meshes = [block((1, 1, 1), (SIZE,) * 3, (0.0, 0.0, k * (SIZE + gap))) for k in range(2)]
    material = StableNeoHookean(1e4, 0.4)
    bodies = [SoftBody(mesh, material, name=f"block {k}") for k, mesh in enumerate(meshes)]
    surface = CollisionSurface(Scene(bodies, contact=Contact()), meshes)
    return surface, surface.rest.copy()


def moved(points: np.ndarray, way: tuple[float, float, float]) -> np.ndarray:
    """The upper block moved."""
    after = points.copy()
    after[len(points) // 2 :] += way
    return after


@pytest.mark.parametrize("speed", [0.01, 0.15, 3.0, 1000.0])
def test_a_block_that_goes_into_another_or_through_it_is_found(speed) -> None:
    surface, points = two_blocks(1e-3)
    with pytest.raises(MeetingPairsError, match=r"of 'block [01]' and .* of 'block [01]'"):
        MoveCheck()(surface, points, moved(points, (0.01, 0.02, -speed)))


@pytest.mark.parametrize("way", [(3.0, 1.0, 0.0), (0.0, 0.0, 5.0), (0.3, 0.0, -0.9e-9)])
def test_a_block_that_slides_along_another_or_leaves_it_is_free(way) -> None:
    surface, points = two_blocks(1e-9)
    check = MoveCheck()
    check(surface, points, moved(points, way))
    assert check.moves == 1
    assert check.pairs > 0


def test_blocks_that_move_together_are_free() -> None:
    surface, points = two_blocks(1e-9)
    MoveCheck()(surface, points, points + np.array([100.0, 20.0, -70.0]))


def test_all_pairs_whose_swept_boxes_overlap_are_followed() -> None:
    surface, points = two_blocks(0.02)
    points = points + np.array([-0.4, 0.3, 0.7])
    after = moved(points, (0.03, 0.01, -0.015))
    corners = [(vertex,) for vertex in range(len(points))]
    edges, faces = (list(map(tuple, part)) for part in (surface.edges, surface.triangles))

    def overlap(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
        first, second = (np.concatenate([points[list(k)], after[list(k)]]) for k in (one, other))
        lower, upper = (np.stack([f(first, 0), f(second, 0)]) for f in (np.min, np.max))
        return bool((lower.max(axis=0) <= upper.min(axis=0)).all()) and not set(one) & set(other)

    expected = sum(overlap(corner, face) for corner in corners for face in faces)
    expected += sum(overlap(*pair) for pair in itertools.combinations(edges, 2))
    check = MoveCheck()
    check(surface, points, after)
    assert check.pairs == expected > 50


@pytest.mark.parametrize("kind", [SymplecticEuler, ImplicitEuler])
def test_moves_of_a_simulation_are_checked(kind) -> None:
    body = SoftBody(block((1, 1, 1), (SIZE,) * 3, (0.0, 0.0, 1e-2)), StableNeoHookean(1e4, 0.4))
    floor = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    scene = Scene([body], colliders=[Collider(floor, [[0, 1, 2], [0, 2, 3]])], contact=Contact())
    with checked_moves() as check:
        list(Simulator(scene, kind()).run(3))
    assert check.moves >= 3
    assert check.pairs > 0
    with checked_moves() as other:
        pass
    assert other.moves == 0
