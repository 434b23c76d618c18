# SPDX-License-Identifier: GPL-3.0-or-later
"""Test that animation keeps its pace however many samples a frame it has."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from supple.core import Channel, Fluid, ForceField, Scene, Simulator, SoftBody, Wind
from supple.core.integrators import SymplecticEuler
from supple.core.materials import StableNeoHookean
from supple.verification.meshes import block

MESH = block((1, 1, 2), (0.2, 0.2, 0.4), (0.0, 0.0, -0.3))
HELD = np.flatnonzero(MESH.vertices[:, 2] > 0.0)
NOWHERE = (0.0, 0.0, 0.0)
NUMBERS = Channel(np.array([1.0, 3.0, 0.5, 2.0]))
VECTORS = Channel(np.array([[0.0, 0, -1], [1, 0, -9], [0, 3, -2], [0, 0, -5]]))
PATH = Channel(MESH.vertices[HELD] + 0.02 * VECTORS.samples[:, None])

Change = Callable[[Channel], Channel]


def _body(**keyed: object) -> SoftBody:
    return SoftBody(MESH, StableNeoHookean(2e3, 0.3), **keyed)


#: Scenes in which one thing changes, by what becomes of its channel.
SCENES: dict[str, Callable[[Change], Scene]] = {
    "gravity": lambda of: Scene([_body()], gravity=of(VECTORS)),
    "accelerations": lambda of: Scene(
        [_body(accelerations=of(VECTORS.mapped(lambda v: np.repeat(v[:, None], 12, axis=1))))]
    ),
    "pins": lambda of: Scene([_body(pinned=HELD, pin_path=of(PATH))]),
    "stiffness": lambda of: Scene([_body(pinned=HELD, stiffness=of(NUMBERS))]),
    "pressure": lambda of: Scene([_body(pressure=of(NUMBERS.mapped(lambda p: 100.0 * p)))]),
    "target volume": lambda of: Scene(
        [_body(target_volume=of(NUMBERS.mapped(lambda v: 1.0 + 0.1 * v)))]
    ),
    "drag": lambda of: Scene([_body(drag=of(NUMBERS), velocity=(1.0, 0.0, 0.0))]),
    "wind": lambda of: Scene([_body()], forces=[Wind(of(VECTORS))], gravity=NOWHERE),
    "drag of wind": lambda of: Scene([_body()], forces=[Wind((1.0, 0.0, 0.0), of(NUMBERS))]),
    "field": lambda of: Scene([_body()], forces=[ForceField("wind", of(NUMBERS))]),
    "place of a field": lambda of: Scene(
        [_body()], forces=[ForceField("force", 2.0, origin=of(VECTORS))]
    ),
    "buoyancy": lambda of: Scene([_body()], forces=[Fluid(0.0)], gravity=of(VECTORS)),
    "time": lambda of: Scene([_body()], time_scale=of(NUMBERS)),
}


@pytest.mark.parametrize("what", SCENES)
def test_the_same_motion_with_more_samples_is_the_same(what: str) -> None:
    expected, found, slower = (
        _moved(SCENES[what](of))
        for of in (
            lambda channel: channel,
            lambda channel: channel.resampled(3),
            lambda channel: Channel(channel.resampled(3).samples),
        )
    )
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-7)
    assert np.abs(slower - expected).max() > 1e-4


def _moved(scene: Scene) -> np.ndarray:
    *_, last = Simulator(scene, SymplecticEuler(), substeps=60).run(4)
    return last.positions[0].numpy()
