# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
from scipy.sparse import csc_array
from scipy.sparse.linalg import spsolve

from supple.core import TetMesh, tetrahedralize
from supple.core.meshing.report import (
    altitudes,
    dihedral_angles,
    mean_ratios,
    report,
    thin_thickness,
)
from supple.core.meshing.surface import bending_ratio
from supple.verification.meshes import block

from .meshes import Surface, box

REGULAR = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
CORNER = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


def test_a_regular_tet_is_perfect() -> None:
    mesh = TetMesh(REGULAR, [[0, 1, 2, 3]])
    assert mean_ratios(mesh) == pytest.approx([1.0])
    np.testing.assert_allclose(dihedral_angles(mesh), np.degrees(np.arccos(1 / 3)))
    np.testing.assert_allclose(altitudes(mesh), np.sqrt(2 / 3) * np.sqrt(8))


def test_a_corner_tet_has_its_closed_forms() -> None:
    mesh = TetMesh(CORNER, [[0, 1, 2, 3]])
    assert mean_ratios(mesh) == pytest.approx([12 * 0.5 ** (2 / 3) / 9])
    angle = np.degrees(np.arctan(np.sqrt(2)))
    np.testing.assert_allclose(np.sort(dihedral_angles(mesh)[0]), [angle] * 3 + [90] * 3)
    np.testing.assert_allclose(np.sort(altitudes(mesh)[0]), [1 / np.sqrt(3), 1, 1, 1])


def test_a_flattened_tet_has_a_quality_near_zero() -> None:
    mesh = TetMesh(CORNER * [1, 1, 1e-4], [[0, 1, 2, 3]])
    assert mean_ratios(mesh)[0] < 0.01


def test_the_figures_are_those_of_the_worst_tet(make_block, cube) -> None:
    mesh = make_block((2, 2, 2), (2.0, 2.0, 2.0), (-1.0, -1.0, -1.0))
    found = report(mesh, *cube)
    assert (found.tets, found.vertices) == (48, 27)
    assert found.volume == pytest.approx(8) and found.surface_volume == pytest.approx(8)
    assert found.minimum_dihedral == pytest.approx(45)
    assert found.shortest_altitude == pytest.approx(np.sqrt(0.5))
    assert "48 tets, 27 vertices; volume 8 m³, as the surface" in str(found)


def test_the_surface_volume_minds_neither_orientation_nor_place(make_block, cube) -> None:
    mesh = make_block()
    vertices, triangles = cube
    assert report(mesh, vertices + 1e4, triangles[:, ::-1]).surface_volume == pytest.approx(8)


def test_an_open_surface_has_no_volume(plane) -> None:
    found = report(tetrahedralize(*plane, edge_length=0.3), *plane)
    assert found.surface_volume is None
    assert "open surface" in str(found)


def test_a_report_can_be_written_as_json(make_block, cube) -> None:
    found = report(make_block(), *cube)
    assert json.loads(json.dumps(asdict(found)))["tets"] == found.tets


def test_loose_parts_are_counted_and_the_pieces_that_overlap_make(cube) -> None:
    """Three cubes of 2 m, of which two overlap, and one whose faces share no vertices."""
    vertices, triangles = cube
    along = np.array([1.0, 0.0, 0.0])
    places = [vertices + offset * along for offset in (0.0, 1.5, 8.0)]
    faces = [triangles + k * len(vertices) for k in range(3)]
    split = vertices[triangles].reshape(-1, 3) + 20.0 * along
    points = np.concatenate([*places, split])
    count = 3 * len(vertices)
    corners = np.concatenate([*faces, count + np.arange(len(split)).reshape(-1, 3)])
    found = report(tetrahedralize(points, corners, edge_length=0.7), points, corners)
    assert (found.loose_parts, found.pieces) == (4, 3)
    assert "4 loose parts, 3 pieces" in str(found)


RADIUS, LENGTH, POISSON = 0.005, 1.0, 0.3
# Vertices up to here are clamped.
CLAMPED = 0.02


def cable(corners: int = 12, rings: int = 32) -> Surface:
    """A round bar along x, with ends at 0 and 1 m."""
    turn = 2.0 * np.pi * np.arange(corners) / corners
    ring = RADIUS * np.stack([np.zeros(corners), np.cos(turn), np.sin(turn)], axis=1)
    places = [ring + np.array([LENGTH * k / rings, 0.0, 0.0]) for k in range(rings + 1)]
    vertices = np.concatenate([*places, [[0.0, 0.0, 0.0]], [[LENGTH, 0.0, 0.0]]])
    one = np.arange(corners)
    other, last = (one + 1) % corners, rings * corners
    triangles = []
    for k in range(rings):
        low, high = k * corners, (k + 1) * corners
        triangles += [np.stack([low + one, low + other, high + other], axis=1)]
        triangles += [np.stack([low + one, high + other, high + one], axis=1)]
    ends = np.full(corners, len(vertices) - 2)
    triangles += [np.stack([ends, other, one], axis=1)]
    triangles += [np.stack([ends + 1, last + one, last + other], axis=1)]
    return vertices, np.concatenate(triangles)


