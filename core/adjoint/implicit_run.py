# SPDX-License-Identifier: GPL-3.0-or-later
"""The adjoint of implicit steps, of each where it has converged, and of an equilibrium."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import scipy.sparse as sparse
import torch
from torch import Tensor

from ..errors import InstabilityError
from ..integrators.implicit_stepper import ImplicitStepper
from ..integrators.stages import Stage
from ..minimizers.equilibrium import STICK_STEP_S
from ..minimizers.incremental_potential import IncrementalPotential
from ..potentials import GroundFriction, TimeStep
from ..potentials.field_force import FieldForce
from ..potentials.potential import Past
from ..simulator import begin_frame
from ..state import State
from ..system import System
from .quantities import Quantities
from .tape import Gradients, TapePlasticity
from .tape_contact import TapeContact

MAX_DIRECTIONS = 60
# The least part of an image that is orthogonal to earlier ones; less is rounding.
ROUNDING_RATIO = 1e-12

Map = Callable[[Tensor], Tensor]


def conjugate_residuals(
    image: Map, precondition: Map, rhs: Tensor, scale: Tensor, tolerance: float
) -> Tensor | None:
    """x with image(x) = rhs; None where it is not found.

    Args:
        image: linear.
        precondition: about its inverse.
        rhs: of any shape.
        scale: of that shape, by which residuals are multiplied to be comparable.
        tolerance: on the norm of the residual, in units of that of ``rhs``.

    Source: Eisenstat, Elman and Schultz, "Variational Iterative Methods for Nonsymmetric Systems of
    Linear Equations", SIAM Journal on Numerical Analysis 20, 1983, the generalized method.
    """
    solution, residual = torch.zeros_like(rhs), scale * rhs
    size = float(residual.norm())
    directions: list[Tensor] = []
    images: list[Tensor] = []
    while float(residual.norm()) > tolerance * size:
        if len(images) == MAX_DIRECTIONS:
            return None
        direction_next = precondition(residual / scale)
        reached = scale * image(direction_next)
        whole = float(reached.norm())
        for direction, before in zip(directions, images, strict=True):
            along = float((before * reached).sum())
            direction_next, reached = direction_next - along * direction, reached - along * before
        length = float(reached.norm())
        if not length > ROUNDING_RATIO * whole:
            return None
        directions.append(direction_next / length)
        images.append(reached / length)
        along = float((images[-1] * residual).sum())
        solution, residual = solution + along * directions[-1], residual - along * images[-1]
    return solution


class FrictionChange:
    """λ to (∂F/∂x)ᵀ λ − K λ, with friction F whose normal forces go with the positions, and the K
    that friction is in the Hessian, where they lag.

    Args:
        gradients: that have F on autograd's tape, and contact that has begun the step.
        objective: the objective of the Hessian, during the step.
        positions: (3, N) where the step ended.
        step: with nothing on the tape.
        quantities: values by name, on autograd's tape or off it.
    """

    def __init__(
        self,
        gradients: Gradients,
        objective: IncrementalPotential,
        positions: Tensor,
        step: TimeStep,
        quantities: Quantities,
    ) -> None:
        self._contact = gradients.contact
        plain = {name: value.detach() for name, value in quantities.items()}
        with torch.enable_grad():
            self._positions = positions.detach().requires_grad_()
            force = torch.zeros_like(positions)
            if "height" in quantities:
                force = force + gradients.friction(self._positions, step, plain)
            if self._contact is not None and self._contact.has_friction:
                force = force + self._contact.friction(self._positions, step, plain)
            self._force = force
        on_ground = (p for p in objective.potentials if isinstance(p, GroundFriction))
        self._friction = next(on_ground, None)
        if self._friction is not None:
            displacement = self._friction.displacement(positions)
            self._stiffness = self._friction.second_derivative(displacement)
        self._free = objective.system.free

    def __call__(self, multiplier: Tensor) -> Tensor:
        (exact,) = torch.autograd.grad(self._force, self._positions, multiplier, retain_graph=True)
        return (exact - self._lagged(multiplier)) * self._free

    def _lagged(self, multiplier: Tensor) -> Tensor:
        """(3, N) K λ."""
        product = torch.zeros_like(multiplier)
        if self._friction is not None:
            points = self._friction.points
            moved = points.gather(multiplier[:2].contiguous())
            points.add((self._stiffness * moved).sum(1), product[:2])
        if self._contact is not None and self._contact.has_friction:
            product += self._contact.lagged_friction_product(multiplier)
        return product


# The error in the energy norm, relative to the solution.
TOLERANCE = 1e-7
# The residual over the root of H's diagonal, for asymmetric equations; and the error of their
# preconditioner.
RESIDUAL_TOLERANCE, PRECONDITIONER_TOLERANCE = 1e-7, 0.03


class TransposedSolve:
    """The solver of linear systems with the second derivatives H of a step.

    Args:
        objective: the objective with the Hessian H.
    """

    def __init__(self, objective: IncrementalPotential) -> None:
        self._objective = objective
        self._solver = objective.linear_solver()

    def prepare(
        self, positions: Tensor, contact: TapeContact | None = None, projected: bool = False
    ) -> None:
        """Takes the exact H at (3, N) ``positions`` of the step that began last, and of
        ``contact`` beside the objective; or ``projected`` the bounded one, which is always
        positive."""
        objective = self._objective
        self._solver.begin()
        self._matrix = objective.hessian(positions, projected=projected)
        if contact is not None:
            contact.add_hessian(self._matrix)
        self._solver.prepare(self._matrix, objective.unknowns(positions))

    def solve(
        self, rhs: Tensor, extra_product: Callable[[Tensor], Tensor] | None = None, name: str = ""
    ) -> Tensor:
        """Return (3, N) λ with H λ + extra_product(λ) = g, zero at pinned vertices.

        With ``extra_product``, which need not be symmetric, conjugate residuals are preconditioned
        by H.

        Args:
            rhs: (3, N) g.
            extra_product: a function of (3, N) tensors that is added to H.
            name: the name of the solution in messages.

        Raises:
            InstabilityError: when H is not positive definite, or no solution is found.
        """
        unknown = self._objective.unknowns(rhs)
        if extra_product is None or not bool(unknown.any()):
            return self._objective.vectors(self._solved(unknown, TOLERANCE, name))
        product = self.product()

        def image(vector: Tensor) -> Tensor:
            return product(vector) + self._objective.unknowns(
                extra_product(self._objective.vectors(vector))
            )

        solution = conjugate_residuals(
            image, self.about(name), unknown, self.scale(), RESIDUAL_TOLERANCE
        )
        if solution is not None:
            return self._objective.vectors(solution)
        raise InstabilityError(
            f"{self._objective.system.names}: no gradient, since the derivative of friction or of "
            f"force fields was not solved for {name} within {MAX_DIRECTIONS} directions. Use more "
            "substeps, or weaker fields."
        )

    def scale(self) -> Tensor:
        """(n, 3) one over the root of H's diagonal."""
        diagonal = self._matrix.diagonal_blocks().diagonal(dim1=1, dim2=2)
        return diagonal.clamp(min=torch.finfo(diagonal.dtype).tiny).rsqrt()

    def about(self, name: str) -> Callable[[Tensor], Tensor]:
        """Return the map from (n, 3) vectors to approximate products with the inverse of H."""
        return lambda vector: self._solved(vector, PRECONDITIONER_TOLERANCE, name)

    def product(self) -> Callable[[Tensor], Tensor]:
        """Return the map from (n, 3) vectors to their products with H."""
        matrix, pattern = self._matrix, self._matrix.pattern
        shape = (3 * pattern.size, 3 * pattern.size)
        blocks = matrix.values.cpu().numpy().reshape(-1, 3, 3)
        whole = sparse.bsr_array((blocks, pattern.columns, pattern.offsets), shape)
        if len(matrix.off_pattern):
            off_pattern = matrix.off_pattern
            values = off_pattern.values.reshape(-1, 3, 3)
            whole = whole + sparse.bsr_array(
                (values, off_pattern.columns, off_pattern.offsets), shape
            )

        def image(vector: Tensor) -> Tensor:
            out = torch.as_tensor(whole @ vector.numpy().ravel()).view(-1, 3)
            for direction, factor in matrix.rank_ones:
                out = out + factor * (direction * vector).sum() * direction
            return out

        return image

    def _solved(self, rhs: Tensor, tolerance: float, name: str) -> Tensor:
        solution = self._solver.solve(rhs, tolerance, 0.0)
        if solution.end != "converged":
            raise InstabilityError(
                f"{self._objective.system.names}: no gradient, since {name} is not a strict "
                "minimum of the energy. A body slides freely or is about to buckle, or the step "
                "ended too early at a contact. Pin the body, use more substeps, add damping, or "
                "lower the integrator's tolerance."
            )
        return solution.x


