# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins and colliders that move where something is in the way."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Collider, Contact, Ground, Scene, Simulator, SoftBody
from supple.core.integrators import ImplicitEuler
from supple.core.integrators.implicit_stepper import ImplicitStepper
from supple.core.materials import StableNeoHookean
from supple.core.minimizers import prescribed_motion
from supple.core.minimizers.newton import Newton
from supple.core.potentials import TimeStep
from supple.tests.core.touching import check_apart, checked, contact_of, plate
from supple.verification.meshes import block

pytest.importorskip("ipctk")

SOFT = StableNeoHookean(1e5, 0.3)
REACH = 0.02


def simulated(body: SoftBody, *colliders: Collider) -> Simulator:
    contact = Contact(distance=REACH)
    scene = Scene([body], colliders=list(colliders), contact=contact, gravity=(0.0, 0.0, 0.0))
    return Simulator(scene)


def upward(*heights: float) -> np.ndarray:
    """(T, 3)."""
    return np.array([[0.0, 0.0, height] for height in heights])


def moved_block(path: np.ndarray, pinned: np.ndarray | None = None) -> SoftBody:
    """A block whose lowest vertices, or others, are pinned and moved by (T, 3) offsets."""
    mesh = block((2, 2, 2))
    if pinned is None:
        pinned = np.flatnonzero(mesh.vertices[:, 2] == 0.0)
    moved = mesh.vertices[pinned] + path[:, None]
    return SoftBody(mesh, SOFT, pinned=pinned, pin_path=moved, name="Jelly")


def colliders_now(simulator: Simulator) -> np.ndarray:
    """(C, 3)."""
    assert simulator.state.colliders is not None
    return simulator.state.colliders


def surface_vertices() -> np.ndarray:
    return np.unique(block((2, 2, 2)).surface)


# What makes way


def test_a_plate_that_moves_far_in_a_frame_pushes_a_free_block_ahead_of_it() -> None:
    offsets = upward(0.0, 0.3, 0.6)
    simulator = simulated(SoftBody(block((2, 2, 2)), SOFT), plate(-0.1, frames=offsets))
    for frame in checked(simulator, 3):
        # Fifteen times its reach in a frame, and it is all there.
        reached = offsets[min(frame.index, 2), 2] - 0.1
        np.testing.assert_allclose(colliders_now(simulator)[:, 2], reached, atol=1e-12)
        assert float(frame.positions[0][:, 2].min()) > reached
        assert frame.report.solver_statistics.blocked == ()
        assert frame.report.minimum_volume_ratio > 0.0


def test_two_plates_squeeze_a_block() -> None:
    press = plate(1.03, frames=upward(*np.linspace(0.0, -0.4, 5)), name="Press")
    simulator = simulated(SoftBody(block((2, 2, 2)), SOFT), plate(-0.03), press)
    for frame in checked(simulator, 5):
        assert frame.report.solver_statistics.blocked == ()
        heights = frame.positions[0][:, 2]
        assert -0.03 < float(heights.min()) < float(heights.max())
        assert float(heights.max()) < 1.03 - 0.1 * min(frame.index, 4)
    assert float(frame.positions[0][:, :2].max()) > 1.02


def test_pins_press_a_block_against_a_plate() -> None:
    mesh = block((2, 2, 2))
    top = np.flatnonzero(mesh.vertices[:, 2] == 1.0)
    offsets = upward(0.0, -0.1, -0.2)
    simulator = simulated(moved_block(offsets, top), plate(-0.03))
    for frame in checked(simulator, 3):
        expected = mesh.vertices[top] + offsets[min(frame.index, 2)]
        np.testing.assert_array_equal(frame.positions[0][top], expected)
        assert frame.report.solver_statistics.blocked == ()


