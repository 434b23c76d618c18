# SPDX-License-Identifier: GPL-3.0-or-later
"""Extended position-based dynamics, the method of games: always stable, and too soft at long
steps.

See docs/physics.md for its limits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import runs_loops, use_threads
from ..errors import SceneError
from ..geometry.groups import grouped
from ..kernels.xpbd_tets import BASIS, COMPLIANCES, TRACES, relax_green_strains, relax_neo_hookean
from ..materials import Material, StableNeoHookean, StVenantKirchhoff, label_of
from ..math3.torch_matrices import cofactors3, diagonalize, matmul3
from ..potentials import Elasticity, TargetVolume
from ..scene.integrator_table import INTEGRATORS
from ..system import System
from .explicit_stepper import ExplicitStep, ExplicitStepper, FixedStepIntegrator, refuse_contact

# The default: about 2 ms at 24 frames a second.
SUBSTEPS = 20


@dataclass(frozen=True)
class XPBD(FixedStepIntegrator):
    """x̃ = x + h (e^(−αh) v + σ g) with σ = (1 − e^(−αh))/α, one Gauss–Seidel pass over the
    constraints of a step of √(hσ) from there, v' = (x' − x)/h, then contact. α is the damping.

    No step is too long for it. A body is the softer the longer they are, until its stiffness has
    little to do with Young's modulus.

    Source: Macklin et al., "Small Steps in Physics Simulation", Symposium on Computer Animation
    2019: one iteration a step, so that multipliers begin at zero.
    """

    label = INTEGRATORS["xpbd"].label
    # A body that is too soft takes up more energy than the work on it, and is still stable.
    has_bounded_energy = False

    def stepper(self, system: System, substeps: int | None) -> ExplicitStepper:
        refuse_contact(system, self.label)
        _check(system)
        return ExplicitStepper(self, system, substeps or SUBSTEPS, adapts=False)

    def make_step(self, system: System, step: float) -> ExplicitStep:
        return _XPBDStep(system, step)


class _XPBDStep(ExplicitStep):
    def __init__(self, system: System, step: float) -> None:
        self._constraints = [
            _CONSTRAINTS[type(part.material)](part, system.inverse_mass)
            for part in system.elasticities
        ]
        # Constraints respond to the gravity at the end of the step, as in implicit Euler.
        super().__init__(system, step, nodes=(1.0,))
        self._start = torch.zeros_like(self.positions)
        self._volumes = [part for part in system.forces if isinstance(part, TargetVolume)]
        # The forces, and their sum.
        self._forces = [part for part in system.forces if part not in self._volumes]
        self._pull = torch.zeros_like(self.positions)

    def set_step(self, step: float) -> None:
        super().set_step(step)
        impulse_times = self._impulse_times
        self._fall = impulse_times * self._system.free_acceleration
        self._dt_over_mass = impulse_times * self._system.inverse_mass
        for part, constraints in zip(self._system.elasticities, self._constraints, strict=True):
            constraints.set_step(part.stiffness * (step * impulse_times))

    def _move(self) -> None:
        system, positions, velocities = self._system, self.positions, self.velocities
        if system.moving_pins is not None:
            # Only the work of pins needs it.
            self._gradient.zero_()
            system.add_gradient(positions, self._gradient)
        self._start.copy_(positions)
        if not system.gravity.is_constant:
            torch.mul(self._impulse_times, system.free_acceleration, out=self._fall)
        if self._forces:
            self._pull.zero_()
            for force in self._forces:
                # Velocity-dependent forces use the velocities after the constraints.
                if force.is_dissipative:
                    force.add_rate_forces(positions, velocities, self._pull)
                else:
                    force.add_gradient(positions, self._pull)
        velocities.mul_(self._retention).add_(self._fall)
        if self._forces:
            velocities.sub_(self._pull.mul_(self._dt_over_mass))
        positions.add_(velocities, alpha=self.step)
        for part, constraints in zip(system.elasticities, self._constraints, strict=True):
            if not part.is_constant:
                constraints.follow_rest_shape(part)
                # A longer step makes constraints stiffer.
                constraints.set_step(part.stiffness * (self.step * self._impulse_times))
            constraints.relax(positions)
        for volume in self._volumes:
            volume.relax(positions, self.step * self._dt_over_mass)
        torch.sub(positions, self._start, out=velocities)
        velocities.mul_(1.0 / self.step)


def _check(system: System) -> None:
    for body in system.bodies:
        material = body.material
        if type(material) not in _CONSTRAINTS:
            raise SceneError(
                f"{body.name}: XPBD has no constraints for the model {label_of(material)}. "
                "Choose Stable Neo-Hookean or St. Venant–Kirchhoff, or another integrator."
            )
        if isinstance(material, StVenantKirchhoff) and material.compression_resistance > 0.0:
            raise SceneError(
                f"{body.name}: XPBD has no constraint for St. Venant–Kirchhoff's compression "
                "resistance. Set it to 0, or choose another integrator."
            )
        if body.plasticity is not None:
            raise SceneError(
                f"{body.name}: XPBD does not support plasticity. Leave it out, or choose another "
                "integrator."
            )
        if body.pose is not None:
            raise SceneError(
                f"{body.name}: XPBD keeps the rest shape of the start, and its goals are to be "
                "sag-free. Choose another integrator."
            )
        if body.is_viscous:
            raise SceneError(
                f"{body.name}: XPBD supports no loss factor, no stiffness damping and no "
                "viscosity. Set all of them to 0, or choose another integrator."
            )


def colour_tets(corners: NDArray[np.integer[Any]], vertex_count: int) -> NDArray[np.int64]:
    """Return the (M,) colours from 0 on of tets with (4, M) ``corners``, the same on every
    machine.

    Each colour takes as many tets as still fit, those first that a fixed shuffle puts first. A tet
    thus gets at most one colour more than it has neighbours.

    Source: Luby, "A Simple Parallel Algorithm for the Maximal Independent Set Problem", SIAM
    Journal on Computing 15(4), 1986, with priorities that stay.
    """
    count = corners.shape[1]
    colours = np.full(count, -1)
    # Shuffled, because neighbours in order would wait for each other one by one.
    left = np.random.default_rng(0).permutation(count)
    colour = 0
    while len(left):
        colours[_independent(corners, left, vertex_count)] = colour
        left = left[colours[left] < 0]
        colour += 1
    return colours


def _independent(
    corners: NDArray[np.integer[Any]], tets: NDArray[np.int64], vertex_count: int
) -> NDArray[np.int64]:
    """Select from ``tets`` a set in which no two share a vertex."""
    chosen: list[NDArray[np.int64]] = []
    taken = np.zeros(vertex_count, dtype=bool)
    while len(tets):
        tet_corners, rank = corners[:, tets], np.arange(len(tets))
        # The first tet at each vertex; the last write stays.
        first = np.empty(vertex_count, dtype=np.int64)
        first[tet_corners.T[::-1].ravel()] = rank[::-1].repeat(4)
        # One that is first at all its corners is in.
        wins = (first[tet_corners] == rank).all(axis=0)
        chosen.append(tets[wins])
        taken[tet_corners[:, wins]] = True
        tets = tets[~taken[tet_corners].any(axis=0)]
    return np.concatenate(chosen)


#: Fewer tets of a colour than this a thread cost more to hand out than to move.
TETS_PER_THREAD = 500


class Constraints(ABC):
    """The constraints of the tets of one material, solved tet by tet, each once a step.

    A tet moves its corners a by w_a R g_a: w the inverse masses, g the gradients of the shape
    functions, R a (3, 3) response to its F. F itself changes by R T then, T = Σ w_a g_a g_aᵀ, so
    that responses know nothing of vertices.

    Args:
        elasticity: the elasticity of the tets and moduli.
        inverse_mass: (N,) in 1/kg, zero where a vertex is pinned.
    """

    def __init__(self, elasticity: Elasticity, inverse_mass: Tensor) -> None:
        tets, template = elasticity.tets, elasticity.tets.template
        corners = tets.corners.cpu().numpy()
        colours = colour_tets(corners, len(inverse_mass))
        # Tets of one colour follow each other, so that they are read in order.
        order, self._offsets = grouped(colours, int(colours.max()) + 1)
        self._order = where = torch.as_tensor(order, device=template.device)
        self._corners = tets.corners[:, where]
        self._weights = inverse_mass[self._corners]
        self.set_rest_shape(elasticity)
        #: (M,) Lamé's moduli in pascal.
        self._mu, self._lam = (
            torch.as_tensor(modulus, dtype=template.dtype, device=template.device).expand(
                len(tets)
            )[where]
            for modulus in (elasticity.material.mu, elasticity.material.lam)
        )

    def follow_rest_shape(self, elasticity: Elasticity) -> None:
        """Take the present rest shape of the tets, if it has changed, for the steps after the next
        ``set_step``."""
        keyed = elasticity.rest_shape
        if keyed is not None and keyed.changes != self._rest_shape_changes:
            self.set_rest_shape(elasticity)
            self._rest_shape_changes = keyed.changes

    _rest_shape_changes = -1

    def set_rest_shape(self, elasticity: Elasticity) -> None:
        """Take the present rest shape of the tets."""
        tets = elasticity.tets
        self._gradients = tets.shape_gradients[:, :, self._order]
        #: (M,) in m³.
        self._volumes = tets.volumes[self._order]
        weighted = self._weights[:, None] * self._gradients
        #: (3, 3, M) T in 1/(kg m²).
        self._inverse_mass_metric = sum(
            a[:, None] * b[None] for a, b in zip(weighted, self._gradients, strict=True)
        )

    def set_step(self, squared_steps: Tensor) -> None:
        """Chooses the squared length of the steps that follow, (N,) in s², alike in a body."""
        tet_parameters = self._tet_parameters(squared_steps[self._corners[0].long()])
        if runs_loops(tet_parameters):
            tet_data = torch.cat(
                [self._gradients[1:].reshape(9, -1), self._weights, tet_parameters]
            )
            # All of a tet together: a thread reads one stream.
            self._tet_data = tet_data.T.contiguous().numpy()
            self._tet_corners = self._corners.T.contiguous().numpy()
            return
        self._colours = [
            (
                self._corners[:, one:end].reshape(-1).long(),
                self._gradients[:, :, one:end].contiguous(),
                self._weights[:, one:end].contiguous(),
                tet_parameters[:, one:end].contiguous(),
            )
            for one, end in zip(self._offsets, self._offsets[1:], strict=False)
        ]

    def relax(self, positions: Tensor) -> None:
        """One Gauss–Seidel pass over all tets: changes (3, N) positions.

        On CUDA it is recorded: nothing in it may look at values.
        """
        if runs_loops(positions):
            use_threads(len(self._volumes) // (len(self._offsets) - 1), TETS_PER_THREAD)
            self._loop(positions.numpy(), self._tet_corners, self._tet_data, self._offsets)
            return
        for corners, gradients, weights, tet_parameters in self._colours:
            at = positions.index_select(1, corners).view(3, 4, -1)
            f = matmul3(at[:, 1:] - at[:, :1], gradients[1:])
            moved = matmul3(self._response(f, tet_parameters), gradients.transpose(0, 1))
            positions.index_add_(1, corners, moved.mul_(weights).view(3, -1))

    @abstractmethod
    def _tet_parameters(self, squared_steps: Tensor) -> Tensor:
        """(L, M) numbers that the response needs besides F, from the (M,) squared steps."""

    @abstractmethod
    def _response(self, f: Tensor, tet_parameters: Tensor) -> Tensor:
        """(3, 3, n) R of the tets of a colour, in kg m²."""

    @abstractmethod
    def _loop(
        self, positions: NDArray[Any], corners: NDArray[Any], tet_data: NDArray[Any], offsets: Any
    ) -> None:
        """The pass as a compiled loop; ``tet_data`` are as in ``kernels/xpbd_tets``."""


def upper(matrices: Tensor) -> Tensor:
    """Return the (6, n) upper entries of (3, 3, n) symmetric matrices: xx, xy, xz, yy, yz, zz."""
    return torch.cat([matrices[0], matrices[1, 1:], matrices[2, 2:]])


def full(entries: Tensor) -> Tensor:
    """(3, 3, n) symmetric matrices of (6, n)."""
    xx, xy, xz, yy, yz, zz = entries
    return torch.stack([xx, xy, xz, xy, yy, yz, xz, yz, zz]).view(3, 3, -1)


class GreenStrains(Constraints):
    """R = Σ Δλ F B with Δλ = −C / (α/h² + F B : F B T) and C = E : B."""

    def __init__(self, elasticity: Elasticity, inverse_mass: Tensor) -> None:
        super().__init__(elasticity, inverse_mass)
        template = self._inverse_mass_metric
        basis = torch.tensor(BASIS, dtype=template.dtype, device=template.device)
        self._basis = basis.view(6, 3, 3, 1)

    def _tet_parameters(self, squared_steps: Tensor) -> Tensor:
        bulk = self._lam + 2.0 / 3.0 * self._mu
        shear_compliance, bulk_compliance = (
            1.0 / (squared_steps * modulus * self._volumes) for modulus in (self._mu, bulk)
        )
        return torch.cat(
            [upper(self._inverse_mass_metric), shear_compliance[None], bulk_compliance[None]]
        )

    def _response(self, f: Tensor, tet_parameters: Tensor) -> Tensor:
        inverse_mass_metric, response = full(tet_parameters[:6]), torch.zeros_like(f)
        for basis, trace, compliance in zip(self._basis, TRACES, COMPLIANCES, strict=True):
            gradient = matmul3(f, basis)
            change = matmul3(gradient, inverse_mass_metric)
            strain = 0.5 * ((f * gradient).sum((0, 1)) - trace)
            multiplier = -strain / (tet_parameters[compliance] + (gradient * change).sum((0, 1)))
            response.addcmul_(multiplier, gradient)
            f = f + multiplier * change
        return response

    def _loop(
        self, positions: NDArray[Any], corners: NDArray[Any], tet_data: NDArray[Any], offsets: Any
    ) -> None:
        relax_green_strains(positions, corners, tet_data, offsets)


#: Shear at rest has the curvature 2μ: μ of tr FᵀF, and μ of det F that its gradient does not show.
#: Below 1.5 of the two, long steps throw the shear of a stiff tet back and forth, and ever further.
SHEAR_FACTOR = 2.0


class NeoHookeanConstraints(Constraints):
    """R = −n (F + κ cof F) with κ = (C_H − n cof F : F T) / (r + n cof F : cof F T).

    n = 1/(1/μVh² + 2τ), τ the largest eigenvalue of T. This is the least of inertia Σ mΔx²/2h² and
    a model of the tet's energy that near rest is nowhere below it,
    μV F : ΔF + μVτ Σ mΔx² + λ'V/2 (C_H + cof F : ΔF)². At rest κ = −1 and R = 0.
    """

    def set_rest_shape(self, elasticity: Elasticity) -> None:
        super().set_rest_shape(elasticity)
        # (M,) τ.
        self._largest = diagonalize(self._inverse_mass_metric)[0].amax(0)

    def _tet_parameters(self, squared_steps: Tensor) -> Tensor:
        compliance = 1.0 / (squared_steps * self._mu * self._volumes)
        gain = 1.0 / (compliance + SHEAR_FACTOR * self._largest)
        ratio = self._mu / (self._lam + self._mu)
        change = gain * upper(self._inverse_mass_metric)
        return torch.cat([change, gain[None], ratio[None], 1.0 + ratio[None]])

    def _response(self, f: Tensor, tet_parameters: Tensor) -> Tensor:
        change, (gain, ratio, rest) = full(tet_parameters[:6]), tet_parameters[6:]
        cofactor = cofactors3(f)
        changed = matmul3(cofactor, change)
        along = (cofactor * changed).sum((0, 1))
        excess = (f[:, 0] * cofactor[:, 0]).sum(0) - rest - (f * changed).sum((0, 1))
        return (f + excess / (ratio + along) * cofactor).mul_(-gain)

    def _loop(
        self, positions: NDArray[Any], corners: NDArray[Any], tet_data: NDArray[Any], offsets: Any
    ) -> None:
        relax_neo_hookean(positions, corners, tet_data, offsets)


_CONSTRAINTS: dict[type[Material], type[Constraints]] = {
    StableNeoHookean: NeoHookeanConstraints,
    StVenantKirchhoff: GreenStrains,
}
