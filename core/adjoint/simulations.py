# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulations on autograd's tape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ..errors import InstabilityError, SceneError
from ..integrators import ImplicitEuler, Integrator
from ..integrators.explicit_integrators import ExplicitIntegrator
from ..integrators.explicit_stepper import ExplicitStepper
from ..integrators.implicit_stepper import ImplicitStepper
from ..scene.scene import Scene
from ..simulator import Frame, Simulator, begin_frame
from ..state import State
from ..system import System
from .explicit_run import ExplicitRun
from .implicit_run import EquilibriumAdjoint, ImplicitRun
from .quantities import Derivation, Quantities, collect
from .refusals import (
    refuse_flow,
    refuse_integrator,
    refuse_loss_factors,
    refuse_scene,
    refuse_system,
)

#: A function from the (3, N) gradients by the results, and the quantities as leaves, to the
#: gradients by quantities.
PullBack = Callable[[list[Tensor], Quantities], dict[str, Tensor]]


def simulate(
    scene: Scene,
    integrator: Integrator | None = None,
    *,
    frames: int,
    frame_time: float = 1.0 / 24.0,
    substeps: int | None = None,
    results: Sequence[str] = (),
) -> list[Frame]:
    """Simulates as ``Simulator`` does, on the CPU; positions and velocities of the frames hang on
    autograd's tape, so that ``loss.backward()`` fills the ``grad`` of the scene's tensors.

    Tensors that require grad may be Young's modulus and Poisson's ratio of a material; vertices of
    a ``TetMesh``, its rest shape, which masses follow and, without another, the start shape; yield
    stress, hardening, creep time and limit of plasticity; displacements and amounts of a
    ``RestShape``; density, velocity, angular velocity, initial positions and velocities, damping,
    stiffness damping, viscosity, pin path and friction of a body, its accelerations, pressure,
    target volume, drag and stiffness over time; targets, frequency and weights of goals; gravity;
    numbers of wind and force fields; height and friction of the ground; stiffness, distance and
    friction of contact; friction of mesh colliders.

    Args:
        scene: the scene; bodies without tetrahedra are filled with them first.
        integrator: ``ImplicitEuler`` by default; ``BDF2``, ``SDIRK2``, or an explicit one with
            fixed steps.
        frames: the number of frames.
        frame_time, substeps, results: as for ``Simulator``.

    Raises:
        SceneError: when the scene cannot be simulated, or there are no gradients through it.
        InstabilityError: when a frame diverges; from ``backward``, when a step has not converged or
            its end is no strict minimum.
    """
    integrator = integrator or ImplicitEuler()
    plain, leaves = collect(scene)
    if leaves:
        refuse_scene(plain)
        refuse_loss_factors(plain, leaves)
        refuse_integrator(integrator, plain)
    timing: dict[str, Any] = {"frame_time": frame_time, "substeps": substeps}
    simulator = Simulator(plain, integrator, device="cpu", results=results, **timing)
    if not leaves:
        return list(simulator.run(frames))
    refuse_system(simulator.system, leaves)
    _refuse_moved_start(simulator, leaves)
    _refuse_jumps(simulator)
    run = _run_of(simulator, integrator, frames)
    recorded = _recorded(simulator, run, frames)
    outputs = [part for _, state in recorded for part in (state.positions, state.velocities)]

    def pull_back(upstream: list[Tensor], quantities: Quantities) -> dict[str, Tensor]:
        return run.pull_back(list(zip(upstream[::2], upstream[1::2], strict=True)), quantities)

    taped = _on_tape(simulator.system, leaves, outputs, pull_back)
    pairs = zip(taped[::2], taped[1::2], strict=True)
    return [
        _framed(simulator.system, frame, *pair)
        for (frame, _), pair in zip(recorded, pairs, strict=True)
    ]


def settle(scene: Scene, *, results: Sequence[str] = ()) -> Frame:
    """The equilibrium that ``Simulator.settle`` finds, its positions on autograd's tape.

    Args:
        scene: as for ``simulate``.
        results: as for ``Simulator``.

    Raises:
        SceneError: when the scene cannot be simulated, or there are no gradients through it.
        InstabilityError: when no equilibrium is found; from ``backward``, where it is no strict
            minimum, or friction acts.
    """
    plain, leaves = collect(scene)
    if leaves:
        refuse_scene(plain)
        refuse_flow(plain)
    simulator = Simulator(plain, device="cpu", results=results)
    if not leaves:
        return simulator.settle()
    refuse_system(simulator.system, leaves)
    system = simulator.system
    begin_frame(system, simulator.state)
    frame = simulator.settle()
    _refuse_unfolding(system, frame)
    adjoint = EquilibriumAdjoint(system, simulator.state)
    outputs = [simulator.state.positions]

    def pull_back(upstream: list[Tensor], quantities: Quantities) -> dict[str, Tensor]:
        return adjoint.pull_back(upstream[0], quantities)

    (positions,) = _on_tape(system, leaves, outputs, pull_back)
    return _framed(system, frame, positions, torch.zeros_like(positions))


