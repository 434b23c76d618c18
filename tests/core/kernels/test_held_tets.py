# SPDX-License-Identifier: GPL-3.0-or-later
"""Rest shapes whose stretches are raised to a limit, against singular value decompositions."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.kernels.posed_tets import held_shape

LEAST = 0.2


def rotation(rng: np.random.Generator) -> np.ndarray:
    q, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    return q * np.sign(np.linalg.det(q))


def expected(f: np.ndarray) -> tuple[np.ndarray, float]:
    u, s, vt = np.linalg.svd(f)
    sign = np.sign(np.linalg.det(u) * np.linalg.det(vt))
    u[:, 2] *= np.sign(np.linalg.det(u))
    vt[2] *= np.sign(np.linalg.det(vt))
    s[2] *= sign
    s = np.maximum(s, LEAST)
    return (vt.T / s) @ u.T, float(s.prod())


@pytest.mark.parametrize(
    "stretches",
    [
        (1.3, 0.9, 0.7),  # none is low
        (1.3, 0.9, 0.205),
        (1.3, 0.9, 0.195),
        (1.3, 0.9, 0.01),
        (1.3, 0.9, 0.0),
        (1.3, 0.9, -0.1),
        (1.3, 0.9, -0.85),
        (4.0, 0.21, 0.05),
        (5.0, 0.201, 0.199),
        (1.3, 0.15, 0.05),  # two are
        (1.3, 0.15, -0.14),
        (1.3, 0.1, 0.1),  # alike
        (0.15, 0.1, -0.05),  # all are
        (1.0, 0.3, -0.29),
    ],
    ids=str,
)
def test_low_stretches_are_raised_and_others_stay(stretches) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        f = rotation(rng) @ np.diag(stretches) @ rotation(rng).T
        inverse, ratio = held_shape(tuple(f.ravel()), LEAST)
        raised, volume = expected(f)
        assert ratio == pytest.approx(volume, rel=1e-9)
        np.testing.assert_allclose(np.reshape(inverse, (3, 3)), raised, rtol=0, atol=2e-8)


def test_what_is_flat_to_a_point_is_held_apart() -> None:
    inverse, ratio = held_shape((0.0,) * 9, LEAST)
    assert ratio == pytest.approx(LEAST**3)
    assert np.abs(np.linalg.det(np.reshape(inverse, (3, 3)))) == pytest.approx(LEAST**-3)
