# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from supple.core import Contact, Ground, Scene, SceneError, Simulator, SoftBody
from supple.core.adjoint import Key, follow_keys
from supple.core.adjoint.follow_keys import LeastControl, LeastControlSearch
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.verification.meshes import block

CUBE = block((1, 1, 1), (0.1, 0.1, 0.1), (0.0, 0.0, 0.5))
BAR = block((3, 1, 1), (0.3, 0.1, 0.1))
HELD = np.flatnonzero(BAR.vertices[:, 0] < 1e-9)
STEP = 1.0 / 24.0
EXACT: dict[str, Any] = {"integrator": ImplicitEuler(tolerance=1e-9), "substeps": 1}
AWAY = np.array([0.05, -0.02, 0.03])


def thrown() -> Scene:
    return Scene([SoftBody(CUBE, StableNeoHookean(2e4), velocity=(1.0, 0.2, 2.0))])


def shown(scene: Scene, frames: int) -> list[np.ndarray]:
    run = Simulator(scene, EXACT["integrator"], substeps=1, device="cpu").run(frames)
    return [frame.positions[0].numpy() for frame in run]


def test_keys_on_the_way_of_a_throw_need_no_force() -> None:
    way = shown(thrown(), 4)
    found = follow_keys(thrown(), [Key(2, way[1]), Key(4, way[3])], **EXACT)
    assert found.follows and found.effort == 0.0 and found.runs == 1


@pytest.mark.parametrize("keyed", [(4,), (2, 4)])
def test_keys_off_the_way_need_the_least_force_of_a_particle(keyed: tuple[int, ...]) -> None:
    """After n steps the accelerations a have moved it by h² Σ (n − k + 1) a."""
    way = shown(thrown(), 4)
    keys = [Key(frame, way[frame - 1] + AWAY * np.sin(frame)) for frame in keyed]
    found = follow_keys(thrown(), keys, tolerance=1e-7, **EXACT)
    times = np.arange(5)
    rows = np.array([STEP**2 * np.where(times, np.maximum(n - times + 1, 0), 0) for n in keyed])
    least = np.linalg.pinv(rows) @ np.array([AWAY * np.sin(frame) for frame in keyed])
    assert found.follows
    np.testing.assert_allclose(found.accelerations, np.tile(least[:, None], (1, 8, 1)), atol=1e-2)
    assert found.effort == pytest.approx(np.sqrt((least**2).sum() / 4), rel=1e-4)
    again = shown(found.scene, 6)
    for key in keys:
        np.testing.assert_allclose(again[key.frame - 1], key.positions, atol=1e-6)
    # Nothing drives it after the last key but the last of what fades.
    np.testing.assert_allclose(found.scene.bodies[0].accelerations.at(5), 0.0)


def test_pins_pass_through_keys_with_the_least_accelerations() -> None:
    scene = Scene([SoftBody(BAR, StableNeoHookean(5e4), pinned=HELD)])
    found = follow_keys(
        scene, [Key(3, BAR.vertices[HELD] + AWAY, HELD)], by="pins", tolerance=1e-7, **EXACT
    )
    times = np.arange(4)
    row = STEP**2 * np.where(times, 4 - times, 0.0)
    expected = row[:, None] * AWAY / (row @ row)
    np.testing.assert_allclose(
        found.accelerations, np.tile(expected[:, None], (1, 4, 1)), rtol=1e-5
    )
    path = found.scene.bodies[0].pin_path
    assert path is not None
    np.testing.assert_allclose(path.at(3), BAR.vertices[HELD] + AWAY, atol=1e-6)


@pytest.mark.parametrize("by", ["pins", "forces"])
def test_a_corner_is_brought_through_keys(by: Any) -> None:
    scene = Scene([SoftBody(BAR, StableNeoHookean(2e5), pinned=HELD)])
    corner = [int(np.argmax(BAR.vertices.sum(1)))]
    there, aside = BAR.vertices[corner], np.array([0.0, 0.01, 0.0])
    keys = [Key(frame, there + frame * aside, corner) for frame in (2, 4)]
    found = follow_keys(scene, keys, by=by)
    assert found.follows and found.effort > 0.0 and found.runs < 40
    frames = [*Simulator(found.scene, device="cpu").run(4)]
    for key in keys:
        off = frames[key.frame - 1].positions[0].numpy()[corner] - key.positions
        assert np.linalg.norm(off) < 1.01e-2 * np.linalg.norm([0.3, 0.1, 0.1])


