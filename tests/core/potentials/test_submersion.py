# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the part of a tet below a plane."""

from __future__ import annotations

import pytest
import torch

from supple.core.potentials.fluid import cut_products, mean_depth, submerged_shares

# With none to four corners below, some of them at the same depth, or in the plane.
DEPTHS = torch.tensor(
    [
        [-0.1, -0.5, -0.9, -0.2],
        [0.3, -0.5, -0.9, -0.2],
        [-0.2, 0.3, -0.2, -0.2],
        [0.3, 0.7, -0.9, -0.2],
        [0.5, -0.4, 0.5, -0.4],
        [0.3, 0.7, 0.1, -0.2],
        [0.4, 0.4, -0.3, 0.4],
        [0.3, 0.7, 0.1, 0.2],
        [0.0, 0.6, -0.2, 0.1],
    ],
    dtype=torch.float64,
).T


def sampled(depths: torch.Tensor) -> torch.Tensor:
    """(S, M) depths at points all over the tets."""
    random = torch.Generator().manual_seed(0)
    shares = torch.rand((400_000, 4), generator=random, dtype=torch.float64).clamp(1e-12).log()
    return (shares / shares.sum(1, keepdim=True)) @ depths


def test_the_mean_depth_is_that_of_points_below() -> None:
    expected = sampled(DEPTHS).clamp(min=0.0).mean(0)
    torch.testing.assert_close(mean_depth(DEPTHS), expected, rtol=0.0, atol=1e-3)


def test_shares_add_up_to_what_is_below() -> None:
    expected = (sampled(DEPTHS) > 0.0).double().mean(0)
    torch.testing.assert_close(submerged_shares(DEPTHS).sum(0), expected, rtol=0.0, atol=3e-3)


@pytest.mark.parametrize("corner", range(4))
def test_derivatives_are_finite_differences(corner) -> None:
    step = torch.zeros_like(DEPTHS)
    step[corner] = 1e-6
    # A corner in the plane is on the edge between two cases, which agree there.
    change = (mean_depth(DEPTHS + step) - mean_depth(DEPTHS - step)) / 2e-6
    torch.testing.assert_close(submerged_shares(DEPTHS)[corner], change, rtol=0.0, atol=1e-5)
    shares = (submerged_shares(DEPTHS + step) - submerged_shares(DEPTHS - step)) / 2e-6
    torch.testing.assert_close(cut_products(DEPTHS)[corner], shares, rtol=0.0, atol=1e-4)


def test_corners_at_all_but_one_depth_cancel_nothing() -> None:
    depths = torch.tensor([[0.5], [0.5 + 1e-13], [-0.4], [-0.4 - 1e-13]], dtype=torch.float64)
    apart = torch.tensor([[0.5], [0.5], [-0.4], [-0.4]], dtype=torch.float64)
    torch.testing.assert_close(mean_depth(depths), mean_depth(apart), rtol=1e-12, atol=0.0)
    torch.testing.assert_close(submerged_shares(depths), submerged_shares(apart))
