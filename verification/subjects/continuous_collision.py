# SPDX-License-Identifier: GPL-3.0-or-later
"""Continuous collision detection misses none of the published collisions."""

from __future__ import annotations

from pathlib import Path

import ipctk
import numpy as np
from numpy.typing import NDArray

from supple.core.kernels.continuous_collision import pair_step_size

from ..check import Check, Subject, at_most

#: (Q, 8, 3) points of each query in metres, four at the start and four at the end; (Q,) whether
#: they are of two edges, and whether the pair collides on the way, by exact arithmetic.
QUERIES = Path(__file__).parents[1] / "collision_queries.npz"
# The answer is conservative, as that of the method it follows: by so much more at most.
EARLY_STOP_RATIO = 1.05


def run() -> Subject:
    with np.load(QUERIES) as queries:
        points, are_edges, collides = (queries[name] for name in ("points", "are_edges", "collide"))
    stops = stopped_pairs(points, are_edges)
    peer_stops = _stopped_by_ipctk(points, are_edges)
    reason = "both stop short of a collision, and ours keeps 10 % of the distance"
    return Subject(
        title="Continuous collision detection",
        text=f"{len(points)} published queries, of which {collides.sum()} collide by exact "
        "arithmetic: pairs of a vertex and a face or of two edges, most of them degenerate. "
        "Each pair moves linearly. A collision without a stop is a miss. A stop without a "
        "collision costs time and lets nothing through.",
        source="Wang, Ferguson, Schneider, Jiang, Attene and Panozzo, “A large-scale benchmark "
        "and an inclusion-based algorithm for continuous collision detection”, ACM Transactions "
        "on Graphics 40(5), 2021: its sample queries. Beside them the additive method of ipctk.",
        checks=[
            Check("missed collisions", float((collides & ~stops).sum()), 0.0, 0.0),
            at_most(
                "stops without a collision, beside those of ipctk's additive method",
                float((stops & ~collides).sum()),
                EARLY_STOP_RATIO * float((peer_stops & ~collides).sum()),
                reason=reason,
            ),
            Check(
                "missed collisions of ipctk's additive method",
                float((collides & ~peer_stops).sum()),
                0.0,
                0.0,
            ),
        ],
    )


def stopped_pairs(points: NDArray[np.float64], are_edges: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """(Q,) whether the solver stops each of (Q, 8, 3) queries."""
    corners = [[tuple(point) for point in query] for query in points.tolist()]
    sizes = [
        pair_step_size(tuple(query[:4]), tuple(query[4:]), bool(edges), 0.0, 1.0)
        for query, edges in zip(corners, are_edges, strict=True)
    ]
    return np.array(sizes) < 1.0


def _stopped_by_ipctk(
    points: NDArray[np.float64], are_edges: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    # It warns of each pair that touches at the start.
    ipctk.set_logger_level(ipctk.LoggerLevel.off)
    peer = ipctk.AdditiveCCD()
    kinds = (peer.point_triangle_ccd, peer.edge_edge_ccd)
    hits = [kinds[int(edges)](*query)[0] for query, edges in zip(points, are_edges, strict=True)]
    return np.array(hits)