def test_keys_above_a_ground_that_it_would_fall_on_need_the_force_of_free_flight() -> None:
    """Without any force it has landed when the keys come, and sticks where it is."""
    low = block((1, 1, 1), (0.1, 0.1, 0.1), (0.0, 0.0, 0.05))
    keys = [Key(k, low.vertices + np.array([0.03 * k, 0.0, 0.01 * k])) for k in (4, 8)]
    body = SoftBody(low, StableNeoHookean(2e4))
    free = follow_keys(Scene([body]), keys, tolerance=1e-4, **EXACT)
    scene = Scene([body], ground=Ground(), contact=Contact())
    found = follow_keys(scene, keys, tolerance=1e-4, **EXACT)
    assert free.follows and found.follows
    assert found.effort == pytest.approx(free.effort, rel=1e-2)
    assert found.runs < 2 * free.runs + 20


def test_what_the_ground_holds_already_needs_no_force() -> None:
    low = block((1, 1, 1), (0.1, 0.1, 0.1), (0.0, 0.0, 0.005))
    scene = Scene([SoftBody(low, StableNeoHookean(2e4))], ground=Ground())
    found = follow_keys(scene, [Key(4, shown(scene, 4)[3])], **EXACT)
    assert found.follows and found.effort == 0.0 and found.runs == 2


def test_keys_that_no_force_reaches_are_said() -> None:
    scene = Scene([SoftBody(BAR, StableNeoHookean(5e4), pinned=HELD)])
    found = follow_keys(scene, [Key(2, BAR.vertices[HELD] + AWAY, HELD)])
    assert not found.follows
    assert found.distance == pytest.approx(np.linalg.norm(AWAY), rel=1e-6)


def test_keys_are_checked() -> None:
    for key, what in (
        (Key(0, CUBE.vertices), "frame 1 or later"),
        (Key(1, CUBE.vertices, [0]), r"\(1, 3\) positions"),
        (Key(1, [[0.0, np.nan, 0.0]], [0]), "not finite"),
        (Key(1, [[0.0, 0.0, 0.0]], [8]), "from 0 to 7"),
    ):
        with pytest.raises(SceneError, match=what):
            follow_keys(thrown(), [key])
    with pytest.raises(SceneError, match="no keys"):
        follow_keys(thrown(), [])
    keys = [Key(1, CUBE.vertices)]
    wrong: Any
    for wrong, what in (
        ({"by": "pins"}, "no pins to move"),
        ({"by": "force"}, "must be one of forces, pins, not 'force'"),
        ({"tolerance": 0.0}, "tolerance of keys in metres must be above 0"),
        ({"body": 1}, "There is no body 1; the scene has 1"),
    ):
        with pytest.raises(SceneError, match=what):
            follow_keys(thrown(), keys, **wrong)


WANTED = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)


class Known:
    """A problem of three numbers that the control brings to their targets, and a fourth that
    none moves."""

    def __init__(self, stuck: float) -> None:
        self._stuck = torch.tensor([stuck], dtype=torch.float64)

    def residual(self, control: Tensor) -> Tensor:
        return torch.cat([control + 0.05 * control**2 - WANTED, self._stuck])

    def linearized(self, control: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
        return self.residual(control), lambda w: (1.0 + 0.1 * control) * w[:3]


def found(stuck: float) -> LeastControl:
    def excess(residual: Tensor) -> float:
        return float(residual.norm()) / 0.01

    search = LeastControlSearch(Known(stuck), excess, 1e-4, 200, lambda *heard: None)
    return search.minimized(torch.zeros(3, dtype=torch.float64))


def test_what_can_be_reached_is() -> None:
    assert float(found(0.0).residual.norm()) <= 0.01


def test_what_is_out_of_reach_is_given_up_where_more_weight_promises_nothing() -> None:
    near, far = found(0.0), found(0.5)
    assert 0.5 <= float(far.residual.norm()) < 0.51
    # Three weights more are tried without that.
    assert far.runs <= near.runs
