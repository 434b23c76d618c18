# SPDX-License-Identifier: GPL-3.0-or-later
"""Gradients through a ground that points of a surface leave and come back to within a frame."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from torch import Tensor

from supple.core import ContactSurface, Frame, Ground, Scene, SoftBody
from supple.core.adjoint import simulate
from supple.core.geometry.embedding import embed
from supple.core.geometry.tet_mesh import TetMesh
from supple.core.integrators import SymplecticEuler
from supple.core.materials import StableNeoHookean
from supple.tests.core.adjoint.central_differences import Comparison, Values, outcome_of

#: A tet with a face of 15 points below, held at its tip above. In steps of an eighth of the time
#: that it swings in, points leave the ground from one to the next, while forces act on them.
STEPS, SECONDS, DISTANCE = 20, 0.04, 1e-5
TURNS = np.arange(3) * 2.0 * np.pi / 3.0
FACE = 0.1 * np.stack([np.cos(TURNS), np.sin(TURNS), 0.0 * TURNS], axis=1)
TET = TetMesh(np.vstack([FACE, [[0.0, 0.0, 0.15]]]), [[0, 1, 2, 3]])
PLACES = [(i, j) for i in range(5) for j in range(5 - i)]
NUMBERS = {place: number for number, place in enumerate(PLACES)}
POINTS = np.array([[4 - i - j, i, j] for i, j in PLACES]) @ FACE / 4.0
TRIANGLES = [
    [NUMBERS[corner] for corner in corners]
    for i, j in PLACES
    for corners in (
        [(i, j), (i, j + 1), (i + 1, j)],
        [(i + 1, j), (i, j + 1), (i + 1, j + 1)],
    )
    if all(corner in NUMBERS for corner in corners)
]
SEEN = ContactSurface(POINTS, np.array(TRIANGLES), embed(TET, POINTS))
SWINGING: Values = {
    "young": 3e5,
    "density": 1000.0,
    "velocity": (0.0, 0.0, -1.0),
    "height": -5e-4,
}


def swung(given: Values, frames: int, steps: int) -> list[Frame]:
    own = SWINGING | given
    body = SoftBody(
        TET,
        StableNeoHookean(own["young"], 0.4),
        density=own["density"],
        velocity=own["velocity"],
        seen_surface=SEEN,
        friction=0.3,
        kinetic_friction=0.2,
        pinned=[3],
    )
    scene = Scene([body], Ground(own["height"], friction=0.4, distance=DISTANCE))
    frame_time = SECONDS / frames
    return simulate(scene, SymplecticEuler(), frames=frames, frame_time=frame_time, substeps=steps)


def outcome(given: Values) -> list[Tensor]:
    return outcome_of(swung(given, 1, STEPS))


def test_what_a_second_landing_is_met_with_does_not_hang_on_the_first() -> None:
    heights = [frame.report.minimum_ground_distance for frame in swung({}, STEPS, 1)]
    touches = [height is not None and height < DISTANCE for height in heights]
    lands = [now and not before for before, now in pairwise(touches)]
    assert sum(lands) > 1
    Comparison(outcome, SWINGING).check("young", "density", "velocity", least=1e-2, spread=1e-6)
