# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

from supple.core.integrators import NAMES
from supple.core.materials import MODELS, StableNeoHookean
from supple.verification import wobble
from supple.verification.expected import INTEGRATORS, methods, models
from supple.verification.laws import law_of
from supple.verification.meshes import block


def test_every_integrator_but_the_choice_of_one_is_verified() -> None:
    assert {method.name for method in methods()} == set(NAMES) - {"automatic"}


def test_every_material_is_verified() -> None:
    assert {model.name for model in models()} == set(MODELS)


def test_an_integrator_of_which_nothing_is_expected_is_an_error() -> None:
    with pytest.raises(LookupError, match="expects nothing of the integrator 'leapfrog'; add its"):
        list(methods({"leapfrog": "Leapfrog"}))


def test_a_material_of_which_nothing_is_expected_is_an_error() -> None:
    with pytest.raises(LookupError, match="expects nothing of the material 'putty'"):
        list(models({"putty": StableNeoHookean}))
    with pytest.raises(LookupError, match="no law for the material 'putty'"):
        law_of("putty", 1e5, 0.3)


@pytest.mark.parametrize(
    "expected", [e for e in INTEGRATORS.values() if e.oscillation], ids=lambda e: str(e.order)
)
def test_an_expected_oscillation_converges_with_the_expected_order(expected) -> None:
    def error(steps: int) -> float:
        end = expected.oscillation(1.0 / steps, steps)[-1]
        return float(np.abs(end - [np.cos(1.0), -np.sin(1.0)]).max())

    assert np.log2(error(64) / error(128)) == pytest.approx(expected.order, abs=0.1)


@pytest.mark.parametrize("name", MODELS)
def test_the_derivative_of_a_law_is_its_finite_difference(name: str) -> None:
    law, h = law_of(name, 1e4, 0.4), 1e-6
    f = np.eye(3) + 0.2 * np.random.default_rng(0).normal(size=(3, 3))
    elasticity = law.elasticity(f)
    for row, column in np.ndindex(3, 3):
        shift = np.zeros((3, 3))
        shift[row, column] = h
        rise = (law.stress(f + shift) - law.stress(f - shift)) / (2.0 * h)
        np.testing.assert_allclose(elasticity[:, :, row, column], rise, rtol=1e-6, atol=1e-3)


def test_adaptive_symplectic_euler_falls_off_the_parabola_by_what_its_tolerance_allows() -> None:
    (method,) = (m for m in methods() if m.name == "adaptive_symplectic_euler")
    tolerance, gravity, seconds = 1e-4, 9.81, 2.0
    assert vars(method.usual())["tolerance"] == tolerance
    # A step and its two halves, from rest; the difference of the two is the tolerance.
    step = 2.0 * np.sqrt(tolerance / gravity)
    whole, half = gravity * step**2, 0.5 * step
    halves = gravity * half**2 + half * gravity * 2.0 * half
    assert whole - halves == pytest.approx(tolerance)
    too_far = (halves - 0.5 * gravity * step**2) * seconds / step
    assert method.fall_error(seconds, gravity) == pytest.approx(too_far)


def test_schemes_that_fall_the_parabola_may_not_leave_it() -> None:
    others = [m for m in methods() if m.name != "adaptive_symplectic_euler"]
    assert all(method.fall_error(2.0, 9.81) == 0.0 for method in others)


def test_an_extra_tolerance_is_that_of_its_subject_alone() -> None:
    (method,) = (m for m in methods() if m.name == "adaptive_midpoint")
    assert method.share(1e-4, "rest") == 0.01
    assert method.share(0.03, "rest") == 0.03
    assert method.share(1e-4, "damping") == 1e-4


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
