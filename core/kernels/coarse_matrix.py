# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernel of the matrix between the rigid motions of groups."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..compiled import compiled, shared_range


@compiled(parallel=True, allocates=True)
def add_coarse(
    offsets: Any,
    columns: Any,
    values: Any,
    group_offsets: Any,
    group_of: Any,
    centroid_offsets: Any,
    out: Any,
) -> None:
    """Adds Zᵀ A Z, where row i of Z moves unknown i by the translation t and rotation w of its
    group: t + w × centroid offset."""
    for group in shared_range(len(group_offsets) - 1):
        rows = out[6 * group : 6 * group + 6]
        image = np.empty((3, 6))
        for i in range(group_offsets[group], group_offsets[group + 1]):
            for block in range(offsets[i], offsets[i + 1]):
                j, a = columns[block], values[block]
                first = 6 * group_of[j]
                x, y, z = centroid_offsets[j, 0], centroid_offsets[j, 1], centroid_offsets[j, 2]
                for c in range(3):
                    a0, a1, a2 = a[3 * c], a[3 * c + 1], a[3 * c + 2]
                    image[c, 0], image[c, 1], image[c, 2] = a0, a1, a2
                    image[c, 3] = y * a2 - z * a1
                    image[c, 4] = z * a0 - x * a2
                    image[c, 5] = x * a1 - y * a0
                x, y, z = centroid_offsets[i, 0], centroid_offsets[i, 1], centroid_offsets[i, 2]
                for k in range(6):
                    f0, f1, f2 = image[0, k], image[1, k], image[2, k]
                    rows[0, first + k] += f0
                    rows[1, first + k] += f1
                    rows[2, first + k] += f2
                    rows[3, first + k] += y * f2 - z * f1
                    rows[4, first + k] += z * f0 - x * f2
                    rows[5, first + k] += x * f1 - y * f0
