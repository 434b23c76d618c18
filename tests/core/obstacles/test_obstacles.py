# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the ground's effect on each vertex of each body."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from supple.core import Contact, Ground, Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import ImplicitEuler, Integrator, SymplecticEuler
from supple.core.materials import StableNeoHookean
from supple.core.obstacles import Obstacles
from supple.core.system import System

CPU = torch.device("cpu")
SMALL, LARGE = 0.01, 10.0


def _areas(mesh: TetMesh) -> list[float]:
    """Face by face: a third of each to its corners; inside, the face of a cube of the volume."""
    faces: dict[frozenset[int], int] = {}
    areas, volumes = [0.0] * len(mesh.vertices), [0.0] * len(mesh.vertices)
    for tet in mesh.tets.tolist():
        a, b, c, d = mesh.vertices[tet]
        for corner in tet:
            volumes[corner] += abs(float(np.dot(np.cross(b - a, c - a), d - a))) / 24.0
            face = frozenset(tet) - {corner}
            faces[face] = faces.get(face, 0) + 1
    for face in (face for face, count in faces.items() if count == 1):
        a, b, c = mesh.vertices[sorted(face)]
        for corner in face:
            areas[corner] += float(np.linalg.norm(np.cross(b - a, c - a))) / 6.0
    return [area or volumes[i] ** (2.0 / 3.0) for i, area in enumerate(areas)]


def test_the_ground_is_as_stiff_as_the_body_over_the_area_of_each_vertex(make_block) -> None:
    meshes = make_block((2, 2, 2), (1.0, 0.5, 2.0)), make_block((3, 2, 2), (0.3, 0.4, 0.2))
    pinned = np.array([1, 4])
    bodies = [
        SoftBody(meshes[0], StableNeoHookean(1e5, 0.3)),
        SoftBody(meshes[1], StableNeoHookean(3e6, 0.3), pinned=pinned),
    ]
    barrier = System(Scene(bodies, Ground()), CPU, torch.float64).ground_barrier
    assert barrier is not None
    expected = np.concatenate(
        [0.1 * body.material.young * np.array(_areas(body.mesh)) for body in bodies]
    )
    free = np.delete(np.arange(len(expected)), len(meshes[0].vertices) + pinned)
    np.testing.assert_array_equal(barrier.vertices.numpy(), free)
    np.testing.assert_allclose(barrier.weights.numpy(), expected[free], rtol=1e-12)
    diagonals = np.repeat([m.diagonal for m in meshes], [len(m.vertices) for m in meshes])
    np.testing.assert_allclose(barrier.distances.numpy(), 1e-3 * diagonals[free], rtol=1e-12)


def test_a_distance_of_the_grounds_own_counts_for_all(make_block) -> None:
    bodies = [SoftBody(make_block((1, 1, 1), (size,) * 3)) for size in (SMALL, LARGE)]
    barrier = Obstacles(
        Scene(bodies, Ground(distance=0.02)),
        [body.mesh for body in bodies],
        torch.ones(16, dtype=torch.float64),
    ).barrier
    assert barrier is not None
    assert barrier.distances.tolist() == [0.02] * 16


@pytest.mark.parametrize(
    ("integrator", "contact"),
    [(ImplicitEuler(), None), (ImplicitEuler(), Contact()), (SymplecticEuler(), None)],
    ids=["implicit", "implicit with contact", "explicit"],
)
def test_a_small_body_beside_a_large_one_rests_as_it_does_alone(
    make_block, integrator: Integrator, contact: Contact | None
) -> None:

    substeps = 40 if isinstance(integrator, SymplecticEuler) else None

    def height(*others: SoftBody) -> float:
        mesh = make_block((1, 1, 1), (SMALL,) * 3)
        body = SoftBody(mesh, StableNeoHookean(1e4, 0.3), damping=50.0)
        # With friction there is more than one equilibrium.
        scene = Scene([body, *others], Ground(friction=0.0), contact=contact)
        simulator = Simulator(scene, integrator, substeps=substeps)
        simulator.settle()
        *_, last = simulator.run(4)
        return float(last.positions[0][:, 2].min())

    large = make_block((1, 1, 1), (LARGE,) * 3, (1.0, 0.0, 0.0))
    # So soft and light that its own steps may be as long.
    beside = height(SoftBody(large, StableNeoHookean(1e4, 0.3), 10.0))
    assert beside == pytest.approx(height(), rel=1e-3)
    assert 0.0 < beside < 1e-3 * SMALL * math.sqrt(3.0)


def test_a_small_body_on_a_slope_creeps_no_faster_beside_a_large_one(make_block) -> None:
    """A sticking body creeps by a share of its size."""

    def crept(*others: SoftBody) -> float:
        mesh = make_block((1, 1, 1), (SMALL,) * 3)
        body = SoftBody(mesh, StableNeoHookean(1e5, 0.3))
        scene = Scene([body, *others], Ground(friction=0.5), gravity=(3.0, 0.0, -9.81))
        simulator = Simulator(scene, ImplicitEuler(1e-7))
        simulator.settle()
        # Where it settled depends on the way there; what is left of that goes first.
        list(simulator.run(6))
        start = simulator.state.positions[0].clone()
        list(simulator.run(4))
        return float((simulator.state.positions[0] - start)[:8].abs().max())

    mesh = make_block((1, 1, 1), (LARGE,) * 3, (1.0, 0.0, 0.0))
    large = SoftBody(mesh, StableNeoHookean(1e7, 0.3))
    alone = crept()
    assert 1e-7 * SMALL < alone < 3e-5 * SMALL * math.sqrt(3.0)
    # Friction holds normal forces as they settled, which rounding has a part in.
    assert 0.5 * alone < crept(large) < 2.0 * alone
