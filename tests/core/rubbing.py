# SPDX-License-Identifier: GPL-3.0-or-later
"""Coefficients of friction as what touches takes them."""

from __future__ import annotations

import torch
from torch import Tensor

from supple.core.scene.friction import Coefficients


def alike(weights: Tensor, static: float, kinetic: float | None = None) -> Coefficients:
    """Equal coefficients for all points, of which there are (S,) ``weights``."""
    sliding = static if kinetic is None else kinetic
    return Coefficients(torch.full_like(weights, static), torch.full_like(weights, sliding))
