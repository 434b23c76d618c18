# SPDX-License-Identifier: GPL-3.0-or-later
"""Kernels of XPBD on a CPU: a pass over the tets, colour by colour.

The data of a tet are the shape gradients of corners 1 to 3 (9), the inverse masses of all four
corners, and those of its law from ``LAW_OFFSET`` on. Formulas: ``core/integrators/xpbd.py``.
"""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled, shared_range
from ..math3.matrices import add3, cofactors, dot, full, matmul3, scaled

LAW_OFFSET = 13
_THIRD = 1.0 / math.sqrt(3.0)
#: The basis B of Hooke's law, row by row.
BASIS = (
    (0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0),
    (1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0),
    (_THIRD, 0.0, 0.0, 0.0, _THIRD, 0.0, 0.0, 0.0, -2.0 * _THIRD),
    (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
)
#: The trace of B for all six, and the index of the compliance in a tet's law.
TRACES = (0.0, 0.0, 0.0, 0.0, 0.0, 3.0)
COMPLIANCES = (6, 6, 6, 6, 6, 7)
_ZERO = (0.0,) * 9


@compiled(parallel=True)
def relax_neo_hookean(positions: Any, corners: Any, tet_data: Any, offsets: Any) -> None:
    """Relax ``NeoHookeanConstraints``."""
    for colour in range(len(offsets) - 1):
        for e in shared_range(offsets[colour], offsets[colour + 1]):
            data = tet_data[e]
            f = _deformation_gradient(positions, corners[e], data)
            c = cofactors(f)
            changed = matmul3(c, full(_law_matrix(data)))
            gain, ratio, rest = data[LAW_OFFSET + 6], data[LAW_OFFSET + 7], data[LAW_OFFSET + 8]
            volume = f[0] * c[0] + f[1] * c[1] + f[2] * c[2]
            pressure = (volume - rest - dot(f, changed)) / (ratio + dot(c, changed))
            response = scaled(-gain, add3(f, scaled(pressure, c)))
            _correct_positions(positions, corners[e], data, response)


@compiled(parallel=True)
def relax_green_strains(positions: Any, corners: Any, tet_data: Any, offsets: Any) -> None:
    """Relax ``GreenStrains``."""
    for colour in range(len(offsets) - 1):
        for e in shared_range(offsets[colour], offsets[colour + 1]):
            data = tet_data[e]
            inverse_mass_metric = full(_law_matrix(data))
            f = _deformation_gradient(positions, corners[e], data)
            r = matmul3(f, _ZERO)
            for k in range(6):
                gradient = matmul3(f, BASIS[k])
                change = matmul3(gradient, inverse_mass_metric)
                strain = 0.5 * (dot(f, gradient) - TRACES[k])
                multiplier = -strain / (data[LAW_OFFSET + COMPLIANCES[k]] + dot(gradient, change))
                r = add3(r, scaled(multiplier, gradient))
                f = add3(f, scaled(multiplier, change))
            _correct_positions(positions, corners[e], data, r)


@compiled()
def _law_matrix(data: Any) -> Any:
    """The symmetric matrix that a law begins with: 11, 12, 13, 22, 23, 33."""
    return (
        data[LAW_OFFSET],
        data[LAW_OFFSET + 1],
        data[LAW_OFFSET + 2],
        data[LAW_OFFSET + 3],
        data[LAW_OFFSET + 4],
        data[LAW_OFFSET + 5],
    )


@compiled()
def _deformation_gradient(positions: Any, corners: Any, tet: Any) -> Any:
    """F of a tet."""
    x, y, z = positions[0], positions[1], positions[2]
    v0, v1, v2, v3 = corners[0], corners[1], corners[2], corners[3]
    edges = (
        *(x[v1] - x[v0], x[v2] - x[v0], x[v3] - x[v0]),
        *(y[v1] - y[v0], y[v2] - y[v0], y[v3] - y[v0]),
        *(z[v1] - z[v0], z[v2] - z[v0], z[v3] - z[v0]),
    )
    gradients = (tet[0], tet[1], tet[2], tet[3], tet[4], tet[5], tet[6], tet[7], tet[8])
    return matmul3(edges, gradients)


@compiled()
def _correct_positions(positions: Any, corners: Any, tet: Any, r: Any) -> None:
    """Corrects the positions of the corners by w R g."""
    for i in range(3):
        # Corrections of unit masses add up to zero.
        first = r[3 * i] * tet[0] + r[3 * i + 1] * tet[1] + r[3 * i + 2] * tet[2]
        second = r[3 * i] * tet[3] + r[3 * i + 1] * tet[4] + r[3 * i + 2] * tet[5]
        third = r[3 * i] * tet[6] + r[3 * i + 1] * tet[7] + r[3 * i + 2] * tet[8]
        positions[i, corners[0]] -= tet[9] * (first + second + third)
        positions[i, corners[1]] += tet[10] * first
        positions[i, corners[2]] += tet[11] * second
        positions[i, corners[3]] += tet[12] * third