def sag(mesh: TetMesh) -> float:
    """The sag of the free end under ρ g = E, clamped at the other, by linear elasticity."""
    first, shear = POISSON / ((1 + POISSON) * (1 - 2 * POISSON)), 0.5 / (1 + POISSON)
    gradients = mesh.shape_gradients
    products = np.einsum("mai,mbj->mabij", gradients, gradients)
    traces = np.einsum("mabii->mab", products)[..., None, None] * np.eye(3)
    blocks = first * products + shear * (products.swapaxes(3, 4) + traces)
    blocks *= mesh.material_volumes[:, None, None, None, None]
    entries = blocks.transpose(0, 1, 3, 2, 4).reshape(-1)
    numbers = (3 * mesh.tets[:, :, None] + np.arange(3)).reshape(len(mesh.tets), 12)
    rows, columns = np.repeat(numbers, 12, axis=1).ravel(), np.tile(numbers, (1, 12)).ravel()
    size = 3 * len(mesh.vertices)
    stiffness = csc_array((entries, (rows, columns)), (size, size))
    forces = np.zeros((len(mesh.vertices), 3))
    forces[:, 2] = -mesh.lumped_mass(1.0)
    free = np.repeat(mesh.vertices[:, 0] > CLAMPED, 3)
    moves = np.zeros(size)
    moves[free] = spsolve(stiffness[free][:, free], forces.ravel()[free])
    tip = mesh.vertices[:, 0] > 0.97 * LENGTH
    return -float(moves.reshape(-1, 3)[tip, 2].mean())


def filled(cells: int) -> TetMesh:
    vertices, triangles = cable()
    return tetrahedralize(vertices, triangles, "lattice", LENGTH / cells)


@pytest.mark.parametrize("cells", [16, 24, 32, 64])
def test_a_thin_cable_bends_no_more_stiffly_than_tets_that_fit_it(cells: int) -> None:
    # As wide as the second moment of area over the area demands.
    side = 3.0**0.5 * RADIUS
    fitting = sag(block((cells, 1, 1), (LENGTH, side, side)))
    assert sag(filled(cells)) > fitting


@pytest.mark.parametrize("cells", [16, 32, 64])
def test_a_thin_cable_has_the_mass_of_its_material(cells: int) -> None:
    volume = np.pi * RADIUS**2 * LENGTH
    assert filled(cells).material_volumes.sum() == pytest.approx(volume, rel=0.1)


@pytest.mark.parametrize("cells", [16, 32, 64, 100])
def test_what_is_reported_is_by_how_much_a_cable_bends_too_stiffly(cells: int) -> None:
    vertices, triangles = cable()
    mesh = filled(cells)
    beam = LENGTH**4 / (2.0 * RADIUS**2)
    found = report(mesh, vertices, triangles, LENGTH / cells)
    assert found.bending_ratio == pytest.approx(beam / sag(mesh), rel=0.35)
    assert f"thin parts bend {found.bending_ratio:.2g} times too stiffly" in str(found)


def test_what_is_thick_is_not_reported() -> None:
    vertices, triangles = box((0, 0, 0), (1, 1, 1), (4, 4, 4))
    found = report(tetrahedralize(vertices, triangles, "lattice", 0.1), vertices, triangles)
    assert found.bending_ratio == pytest.approx(1.0, abs=0.05)
    assert "bend" not in str(found)


def test_stiffness_falls_with_the_square_of_the_edge_length() -> None:
    assert bending_ratio(0.02, 0.01) - 1.0 == pytest.approx(4.0 * (bending_ratio(0.01, 0.01) - 1.0))


@pytest.mark.parametrize("turn", [0.0, 0.4])
def test_thickness_is_measured_across_whatever_the_direction(turn: float) -> None:
    axes = np.array([[np.cos(turn), -np.sin(turn), 0], [np.sin(turn), np.cos(turn), 0], [0, 0, 1]])
    for (vertices, triangles), thickness in (
        (cable(), 2.0 * RADIUS * np.cos(np.pi / 12)),
        (box((0, 0, 0), (1, 1, 0.05), (4, 4, 1)), 0.05),
    ):
        for faces in (triangles, triangles[:, ::-1]):
            assert thin_thickness(vertices @ axes, faces) == pytest.approx(thickness, rel=0.01)


def test_an_open_sheet_and_a_wedge_have_no_thickness() -> None:
    vertices, triangles = box((0, 0, 0), (1, 1, 1), (2, 2, 2))
    sheet = triangles[(vertices[triangles, 2] == 0.0).all(axis=1)]
    assert thin_thickness(vertices, sheet) == np.inf
    turn = 2.0 * np.pi * np.arange(24) / 24
    ring = np.stack([np.cos(turn), np.sin(turn), np.zeros(24)], axis=1)
    one, other = np.arange(24), (np.arange(24) + 1) % 24
    sides = np.stack([one, other, np.full(24, 24)], axis=1)
    foot = np.stack([other, one, np.full(24, 25)], axis=1)
    cone = np.concatenate([ring, [[0.0, 0.0, 2.0], [0.0, 0.0, 0.0]]])
    assert thin_thickness(cone, np.concatenate([sides, foot])) == np.inf


def test_the_thickness_of_a_plate_is_the_same_whichever_way_its_triangles_face() -> None:
    mesh = block((6, 4, 1), (1.0, 0.7, 0.05))
    assert thin_thickness(mesh.vertices, mesh.surface) == pytest.approx(0.05, rel=1e-4)
    turned = np.ascontiguousarray(mesh.surface[:, ::-1])
    assert thin_thickness(mesh.vertices, turned) == pytest.approx(0.05, rel=1e-4)
