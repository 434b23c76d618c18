# SPDX-License-Identifier: GPL-3.0-or-later
"""Automatic from frame to frame: explicit where it can be, implicit where it has to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch

from supple.core import Collider, Ground, Scene, Simulator, SoftBody
from supple.core.integrators import SDIRK2, Automatic, SymplecticEuler
from supple.core.integrators.automatic import AutomaticStepper
from supple.core.integrators.contact_failures import DivergedStepError
from supple.core.integrators.integrator import TimeStepper
from supple.core.materials import StableNeoHookean
from supple.core.potentials.contact.surface import CollisionSurface
from supple.core.scene.contact_settings import Attachment, Contact
from supple.core.simulator import Frame
from supple.core.state import State
from supple.verification.exact_intersections import count_intersections
from supple.verification.meshes import block, irregular_block

SOFT = StableNeoHookean(1e4, 0.3)
EXPLICIT, IMPLICIT = "Symplectic Euler", "SDIRK2"
CLOSE = "surfaces are close"


def falling(gravity: float = -9.81, **options) -> Scene:
    """Two blocks of half a metre, one a little above the other, which lies on the ground."""
    lower = SoftBody(block((2, 2, 2), size=(0.5, 0.5, 0.5), origin=(0, 0, 0.01)), SOFT)
    upper = SoftBody(block((2, 2, 2), size=(0.5, 0.5, 0.5), origin=(0.05, 0.02, 0.7)), SOFT)
    options.setdefault("contact", Contact())
    return Scene([lower, upper], Ground(), gravity=(0.0, 0.0, gravity), **options)


def meeting(**options) -> Scene:
    """Two blocks in free space that hit each other and part again."""
    scene = falling(gravity=0.0, **options)
    speeds = ((0.0, 0.0, 1.0), (0.0, 0.0, -1.0))
    bodies = [replace(b, velocity=v) for b, v in zip(scene.bodies, speeds, strict=True)]
    return replace(scene, bodies=bodies, ground=None)


def checked(simulator: Simulator, frames: int) -> Iterator[Frame]:
    """Frames in which nothing intersects, by exact arithmetic."""
    surface = CollisionSurface(simulator.scene, simulator.system.meshes)
    count = len(simulator.scene.bodies)
    colliders = range(count, len(surface.names))
    excluded = {(i, j) for i in colliders for j in colliders if i <= j}
    for frame in simulator.run(frames):
        state = simulator.state
        points = surface.points(state.positions.numpy(), surface.colliders_in(state))
        assert count_intersections(points, surface.triangles, surface.object_of, excluded) == 0
        yield frame


def test_where_nothing_comes_close_frames_are_those_without_contact() -> None:
    body = SoftBody(block((3, 3, 3), origin=(0.0, 0.0, 0.1)), StableNeoHookean(5e4, 0.3))
    scene = Scene([body], Ground(), contact=Contact())
    with_contact, without = (
        Simulator(each, Automatic()) for each in (scene, replace(scene, contact=None))
    )
    for found, expected in zip(with_contact.run(30), without.run(30), strict=True):
        assert found.report.integrator == EXPLICIT
        assert torch.equal(found.positions[0], expected.positions[0])
        assert torch.equal(found.velocities[0], expected.velocities[0])


def test_bodies_fall_meet_and_part_in_explicit_steps() -> None:
    simulator = Simulator(meeting(), Automatic())
    frames = list(checked(simulator, 24))
    assert {frame.report.integrator for frame in frames} == {EXPLICIT}
    assert {frame.report.because for frame in frames} == {""}
    contacts = [frame.report.solver_statistics.contacts for frame in frames]
    assert contacts[0] == contacts[-1] == 0 < max(contacts)
    # More steps where they meet, and as before when they have parted.
    substeps = [frame.report.substeps for frame in frames]
    assert substeps[0] == substeps[-1] < substeps[contacts.index(max(contacts))]
    # One goes up again and the other down.
    assert frames[-1].velocities[1][:, 2].mean() > 0.0 > frames[-1].velocities[0][:, 2].mean()


def pressed() -> Scene:
    """Pins that come down on pins: nothing can make way."""
    lower, upper = block((1, 1, 1)), block((1, 1, 1), origin=(0.0, 0.0, 1.05))
    pinned = np.arange(7)
    down = upper.vertices[pinned] + np.array([[0.0, 0.0, -0.04 * k] for k in range(4)])[:, None]
    bodies = [
        SoftBody(lower, SOFT, pinned=pinned, name="Table"),
        SoftBody(upper, SOFT, pinned=pinned, pin_path=down, name="Press"),
    ]
    return Scene(bodies, gravity=(0.0, 0.0, 0.0), contact=Contact())


def test_what_nothing_can_make_way_for_is_taken_in_explicit_steps() -> None:
    frames = list(checked(Simulator(pressed(), Automatic()), 4))
    assert {frame.report.integrator for frame in frames} == {EXPLICIT}
    assert {frame.report.because for frame in frames} == {""}
    assert frames[-1].report.solver_statistics.blocked == (
        "the pins of Press: Table is in the way",
    )


def test_no_frame_is_taken_more_than_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    simulator = Simulator(meeting(), Automatic())
    stepper = simulator.stepper
    assert isinstance(stepper, AutomaticStepper) and stepper.with_contact is not None
    taken: list[tuple[int, int]] = []

    def observe(kind: int, each: TimeStepper) -> None:
        take = each._frame  # type: ignore[attr-defined]

        def frame(start: State) -> object:
            taken.append((kind, start.frame))
            return take(start)

        monkeypatch.setattr(each, "_frame", frame)

    observe(0, stepper._contact_free)
    observe(1, stepper.with_contact)
    frames = list(checked(simulator, 16))
    contacts = [frame.index - 1 for frame in frames if frame.report.solver_statistics.contacts]
    assert contacts
    assert len(taken) == len(set(taken))
    assert {frame for kind, frame in taken if kind == 1} >= set(contacts)


def test_a_frame_with_contact_that_diverges_is_tried_twice_and_then_calmed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    simulator = Simulator(meeting(), Automatic())
    stepper = simulator.stepper
    assert isinstance(stepper, AutomaticStepper) and stepper.with_contact is not None
    with_contact, tried = stepper.with_contact, []

    def diverge(start: State) -> None:
        tried.append((start.frame, start.substeps))
        raise DivergedStepError("explicit steps diverge")

    monkeypatch.setattr(with_contact, "_frame", diverge)
    frames = list(checked(simulator, 8))
    calm = [frame for frame in frames if frame.report.because]
    assert calm
    assert {frame.report.because for frame in calm} == {"explicit steps diverge"}
    assert {frame.report.integrator for frame in calm} == {"Implicit Euler"}
    # Bodies are so fast that a frame begins with twice the steps of bodies at rest.
    substeps = 2 * with_contact.substeps
    assert tried == [(frame.index - 1, n) for frame in calm for n in (substeps, 2 * substeps)]


def test_what_lies_on_something_does_not_try_explicit_steps_in_vain() -> None:
    scene = falling()
    for body in scene.bodies:
        body.material, body.damping = StableNeoHookean(1e5, 0.3), 4.0
    simulator = Simulator(scene, Automatic())
    frames = list(checked(simulator, 60))
    assert frames[0].report.integrator == EXPLICIT
    settled = frames[-15:]
    assert all(frame.report.solver_statistics.contacts > 0 for frame in settled)
    contact_free = simulator.stepper._contact_free  # type: ignore[attr-defined]
    contact_free.sampled_positions = []
    list(simulator.run(6))
    assert contact_free.sampled_positions == []


def test_what_lags_is_taken_with_contact() -> None:
    simulator = Simulator(pressed(), Automatic())
    list(simulator.run(4))
    stepper = simulator.stepper
    assert isinstance(stepper, AutomaticStepper)
    assert simulator.state.clocks is not None
    roomy = replace(simulator.state, clearance=1.0)
    assert not stepper._is_clear(roomy)
    assert stepper._is_clear(replace(roomy, clocks=None))


@pytest.mark.parametrize("saved_after", [1, 4, 6, 9, 14])
def test_a_saved_state_goes_on_to_the_same_bits(saved_after: int) -> None:
    whole, resumed = (Simulator(meeting(), Automatic()) for _ in range(2))
    list(whole.run(saved_after))
    arrays = {name: values.copy() for name, values in whole.state.to_arrays().items()}
    expected = list(whole.run(10))
    resumed.state = resumed.state.restored(saved_after, arrays)
    for mine, own in zip(resumed.run(10), expected, strict=True):
        assert (mine.report.integrator, mine.report.because, mine.report.substeps) == (
            own.report.integrator,
            own.report.because,
            own.report.substeps,
        )
        assert torch.equal(torch.cat(mine.positions), torch.cat(own.positions))
    assert {frame.report.integrator for frame in expected} >= {EXPLICIT}


def test_a_collider_that_comes_fast_is_met() -> None:
    corners = np.array([[-2.0, -2, 0], [3, -2, 0], [3, 3, 0], [-2, 3, 0]])
    heights = [-1.0] * 4 + [-1.0 + 0.3 * k for k in range(1, 8)]
    path = corners + np.array([[0.0, 0.0, height] for height in heights])[:, None]
    plate = Collider(path, [[0, 1, 2], [0, 2, 3]])
    scene = Scene([SoftBody(block((2, 2, 2)), SOFT)], None, (0.0, 0.0, 0.0), [plate])
    frames = list(checked(Simulator(scene, Automatic()), 12))
    labels = [frame.report.integrator for frame in frames]
    assert labels[:3] == [EXPLICIT] * 3
    assert any(frame.report.solver_statistics.contacts for frame in frames)
    assert frames[-1].positions[0][:, 2].min() > heights[-1]


def landing() -> Scene:
    """It hits the ground about as fast as its own waves travel."""
    mesh = irregular_block((4, 4, 4))
    above = mesh.with_vertices(mesh.vertices + np.array([0.0, 0.0, 0.02]))
    body = SoftBody(above, StableNeoHookean(4e4, 0.3), velocity=(0.0, 0.0, -5.0))
    return Scene([body], Ground())


def test_a_landing_that_explicit_steps_press_flat_is_taken_implicitly() -> None:
    explicit = list(Simulator(landing(), SymplecticEuler()).run(8))
    assert min(frame.report.minimum_volume_ratio for frame in explicit) < 0.0
    assert sum(frame.report.inverted_tets for frame in explicit) > 0
    frames = list(Simulator(landing(), Automatic()).run(8))
    assert min(frame.report.minimum_volume_ratio for frame in frames) > 0.05
    assert sum(frame.report.inverted_tets for frame in frames) == 0
    because = {frame.report.because for frame in frames}
    assert because == {"", "explicit steps press tets flat"}
    assert frames[-1].report.integrator == EXPLICIT


def test_a_body_that_is_flat_already_keeps_its_explicit_steps() -> None:
    mesh = block((2, 2, 2))
    flat = mesh.vertices * [1.0, 1.0, 0.01]
    body = SoftBody(mesh, SOFT, initial_positions=flat)
    simulator = Simulator(Scene([body], gravity=(0.0, 0.0, 0.0)), Automatic())
    first, *_ = simulator.run(1)
    assert first.report.integrator == EXPLICIT


def test_a_flat_body_that_does_not_move_is_not_pressed_flat() -> None:
    mesh = block((1, 1, 1))
    flat = mesh.vertices * [1.0, 1.0, 0.01]
    # One vertex can move, which is not of all tets.
    body = SoftBody(mesh, SOFT, initial_positions=flat, pinned=np.delete(np.arange(8), 1))
    first, *_ = Simulator(Scene([body], gravity=(0.0, 0.0, 0.0)), Automatic()).run(1)
    assert first.report.integrator == EXPLICIT
    assert first.report.because == ""


def test_the_most_work_is_that_of_a_frame_taken_both_ways() -> None:
    simulator = Simulator(meeting(), Automatic())
    most = simulator.stepper.most_work
    clear = Simulator(replace(meeting(), contact=None), SymplecticEuler()).stepper.most_work
    implicit = Simulator(meeting(), SDIRK2()).stepper.most_work
    assert most == f"{clear} and {implicit}"
    list(simulator.run(8))
    assert simulator.stepper.most_work == most


def test_attached_bodies_and_stiff_ones_are_stepped_implicitly() -> None:
    attached = replace(falling(), contact=None, attachments=[Attachment(1, [0], 0)])
    assert Simulator(attached, Automatic()).stepper.label == IMPLICIT
    stiff = falling()
    for body in stiff.bodies:
        body.material = StableNeoHookean(1e9, 0.3)
    assert Simulator(stiff, Automatic()).stepper.label == IMPLICIT


def test_substeps_that_were_asked_for_hold_with_contact_and_without() -> None:
    simulator = Simulator(meeting(), Automatic(), substeps=40)
    frames = list(checked(simulator, 8))
    contacts = [frame.report.solver_statistics.contacts for frame in frames]
    assert contacts[0] == 0 < max(contacts)
    assert {frame.report.substeps for frame in frames} == {40}
