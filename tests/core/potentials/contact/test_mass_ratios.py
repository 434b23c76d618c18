# SPDX-License-Identifier: GPL-3.0-or-later
"""Test light bodies below heavy ones."""

from __future__ import annotations

import pytest

from supple.core import Contact, Ground, Scene, Simulator, SoftBody
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.tests.core.touching import checked
from supple.verification.meshes import block

SIDE, RATIO = 0.3, 1e4


@pytest.mark.parametrize(
    ("light", "young"), [(0.1, 1e5), (1000.0, 1e8)], ids=["light as air", "of dense metal"]
)
def test_a_body_bears_what_is_ten_thousand_times_as_heavy(light, young) -> None:
    """Pressed by 0.03 and by 0.3 of Young's modulus; what is pressed by more than that gives way,
    whatever the ratio is."""
    bodies = [
        SoftBody(
            block(
                (2, 2, 2), (SIDE,) * 3, (0.03 * level, 0.02 * level, 0.001 + 1.03 * SIDE * level)
            ),
            StableNeoHookean(young, 0.4),
            density=density,
        )
        for level, density in enumerate((light, RATIO * light))
    ]
    scene = Scene(bodies, ground=Ground(), contact=Contact())
    simulator = Simulator(scene, ImplicitEuler(), device="cpu")
    ratios = [frame.report.minimum_volume_ratio for frame in checked(simulator, 12)]
    assert min(ratios) > 0.6
    assert simulator.state.substeps == 1
