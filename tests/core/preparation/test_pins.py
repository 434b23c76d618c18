# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins: their paths on tets, and jumps beside fast moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from supple.core import embed
from supple.core.preparation.pins import PinJump, pin_jumps, pinned_tet_vertices
from supple.core.scene.channel import Channel
from supple.core.scene.contact_settings import Collider
from supple.core.scene.goals import Goals
from supple.core.scene.scene import Scene
from supple.core.scene.skin import Skin, SurfaceMesh
from supple.core.scene.soft_body import SoftBody
from supple.core.scene.stitches import Release

CUBE = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])
FACES = np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]])
PINS = np.array([0, 1, 2, 3])
COUNT = 13
WALL = np.array([[3.0, -9, -9], [3.0, 9, -9], [3.0, 9, 9], [3.0, -9, 9]])


def _moved(places: np.ndarray) -> np.ndarray:
    """The (T, P, 3) places of pins that (T, 3) offsets carry along."""
    return CUBE[PINS] + places[:, None]


def _jumps(
    path: np.ndarray, per_frame: int = 1, wall: bool = False, **settings: Any
) -> list[PinJump]:
    skin = Skin(CUBE, PINS, Channel(path, per_frame))
    body = SoftBody(SurfaceMesh(CUBE, FACES), name="Cube", skin=skin, **settings)
    colliders = [Collider(Channel(WALL[None]), [[0, 1, 2], [0, 2, 3]], name="Wall")]
    return pin_jumps(Scene([body], None, colliders=colliders if wall else []))


def _steps(*sizes: float) -> np.ndarray:
    """(T, 3) places along x, with steps of these sizes."""
    return np.stack([np.array([x, 0.0, 0.0]) for x in np.cumsum([0.0, *sizes])])


def _turned(angles: np.ndarray) -> np.ndarray:
    c, s = np.cos(angles), np.sin(angles)
    points = CUBE[PINS] - CUBE[PINS].mean(axis=0)
    y = c[:, None] * points[:, 1] - s[:, None] * points[:, 2]
    z = s[:, None] * points[:, 1] + c[:, None] * points[:, 2]
    return np.stack([np.broadcast_to(points[:, 0], y.shape), y, z], axis=2)


@pytest.mark.parametrize("frame", [1, 6, 12])
def test_a_jump_within_a_frame_is_found_with_its_frame_and_length(frame):
    steps = np.full(COUNT - 1, 0.1)
    steps[frame - 1] = 5.1
    (jump,) = _jumps(_moved(_steps(*steps)))
    assert (jump.body, jump.frame, jump.turns) == ("Cube", frame, False)
    assert jump.distance == pytest.approx(5.0)


def test_a_jump_of_a_run_of_one_frame_is_found():
    (jump,) = _jumps(_moved(_steps(5.0)))
    assert jump.frame == 1
    assert jump.distance == pytest.approx(5.0)


def test_to_and_fro_are_two_jumps():
    steps = [*[0.0] * 5, 5.0, *[0.0] * 3, -5.0, *[0.0] * 5]
    assert [jump.frame for jump in _jumps(_moved(_steps(*steps)))] == [6, 10]


@pytest.mark.parametrize(
    "steps",
    [
        [1.25] * 12,  # 30 m/s
        list(0.2 * np.arange(12)),
        [0.0] * 6 + [1.25] * 6,
        [0.9 * np.sin(k / 2) for k in range(12)],
    ],
)
def test_fast_motion_is_no_jump(steps):
    assert _jumps(_moved(_steps(*steps))) == []


def test_half_a_turn_within_a_frame_is_found():
    angles = np.zeros(COUNT)
    angles[5:] = np.pi
    (jump,) = _jumps(_turned(angles))
    assert (jump.frame, jump.turns) == (5, True)
    assert np.degrees(jump.angle) == pytest.approx(180.0)


def test_a_steady_spin_is_no_jump_unless_nobody_can_tell_its_sense():
    assert _jumps(_turned(np.radians(40.0) * np.arange(COUNT))) == []
    assert len(_jumps(_turned(np.radians(170.0) * np.arange(COUNT)))) == COUNT - 1
    # Between its samples it is clear.
    finer = np.radians(17.0) * np.arange(10 * COUNT - 9)
    assert _jumps(_turned(finer), per_frame=10) == []


@pytest.mark.parametrize("count", [1, 2])
def test_pins_on_a_line_do_not_turn_about_it(count):
    path = _turned(np.linspace(0.0, 0.5, COUNT))[:, :count]
    skin = Skin(CUBE, PINS[:count], Channel(path))
    body = SoftBody(SurfaceMesh(CUBE, FACES), name="Cube", skin=skin)
    assert pin_jumps(Scene([body], None)) == []


def test_a_small_jump_counts_where_it_passes_through_a_wall():
    steps = [*[0.2] * 12, 0.7, *[0.0] * 6]
    path = _moved(_steps(*steps))
    assert _jumps(path) == []
    (jump,) = _jumps(path, wall=True)
    assert (jump.frame, jump.through) == (13, "Wall")
    assert _jumps(path - [9.0, 0.0, 0.0], wall=True) == []


def test_goals_jump_as_pins_do_and_what_has_let_go_does_not():
    path = _moved(_steps(*[0.0] * 6, 5.0, *[0.0] * 6))
    skin = Skin(CUBE, goals=Goals(PINS, Channel(path)))
    body = SoftBody(SurfaceMesh(CUBE, FACES), name="Cube", skin=skin)
    assert [jump.frame for jump in pin_jumps(Scene([body], None))] == [7]
    assert _jumps(path, release=Release(3)) == []
    assert len(_jumps(path, release=Release(9))) == 1


def test_what_carries_a_pinned_point_is_pinned_and_nothing_else(make_block) -> None:
    mesh = make_block((2, 2, 2))
    corners = mesh.vertices[mesh.tets[5]]
    points = np.array(
        [corners[2], corners[:2].mean(axis=0), corners[1:].mean(axis=0), corners.mean(axis=0)]
    )
    embedding = embed(mesh, points)
    for point, count in enumerate((1, 2, 3, 4)):
        pinned = pinned_tet_vertices(embedding, np.array([point], dtype=np.int32))
        assert len(pinned) == count
        assert set(pinned) <= set(mesh.tets[5])
        rest = np.delete(np.arange(len(mesh.vertices)), pinned)
        moved = mesh.vertices.copy()
        moved[rest] += np.random.default_rng(1).normal(size=(len(rest), 3))
        np.testing.assert_allclose(embedding.interpolate(moved)[point], points[point], atol=1e-12)
