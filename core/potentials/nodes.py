# SPDX-License-Identifier: GPL-3.0-or-later
"""The vertices of the tetrahedra of a scene as tensors, with pins and damping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.tensor_channel import TensorChannel
from ..geometry.tet_mesh import TetMesh
from ..scene.channel import Channel, FrameTimes
from ..scene.scene import Scene
from ..scene.soft_body import PerTet, SoftBody, start_positions, tet_mesh_of
from .body_forces import Gravity
from .potential import Potential


def merged_damping(
    bodies: list[SoftBody], meshes: list[TetMesh], tensor: Callable[[NDArray[np.float64]], Tensor]
) -> Tensor | float:
    """α in 1/s: a number where all have the same, else (N,).

    Args:
        bodies, meshes: they go together.
        tensor: makes one of an array.
    """
    rates = [_vertex_rates(*both) for both in zip(bodies, meshes, strict=True)]
    if all(np.ndim(rate) == 0 and rate == rates[0] for rate in rates):
        return float(rates[0])
    each = zip(rates, meshes, strict=True)
    return tensor(
        np.concatenate([np.broadcast_to(rate, len(mesh.vertices)) for rate, mesh in each])
    )


def _vertex_rates(body: SoftBody, mesh: TetMesh) -> PerTet:
    """The damping of a body, or (N,) of its vertices, which have the mean of the tets around them
    by their mass."""
    if np.ndim(body.damping) == 0:
        return body.damping
    density = np.asarray(body.density)
    return mesh.lumped_mass(density * body.damping) / mesh.lumped_mass(density)


@dataclass(frozen=True)
class MovingPins:
    """Pinned vertices that follow a path.

    Args:
        vertices: (P,) indices.
        path: channel of their (3, P) positions.
        held: for each frame, the indices in ``vertices`` of pins that jump to its end position at
            its start.
    """

    vertices: Tensor
    path: TensorChannel
    held: dict[int, Tensor] = field(default_factory=dict)

    @staticmethod
    def of(
        bodies: Sequence[SoftBody], offsets: Sequence[int], template: Tensor
    ) -> MovingPins | None:
        """Return the moving pins of all bodies; None where all stay.

        Args:
            offsets: index of the first vertex of each body.
            template: on the device and of the precision to work in.
        """
        moving = [
            (start + body.pinned, body.pin_path)
            for start, body in zip(offsets, bodies, strict=False)
            if body.pinned is not None and body.pin_path is not None
        ]
        if not moving:
            return None
        vertices = np.concatenate([indices for indices, _ in moving]).astype(np.int64)
        path = Channel.side_by_side([path for _, path in moving])
        components_first = path.mapped(lambda samples: samples.swapaxes(1, 2))
        return MovingPins(
            torch.as_tensor(vertices, device=template.device),
            TensorChannel.of(components_first, template),
        )

    def positions(self, frame: int, fraction: float) -> Tensor:
        """(3, P) positions a ``fraction`` of the way from ``frame`` to the next."""
        positions = self.path.at(frame, fraction)
        if (held := self.held.get(frame)) is not None:
            positions = positions.clone()
            positions[:, held] = self.path.at(frame, 1.0)[:, held]
        return positions


class Nodes:
    """The tet vertices of the bodies of a scene, one body after the other in every array.

    Args:
        scene: a scene with tetrahedra in all bodies.
        device, dtype: of every tensor.
        frame_time: seconds from one frame to the next, where the time scale is 1.
    """

    def __init__(
        self, scene: Scene, device: torch.device, dtype: torch.dtype, frame_time: float = 1.0 / 24.0
    ) -> None:
        self.device, self.dtype = device, dtype
        self.scene = scene
        #: Simulated seconds from each frame to the next.
        self.frame_times = FrameTimes(frame_time, scene.time_scale)
        self.bodies = scene.bodies
        self.meshes = [tet_mesh_of(body) for body in scene.bodies]
        self._counts = [len(mesh.vertices) for mesh in self.meshes]
        #: Index of the first vertex of each body among all, and how many there are.
        self.vertex_offsets = [int(start) for start in np.cumsum([0, *self._counts])]
        self.vertex_count = self.vertex_offsets[-1]
        mass = np.concatenate(
            [m.lumped_mass(b.density) for m, b in zip(self.meshes, self.bodies, strict=True)]
        )
        self.mass, self.total_mass = self._tensor(mass), float(mass.sum())
        self.is_pinned = self._pinned_mask()
        self.inverse_mass = self._tensor(np.where(self.is_pinned, 0.0, 1.0 / mass))
        #: (N,) whether a vertex moves by itself, and its mass, else zero.
        self.free = torch.as_tensor(~self.is_pinned, device=self.device)
        self.free_mass = self._tensor(np.where(self.is_pinned, 0.0, mass))
        #: Rate at which velocities decay, in 1/s: a number, or (N,).
        self.damping = merged_damping(self.bodies, self.meshes, self._tensor)
        self.moving_pins = MovingPins.of(self.bodies, self.vertex_offsets, self.mass)
        gravity = Channel.of(scene.gravity, "Gravity", 3)
        self.gravity = Gravity(self.mass, self.tensor_channel(gravity))
        #: The most that it ever is, in m/s².
        self.max_gravity = max(float(np.linalg.norm(sample)) for sample in gravity.samples)
        #: Energies that the scene and single bodies bring along.
        self.forces: list[Potential] = []

    @property
    def names(self) -> str:
        """Return the names of all bodies, for messages."""
        return ", ".join(body.name for body in self.bodies)

    def bodies_of(self, vertices: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
        """(n,) the number of the body that each of (n,) vertices belongs to."""
        return np.searchsorted(self.vertex_offsets, vertices, "right") - 1

    def body_slices(self) -> list[slice]:
        """Return the slice of each body's vertices among all."""
        return [slice(*ends) for ends in pairwise(self.vertex_offsets)]

    def rest_positions(self) -> Tensor:
        """Return the (3, N) rest positions in metres."""
        return self._tensor(np.concatenate([mesh.vertices for mesh in self.meshes]).T)

    def shortest_edge(self) -> float:
        """Return the shortest edge of all tets at rest, in metres."""
        return min(mesh.shortest_edge for mesh in self.meshes)

    @cached_property
    def size(self) -> float:
        """The diagonal of the largest body's bounding box, in metres."""
        return max(mesh.diagonal for mesh in self.meshes)

    @cached_property
    def diagonals(self) -> Tensor:
        """Return the (N,) diagonal of the bounding box of each vertex's body at rest, in metres."""
        return self._tensor(self._repeat([mesh.diagonal for mesh in self.meshes]))

    @cached_property
    def initial_positions(self) -> Tensor:
        """Return the (3, N) positions where the scene begins, in metres."""
        return self._tensor(np.concatenate([start_positions(body) for body in self.bodies]).T)

    def tensor_channel(self, channel: Channel) -> TensorChannel:
        """A channel on the device."""
        return TensorChannel.of(channel, self.mass)

    def _tensor(self, values: Any) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(values), dtype=self.dtype, device=self.device)

    def _repeat(self, values: list[Any]) -> NDArray[np.float64]:
        """(N, …) one row a vertex from one value a body."""
        return np.repeat(np.asarray(values, dtype=float), self._counts, axis=0)

    def _pinned_mask(self) -> NDArray[np.bool_]:
        mask = np.zeros(self.vertex_count, dtype=bool)
        for start, body in zip(self.vertex_offsets, self.bodies, strict=False):
            if body.pinned is not None:
                mask[start + body.pinned] = True
        return mask
