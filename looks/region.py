# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of space, such as where a body is thin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Region:
    """A box, open where its bounds are infinite.

    Args:
        low, high: its corners in metres.
    """

    low: tuple[float, float, float] = (-np.inf, -np.inf, -np.inf)
    high: tuple[float, float, float] = (np.inf, np.inf, np.inf)


EVERYWHERE = Region()
