# SPDX-License-Identifier: GPL-3.0-or-later
"""The rest shape with which bodies keep the shape that they were modelled in."""

from __future__ import annotations

import math
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..errors import InstabilityError
from ..geometry.tet_mesh import TetMesh, signed_volumes
from ..math3.torch_matrices import matmul3, trace3
from ..minimizers.equilibrium import STICK_STEP_S
from ..minimizers.incremental_potential import IncrementalPotential
from ..potentials.elasticity import inversion_bound
from ..preparation.prepared import prepare
from ..scene.channel import Channel
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody, start_positions, tet_mesh_of
from ..simulator import Simulator
from ..system import System, fill
from .implicit_run import TransposedSolve, conjugate_residuals
from .observer import Observer
from .refusals import (
    refuse_contact,
    refuse_flow,
    refuse_for_rest_shape,
    refuse_scene,
    refuse_sliding,
)
from .tape import pulled_back


class RestShapeChange:
    """(3, N) dX, a change of the rest positions, to that of elastic forces and weight.

    With the shape gradients N of the rest shape and A = Σ dX_a ⊗ ∇N_a the forces Σ V P ∇N change by
    V (tr A P − P Aᵀ − (∂P/∂F : F A)) ∇N, and masses by tr A.

    Source: Govindjee and Mihalic, "Computational methods for inverse finite elastostatics",
    Computer Methods in Applied Mechanics and Engineering 136, 1996, has the problem that it is the
    tangent of, written in the deformed shape.

    Args:
        system: of the rest shape.
        positions: (3, N) where vertices are.
    """

    def __init__(self, system: System, positions: Tensor) -> None:
        self._system = system
        self._parts = []
        densities = [
            torch.as_tensor(np.broadcast_to(body.density * fill(mesh), len(mesh.tets)).copy())
            for body, mesh in zip(system.bodies, system.meshes, strict=True)
        ]
        for part in system.solved_elasticities:
            members = [system.vertex_offsets.index(first) for first, _ in part.tets.meshes]
            f = part.tets.deformation_gradients(positions).requires_grad_()
            with torch.enable_grad():
                stress = part.material.first_piola(f.permute(2, 0, 1)).permute(1, 2, 0)
            corners = part.tets.corners.long().reshape(-1)
            density = torch.cat([densities[k] for k in members])
            self._parts.append((part, f, stress, corners, density))

    def __call__(self, change: Tensor) -> Tensor:
        out = torch.zeros_like(change)
        gravity = self._system.gravity.acceleration
        for part, f, taped, corners, density in self._parts:
            tets = part.tets
            strain = tets.deformation_gradients(change)
            trace = trace3(strain)
            stretched = matmul3(f.detach(), strain)
            # The second derivative of the energy density is symmetric.
            (turned,) = torch.autograd.grad(taped, f, stretched, retain_graph=True)
            stress = taped.detach()
            total = trace * stress - matmul3(stress, strain.transpose(0, 1)) - turned
            out += part.parameters * pulled_back(tets, corners, total, change)
            quarters = density * tets.volumes * trace / 4.0
            masses = quarters.new_zeros(change.shape[1]).index_add(0, corners, quarters.repeat(4))
            out -= gravity[:, None] * masses
        return out


#: (N, 3) of the vertices of a body, in metres.
Positions = NDArray[np.float64]

# The shortest Newton step of the search, and the distance of an equilibrium that counts as the
# modelled shape, relative to the largest body's diagonal.
STEP_DIAGONALS, KEPT_DIAGONALS = 1e-5, 1e-3
LINEAR_TOLERANCE = 1e-3
MAX_ITERATIONS, MAX_GROWTH = 20, 4.0
# The first and the least increment of the load, relative to the whole load.
FIRST_LOAD_STEP, MIN_LOAD_STEP = 0.5, 1.0 / 256.0


@dataclass(frozen=True)
class SagFree:
    """The rest shapes with which a scene keeps its modelled shape.

    Args:
        scene: with tetrahedra whose rest shape is the one found, and which start where they were
            modelled.
        distance: the largest distance of a vertex from its modelled position at equilibrium, in
            metres.
        _settled: the simulator that came to rest there.
    """

    scene: Scene
    distance: float
    _settled: Simulator = field(repr=False)

    @cached_property
    def is_stable(self) -> bool:
        """Whether a body that is pushed comes back; very soft bodies may buckle in the end. The
        first call takes a factorization and a solve."""
        return _is_stable(self._settled.system, self._settled.state.positions)


