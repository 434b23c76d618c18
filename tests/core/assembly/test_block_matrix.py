# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core.assembly.block_matrix import (
    CORNER_PAIRS,
    BlockMatrix,
    BlockPattern,
    BlockRows,
    ScalarRows,
)
from supple.tests.core.linear_solvers.implicit_systems import dense, implicit_system

CPU = torch.device("cpu")
PINNED = (2, 11, 17)


@pytest.fixture
def elements(make_block) -> np.ndarray:
    return np.ascontiguousarray(make_block((2, 2, 1)).tets.T)


@pytest.fixture
def vertices(elements) -> np.ndarray:
    """The free vertices, in a random order."""
    free = np.setdiff1d(np.arange(elements.max() + 1), PINNED)
    return np.random.default_rng(4).permutation(free)


@pytest.fixture
def matrix(elements, vertices) -> BlockMatrix:
    pattern = BlockPattern(elements, vertices, int(elements.max()) + 1, CPU)
    return BlockMatrix(pattern, torch.float64)


def _element_blocks(count: int) -> torch.Tensor:
    """The (M, 10, 9) blocks of symmetric element matrices."""
    generator = torch.Generator().manual_seed(8)
    blocks = torch.randn(count, len(CORNER_PAIRS), 3, 3, generator=generator, dtype=torch.float64)
    for pair, (a, b) in enumerate(CORNER_PAIRS):
        if a == b:
            blocks[:, pair] += blocks[:, pair].mT.clone()
    return blocks.view(count, -1, 9)


def _assembled(elements: np.ndarray, blocks: torch.Tensor, vertices: np.ndarray) -> np.ndarray:
    """(3n, 3n), element after element."""
    count = int(elements.max()) + 1
    whole = np.zeros((count, count, 3, 3))
    for element, own in zip(elements.T, blocks.view(-1, len(CORNER_PAIRS), 3, 3), strict=True):
        for (a, b), block in zip(CORNER_PAIRS, own.numpy(), strict=True):
            whole[element[a], element[b]] += block
            if a != b:
                whole[element[b], element[a]] += block.T
    part = whole[vertices][:, vertices]
    return part.swapaxes(1, 2).reshape(3 * len(vertices), -1)


def test_element_matrices_add_up_to_the_dense_sum_without_the_pinned(
    elements, vertices, matrix, method
) -> None:
    blocks = _element_blocks(elements.shape[1])
    matrix.add_elements(matrix.pattern.locate(elements), blocks)
    expected = _assembled(elements, blocks, vertices)
    np.testing.assert_allclose(dense(matrix), expected, rtol=1e-13, atol=1e-13)


def test_few_elements_are_added_to_what_is_there_without_the_pinned(
    elements, vertices, matrix
) -> None:
    blocks = _element_blocks(elements.shape[1])
    matrix.add_elements(matrix.pattern.locate(elements), blocks)
    some = np.array([3, 0, 7, 8, 20])
    matrices = np.zeros((len(some), 4, 3, 4, 3))
    for (a, b), block in zip(CORNER_PAIRS, blocks[some].view(-1, 10, 3, 3).unbind(1), strict=True):
        matrices[:, a, :, b], matrices[:, b, :, a] = block, block.mT
    matrix.add_few_elements(elements[:, some].T, matrices.reshape(-1, 12, 12))
    blocks[some] *= 2.0
    expected = _assembled(elements, blocks, vertices)
    np.testing.assert_allclose(dense(matrix), expected, rtol=1e-13, atol=1e-13)


def test_few_elements_that_are_pinned_add_nothing(elements, matrix) -> None:
    pinned = np.flatnonzero(np.isin(elements, PINNED).any(0))[:1]
    pattern = BlockPattern(elements, np.setdiff1d(np.arange(18), elements[:, pinned]), 18, CPU)
    matrix = BlockMatrix(pattern, torch.float64)
    matrix.add_few_elements(elements[:, pinned].T, np.ones((1, 12, 12)))
    assert not matrix.values.any()


def test_sums_are_the_same_to_the_last_bit_each_time(elements, matrix, method) -> None:
    where, blocks = matrix.pattern.locate(elements), _element_blocks(elements.shape[1])
    first, second = BlockMatrix(matrix.pattern, torch.float64), matrix
    for sums in (first, second):
        sums.add_elements(where, blocks)
    assert torch.equal(first.values, second.values)


def test_what_goes_to_vertices_lands_on_their_diagonal_blocks(vertices, matrix) -> None:
    masses = torch.arange(1.0, len(vertices) + 1.0, dtype=torch.float64)
    matrix.add_diagonal(masses)
    chosen = [5, 0, 3]
    blocks = torch.arange(27.0, dtype=torch.float64).view(3, 9)
    matrix.add_diagonal_blocks(torch.as_tensor(vertices[chosen]), blocks)
    expected = np.kron(np.diag(masses.numpy()), np.eye(3))
    for unknown, block in zip(chosen, blocks.view(-1, 3, 3).numpy(), strict=True):
        own = slice(3 * unknown, 3 * unknown + 3)
        expected[own, own] += block
    np.testing.assert_array_equal(dense(matrix), expected)
    np.testing.assert_array_equal(matrix.diagonal_blocks()[0].numpy(), dense(matrix)[:3, :3])


def test_a_vertex_whose_tets_are_all_pinned_elsewhere_keeps_its_diagonal() -> None:
    element = np.array([[0], [1], [2], [3]], dtype=np.int32)
    pattern = BlockPattern(element, np.array([4, 1]), 5, CPU)
    assert pattern.offsets.tolist() == [0, 1, 2]
    assert pattern.columns.tolist() == [0, 1]


@pytest.mark.parametrize("rows_of", [ScalarRows, lambda pattern, dtype: BlockRows(pattern)])
def test_the_product_by_rows_is_the_dense_one(make_block, rows_of) -> None:
    system, dtype = implicit_system(make_block((3, 2, 1)), pinned=PINNED), torch.float64
    rows = rows_of(system.pattern, dtype)
    # The values of the last matrix count.
    rows.set_values(BlockMatrix(system.pattern, dtype))
    rows.set_values(system.matrix)
    vector = system.rhs()
    found = rows.matvec(vector.T.contiguous()).T.double().numpy().ravel()
    expected = system.dense @ vector.double().numpy().ravel()
    rounding = 100.0 * torch.finfo(dtype).eps
    np.testing.assert_allclose(found, expected, rtol=rounding, atol=rounding * abs(expected).max())
