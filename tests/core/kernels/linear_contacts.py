# SPDX-License-Identifier: GPL-3.0-or-later
"""Contacts that are linear from the start, and what an independent minimisation makes of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import minimize

from supple.core.integrators.contact_nodes import no_constraints
from supple.core.kernels.contact_constraints import GROUND, Constraints
from supple.core.kernels.contact_relaxation import initialize_force, relax

UP = (0.0, 0.0, 1.0)
#: Of three nodes, in m/N.
MOBILITY = np.array([0.8, 0.5, 2.0])


def contacts(
    nodes: Any, coefficients: Any, normals: Any, distances: Any, mobility: Any, **own: Any
) -> Constraints:
    """(K, E) nodes and coefficients; what is not said is d̂ = 1 m, a scale of 1 J, no friction and
    the barrier of surfaces."""
    nodes, coefficients = np.array(nodes, dtype=np.int32), np.array(coefficients, dtype=float)
    out = no_constraints(len(nodes), 1)
    out.nodes[:], out.coefficients[:] = -1, math.nan
    out.nodes[:, : nodes.shape[1]] = nodes
    out.coefficients[:, : nodes.shape[1]] = coefficients
    out.normals[:], out.distances[:] = normals, distances
    out.dhats[:], out.scales[:] = own.get("dhats", 1.0), own.get("scales", 1.0)
    out.static[:], out.kinetic[:] = own.get("static", 0.0), own.get("kinetic", 0.0)
    out.kinds[:], out.displacements[:] = own.get("kinds", 0), own.get("displacements", 0.0)
    out.compliances[:] = (coefficients**2 * mobility[nodes] * (nodes >= 0)).sum(axis=1)
    out.forces[:], out.frictions[:] = 0.0, 0.0
    return out


def pair(mobility: np.ndarray, distance: float, **own: Any) -> Constraints:
    """One contact of two points, the first 0.75 of the way from node 2 to 0 and the second at 1."""
    return contacts([[0, 2, 1]], [[0.75, 0.25, -1.0]], [UP], [distance], mobility, **own)


def matrix(constraints: Constraints, count: int) -> np.ndarray:
    """The (K, N) coefficients of each of ``count`` nodes in the contacts."""
    used = constraints.nodes >= 0
    out = np.zeros((len(used), count))
    rows = np.nonzero(used)[0]
    np.add.at(out, (rows, constraints.nodes[used]), constraints.coefficients[used])
    return out


def initialize_forces(
    constraints: Constraints, count: int, mobility: np.ndarray, moves: np.ndarray
) -> None:
    """Initialize the forces of the first contacts, one after the other."""
    for k in range(count):
        initialize_force(constraints, k, mobility, moves)


def relax_each(
    constraints: Constraints, count: int, mobility: np.ndarray, moves: np.ndarray
) -> float:
    """One pass over the first contacts; the largest change."""
    return max(relax(constraints, k, mobility, moves) for k in range(count))


def random_contacts(seed: int, count: int = 30, nodes: int = 20, **own: Any) -> Any:
    """Contacts between random nodes, half of them of the ground; (N,) mobility, (N, 3) wanted
    moves."""
    random = np.random.default_rng(seed)
    mobility = random.uniform(0.3, 2.0, nodes)
    pairs = np.stack([random.permutation(nodes)[:4] for _ in range(count)])
    first, second = random.dirichlet([1, 1], count), random.dirichlet([1, 1], count)
    normals = random.normal(size=(count, 3))
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    found = contacts(
        *(pairs, np.hstack([first, -second]), normals, random.uniform(0.2, 1.5, count), mobility),
        dhats=random.uniform(0.8, 1.2, count),
        scales=10.0 ** random.uniform(-2.0, 0.5, count),
        kinds=np.arange(count) % 2,
        displacements=0.1 * random.normal(size=(count, 3)),
        **own,
    )
    return found, mobility, random.normal(scale=0.7, size=(nodes, 3))


def barrier_of(kinds: np.ndarray, u: np.ndarray) -> np.ndarray:
    """b of contacts of each kind."""
    with np.errstate(divide="ignore", invalid="ignore"):
        of_surfaces, of_ground = -((u * u - 1) ** 2) * np.log(u * u), -((u - 1) ** 2) * np.log(u)
    own = np.where(u < 1.0, np.where(kinds == GROUND, of_ground, of_surfaces), 0.0)
    return np.where(u > 0.0, own, np.inf)


def force_of(kind: int, u: float) -> float:
    """−b'(u)."""
    ends = barrier_of(np.full(2, kind), np.array([u - 1e-6, u + 1e-6]))
    return float(ends[0] - ends[1]) / 2e-6


def minimum(constraints: Constraints, mobility: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(N, 3) moves with the least of inertia and barriers, found without derivatives of ours."""
    own, rows = constraints, matrix(constraints, len(mobility))
    along = (rows[:, :, None] * own.normals[:, None]).reshape(len(rows), -1)
    weights = np.repeat(1.0 / mobility, 3)

    def barriers(x: np.ndarray, order: int) -> np.ndarray:
        # Central differences of what is smooth enough for them.
        u, h = (own.distances + along @ x) / own.dhats, 1e-4
        sides = [barrier_of(own.kinds, u + step) for step in (-h, 0.0, h)]
        stencil = [(0, 1, 0), (-0.5 / h, 0, 0.5 / h), (1 / h**2, -2 / h**2, 1 / h**2)][order]
        total = sum(part * side for part, side in zip(stencil, sides, strict=True) if part)
        return own.scales * np.asarray(total) / own.dhats**order

    def energy(x: np.ndarray) -> float:
        return float(0.5 * weights @ (x - wanted.ravel()) ** 2 + barriers(x, 0).sum())

    def gradient(x: np.ndarray) -> np.ndarray:
        return weights * (x - wanted.ravel()) + along.T @ barriers(x, 1)

    def hessian(x: np.ndarray) -> np.ndarray:
        return np.diag(weights) + along.T @ (barriers(x, 2)[:, None] * along)

    start = np.zeros(wanted.size)
    options = {"gtol": 1e-9, "maxiter": 1000}
    found = minimize(
        energy, start, jac=gradient, hess=hessian, method="trust-exact", options=options
    )
    return np.asarray(found.x.reshape(-1, 3))
