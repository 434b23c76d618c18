# SPDX-License-Identifier: GPL-3.0-or-later
"""What force fields and wind do to bodies."""

from __future__ import annotations

import torch
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..assembly.tensor_channel import TensorChannel
from ..scene.channel import Channel
from .field_laws import Law, Response
from .nodes import Nodes
from .potential import TimeStep
from .prescribed import PrescribedPotential


class FieldForce(PrescribedPotential):
    """Forces m a(x, v), a the acceleration of a law.

    An implicit step of τ seconds from x₀ takes the law as it is linear there: its energy is
    Σ m (−a₀·(x − x₀) + ½ (x − x₀)ᵀ A (x − x₀) + r |x − x̂|² / 2τ), with what the law pushes,
    A what of −∂a/∂x pulls back, and r the rate at which it takes velocities away at the speed that
    vertices start with. What turns velocities does so by the angle of the step, so that it adds
    no speed.

    Args:
        law: what it does at a point.
        parameters: of the law.
        mass: (N,) what it acts on, in kg.
    """

    is_dissipative = True

    def __init__(self, law: Law, parameters: TensorChannel, mass: Tensor) -> None:
        super().__init__(parameters)
        #: What it does at a point.
        self.law = law
        self._mass = mass
        self._start = self._origin = self._push = mass.new_zeros(3, len(mass))
        self._stiffness: Tensor | None = None
        self._rate = torch.zeros_like(mass)

    @staticmethod
    def of_system(law: Law, parameters: Channel, system: Nodes) -> FieldForce:
        """On its bodies, as far as fields count for them."""
        mass = system.mass.clone()
        for body, where in zip(system.bodies, system.body_slices(), strict=True):
            if body.field_weight is not None:
                mass[where] *= body.field_weight
        return FieldForce(law, TensorChannel.of(parameters, mass), mass)

    def add_rate_forces(self, positions: Tensor, velocities: Tensor, out: Tensor) -> None:
        response = self.law(self.parameters, positions)
        out.sub_(self._mass * response.acceleration(velocities))

    def begin_frame(self, positions: Tensor, frame: int) -> None:
        self.law.begin_frame(self.at(frame, 0.0), positions, frame)

    def begin_time_step(self, step: TimeStep) -> None:
        self._start, self._origin = step.start, step.coasting_origin
        response, self._stiffness = self._linear_at(step.start)
        self._push, self._rate = response.push, torch.zeros_like(self._rate)
        if step.is_static:
            return
        velocities = (step.predicted - self._origin) / step.seconds
        rates = response.rates(velocities)
        # A rate that adds speed has no energy to be minimised.
        self._rate = rates.clamp(min=0.0) / step.seconds
        self._push = self._push - rates.clamp(max=0.0) * velocities
        if response.spin is not None:
            ahead = turned(velocities, -step.seconds * response.spin)
            self._push = self._push + (ahead - velocities) / step.seconds

    def energy(self, positions: Tensor) -> Tensor:
        away, way = positions - self._start, positions - self._origin
        density = 0.5 * self._rate * (way * way).sum(0)
        density += (away * (0.5 * self._pulled_back(away) - self._push)).sum(0)
        return torch.dot(self._mass, density)

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        pulled = self._pulled_back(positions - self._start) - self._push
        out.add_(self._mass * (pulled + self._rate * (positions - self._origin)))

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        vertices = matrix.pattern.vertices
        matrix.add_diagonal((self._mass * self._rate)[vertices])
        if self._stiffness is not None:
            blocks = (self._mass * self._stiffness).flatten(0, 1).T
            matrix.add_diagonal_blocks(vertices, blocks[vertices])

    def rest_force_error(self, positions: Tensor) -> Tensor:
        linear = self._pulled_back(positions - self._start) - self._push
        return self._mass * (linear + self.law(self.parameters, positions).push)

    def _pulled_back(self, away: Tensor) -> Tensor:
        """(3, N) A (x − x₀) in m/s²."""
        if self._stiffness is None:
            return torch.zeros_like(away)
        return (self._stiffness * away).sum(1)

    def _linear_at(self, positions: Tensor) -> tuple[Response, Tensor | None]:
        """What the law does at (3, N) positions, and (3, 3, N) A in 1/s², if there is any."""
        with torch.enable_grad():
            points = positions.detach().clone().requires_grad_()
            response = self.law(self.parameters, points)
            if not response.push.requires_grad:
                return response.detached(), None
            rows = [
                torch.autograd.grad(part.sum(), points, retain_graph=True)[0]
                for part in response.push
            ]
        # Where a field has an edge or a centre, it may have no derivative.
        slopes = torch.stack(rows).nan_to_num(0.0, 0.0, 0.0).permute(2, 0, 1)
        if not bool(slopes.any()):
            return response.detached(), None
        values, vectors = torch.linalg.eigh(-0.5 * (slopes + slopes.mT))
        stiffness = (vectors * values.clamp(min=0.0)[:, None]) @ vectors.mT
        return response.detached(), stiffness.permute(1, 2, 0)


def turned(vectors: Tensor, turns: Tensor) -> Tensor:
    """(3, N) vectors, turned about (3, N) axes by as many radians as those are long.

    Source: Rodrigues' rotation formula.
    """
    angle = torch.linalg.vector_norm(turns, dim=0)
    axis = turns / angle.clamp(min=torch.finfo(angle.dtype).tiny)
    across = torch.linalg.cross(axis, vectors, dim=0)
    twice = torch.linalg.cross(axis, across, dim=0)
    return vectors + angle.sin() * across + (1.0 - angle.cos()) * twice
