# SPDX-License-Identifier: GPL-3.0-or-later
"""Explicit steps with contact that do not reach their end."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Contact, Ground, Scene, Simulator, SoftBody
from supple.core.integrators import SymplecticEuler, mesh_contact_step
from supple.core.integrators.contact_failures import BlockedStepError
from supple.verification.meshes import block

from .test_mesh_contact_step import SOFT, meeting, stepper_of


def test_a_step_in_which_nothing_can_make_way_is_taken_in_parts(monkeypatch) -> None:
    ends = []
    taken: list[float] = []
    for refused in (False, True):
        simulator = Simulator(meeting(), SymplecticEuler())
        contact = stepper_of(simulator).contact
        assert contact is not None
        apply, whole = contact.apply, simulator.frame_time / simulator.state.substeps
        taken.clear()

        def make_way(*arguments, apply=apply, whole=whole, refused=refused):
            if refused and len(taken) == 1 and arguments[3] > 0.3 * whole:
                raise BlockedStepError("in the way")
            taken.append(arguments[3] / whole)
            return apply(*arguments)

        monkeypatch.setattr(contact, "apply", make_way)
        (frame,) = simulator.run(1)
        ends.append(frame.positions)
    assert taken[:5] == [1.0, 0.25, 0.25, 0.5, 1.0]
    assert sum(taken) == frame.report.substeps
    for smooth, broken in zip(*ends, strict=True):
        torch.testing.assert_close(broken, smooth, rtol=0.0, atol=1e-4)


def test_a_step_that_failed_leaves_nothing_that_is_believed_of_distances(monkeypatch) -> None:
    """It is taken again from where it began, where pairs may be closer than where it ended."""
    simulator = Simulator(meeting(), SymplecticEuler())
    list(simulator.run(2))
    contact = stepper_of(simulator).contact
    assert contact is not None
    go = contact._go
    monkeypatch.setattr(contact, "_go", lambda *arguments: (*go(*arguments)[:2], False))
    with pytest.raises(BlockedStepError):
        next(simulator.run(1))
    assert len(contact._candidates.distances) > 0
    assert not contact._candidates.distances.any() and not contact._candidates.blocked.any()


def test_what_has_no_way_at_all_fails_in_words(monkeypatch) -> None:
    simulator = Simulator(meeting(), SymplecticEuler())
    monkeypatch.setattr(mesh_contact_step, "MAX_LINEARIZATIONS", 0)
    with pytest.raises(BlockedStepError, match="cannot make way"):
        next(simulator.run(1))


def test_what_the_passes_leave_to_fall_does_not_go_through_the_ground(monkeypatch) -> None:
    """They end after so many; here they do nothing."""
    body = SoftBody(block((2, 2, 2), origin=(0.0, 0.0, 0.01)), SOFT, velocity=(0.0, 0.0, -50.0))
    simulator = Simulator(Scene([body], Ground(), contact=Contact()), SymplecticEuler(), substeps=4)
    contact = stepper_of(simulator).contact
    assert contact is not None
    go, after = contact._go, []

    def recorded(*arguments):
        after.append(go(*arguments))
        return after[-1]

    monkeypatch.setattr(contact, "_relax", lambda *_: None)
    monkeypatch.setattr(contact, "_go", recorded)
    with pytest.raises(BlockedStepError):
        next(simulator.run(1))
    assert len(after) == mesh_contact_step.MAX_LINEARIZATIONS
    heights = [at[:, 2].min() for at, _, _ in after]
    # Each try leaves a tenth of the height.
    np.testing.assert_allclose(heights, [10.0 ** -(k + 3) for k in range(len(heights))], rtol=1e-6)
    assert not any(is_free for _, _, is_free in after)
