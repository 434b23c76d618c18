# SPDX-License-Identifier: GPL-3.0-or-later
"""The natural logarithm of compiled loops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from supple.core.compiled import compiled
from supple.core.math3.logarithm import logarithm


@compiled()
def _write(values: Any, out: Any) -> None:
    for i in range(len(values)):
        out[i] = logarithm(values[i])


@pytest.mark.parametrize(
    ("low", "high"), [(1e-300, 1e300), (0.5, 2.0), (0.999999, 1.000001), (0.7071, 0.7072)]
)
def test_it_is_a_unit_in_the_last_place_off_at_most(low: float, high: float) -> None:
    values = np.exp(np.random.default_rng(4).uniform(np.log(low), np.log(high), 20_000))
    out = np.empty_like(values)
    _write(values, out)
    exact = np.log(values.astype(np.longdouble))
    assert np.max(np.abs(out - exact) / np.spacing(np.abs(exact).astype(float))) <= 1.0


def test_it_is_zero_at_one() -> None:
    out = np.ones(1)
    _write(np.ones(1), out)
    assert out[0] == 0.0
