# SPDX-License-Identifier: GPL-3.0-or-later
"""What hangs together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def components(count: int, links: NDArray[np.integer[Any]]) -> NDArray[np.intp]:
    """The (count,) number of the connected component of each node, from 0 in the order of their
    first nodes.

    Args:
        links: (L, 2) nodes that are connected.
    """
    # Blender itself, which reads what imports this, does not have scipy.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(links), dtype=bool), tuple(links.T)), (count, count))
    labels: NDArray[np.intp] = connected_components(graph, directed=False)[1].astype(np.intp)
    return labels
