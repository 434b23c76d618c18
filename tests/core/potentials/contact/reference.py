# SPDX-License-Identifier: GPL-3.0-or-later
"""Collisions by ipctk: an independent opinion on collisions, their weights and energy."""

from __future__ import annotations

from typing import Any

import numpy as np

from supple.core.kernels.collisions import POINT_EDGE, POINT_FACE, POINTS
from supple.core.potentials.contact.collision_detection import Candidates
from supple.core.potentials.contact.normal_collisions import NormalCollisions
from supple.core.potentials.contact.surface import CollisionSurface, Points
from supple.tests.core.toolkit import ipctk

#: Places on two edges in the names of ipctk's types, by code.
EDGES = {
    f"EA{first}_EB{second}": 3 * on_first + on_second
    for on_first, first in enumerate(("0", "1", ""))
    for on_second, second in enumerate(("0", "1", ""))
}


def reference_mesh(surface: CollisionSurface) -> Any:
    """A surface as ipctk's; its collider corners and edges count for no more area than those of the
    bodies do on average."""
    kit, faces = ipctk(), np.asfortranarray(surface.triangles)
    mesh = kit.CollisionMesh(
        np.asfortranarray(surface.rest), np.asfortranarray(surface.edges), faces
    )
    bodies, edges = surface.body_count, (surface.edges < surface.body_count).all(axis=1)
    areas = np.array(mesh.vertex_areas)
    areas[bodies:] = np.minimum(areas[bodies:], areas[:bodies].mean())
    mesh.vertex_areas = areas
    areas = np.array(mesh.edge_areas)
    areas[~edges] = np.minimum(areas[~edges], areas[edges].mean())
    mesh.edge_areas = areas
    mesh.can_collide = reference_filter(surface)
    return mesh


def reference_filter(surface: CollisionSurface) -> Any:
    """Who may meet whom."""
    kit, vertices = ipctk(), np.arange(len(surface.object_of), dtype=np.int32)
    same = kit.make_vertex_patches_filter(surface.object_of.astype(np.int32))
    can_meet = kit.make_static_obstacle_filter(surface.body_count)
    for first, second in np.argwhere(~surface.can_collide):
        if first < second:
            together = vertices.copy()
            together[np.isin(surface.object_of, (first, second))] = 0
            can_meet &= kit.make_vertex_patches_filter(together) | ~same
        elif first == second:
            together = vertices.copy()
            together[surface.object_of == first] = 0
            can_meet &= kit.make_vertex_patches_filter(together)
    for first, second in np.argwhere(surface.exempt_bits):
        # The attached part of the first goes through the second.
        is_exempt = (surface.exempt & surface.exempt_bits[first, second]) != 0
        together = vertices.copy()
        together[(surface.object_of == first) & is_exempt | (surface.object_of == second)] = 0
        can_meet &= kit.make_vertex_patches_filter(together) | ~same
    return can_meet


def reference_collisions(
    surface: CollisionSurface, points: Points, distance: float, area_weighted: bool
) -> tuple[Any, Candidates]:
    """The collisions of ipctk at (V, 3) points, and its candidates."""
    kit, mesh = ipctk(), reference_mesh(surface)
    candidates, found = kit.Candidates(), kit.NormalCollisions()
    candidates.build(mesh, np.asfortranarray(points), 0.51 * distance, kit.LBVH())
    found.use_area_weighting = area_weighted
    kinds = kit.NormalCollisions
    found.collision_set_type = kinds.IMPROVED_MAX_APPROX if area_weighted else kinds.IPC
    found.build(candidates, mesh, np.asfortranarray(points), distance)
    edges = [(pair.edge0_id, pair.edge1_id) for pair in candidates.ee_candidates]
    faces = [(pair.face_id, pair.vertex_id) for pair in candidates.fv_candidates]
    edge_edges = np.sort(np.array(edges, dtype=np.int32).reshape(-1, 2), axis=1)
    return found, Candidates(edge_edges, np.array(faces, dtype=np.int32).reshape(-1, 2))


def potential_of(distance: float, stiffness: float, area_weighted: bool) -> Any:
    """The barrier of one distance and stiffness."""
    return ipctk().BarrierPotential(distance, stiffness, area_weighted)


def reference_weights(found: Any, surface: CollisionSurface) -> dict[tuple[int, ...], float]:
    """The weights of ipctk by a feature and the vertices of collisions."""
    weights: dict[tuple[int, ...], float] = {}
    edges = surface.edges.tolist()
    for pair in found.vv_collisions:
        key = (POINTS, *sorted((pair.vertex0_id, pair.vertex1_id)))
        weights[key] = weights.get(key, 0.0) + pair.weight
    for pair in found.ev_collisions:
        weights[POINT_EDGE, pair.vertex_id, *edges[pair.edge_id]] = pair.weight
    for pair in found.fv_collisions:
        face = surface.triangles[pair.face_id].tolist()
        weights[POINT_FACE, pair.vertex_id, *face] = pair.weight
    for pair in found.ee_collisions:
        first, second, code = pair.edge0_id, pair.edge1_id, EDGES[pair.dtype.name]
        if first > second:
            first, second, code = second, first, 3 * (code % 3) + code // 3
        key = (code, *edges[first], *edges[second])
        weights[key] = weights.get(key, 0.0) + pair.weight
    return weights


def own_weights(collisions: NormalCollisions) -> dict[tuple[int, ...], float]:
    """The weights of our collisions, by the same keys."""
    weights = {}
    corners = {POINTS: 2, POINT_EDGE: 3}
    for feature, vertices, weight in zip(
        collisions.features.tolist(),
        collisions.vertices.tolist(),
        collisions.weights.tolist(),
        strict=True,
    ):
        key = (feature, *vertices[: corners.get(feature, 4)])
        assert key not in weights
        weights[key] = weight
    return weights