def sag_free(scene: Scene, *, observe: Observer | None = None) -> SagFree:
    """Finds rest shapes whose equilibrium under gravity, pins, goals and a ground without friction
    is the start shape. Colliders and bodies may be near, as long as nothing touches there.

    Newton's method on the forces there, as a function of the rest shape, under a growing load. The
    rest shape of pinned vertices is their position.

    Args:
        observe: hears after each of its steps how far that moved the rest shape, and of how much of
            the load there is.

    Raises:
        SceneError: when there is no derivative through something of the scene, or surfaces touch.
        InstabilityError: when nothing holds a body, or bodies are too soft to keep the shape.
    """
    prepared = prepare(scene)[0]
    refuse_scene(prepared)
    refuse_sliding(prepared)
    refuse_flow(prepared)
    refuse_for_rest_shape(prepared)
    _refuse_unheld(prepared)
    starts = [start_positions(body) for body in prepared.bodies]
    _refuse_contact(prepared, starts)
    rests = before = starts
    load, last, load_step = 0.0, 1.0, FIRST_LOAD_STEP
    while load < 1.0:
        load_step = min(load_step, 1.0 - load)
        # As the last part of the load changed them, this one will.
        pairs = zip(rests, before, strict=True)
        guess = [rest + load_step / last * (rest - earlier) for rest, earlier in pairs]
        solved = _search(prepared, starts, guess, load + load_step, observe)
        if solved is None and rests is not before:
            solved = _search(prepared, starts, rests, load + load_step, observe)
        if solved is None:
            load_step *= 0.5
            if load_step < MIN_LOAD_STEP:
                raise InstabilityError(_too_soft(prepared))
            continue
        before, rests = rests, solved
        load, last, load_step = load + load_step, load_step, 2.0 * load_step
    return _checked(_with_rest_shapes(prepared, starts, rests), starts)


def _refuse_unheld(scene: Scene) -> None:
    """Forces and a ground may carry a body, and joints may hold one body by another."""
    if scene.ground is not None or scene.forces or scene.attaches_bodies:
        return
    free = [body.name for body in scene.bodies if not _has_pins_or_goals(body)]
    if free:
        raise InstabilityError(
            f"{', '.join(free)}: nothing holds it in place, whatever its rest shape is. Pin some "
            "of its vertices, give them goals, or attach it to a collider."
        )


def _has_pins_or_goals(body: SoftBody) -> bool:
    skin_goals = None if body.skin is None else body.skin.goals
    has_pins = body.pinned is not None and len(body.pinned) > 0
    return has_pins or body.goals is not None or skin_goals is not None


def _refuse_contact(scene: Scene, starts: list[Positions]) -> None:
    if scene.contact is None:
        return
    system = System(scene, torch.device("cpu"), torch.float64)
    positions = torch.as_tensor(np.concatenate(starts).T.copy())
    refuse_contact(scene, IncrementalPotential(system).contact, positions)


def _search(
    scene: Scene,
    starts: list[Positions],
    rests: list[Positions],
    load: float,
    observe: Observer | None,
) -> list[Positions] | None:
    """The rest positions of each body under a share of gravity; None where none are found."""
    if any(
        signed_volumes(rest, tet_mesh_of(body).tets).min() <= 0.0
        for rest, body in zip(rests, scene.bodies, strict=True)
    ):
        return None
    try:
        problem, before = _Problem(scene, starts, rests, load), math.inf
        for _ in range(MAX_ITERATIONS):
            step = problem.newton_step()
            if step is None:
                return None
            # Forces may grow at first, where a thin part turns, but steps become shorter.
            problem, length = problem.moved(step), float(step.abs().max())
            if observe is not None:
                observe(length, load)
            if length <= STEP_DIAGONALS * problem.system.size:
                return problem.rests
            if length > MAX_GROWTH * before:
                return None
            before = length
    except InstabilityError:
        return None
    return None