def test_free_vertices_follow_the_newton_predictor_beside_the_pins() -> None:
    simulator = simulated(moved_block(upward(0.0)), plate(-0.5))
    stepper = simulator.stepper
    assert isinstance(stepper, ImplicitStepper) and stepper._prescribed_motion is not None
    objective, motion, contact = (
        stepper._objective,
        stepper._prescribed_motion,
        contact_of(simulator),
    )
    start, displacement = simulator.state.positions, 1e-4
    pinned = ~objective.system.free
    contact.begin(None)
    objective.begin(TimeStep(start, start, 1.0 / 24.0, 1.0 / 24.0))
    motion._target = start + displacement * pinned * torch.tensor(
        [[1.0], [0.0], [0.0]], dtype=start.dtype
    )
    motion._collider_target = contact.colliders
    pushed, step_size = motion._advance_with_predictor(start)
    assert step_size == 1.0
    assert torch.equal(pushed[:, pinned], motion._target[:, pinned])
    expected = Newton(objective, 1e-8).minimize(pushed, 1e-10, 1.0 / 24.0, 20).positions
    assert float((expected - start)[0, ~pinned].min()) > 0.02 * displacement
    # As exactly as linear solves are.
    assert float((pushed - expected).abs().max()) < 0.1 * displacement


# What nothing is in the way of


@pytest.mark.parametrize("substeps", [1, 3])
def test_pins_are_exactly_where_their_motion_is_prescribed(substeps: int) -> None:
    offsets = upward(0.0, 0.137, 0.331, 0.9)
    body = moved_block(offsets)
    path = body.pin_path
    assert path is not None
    scene = Scene([body], colliders=[plate(-0.5)], contact=Contact(distance=REACH))
    simulator = Simulator(scene, substeps=substeps)
    for frame in simulator.run(4):
        check_apart(simulator)
        expected = path.at(frame.index)
        np.testing.assert_array_equal(frame.positions[0][body.pinned], expected)
        assert frame.report.solver_statistics.blocked == ()


def test_colliders_go_on_however_far_where_nothing_is_in_the_way() -> None:
    offsets = np.array([[0.0, 0, 0], [100.0, 0, 0], [100.0, 0, 50.0]])
    simulator = simulated(SoftBody(block((1, 1, 1)), SOFT), plate(-0.1, frames=offsets))
    for frame in checked(simulator, 2):
        expected = simulator.scene.meshes[0].at(frame.index)
        np.testing.assert_array_equal(simulator.state.colliders, expected)
        np.testing.assert_allclose(frame.positions[0], block((1, 1, 1)).vertices, atol=1e-9)


def test_where_a_collider_was_is_free_once_it_has_gone() -> None:
    body = SoftBody(block((1, 1, 1)), SOFT, velocity=(0.0, 0.0, -12.0))
    simulator = simulated(body, plate(-0.1, frames=upward(0.0, -3.0, -3.0)))
    for frame in checked(simulator, 3):
        assert frame.report.solver_statistics.blocked == ()
        np.testing.assert_allclose(frame.positions[0][:, 2].min(), -0.5 * frame.index, atol=1e-6)


# What cannot make way


@pytest.mark.parametrize("which", ["a corner", "a side"])
def test_pins_that_move_through_a_still_collider_are_blocked_and_named(which: str) -> None:
    offsets = upward(0.0, -0.5, -1.0, -1.5)
    body = moved_block(offsets, np.array([0]) if which == "a corner" else None)
    simulator = simulated(body, plate(-0.53, name="Table"))
    messages = []
    for frame in checked(simulator, 5):
        messages.append(frame.report.solver_statistics.blocked)
        assert float(frame.positions[0][:, 2].min()) > -0.53
    assert messages[0] == ()
    assert messages[1:] == [("the pins of Jelly: Table is in the way",)] * 4
    assert float(frame.positions[0][body.pinned, 2].min()) < -0.5


def test_a_collider_that_hits_a_body_pinned_all_around_is_blocked_and_named() -> None:
    body = SoftBody(block((2, 2, 2)), SOFT, pinned=surface_vertices(), name="Jelly")
    press = plate(1.5, frames=upward(0.0, -1.0, -2.0, 0.0), name="Press")
    simulator = simulated(body, press)
    messages, heights = [], []
    for frame in checked(simulator, 3):
        messages.append(frame.report.solver_statistics.blocked)
        heights.append(float(colliders_now(simulator)[:, 2].min()))
        np.testing.assert_array_equal(
            frame.positions[0][body.pinned], body.mesh.vertices[body.pinned]
        )
    assert messages == [("Press: Jelly is in the way",)] * 2 + [()]
    assert 1.0 < heights[1] <= heights[0] < 1.0 + REACH
    # Free again, it goes back to where it is seen.
    assert heights[2] == 1.5


