# SPDX-License-Identifier: GPL-3.0-or-later
"""The body that the benchmarks are measured on."""

from __future__ import annotations

import pytest

pytest.importorskip("bpy")

from supple.benchmarks.monkey import full_tetrahedra, tetrahedra


def test_any_engine_can_take_the_full_tets_which_lack_hardly_any_of_the_lattice() -> None:
    full, lattice = full_tetrahedra(0.345), tetrahedra(0.345)
    assert full.fill is None
    assert 0 < len(lattice.tets) - len(full.tets) < 0.02 * len(lattice.tets)
