# SPDX-License-Identifier: GPL-3.0-or-later
"""Two elastic balls pressed together, beside Hertz; and whether the mesh has a say in the force."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from supple.core import Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import ImplicitEuler
from supple.core.materials import Linear
from supple.core.potentials.contact.mesh_contact import MeshContact
from supple.core.scene.channel import Channel
from supple.core.scene.contact_settings import Contact, Formulation

from ..check import Check, Curve, Panel, Subject, at_most, within
from ..hertz_ball import Ball
from ..meshes import graded_ball

RADIUS, YOUNG, POISSON = 0.1, 1e6, 0.3
# How far the caps are moved towards each other; contact radii are up to a fiftieth of the balls'.
DEPTHS = (2e-5, 4e-5, 8e-5)
DISTANCE = 1e-6
GRADING, SHELLS = 32.0, (8, 12, 16, 20)
# The same shells twice as fine where they touch.
COARSER, COMPARED = 16.0, 12
# Turned, or the edges of one would lie on those of the other.
TURN = 0.4
# A step of a second is a thousand swings of the balls: inertia is far below the forces.
SECONDS, SOLVED = 1.0, 1e-9
# For the force of the formulations themselves, on shapes that are held.
RIGID_DISTANCE, RIGID_GAP = 1e-4, 0.4
FORMULATIONS: tuple[Formulation, ...] = ("convergent", "original")


class Pressing(NamedTuple):
    """Approaches in metres and forces in newtons, one a depth."""

    approach: NDArray[np.float64]
    force: NDArray[np.float64]
    unsolved: int

    @property
    def shares(self) -> NDArray[np.float64]:
        """The forces over Hertz's at the same approaches."""
        return self.force / _hertz(self.approach)


# The same balls on coarser and on finer tets.
Pair = tuple[Pressing, Pressing]


def run() -> Subject:
    pressings = [_press(shells, GRADING, "convergent") for shells in SHELLS]
    original = _press(COMPARED, GRADING, "original")
    compared = {
        "convergent": (_press(COMPARED, COARSER, "convergent"), pressings[SHELLS.index(COMPARED)]),
        "original": (_press(COMPARED, COARSER, "original"), original),
    }
    return Subject(
        title="Two balls pressed together",
        text=f"Two equal balls (radius {RADIUS} m, E = {YOUNG:g} Pa, ν = {POISSON}, linear "
        "elasticity) are moved towards each other by their far halves, in steps of a second. "
        f"Their surfaces push each other within {1e6 * DISTANCE:g} µm. The force is the pins'. "
        "The approach is that of the centres of mass, less the gap at the start and with the gap "
        "that is left at the poles. It is the depth by which the balls would overlap if they kept "
        "their "
        "shape, and "
        f"touched. One is turned by {TURN:g} about the axis, so that no edges face each other.",
        source="Hertz, “Über die Berührung fester elastischer Körper”, 1882: "
        "F = 4/3 E* √(R/2) δ^(3/2), with E* = E / 2(1 − ν²).",
        checks=_checks(pressings, compared),
        panels=_panels(pressings, compared),
        note=_note(pressings, compared),
    )


def _checks(pressings: Sequence[Pressing], compared: dict[str, Pair]) -> list[Check]:
    finest, depths = pressings[-1], (f"{1e6 * depth:g} µm" for depth in DEPTHS)
    checks = [
        within(f"force at {depth}, finest mesh, over Hertz's", share, 1.0, 0.05)
        for depth, share in zip(depths, finest.shares, strict=True)
    ]
    checks += [
        at_most(
            f"its distance from Hertz's at {1e6 * DEPTHS[-1]:g} µm: {fine} shells over {coarse}",
            abs(after.shares[-1] - 1.0) / abs(before.shares[-1] - 1.0),
            1.0,
        )
        for coarse, fine, before, after in zip(
            SHELLS, SHELLS[1:], pressings, pressings[1:], strict=False
        )
    ]
    return checks + [
        within(
            f"{kind}: force on tets half as large at the contact, over that on the others",
            _ratio(pair),
            1.0,
            0.03,
            from_solver=True,
            reason="forces must not depend on the mesh; what they are is held against Hertz",
        )
        for kind, pair in compared.items()
    ]


def _ratio(pair: Pair) -> float:
    """Return the ratio of the forces at the same approach, the largest at which both are
    resolved.
    """
    coarse, fine = pair
    # Forces over Hertz's hardly change with the approach, which the two miss by a little.
    return float(fine.shares[-1] / coarse.shares[-1])


def _note(pressings: Sequence[Pressing], compared: dict[str, Pair]) -> str:
    every = [*pressings, compared["convergent"][0], *compared["original"]]
    unsolved, steps = sum(pressing.unsolved for pressing in every), len(every) * len(DEPTHS)
    grows = (
        f"{_rigid(COMPARED, kind) / _rigid(COMPARED // 2, kind):.2f} in the {kind} one"
        for kind in FORMULATIONS
    )
    return (
        "Hertz takes the balls for half-spaces. A whole ball under its weight "
        f"(`verification/hertz_ball.py`) would push harder by {_beyond_half_space():.1%} at "
        f"{1e6 * DEPTHS[-1]:g} µm; the rest is due to the mesh and to halves "
        "which do not give way. That elastic balls hardly know the formulation is their own doing, "
        "since their gap gives way. "
        f"Rigid halves are held with {RIGID_GAP:g} of a contact distance of "
        f"{1e6 * RIGID_DISTANCE:g} µm between them. There tets half as large make the force "
        f"{' and '.join(grows)} times as large. Of the {steps} steps above, {unsolved} ended "
        f"where rounding hides the descent before they came within {SOLVED:g} m/s."
    )