def test_what_stands_still_is_not_named_as_blocked() -> None:
    body = SoftBody(block((2, 2, 2)), SOFT, pinned=surface_vertices(), name="Jelly")
    table = plate(-0.5 * REACH, name="Table")
    press = plate(1.5, frames=upward(0.0, -1.0), name="Press")
    (frame,) = checked(simulated(body, table, press), 1)
    assert frame.report.solver_statistics.blocked == ("Press: Jelly is in the way",)


def test_a_motion_that_takes_too_many_steps_is_ended_and_named(monkeypatch) -> None:
    monkeypatch.setattr(prescribed_motion, "MAX_NEWTON_STEPS", 2)
    lift = plate(-0.1, frames=upward(0.0, 0.6), name="Lift")
    simulator = simulated(SoftBody(block((2, 2, 2)), SOFT), lift)
    (frame,) = checked(simulator, 1)
    assert frame.report.solver_statistics.blocked == (
        "Lift: the bodies it presses cannot move aside",
    )
    reached = float(colliders_now(simulator)[0, 2])
    assert -0.1 < reached < 0.5
    assert float(frame.positions[0][:, 2].min()) > reached


def test_what_is_blocked_is_named_in_the_frame_that_blocks_it() -> None:
    simulator = simulated(moved_block(upward(0.0, -1.0)), plate(-0.53, name="Table"))
    (frame,) = simulator.run(1)
    assert frame.report.solver_statistics.blocked == ("the pins of Jelly: Table is in the way",)
    assert contact_of(simulator).limited_steps > 0
    assert float(frame.positions[0][:, 2].min()) >= -0.53


def test_a_step_that_ends_on_the_ground_is_halved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The barrier is infinite there, and nothing after it would have a gradient."""
    mesh = block((1, 1, 1), origin=(0.0, 0.0, 0.5))
    scene = Scene([SoftBody(mesh, SOFT)], Ground(), contact=Contact(distance=REACH))
    stepper = Simulator(scene, ImplicitEuler()).stepper
    assert isinstance(stepper, ImplicitStepper) and stepper._prescribed_motion is not None
    motion = stepper._prescribed_motion
    positions = torch.from_numpy(mesh.vertices.T.copy())
    motion._target, motion._collider_target = positions, np.empty((0, 3))
    motion._contact.begin(None)
    down = torch.zeros_like(positions)
    down[2] = -0.5
    monkeypatch.setattr(motion._objective.paths, "max_step", lambda *_: 1.0)
    after, step_size = motion._move(positions, down, np.empty((0, 3)))
    assert step_size == 0.5
    assert after[2].min() == pytest.approx(0.25)
    assert np.isfinite(motion._objective.energy_without_contact(after))


@pytest.mark.parametrize(("free_part", "moves"), [(0.5, True), (2e-6, True), (5e-7, False)])
def test_a_step_too_short_to_be_seen_is_not_taken(
    free_part: float, moves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    mesh = block((1, 1, 1), origin=(0.0, 0.0, 0.5))
    stepper = Simulator(Scene([SoftBody(mesh, SOFT)], contact=Contact()), ImplicitEuler()).stepper
    assert isinstance(stepper, ImplicitStepper) and stepper._prescribed_motion is not None
    motion = stepper._prescribed_motion
    positions = torch.from_numpy(mesh.vertices.T.copy())
    motion._target, motion._collider_target = positions, np.empty((0, 3))
    motion._contact.begin(None)
    monkeypatch.setattr(motion._contact, "collision_free_step_size", lambda *_: free_part)
    after, step_size = motion._move(positions, torch.ones_like(positions), np.empty((0, 3)))
    assert step_size == (free_part if moves else 0.0)
    assert bool((after != positions).any()) == moves