@dataclass(frozen=True)
class _Step:
    """An implicit step.

    Args:
        before: the state that it began at.
        ends: (3, N) where its stages ended.
        seconds: of it.
        frame: that it belongs to.
        fractions: of that frame, when it began and ended.
        converged: whether the searches converged, with prescribed objects at their targets.
    """

    before: State
    ends: list[Tensor]
    seconds: float
    frame: int
    fractions: tuple[float, float]
    converged: bool

    def when(self, stage: Stage) -> tuple[int, float]:
        """The frame, and the fraction of it, where a stage ends."""
        since, until = self.fractions
        return self.frame, since + (until - since) * (stage.end / self.seconds)


class _TapeStage(NamedTuple):
    """A stage of a step on autograd's tape.

    Args:
        step: as energies begin it.
        end: (3, N) leaf of the tape where it ended.
        whole: (3, N) the same with prescribed vertices.
        length: seconds since the step began.
        when: the frame and the fraction of it where it ends.
    """

    step: TimeStep
    end: Tensor
    whole: Tensor
    length: float
    when: tuple[int, float]


class ImplicitRun:
    """Records the steps of a run, and goes back through them.

    A step ends at the x of G(x, s, p) = 0, the gradient of its incremental potential, with s the
    state that it began at and p the quantities. With g = ∂L/∂x and (∂G/∂x)ᵀ λ = g, λ gives ∂L/∂s =
    −(∂G/∂s)ᵀ λ and ∂L/∂p = −(∂G/∂p)ᵀ λ (docs/gradients.md).

    Args:
        system: that is carried on.
        stepper: carries it on.
    """

    def __init__(self, system: System, stepper: ImplicitStepper) -> None:
        self._system, self._stepper = system, stepper
        # It removes energy after the end of a step, which has no adjoint.
        stepper.energy_watch = None
        self._objective = IncrementalPotential(system, with_contact=False)
        self._gradients = Gradients(system, solved=True)
        self._plasticity = TapePlasticity(system)
        self._frames: list[list[_Step]] = []

    def record(self, before: State, after: State) -> None:
        """Takes the steps of the frame that the stepper has just ended."""
        stepper, frame_seconds = self._stepper, self._system.frame_times.of(before.frame)
        statistics = after.solver_statistics
        state, since = replace(before, substeps=after.substeps), 0.0
        steps = []
        flow = self._system.plastic_flow
        flow.plastic = before.plastic
        for ends, fraction in zip(stepper.stage_ends, stepper.sample_fractions[1:], strict=True):
            fractions = since, fraction
            seconds, since = frame_seconds * (fraction - since), fraction
            state = stepper.with_usable_history(state, seconds)
            converged = statistics.converged and not statistics.blocked
            steps.append(_Step(state, ends, seconds, before.frame, fractions, converged))
            flow.flow(ends[-1], seconds)
            step = stepper.step_of(state, seconds, len(ends))
            for stage, positions in zip(step.stages, ends, strict=True):
                velocities = step.ended(step.coasting(stage), positions)
            state = replace(
                state,
                positions=ends[-1],
                velocities=velocities,
                previous=stepper.history(state),
                step_seconds=seconds,
                plastic=flow.plastic,
            )
        self._frames.append(steps)

    def pull_back(
        self, upstream: list[tuple[Tensor, Tensor]], quantities: Quantities
    ) -> dict[str, Tensor]:
        """The gradient by the quantities that require grad.

        Args:
            upstream: of each frame the (3, N) gradients by its positions and velocities.
            quantities: leaves of autograd's tape.
        """
        solve = TransposedSolve(self._objective)
        grads = {
            name: torch.zeros_like(value)
            for name, value in quantities.items()
            if value.requires_grad
        }
        # Gradients by positions and velocities, by those a step before, and by the plastic strain.
        adjoint = [torch.zeros_like(self._system.rest_positions()) for _ in range(4)]
        adjoint.append(torch.zeros_like(self._plasticity.strain(None)))
        for steps, (grad_positions, grad_velocities) in zip(
            reversed(self._frames), reversed(upstream), strict=True
        ):
            adjoint[0] = adjoint[0] + grad_positions
            adjoint[1] = adjoint[1] + grad_velocities
            begin_frame(self._system, steps[0].before)
            for step in reversed(steps):
                if not any(bool(part.any()) for part in adjoint):
                    continue
                adjoint = self._step_back(step, adjoint, quantities, grads, solve)
            if steps[0].before.previous is None:
                # Earlier values are not read.
                adjoint[2:4] = [torch.zeros_like(part) for part in adjoint[2:4]]
        for name, value in zip(("positions", "velocities"), adjoint[:2], strict=True):
            if name in grads:
                grads[name] += value
        return grads

    def _step_back(
        self,
        step: _Step,
        adjoint: list[Tensor],
        quantities: Quantities,
        grads: dict[str, Tensor],
        solve: TransposedSolve,
    ) -> list[Tensor]:
        """The adjoint of the state that the step began at; adds to the gradients."""
        if not step.converged:
            raise InstabilityError(
                f"{self._system.names}: no gradient through frame {step.frame + 1}. Its steps did "
                "not converge, or a pin or a collider was blocked. Use more substeps, or a softer "
                "material."
            )
        system, before = self._system, step.before
        plastic, flow = self._plasticity.strain(before.plastic), self._plasticity
        state = [before.positions, before.velocities, plastic, *(before.previous or ())]
        state = [part.detach().requires_grad_() for part in state]
        plastic = state.pop(2)
        with torch.enable_grad():
            stages, velocities = self._on_tape(step, state, quantities)
            whole = stages[-1].whole
            total = (whole * adjoint[0] + velocities * adjoint[1]).sum()
            flowed = flow.flow(whole, plastic, step.seconds, quantities)
            total = total + (flowed * adjoint[4]).sum()
            shaped = quantities | flow.shapes(plastic, quantities)
            for stage in reversed(stages):
                rhs = torch.autograd.grad(total, stage.end, retain_graph=True)[0] * system.free
                multiplier = self._multiplier(step, stage, rhs, quantities, solve)
                gradient = self._gradients.step_gradient(
                    stage.whole, stage.step, shaped, *stage.when
                )
                gradient = gradient + flow.step_gradient(
                    stage.whole, plastic, stage.length, quantities
                )
                total = total - (gradient * multiplier).sum()
            names = list(grads)
            inputs = [*state, *(quantities[name] for name in names), plastic]
            parts = torch.autograd.grad(total, inputs, allow_unused=True)
        for name, part in zip(names, parts[len(state) : -1], strict=True):
            if part is not None:
                grads[name] += part
        nothing = torch.zeros_like(whole)
        parts_back = [nothing if part is None else part for part in parts[: len(state)]]
        parts_back = [part.detach() for part in parts_back]
        carried = [parts_back[0] + adjoint[2], parts_back[1] + adjoint[3], *parts_back[2:]]
        carried += [nothing for _ in range(4 - len(carried))]
        return [*carried, torch.zeros_like(plastic) if parts[-1] is None else parts[-1].detach()]

    def _on_tape(
        self, step: _Step, state: list[Tensor], quantities: Quantities
    ) -> tuple[list[_TapeStage], Tensor]:
        """Its stages, and the (3, N) velocities at the end."""
        system, stepper = self._system, self._stepper
        before = replace(step.before, positions=state[0], velocities=state[1])
        before = replace(before, previous=(state[2], state[3]) if len(state) > 2 else None)
        present = system.damping, stepper.frames
        if quantities["damping"].requires_grad:
            system.damping = quantities["damping"]
        if quantities["mass"].requires_grad:
            stepper.frames = stepper.frames.with_masses(quantities["mass"])
        try:
            whole_step = stepper.step_of(before, step.seconds, len(step.ends))
        finally:
            system.damping, stepper.frames = present
        contact, colliders = self._gradients.contact, None
        if contact is not None:
            colliders = contact.colliders_at(step.frame, step.fractions[0])
        stages, start = [], state[0]
        for stage, positions in zip(whole_step.stages, step.ends, strict=True):
            coasting, when = whole_step.coasting(stage), step.when(stage)
            inertial = coasting.positions
            if system.moving_pins is not None:
                pins = system.moving_pins
                at = pins.path.with_samples(quantities["pins"]).at(*when)
                inertial = inertial.index_copy(1, pins.vertices, at)
            origin = None
            if contact is not None:
                origin = stage.collider_origin(colliders, contact.colliders_at(*when))
            time_step = TimeStep(
                start,
                inertial,
                stage.span,
                stage.impulse_time,
                coasting.past,
                coasting.origin,
                coasting.slip_origin,
                origin,
            )
            end = positions.detach().requires_grad_()
            whole = torch.where(system.free, end, inertial)
            velocities = whole_step.ended(coasting, whole)
            stages.append(_TapeStage(time_step, end, whole, stage.end, when))
            start = whole
        return stages, velocities

    def _multiplier(
        self,
        step: _Step,
        stage: _TapeStage,
        rhs: Tensor,
        quantities: Quantities,
        solve: TransposedSolve,
    ) -> Tensor:
        """(3, N) λ."""
        objective, system, positions = self._objective, self._system, stage.end.detach()
        system.go_to(*stage.when)
        system.plastic_flow.plastic = step.before.plastic
        on_tape = stage.step
        plain = replace(
            on_tape,
            start=on_tape.start.detach(),
            predicted=on_tape.predicted.detach(),
            impulse_time=_plain(on_tape.impulse_time),
            past=tuple(Past(w, _plain(at), seconds) for w, at, seconds in on_tape.past),
            origin=_plain(on_tape.origin),
            slip_origin=_plain(on_tape.slip_origin),
        )
        objective.begin(plain)
        objective.update_lagged(positions)
        contact = self._gradients.contact
        if contact is not None:
            contact.begin(positions, plain, quantities, *stage.when)
        solve.prepare(positions, contact)
        extra_product = None
        if self._gradients.has_friction(positions, quantities):
            extra_product = FrictionChange(self._gradients, objective, positions, plain, quantities)
        return solve.solve(rhs, extra_product, f"frame {step.frame + 1}")


