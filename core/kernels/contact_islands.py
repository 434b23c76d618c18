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

#: An island with this many contacts, and more than all others have, is relaxed in halves.
MIN_HALVED = 1000
# The number of smallest large islands in a thread's share of the work.
LARGE_ISLANDS_PER_SHARE = 8
# An island ends when a pass changes its forces F by less than this part of the tolerance, by
# Σ w F² with the compliance w of each. A heap of sixty bodies ends after 20 passes so, when the
# error in its motion has a thousandth of the energy of what contact does in the step.
CHANGE_RATIO = 0.05


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
def _begin(
    contacts: Any, first: int, last: int, constraints: Any, mobility: Any, moves: Any
) -> Any:
    """Give rows of contacts their first forces; return the sum of w F², in joules."""
    total = 0.0
    for i in range(first, last):
        k = contacts[i]
        initialize_force(constraints, k, mobility, moves)
        total += constraints.compliances[k] * constraints.forces[k] ** 2
    return total


@compiled()
def _pass(
    contacts: Any,
    first: int,
    last: int,
    tets: Any,
    first_tet: int,
    last_tet: int,
    constraints: Any,
    flat_tets: Any,
    floor: float,
    mobility: Any,
    moves: Any,
    last_changes: Any,
    number: int,
    tolerance: float,
) -> Any:
    """Solve rows of contacts and flat tets once.

    Returns:
        How many contacts were solved, how many contacts and flat tets changed by more than the
        tolerance, the sum of w ΔF², and by how much that of w F² has grown, in joules; all as
        floats.
    """
    solved = moved = changed = grown = 0.0
    for i in range(first_tet, last_tet):
        tet = tets[i]
        before = flat_tets.forces[tet]
        relax_flat(flat_tets, tet, floor, mobility, moves)
        force, compliance = flat_tets.forces[tet], flat_tets.compliances[tet]
        moved += compliance * abs(force - before) > tolerance * floor
        changed += compliance * (force - before) ** 2
        grown += compliance * (force * force - before * before)
        if force != 0.0:
            mark_active(flat_tets.corners[tet], mobility, last_changes, number)
    for i in range(first, last):
        k = contacts[i]
        if not is_active(constraints.nodes[k], last_changes, number - 1):
            continue
        solved += 1.0
        before = constraints.forces[k]
        if relax(constraints, k, mobility, moves) > tolerance:
            moved += 1.0
            mark_active(constraints.nodes[k], mobility, last_changes, number)
        force, compliance = constraints.forces[k], constraints.compliances[k]
        changed += compliance * (force - before) ** 2
        grown += compliance * (force * force - before * before)
    return solved, moved, changed, grown


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
    total = _begin(islands.contacts, first, last, constraints, mobility, moves)
    solved = 0
    for number in range(1, max_passes + 1):
        rows = (islands.contacts, first, last, islands.tets, first_tet, last_tet)
        data = (constraints, flat_tets, floor, mobility, moves, last_changes, number, tolerance)
        here, moved, changed, grown = _pass(*rows, *data)
        solved += int(here)
        total += grown
        if _is_done(moved, changed, total, tolerance):
            break
    return solved


@compiled()
def _is_done(moved: float, changed: float, total: float, tolerance: float) -> bool:
    """Whether a pass was the last of an island: see ``_pass``; ``total`` is Σ w F², in joules."""
    return moved == 0.0 or changed <= (CHANGE_RATIO * tolerance) ** 2 * total


@compiled(allocates=True)
def _rows_by_side(rows: Any, nodes: Any, mobility: Any, places: Any, cut: float) -> Any:
    """Rows whose movable nodes are all below a cut, those above it, and those across; and where
    each kind begins.

    Args:
        rows: (K,) of nodes.
        places: (N,) of nodes along an axis.
    """
    sides = np.empty(len(rows), np.int64)
    for i in range(len(rows)):
        is_below = is_above = False
        for node in nodes[rows[i]]:
            if node < 0:
                break
            if mobility[node] != 0.0:
                is_below |= places[node] < cut
                is_above |= places[node] >= cut
        sides[i] = 2 if is_below and is_above else 1 if is_above else 0
    order, offsets = _island_rows(sides, 3)
    return rows[order], offsets


