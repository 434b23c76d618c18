# SPDX-License-Identifier: GPL-3.0-or-later
"""Colours for tets: those of one colour share no vertex, so that all of them can move at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def colour_tets(corners: NDArray[np.integer[Any]], vertex_count: int) -> NDArray[np.int64]:
    """(M,) colours from 0 on of tets with (4, M) ``corners``: the same wherever it is asked for.

    Each colour takes as many tets as still fit, those first that a fixed shuffle puts first. So a
    tet gets at most one colour more than it has neighbours.

    Source: Luby, "A Simple Parallel Algorithm for the Maximal Independent Set Problem", SIAM
    Journal on Computing 15(4), 1986, with priorities that stay.
    """
    count = corners.shape[1]
    colours = np.full(count, -1)
    # Shuffled, because neighbours in order would wait for each other one by one.
    left = np.random.default_rng(0).permutation(count)
    colour = 0
    while len(left):
        colours[_independent(corners, left, vertex_count)] = colour
        left = left[colours[left] < 0]
        colour += 1
    return colours


def _independent(
    corners: NDArray[np.integer[Any]], tets: NDArray[np.int64], vertex_count: int
) -> NDArray[np.int64]:
    """Those of ``tets`` that can be taken one after the other without sharing a vertex."""
    chosen: list[NDArray[np.int64]] = []
    taken = np.zeros(vertex_count, dtype=bool)
    while len(tets):
        own, rank = corners[:, tets], np.arange(len(tets))
        # The first tet at each vertex: what is written last stays.
        first = np.empty(vertex_count, dtype=np.int64)
        first[own.T[::-1].ravel()] = rank[::-1].repeat(4)
        # One that is first at all its corners is in.
        wins = (first[own] == rank).all(axis=0)
        chosen.append(tets[wins])
        taken[own[:, wins]] = True
        tets = tets[~taken[own].any(axis=0)]
    return np.concatenate(chosen)
