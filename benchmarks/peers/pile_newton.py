# SPDX-License-Identifier: GPL-3.0-or-later
"""The pile in Newton's vertex block descent, with all that it has against penetration.

Surfaces touch by vertices, edges and faces, the bowl is a mesh, and ways are cut (divide and
truncate) both between the bodies and to the bowl, as in its example of a trampoline.
"""

from __future__ import annotations

from typing import Any

import newton
import warp as wp

from ..pile import DENSITY, FRAME_RATE, FRICTION, GRAVITY, Pile, Positions

# Contacts are found where a step begins: no body falls faster.
TOP_SPEED = 6.0
MARGIN = 2e-3
VERTEX_CONTACTS, EDGE_CONTACTS, BOWL_CONTACTS = 64, 128, 16384


class NewtonPile:
    def __init__(self, pile: Pile, steps: int) -> None:
        self._shape, self._steps = pile.starts.shape, steps
        self._model = _model(pile)
        self._step = _step(self._model, 1.0 / (FRAME_RATE * steps))

    def frame(self) -> Positions:
        for _ in range(self._steps):
            state = self._step()
        return state.particle_q.numpy().astype(float).reshape(self._shape)


def _model(pile: Pile) -> newton.Model:
    mu, first_lame_parameter = pile.lame_parameters
    stiffness = pile.contact_stiffness
    builder = newton.ModelBuilder(gravity=(0.0, 0.0, -GRAVITY))
    builder.add_shape_mesh(
        body=-1,
        mesh=newton.Mesh(pile.bowl.at(0), pile.bowl.triangles.ravel()),
        cfg=newton.ModelBuilder.ShapeConfig(ke=stiffness, kd=0.0, kf=0.0, mu=FRICTION),
    )
    for mesh in pile.meshes:
        builder.add_soft_mesh(
            pos=(0.0, 0.0, 0.0),
            rot=wp.quat_identity(),
            scale=1.0,
            vel=(0.0, 0.0, 0.0),
            vertices=mesh.vertices.tolist(),
            indices=mesh.tets.ravel().tolist(),
            density=DENSITY,
            k_mu=mu,
            k_lambda=first_lame_parameter,
            k_damp=0.0,
            particle_radius=MARGIN,
        )
    builder.color()
    model = builder.finalize(device="cpu")
    model.soft_contact_ke = stiffness
    model.soft_contact_kd = 0.0
    model.soft_contact_mu = FRICTION
    model.particle_grid = None
    return model


def _step(model: newton.Model, step_time: float) -> Any:
    # Ways are cut to 0.425 of what is looked for, twice a step; looking farther takes ever longer.
    reach = 1.2 * TOP_SPEED * step_time
    collisions = newton.CollisionPipeline(
        model, soft_contact_gap=reach, enable_rigid_soft_full_surface_contact=True
    )
    solver = newton.solvers.SolverVBD(
        model,
        rigid_soft_enable_dat=True,
        particle_enable_self_contact=True,
        particle_self_contact_margin=MARGIN,
        particle_self_contact_gap=reach,
        particle_vertex_contact_buffer_size=VERTEX_CONTACTS,
        particle_edge_contact_buffer_size=EDGE_CONTACTS,
        particle_rest_shape_contact_exclusion_radius=2.0 * MARGIN,
        particle_topological_contact_filter_threshold=1,
        rigid_body_particle_contact_buffer_size=BOWL_CONTACTS,
        collision_pipeline=collisions,
    )
    before = model.state()
    after, control = model.state(), model.control()

    def step() -> newton.State:
        before.clear_forces()
        solver.step(before, after, control, None, step_time)
        before.assign(after)
        return before

    return step