def _rigid(shells: int, kind: Formulation) -> float:
    """Force in newtons on balls in their rest shape."""
    bodies = _balls(shells, GRADING)
    away = 0.5 * (RIGID_GAP * RIGID_DISTANCE - DISTANCE) * np.array([0.0, 0.0, 1.0])
    places = [
        _tets(body).vertices + side * away for body, side in zip(bodies, (1.0, -1.0), strict=True)
    ]
    contact = Contact(
        distance=RIGID_DISTANCE, friction=0.0, formulation=kind, stiffness=1e5, self_contact=False
    )
    scene = Scene(bodies, gravity=(0.0, 0.0, 0.0), contact=contact)
    touching = MeshContact(scene, [_tets(body) for body in bodies], 1.0)
    positions = torch.as_tensor(np.concatenate(places).T.copy())
    touching.build_static_candidates(positions)
    gradient = torch.zeros_like(positions)
    touching.add_gradient(positions, gradient)
    return -float(gradient[2, : len(places[0])].sum())


def _tets(body: SoftBody) -> TetMesh:
    assert isinstance(body.mesh, TetMesh)
    return body.mesh


def _hertz(approach: NDArray[np.float64]) -> NDArray[np.float64]:
    modulus = YOUNG / (2.0 * (1.0 - POISSON**2))
    force: NDArray[np.float64] = 4.0 / 3.0 * modulus * math.sqrt(0.5 * RADIUS) * approach**1.5
    return force


def _beyond_half_space() -> float:
    """Return by which fraction a whole ball pushes harder at the largest approach."""
    ball = Ball(RADIUS, YOUNG, POISSON, float(_hertz(np.array(DEPTHS[-1]))))
    return float((ball.half_space_approach / ball.approach()) ** 1.5 - 1.0)


def _press(shells: int, grading: float, kind: Formulation) -> Pressing:
    bodies = _balls(shells, grading)
    contact = Contact(distance=DISTANCE, friction=0.0, formulation=kind, self_contact=False)
    scene = Scene(bodies, gravity=(0.0, 0.0, 0.0), contact=contact)
    simulator = Simulator(
        scene, ImplicitEuler(SOLVED), frame_time=SECONDS, substeps=1, device="cpu"
    )
    start = simulator.frame().positions[0].numpy()[:, 2]
    pole, mass = start.argmin(), simulator.system.mass.numpy()[: len(start)]
    approaches, forces, unsolved = [], [], 0
    for frame in simulator.run(len(DEPTHS)):
        # The other ball's vertices are the mirror images of these.
        upper, lower = (positions.numpy()[:, 2] for positions in frame.positions)
        sunk = mass @ ((start - upper) + (lower + start)) / mass.sum()
        gap = upper[pole] - lower[pole]
        approaches.append(sunk - DISTANCE + gap)
        forces.append(_force(simulator, len(start)))
        unsolved += not frame.report.solver_statistics.converged
    return Pressing(np.array(approaches), np.array(forces), unsolved)


def _force(simulator: Simulator, count: int) -> float:
    """On the pins of the upper ball, the first ``count`` vertices."""
    system, gradient = simulator.system, torch.zeros_like(simulator.state.positions)
    for potential in system.potentials:
        potential.add_gradient(simulator.state.positions, gradient)
    return -float(gradient[2, :count][~system.free[:count]].sum())


def _balls(shells: int, grading: float) -> list[SoftBody]:
    """Mirror images, but for a turn about the axis; their poles are a contact distance apart."""
    ball = graded_ball(RADIUS, shells, grading)
    above = ball.vertices + np.array([0.0, 0.0, RADIUS + 0.5 * DISTANCE])
    cosine, sine = math.cos(TURN), math.sin(TURN)
    turned = above @ np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, -1.0]])
    meshes = ball.with_vertices(above), TetMesh(turned, ball.tets[:, [0, 2, 1, 3]])
    pinned = np.flatnonzero(above[:, 2] > RADIUS).astype(np.int32)
    ways = np.array([0.0, *DEPTHS])[:, None, None] * [0.0, 0.0, 1.0]
    return [
        SoftBody(
            mesh,
            Linear(YOUNG, POISSON),
            pinned=pinned,
            pin_path=Channel(mesh.vertices[pinned] - 0.5 * side * ways),
            name=name,
        )
        for mesh, side, name in zip(meshes, (1.0, -1.0), ("upper", "lower"), strict=True)
    ]


def _panels(pressings: Sequence[Pressing], compared: dict[str, Pair]) -> list[Panel]:
    finest = pressings[-1]
    approach = np.linspace(0.0, finest.approach[-1], 80)
    size = 1e3 * RADIUS / (GRADING * np.array(SHELLS))
    shares = [pressing.shares[-1] for pressing in pressings]
    original = compared["original"][1].shares[-1]
    return [
        Panel(
            "",
            "approach (µm)",
            "force (N)",
            [
                Curve("finest mesh", 1e6 * finest.approach, finest.force, "convergent", "dots"),
                Curve("Hertz", 1e6 * approach, _hertz(approach), "Hertz", "dashes"),
            ],
        ),
        Panel(
            f"at {1e6 * DEPTHS[-1]:g} µm",
            "size of the tets at the pole (mm)",
            "force over Hertz's",
            [
                Curve("convergent", size, shares, "convergent", "dotted line"),
                Curve("original", [size[SHELLS.index(COMPARED)]], [original], "original", "dots"),
                Curve("", [0.0, size[0]], [1.0, 1.0], "Hertz", "dashes"),
            ],
        ),
    ]
