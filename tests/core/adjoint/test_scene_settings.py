# SPDX-License-Identifier: GPL-3.0-or-later
"""Gradients through settings that are no parameters themselves, and by velocities of vertices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Channel, Goals, Ground, Scene, SoftBody, SurfacePaint
from supple.core.adjoint import simulate
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    ImplicitEuler,
    Integrator,
    Midpoint,
    SymplecticEuler,
)
from supple.core.materials import StableNeoHookean
from supple.tests.core.adjoint.central_differences import Comparison, Values, outcome_of
from supple.verification.meshes import block

CUBE = block((1, 1, 1), (0.1, 0.1, 0.1), (0.0, 0.0, 0.003))
COUNT = len(CUBE.vertices)
RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("integrator", "substeps"),
    [
        (ImplicitEuler(1e-10), 1),
        (BDF2(1e-10), 2),
        (SDIRK2(1e-10), 2),
        (SymplecticEuler(), 16),
        (Midpoint(), 16),
    ],
)
def test_time_may_run_slower_and_vertices_start_by_themselves(
    integrator: Integrator, substeps: int
) -> None:
    values: Values = {
        "young": 2e4,
        "initial_velocities": RANDOM.standard_normal((COUNT, 3)),
        "targets": CUBE.vertices[:2] + 0.02 * RANDOM.standard_normal((4, 2, 3)),
        "damping": 0.5,
    }

    def outcome(given: Values) -> list[torch.Tensor]:
        body = SoftBody(
            CUBE,
            StableNeoHookean(given["young"]),
            goals=Goals([0, 1], given["targets"], 0.9, 3.0, 0.3),
            initial_velocities=given["initial_velocities"],
            damping=given["damping"],
        )
        scene = Scene([body], time_scale=Channel([0.4, 0.6, 1.0]))
        return outcome_of(simulate(scene, integrator, frames=3, substeps=substeps))

    Comparison(outcome, values).check(least=1e-6)


@pytest.mark.parametrize(
    ("integrator", "substeps"), [(ImplicitEuler(1e-9), 8), (SymplecticEuler(), 16)]
)
def test_gradients_go_through_painted_friction(integrator: Integrator, substeps: int) -> None:
    paint = SurfacePaint(CUBE.vertices, CUBE.surface, np.linspace(0.2, 0.9, COUNT))
    values: Values = {"friction": 0.3, "velocity": (0.9, 0.1, -0.5)}

    def outcome(given: Values) -> list[torch.Tensor]:
        body = SoftBody(CUBE, StableNeoHookean(2e4), friction_paint=paint, **given)
        scene = Scene([body], ground=Ground(friction=0.25, distance=0.002))
        return outcome_of(simulate(scene, integrator, frames=1, substeps=substeps))

    Comparison(outcome, values).check(rel=1e-4, least=1e-6, spread=1e-6)
