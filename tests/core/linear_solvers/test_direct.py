# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import sys
from dataclasses import dataclass

import numpy as np
import pytest

from supple.core import SuppleError, TetMesh
from supple.core.linear_solvers.direct import (
    DirectSolver,
    NotPositiveDefiniteError,
    is_available,
    nested_dissection,
)

RELATIVE_RESIDUAL = 1e-10
STEP = 1.0 / 24.0
DENSITY = 1000.0


@dataclass
class BlockSystem:
    """M / h² + K of a body at rest, as the solver takes it and as a dense matrix."""

    offsets: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    dense: np.ndarray
    positions: np.ndarray

    def solver(self) -> DirectSolver:
        return DirectSolver(self.offsets, self.columns, self.positions)


def implicit_step(mesh: TetMesh, young: float = 1e6, poisson: float = 0.45) -> BlockSystem:
    shear = young / (2 * (1 + poisson))
    lame = young * poisson / ((1 + poisson) * (1 - 2 * poisson))
    g, count = mesh.shape_gradients, len(mesh.vertices)
    outer = np.einsum("mai,mbj->mabij", g, g)
    dots = np.einsum("mabii->mab", outer)[..., None, None] * np.eye(3)
    elements = shear * (dots + outer.swapaxes(3, 4)) + lame * outer
    elements *= mesh.rest_volumes[:, None, None, None, None]
    blocks = np.zeros((count, count, 3, 3))
    np.add.at(blocks, (mesh.tets[:, :, None], mesh.tets[:, None, :]), elements)
    occupied = blocks.any(axis=(2, 3))
    masses = mesh.lumped_mass(DENSITY) / STEP**2
    blocks[np.arange(count), np.arange(count)] += masses[:, None, None] * np.eye(3)
    return BlockSystem(
        np.concatenate([[0], occupied.sum(axis=1).cumsum()]).astype(np.int32),
        occupied.nonzero()[1].astype(np.int32),
        blocks[occupied].reshape(-1, 9),
        blocks.swapaxes(1, 2).reshape(3 * count, 3 * count),
        mesh.vertices,
    )


def relative_residual(dense: np.ndarray, x: np.ndarray, rhs: np.ndarray) -> float:
    return float(np.linalg.norm(dense @ x.ravel() - rhs.ravel()) / np.linalg.norm(rhs))


def test_without_the_package_it_says_which_one_and_what_else_to_use(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "cvxopt", None)
    assert not is_available()
    with pytest.raises(SuppleError, match=r"package cvxopt.* choose conjugate gradients"):
        DirectSolver(np.array([0, 1], np.int32), np.zeros(1, np.int32), np.zeros((1, 3)))


