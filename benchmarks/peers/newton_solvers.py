# SPDX-License-Identifier: GPL-3.0-or-later
"""Newton, on Warp: vertex block descent, and symplectic Euler, on the CPU.

The set-up is that of its soft-body examples: ten sweeps of descent a step, contacts found anew in
each, a step recorded once and played back.
"""

from __future__ import annotations

from typing import Any

import newton
import warp as wp

from ..drop import DENSITY, FRAME_RATE, GRAVITY, Drop, Positions

# Contacts are found where a step begins: no body falls faster.
TOP_SPEED = 5.0


class _Newton:
    def __init__(self, drop: Drop, moduli: tuple[float, float]) -> None:
        self.work: dict[str, int] = {}
        mu, first_lame_parameter = moduli
        stiffness = drop.contact_stiffness
        builder = newton.ModelBuilder(gravity=(0.0, 0.0, -GRAVITY))
        builder.add_ground_plane(
            cfg=newton.ModelBuilder.ShapeConfig(ke=stiffness, kd=0.0, kf=0.0, mu=0.0)
        )
        builder.add_soft_mesh(
            pos=(0.0, 0.0, 0.0),
            rot=wp.quat_identity(),
            scale=1.0,
            vel=(0.0, 0.0, 0.0),
            vertices=drop.mesh.vertices.tolist(),
            indices=drop.mesh.tets.ravel().tolist(),
            density=DENSITY,
            k_mu=mu,
            k_lambda=first_lame_parameter,
            k_damp=0.0,
            particle_radius=0.0,
        )
        builder.color()
        self._model = builder.finalize(device="cpu")
        self._model.soft_contact_ke = stiffness
        self._model.soft_contact_kd = 0.0
        self._model.soft_contact_kf = 0.0
        self._model.soft_contact_mu = 0.0
        self._model.particle_grid = None
        self._solver: Any = None

    def start(self, steps: int) -> None:
        self._steps = steps
        step_time = 1.0 / (FRAME_RATE * steps)
        self._state = before = self._model.state()
        after, control = self._model.state(), self._model.control()
        collisions = newton.CollisionPipeline(
            self._model, soft_contact_gap=max(0.01, TOP_SPEED * step_time)
        )
        contacts = collisions.contacts()
        with wp.ScopedCapture(device="cpu") as capture:
            before.clear_forces()
            collisions.collide(before, contacts)
            self._solver.step(before, after, control, contacts, step_time)
            before.assign(after)
        self._step = capture.graph

    def frame(self) -> Positions:
        for _ in range(self._steps):
            wp.capture_launch(self._step)
        return self._state.particle_q.numpy().astype(float)


class VertexBlockDescent(_Newton):
    def __init__(self, drop: Drop) -> None:
        super().__init__(drop, (drop.shear_modulus, drop.first_lame_parameter))
        self._solver = newton.solvers.SolverVBD(self._model, particle_enable_self_contact=False)


class SemiImplicit(_Newton):
    def __init__(self, drop: Drop) -> None:
        super().__init__(drop, drop.stable_neo_hookean)
        self._solver = newton.solvers.SolverSemiImplicit(self._model, enable_tri_contact=False)
