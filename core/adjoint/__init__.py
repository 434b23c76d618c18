# SPDX-License-Identifier: GPL-3.0-or-later
"""Gradients of simulations."""

from .follow_keys import Following, Key, follow_keys
from .hit_target import Throw, hit_target
from .match_shape import Match, match_shape
from .sag_free import SagFree, sag_free
from .simulations import settle, simulate

__all__ = [
    "Following",
    "Key",
    "Match",
    "SagFree",
    "Throw",
    "follow_keys",
    "hit_target",
    "match_shape",
    "sag_free",
    "settle",
    "simulate",
]
