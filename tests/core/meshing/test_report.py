# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from supple.core import TetMesh, tetrahedralize
from supple.core.meshing.report import altitudes, dihedral_angles, mean_ratios, report

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
