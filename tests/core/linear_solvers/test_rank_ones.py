# SPDX-License-Identifier: GPL-3.0-or-later
"""Systems with terms of rank one beside a block matrix, beside dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core.linear_solvers.conjugate_gradients import RankOneUpdate
from supple.core.linear_solvers.direct import is_available
from supple.core.linear_solvers.linear_solver import LinearSolver
from supple.tests.core.dense import dense

from .implicit_systems import ImplicitSystem, implicit_system

FACTORS = (1e3, 1e9)


def with_terms(make_block, factors=FACTORS) -> ImplicitSystem:
    system = implicit_system(make_block((3, 2, 2)), pinned=(0, 5))
    random = torch.Generator().manual_seed(8)
    for factor in factors:
        direction = torch.randn(system.positions.shape, generator=random, dtype=torch.float64)
        system.matrix.add_rank_one(direction, factor)
    return system


def exact(system: ImplicitSystem) -> np.ndarray:
    size = 3 * system.pattern.size
    whole = dense(system.matrix).reshape(size, size).numpy()
    return np.linalg.solve(whole, system.rhs().numpy().ravel()).reshape(-1, 3)


def solver_of(system: ImplicitSystem) -> LinearSolver:
    solver = LinearSolver(
        system.pattern, system.group_offsets, system.positions.numpy(), torch.float64
    )
    solver.prepare(system.matrix, system.positions)
    return solver


def check(system: ImplicitSystem, found: torch.Tensor) -> None:
    expected = exact(system)
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("is_compiled", [True, False])
def test_conjugate_gradients_solve_with_stiff_terms(is_compiled, make_block, request) -> None:
    if not is_compiled:
        request.getfixturevalue("without_compiled_loops")
    system, plain = with_terms(make_block), with_terms(make_block, ())
    solution = solver_of(system).solve(system.rhs(), 1e-9, 0.0)
    check(system, solution.x)
    # However stiff, they cost few iterations.
    without = solver_of(plain).solve(plain.rhs(), 1e-9, 0.0)
    assert solution.end == "converged" and solution.iterations <= without.iterations + 8


@pytest.mark.skipif(not is_available(), reason="no direct solver here")
def test_the_direct_solver_solves_with_stiff_terms(make_block) -> None:
    system = with_terms(make_block)
    solver = solver_of(system)
    solver._is_direct = True
    check(system, solver.solve(system.rhs(), 1e-9, 0.0).x)
    assert solver.factorizations == 1


def test_what_is_indefinite_but_for_a_term_is_solved(make_block) -> None:
    """As a balloon that gives way under its pressure, whose volume is given."""
    system = implicit_system(make_block((2, 2, 2)))
    values, vectors = np.linalg.eigh(system.dense)
    # All six rigid motions get a negative eigenvalue.
    system.matrix.values[system.pattern.diagonal, ::4] -= 1.5 * values[0]
    assert solver_of(system).solve(system.rhs(), 1e-9, 0.0).end == "indefinite"
    for vector in vectors.T[:6]:
        direction = torch.as_tensor(vector.reshape(-1, 3).copy())
        system.matrix.add_rank_one(direction, 1e3 * float(values[0]))
    check(system, solver_of(system).solve(system.rhs(), 1e-10, 0.0).x)


def test_an_update_is_the_inverse_of_the_sum(make_block) -> None:
    system = with_terms(make_block)
    matrix = torch.as_tensor(system.dense)

    def inverse(vector: torch.Tensor) -> torch.Tensor:
        return torch.linalg.solve(matrix, vector.reshape(-1)).view_as(vector)

    update = RankOneUpdate(system.matrix.rank_ones, inverse)
    check(system, update.corrected(inverse(system.rhs())))
    whole = dense(system.matrix).reshape(len(matrix), -1)
    expected = ((whole - matrix) @ system.rhs().reshape(-1)).view(-1, 3)
    torch.testing.assert_close(update.product(system.rhs()), expected)


def test_what_is_added_to_a_copy_leaves_the_matrix_and_its_terms_alone(make_block) -> None:
    matrix = with_terms(make_block).matrix
    before, copy = dense(matrix), matrix.copy()
    assert torch.equal(dense(copy), before)
    copy.add_diagonal(torch.ones(matrix.pattern.size, dtype=torch.float64))
    copy.add_rank_one(*matrix.rank_ones[0])
    assert torch.equal(dense(matrix), before)
    assert not torch.equal(dense(copy), before)


@pytest.mark.skipif(not is_available(), reason="no direct solver here")
def test_what_has_no_factor_is_iterated_on_only_where_the_next_has_none_either(make_block) -> None:
    system = implicit_system(make_block((2, 2, 2)))
    solver, rhs = solver_of(system), system.rhs()
    solver._is_direct = True
    diagonal = system.matrix.values[system.pattern.diagonal, ::4].clone()

    def end(factor: float) -> tuple[str, int]:
        system.matrix.values[system.pattern.diagonal, ::4] = factor * diagonal
        solver.prepare(system.matrix, torch.zeros_like(rhs))
        solution = solver.solve(rhs, 1e-9, 0.0)
        return solution.end, solution.iterations

    assert end(-1.0) == ("indefinite", 0)
    assert end(1.0) == ("converged", 0)
    assert end(-1.0) == ("indefinite", 0)
    end(-1.0)
    ended, iterations = end(1.0)
    assert ended == "converged" and iterations > 0
