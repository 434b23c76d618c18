# SPDX-License-Identifier: GPL-3.0-or-later
"""Ways along the ground and along surfaces on autograd's tape."""

from __future__ import annotations

from torch import Tensor

from ..scene.friction import MIN_SLIDE_RATIO


def slide_lengths(squares: Tensor, thresholds: Tensor) -> Tensor:
    """(K,) lengths of displacements along surfaces by their squares, above zero, in metres."""
    # The root of a clamped square has a derivative at zero.
    return squares.clamp(min=(MIN_SLIDE_RATIO * thresholds).square()).sqrt()
