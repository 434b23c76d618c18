# SPDX-License-Identifier: GPL-3.0-or-later
"""The energies of the forces that a scene describes: one row for each dataclass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from ..geometry.gas_boundary import gas_boundary
from ..scene.channel import Channel
from ..scene.forces import (
    Accelerations,
    BodyForce,
    Drag,
    Fluid,
    Force,
    ForceField,
    Pressure,
    TargetVolume,
    Wind,
)
from ..scene.goals import GoalDampers, Goals, Support
from ..scene.stitches import Stitches
from .body_forces import DragForce, Gravity, VertexAccelerations
from .enclosed_volume import EnclosedVolume
from .enclosed_volume import Pressure as PressureEnergy
from .enclosed_volume import TargetVolume as TargetVolumeEnergy
from .field_force import FieldForce, FieldSampler, SampledLaw
from .field_laws import FieldLaw, FieldShadow, Law, WindLaw
from .fluid import Buoyancy, FluidDrag, SubmergedTets
from .goals import GoalDamping, GoalSprings
from .nodes import Nodes
from .potential import Potential


def potentials_of(force: Force, nodes: Nodes) -> list[Potential]:
    """Return the energies of a force of the scene; their gradients, taken away, are the force."""
    row = _OF_SCENE.get(type(force))
    made = force.potential(nodes) if row is None else row(force, nodes)  # type: ignore[union-attr]
    return [made] if isinstance(made, Potential) else [*made]


def body_potential(force: BodyForce, nodes: Nodes, body: int) -> Potential:
    """Return the energy of a force on the body of that index."""
    return _OF_BODIES[type(force)](force, nodes, body)


def _field(field: ForceField, nodes: Nodes) -> Potential:
    sampler = FieldSampler(field, nodes)
    absorbers = [each for each in nodes.scene.absorbers if each.name != field.name]
    shadow = FieldShadow(absorbers, nodes.mass) if field.is_absorbed and absorbers else None
    law: Law = FieldLaw(field, nodes.mass, shadow)
    if sampler.is_needed:
        start = np.concatenate([mesh.vertices for mesh in nodes.meshes])
        law = SampledLaw(law, sampler, start)
    return FieldForce.for_system(law, field.parameters, nodes)


def _wind(wind: Wind, nodes: Nodes) -> Potential:
    return FieldForce.for_system(WindLaw(), wind.parameters, nodes)


def _fluid(fluid: Fluid, nodes: Nodes) -> list[Potential]:
    """Buoyancy, and drag where there is any."""
    tets = SubmergedTets(nodes.meshes, fluid.level, nodes.mass)
    energies: list[Potential] = [Buoyancy.of(tets, fluid.density, nodes.gravity)]
    if fluid.drag > 0.0 or fluid.damping > 0.0:
        energies.append(FluidDrag.of(tets, fluid, nodes.meshes, nodes.mass))
    return energies


def _stitches(stitches: Stitches, nodes: Nodes) -> Potential:
    # It loads scipy's sparse matrices, for which other scenes need not wait.
    from .stitch_threads import StitchThreads

    return StitchThreads.of(nodes, stitches)


def _accelerations(force: Accelerations, nodes: Nodes, body: int) -> Potential:
    where = nodes.body_slices()[body]
    channel = force.channel.mapped(lambda samples: samples.swapaxes(1, 2))
    return VertexAccelerations(nodes.mass, where, nodes.tensor_channel(channel))


def _drag(drag: Drag, nodes: Nodes, body: int) -> Potential:
    mesh, density = nodes.meshes[body], nodes.bodies[body].density
    masses = np.zeros(nodes.vertex_count)
    first = nodes.vertex_offsets[body]
    mass = mesh.lumped_mass(density * np.asarray(drag.factors, dtype=np.float64))
    masses[first : first + len(mass)] = mass
    return DragForce(nodes.tensor_channel(drag.rate), torch.as_tensor(masses).to(nodes.mass))


def _support(_: Support, nodes: Nodes, body: int) -> Potential:
    """Gravity, upside down."""
    where = nodes.body_slices()[body]
    lifted = nodes.mass.new_zeros(nodes.vertex_count)
    lifted[where] = -nodes.mass[where]
    gravity = Channel.of(nodes.scene.gravity, "Gravity", 3)
    return Gravity(lifted, nodes.tensor_channel(gravity))


def _pressure(pressure: Pressure, nodes: Nodes, body: int) -> Potential:
    return PressureEnergy(nodes.tensor_channel(pressure.pascal), _gas(nodes, body))


def _target_volume(target: TargetVolume, nodes: Nodes, body: int) -> Potential:
    factors = nodes.tensor_channel(target.factors)
    return TargetVolumeEnergy(factors, target.stiffness, _gas(nodes, body))


def _gas(nodes: Nodes, body: int) -> EnclosedVolume:
    triangles, weights = gas_boundary(nodes.meshes[body])
    first, name = nodes.vertex_offsets[body], nodes.bodies[body].name
    return EnclosedVolume(triangles + first, weights, nodes.rest_positions(), name)


_OF_SCENE: dict[type, Callable[[Any, Nodes], Potential | list[Potential]]] = {
    ForceField: _field,
    Wind: _wind,
    Fluid: _fluid,
    Stitches: _stitches,
}
_OF_BODIES: dict[type, Callable[[Any, Nodes, int], Potential]] = {
    Goals: lambda goals, nodes, body: GoalSprings.of(nodes, body, goals),
    GoalDampers: lambda dampers, nodes, body: GoalDamping.of(nodes, body, dampers.goals),
    Support: _support,
    Pressure: _pressure,
    Drag: _drag,
    TargetVolume: _target_volume,
    Accelerations: _accelerations,
}
