# SPDX-License-Identifier: GPL-3.0-or-later
"""Gradients through a ground that meets the points of a surface in explicit steps."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from supple.core import ContactSurface, Frame, Ground, Scene, SoftBody, SurfacePaint
from supple.core.adjoint import simulate
from supple.core.geometry.embedding import embed
from supple.core.geometry.tet_mesh import TetMesh
from supple.core.integrators import Integrator, Midpoint, RungeKutta4, SymplecticEuler
from supple.core.materials import StableNeoHookean
from supple.tests.core.adjoint.central_differences import Comparison, Values, outcome_of
from supple.verification.meshes import block

BLOCK = block((2, 1, 1), (0.2, 0.1, 0.1), (0.0, 0.0, 0.004))
#: A finer surface in it, which hangs out of it below.
FINE = block((5, 3, 1), (0.19, 0.09, 0.1), (0.004, 0.003, 0.003))
SEEN = ContactSurface(FINE.vertices, FINE.surface, embed(BLOCK, FINE.vertices))
PAINT = SurfacePaint(BLOCK.vertices, BLOCK.surface, 0.3 + 4.0 * BLOCK.vertices[:, 0])
LANDING: Values = {
    "young": 3e4,
    "density": 1000.0,
    "velocity": (0.3, 0.1, -0.5),
    "initial_positions": BLOCK.vertices,
    "damping": 0.5,
    "friction": 0.3,
    "kinetic_friction": 0.2,
    "height": 0.0,
}
SCHEMES = [SymplecticEuler(), Midpoint(), RungeKutta4()]


def landed(given: Values, scheme: Integrator, substeps: int = 40) -> list[torch.Tensor]:
    own = LANDING | given
    names = ("density", "velocity", "initial_positions", "damping", "friction", "kinetic_friction")
    body = SoftBody(
        BLOCK,
        StableNeoHookean(own["young"], 0.4),
        seen_surface=SEEN,
        friction_paint=PAINT,
        **{name: own[name] for name in names},
    )
    ground = Ground(own["height"], friction=0.4, distance=0.002)
    scene = Scene([body], ground)
    frames = simulate(scene, scheme, frames=2, frame_time=0.02, substeps=substeps)
    distance = frames[-1].report.minimum_ground_distance
    assert distance is not None and distance < 0.002
    return outcome_of(frames)


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda own: own.label)
def test_a_block_that_slides_on_the_points_of_its_surface(scheme: Integrator) -> None:
    comparison = Comparison(lambda given: landed(given, scheme), LANDING)
    comparison.check("young", "density", "velocity", "damping", "height", spread=1e-6)
    # Sweeps of forces end when little changes: one more of them is a jump, seldom within reach.
    comparison.check("initial_positions", spread=1e-7)
    comparison.check("friction", spread=1e-4)
    comparison.check("kinetic_friction", spread=1e-5)


def test_with_one_coefficient_it_is_the_static_one_that_points_slide_by() -> None:
    names = ("young", "velocity", "initial_positions", "friction")
    scheme = SymplecticEuler()
    Comparison(
        lambda given: landed({"kinetic_friction": None} | given, scheme),
        {name: LANDING[name] for name in names},
    ).check(spread=1e-6)


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
    for corners in ([(i, j), (i, j + 1), (i + 1, j)], [(i + 1, j), (i, j + 1), (i + 1, j + 1)])
    if all(corner in NUMBERS for corner in corners)
]
EXPLICIT_BOUNCES_SEEN = ContactSurface(POINTS, np.array(TRIANGLES), embed(TET, POINTS))
SWINGING: Values = {"young": 3e5, "density": 1000.0, "velocity": (0.0, 0.0, -1.0), "height": -5e-4}


def swung(given: Values, frames: int, steps: int) -> list[Frame]:
    own = SWINGING | given
    body = SoftBody(
        TET,
        StableNeoHookean(own["young"], 0.4),
        density=own["density"],
        velocity=own["velocity"],
        seen_surface=EXPLICIT_BOUNCES_SEEN,
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
    Comparison(outcome, SWINGING).check("young", "density", "velocity", least=5e-4, spread=1e-6)