class TestWithThePackage:
    @pytest.fixture(autouse=True)
    def _installed(self) -> None:
        pytest.importorskip("cvxopt")

    @pytest.fixture
    def system(self, make_block) -> BlockSystem:
        return implicit_step(make_block((3, 4, 5)))

    @pytest.fixture
    def rhs(self, system: BlockSystem) -> np.ndarray:
        return np.random.default_rng(1).standard_normal(system.positions.shape)

    def test_it_is_available(self) -> None:
        assert is_available()

    @pytest.mark.parametrize(("young", "poisson"), [(1e6, 0.45), (1e7, 0.49)])
    def test_what_it_solves_is_the_assembled_system(self, make_block, rhs, young, poisson) -> None:
        system = implicit_step(make_block((3, 4, 5)), young, poisson)
        solver = system.solver()
        solver.factorize(system.values)
        assert relative_residual(system.dense, solver.solve(rhs), rhs) < RELATIVE_RESIDUAL

    def test_bodies_that_do_not_touch_are_solved_together(self, make_block) -> None:
        here, there = make_block((3, 3, 3)), make_block((2, 2, 2), origin=(9.0, 0.0, 0.0))
        tets = np.concatenate([here.tets, there.tets + len(here.vertices)])
        system = implicit_step(TetMesh(np.concatenate([here.vertices, there.vertices]), tets))
        rhs = np.random.default_rng(1).standard_normal(system.positions.shape)
        solver = system.solver()
        solver.factorize(system.values)
        assert relative_residual(system.dense, solver.solve(rhs), rhs) < RELATIVE_RESIDUAL

    def test_other_values_on_the_same_pattern_replace_the_factor(self, system, rhs) -> None:
        rows = np.repeat(np.arange(len(rhs)), np.diff(system.offsets))
        softer = 0.25 * system.values
        softer[system.columns == rows] += np.eye(3).ravel()
        solver = system.solver()
        solver.factorize(system.values)
        solver.factorize(softer)
        dense = 0.25 * system.dense + np.eye(len(system.dense))
        assert relative_residual(dense, solver.solve(rhs), rhs) < RELATIVE_RESIDUAL

    def test_a_solution_is_not_overwritten_by_the_next(self, system, rhs) -> None:
        solver = system.solver()
        solver.factorize(system.values)
        first = solver.solve(rhs)
        copy = first.copy()
        np.testing.assert_allclose(solver.solve(2.0 * rhs), 2.0 * copy, rtol=1e-12)
        np.testing.assert_array_equal(first, copy)

    def test_an_indefinite_matrix_is_refused_and_the_next_one_solved(self, system, rhs) -> None:
        solver = system.solver()
        indefinite = system.values.copy()
        indefinite[system.offsets[-2] :] *= -1.0
        with pytest.raises(NotPositiveDefiniteError, match="not positive definite"):
            solver.factorize(indefinite)
        solver.factorize(system.values)
        assert relative_residual(system.dense, solver.solve(rhs), rhs) < RELATIVE_RESIDUAL

    def test_a_value_that_is_not_finite_is_refused(self, system) -> None:
        system.values[3, 4] = np.nan
        with pytest.raises(NotPositiveDefiniteError, match="not finite"):
            system.solver().factorize(system.values)

    def test_arrays_of_another_shape_are_refused(self, system, rhs) -> None:
        solver = system.solver()
        with pytest.raises(ValueError, match="values must be"):
            solver.factorize(system.values.reshape(-1, 3, 3))
        solver.factorize(system.values)
        with pytest.raises(ValueError, match="right-hand side must be"):
            solver.solve(rhs[1:])
        with pytest.raises(ValueError, match="positions must be"):
            DirectSolver(system.offsets, system.columns, system.positions[1:])


def _pattern(mesh: TetMesh) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compressed sparse rows, and the same as a dense matrix of truths."""
    dense = np.zeros((len(mesh.vertices),) * 2, dtype=bool)
    dense[mesh.tets[:, :, None], mesh.tets[:, None, :]] = True
    offsets = np.concatenate([[0], dense.sum(axis=1).cumsum()]).astype(np.int32)
    return offsets, dense.nonzero()[1].astype(np.int32), dense


def _fill(dense: np.ndarray, order: np.ndarray) -> int:
    """Entries of the Cholesky factor."""
    pattern = dense[np.ix_(order, order)]
    for k in range(len(order)):
        below = k + 1 + np.flatnonzero(pattern[k + 1 :, k])
        pattern[np.ix_(below, below)] = True
    return int(np.tril(pattern).sum())


@pytest.fixture
def mesh(make_block) -> TetMesh:
    return make_block((7, 7, 7))


def test_every_vertex_is_eliminated_once(mesh) -> None:
    offsets, columns, _ = _pattern(mesh)
    order = nested_dissection(offsets, columns, mesh.vertices)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(mesh.vertices)))


def test_the_factor_fills_in_less_than_in_the_order_of_the_vertices(mesh) -> None:
    offsets, columns, dense = _pattern(mesh)
    order = nested_dissection(offsets, columns, mesh.vertices)
    assert _fill(dense, order) < 0.7 * _fill(dense, np.arange(len(order)))


def test_vertices_in_one_place_are_ordered_too(mesh) -> None:
    offsets, columns, _ = _pattern(mesh)
    order = nested_dissection(offsets, columns, np.zeros_like(mesh.vertices))
    np.testing.assert_array_equal(np.sort(order), np.arange(len(mesh.vertices)))


def test_bodies_that_do_not_touch_are_parted_without_a_separator(make_block) -> None:
    here, there = make_block((3, 3, 3)), make_block((3, 3, 3), origin=(9.0, 0.0, 0.0))
    count = len(here.vertices)
    both = TetMesh(
        np.concatenate([here.vertices, there.vertices]),
        np.concatenate([here.tets, there.tets + count]),
    )
    offsets, columns, _ = _pattern(both)
    order = nested_dissection(offsets, columns, both.vertices)
    assert set(order[:count]) == set(range(count))
