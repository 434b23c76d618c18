# SPDX-License-Identifier: GPL-3.0-or-later
"""Static equilibrium by felupe, an independent finite element code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import felupe
import numpy as np
from numpy.typing import NDArray

from supple.core import TetMesh

from .laws import Law

# Its Newton's method has no line search.
LOAD_STEPS = 4
TOLERANCE = 1e-11
Positions = NDArray[np.float64]
Indices = NDArray[np.integer[Any]]
Held = Callable[[Positions], NDArray[np.bool_]]
Weight = tuple[float, float, float]


class Rest(NamedTuple):
    """(N, 3) vertices at the start and in equilibrium, in metres."""

    start: Positions
    end: Positions


def rest_positions(mesh: TetMesh, pinned: Indices, law: Law, weight: Weight) -> Positions:
    """Return the (N, 3) rest positions of the same linear tets, in metres.

    Args:
        mesh: at rest.
        pinned: indices of vertices that are held.
        law: of the material.
        weight: force on a volume, in N/m³.
    """
    region = felupe.RegionTetra(felupe.Mesh(mesh.vertices, mesh.tets, "tetra"))
    held = np.zeros(len(mesh.vertices), dtype=bool)
    held[pinned] = True
    material = felupe.Material(
        lambda x, **_: [law.stress(x[0]), x[-1]], lambda x, **_: [law.elasticity(x[0])]
    )
    return mesh.vertices + _displacements(region, held, material, weight)


def quadratic_rest(mesh: TetMesh, held: Held, young: float, poisson: float, weight: Weight) -> Rest:
    """Compute the rest state with quadratic tets and felupe's own linear elasticity; midpoints come
    last.

    Args:
        held: which of (N, 3) points are.
    """
    fine = felupe.Mesh(mesh.vertices, mesh.tets, "tetra").add_midpoints_edges()
    material = felupe.LinearElastic(E=young, nu=poisson)
    region = felupe.RegionQuadraticTetra(fine)
    moved = _displacements(region, held(fine.points), material, weight)
    return Rest(fine.points, fine.points + moved)


def _displacements(
    region: Any, held: NDArray[np.bool_], material: Any, weight: Weight
) -> Positions:
    field = felupe.FieldContainer([felupe.Field(region, dim=3)])
    bounds = {"held": felupe.Boundary(field[0], mask=held)}
    dof0, dof1 = felupe.dof.partition(field, bounds)
    solid = felupe.SolidBody(material, field)
    for step in range(1, LOAD_STEPS + 1):
        force = felupe.SolidBodyForce(field, [step / LOAD_STEPS * part for part in weight])
        felupe.newtonraphson(
            items=[solid, force],
            dof0=dof0,
            dof1=dof1,
            ext0=felupe.dof.apply(field, bounds, dof0),
            tol=TOLERANCE,
            verbose=0,
        )
    displacements: Positions = field[0].values
    return displacements