class _Problem:
    """Forces at the start positions, for one rest shape."""

    def __init__(
        self, scene: Scene, starts: list[Positions], rests: list[Positions], load: float
    ) -> None:
        self._scene, self._starts, self.rests, self._load = scene, starts, rests, load
        loaded = copy(_with_rest_shapes(scene, starts, rests))
        loaded.gravity = Channel.of(scene.gravity, "Gravity", 3).mapped(lambda g: load * g)
        self.system = System(loaded, torch.device("cpu"), torch.float64)
        self._objective = IncrementalPotential(self.system, with_contact=False)
        self._positions = torch.as_tensor(np.concatenate(starts).T.copy())
        self._objective.begin_static_step(self._positions, 1e9 * STICK_STEP_S, STICK_STEP_S)
        self._forces = self._objective.gradient(self._positions)

    def newton_step(self) -> Tensor | None:
        """(3, N) change of the rest positions that takes the forces away."""
        objective, solve = self._objective, TransposedSolve(self._objective)
        change = RestShapeChange(self.system, self._positions)
        # The start shape need not be an equilibrium on the way to one.
        solve.prepare(self._positions, projected=True)

        def image(vector: Tensor) -> Tensor:
            return -objective.unknowns(change(objective.vectors(vector)))

        rhs = objective.unknowns(self._forces)
        if not bool(rhs.any()):
            return torch.zeros_like(self._positions)
        solution = conjugate_residuals(
            image, solve.about("it"), rhs, solve.scale(), LINEAR_TOLERANCE
        )
        return None if solution is None else objective.vectors(solution)

    def moved(self, step: Tensor) -> _Problem:
        """The problem after a step, or as much of it as turns no tet."""
        rest = self.system.rest_positions()
        tets = [part.tets for part in self.system.elasticities]
        size = min(inversion_bound(each.edges(rest), each.edges(step)) for each in tets)
        moved = (rest + size * step).T.numpy()
        rests = [moved[where].copy() for where in self.system.body_slices()]
        return _Problem(self._scene, self._starts, rests, self._load)


def _with_rest_shapes(scene: Scene, starts: list[Positions], rests: list[Positions]) -> Scene:
    bodies = [
        _with_rest_shape(body, start, rest)
        for body, start, rest in zip(scene.bodies, starts, rests, strict=True)
    ]
    reshaped = copy(scene)
    reshaped.bodies = bodies
    return reshaped


def _with_rest_shape(body: SoftBody, start: Positions, rest: Positions) -> SoftBody:
    mesh: TetMesh = tet_mesh_of(body).with_vertices(rest)
    skin = body.skin
    if skin is not None and skin.embedding is not None:
        skin = replace(skin, points=skin.embedding.interpolate(rest))
    return replace(body, mesh=mesh, initial_positions=start, skin=skin)


def _checked(scene: Scene, starts: list[Positions]) -> SagFree:
    """The scene, once its equilibrium is found to be near the start."""
    simulator = Simulator(scene, device="cpu", is_prepared=True)
    frame = simulator.settle()
    distances = [
        float(torch.linalg.vector_norm(settled - torch.as_tensor(start), dim=1).max())
        for settled, start in zip(frame.positions, starts, strict=True)
    ]
    if max(distances) > KEPT_DIAGONALS * simulator.system.size:
        raise InstabilityError(_too_soft(scene))
    return SagFree(scene, max(distances), simulator)


def _is_stable(system: System, positions: Tensor) -> bool:
    """Whether an equilibrium at (3, N) positions is a minimum, not about to buckle."""
    objective = IncrementalPotential(system, with_contact=False)
    objective.begin_static_step(positions, 1e9 * STICK_STEP_S, STICK_STEP_S)
    solve, random = TransposedSolve(objective), torch.Generator().manual_seed(0)
    solve.prepare(positions)
    push = torch.randn(positions.shape, generator=random, dtype=positions.dtype)
    try:
        solve.solve(push * system.free)
    except InstabilityError:
        return False
    return True


def _too_soft(scene: Scene) -> str:
    names = ", ".join(body.name for body in scene.bodies)
    return (
        f"{names}: too soft to keep this shape under its weight, whatever its rest shape is. Raise "
        "the stiffness (Young's modulus), or pin more."
    )
