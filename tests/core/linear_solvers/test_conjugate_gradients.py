# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from supple.core.linear_solvers import conjugate_gradients as compiled_cg
from supple.core.linear_solvers import conjugate_gradients as torch_cg
from supple.core.linear_solvers import rigid_modes
from supple.core.linear_solvers import rigid_modes as torch_rigid_modes
from supple.core.linear_solvers.conjugate_gradients import (
    ConjugateGradients,
    RankOneUpdate,
    Solution,
)
from supple.core.linear_solvers.direct import is_available
from supple.core.linear_solvers.linear_solver import LinearSolver
from supple.tests.core.dense import dense
from supple.tests.core.linear_solvers.implicit_systems import ImplicitSystem, implicit_system
from supple.tests.core.pretended_cuda import CUDA, PretendedCuda, pretended_cuda

LIMIT = 2000


@pytest.fixture(params=["a body", "pinned", "two bodies", "groups of one", "one group"])
def system(request: pytest.FixtureRequest, make_block, method) -> ImplicitSystem:
    block = make_block((3, 2, 2))
    return {
        "a body": lambda: implicit_system(block),
        "pinned": lambda: implicit_system(block, pinned=(0, 5, 35)),
        "two bodies": lambda: implicit_system(block, make_block(origin=(5.0, 0.0, 0.0))),
        "groups of one": lambda: implicit_system(block, group_size=1),
        "one group": lambda: implicit_system(block, group_size=1000),
    }[request.param]()


def solver_for(system: ImplicitSystem) -> ConjugateGradients:
    solver = ConjugateGradients(system.pattern, system.group_offsets, system.positions.dtype)
    solver.prepare(system.matrix, system.positions)
    return solver


def solve(
    system: ImplicitSystem, relative: float = 1e-9, absolute: float = 0.0, limit: int = LIMIT
) -> Solution:
    solution = solver_for(system).solve(system.rhs(), relative, absolute, limit)
    # The next solution may be written over this one.
    return Solution(solution.x.clone(), solution.iterations, solution.end)


def error_norm(system: ImplicitSystem, x: torch.Tensor) -> tuple[float, float]:
    """The energy norms of the error and of the exact solution."""
    dense = system.dense
    exact = np.linalg.solve(dense, system.rhs().cpu().double().numpy().ravel())
    error = x.cpu().double().numpy().ravel() - exact
    return math.sqrt(error @ dense @ error), math.sqrt(exact @ dense @ exact)


def indefinite(system: ImplicitSystem, share: float) -> ImplicitSystem:
    """The system with a negative eigenvalue: that of the mean motion, by a share of the largest."""
    largest = np.linalg.eigvalsh(system.dense)[-1]
    values = system.positions.new_zeros(system.pattern.size, 9)
    values[:, ::4] = -share * largest
    system.matrix.values[system.pattern.diagonal] += values
    return system


def test_the_solution_is_that_of_the_dense_system(system) -> None:
    solution = solve(system)
    error, size = error_norm(system, solution.x)
    assert solution.end == "converged"
    assert error < 1e-7 * size


def test_however_many_threads_share_the_rows_the_bits_are_the_same(make_block, monkeypatch) -> None:
    system = implicit_system(make_block((12, 10, 9)))
    solver, rhs = solver_for(system), system.rhs()
    shared = solver.solve(rhs, 1e-9, 0.0, LIMIT).x.clone()
    monkeypatch.setattr(compiled_cg, "ROWS_PER_THREAD", 10**9)
    assert torch.equal(solver.solve(rhs, 1e-9, 0.0, LIMIT).x, shared)


@pytest.mark.parametrize("relative", [0.1, 1e-2, 1e-4])
def test_the_estimate_is_the_error_of_some_iterations_ago(
    make_block, method, relative: float
) -> None:
    system = implicit_system(make_block((8, 2, 2)), young=1e7, group_size=8)
    count = solve(system, relative).iterations

    def share_left(iterations: int) -> float:
        solution = solve(system, relative=0.0, limit=iterations)
        error, size = error_norm(system, solution.x)
        return error / size

    def judged_at(count: int) -> int:
        return count - 3 - count // 4

    # It counts what has been gained since, so it is a lower bound: by how much is what can fail.
    assert share_left(judged_at(count)) < 1.1 * relative
    assert share_left(judged_at(count - 1)) > relative


def test_an_absolute_tolerance_is_in_the_unit_of_the_energy_norm(make_block, method) -> None:
    system = implicit_system(make_block((8, 2, 2)), young=1e7, group_size=8)
    _, size = error_norm(system, solve(system).x)
    by_share = solve(system, relative=1e-3)
    by_size = solve(system, relative=0.0, absolute=1e-3 * size)
    assert by_size.iterations == by_share.iterations


def test_the_passes_take_the_steps_of_the_compiled_loop(request, make_block) -> None:
    def both(relative: float) -> Solution:
        return solve(implicit_system(make_block((6, 2, 2)), young=1e7), relative)

    tolerances = (0.1, 1e-3, 1e-5)
    compiled = [both(relative) for relative in tolerances]
    request.getfixturevalue("without_compiled_loops")
    for expected, relative in zip(compiled, tolerances, strict=True):
        found = both(relative)
        assert (found.iterations, found.end) == (expected.iterations, expected.end)
        torch.testing.assert_close(found.x, expected.x, rtol=1e-9, atol=1e-12)