def _plain(value: Any) -> Any:
    return value.detach() if isinstance(value, Tensor) else value


def field_change(
    system: System, positions: Tensor, step: TimeStep, quantities: Quantities, frame: int
) -> Callable[[Tensor], Tensor] | None:
    """The map from (3, N) λ to (∂F/∂x)ᵀ λ − K λ, with the forces F of fields at rest and their part
    K of the Hessian; None where fields are the same everywhere.

    Args:
        system: the system of the fields.
        positions: (3, N) of the equilibrium.
        step: a static one that begins there.
        quantities: values by name, on autograd's tape or off it.
        frame: after which it was looked for.
    """
    plain = {name: value.detach() for name, value in quantities.items()}
    error = torch.zeros_like(positions)
    with torch.enable_grad():
        at = positions.detach().requires_grad_()
        for index, force in enumerate(system.forces):
            if isinstance(force, FieldForce):
                field = force.on_tape(plain, index, frame, 0.0)
                field.begin_time_step(step)
                error = error - field.rest_force_error(at)
    if not error.requires_grad:
        return None

    def change(multiplier: Tensor) -> Tensor:
        (change_of_force,) = torch.autograd.grad(error, at, multiplier, retain_graph=True)
        return change_of_force * system.free

    return change


_RUBS = (
    "{}: an equilibrium with frictional contact has no gradient. Friction can hold a body in many "
    "places, and its path decides which one. Set the friction of the ground, of contact and of "
    "bodies to 0, or simulate."
)


