# SPDX-License-Identifier: GPL-3.0-or-later
"""A scene of tetrahedral bodies as tensors: one state, one list of potentials. Each material model
has one elasticity, with merged parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from .assembly.tensor_channel import CachedAt, TensorChannel
from .geometry.tet_mesh import TetMesh, signed_volumes
from .materials import Linear, Material
from .materials.material import PARAMETERS
from .obstacles import Obstacles
from .potentials import (
    Elasticity,
    LinearElasticity,
    Potential,
    PrescribedPotential,
    Pressure,
    TargetVolume,
    Viscosity,
    registry,
)
from .potentials.nodes import Nodes
from .potentials.plastic_flow import PlasticFlow
from .potentials.posed_elasticity import PosedElasticity
from .scene.channel import Channel
from .scene.rest_shape import RestShape
from .scene.scene import Scene
from .scene.soft_body import SoftBody, start_velocities
from .state import Energies, State


def merged_material(
    parts: list[tuple[Material, TetMesh]], tensor: Callable[[NDArray[np.float64]], Tensor]
) -> Material:
    """Merge materials of one model; parameters that differ become tensors, a number a tet.

    Args:
        parts: of each body its material and its tetrahedra.
        tensor: makes one of an array.
    """
    materials = [_filled(material, mesh) for material, mesh in parts]
    merged: dict[str, float | Tensor] = {}
    for name in PARAMETERS:
        values = [np.asarray(getattr(material, name), dtype=float) for material in materials]
        if all(value.ndim == 0 and value == values[0] for value in values):
            merged[name] = float(values[0])
        else:
            each = [
                np.broadcast_to(value, len(mesh.tets))
                for value, (_, mesh) in zip(values, parts, strict=True)
            ]
            merged[name] = tensor(np.concatenate(each))
    return replace(materials[0], **merged)


def fill(mesh: TetMesh) -> NDArray[np.float64]:
    """(M,) fraction of each tet that is material."""
    return np.ones(len(mesh.tets)) if mesh.fill is None else mesh.fill


def _filled(material: Material, mesh: TetMesh) -> Material:
    """The material, as much softer in each tet as that is empty."""
    if mesh.fill is None:
        return material
    return replace(material, young=np.asarray(material.young) * mesh.fill)


class TetEnergies:
    """The energies of tetrahedra, merged by model.

    Args:
        bodies, meshes: they go together.
        offsets: index of the first vertex of each among all.
        template: an (N,)-long tensor on the device and of the precision to work in.
    """

    def __init__(
        self, bodies: list[SoftBody], meshes: list[TetMesh], offsets: list[int], template: Tensor
    ) -> None:
        self._bodies, self._meshes, self._offsets = bodies, meshes, offsets
        self._template = template
        models: dict[Any, list[int]] = {}
        for index, body in enumerate(bodies):
            # Stiffness over time is a factor on the whole elasticity.
            settings = (body.stiffness, body.rest_shape, body.pose)
            model_index = None if all(each is None for each in settings) else index
            models.setdefault((body.material.model(), model_index), []).append(index)
        #: The bodies of each elasticity.
        self.bodies = list(models.values())
        self.elasticities = [self._elasticity(indices) for indices in self.bodies]
        #: The viscosities of each elasticity.
        self.viscosities = [
            self._viscosities(elasticity, indices)
            if any(bodies[index].is_viscous for index in indices)
            else []
            for elasticity, indices in zip(self.elasticities, self.bodies, strict=True)
        ]

    def _elasticity(self, indices: list[int]) -> Elasticity:
        parts = [(self._bodies[i].material, self._meshes[i]) for i in indices]
        material = merged_material(parts, self._tensor)
        meshes = [(self._offsets[i], self._meshes[i]) for i in indices]
        pose = self._bodies[indices[0]].pose
        if pose is not None:
            # The pose of an elasticity, which then has a single body.
            rows = pose.mapped(lambda samples: samples.swapaxes(1, 2))
            channel = TensorChannel.of(rows, self._template)
            return PosedElasticity(material, *meshes[0], self._template, channel)
        kind = LinearElasticity if isinstance(material, Linear) else Elasticity
        rest_shape = self._bodies[indices[0]].rest_shape
        if rest_shape is None:
            return kind(material, meshes, self._template, self._stiffness(indices))
        keyed = self._reshaped(self._bodies[indices[0]], rest_shape)
        return kind(material, meshes, self._template, keyed, rest_shape)

    def _reshaped(self, body: SoftBody, rest_shape: RestShape) -> TensorChannel:
        """Return the factors on Young's modulus and the amounts of displacements."""
        factor = Channel(np.ones(1)) if body.stiffness is None else body.stiffness
        both = Channel.side_by_side([factor.mapped(lambda k: k[:, None]), rest_shape.amounts])
        return TensorChannel.of(both, self._template)

    def _viscosities(self, elasticity: Elasticity, indices: list[int]) -> list[Viscosity]:
        """Return the viscosities of the tets of one model, zero where their body has none."""
        tets, material = elasticity.tets, elasticity.material
        if isinstance(elasticity, PosedElasticity):
            elasticity.write_always()
        rates = self._tensor(self._tet_values("stiffness_damping", indices))
        filled = np.concatenate([fill(self._meshes[i]) for i in indices])
        shears = self._tensor(filled * self._tet_values("viscosity", indices))
        stiffness = self._stiffness(indices)
        if stiffness is None:
            return [Viscosity(tets, rates * material.mu + shears, rates * material.lam)]
        return [
            Viscosity(tets, rates * material.mu, rates * material.lam, stiffness),
            Viscosity(tets, shears, torch.zeros_like(shears)),
        ]

    def _stiffness(self, indices: list[int]) -> TensorChannel | None:
        """Return the animated stiffness of an elasticity, which then has one body; None for a
        constant one."""
        stiffness = self._bodies[indices[0]].stiffness
        return None if stiffness is None else TensorChannel.of(stiffness, self._template)

    def _tet_values(self, name: str, indices: list[int]) -> NDArray[np.float64]:
        """A setting of bodies, one value a tet."""
        values = ((getattr(self._bodies[i], name), len(self._meshes[i].tets)) for i in indices)
        return np.concatenate([np.broadcast_to(value, count) for value, count in values])

    def _tensor(self, values: NDArray[np.float64]) -> Tensor:
        return torch.as_tensor(np.ascontiguousarray(values)).to(self._template)


