# SPDX-License-Identifier: GPL-3.0-or-later
"""A ball on the ground, beside Hertz."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.core import Ground, Scene, Simulator, SoftBody
from supple.core.materials import Linear

from ..check import Check, Curve, Panel, Subject, within
from ..hertz_ball import Ball
from ..meshes import graded_ball

BALL = Ball(radius=0.1, young=1e6, poisson=0.3, force=10.0)
GRAVITY = 9.81
# Where the ground begins to act: far below the approach of 0.8 mm.
DISTANCE = 2e-6
SHELLS, GRADING = (8, 12, 16, 24), 8.0
# The mean of r² under Hertz's pressure is 2/5 a².
SPREAD = 2.5


class Contact(NamedTuple):
    """Contact radius and approach in metres; radii and pressures over Hertz's largest."""

    size: float
    radius: float
    approach: float
    where: NDArray[np.float64]
    pressure: NDArray[np.float64]


def run() -> Subject:
    contacts = [_settled(shells) for shells in SHELLS]
    finest, coarser = contacts[-1], contacts[-2]
    ratio = (SHELLS[-1] / SHELLS[-2]) ** 2
    limit = finest.approach + (finest.approach - coarser.approach) / (ratio - 1.0)
    whole = BALL.approach()
    return Subject(
        title="Hertzian contact",
        text=f"A ball of radius {BALL.radius} m (E = {BALL.young:g} Pa, ν = {BALL.poisson}, linear "
        f"elasticity) rests on the ground with its weight of {BALL.force:g} N. Its tets shrink "
        f"towards the pole that touches, to {1e3 * finest.size:.1f} mm on the finest of "
        f"{len(SHELLS)} meshes. The contact radius a follows from the contact forces, whose mean "
        "of r² is 2a²/5 in Hertz's pressure. The approach is that of the centre of mass to the "
        "middle of the contact.",
        source="Hertz, “Über die Berührung fester elastischer Körper”, 1882: a³ = 3FR/4E*, "
        "approach a²/R. For the whole ball (`verification/hertz_ball.py`), Hertz's pressure in "
        "Legendre polynomials, each with its solution in the ball (Lurie, “Three-Dimensional "
        "Problems of the Theory of Elasticity”, 1964).",
        checks=_checks(contacts, limit, whole),
        panels=_panels(contacts, whole),
        note="Hertz takes the ball for a half-space. At a/R = 0.09 the whole ball gives way by "
        f"{1.0 - whole / BALL.half_space_approach:.1%} less under the same pressure: that, not "
        "Hertz's 0.775 mm, is what finer meshes lead to.",
    )


def _settled(shells: int) -> Contact:
    ball = graded_ball(BALL.radius, shells, GRADING)
    mesh = ball.with_vertices(ball.vertices + np.array([0.0, 0.0, BALL.radius + DISTANCE]))
    density = BALL.force / (GRAVITY * mesh.rest_volumes.sum())
    body = SoftBody(mesh, Linear(BALL.young, BALL.poisson), density)
    ground = Ground(friction=0.0, distance=DISTANCE)
    scene = Scene([body], ground=ground, gravity=(0.0, 0.0, -GRAVITY))
    simulator = Simulator(scene, device="cpu")
    sunk = simulator.settle().positions[0].numpy()[:, 2] - mesh.vertices[:, 2]
    barrier = simulator.system.ground_barrier
    assert barrier is not None
    forces = barrier.normal_force(simulator.state.positions).numpy()
    touching = barrier.vertices.numpy()
    radii = np.linalg.norm(mesh.vertices[touching, :2], axis=1)
    pole, mass = mesh.vertices[:, 2].argmin(), simulator.system.mass.numpy()
    at = forces > 0.0
    peak = 1.5 * BALL.force / (np.pi * BALL.contact_radius**2)
    return Contact(
        BALL.radius / (shells * GRADING),
        float(np.sqrt(SPREAD * (forces * radii**2).sum() / forces.sum())),
        float(sunk[pole] - (mass * sunk).sum() / mass.sum()),
        radii[at] / BALL.contact_radius,
        forces[at] / mesh.surface_areas[touching[at]] / peak,
    )


def _checks(contacts: list[Contact], limit: float, whole: float) -> list[Check]:
    finest, hertz = contacts[-1], BALL.half_space_approach

    def in_millimetres(
        claim: str, measured: float, reference: float, share: float, reason: str = ""
    ) -> Check:
        return within(claim, 1e3 * measured, 1e3 * reference, share, "mm", reason=reason)

    return [
        in_millimetres("contact radius, finest mesh", finest.radius, BALL.contact_radius, 0.01),
        in_millimetres("approach, finest mesh, the whole ball's", finest.approach, whole, 0.015),
        in_millimetres("approach, limit of the finest two, the whole ball's", limit, whole, 0.005),
        in_millimetres(
            "approach, finest mesh, Hertz's",
            finest.approach,
            hertz,
            0.07,
            "Hertz's half-space gives way by more than a whole ball, which stands above",
        ),
    ]


def _panels(contacts: list[Contact], whole: float) -> list[Panel]:
    size = np.array([contact.size for contact in contacts])
    radius = np.array([contact.radius for contact in contacts]) / BALL.contact_radius
    approach = np.array([contact.approach for contact in contacts]) / BALL.half_space_approach
    ends = [0.0, 1e3 * size[0]]
    near_one = np.linspace(0.0, 1.0, 100)
    finest = contacts[-1]
    return [
        Panel(
            "",
            "size of the tets at the pole (mm)",
            "over Hertz's",
            [
                Curve("contact radius", 1e3 * size, radius, "radius", "dotted line"),
                Curve("approach", 1e3 * size, approach, "approach", "dotted line"),
                Curve("Hertz", ends, [1.0, 1.0], "radius", "dashes"),
                Curve(
                    "approach of the whole ball",
                    ends,
                    [whole / BALL.half_space_approach] * 2,
                    "approach",
                    "dashes",
                ),
            ],
        ),
        Panel(
            "pressure, finest mesh",
            "r / a",
            "p / Hertz's largest",
            [
                Curve("Hertz's pressure", near_one, np.sqrt(1.0 - near_one**2), "radius", "dashes"),
                Curve("at the vertices", finest.where, finest.pressure, "pressure", "dots"),
            ],
        ),
    ]
