# SPDX-License-Identifier: GPL-3.0-or-later
"""The vertices of the tetrahedra of a scene as tensors: what every energy is made of."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..assembly.tensor_channel import TensorChannel
from ..merged_damping import merged_damping
from ..scene.channel import Channel
from ..scene.frame_times import FrameTimes
from ..scene.scene import Scene
from ..scene.start_shape import start_positions, tet_mesh_of
from .gravity import Gravity
from .moving_pins import MovingPins
from .potential import Potential


class Nodes:
    """The tet vertices of the bodies of a scene, one body after the other in every array.

    Args:
        scene: whose bodies all have tetrahedra.
        device, dtype: of every tensor.
        frame_time: seconds from one frame to the next, where the time scale is 1.
    """

    def __init__(
        self,
        scene: Scene,
        device: torch.device,
        dtype: torch.dtype,
        frame_time: float = 1.0 / 24.0,
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
        """Of all bodies, for messages."""
        return ", ".join(body.name for body in self.bodies)

    def body_slices(self) -> list[slice]:
        """Where the vertices of each body lie among all."""
        return [slice(*ends) for ends in pairwise(self.vertex_offsets)]

    def rest_positions(self) -> Tensor:
        """(3, N) in metres."""
        return self._tensor(np.concatenate([mesh.vertices for mesh in self.meshes]).T)

    def shortest_edge(self) -> float:
        """Of all tets at rest, in metres."""
        return min(mesh.shortest_edge for mesh in self.meshes)

    @cached_property
    def size(self) -> float:
        """The diagonal of the largest body's bounding box, in metres."""
        return max(mesh.diagonal for mesh in self.meshes)

    @cached_property
    def diagonals(self) -> Tensor:
        """(N,) of the bounding box of each vertex's body at rest, in metres."""
        return self._tensor(self._repeat([mesh.diagonal for mesh in self.meshes]))

    @cached_property
    def initial_positions(self) -> Tensor:
        """(3, N) where the scene begins, in metres."""
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
