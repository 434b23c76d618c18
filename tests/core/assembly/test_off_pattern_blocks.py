# SPDX-License-Identifier: GPL-3.0-or-later
"""Blocks outside of a matrix's pattern: as arrays, and in every solver."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse
import torch

from supple.core.assembly.block_matrix import OffPatternBlocks
from supple.core.linear_solvers.conjugate_gradients import ConjugateGradients
from supple.core.linear_solvers.direct import is_available
from supple.core.linear_solvers.linear_solver import LinearSolver
from supple.core.linear_solvers.rigid_modes import RigidModes, TorchRigidModes
from supple.tests.core.linear_solvers.implicit_systems import CPU, ImplicitSystem, implicit_system
from supple.tests.core.pretended_cuda import CUDA, pretended_cuda
from supple.verification.meshes import block

DOUBLE = np.dtype(np.float64)


def as_dense(off_pattern: OffPatternBlocks) -> np.ndarray:
    """(3n, 3n)."""
    size = len(off_pattern.offsets) - 1
    blocks = off_pattern.values.reshape(-1, 3, 3)
    matrix = sparse.bsr_array(
        (blocks, off_pattern.columns, off_pattern.offsets), shape=(3 * size, 3 * size)
    )
    return matrix.toarray()


def springs(vertex_count: int, pairs: np.ndarray, stiffness: float = 1e6) -> sparse.csr_array:
    """(3N, 3N) positive semi-definite, its blocks not symmetric: each between two vertices, along a
    direction of either."""
    directions = np.random.default_rng(8).normal(size=(len(pairs), 2, 3))
    rows = np.zeros((len(pairs), vertex_count, 3))
    rows[np.arange(len(pairs))[:, None], pairs] = directions
    flat = rows.reshape(len(pairs), -1)
    return sparse.csr_array(stiffness * flat.T @ flat)


def coupled(device: torch.device = CPU, **options) -> ImplicitSystem:
    """Two blocks of which one is pinned, and springs from one to the other, as contact has them."""
    meshes = block((2, 2, 2)), block((2, 1, 2), origin=(0.0, 0.0, 1.01))
    options.setdefault("pinned", (0, 3, 40))
    system = implicit_system(*meshes, group_size=9, device=device, **options)
    pairs = np.array([[8, 27], [17, 30], [26, 36], [3, 28], [5, 40], [8, 30], [14, 15]])
    vertex_to_unknown = system.pattern.vertex_to_unknown
    matrix = springs(len(vertex_to_unknown), pairs)
    system.matrix.add_off_pattern(
        OffPatternBlocks.of(matrix, vertex_to_unknown, system.pattern.size, system.matrix.dtype)
    )
    return system


def whole(system: ImplicitSystem) -> np.ndarray:
    """The (3n, 3n) matrix with off-pattern blocks."""
    return system.dense + as_dense(system.matrix.off_pattern)


def exact(system: ImplicitSystem) -> np.ndarray:
    rhs = system.rhs().cpu().double().numpy()
    return np.linalg.solve(whole(system), rhs.ravel()).reshape(-1, 3)


# Blocks


@pytest.fixture
def scattered() -> np.ndarray:
    """(18, 18) symmetric over six vertices, some of which are coupled to nothing."""
    random = np.random.default_rng(4)
    matrix = np.zeros((6, 3, 6, 3))
    for i, j in ((0, 0), (0, 2), (1, 5), (2, 4), (3, 5), (5, 5)):
        block = random.normal(size=(3, 3))
        matrix[i, :, j] += block
        matrix[j, :, i] += block.T
    return matrix.reshape(18, 18)


def test_unknowns_in_another_order_keep_their_blocks(scattered) -> None:
    vertices = np.array([5, 0, 4, 1, 2, 3])
    vertex_to_unknown = np.argsort(vertices)
    off_pattern = OffPatternBlocks.of(sparse.csr_array(scattered), vertex_to_unknown, 6, DOUBLE)
    places = (3 * vertices[:, None] + np.arange(3)).ravel()
    np.testing.assert_array_equal(as_dense(off_pattern), scattered[np.ix_(places, places)])
    assert (np.diff(off_pattern.rows * 6 + off_pattern.columns) > 0).all()


def test_what_is_pinned_has_neither_rows_nor_columns(scattered) -> None:
    vertex_to_unknown = np.array([2, -1, 0, -1, -1, 1])
    off_pattern = OffPatternBlocks.of(sparse.csr_array(scattered), vertex_to_unknown, 3, DOUBLE)
    places = (3 * np.array([2, 5, 0])[:, None] + np.arange(3)).ravel()
    np.testing.assert_array_equal(as_dense(off_pattern), scattered[np.ix_(places, places)])


def test_a_matrix_with_parts_of_blocks_missing_is_read_as_if_they_were_zero() -> None:
    dense = np.zeros((6, 6))
    dense[0, 4] = dense[4, 0] = 7.0
    off_pattern = OffPatternBlocks.of(sparse.csc_array(dense), np.array([0, 1]), 2, DOUBLE)
    np.testing.assert_array_equal(as_dense(off_pattern), dense)
    assert len(off_pattern) == 2


def test_a_matrix_of_blocks_is_taken_as_it_is(scattered) -> None:
    vertex_to_unknown = np.array([2, -1, 0, 3, 4, 1])
    compressed = sparse.csr_array(scattered)
    single, blocks = (
        OffPatternBlocks.of(m, vertex_to_unknown, 5, DOUBLE)
        for m in (compressed, compressed.tobsr((3, 3)))
    )
    np.testing.assert_array_equal(as_dense(blocks), as_dense(single))
    assert len(blocks) == len(single) > 0


def test_of_nothing_there_are_none() -> None:
    off_pattern = OffPatternBlocks.of(sparse.csr_array((6, 6)), np.array([0, 1]), 2, DOUBLE)
    assert len(off_pattern) == 0
    np.testing.assert_array_equal(off_pattern.offsets, [0, 0, 0])
    assert len(OffPatternBlocks.none(2, DOUBLE)) == 0
    np.testing.assert_array_equal(OffPatternBlocks.none(2, DOUBLE).diagonal(), np.zeros((2, 9)))


def test_the_sum_with_other_blocks_is_the_sum_of_matrices(scattered) -> None:
    unknowns = np.arange(6)
    off_pattern = OffPatternBlocks.of(sparse.csr_array(scattered), unknowns, 6, DOUBLE)
    other = np.random.default_rng(5).normal(size=(6, 3, 6, 3))
    other *= np.eye(6)[:, None, :, None] + np.eye(6, k=2)[:, None, :, None]
    second = OffPatternBlocks.of(sparse.csr_array(other.reshape(18, 18)), unknowns, 6, DOUBLE)
    total = off_pattern.added_to(second.offsets, second.columns, second.values)
    np.testing.assert_allclose(as_dense(total), scattered + other.reshape(18, 18), atol=1e-15)
    assert (np.diff(total.rows * 6 + total.columns) > 0).all()
    assert len(total) < len(off_pattern) + len(second)


def test_the_diagonal_is_that_of_the_matrix_and_zero_elsewhere(scattered) -> None:
    off_pattern = OffPatternBlocks.of(sparse.csr_array(scattered), np.arange(6), 6, DOUBLE)
    expected = [scattered[3 * i : 3 * i + 3, 3 * i : 3 * i + 3].ravel() for i in range(6)]
    np.testing.assert_array_equal(off_pattern.diagonal(), expected)
    assert not off_pattern.diagonal()[3].any()


def test_blocks_have_the_precision_asked_for(scattered) -> None:
    single = np.dtype(np.float32)
    off_pattern = OffPatternBlocks.of(sparse.csr_array(scattered), np.arange(6), 6, single)
    assert off_pattern.values.dtype == off_pattern.diagonal().dtype == single
    total = off_pattern.added_to(off_pattern.offsets, off_pattern.columns, off_pattern.values)
    assert total.values.dtype == single
    np.testing.assert_allclose(as_dense(off_pattern), scattered, rtol=1e-6)


# In a matrix


def test_what_is_coupled_twice_adds_up_and_leaves_a_copy_alone() -> None:
    system = coupled()
    copy, once = system.matrix.copy(), system.matrix.off_pattern
    system.matrix.add_off_pattern(once)
    np.testing.assert_allclose(as_dense(system.matrix.off_pattern), 2.0 * as_dense(once))
    assert copy.off_pattern is once


def test_diagonal_blocks_include_what_is_coupled() -> None:
    system = coupled()
    full = whole(system)
    expected = [full[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] for i in range(system.pattern.size)]
    np.testing.assert_allclose(system.matrix.diagonal_blocks(), expected, rtol=1e-12)
    some = [5, 0, 2]
    of_some = system.matrix.diagonal_blocks(system.pattern.vertices[some])
    np.testing.assert_allclose(of_some, [expected[index] for index in some], rtol=1e-12)


# In solvers


def solved(system: ImplicitSystem) -> np.ndarray:
    dtype = system.positions.dtype
    solver = ConjugateGradients(system.pattern, system.group_offsets, dtype)
    solver.prepare(system.matrix, system.positions)
    solution = solver.solve(system.rhs(), 1e-10, 0.0, 2000)
    assert solution.end == "converged"
    return solution.x.cpu().double().numpy().copy()


def test_conjugate_gradients_solve_the_whole_system(method) -> None:
    system = coupled()
    expected = exact(system)
    error = np.abs(solved(system) - expected).max() / np.abs(expected).max()
    assert error < 1e-8
    apart = np.linalg.solve(system.dense, system.rhs().double().numpy().ravel())
    # Without off-pattern blocks it would be another one.
    assert np.abs(apart.reshape(-1, 3) - expected).max() > 0.1 * np.abs(expected).max()


def test_on_a_device_the_solution_is_the_same() -> None:
    expected = exact(coupled())
    with pretended_cuda():
        found = solved(coupled(CUDA))
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())


def test_the_coarse_matrix_of_off_pattern_blocks_is_the_dense_product() -> None:
    system = coupled()
    modes = RigidModes(system.pattern, system.group_offsets)
    inverse = modes.update(system.matrix, system.positions.numpy())
    z = np.zeros((system.pattern.size, 3, modes.count, 6))
    for unknown, (group, arm) in enumerate(
        zip(modes.group_of, modes.centroid_offsets, strict=True)
    ):
        for axis, unit in enumerate(np.eye(3)):
            z[unknown, :, group, axis] = unit
            z[unknown, :, group, 3 + axis] = np.cross(unit, arm)
    z = z.reshape(3 * system.pattern.size, -1)
    expected = z.T @ whole(system) @ z
    found = torch.linalg.inv(inverse).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8 * expected.max())


def test_rigid_motions_as_passes_agree_with_the_compiled_ones() -> None:
    system = coupled()
    compiled = RigidModes(system.pattern, system.group_offsets)
    inverse = compiled.update(system.matrix, system.positions.numpy())
    passes = TorchRigidModes(system.pattern, system.group_offsets)
    passes.update(system.matrix, system.positions)
    expected = inverse.numpy()
    residual = system.rhs()
    centroid_offsets = torch.as_tensor(compiled.centroid_offsets)
    coarse_residual = torch.cat([residual, torch.linalg.cross(centroid_offsets, residual)], dim=1)
    groups = torch.as_tensor(compiled.group_of, dtype=torch.int64)
    summed = torch.zeros(compiled.count, 6, dtype=torch.float64).index_add(
        0, groups, coarse_residual
    )
    motions = torch.as_tensor(expected @ summed.view(-1).numpy()).view(-1, 6)[groups]
    wanted = motions[:, :3] + torch.linalg.cross(motions[:, 3:], centroid_offsets)
    found = passes.correction(residual.T.contiguous()).T
    torch.testing.assert_close(found, wanted, rtol=1e-8, atol=1e-10 * float(wanted.abs().max()))


@pytest.mark.skipif(not is_available(), reason="needs cvxopt")
def test_the_direct_solver_takes_off_pattern_blocks_too_and_those_of_the_next_matrix() -> None:
    system = coupled()
    points = system.positions.numpy()
    solver = LinearSolver(system.pattern, system.group_offsets, points, torch.float64)
    # Too few iterations for conjugate gradients.
    solver._limit = 2
    for _ in range(2):
        solver.prepare(system.matrix, system.positions)
        x = solver.solve(system.rhs(), 1e-12, 0.0).x.numpy()
        expected = exact(system)
        np.testing.assert_allclose(x, expected, atol=1e-10 * np.abs(expected).max())
        vertex_to_unknown = system.pattern.vertex_to_unknown
        more = springs(len(vertex_to_unknown), np.array([[1, 20], [44, 2]]))
        system.matrix.add_off_pattern(
            OffPatternBlocks.of(more, vertex_to_unknown, system.pattern.size, DOUBLE)
        )
    assert solver.factorizations == 2
