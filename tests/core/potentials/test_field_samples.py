# SPDX-License-Identifier: GPL-3.0-or-later
"""Test fields that vary within tets."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Scene, SoftBody, SurfaceMesh, TetMesh
from supple.core.materials import StableNeoHookean
from supple.core.potentials.field_force import FieldForce
from supple.core.potentials.registry import potentials_of
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.core.scene.force_fields import Falloff, ForceField, Wind
from supple.core.system import System
from supple.verification.meshes import block

DENSITY = 700.0
SOFT = StableNeoHookean(1e5, 0.3)


def forces(body: SoftBody, field: ForceField) -> np.ndarray:
    """The (N, 3) forces on the vertices of a body at rest, in newtons."""
    system = System(Scene([body], forces=[field]), torch.device("cpu"), torch.float64)
    (force,) = [each for each in system.forces if isinstance(each, FieldForce)]
    positions = system.rest_positions()
    out = torch.zeros_like(positions)
    force.begin_frame(positions, 0)
    force.add_rate_forces(positions, torch.zeros_like(out), out)
    return -out.T.numpy()


def box_surface() -> SurfaceMesh:
    mesh = block((4, 4, 4), (1.0, 1.0, 1.0))
    used, triangles = np.unique(mesh.surface, return_inverse=True)
    return SurfaceMesh(mesh.vertices[used], triangles.reshape(-1, 3).astype(np.int32))


def in_lattice(edge_length: float) -> SoftBody:
    surface = box_surface()
    surface.edge_length = edge_length
    (body,) = tetrahedralize_scene(Scene([SoftBody(surface, SOFT, DENSITY)]))[0].bodies
    return body


def small_field(origin: tuple[float, float, float], reach: float) -> ForceField:
    return ForceField("force", -30.0, origin=origin, falloff=Falloff(max_distance=reach))


def integral(field: ForceField, reach: float) -> np.ndarray:
    """The (3,) force of a field on a box of 1 m, by points all over its ball."""
    away = np.random.default_rng(0).uniform(-reach, reach, (400_000, 3))
    away = away[np.linalg.norm(away, axis=1) < reach]
    points = away + np.asarray(field.origin)
    inside = ((points > 0.0) & (points < 1.0)).all(axis=1)
    directions = away / np.linalg.norm(away, axis=1)[:, None]
    volume = 4.0 / 3.0 * np.pi * reach**3
    return -30.0 * DENSITY * volume * (directions * inside[:, None]).mean(axis=0)


@pytest.mark.parametrize("cells", [1, 2, 5])
@pytest.mark.parametrize("origin", [(0.37, 0.45, 1.05), (1.1, 0.52, 0.6)])
def test_a_field_smaller_than_a_tet_pulls_as_hard_as_by_integration(cells: int, origin) -> None:
    field = small_field(origin, 0.25)
    expected = integral(field, 0.25)
    mesh = block((cells,) * 3, (1.0, 1.0, 1.0))
    found = forces(SoftBody(mesh, SOFT, DENSITY), field).sum(axis=0)
    assert np.linalg.norm(found - expected) < 0.12 * np.linalg.norm(expected)


@pytest.mark.parametrize("edge_length", [0.5, 0.22, 0.11])
def test_a_field_outside_pulls_at_the_material_of_partly_filled_tets_alone(edge_length) -> None:
    field = small_field((0.4, 0.55, 1.08), 0.2)
    expected = integral(field, 0.2)
    found = forces(in_lattice(edge_length), field).sum(axis=0)
    assert np.linalg.norm(found - expected) < 0.15 * np.linalg.norm(expected)


def test_a_field_that_ends_before_the_material_does_nothing() -> None:
    field = small_field((0.4, 0.55, 1.25), 0.2)
    np.testing.assert_array_equal(forces(in_lattice(0.4), field), 0.0)


def test_a_field_that_is_the_same_all_over_a_body_pushes_every_vertex_alike() -> None:
    field = ForceField("wind", 3.0, falloff=Falloff(max_distance=1.9))
    body = in_lattice(0.4)
    assert isinstance(body.mesh, TetMesh)
    mass = body.mesh.lumped_mass(DENSITY)
    expected = np.outer(mass, [0.0, 0.0, 3.0])
    np.testing.assert_allclose(forces(body, field), expected, atol=1e-9 * mass.max())


def test_what_is_uniform_is_not_sampled() -> None:
    system = System(Scene([SoftBody(block(), SOFT)]), torch.device("cpu"), torch.float64)
    for field in (Wind((1.0, 0.0, 0.0)), ForceField("force", 1.0, origin=(0.0, 0.0, 50.0))):
        force = potentials_of(field, system)[0]
        assert isinstance(force, FieldForce) and type(force.law).__name__ != "SampledLaw"
