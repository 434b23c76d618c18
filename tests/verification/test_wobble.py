# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from supple.verification import wobble
from supple.verification.meshes import block


def test_a_small_wobble_is_the_sum_of_its_linear_modes() -> None:
    amount, seconds = 1e-6, 0.4
    mesh = block((1, 1, 1))
    start = wobble.stretched(amount).initial_positions - mesh.vertices
    stiffness, mass = wobble._assembled(mesh)
    masses = np.repeat(mass, 3)
    squares, shapes = eigh(stiffness, np.diag(masses))
    frequencies = np.sqrt(squares.clip(min=0.0))
    amplitudes = shapes.T @ (masses * start.ravel())
    expected = (shapes @ (amplitudes * np.cos(frequencies * seconds))).reshape(-1, 3)
    found = wobble.exact_end(wobble.stretched(amount), seconds) - mesh.vertices
    assert np.abs(expected).max() > 0.1 * amount
    np.testing.assert_allclose(found, expected, atol=1e-4 * amount)


def test_a_wobble_that_is_not_small_differs_from_the_linear_one() -> None:
    small, large = (
        (wobble.exact_end(wobble.stretched(amount), 0.4) - block((1, 1, 1)).vertices) / amount
        for amount in (1e-6, 0.2)
    )
    assert np.abs(large - small).max() > 0.01
