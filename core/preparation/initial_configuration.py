# SPDX-License-Identifier: GPL-3.0-or-later
"""The initial configuration of a scene: positions, and the surfaces that collide."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..geometry.embedding import Embedding
from ..geometry.tet_mesh import TetMesh
from ..scene.collision_points import collider_surface
from ..scene.contact_distances import attached_pairs
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody
from ..scene.start_shape import start_positions, tet_mesh_of
from .intersections import Surfaces
from .uncrossed_surface import boundary_surface

Points = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class InitialBody:
    """A soft body at the start.

    Args:
        mesh: its tetrahedra.
        positions: (N, 3) of their vertices at the start, in metres.
        embedding: of the V points of the contact surface in the tetrahedra.
        triangles: (F, 3) indices of these points.
        through_own: (F,) whether a triangle goes through its own body.
        is_pinned: (N,) whether a vertex is pinned.
    """

    mesh: TetMesh
    positions: Points
    embedding: Embedding
    triangles: NDArray[np.int32]
    through_own: NDArray[np.bool_]
    is_pinned: NDArray[np.bool_]

    @staticmethod
    def of(body: SoftBody) -> InitialBody:
        """Raises SceneError when the body is not filled with tetrahedra yet."""
        mesh, positions = tet_mesh_of(body), start_positions(body)
        is_pinned = np.zeros(len(positions), dtype=bool)
        if body.pinned is not None:
            is_pinned[body.pinned] = True
        surface = body.contact_surface
        if surface is None or surface.embedding is None:
            surface = boundary_surface(mesh)
        assert surface.embedding is not None
        through = ~surface.meets_own
        return InitialBody(
            mesh, positions, surface.embedding, surface.triangles, through, is_pinned
        )

    def points(self, positions: Points | None = None) -> Points:
        """(V, 3) what touches, for tet vertices at ``positions``; at the start without."""
        return self.embedding.interpolate(self.positions if positions is None else positions)


class InitialConfiguration:
    """The bodies of a scene and then its mesh colliders, numbered as objects.

    Args:
        scene: all of whose bodies have tetrahedra, with contact.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.bodies = [InitialBody.of(body) for body in scene.bodies]
        self.names = [*(body.name for body in scene.bodies), *(mesh.name for mesh in scene.meshes)]
        self._triangles = [body.triangles for body in self.bodies]
        colliders = [collider_surface(mesh) for mesh in scene.meshes]
        self._triangles += [triangles for _, triangles in colliders]
        through = [body.through_own for body in self.bodies]
        through += [np.zeros(len(triangles), dtype=bool) for _, triangles in colliders]
        self._through_own = np.concatenate(through)
        self._colliders = [path.at(0) for path, _ in colliders]

    @cached_property
    def excluded(self) -> set[tuple[int, int]]:
        """Pairs of objects that do not collide, the lower one first."""
        scene, count = self.scene, len(self.bodies)
        colliders = range(count, len(self.names))
        pairs = {(i, j) for i in colliders for j in colliders if i <= j} | attached_pairs(scene)
        return pairs | {(body, body) for body in scene.through_themselves}

    @cached_property
    def fixed(self) -> set[int]:
        """Objects that cannot be moved as a whole: colliders, and bodies that something holds."""
        fixed = set(range(len(self.bodies), len(self.names)))
        fixed |= {index for index, body in enumerate(self.bodies) if body.is_pinned.any()}
        for attachment in self.scene.attachments:
            fixed.add(attachment.body)
            if attachment.to == "body":
                fixed.add(attachment.other)
        return fixed

    @property
    def size(self) -> float:
        """The diagonal of the largest body, in metres."""
        return max(body.mesh.diagonal for body in self.bodies)

    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """(O + 1,) index of the first vertex of each object among those of the surfaces."""
        counts = [len(body.embedding.indices) for body in self.bodies]
        counts += [len(points) for points in self._colliders]
        return np.cumsum([0, *counts])

    @cached_property
    def triangle_offsets(self) -> NDArray[np.int64]:
        """(O + 1,) the same for triangles."""
        return np.cumsum([0, *(len(triangles) for triangles in self._triangles)])

    def part(self, objects: Sequence[int]) -> InitialConfiguration:
        """Some of the objects alone, in their order: the numbers of these begin at 0."""
        count = len(self.bodies)
        part = copy(self)
        for cached in ("excluded", "fixed", "offsets", "triangle_offsets"):
            part.__dict__.pop(cached, None)
        part.bodies = [self.bodies[index] for index in objects if index < count]
        part.names = [self.names[index] for index in objects]
        part._triangles = [self._triangles[index] for index in objects]
        part._colliders = [self._colliders[index - count] for index in objects if index >= count]
        through = np.split(self._through_own, self.triangle_offsets[1:-1])
        part._through_own = np.concatenate([through[index] for index in objects])
        return part

    def surface_of(self, index: int) -> tuple[Points, NDArray[np.int32]]:
        """(V, 3) positions and (F, 3) triangles of one object."""
        count = len(self.bodies)
        points = self.bodies[index].points() if index < count else self._colliders[index - count]
        return points, self._triangles[index]

    def surfaces(
        self,
        positions: Sequence[Points] | None = None,
        excluded: Collection[tuple[int, int]] | None = None,
    ) -> Surfaces:
        """Everything that touches.

        Args:
            positions: (N, 3) tet vertices of each body; None is where they start.
            excluded: pairs of objects that may go through each other; None is those that do not
                collide.
        """
        points = [
            body.points(None if positions is None else positions[index])
            for index, body in enumerate(self.bodies)
        ]
        triangles = [own + start for own, start in zip(self._triangles, self.offsets, strict=False)]
        owners = np.repeat(np.arange(len(self.names)), np.diff(self.offsets))
        return Surfaces(
            np.concatenate([*points, *self._colliders]),
            np.concatenate(triangles).astype(np.int32),
            owners.astype(np.int32),
            self.excluded if excluded is None else excluded,
            self._through_own,
        )
