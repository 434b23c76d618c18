# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulations far from the origin."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core import Ground, Scene, Simulator, SoftBody
from supple.core.integrators import ImplicitEuler, SymplecticEuler
from supple.core.materials import StableNeoHookean
from supple.verification.meshes import block

FAR = np.array([1e4, -1e4, 0.0])


def positions(origin: np.ndarray, integrator: ImplicitEuler | SymplecticEuler) -> np.ndarray:
    """The (F, N, 3) positions of a block that is thrown on the ground, relative to its start."""
    mesh = block((2, 2, 2), (1.0, 1.0, 1.0), (origin[0], origin[1], 0.02))
    body = SoftBody(mesh, StableNeoHookean(1e5, 0.3), velocity=(1.0, 0.3, -1.0))
    simulator = Simulator(Scene([body], ground=Ground()), integrator)
    return np.stack([frame.positions[0] - origin for frame in simulator.run(8)])


@pytest.mark.parametrize("integrator", [ImplicitEuler(), SymplecticEuler()])
def test_ten_kilometres_from_the_origin_a_run_is_the_same_to_a_tenth_of_a_nanometre(
    integrator,
) -> None:
    near, far = (positions(origin, integrator) for origin in (np.zeros(3), FAR))
    assert np.abs(near[-1] - near[0]).max() > 0.05
    np.testing.assert_allclose(far, near, rtol=0.0, atol=1e-10)
