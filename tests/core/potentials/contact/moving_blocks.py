# SPDX-License-Identifier: GPL-3.0-or-later
"""Two blocks that move over a table, and what comes near on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from supple.core import Collider, Contact, Scene, SoftBody
from supple.core.potentials.contact.collision_detection import BroadPhase, Candidates, Sweep
from supple.core.potentials.contact.persistent_candidates import PersistentCandidates
from supple.core.potentials.contact.surface import CollisionSurface
from supple.verification.meshes import block

STEP, RADIUS = 1e-3, 0.04
MESHES = [block((3, 3, 2)), block((3, 2, 2), (0.7, 0.8, 0.6), (0.2, 0.1, 1.1))]
TABLE = np.array([[-3.0, -3, -0.2], [3, -3, -0.2], [0, 4, -0.2]])


def surface_of(scale: float) -> CollisionSurface:
    """Two blocks over a table."""
    meshes = [mesh.with_vertices(scale * mesh.vertices) for mesh in MESHES]
    bodies = [SoftBody(mesh, name=f"Body {number}") for number, mesh in enumerate(meshes)]
    table, contact = Collider(scale * TABLE, [[0, 1, 2]]), Contact(distance=2.0 * scale * RADIUS)
    return CollisionSurface(Scene(bodies, colliders=[table], contact=contact), meshes)


SURFACE = surface_of(1.0)
OWNERS = SURFACE.object_of
RADII = np.array([RADIUS, 0.7 * RADIUS, 1.3 * RADIUS])[OWNERS]
Path = Callable[[float], np.ndarray]


class Counted(BroadPhase):
    """Knows how often it was asked for all, and which points for theirs alone."""

    asked = 0

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.moved: list[np.ndarray] = []
        # Of the last search.
        self.trajectories: tuple[np.ndarray, ...] = ()

    def sweep(self, before: np.ndarray, after: np.ndarray, *radii: Any, **options: Any) -> Sweep:
        self.asked += 1
        self.trajectories = before.copy(), after.copy(), radii[0]
        return super().sweep(before, after, *radii, **options)

    def sweep_moved(self, swept: Sweep, moved: np.ndarray, *trajectories: np.ndarray) -> Sweep:
        self.moved.append(np.flatnonzero(moved))
        self.trajectories = tuple(each.copy() for each in trajectories)
        return super().sweep_moved(swept, moved, *trajectories)


def broad_phase(surface: CollisionSurface = SURFACE) -> Counted:
    return Counted(
        *(surface.rest, surface.edges, surface.triangles, surface.group_of),
        surface.group_collisions(surface.can_collide),
    )


NEAR = broad_phase()


def as_set(found: Candidates) -> set[tuple[int, int, int]]:
    pairs = [(found.edge_edges, 0), (found.face_vertices, 1)]
    return {(kind, a, b) for own, kind in pairs for a, b in own.tolist()}


def corners_of(pair: tuple[int, int, int]) -> set[int]:
    """The vertices of a pair as ``as_set`` has it."""
    kind, first, second = pair
    if kind == 0:
        return {*SURFACE.edges[first].tolist(), *SURFACE.edges[second].tolist()}
    return {*SURFACE.triangles[first].tolist(), second}


def near(before: np.ndarray, after: np.ndarray) -> set[tuple[int, int, int]]:
    """Exactly what comes within the sum of radii at some moments between two places."""
    places = [before + share * (after - before) for share in (0.0, 0.3, 0.7, 1.0)]
    return set().union(*(as_set(NEAR.candidates(x, x, RADII)) for x in places))


def falling(time: float) -> np.ndarray:
    """The upper body comes down ever faster and turns, the lower one rises, both go sideways."""
    points = SURFACE.rest.copy()
    upper, lower = OWNERS == 1, OWNERS == 0
    angle, centre = 1.5 * time, points[upper].mean(axis=0)
    turn = np.array(
        [[np.cos(angle), -np.sin(angle), 0.0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]]
    )
    points[upper] = (points[upper] - centre) @ turn.T + centre
    points[upper, 2] -= 1.2 * time + 4.0 * time**2
    points[lower, 2] += 0.3 * time
    points[:, 0] += 2.0 * time
    return points


def trembling(time: float) -> np.ndarray:
    """Single corners go to and fro besides, by much or little, and ever more of them."""
    points, random = falling(time), np.random.default_rng(round(time / STEP))
    size = 0.004 * (np.arange(len(points)) % 5 == 0) + 0.05 * (time > 0.1) * (OWNERS == 0)
    return points + size[:, None] * random.uniform(-1.0, 1.0, points.shape)


def jumping(time: float) -> np.ndarray:
    """Every now and then all goes on in another direction."""
    turns = np.random.default_rng(3).uniform(-3.0, 3.0, (30, len(OWNERS), 3))
    whole, rest = divmod(time / STEP, 15.0)
    way = turns[: int(whole)].sum(axis=0) * 15.0 + turns[int(whole)] * rest
    return falling(time) + 2.0 * STEP * way


def scattering(time: float) -> np.ndarray:
    """Each point goes on in another direction at times of its own."""
    points = np.arange(len(OWNERS))
    turns = np.random.default_rng(5).uniform(-3.0, 3.0, (40, len(OWNERS), 3))
    whole, rest = divmod(time / STEP + points % 40, 40.0)
    number = whole.astype(int)
    before = np.concatenate([0.0 * turns[:1], 40.0 * turns.cumsum(axis=0)])
    way = before[number, points] + turns[number, points] * rest[:, None]
    return falling(time) + 2.0 * STEP * way


PATHS = [falling, trembling, jumping, scattering]


def persistent() -> tuple[PersistentCandidates, Counted]:
    trees = broad_phase()
    return PersistentCandidates(SURFACE, trees, RADII), trees
