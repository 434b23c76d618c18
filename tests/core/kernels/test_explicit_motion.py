# SPDX-License-Identifier: GPL-3.0-or-later
"""Loops of one explicit step of the vertices."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core.kernels.explicit_motion import work_done


def test_work_is_force_times_way_along_every_axis() -> None:
    rng = np.random.default_rng(5)
    forces, before, after = rng.normal(size=(3, 3, 7))
    expected = float((forces * (after - before)).sum())
    assert work_done(forces, before, after) == pytest.approx(expected, rel=1e-13)
