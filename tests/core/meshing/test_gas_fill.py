# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the amount of gas in the cells of a hollow's wall."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core import TetMesh
from supple.core.geometry.gas_boundary import enclosed_volumes, gas_boundary
from supple.core.geometry.gas_boundary import gas_volume as gas_of
from supple.core.meshing import tetrahedralize

from .meshes import Surface, box

# A finger with walls of a sixth of its width.
OUTER, INNER = ((0, 0, 0), (0.06, 0.16, 0.3)), ((0.01, 0.01, 0.01), (0.05, 0.15, 0.29))
HOLLOW = 0.04 * 0.14 * 0.28
# Its length outside and inside, across and along.
SIDES = (0.16, 0.14), (0.3, 0.28)


def joined(*parts: Surface) -> Surface:
    vertices, triangles, count = [], [], 0
    for points, faces in parts:
        vertices.append(points)
        triangles.append(faces + count)
        count += len(points)
    return np.concatenate(vertices), np.concatenate(triangles)


def inside_out(surface: Surface) -> Surface:
    return surface[0], surface[1][:, ::-1]


def finger() -> Surface:
    return joined(box(*OUTER, (2, 4, 8)), inside_out(box(*INNER, (2, 4, 8))))


def turned(surface: Surface) -> Surface:
    axes, _ = np.linalg.qr([[1.0, 0.3, 0.2], [0.4, 1.0, 0.5], [0.1, 0.3, 1.0]])
    return surface[0] @ axes.T, surface[1] if np.linalg.det(axes) > 0 else surface[1][:, ::-1]


@pytest.mark.parametrize("cells", [4, 10, 14])
@pytest.mark.parametrize("pose", [lambda surface: surface, turned], ids=["straight", "turned"])
def test_gas_has_the_volume_of_the_hollow_whatever_the_size_of_cells(pose, cells: int) -> None:
    vertices, triangles = pose(finger())
    mesh = tetrahedralize(vertices, triangles, "lattice", 0.3 / cells)
    # Where cells are no smaller than the finger is wide, they do not hold all of it.
    assert gas_of(mesh) == pytest.approx(HOLLOW, rel=0.04 if cells < 10 else 1e-6)


@pytest.mark.parametrize("cells", [10, 11, 13, 16])
def test_gas_does_the_same_work_on_a_bulge_whatever_the_size_of_cells(cells: int) -> None:
    """Its volume and, as it grows sideways in the middle most, the rate of that."""
    mesh = tetrahedralize(*finger(), "lattice", 0.3 / cells)
    assert gas_of(mesh) == pytest.approx(HOLLOW, rel=1e-6)
    triangles, weights = gas_boundary(mesh)
    centred = mesh.vertices - np.array([0.03, 0.08, 0.15])
    waves = np.cos(np.pi * centred[:, 1:] / np.array([0.16, 0.3])).prod(axis=1)
    bulge = np.zeros_like(centred)
    bulge[:, 0] = centred[:, 0] * waves
    step = 1e-4
    grown, shrunk = (
        float(weights @ enclosed_volumes(mesh.vertices + side * step * bulge, triangles))
        for side in (1.0, -1.0)
    )
    # The integral of its divergence over the hollow.
    sides = [2.0 * length / np.pi * np.sin(0.5 * np.pi * inner / length) for length, inner in SIDES]
    expected = 0.04 * sides[0] * sides[1]
    assert (grown - shrunk) / (2.0 * step) == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize("cells", [5, 12])
def test_gas_of_a_stretched_body_has_the_volume_of_the_stretched_hollow(cells: int) -> None:
    mesh = tetrahedralize(*finger(), "lattice", 0.3 / cells)
    triangles, weights = gas_boundary(mesh)
    stretched = mesh.vertices * [2.0, 1.0, 0.5]
    volume = float(weights @ enclosed_volumes(stretched, triangles))
    assert volume == pytest.approx(gas_of(mesh), rel=1e-9)
    a, b, c = stretched[triangles].swapaxes(0, 1)
    areas = weights[:, None] * np.cross(b - a, c - a)
    assert np.abs(areas.sum(axis=0)).max() < 1e-12


def test_all_that_is_inside_out_has_the_same_gas() -> None:
    mesh = tetrahedralize(*inside_out(finger()), "lattice", 0.03)
    assert gas_of(mesh) == pytest.approx(HOLLOW, rel=0.04)


def test_a_part_that_lies_in_the_hollow_is_no_gas() -> None:
    inner = box((0.02, 0.05, 0.1), (0.04, 0.11, 0.2), (2, 2, 2))
    mesh = tetrahedralize(*joined(finger(), inner), "lattice", 0.02)
    assert gas_of(mesh) == pytest.approx(HOLLOW, rel=0.04)
    within = (np.abs(mesh.vertices[mesh.tets].mean(axis=1) - [0.03, 0.08, 0.15]) < 0.009).all(
        axis=1
    )
    assert mesh.gas is not None and within.any() and mesh.gas[within].max() == 0.0


@pytest.mark.parametrize(
    "surface",
    [
        box(*OUTER, (2, 4, 8)),
        joined(box(*OUTER, (2, 4, 8)), box(*INNER, (2, 4, 8))),
        joined(box(*OUTER, (2, 4, 8)), inside_out(box((1, 1, 1), (1.1, 1.1, 1.1), (1, 1, 1)))),
    ],
    ids=["solid", "one in another", "inside out beside"],
)
def test_what_has_no_hollow_has_no_gas_in_its_tets(surface: Surface) -> None:
    assert tetrahedralize(*surface, "lattice", 0.03).gas is None


def test_gas_stays_in_a_mesh_with_other_vertices() -> None:
    mesh = tetrahedralize(*finger(), "lattice", 0.03)
    assert isinstance(mesh, TetMesh)
    np.testing.assert_array_equal(mesh.with_vertices(2.0 * mesh.vertices).gas, mesh.gas)