@compiled(parallel=True, allocates=True)
def _relax_halves(
    contacts: Any,
    tets: Any,
    places: Any,
    cut: float,
    constraints: Any,
    flat_tets: Any,
    floor: float,
    mobility: Any,
    moves: Any,
    last_changes: Any,
    max_passes: int,
    tolerance: float,
) -> int:
    """Relax (K,) contacts and (A,) tets of one island, its halves side by side and then what is
    across the cut; how often contacts were solved.
    """
    contacts, offsets = _rows_by_side(contacts, constraints.nodes, mobility, places, cut)
    tets, tet_offsets = _rows_by_side(tets, flat_tets.corners, mobility, places, cut)
    sums = np.zeros((2, 4))
    total, solved = _begin(contacts, 0, len(contacts), constraints, mobility, moves), 0
    for number in range(1, max_passes + 1):
        for index in shared_range(2):
            side = as_index(index)
            rows = (contacts, offsets[side], offsets[side + 1])
            tet_rows = (tets, tet_offsets[side], tet_offsets[side + 1])
            shapes = (constraints, flat_tets, floor, mobility, moves, last_changes)
            side_sums = _pass(*rows, *tet_rows, *shapes, number, tolerance)
            for i in range(4):
                sums[side, i] = side_sums[i]
        rows = (contacts, offsets[2], offsets[3])
        tet_rows = (tets, tet_offsets[2], tet_offsets[3])
        shapes = (constraints, flat_tets, floor, mobility, moves, last_changes)
        here, moved, changed, grown = _pass(*rows, *tet_rows, *shapes, number, tolerance)
        solved += int(here + sums[0, 0] + sums[1, 0])
        total += grown + sums[0, 3] + sums[1, 3]
        changed += sums[0, 2] + sums[1, 2]
        if _is_done(moved + sums[0, 1] + sums[1, 1], changed, total, tolerance):
            break
    return solved


@compiled()
def _size(islands: Any, island: int) -> int:
    contacts = islands.contact_offsets[island + 1] - islands.contact_offsets[island]
    return contacts + islands.tet_offsets[island + 1] - islands.tet_offsets[island]


@compiled(allocates=True)
def distribute(islands: Any, left_out: int, count: int) -> Any:
    """Return for each island (I,) one of ``count`` shares of the work: large islands first, each
    goes where there is the least so far. One island may be left out; its share is −1.
    """
    shares = np.full(len(islands.contact_offsets) - 1, -1)
    work = np.zeros(count, np.int64)
    whole = islands.contact_offsets[-1] + islands.tet_offsets[-1]
    for is_turn_of_large in (True, False):
        for island in range(len(shares)):
            if island == left_out:
                continue
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
    halved: int,
    places: Any,
    cut: float,
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
        halved: the island that is relaxed in halves; −1 for none.
        places: (N,) of nodes along an axis, in metres.
        cut: between the halves.
        floor: η̄ of flat tets.
        mobility: (N,) in metres a newton over the step.
        moves: (N, 3) from where contacts were made linear, in metres; changed.
        max_passes: over each island.
        tolerance: a contact rests while neither its distance nor that of one with a node of its own
            changes by more than this ratio, nor a flat tet that has one presses; an island ends
            when all rest, or after a pass with little work.
        threads: that share them.
    """
    solved, shares = 0, distribute(islands, halved, threads)
    last_changes = np.zeros(len(mobility), np.int64)
    if halved >= 0:
        first, last = islands.contact_offsets[halved], islands.contact_offsets[halved + 1]
        first_tet, last_tet = islands.tet_offsets[halved], islands.tet_offsets[halved + 1]
        rows = (islands.contacts[first:last], islands.tets[first_tet:last_tet], places, cut)
        shapes = (constraints, flat_tets, floor, mobility, moves, last_changes)
        solved += _relax_halves(*rows, *shapes, max_passes, tolerance)
    for share in shared_range(threads):
        for island in range(len(shares)):
            if shares[island] == as_index(share):
                island_data = (islands, island, constraints, flat_tets, floor, mobility, moves)
                solved += _relax_island(*island_data, last_changes, max_passes, tolerance)
    return solved
