# SPDX-License-Identifier: GPL-3.0-or-later
"""Forces beside elasticity, gravity and goals as functions on autograd's tape."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from ..potentials import PrescribedPotential, Pressure, TargetVolume, TimeStep
from ..potentials.drag import DragForce
from ..potentials.field_force import FieldForce, turned
from ..potentials.field_laws import Response
from ..potentials.fluid import Buoyancy, FluidDrag, SubmergedTets
from ..potentials.vertex_accelerations import VertexAccelerations
from ..system import System
from .quantities import Quantities
from .tape_plasticity import positive_part

#: Whose functions are here.
KNOWN_FORCES = (
    *(VertexAccelerations, Pressure, TargetVolume, DragForce, FieldForce),
    *(Buoyancy, FluidDrag),
)


class TapeForces:
    """
    Args:
        system: whose forces they are.
    """

    def __init__(self, system: System) -> None:
        self._system = system

    def conservative(
        self, positions: Tensor, given: Quantities, frame: int, fraction: float
    ) -> Tensor | float:
        """(3, N) in newtons, of those that go by positions alone, at a time."""
        out: Tensor | float = 0.0
        for index, force, parameters in self._at(given, frame, fraction):
            if isinstance(force, VertexAccelerations):
                own = torch.zeros_like(positions)
                own[:, force.where] = parameters
                out = out - given["mass"] * own
            elif isinstance(force, Pressure):
                out = out - parameters * force.volume.gradient(positions)
            elif isinstance(force, TargetVolume):
                at_rest = given[f"at rest {index}"]
                excess = force.volume.of(positions) - parameters * at_rest
                second_derivative = force.second_derivative * force.volume.at_rest / at_rest
                out = out + second_derivative * excess * force.volume.gradient(positions)
            elif isinstance(force, Buoyancy):
                lifted = -parameters * _submerged(positions, force.tets)
                still = torch.zeros_like(lifted)
                out = out + torch.stack([still, still, lifted])
        return out

    def rate(
        self, positions: Tensor, velocities: Tensor, given: Quantities, frame: int, fraction: float
    ) -> Tensor | float:
        """(3, N) that velocities pull against in explicit steps, in newtons."""
        out: Tensor | float = 0.0
        for index, force, parameters in self._at(given, frame, fraction):
            if isinstance(force, DragForce):
                out = out + parameters * given[f"masses {index}"] * velocities
            elif isinstance(force, FieldForce):
                response = force.law(parameters, positions)
                out = out - given[f"masses {index}"] * response.acceleration(velocities)
        return out + self._in_fluids(positions, velocities, given)

    def of_step(
        self, positions: Tensor, step: TimeStep, given: Quantities, frame: int, fraction: float
    ) -> Tensor | float:
        """(3, N) in newtons, of those that go by velocities, in an implicit step."""
        out: Tensor | float = 0.0
        way = positions - step.coasting_origin
        for index, force, parameters in self._at(given, frame, fraction):
            if isinstance(force, DragForce) and not step.is_static:
                out = out + parameters * given[f"masses {index}"] / step.seconds * way
            elif isinstance(force, FieldForce):
                own = _of_field(force, parameters, positions, step)
                out = out + given[f"masses {index}"] * own
        return (
            out if step.is_static else out + self._in_fluids(step.start, way / step.seconds, given)
        )

    def _in_fluids(self, wet_at: Tensor, velocities: Tensor, given: Quantities) -> Tensor | float:
        """(3, N) that fluids take from velocities, submerged as at ``wet_at``."""
        out: Tensor | float = 0.0
        for force in self._system.forces:
            if isinstance(force, FluidDrag):
                wet = _submerged(wet_at, force.tets) / force.tets.vertex_volumes
                linear = force.linear * (given["mass"] / self._system.mass)
                # The root of a clamped square has a derivative at zero.
                tiny = torch.finfo(velocities.dtype).tiny
                speed = velocities.square().sum(0).clamp(min=tiny).sqrt()
                out = out + wet * (linear + force.quadratic * speed) * velocities
        return out

    def _at(
        self, given: Quantities, frame: int, fraction: float
    ) -> Iterator[tuple[int, PrescribedPotential, Tensor]]:
        """Those that are here, and their parameters then."""
        for index, force in enumerate(self._system.forces):
            if isinstance(force, KNOWN_FORCES) and isinstance(force, PrescribedPotential):
                channel = force.channel.with_samples(given[f"parameters {index}"])
                yield index, force, channel.at(frame, fraction)


def _of_field(force: FieldForce, parameters: Tensor, positions: Tensor, step: TimeStep) -> Tensor:
    """(3, N) over masses, in m/s², as ``FieldForce`` has it: linear about the start."""
    # What is no function of the start has a slope of zero there.
    start = step.start if step.start.requires_grad else step.start.detach().requires_grad_()
    response = force.law(parameters, start)
    pulled = -response.push
    stiffness = _stiffness(response, start)
    if stiffness is not None:
        pulled = pulled + (stiffness * (positions - start)).sum(1)
    if step.is_static:
        return pulled
    velocities = (step.predicted - step.coasting_origin) / step.seconds
    rates = response.rates(velocities)
    pulled = pulled + rates.clamp(max=0.0) * velocities
    if response.spin is not None:
        ahead = turned(velocities, -step.seconds * response.spin)
        pulled = pulled - (ahead - velocities) / step.seconds
    return pulled + rates.clamp(min=0.0) / step.seconds * (positions - step.coasting_origin)


def _stiffness(response: Response, start: Tensor) -> Tensor | None:
    """(3, 3, N) what of −∂a/∂x pulls back, in 1/s²; None is none."""
    if not response.push.requires_grad:
        return None
    rows = [
        torch.autograd.grad(part.sum(), start, create_graph=True, allow_unused=True)[0]
        for part in response.push
    ]
    if any(row is None for row in rows):
        return None
    slopes = torch.stack(rows).nan_to_num(0.0, 0.0, 0.0).permute(2, 0, 1)
    if not bool(slopes.any()):
        return None
    return positive_part(-0.5 * (slopes + slopes.mT)).permute(1, 2, 0)


def _submerged(positions: Tensor, tets: SubmergedTets) -> Tensor:
    """(N,) in m³, as ``SubmergedTets`` has it."""
    apply: Callable[[Tensor, SubmergedTets], Tensor] = _Submerged.apply
    return apply(positions, tets)


class _Submerged(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, positions: Tensor, tets: SubmergedTets) -> Tensor:
        ctx.save_for_backward(positions)
        ctx.tets = tets
        return tets.submerged_volumes(positions)

    @staticmethod
    def backward(ctx: Any, wanted: Tensor) -> tuple[Tensor, None]:
        (positions,) = ctx.saved_tensors
        # The volumes are derivatives of one number, so that theirs are symmetric.
        along = ctx.tets.submerged_change(positions, wanted)
        return torch.stack([torch.zeros_like(along), torch.zeros_like(along), along]), None
