# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from supple.core import SceneError, tetrahedralize


def test_without_the_package_it_says_which_one_and_what_else_to_use(cube, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "pytetwild", None)
    with pytest.raises(SceneError, match=r"package pytetwild .* use the lattice method"):
        tetrahedralize(*cube, method="ftetwild")


class TestWithFTetWild:
    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        pytest.importorskip("pytetwild")

    @pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e-3, 5.0), (100.0, -300.0)])
    def test_it_fills_a_cube_at_any_scale_and_place(self, cube, scale, shift) -> None:
        vertices, triangles = cube
        mesh = tetrahedralize(
            vertices * scale + shift, triangles, method="ftetwild", edge_length=0.5 * scale
        )
        assert mesh.rest_volumes.sum() / scale**3 == pytest.approx(8.0, rel=0.02)
        np.testing.assert_allclose(mesh.vertices.min(axis=0), shift - scale, atol=0.03 * scale)

    def test_it_takes_a_surface_that_intersects_itself(self, cube) -> None:
        vertices, triangles = cube
        mesh = tetrahedralize(
            np.concatenate([vertices, vertices + 0.7]),
            np.concatenate([triangles, triangles + 8]),
            method="ftetwild",
            edge_length=0.6,
        )
        assert mesh.rest_volumes.sum() == pytest.approx(16 - 1.3**3, rel=0.03)

    def test_an_edge_length_that_would_take_hours_is_refused(self, cube) -> None:
        with pytest.raises(SceneError, match=r"use .* or more"):
            tetrahedralize(*cube, method="ftetwild", edge_length=0.01)

    def test_nothing_is_left_in_the_current_folder(self, cube, tmp_path, monkeypatch) -> None:
        monkeypatch.chdir(tmp_path)
        tetrahedralize(*cube, method="ftetwild", edge_length=0.5)
        assert not list(tmp_path.iterdir())
        assert Path.cwd() == tmp_path


def test_tetgen_without_the_package_it_says_which_one_and_what_else_to_use(
    cube, monkeypatch
) -> None:
    monkeypatch.setitem(sys.modules, "tetgen", None)
    with pytest.raises(SceneError, match=r"package tetgen, .* use the lattice method"):
        tetrahedralize(*cube, method="tetgen")


class TestWithTetgen:
    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        pytest.importorskip("tetgen")

    @pytest.mark.parametrize("shift", [0.0, 1000.0])
    def test_it_fills_a_cube_exactly(self, cube, shift) -> None:
        vertices, triangles = cube
        mesh = tetrahedralize(vertices + shift, triangles, method="tetgen", edge_length=0.5)
        assert mesh.rest_volumes.sum() == pytest.approx(8.0, rel=1e-9)
        assert mesh.rest_volumes.max() <= 1.5 * 0.5**3 / 8.5

    def test_a_surface_with_a_hole_is_refused(self, cube) -> None:
        vertices, triangles = cube
        with pytest.raises(SceneError, match=r"has holes .* lattice"):
            tetrahedralize(vertices, triangles[:-1], method="tetgen")

    def test_a_surface_that_intersects_itself_is_refused(self, cube) -> None:
        vertices, triangles = cube
        twice = np.concatenate([vertices, vertices + np.array([0.7, 0.6, 0.5])])
        with pytest.raises(SceneError, match=r"refused .* lattice"):
            tetrahedralize(twice, np.concatenate([triangles, triangles + 8]), method="tetgen")

    def test_nothing_is_left_in_the_current_folder(self, cube, tmp_path, monkeypatch) -> None:
        monkeypatch.chdir(tmp_path)
        tetrahedralize(*cube, method="tetgen", edge_length=0.5)
        assert not list(tmp_path.iterdir())
        assert Path.cwd() == tmp_path
