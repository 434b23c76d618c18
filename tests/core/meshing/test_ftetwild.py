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


class TestWithThePackage:
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
