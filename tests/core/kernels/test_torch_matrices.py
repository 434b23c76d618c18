# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
import torch

from supple.core.math3.torch_matrices import cofactors3, det3, inverses3, signed_svd


def _component_first(matrices: torch.Tensor) -> torch.Tensor:
    return matrices.permute(1, 2, 0).contiguous()


def _tet_first(matrices: torch.Tensor) -> torch.Tensor:
    return matrices.permute(2, 0, 1)


def test_the_factors_of_a_decomposition_multiply_to_the_matrix(deformation_gradients) -> None:
    u, sigma, v = signed_svd(_component_first(deformation_gradients))
    product = _tet_first(u * sigma) @ _tet_first(v).mT
    torch.testing.assert_close(product, deformation_gradients, rtol=0.0, atol=1e-13)


def test_u_and_v_are_rotations_whatever_the_matrix(deformation_gradients) -> None:
    u, _, v = signed_svd(_component_first(deformation_gradients))
    for rotation in (_tet_first(u), _tet_first(v)):
        identity = torch.eye(3, dtype=u.dtype).expand_as(rotation)
        torch.testing.assert_close(rotation @ rotation.mT, identity, rtol=0.0, atol=1e-13)
        assert (torch.linalg.det(rotation) > 0.0).all()


def test_singular_values_fall_and_only_the_last_takes_the_sign(deformation_gradients) -> None:
    _, sigma, _ = signed_svd(_component_first(deformation_gradients))
    expected = torch.linalg.svdvals(deformation_gradients)
    signed = torch.linalg.det(deformation_gradients).sign() * expected[:, 2]
    torch.testing.assert_close(sigma[:2].T, expected[:, :2], rtol=0.0, atol=1e-13)
    torch.testing.assert_close(sigma[2], signed, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_the_size_of_the_matrix_does_not_matter(scale: float) -> None:
    random = torch.Generator().manual_seed(10)
    matrix = torch.randn(3, 3, 20, generator=random, dtype=torch.float64)
    u, sigma, v = signed_svd(scale * matrix)
    product = _tet_first(u * (sigma / scale)) @ _tet_first(v).mT
    torch.testing.assert_close(product, _tet_first(matrix), rtol=0.0, atol=1e-13)


def test_cofactors_and_inverses_are_those_of_linear_algebra() -> None:
    random = torch.Generator().manual_seed(11)
    matrices = torch.randn(3, 3, 20, generator=random, dtype=torch.float64)
    inverses, determinants = inverses3(matrices)
    expected = torch.linalg.inv(_tet_first(matrices))
    torch.testing.assert_close(_tet_first(inverses), expected)
    torch.testing.assert_close(_tet_first(cofactors3(matrices) / determinants), expected.mT)
    torch.testing.assert_close(determinants, torch.linalg.det(_tet_first(matrices)))
    torch.testing.assert_close(det3(matrices), determinants)
