# SPDX-License-Identifier: GPL-3.0-or-later
"""What forces read of the numbers of a scene, on autograd's tape."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..potentials import PrescribedPotential
from ..potentials.fluid_drag import FluidDrag
from ..potentials.goals import GoalDamping, GoalSprings, carried_masses
from ..potentials.target_volume import TargetVolume as GasOfVolume
from ..scene.accelerations import Accelerations
from ..scene.drag import Drag
from ..scene.fluid import Fluid
from ..scene.force_fields import OWN_NUMBERS, ForceField, Wind
from ..scene.goals import GoalDampers, Goals
from ..scene.pressure import Pressure, TargetVolume
from ..system import System

#: From a place in the scene, and the number there, to the tensor in its place.
Value = Callable[[str, Any], Tensor]
#: From the index of a body and its densities to the (n,) masses of its vertices.
Lumped = Callable[[int, Tensor], Tensor]

# The columns of the parameters of a wind and of a field, in their order, and how many each has.
_OF_WIND = {"velocity": 3, "drag": 1}
_OF_FIELD = {"origin": 3, "axis": 3} | dict.fromkeys(OWN_NUMBERS, 1)
_NUMBERS = {Pressure: "pressure", TargetVolume: "target_volume", Drag: "drag"}


class ForceQuantities:
    """Quantities of the forces of a system, as ``Quantities`` names them.

    Args:
        value, lumped: of the scene.
        mass: (N,) in kg.
        rest: (3, N) rest positions in metres.
    """

    def __init__(
        self, system: System, value: Value, lumped: Lumped, mass: Tensor, rest: Tensor
    ) -> None:
        self._system, self._value, self._lumped = system, value, lumped
        self._mass, self._rest = mass, rest

    def all(self) -> dict[str, Tensor]:
        """Of the i-th force, each with i behind its name."""
        out: dict[str, Tensor] = {}
        for index, (owner, source) in enumerate(self._sources()):
            own = self._of(index, owner, source)
            out |= {f"{name} {index}": part for name, part in own.items()}
        return out

    def _sources(self) -> list[tuple[int, Any]]:
        """Of each force the index of its body, or among those of the scene, and what made it."""
        bodies = list(enumerate(self._system.bodies))
        own: list[tuple[int, Any]] = [(k, each) for k, body in bodies for each in body.forces]
        of_scene: list[tuple[int, Any]] = []
        for index, force in enumerate(self._system.scene.forces):
            # Buoyancy, and drag where there is any.
            count = 2 if isinstance(force, Fluid) and (force.drag or force.damping) else 1
            of_scene += [(index, force)] * count
        return of_scene + own

    def _of(self, index: int, owner: int, source: Any) -> dict[str, Tensor]:
        force, place = self._system.forces[index], f"bodies[{owner}]"
        if isinstance(force, (GoalSprings, GoalDamping)):
            return self._of_goals(force, owner, source)
        if isinstance(force, FluidDrag):
            return {}
        assert isinstance(force, PrescribedPotential)
        samples = force.channel.samples
        if isinstance(source, Accelerations):
            parameters = self._value(f"{place}.accelerations", source.channel.samples)
            parameters = parameters if parameters.ndim == 3 else parameters[None]
            return {"parameters": parameters.transpose(1, 2)}
        if type(source) in _NUMBERS:
            parameters = self._value(f"{place}.{_NUMBERS[type(source)]}", samples).reshape(-1)
            if isinstance(force, GasOfVolume):
                return {"parameters": parameters, "at rest": force.volume.of(self._rest)}
            masses = self._of_drag(owner, source) if isinstance(source, Drag) else {}
            return {"parameters": parameters} | masses
        if isinstance(source, (Wind, ForceField)):
            columns = _OF_WIND if isinstance(source, Wind) else _OF_FIELD
            parameters = self._with_columns(f"forces[{owner}]", samples, columns)
            return {"parameters": parameters, "masses": self._in_fields()}
        if isinstance(source, Fluid):
            gravity = self._value("gravity", self._system.gravity.samples).view(-1, 3)
            return {"parameters": source.density * (-gravity[:, 2]).clamp(min=0.0)}
        return {"parameters": samples}

    def _with_columns(self, place: str, samples: Tensor, columns: dict[str, int]) -> Tensor:
        """(T, k) parameters, those that tensors stand for in their columns."""
        parts, first, count = [], 0, len(samples)
        for name, width in columns.items():
            own = samples[:, first : first + width]
            first += width
            found = self._value(f"{place}.{name}", own).reshape(-1, width)
            # A channel keeps its last sample.
            kept = [min(t, len(found) - 1) for t in range(count)]
            parts.append(found[kept])
        return torch.cat([*parts, samples[:, first:]], dim=1)

    def _in_fields(self) -> Tensor:
        """(N,) masses as far as fields count for them."""
        pairs = zip(self._system.bodies, self._system.body_slices(), strict=True)
        weights = [(1.0 if b.field_weight is None else b.field_weight, where) for b, where in pairs]
        return torch.cat([weight * self._mass[where] for weight, where in weights])

    def _of_drag(self, body: int, drag: Drag) -> dict[str, Tensor]:
        owner, where = self._system.bodies[body], self._system.body_slices()[body]
        density = self._value(f"bodies[{body}].density", owner.density)
        factors = torch.as_tensor(np.asarray(drag.factors, dtype=np.float64)).to(density)
        before = self._mass.new_zeros(where.start)
        after = self._mass.new_zeros(len(self._mass) - where.stop)
        return {"masses": torch.cat([before, self._lumped(body, density * factors), after])}

    def _of_goals(
        self, force: GoalSprings | GoalDamping, body: int, source: Goals | GoalDampers
    ) -> dict[str, Tensor]:
        system, owner = self._system, self._system.bodies[body]
        goals = source.goals if isinstance(source, GoalDampers) else source
        place = f"bodies[{body}].goals" if owner.goals is goals else f"bodies[{body}].skin.goals"
        targets = self._value(f"{place}.targets", goals.targets.samples)
        targets = targets if targets.ndim == 3 else targets[None]
        # Proportional to the masses of the vertices, where points are such.
        vertices = force.goals.points.corners[0]
        masses = torch.as_tensor(carried_masses(system, body, goals)).to(self._mass)
        masses = masses * (self._mass[vertices] / system.mass[vertices])
        angular = 2.0 * math.pi * self._value(f"{place}.frequency", goals.frequency)
        weights = self._value(f"{place}.weights", goals.weights)
        stiffness = weights * masses * angular**2
        # The root of a weight of zero has no derivative.
        tiny = torch.finfo(masses.dtype).tiny
        dashpots = 2.0 * goals.damping_ratio * (stiffness * masses).clamp(min=tiny).sqrt()
        return {
            "stiffness": stiffness,
            "dashpots": dashpots,
            "targets": targets.transpose(1, 2),
        }
