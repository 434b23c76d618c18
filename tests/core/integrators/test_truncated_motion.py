# SPDX-License-Identifier: GPL-3.0-or-later
"""Explicit steps in which surfaces cannot get where they should, and end all the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from supple.core import Contact, Ground, Scene, Simulator, SoftBody
from supple.core.compiled import use_threads
from supple.core.integrators import SymplecticEuler, mesh_contact_step
from supple.core.materials import StableNeoHookean
from supple.core.potentials.contact.truncated_motion import TruncatedMotion
from supple.tests.core.touching import plate
from supple.verification.meshes import block, irregular_block

from .test_mesh_contact_step import SOFT, WEIGHTLESS, checked, meeting, momenta, stepper_of


def motion_of(simulator: Simulator) -> TruncatedMotion:
    contact = stepper_of(simulator).contact
    assert contact is not None
    return contact._motion


def energy(simulator: Simulator) -> float:
    energies = simulator.system.energies(simulator.state)
    return energies.kinetic + energies.elastic


def shot(speed: float) -> Scene:
    """Two blocks that meet so fast that each step takes them through several d̂."""
    scene = meeting(friction=0.0)
    bodies = [
        replace(body, velocity=tuple(speed * v for v in body.velocity)) for body in scene.bodies
    ]
    return replace(scene, bodies=bodies)


@pytest.mark.parametrize("speed", [4.0, 12.0])
def test_what_comes_too_fast_stops_gains_nothing_and_the_frame_ends(speed: float) -> None:
    simulator = Simulator(shot(speed), SymplecticEuler(), substeps=60)
    before, limited = [energy(simulator)], 0
    for frame in checked(simulator, 4):
        limited += frame.report.solver_statistics.limited_steps
        before.append(energy(simulator))
    assert limited > 0
    assert (np.diff(before) <= 2e-3 * before[0]).all()


def test_tets_that_a_vertex_would_go_through_keep_a_tenth_and_their_body_its_momentum() -> None:
    """The middle of a block shoots off, by the length of an edge in the first step."""
    mesh = block((6, 6, 6))
    middle = int(np.linalg.norm(mesh.vertices - 0.5, axis=1).argmin())
    body = SoftBody(mesh, SOFT)
    scene = Scene([body], gravity=WEIGHTLESS, contact=Contact())
    simulator, substeps = Simulator(scene, SymplecticEuler(), substeps=60), 60
    simulator.state.velocities[:, middle] = 24 * substeps / 6
    before, start = momenta(simulator), energy(simulator)
    least: list[float] = []

    def watched(*arguments):
        work = apply(*arguments)
        least.append(float(simulator.system.volume_ratios(arguments[1]).min()))
        return work

    contact = stepper_of(simulator).contact
    assert contact is not None
    apply, contact.apply = contact.apply, watched  # type: ignore[method-assign]
    (frame,) = checked(simulator, 1)
    assert 0.1 <= least[0] < 0.5 and min(least) > 0.0
    assert frame.report.solver_statistics.truncated_vertices > 0
    after, largest = momenta(simulator), np.abs(before).max()
    np.testing.assert_allclose(after[0], before[0], atol=1e-10 * largest)
    # The moves of the first step have turned about the centre.
    np.testing.assert_allclose(after[1], before[1], atol=1e-2 * largest)
    assert energy(simulator) < start


def test_without_relaxation_surfaces_are_kept_apart_all_the_same(monkeypatch) -> None:
    """Impulses and planes are all that stands between them."""
    simulator = Simulator(shot(2.0), SymplecticEuler(), substeps=40)
    contact = stepper_of(simulator).contact
    assert contact is not None
    monkeypatch.setattr(contact, "_relax_contacts", lambda *_: None)
    frames = list(checked(simulator, 4))
    assert frames[-1].report.solver_statistics.limited_steps > 0


def test_planes_alone_keep_surfaces_apart(monkeypatch) -> None:
    monkeypatch.setattr("supple.core.potentials.contact.truncated_motion.PUSH_ROUNDS", 0)
    simulator = Simulator(shot(2.0), SymplecticEuler(), substeps=40)
    contact = stepper_of(simulator).contact
    assert contact is not None
    monkeypatch.setattr(contact, "_relax_contacts", lambda *_: None)
    start = energy(simulator)
    list(checked(simulator, 4))
    assert motion_of(simulator).divided_objects
    assert energy(simulator) < 1.02 * start


@pytest.mark.parametrize("push_rounds", [0, 3])
def test_what_nothing_holds_keeps_its_momenta_where_moves_are_truncated(
    monkeypatch, push_rounds: int
) -> None:
    monkeypatch.setattr("supple.core.potentials.contact.truncated_motion.PUSH_ROUNDS", push_rounds)
    simulator = Simulator(shot(2.0), SymplecticEuler(), substeps=40)
    contact = stepper_of(simulator).contact
    assert contact is not None
    monkeypatch.setattr(contact, "_relax_contacts", lambda *_: None)
    before, limited = momenta(simulator), 0
    for frame in checked(simulator, 4):
        limited += frame.report.solver_statistics.limited_steps
        after = momenta(simulator)
        np.testing.assert_allclose(after[0], before[0], atol=1e-10 * np.abs(before).max())
    assert limited > 0
    # Where surfaces slide past each other, the moves of the last step have turned about the centre.
    np.testing.assert_allclose(after[1], before[1], atol=1e-2 * np.abs(before).max())


def test_a_column_that_falls_keeps_its_speed_while_its_lowest_pair_is_parted(monkeypatch) -> None:
    """The lowest block goes a little more slowly than those above it; they have caught up before
    the ground is near."""
    blocks = [
        SoftBody(
            block((1, 1, 1), (0.3, 0.3, 0.3), (0.01 * k, 0.0, 9.0 + 0.301 * k)),
            SOFT,
            velocity=(0.0, 0.0, -5.0 if k else -4.0),
        )
        for k in range(4)
    ]
    simulator = Simulator(
        Scene(blocks, gravity=WEIGHTLESS, contact=Contact()), SymplecticEuler(), substeps=20
    )
    contact = stepper_of(simulator).contact
    assert contact is not None
    monkeypatch.setattr(contact, "_relax_contacts", lambda *_: None)
    before = momenta(simulator)[0]
    list(checked(simulator, 3))
    np.testing.assert_allclose(momenta(simulator)[0], before, rtol=0.02, atol=1e-9)


def test_one_thread_and_two_take_the_same_bits(monkeypatch) -> None:
    ends = []
    for threads in (1, 2):
        monkeypatch.setattr(
            mesh_contact_step,
            "use_threads",
            lambda work, each, threads=threads: min(threads, use_threads(work, each)),
        )
        torch.set_num_threads(threads)
        simulator = Simulator(shot(8.0), SymplecticEuler(), substeps=60)
        *_, frame = simulator.run(3)
        ends.append(torch.cat(frame.positions))
    assert torch.equal(*ends)


def test_what_falls_on_the_ground_too_fast_stops_above_it(monkeypatch) -> None:
    body = SoftBody(block((2, 2, 2), origin=(0.0, 0.0, 0.01)), SOFT, velocity=(0.0, 0.0, -20.0))
    simulator = Simulator(Scene([body], Ground(), contact=Contact()), SymplecticEuler(), substeps=4)
    contact = stepper_of(simulator).contact
    assert contact is not None
    monkeypatch.setattr(contact, "_relax_contacts", lambda *_: None)
    # Four steps are too few for what is inside of it: nothing but the contact is looked at.
    stepper_of(simulator)._excess_energy = lambda *_: 0.0  # type: ignore[method-assign]
    (frame,) = simulator.run(1)
    assert frame.positions[0][:, 2].min() > 0.0
    assert frame.report.solver_statistics.limited_steps > 0


def test_a_body_that_is_squeezed_to_a_third_and_set_free_is_whole_again() -> None:
    heights = [1.02 - 0.08 * min(k, 8) + 0.3 * max(0, k - 10) for k in range(16)]
    press = plate(0.0, 3.0, np.array([[0.0, 0.0, height] for height in heights]))
    body = SoftBody(irregular_block((2, 2, 2)), StableNeoHookean(1e4, 0.3), stiffness_damping=2e-3)
    scene = Scene(
        [body], gravity=WEIGHTLESS, colliders=[plate(-0.02, 3.0), press], contact=Contact()
    )
    simulator = Simulator(scene, SymplecticEuler())
    least = [frame.report.minimum_volume_ratio for frame in checked(simulator, 15)]
    assert min(least) > 0.0
    assert least[-1] > 0.5 > min(least)
