# SPDX-License-Identifier: GPL-3.0-or-later
"""Triangles of three objects in space, and what each meets of the others."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from supple.core.integrators.contact_nodes import no_constraints
from supple.core.kernels.contact_constraints import (
    Constraints,
    Interpolation,
    PairLaws,
    find_pairs,
    write_pairs,
)
from supple.core.kernels.continuous_collision import CandidateStencils, distances
from supple.core.potentials.contact.surface import Topology, topology

OBJECTS = 3
TRIANGLES = np.arange(9, dtype=np.int32).reshape(3, 3)
OWNERS = np.repeat(np.arange(OBJECTS), 3)


def mesh_of(rest: np.ndarray) -> Topology:
    """The topology over (9, 3) corners; the last object is a collider."""
    return topology(rest, TRIANGLES, OWNERS, 2)


def stencils_of(mesh: Topology, edges: bool = True, faces: bool = True) -> CandidateStencils:
    """All pairs of different objects."""
    of_edges = OWNERS[mesh.edges[:, 0]]
    pairs = [(a, b) for a, b in itertools.combinations(range(9), 2) if of_edges[a] != of_edges[b]]
    corners = [(f, v) for f, v in itertools.product(range(3), range(9)) if OWNERS[v] != f]
    return CandidateStencils(
        np.array(pairs * edges, dtype=np.int32).reshape(-1, 2),
        np.array(corners * faces, dtype=np.int32).reshape(-1, 2),
        mesh.edges.astype(np.int32),
        TRIANGLES,
    )


def themselves(count: int) -> Interpolation:
    """Points that are nodes."""
    return Interpolation(np.arange(count, dtype=np.int32)[:, None], np.ones((count, 1)))


def dense(interpolation: Interpolation, count: int) -> np.ndarray:
    """(V, N) matrix from ``count`` nodes to the points."""
    out = np.zeros((len(interpolation.nodes), count))
    for point, (nodes, weights) in enumerate(zip(*interpolation, strict=True)):
        for node, weight in zip(nodes, weights, strict=True):
            if node >= 0:
                out[point, node] += weight
    return out


def laws_of(**own: Any) -> PairLaws:
    """Laws of every two objects; what is not said is d̂ = 100 m, 1 Pa, no friction, by area."""
    parts = [("distances", 100.0), ("stiffness", 1.0), ("static", 0.0), ("kinetic", 0.0)]
    shape = (OBJECTS, OBJECTS)
    d, k, static, kinetic = (np.full(shape, own.get(name, value), float) for name, value in parts)
    return PairLaws(d, k, static, kinetic, own.get("area_weighted", True))


def dhats_of(stencils: CandidateStencils, mesh: Topology, laws: PairLaws) -> np.ndarray:
    """(P,) d̂ of pairs, that of their objects."""
    first = np.concatenate([mesh.edges[stencils.edge_edges[:, 0], 0], stencils.face_vertices[:, 1]])
    other = np.concatenate(
        [mesh.edges[stencils.edge_edges[:, 1], 0], mesh.faces[stencils.face_vertices[:, 0], 0]]
    )
    return laws.distances[mesh.object_of[first], mesh.object_of[other]]


def found_at(points: np.ndarray, laws: PairLaws, **own: Any) -> Constraints:
    """The contacts at (9, 3) points, as many as there are; those rest unless moves are given."""
    count = len(points)
    mesh = own["mesh"] if "mesh" in own else mesh_of(points)
    interpolation = own.get("interpolation", themselves(count))
    nodes = own.get("nodes", count)
    out = no_constraints(own.get("places", 60), interpolation.nodes.shape[1])
    for part in out:
        part.fill(77)
    stencils = own["stencils"] if "stencils" in own else stencils_of(mesh)
    moves = own.get("moves", np.zeros((count, 3)))
    displacements = own.get("displacements", np.zeros((nodes, 3)))
    mobility = own.get("mobility", np.ones(nodes))
    apart = np.empty(len(stencils.edge_edges) + len(stencils.face_vertices))
    distances(stencils, points, apart)
    known, shares = own.get("known", 0.0) * apart, np.empty(len(apart))
    dhats, blocked = dhats_of(stencils, mesh, laws), np.full(len(apart), own.get("blocked", 0))
    pair_data = (stencils, dhats, blocked, mesh, laws, points, points + moves)
    find_pairs(*pair_data, known, shares)
    pairs = np.flatnonzero(shares)
    # What is not known well enough is measured, and nothing is said to be farther than it is.
    np.testing.assert_allclose(known[pairs], apart[pairs], atol=1e-12)
    near = apart < dhats
    np.testing.assert_allclose(known[near], apart[near], atol=1e-12)
    assert (known <= apart + 1e-12).all()
    write_pairs(pairs, *pair_data, shares, interpolation, displacements, mobility, out)
    assert all((part[len(pairs) :] == 77).all() for part in out)
    return Constraints(*(part[: len(pairs)] for part in out))
