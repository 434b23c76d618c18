# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core import Channel, Scene, SceneError, Simulator, SoftBody
from supple.core.integrators import ImplicitEuler, Integrator, SymplecticEuler
from supple.core.job.scene_file import decode, encode
from supple.core.materials import StableNeoHookean
from supple.verification.meshes import block

CUBE = block((1, 1, 1), (0.1, 0.1, 0.1))
SOFT = StableNeoHookean(1e4, 0.3)


@pytest.mark.parametrize("integrator", [ImplicitEuler(1e-9), SymplecticEuler()])
def test_a_body_gets_as_fast_as_the_integral_says(integrator: Integrator) -> None:
    """From 0 to 4 m/s² in the first frame, and as much from then on."""
    uniform = np.zeros((2, 8, 3))
    uniform[1, :, 0] = 4.0
    body = SoftBody(CUBE, SOFT, accelerations=Channel(uniform))
    other = SoftBody(CUBE, SOFT)
    scene = Scene([other, body], gravity=(0.0, 0.0, 0.0))
    *_, last = Simulator(scene, integrator, frame_time=0.05, substeps=64, device="cpu").run(3)
    np.testing.assert_allclose(last.velocities[1][:, 0], 4.0 * 0.05 * 2.5, rtol=0.01)
    np.testing.assert_allclose(last.velocities[1][:, 1:], 0.0, atol=1e-9)
    np.testing.assert_allclose(last.velocities[0], 0.0, atol=1e-9)


def test_they_are_of_all_vertices() -> None:
    with pytest.raises(SceneError, match="the accelerations must be"):
        SoftBody(CUBE, SOFT, accelerations=Channel(np.zeros((1, 7, 3))))


def test_a_file_keeps_them() -> None:
    body = SoftBody(CUBE, SOFT, accelerations=np.arange(24.0).reshape(8, 3))
    arrays: dict[str, np.ndarray] = {}
    found = decode(encode(body, "body", arrays), arrays)
    np.testing.assert_array_equal(found.accelerations.samples, body.accelerations.samples)
