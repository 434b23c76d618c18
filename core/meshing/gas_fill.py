# SPDX-License-Identifier: GPL-3.0-or-later
"""Compute the gas fraction of each tet: the part of a hollow that lies in the cells of its wall."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..geometry.gas_boundary import MIN_HOLLOW_VOLUME_RATIO, gas_volume
from ..geometry.groups import components
from ..geometry.tet_mesh import TetMesh
from ..geometry.triangles import orient_consistently
from ..geometry.winding_number import winding_number
from .cells import points_in_tets
from .surface import is_closed, signed_volume

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

_INSIDE, _SAMPLES = 0.5, 8
# Each time some tets are full, and none is afterwards, as a rule, after a few.
_MAX_SCALINGS = 30


def with_gas(mesh: TetMesh, vertices: FloatArray, triangles: IndexArray) -> TetMesh:
    """The mesh with the fraction of each tet that lies in hollows of a surface, where it has any.

    A hollow is inside of a closed shell that is seen from the other side than the shell around it.
    All its gas counts for tets of any size: the gas in tets is scaled to the missing volume.

    Args:
        mesh: that encloses the surface.
        vertices, triangles: (V, 3) in metres and (T, 3) of the surface.
    """
    triangles = orient_consistently(triangles)
    hollow = triangles[_are_hollow(vertices, triangles)]
    if len(hollow) == 0:
        return mesh
    volume = abs(signed_volume(vertices, hollow))
    mesh.gas = _fractions(mesh, vertices, triangles, hollow)
    missing = volume - (gas_volume(mesh) - float(mesh.gas @ mesh.rest_volumes))
    mesh.gas = _scaled(mesh.gas, mesh.rest_volumes, missing)
    return mesh


def _scaled(fractions: FloatArray, volumes: FloatArray, total: float) -> FloatArray:
    """(M,) fractions of (M,) volumes that add up to a total, in proportion to some fractions.

    No fraction exceeds one; the others take the rest then. If all are one, the total is less.
    """
    result = np.zeros_like(fractions)
    left = fractions > 0.0
    for _ in range(_MAX_SCALINGS):
        amount = float(fractions[left] @ volumes[left])
        rest = total - float(volumes[result == 1.0].sum())
        if amount <= 0.0:
            break
        result[left] = np.clip(fractions[left] * (rest / amount), 0.0, 1.0)
        is_full = left & (result == 1.0)
        if not is_full.any():
            break
        left &= ~is_full
    return result


def _fractions(
    mesh: TetMesh, vertices: FloatArray, triangles: IndexArray, hollow: IndexArray
) -> FloatArray:
    """(M,) fractions by samples. If tets of several parts of the surface overlap, gas is in the
    tet of the closest part.

    Args:
        triangles, hollow: (T, 3) and (H, 3) of the surface, and those of them around hollows.
    """
    assert mesh.fill is not None and mesh.surface_tets is not None
    shell = vertices[np.unique(hollow)]
    pieces = components(len(mesh.vertices), mesh.tets[:, [0, 1, 1, 2, 2, 3]].reshape(-1, 2))
    pieces = pieces[mesh.tets[:, 0]]
    beside, _ = mesh.surface_tets.followed(shell, mesh.vertices, mesh.tets)
    # Tets that are full hold no gas, nor those of another part that lies in the hollow.
    tets = np.flatnonzero((mesh.fill != 1.0) & np.isin(pieces, pieces[beside]))
    points = points_in_tets(0, len(tets), _SAMPLES) @ mesh.vertices[mesh.tets[tets]]
    points, tet = points.reshape(-1, 3), np.repeat(tets, _SAMPLES)
    low, high = shell.min(axis=0), shell.max(axis=0)
    gas = np.flatnonzero(((points >= low) & (points <= high)).all(axis=1))
    gas = gas[np.abs(winding_number(points[gas], vertices, hollow)) > _INSIDE]
    gas = gas[np.abs(winding_number(points[gas], vertices, triangles)) <= _INSIDE]
    owner, least = mesh.surface_tets.followed(points[gas], mesh.vertices, mesh.tets)
    counted = tet[gas][(owner == tet[gas]) | (least < 0.0)]
    fractions: FloatArray = np.bincount(counted, minlength=len(mesh.tets)) / _SAMPLES
    return fractions


def _are_hollow(vertices: FloatArray, triangles: IndexArray) -> NDArray[np.bool_]:
    """(T,) whether triangles are of a closed shell around a hollow of the others."""
    _, place = np.unique(vertices, axis=0, return_inverse=True)
    welded = place.ravel()[triangles]
    shell = components(int(welded.max()) + 1, welded[:, [0, 1, 1, 2]].reshape(-1, 2))[welded[:, 0]]
    shell = np.unique(shell, return_inverse=True)[1]
    alike = [np.flatnonzero(shell == number) for number in range(int(shell.max()) + 1)]
    volumes = np.array(
        [
            signed_volume(vertices, triangles[rows]) if is_closed(welded[rows]) else 0.0
            for rows in alike
        ]
    )
    sign = np.sign(volumes[np.abs(volumes).argmax()])
    is_outer, outermost = sign * volumes > 0.0, np.abs(volumes).max()
    outer = triangles[is_outer[shell]]
    is_hollow = np.zeros(len(triangles), dtype=bool)
    for rows, volume in zip(alike, sign * volumes, strict=True):
        if volume < -MIN_HOLLOW_VOLUME_RATIO * outermost:
            anchor = vertices[triangles[rows[0]]].mean(axis=0)[None]
            is_hollow[rows] = np.abs(winding_number(anchor, vertices, outer)) > _INSIDE
    return is_hollow
