# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps that diverge are told before anything is looked for on their way."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Contact, Scene, Simulator, SoftBody
from supple.core.integrators import Automatic, SymplecticEuler
from supple.core.integrators.contact_failures import DivergedStepError, DivergenceCheck
from supple.core.integrators.mesh_contact_step import MeshContactStep
from supple.core.materials import StableNeoHookean
from supple.core.system import System
from supple.verification.meshes import block

SMALL, LARGE = (0.2, 0.2, 0.1), (2.0, 2.0, 1.0)


def _two(**options) -> Scene:
    material = StableNeoHookean(1e5, 0.4)
    small, large = block((2, 2, 2), SMALL), block((2, 2, 2), LARGE, (0.0, 0.0, 0.5))
    bodies = [SoftBody(small, material, name="Small", **options), SoftBody(large, material)]
    return Scene(bodies, gravity=(0.0, 0.0, 0.0), contact=Contact())


def _moves() -> tuple[DivergenceCheck, np.ndarray]:
    system = System(_two(), torch.device("cpu"), torch.float64)
    return DivergenceCheck(system), np.zeros((system.vertex_count, 3))


@pytest.mark.parametrize(("vertex", "diagonal"), [(0, 0.3), (30, 3.0)], ids=["small", "large"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_body_deforms_by_no_more_than_a_quarter_of_its_diagonal(vertex, diagonal, axis) -> None:
    check, moves = _moves()
    moves[vertex, axis] = -0.249 * diagonal
    check.refuse(moves)
    assert check.is_possible(0.249 * diagonal)
    moves[vertex + 1, axis] = 0.002 * diagonal
    with pytest.raises(DivergedStepError, match=r"Small, .*: explicit steps diverge"):
        check.refuse(moves)


def test_bodies_may_go_as_far_as_they_like_as_a_whole() -> None:
    check, moves = _moves()
    moves[:27] = [100.0, -3.0, 0.0]
    check.refuse(moves)


def test_no_move_as_short_as_an_eighth_of_the_smallest_diagonal_is_suspected() -> None:
    check, _ = _moves()
    assert not check.is_possible(0.124 * 0.3)
    assert check.is_possible(0.126 * 0.3)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_refused(value: float) -> None:
    check, moves = _moves()
    moves[40, 1] = value
    assert check.is_possible(abs(value))
    with pytest.raises(DivergedStepError):
        check.refuse(moves)


@pytest.mark.parametrize(("integrator", "tries"), [(SymplecticEuler(), 3), (Automatic(), 2)])
def test_a_frame_is_taken_again_with_shorter_steps_as_soon_as_they_diverge(
    integrator, tries: int, monkeypatch
) -> None:
    lengths = 0.5 ** np.arange(tries)
    applied, apply = [], MeshContactStep.apply

    def counted(contact, start, positions, velocities, step, impulse_times):
        applied.append(step)
        if step > 1.2 * lengths[-1] * applied[0]:
            positions[:, 0] += 1.0
        return apply(contact, start, positions, velocities, step, impulse_times)

    monkeypatch.setattr(MeshContactStep, "apply", counted)
    simulator = Simulator(_two(velocity=(0.0, 0.0, 20.0)), integrator)
    (frame,) = simulator.run(1)
    substeps = frame.report.record()["substeps"]
    # One step of each length that diverges, and then a whole frame of the last.
    assert len(applied) == tries - 1 + substeps
    np.testing.assert_allclose(applied[:tries], applied[0] * lengths)
    assert set(applied[tries - 1 :]) == {applied[tries - 1]}


def test_steps_of_a_given_length_say_that_they_diverge(monkeypatch) -> None:
    apply = MeshContactStep.apply

    def far(contact, start, positions, velocities, step, impulse_times):
        positions[:, 0] += 1.0
        return apply(contact, start, positions, velocities, step, impulse_times)

    chosen = Simulator(_two(), SymplecticEuler()).state.substeps
    simulator = Simulator(_two(), SymplecticEuler(), substeps=chosen)
    monkeypatch.setattr(MeshContactStep, "apply", far)
    with pytest.raises(DivergedStepError, match=rf"{chosen} substeps a frame are too few at frame"):
        list(simulator.run(1))
