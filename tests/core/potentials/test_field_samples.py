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
from supple.core.scene.channel import Channel
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


def torus(major: float, minor: float) -> SurfaceMesh:
    along, around = 96, 32
    a, b = np.meshgrid(np.arange(along) / along, np.arange(around) / around, indexing="ij")
    a, b = 2.0 * np.pi * a, 2.0 * np.pi * b
    away = major + minor * np.cos(b)
    points = np.stack([away * np.cos(a), away * np.sin(a), minor * np.sin(b)], axis=-1)
    i, j = np.meshgrid(np.arange(along), np.arange(around), indexing="ij")
    i_next, j_next = (i + 1) % along, (j + 1) % around
    quads = np.stack([i, i_next, i_next, i], axis=-1) * around
    quads = (quads + np.stack([j, j, j_next, j_next], axis=-1)).reshape(-1, 4)
    triangles = np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])
    return SurfaceMesh(points.reshape(-1, 3), triangles.astype(np.int32))


@pytest.mark.parametrize("resolution", [8, 14, 24])
def test_the_force_of_a_small_field_does_not_depend_on_the_resolution(resolution: int) -> None:
    major, minor, reach = 0.2, 0.06, 0.03
    source = np.array([major, 0.0, minor + 0.01])
    away = np.random.default_rng(0).uniform(-reach, reach, (300_000, 3))
    away = away[np.linalg.norm(away, axis=1) < reach]
    x, y, z = (away + source).T
    inside = (np.hypot(x, y) - major) ** 2 + z**2 < minor**2
    directions = away / np.linalg.norm(away, axis=1)[:, None]
    volume = 4.0 / 3.0 * np.pi * reach**3
    expected = -400.0 * DENSITY * volume * (directions * inside[:, None]).mean(axis=0)
    surface = torus(major, minor)
    surface.edge_length = 2.0 * (major + minor) / resolution
    (body,) = tetrahedralize_scene(Scene([SoftBody(surface, SOFT, DENSITY)]))[0].bodies
    field = ForceField("force", -400.0, tuple(source), falloff=Falloff(max_distance=reach))
    force = forces(body, field).sum(axis=0)
    assert np.linalg.norm(force - expected) < 0.05 * np.linalg.norm(expected)


def test_a_small_field_that_comes_near_pulls_as_one_that_is_there() -> None:
    there, body = small_field((0.4, 0.55, 1.08), 0.2), in_lattice(0.5)
    path = np.array([[0.4, 0.55, 9.0], [0.4, 0.55, 1.08], [0.4, 0.55, 1.08]])
    moving = ForceField("force", -30.0, Channel(path), falloff=Falloff(max_distance=0.2))
    expected = forces(body, there)
    system = System(Scene([body], forces=[moving]), torch.device("cpu"), torch.float64)
    (force,) = [each for each in system.forces if isinstance(each, FieldForce)]
    positions = system.rest_positions()
    for frame in range(2):
        force.begin_frame(positions, frame)
        force.go_to(frame, 1.0)
        out = torch.zeros_like(positions)
        force.add_rate_forces(positions, torch.zeros_like(out), out)
        np.testing.assert_allclose(-out.T.numpy(), expected, atol=1e-12)


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
