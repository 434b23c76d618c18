# SPDX-License-Identifier: GPL-3.0-or-later
"""Sums over neighbours in an array, on any device always in the same order."""

from __future__ import annotations

import torch
from torch import Tensor


def segment_sums(values: Tensor, offsets: Tensor) -> Tensor:
    """(S, …) sums of (V, …) ``values`` from each of (S + 1,) ``offsets`` to the next.

    Unlike ``index_add_``, which on CUDA adds in the order in which threads arrive.
    """
    # Checking the starts would cost a wait for the device.
    return torch.segment_reduce(values, "sum", offsets=offsets, axis=0, unsafe=True)