def _refuse_jumps(simulator: Simulator) -> None:
    """Refuse pins that jump, since bodies are set down there without a derivative.

    Raises:
        SceneError: the pins of a body jump.
    """
    jump = simulator.set_down.first_jump
    if jump is not None:
        name, frame = jump
        raise SceneError(
            f"{name}: there are no gradients through the jump of its pins at frame {frame}; let "
            "them move over several frames."
        )


def _run_of(simulator: Simulator, integrator: Integrator, frames: int) -> ImplicitRun | ExplicitRun:
    stepper = simulator.stepper
    if isinstance(stepper, ImplicitStepper):
        return ImplicitRun(simulator.system, stepper)
    assert isinstance(integrator, ExplicitIntegrator) and isinstance(stepper, ExplicitStepper)
    return ExplicitRun(simulator.system, stepper, integrator, frames)


def _recorded(
    simulator: Simulator, run: ImplicitRun | ExplicitRun, frames: int
) -> list[tuple[Frame, State]]:
    """Frames and the states at their ends; the run keeps the data for the backward pass."""
    recorded, before = [], simulator.state
    for frame in simulator.run(frames):
        _refuse_unfolding(simulator.system, frame)
        run.record(before, simulator.state)
        before = simulator.state
        recorded.append((frame, before))
    return recorded


def _refuse_moved_start(simulator: Simulator, leaves: dict[str, Tensor]) -> None:
    """A body that begins in the ground is lifted out of it, and of another surface."""
    quantities = Derivation(simulator.system, leaves).quantities()
    lifted = not torch.allclose(
        quantities["positions"], simulator.state.positions, rtol=0, atol=1e-12
    )
    moving = ("initial_positions", "mesh.vertices", "ground.height")
    if lifted and any(place.endswith(moving) or "rest_shape" in place for place in leaves):
        raise SceneError(
            "A body starts inside the ground or another surface and is moved out. There are no "
            "gradients through that move. Start it above the ground and apart from others, by "
            "more than the contact distance."
        )


def _refuse_unfolding(system: System, frame: Frame) -> None:
    if frame.report.unfolding or frame.report.caught:
        raise InstabilityError(
            f"{system.names}: there are no gradients through frame {frame.index}, in which a "
            "folded body is unfolded."
        )


def _framed(system: System, frame: Frame, positions: Tensor, velocities: Tensor) -> Frame:
    slices = system.body_slices()
    return replace(
        frame,
        positions=[positions[:, where].T for where in slices],
        velocities=[velocities[:, where].T for where in slices],
    )


def _on_tape(
    system: System, leaves: dict[str, Tensor], outputs: list[Tensor], pull_back: PullBack
) -> tuple[Tensor, ...]:
    """The outputs, as functions of the leaves."""
    derive = partial(_gradients, system, tuple(leaves), pull_back)
    apply: Callable[..., tuple[Tensor, ...]] = _Run.apply
    return apply(derive, outputs, *leaves.values())


def _gradients(
    system: System,
    places: tuple[str, ...],
    pull_back: PullBack,
    leaves: tuple[Tensor, ...],
    upstream: list[Tensor],
) -> list[Tensor]:
    """Return the gradients by the leaves, from those by the outputs."""
    with torch.enable_grad():
        tensors = [leaf.detach().requires_grad_() for leaf in leaves]
        derived = Derivation(system, dict(zip(places, tensors, strict=True))).quantities()
        quantities = {
            name: part.detach().requires_grad_(part.requires_grad) for name, part in derived.items()
        }
        grads = pull_back(upstream, quantities)
        names = list(grads)
        if not names:
            return [torch.zeros_like(leaf) for leaf in leaves]
        parts = torch.autograd.grad(
            [derived[name] for name in names],
            tensors,
            [grads[name] for name in names],
            allow_unused=True,
        )
    pairs = zip(parts, leaves, strict=True)
    return [torch.zeros_like(leaf) if part is None else part for part, leaf in pairs]


class _Run(torch.autograd.Function):
    """The function from tensors to a simulation's outputs; its forward pass is the finished run."""

    @staticmethod
    def forward(ctx: Any, derive: Any, outputs: list[Tensor], *leaves: Tensor) -> Any:
        ctx.derive = derive
        ctx.save_for_backward(*leaves)
        return tuple(part.clone() for part in outputs)

    @staticmethod
    def backward(ctx: Any, *upstream: Tensor) -> Any:
        threads = torch.get_num_threads()
        # As in ``Simulator``: the work of torch is short.
        torch.set_num_threads(1)
        try:
            grads = ctx.derive(ctx.saved_tensors, [part.contiguous() for part in upstream])
        finally:
            torch.set_num_threads(threads)
        return None, None, *grads