def test_two_solutions_of_one_system_agree_to_the_last_bit(system) -> None:
    assert torch.equal(solve(system).x, solve(system).x)


def test_a_right_hand_side_of_zero_has_the_solution_zero(system) -> None:
    solution = solver_for(system).solve(torch.zeros_like(system.rhs()), 0.1, 0.0, LIMIT)
    assert (solution.iterations, solution.end) == (0, "converged")
    assert not solution.x.any()


def test_at_the_limit_of_iterations_it_says_so(make_block, method) -> None:
    solution = solve(implicit_system(make_block((4, 2, 2)), young=1e7), limit=7)
    assert (solution.iterations, solution.end) == (7, "limit")


@pytest.mark.parametrize("share", [0.01, 2.0])
def test_an_indefinite_matrix_is_reported_and_the_last_descent_kept(
    make_block, method, share: float
) -> None:
    # With the larger share the blocks on the diagonal are negative too.
    system = indefinite(implicit_system(make_block((3, 2, 2))), share)
    solution = solve(system)
    assert solution.end == "indefinite"
    x, rhs = solution.x.numpy().ravel(), system.rhs().numpy().ravel()
    assert 0.5 * x @ system.dense @ x <= rhs @ x
    assert (solution.iterations > 0) == bool(x.any())


def test_a_matrix_that_is_not_finite_is_reported_and_leaves_a_finite_solution(
    make_block, method
) -> None:
    system = implicit_system(make_block((3, 2, 2)))
    system.matrix.values[1] = torch.nan
    solution = solve(system)
    assert solution.end == "indefinite"
    assert bool(torch.isfinite(solution.x).all())


def test_rigid_motions_save_a_stiff_bar_most_iterations(make_block, method, monkeypatch) -> None:
    system = implicit_system(
        make_block((32, 2, 2), (16.0, 1.0, 1.0)), young=1e7, poisson=0.49, group_size=16
    )
    with_modes = solve(system, relative=0.1).iterations
    for module in (rigid_modes, torch_rigid_modes):
        monkeypatch.setattr(module, "coarse_inverse", torch.zeros_like)
    assert with_modes < 0.25 * solve(system, relative=0.1).iterations


class TestOnADeviceToWaitFor:
    """On CUDA the host looks at the scalars every few iterations."""

    @pytest.fixture(autouse=True)
    def device(self) -> Iterator[PretendedCuda]:
        with pretended_cuda() as device:
            yield device

    def test_it_waits_once_for_several_iterations(self, make_block, device) -> None:
        system = implicit_system(make_block((6, 2, 2)), young=1e7, device=CUDA)
        solver, rhs = solver_for(system), system.rhs()
        before = device.waits
        solution = solver.solve(rhs, 1e-6, 0.0, LIMIT)
        assert device.waits - before == math.ceil(
            solution.iterations / torch_cg.SYNC_INTERVAL_ITERATIONS
        )
        error, size = error_norm(system, solution.x)
        assert error < 1e-6 * size

    def test_iterations_after_the_last_are_left_out(
        self, make_block, without_compiled_loops
    ) -> None:
        block = make_block((6, 2, 2))
        expected = solve(implicit_system(block, young=1e7), relative=0.1)
        found = solve(implicit_system(block, young=1e7, device=CUDA), relative=0.1)
        assert found.iterations == expected.iterations
        assert found.iterations % torch_cg.SYNC_INTERVAL_ITERATIONS
        torch.testing.assert_close(found.x.cpu(), expected.x, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("share", [0.004, 0.012, 2.0])
    def test_iterations_after_a_breakdown_leave_the_solution_alone(
        self, make_block, without_compiled_loops, share: float
    ) -> None:
        # On this block the direction after a breakdown leads down again for some shares.
        block = make_block((2, 2, 2))
        expected = solve(indefinite(implicit_system(block), share))
        found = solve(indefinite(implicit_system(block, device=CUDA), share))
        assert (found.iterations, found.end) == (expected.iterations, "indefinite")
        torch.testing.assert_close(found.x.cpu(), expected.x)

    def test_iterations_that_meet_no_number_leave_a_finite_solution(self, make_block) -> None:
        system = implicit_system(make_block((3, 2, 2)), device=CUDA)
        system.matrix.values[1] = torch.nan
        solution = solve(system)
        assert solution.end == "indefinite"
        assert bool(torch.isfinite(solution.x).all())

    def test_iterations_after_an_exact_solution_leave_it_alone(self, make_block) -> None:
        system = implicit_system(make_block((1, 1, 1)), group_size=1, device=CUDA)
        # Without neighbours the first step is exact and leaves no residual.
        system.matrix.values.zero_()
        system.matrix.add_diagonal(system.positions.new_full((system.pattern.size,), 2.0))
        solution = solve(system, relative=0.0)
        assert solution.end == "converged"
        torch.testing.assert_close(solution.x.cpu(), 0.5 * system.rhs().cpu())


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
