# SPDX-License-Identifier: GPL-3.0-or-later
"""Islands: contacts and flat tets that move each other at the end of a step, and nothing else.

Elasticity has no part in that solve, so that already two patches of one body are islands of their
own. Each is relaxed until it has converged by itself, and side by side with others.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..compiled import as_index, compiled, shared_range
from .contact_relaxation import initialize_force, is_active, mark_active, relax
from .flat_tets import relax_flat

# The number of smallest large islands in a thread's share of the work.
LARGE_ISLANDS_PER_SHARE = 8


class Islands(NamedTuple):
    """I islands.

    Args:
        contacts: (K,) indices, those of one island after those of another, each in their order.
        contact_offsets: (I + 1,) where those of each begin.
        tets: (A,) flat tets in the same order.
        tet_offsets: (I + 1,).
    """

    contacts: Any
    contact_offsets: Any
    tets: Any
    tet_offsets: Any


@compiled(inline=True)
def _root(parents: Any, node: int) -> int:
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


@compiled(inline=True)
def _join(parents: Any, nodes: Any, mobility: Any) -> int:
    """Join the islands of a row's movable nodes; one of them, or −1."""
    joined = -1
    for node in nodes:
        if node < 0:
            break
        if mobility[node] == 0.0:
            continue
        root = _root(parents, node)
        if joined < 0:
            joined = root
        elif root != joined:
            # The lower one stays, for any order of rows.
            low, high = min(root, joined), max(root, joined)
            parents[high] = low
            joined = low
    return joined


@compiled(inline=True, allocates=True)
def _island_rows(islands: Any, count: int) -> Any:
    """Indices by their island, and where those of each begin; rows without an island are left
    out."""
    offsets = np.zeros(count + 1, np.int64)
    for island in islands:
        if island >= 0:
            offsets[island + 1] += 1
    for island in range(count):
        offsets[island + 1] += offsets[island]
    places, order = offsets[:-1].copy(), np.empty(offsets[-1], np.int64)
    for k in range(len(islands)):
        island = islands[k]
        if island >= 0:
            order[places[island]] = k
            places[island] += 1
    return order, offsets


@compiled(allocates=True)
def find_islands(nodes: Any, corners: Any, mobility: Any) -> Any:
    """``Islands``.

    Args:
        nodes: (K, E) of contacts, −1 where there are fewer.
        corners: (A, 4) of flat tets.
        mobility: (N,) zero for immovable nodes, which join no islands.
    """
    parents = np.arange(len(mobility))
    contact_islands = np.empty(len(nodes), np.int64)
    tet_islands = np.empty(len(corners), np.int64)
    for k in range(len(nodes)):
        contact_islands[k] = _join(parents, nodes[k], mobility)
    for k in range(len(corners)):
        tet_islands[k] = _join(parents, corners[k], mobility)
    numbers, count = np.full(len(mobility), -1), 0
    for element_islands in (contact_islands, tet_islands):
        for k in range(len(element_islands)):
            if element_islands[k] < 0:
                continue
            root = _root(parents, element_islands[k])
            if numbers[root] < 0:
                numbers[root] = count
                count += 1
            element_islands[k] = numbers[root]
    contacts, contact_offsets = _island_rows(contact_islands, count)
    tets, tet_offsets = _island_rows(tet_islands, count)
    return Islands(contacts, contact_offsets, tets, tet_offsets)


@compiled()
def _relax_island(
    islands: Any,
    island: int,
    constraints: Any,
    flat_tets: Any,
    floor: float,
    mobility: Any,
    moves: Any,
    last_changes: Any,
    max_passes: int,
    tolerance: float,
) -> int:
    first, last = islands.contact_offsets[island], islands.contact_offsets[island + 1]
    first_tet, last_tet = islands.tet_offsets[island], islands.tet_offsets[island + 1]
    for i in range(first, last):
        initialize_force(constraints, islands.contacts[i], mobility, moves)
    passes, solved, is_converged = 0, 0, False
    while passes < max_passes and not is_converged:
        passes, is_converged = passes + 1, True
        for i in range(first_tet, last_tet):
            tet = islands.tets[i]
            relax_flat(flat_tets, tet, floor, mobility, moves)
            if flat_tets.forces[tet] != 0.0:
                mark_active(flat_tets.corners[tet], mobility, last_changes, passes)
        for i in range(first, last):
            k = islands.contacts[i]
            if not is_active(constraints.nodes[k], last_changes, passes - 1):
                continue
            solved += 1
            if relax(constraints, k, mobility, moves) > tolerance:
                is_converged = False
                mark_active(constraints.nodes[k], mobility, last_changes, passes)
    return solved


@compiled()
def _size(islands: Any, island: int) -> int:
    contacts = islands.contact_offsets[island + 1] - islands.contact_offsets[island]
    return contacts + islands.tet_offsets[island + 1] - islands.tet_offsets[island]


@compiled(allocates=True)
def distribute(islands: Any, count: int) -> Any:
    """Return for each island (I,) one of ``count`` shares of the work: large islands first, each
    goes where there is the least so far.
    """
    shares = np.empty(len(islands.contact_offsets) - 1, np.int64)
    work = np.zeros(count, np.int64)
    whole = islands.contact_offsets[-1] + islands.tet_offsets[-1]
    for is_turn_of_large in (True, False):
        for island in range(len(shares)):
            size = _size(islands, island)
            if (LARGE_ISLANDS_PER_SHARE * count * size >= whole) != is_turn_of_large:
                continue
            least = 0
            for share in range(1, count):
                if work[share] < work[least]:
                    least = share
            shares[island] = least
            work[least] += size
    return shares


@compiled(parallel=True, allocates=True)
def relax_islands(
    islands: Any,
    constraints: Any,
    flat_tets: Any,
    floor: float,
    mobility: Any,
    moves: Any,
    max_passes: int,
    tolerance: float,
    threads: int,
) -> int:
    """Relaxes contacts and flat tets; how often contacts were solved, all together.

    Args:
        floor: η̄ of flat tets.
        mobility: (N,) in metres a newton over the step.
        moves: (N, 3) from where contacts were made linear, in metres; changed.
        max_passes: over each island.
        tolerance: a contact rests while neither its distance nor that of one with a node of its own
            changes by more than this ratio, nor a flat tet that has one presses; an island ends
            when all rest.
        threads: that share them.
    """
    solved, shares = 0, distribute(islands, threads)
    last_changes = np.zeros(len(mobility), np.int64)
    for share in shared_range(threads):
        for island in range(len(shares)):
            if shares[island] == as_index(share):
                island_data = (islands, island, constraints, flat_tets, floor, mobility, moves)
                solved += _relax_island(*island_data, last_changes, max_passes, tolerance)
    return solved
