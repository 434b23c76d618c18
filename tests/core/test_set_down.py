# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies go along where their pins jump, whatever takes the steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from supple.core import Collider, Contact, Ground, Scene, Simulator, SoftBody
from supple.core.integrators import BDF2, Automatic, ImplicitEuler, Integrator, SymplecticEuler
from supple.core.materials import StableNeoHookean
from supple.core.scene.channel import Channel
from supple.core.set_down import SetDown

FRAMES, JUMP, SIZE = 8, 4, (0.9, 0.3, 0.3)
STEPPERS = [SymplecticEuler(), ImplicitEuler(), BDF2(), Automatic()]
QUARTER = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
BOX_FACES = [
    *([0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1]),
    *([2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]),
]


def _box(low: tuple[float, ...], high: tuple[float, ...]) -> Collider:
    corners = [[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    at = np.array(low) + np.array(corners) * (np.array(high) - np.array(low))
    return Collider(Channel(at[None]), BOX_FACES, name="Box")


def _scene(
    make_block: Any,
    turn: np.ndarray,
    shift: tuple[float, ...],
    only_some: bool = False,
    **more: Any,
) -> Scene:
    """A bar that hangs on one end, which jumps."""
    mesh = make_block((6, 2, 2), SIZE, (0.0, 0.0, 1.0))
    pinned = np.flatnonzero(mesh.vertices[:, 0] < 1e-9)
    ends = mesh.vertices[pinned]
    there = ends @ turn.T + np.array(shift)
    if only_some:
        there[: len(there) // 2] = ends[: len(there) // 2]
    path = Channel(np.stack([ends] * JUMP + [there] * (FRAMES + 1 - JUMP)))
    material = StableNeoHookean(1e5, 0.3)
    body = SoftBody(mesh, material, damping=0.5, pinned=pinned, pin_path=path)
    return Scene([body], **more)


def _last(scene: Scene, integrator: Integrator) -> np.ndarray:
    *_, last = Simulator(scene, integrator).run(FRAMES)
    return last.positions[0].numpy()


@pytest.mark.parametrize("integrator", STEPPERS, ids=repr)
@pytest.mark.parametrize(
    ("turn", "shift"),
    [
        (np.eye(3), (5.0, 0.0, 0.0)),
        (QUARTER @ QUARTER, (0.0, 0.0, 0.0)),
        (QUARTER, (0.0, 2.0, 0.0)),
    ],
    ids=["far away", "half a turn", "both"],
)
def test_a_body_goes_on_where_its_pins_have_jumped_as_it_would_have(
    make_block, integrator, turn, shift
) -> None:
    stayed = _last(_scene(make_block, np.eye(3), (0.0, 0.0, 0.0)), integrator)
    jumped = _last(_scene(make_block, turn, shift), integrator)
    # Both searches end within their tolerance.
    np.testing.assert_allclose(jumped, stayed @ turn.T + np.array(shift), atol=2e-4)


def test_a_jump_through_a_wall_is_one_to_behind_it(make_block) -> None:
    wall, shift = _box((-3.0, 1.0, -3.0), (3.0, 1.2, 3.0)), (0.0, 3.0, 0.0)
    free = _last(_scene(make_block, np.eye(3), shift), Automatic())
    scene = _scene(make_block, np.eye(3), shift, colliders=[wall], contact=Contact())
    np.testing.assert_allclose(_last(scene, Automatic()), free, atol=2e-4)


@pytest.mark.parametrize(
    "case",
    [
        {"only_some": True},
        {"colliders": [_box((0.1, 2.9, 0.5), (0.8, 3.5, 1.5))], "contact": Contact()},
        {"ground": Ground(height=0.9), "shift": (0.0, 3.0, -0.5)},
    ],
    ids=["pins do not jump as one", "something is there", "it is below the ground"],
)
def test_a_body_is_not_set_down_where_it_cannot_be(make_block, case) -> None:
    case = {"shift": (0.0, 3.0, 0.0), **case}
    simulator = Simulator(_scene(make_block, np.eye(3), **case), ImplicitEuler())
    for _ in simulator.run(JUMP - 1):
        pass
    before = simulator.state
    assert SetDown(simulator.system).begin_frame(before) is before


def test_no_other_frame_is_changed(make_block) -> None:
    simulator = Simulator(_scene(make_block, np.eye(3), (5.0, 0.0, 0.0)), ImplicitEuler())
    changed = []
    for _ in range(FRAMES):
        before = simulator.state
        after = SetDown(simulator.system).begin_frame(before)
        changed.append(not torch.equal(before.positions, after.positions))
        list(simulator.run(1))
    assert changed == [frame == JUMP - 1 for frame in range(FRAMES)]
