"""Test velocities along paths from step to step."""

from __future__ import annotations

import numpy as np

from supple.core.kernels.clearance import follow

STEP, MEMORY = 0.02, 0.5


def test_velocities_are_those_of_the_step_and_changes_of_them_are_forgotten_in_part() -> None:
    generator = np.random.default_rng(5)
    before, after, velocities = generator.normal(size=(3, 6, 3))
    changes = np.array([0.0, 0.0, 0.0, 1e6, 1e6, 1e6])
    expected = (after - before) / STEP
    largest = np.linalg.norm(expected - velocities, axis=1)
    follow(before, after, STEP, MEMORY, velocities, changes)
    np.testing.assert_allclose(velocities, expected, rtol=1e-14)
    np.testing.assert_allclose(changes[:3], largest[:3], rtol=1e-14)
    np.testing.assert_array_equal(changes[3:], MEMORY * 1e6)
