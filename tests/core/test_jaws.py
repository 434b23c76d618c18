# SPDX-License-Identifier: GPL-3.0-or-later
"""Coarse bodies whose tetrahedra touch, squeezed between two jaws that lift them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from supple.core import Collider, Contact, Ground, Scene, Simulator, SoftBody, SurfaceMesh
from supple.core.integrators import Automatic
from supple.core.materials import StableNeoHookean

SIZE, RESOLUTION, FRICTION = 0.2, 4, 0.8
CLOSING, LIFTING = 8, 12
# Of the size: how far the jaws are from the body at first, and by how much they squeeze it.
GAP, SQUEEZE = 0.01, 0.3


def hull(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points on a convex surface around the origin, and triangles that face outwards."""
    triangles = ConvexHull(points).simplices
    a, b, c = points[triangles].swapaxes(0, 1)
    inward = np.einsum("ki,ki->k", np.cross(b - a, c - a), a) < 0.0
    triangles[inward] = triangles[inward][:, ::-1]
    return points, triangles


CUBE = hull(np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]))


def ball() -> tuple[np.ndarray, np.ndarray]:
    """A ball of 200 points on a spiral."""
    index = np.arange(200) + 0.5
    height, angle = 1.0 - index / 100.0, np.pi * (1.0 + np.sqrt(5.0)) * index
    radius = np.sqrt(1.0 - height * height)
    return hull(0.5 * np.stack([radius * np.cos(angle), radius * np.sin(angle), height], axis=1))


def jaw(side: float) -> Collider:
    """A block that comes from one side, and goes up by the size of the body."""
    vertices, triangles = CUBE
    frames = np.arange(CLOSING + LIFTING + 1)
    closed = np.minimum(frames / CLOSING, 1.0)
    # Half of its own width beside the face that touches.
    aside = side * SIZE * (0.5 + GAP - closed * (GAP + 0.5 * SQUEEZE) + 0.1)
    up = SIZE * np.maximum(frames - CLOSING, 0) / LIFTING
    path = np.stack([aside, 0.0 * up, up + 0.6 * SIZE], axis=1)
    block = SIZE * vertices * (0.2, 1.2, 1.2)
    return Collider(path[:, None] + block, triangles, friction=FRICTION)


@pytest.mark.parametrize("shape", [CUBE, ball()], ids=["cube", "ball"])
def test_a_coarse_body_is_held_and_lifted_by_its_tetrahedra(shape) -> None:
    points, triangles = shape
    vertices = SIZE * (points + np.array([0.0, 0.0, 0.501]))
    body = SoftBody(
        SurfaceMesh(vertices, triangles, edge_length=SIZE / RESOLUTION),
        StableNeoHookean(3e4, 0.45),
        touching="tetrahedra",
        friction=FRICTION,
    )
    scene = Scene([body], Ground(), contact=Contact(), colliders=[jaw(-1.0), jaw(1.0)])
    simulator = Simulator(scene, Automatic(), device="cpu")
    centres = []
    for frame in simulator.run(CLOSING + LIFTING):
        centres.append(frame.positions[0].numpy().mean(axis=0))
        assert frame.report.minimum_volume_ratio > 0.4
    lifted = centres[-1] - centres[CLOSING - 1]
    assert np.abs(lifted[:2]).max() < 0.02 * SIZE
    assert lifted[2] == pytest.approx(SIZE, abs=0.1 * SIZE)
