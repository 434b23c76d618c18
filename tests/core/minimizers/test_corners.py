# SPDX-License-Identifier: GPL-3.0-or-later
"""Searches that begin where surfaces all but touch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from supple.core import Contact, Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.core.minimizers.incremental_potential import IncrementalPotential
from supple.core.minimizers.minimize_result import MinimizeResult
from supple.core.minimizers.newton import Newton
from supple.core.potentials import TimeStep
from supple.core.system import System
from supple.verification.meshes import block
from supple.verification.subjects.impact import TARGETS

pytest.importorskip("ipctk")

STEP = 1.0 / 24.0
TOLERANCE = 1e-3 * STEP


def turned(points: np.ndarray, axis: int, angle: float) -> np.ndarray:
    """The (N, 3) points turned about a line through their middle."""
    first, second = (axis + 1) % 3, (axis + 2) % 3
    matrix = np.eye(3)
    matrix[first, first] = matrix[second, second] = math.cos(angle)
    matrix[first, second], matrix[second, first] = -math.sin(angle), math.sin(angle)
    middle = points.mean(axis=0)
    return middle + (points - middle) @ matrix.T


class Crossing:
    """Two blocks with an edge of one on an edge of the other, so far apart in metres; the upper
    one falls and tips over by an angle."""

    def __init__(self, gap: float, angle: float = 0.6) -> None:
        mesh = block((3, 3, 3))
        lower, upper = (turned(mesh.vertices, axis, math.pi / 4.0) for axis in (0, 1))
        upper[:, 2] += lower[:, 2].max() - upper[:, 2].min() + gap
        soft = StableNeoHookean(1e4, 0.3)
        bodies = [
            SoftBody(TetMesh(points, mesh.tets), soft, name=name)
            for points, name in ((lower, "Lower"), (upper, "Upper"))
        ]
        scene = Scene(bodies, contact=Contact(distance=0.02), gravity=(0.0, 0.0, 0.0))
        system = System(scene, torch.device("cpu"), torch.float64)
        self.objective = IncrementalPotential(system)
        self.start = system.rest_positions()
        self._predicted = self.start.clone()
        tipped = turned(turned(upper, 2, angle), 0, angle) - (0.0, 0.0, 0.05)
        self._predicted[:, len(lower) :] = torch.as_tensor(tipped.T)

    def minimize(self, limit: int = 200, enough: int | None = None) -> MinimizeResult:
        assert self.objective.contact is not None
        self.objective.contact.begin(None)
        self.objective.begin(TimeStep(self.start, self._predicted, STEP, STEP))
        newton = Newton(self.objective)
        return newton.minimize(
            self.start,
            TOLERANCE,
            STEP,
            limit,
            is_enough=lambda search: enough is not None and search.iterations >= enough,
        )

    def gap(self, minimum: MinimizeResult) -> float:
        return self.objective.min_distance(minimum.positions)


def test_edges_that_all_but_touch_open_as_soon_however_near_they_begin() -> None:
    found = []
    for gap, most in ((1e-3, 40), (1e-6, 60), (1e-9, 70)):
        crossing = Crossing(gap)
        minimum = crossing.minimize()
        assert minimum.converged
        assert minimum.iterations <= most
        found.append(crossing.gap(minimum))
    # The way there does not matter.
    assert found == pytest.approx(found[:1] * 3, rel=1e-2)
    assert found[0] > 1e-3


def test_a_search_for_room_ends_when_nothing_opens_any_more() -> None:
    crossing = Crossing(1e-6)
    after = crossing.minimize(enough=2)
    assert 2 < after.iterations < 60
    assert not after.converged
    assert crossing.gap(after) > 1e-4
    assert Crossing(1e-2).minimize(enough=2).iterations == 2
    # What falls straight is in no corner, and takes the edges apart by as much again at a time.
    falling = Crossing(1e-6, angle=0.0)
    after = falling.minimize(enough=2)
    assert 6 < after.iterations < 20
    assert falling.gap(after) > 1e-4


def test_steps_that_are_cut_by_what_is_met_anew_are_as_long_as_they_may_be() -> None:
    """A ball at 100 m/s."""
    simulator = Simulator(TARGETS["sheet"]("convergent"), ImplicitEuler(), substeps=1, device="cpu")
    statistics = next(iter(simulator.run(1))).report.solver_statistics
    assert statistics.converged
    assert statistics.iterations <= 40 * statistics.steps
