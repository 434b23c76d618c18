# SPDX-License-Identifier: GPL-3.0-or-later
"""How much of each tet is material.

What cells hold before their vertices are moved is kept by sampling it, and found again in the tets
that are there in the end: volume and mass stay what they are, whatever the boundary does.
Nesme, Kry, Jeřábková and Faure, "Preserving topology and elasticity for embedded deformable
models", 2009, weigh mass and stiffness of partly filled cells in the same way.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..geometry.tet_mesh import signed_volumes
from ..geometry.tets_around import TetsAround, barycentric_maps
from .cells import CELL_VOLUME, SAMPLES_INSIDE, Cells, points_in_tets
from .shrink_wrap import boundary
from .virtual_nodes import VirtualMesh

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

# Of the fullest tet around, so that all have some mass and stiffness; and how often the others
# around are made to hold as much less.
MIN_FILL, MAX_ROUNDS = 0.05, 4


def fill_fractions(cells: Cells, mesh: VirtualMesh, positions: FloatArray) -> FloatArray:
    """(M,) fraction of each tet that is material.

    Args:
        cells: with samples of what they hold.
        mesh: copies of them.
        positions: (N, 3) where its vertices are in the end.
    """
    is_sheet = np.zeros(len(mesh.tets), dtype=bool)
    is_sheet[mesh.tet_of[cells.row_cell, cells.labels][cells.is_sheet]] = True
    is_partial = _partial(cells, mesh) & ~is_sheet
    points, near, inside = _samples(cells, mesh, is_partial)
    around, maps = TetsAround(mesh.tets, len(positions)), barycentric_maps(positions, mesh.tets)
    found, least, _ = around.locate(maps, mesh.tets, points, near)
    within, count = least >= 0.0, len(mesh.tets)
    held = np.bincount(found[within & inside], minlength=count)
    asked = np.bincount(found[within], minlength=count)
    beside = np.bincount(found[~within & inside], minlength=count)
    volumes = signed_volumes(positions, mesh.tets)
    per_sample = CELL_VOLUME / SAMPLES_INSIDE
    fill = held / np.maximum(asked, 1) + beside * per_sample / volumes
    fill = _with_min_fill(np.where(is_partial, fill, 1.0), volumes, mesh, is_partial)
    return fill * _correction(cells, fill, volumes, is_partial)


def _with_min_fill(
    fill: FloatArray, volumes: FloatArray, mesh: VirtualMesh, is_partial: NDArray[np.bool_]
) -> FloatArray:
    """(M,) at least ``MIN_FILL`` of the fullest tet around where tets are partial, with as much
    material around each vertex as before, as nearly as may be: thin parts are made of such tets."""

    def around(fill: FloatArray) -> FloatArray:
        held = np.repeat(fill * volumes, 4)
        return np.bincount(mesh.tets.ravel(), held, len(mesh.vertices)).astype(np.float64)

    fullest = np.zeros(len(mesh.vertices))
    np.maximum.at(fullest, mesh.tets, fill[:, None])
    least = MIN_FILL * np.clip(fullest[mesh.tets].max(axis=1), MIN_FILL, 1.0)
    wanted, fill = around(fill), np.maximum(fill, least)
    for _ in range(MAX_ROUNDS):
        factor = (wanted / around(fill))[mesh.tets].mean(axis=1)
        fill = np.where(is_partial, np.maximum(fill * factor, least), fill)
    return fill


def _correction(
    cells: Cells, fill: FloatArray, volumes: FloatArray, is_partial: NDArray[np.bool_]
) -> FloatArray:
    """(M,) factor that gives all tets together the volume that their cells held."""
    samples = cells.sample_labels[:, -SAMPLES_INSIDE:]
    full = len(cells.tets) - cells.cut
    held = CELL_VOLUME * (full + float((samples >= 0).sum()) / SAMPLES_INSIDE)
    partial = float((fill * volumes)[is_partial].sum())
    wanted = held - float(volumes[~is_partial].sum())
    if not 0.5 * partial < wanted < 2.0 * partial:  # of sheets, which hold nothing
        return np.ones(len(fill))
    return np.where(is_partial, wanted / partial, 1.0)


def _partial(cells: Cells, mesh: VirtualMesh) -> NDArray[np.bool_]:
    """Whether a tet is a copy of a cell that is cut, or at the boundary."""
    at_boundary = np.zeros(len(mesh.vertices), dtype=bool)
    at_boundary[boundary(mesh.tets)] = True
    partial: NDArray[np.bool_] = (mesh.cell < cells.cut) | at_boundary[mesh.tets].any(axis=1)
    return partial


def _samples(
    cells: Cells, mesh: VirtualMesh, is_partial: NDArray[np.bool_]
) -> tuple[FloatArray, IndexArray, NDArray[np.bool_]]:
    """Points (Q, 3) in the copies of cells, the copy (Q,), and whether they are in its material."""
    near = np.zeros(len(mesh.vertices), dtype=bool)
    near[mesh.tets[is_partial]] = True
    tet = np.flatnonzero(near[mesh.tets].any(axis=1))
    full = tet[mesh.cell[tet] >= cells.cut]
    fragments = np.stack([cells.row_cell, mesh.tet_of[cells.row_cell, cells.labels]])
    fragments = np.unique(fragments, axis=1)
    cell, cut = fragments[:, np.isin(fragments[1], tet)]
    labels = cells.sample_labels[cell][:, -SAMPLES_INSIDE:]
    fragment = np.where(labels >= 0, mesh.tet_of[cell[:, None], np.maximum(labels, 0)], -1)
    weights = points_in_tets(cells.cut, len(full), SAMPLES_INSIDE)
    points = [
        cells.samples[cell][:, -SAMPLES_INSIDE:].reshape(-1, 3),
        (weights @ cells.nodes[cells.tets[mesh.cell[full]]]).reshape(-1, 3),
    ]
    inside = [(fragment == cut[:, None]).ravel(), np.ones(weights.shape[0] * SAMPLES_INSIDE, bool)]
    return (
        np.concatenate(points),
        np.repeat(np.concatenate([cut, full]), SAMPLES_INSIDE),
        np.concatenate(inside),
    )
