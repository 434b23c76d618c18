# SPDX-License-Identifier: GPL-3.0-or-later
"""Smooth friction as functions on autograd's tape, of the ground and of surfaces alike."""

from __future__ import annotations

from torch import Tensor

from ..scene.friction import f1

# Below this share of the stick threshold a way along a surface has no direction.
MIN_SLIDE_RATIO = 1e-9


def slide_lengths(squares: Tensor, thresholds: Tensor) -> Tensor:
    """(K,) lengths of ways along surfaces by their squares, above zero, in metres."""
    # The root of a clamped square has a derivative at zero.
    return squares.clamp(min=(MIN_SLIDE_RATIO * thresholds).square()).sqrt()


def slide_stiffness(lengths: Tensor, thresholds: Tensor, limits: Tensor, drops: Tensor) -> Tensor:
    """(K,) friction over the length of the way, in N/m.

    Args:
        lengths, thresholds: (K,) of ways, and from which on they slide, in metres.
        limits: (K,) of static friction in newtons.
        drops: (K,) by what share it drops once a pair slides.
    """
    return limits * f1(lengths / thresholds, drops) / lengths
