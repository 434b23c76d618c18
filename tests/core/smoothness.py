# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the deformations at which a model can be differentiated."""

from __future__ import annotations

import torch

from supple.core.materials import CorotatedLinear, Material


def is_smooth(material: Material, f: torch.Tensor) -> torch.Tensor:
    """(M,) whether the rotation of each (M, 3, 3) gradient, where the model needs it, is unique."""
    if not isinstance(material, CorotatedLinear):
        return torch.ones(len(f), dtype=torch.bool)
    values = torch.linalg.svdvals(f.double())
    return values[:, 1] + torch.linalg.det(f.double()).sign() * values[:, 2] > 0.05