class EquilibriumAdjoint:
    """With G(x, p) = 0, the gradient of all energies, ∂L/∂p = −(∂G/∂p)ᵀ λ with H λ = ∂L/∂x. It does
    not depend on where a body came from.

    Args:
        system: that was solved for.
        state: the equilibrium.
    """

    def __init__(self, system: System, state: State) -> None:
        self._system, self._state = system, state
        self._objective = IncrementalPotential(system, with_contact=False)
        self._gradients = Gradients(system, solved=True)

    def pull_back(self, upstream: Tensor, quantities: Quantities) -> dict[str, Tensor]:
        """The gradient by the quantities that require grad, from the (3, N) one by positions."""
        system, objective, state = self._system, self._objective, self._state
        positions = state.positions.detach()
        system.go_to(state.frame, 0.0)
        # Inertia is negligible.
        objective.begin_static_step(positions, 1e9 * STICK_STEP_S, STICK_STEP_S)
        solve = TransposedSolve(objective)
        step = TimeStep(positions, positions, 1.0, 1.0, is_static=True)
        contact = self._gradients.contact
        if contact is not None:
            contact.begin(positions, step, quantities, state.frame, 0.0)
        solve.prepare(positions, contact)
        if self._gradients.has_friction(positions, quantities):
            raise InstabilityError(_RUBS.format(system.names))
        more = field_change(system, positions, step, quantities, state.frame)
        multiplier = solve.solve(upstream * system.free, more, "the equilibrium")
        names = [name for name, value in quantities.items() if value.requires_grad]
        with torch.enable_grad():
            whole = self._pinned_on_tape(positions, quantities)
            gradient = self._gradients.step_gradient(whole, step, quantities, state.frame, 0.0)
            total = (whole * upstream).sum() - (gradient * multiplier).sum()
            if not total.requires_grad:
                return {}
            parts = torch.autograd.grad(total, [quantities[n] for n in names], allow_unused=True)
        return {name: part for name, part in zip(names, parts, strict=True) if part is not None}

    def _pinned_on_tape(self, positions: Tensor, quantities: Quantities) -> Tensor:
        system, pins = self._system, self._system.moving_pins
        # Pins without motion stay at their start.
        whole = torch.where(system.free, positions, quantities["positions"])
        if pins is None:
            return whole
        at = pins.path.with_samples(quantities["pins"]).at(self._state.frame, 0.0)
        return whole.index_copy(1, pins.vertices, at)