class System(Nodes):
    """The bodies of a scene, one after the other in every array.

    Args:
        scene: a scene with tetrahedra in all bodies.
        device, dtype: of every tensor.
        frame_time: seconds from one frame to the next, where the time scale is 1.
    """

    def __init__(
        self, scene: Scene, device: torch.device, dtype: torch.dtype, frame_time: float = 1.0 / 24.0
    ) -> None:
        super().__init__(scene, device, dtype, frame_time)
        energies = TetEnergies(scene.bodies, self.meshes, self.vertex_offsets, self.mass)
        self.elasticities = energies.elasticities
        #: The same for implicit steps, in which models stand that have no energy where a tet is
        #: flat.
        self.solved_elasticities = [part.without_extrapolation() for part in self.elasticities]
        self._model_bodies = energies.bodies
        #: Bodies whose Poisson's ratio is limited.
        self.softened: tuple[int, ...] = ()
        #: Viscous potentials.
        self.viscosities = [part for parts in energies.viscosities for part in parts]
        self._viscosities_of = energies.viscosities
        # Falling by a hundredth of an edge: below this, differences of energy mean nothing.
        fall = self.max_gravity * 0.01 * self.shortest_edge()
        self.smallest_energy = self.total_mass * fall
        # Energies of explicit steps besides elasticity.
        self._loads: list[Potential] = [self.gravity]
        # A frame ends where the next begins.
        self._potential_energies = CachedAt(self._measure)
        self._prescribed_energies = CachedAt(self._measure_prescribed)
        self._energies_frame = 0
        members = [
            [(self.bodies[i], self.meshes[i]) for i in indices] for indices in self._model_bodies
        ]
        #: The plastic flow, which changes the rest shapes of elasticities.
        self.plastic_flow = PlasticFlow(self.elasticities, members, changed=self._forget_energies)
        self.solved_elasticities = [*map(self.plastic_flow.in_steps, self.solved_elasticities)]
        self.obstacles = Obstacles(scene, self.meshes, self.inverse_mass)
        self.ground_barrier = self.obstacles.barrier
        self._add_forces()

    def _add_forces(self) -> None:
        """Make the potentials of the scene's own forces, last, since they may read all the
        others."""
        for force in self.scene.forces:
            self.forces += registry.potentials_of(force, self)
        for index, body in enumerate(self.bodies):
            self.forces += [registry.body_potential(force, self, index) for force in body.forces]
        self._add_carried_damping()
        conservative = [part for part in self.forces if not part.is_dissipative]
        self._loads += conservative
        self._driving = [part for part in self.forces if part.is_dissipative]
        self.dissipative: list[Potential] = [*self.viscosities, *self._driving]
        #: Energies with parameters that change over time.
        changing = [self.gravity, *self.elasticities, *self.viscosities, *self.forces]
        self.prescribed = _changing(changing)
        self._prescribed_elasticities = _changing(self.elasticities)
        self._prescribed_forces = _changing(conservative)
        self._constant_forces = [p for p in conservative if p not in self._prescribed_forces]

    def _add_carried_damping(self) -> None:
        """Makes damping relative to the pins and goals that carry bodies."""
        if not np.any([np.any(body.damping) for body in self.bodies]):
            return
        # It needs scipy to find the pieces of material, for which other scenes need not wait.
        from .potentials.carried_damping import CarriedDamping

        if (carried := CarriedDamping.of(self)) is not None:
            self.forces.append(carried)

    @cached_property
    def initially_inverted(self) -> Tensor:
        """(N,) vertices of the bodies with an inverted tet in their initial configuration."""
        start = self.initial_positions.cpu().double().numpy().T
        bodies = zip(self.meshes, self.body_slices(), strict=True)
        inverted = [signed_volumes(start[where], mesh.tets).min() <= 0.0 for mesh, where in bodies]
        return torch.as_tensor(self._repeat(inverted).astype(bool), device=self.device)

    def initial_state(self, substeps: int = 1) -> State:
        positions = self.initial_positions.clone()
        rates = [start_velocities(body, self.frame_times.of(0)) for body in self.bodies]
        velocities = self._tensor(np.concatenate(rates).T)
        velocities[:, torch.as_tensor(self.is_pinned, device=self.device)] = 0.0
        for body, mesh, where in zip(self.bodies, self.meshes, self.body_slices(), strict=True):
            self.obstacles.depenetrate(body, mesh, where, positions)
        return State(positions, velocities, 0, substeps)

    @property
    def free_acceleration(self) -> Tensor:
        """Return the (3, N) present acceleration of vertices under gravity alone, in m/s²."""
        return self.free * self.gravity.acceleration[:, None]

    def go_to(self, frame: int, fraction: float) -> None:
        """Set prescribed parameters to a ``fraction`` of the way from a frame to the next."""
        for part in self.prescribed:
            part.go_to(frame, fraction)

    @contextmanager
    def at_its_stiffest(self) -> Iterator[None]:
        """Use the parameters over time that need the shortest explicit steps."""
        before = [part.parameters.clone() for part in self.prescribed]
        for part in self.prescribed:
            part.act(part.stiffest)
        try:
            yield
        finally:
            for part, parameters in zip(self.prescribed, before, strict=True):
                part.act(parameters)

    @property
    def potentials(self) -> list[Potential]:
        """Return the energies that explicit steps take besides viscosity and obstacles."""
        return [*self.elasticities, *self._loads]

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        """Adds the gradient of elasticity, gravity and forces, (3, N) in newtons, to ``out``."""
        for potential in self.potentials:
            potential.add_gradient(positions, out)

    @property
    def is_dissipative(self) -> bool:
        """Whether any force goes by velocities."""
        return len(self.dissipative) > 0

    @property
    def is_driven(self) -> bool:
        """Whether forces may bring in energy from outside, such as wind."""
        return len(self._driving) > 0

    def add_rate_forces(self, positions: Tensor, velocities: Tensor, out: Tensor) -> None:
        """Add the (3, N) gradient of viscosity and drag to ``out``, in newtons."""
        for part in self.dissipative:
            part.add_rate_forces(positions, velocities, out)

    def add_forces(
        self, positions: Tensor, velocities: Tensor, out: Tensor, driving: Tensor | None = None
    ) -> None:
        """Add the gradient of all forces in explicit steps, without contact, to ``out``.

        Args:
            driving: (3, N) to be filled with the part by driving forces, in newtons.
        """
        for elasticity, viscosities in zip(self.elasticities, self._viscosities_of, strict=True):
            elasticity.add_forces(positions, velocities, viscosities, out)
        for load in self._loads:
            load.add_gradient(positions, out)
        if not self._driving:
            return
        target = out if driving is None else driving.zero_()
        for part in self._driving:
            part.add_rate_forces(positions, velocities, target)
        if driving is not None:
            out.add_(driving)

    def limit_poisson(self, bodies: tuple[int, ...], highest: float) -> None:
        """Limit Poisson's ratio of some bodies to ``highest``, and restore it of all others.

        The linear model has no use for it, and does without.
        """
        if bodies == self.softened:
            return
        self.softened = bodies
        self._forget_energies()
        for members, *parts in zip(
            self._model_bodies, self.elasticities, self.solved_elasticities, strict=True
        ):
            counts = [len(self.meshes[index].tets) for index in members]
            soft = np.repeat([index in bodies for index in members], counts)
            for part in dict.fromkeys(parts):
                part.limit_poisson(torch.as_tensor(soft, device=self.device), highest)

    def check_forces(self, state: State) -> None:
        """Refuse positions at which a pressure has burst its body.

        Raises:
            InstabilityError: when a pressure has burst its body.
        """
        for part in self.forces:
            if isinstance(part, Pressure | TargetVolume):
                part.volume.check(state.positions, state.frame)

    @property
    def has_obstacles(self) -> bool:
        """Whether there are obstacles."""
        return len(self.obstacles.steps) > 0

    def energies(self, state: State) -> Energies:
        """Return the energies of a state, in joules."""
        self.plastic_flow.plastic = state.plastic
        kinetic = 0.5 * float((self.free_mass * state.velocities.square()).sum())
        gravity = float(self.gravity.energy_at(state.positions, state.frame))
        potential = self._potential_energies(state.positions)
        if state.frame != self._energies_frame:
            self._energies_frame = state.frame
            self._prescribed_energies.forget()
        elastic, forces = self._prescribed_energies(state.positions)
        return replace(
            potential,
            kinetic=kinetic,
            elastic=potential.elastic + elastic,
            gravity=gravity,
            forces=potential.forces + forces,
        )

    def _forget_energies(self) -> None:
        """Drop the cached spectrum, since materials or rest shapes have changed."""
        self._potential_energies.forget()
        self._prescribed_energies.forget()

    def _measure_prescribed(self, positions: Tensor) -> tuple[float, float]:
        """Elastic energy, and that of forces, that change over time by themselves."""
        at = positions, self._energies_frame
        return (
            sum(float(part.energy_at(*at)) for part in self._prescribed_elasticities),
            sum(float(part.energy_at(*at)) for part in self._prescribed_forces),
        )

    def _measure(self, positions: Tensor) -> Energies:
        """Return the energies that do not depend on time or speed."""
        constant = [p for p in self.elasticities if p.is_constant]
        elastic = sum((float(part.energy(positions)) for part in constant), 0.0)
        ground = self.ground_barrier
        return Energies(
            kinetic=0.0,
            elastic=elastic,
            gravity=0.0,
            ground=0.0 if ground is None else float(ground.energy(positions)),
            forces=sum(float(part.energy(positions)) for part in self._constant_forces),
        )

    def volume_ratios(self, positions: Tensor) -> Tensor:
        """(M,) J = det F of all tets: below 0, a tet is inside out."""
        return torch.cat([part.tets.volume_ratios(positions) for part in self.elasticities])

    def minimum_ground_distance(self, positions: Tensor) -> float | None:
        """Return the height of the lowest contact point above the ground, in metres; None
        without a ground."""
        ground = self.obstacles.ground
        return None if ground is None else self.obstacles.lowest(positions) - ground.height

    def is_above_ground(self, positions: Tensor) -> bool:
        """Whether all contact points are above the ground at (3, N) positions, or there is none."""
        height = self.minimum_ground_distance(positions)
        return height is None or height > 0.0


def _changing(potentials: Sequence[Potential]) -> list[PrescribedPotential]:
    prescribed = [part for part in potentials if isinstance(part, PrescribedPotential)]
    return [part for part in prescribed if not part.is_constant]
