# SPDX-License-Identifier: GPL-3.0-or-later
"""Two free bodies that run into each other: contact and friction are internal forces."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from supple.core import Scene, Simulator, SoftBody
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.core.scene.contact_settings import Contact, Formulation

from ..check import Check, Curve, Panel, Subject, at_least, at_most
from ..meshes import block, graded_ball

FRAMES, FRICTION, ROUGHER = 10, 0.3, 0.5
# In m/s.
SOLVED, TOLERANCES = 1e-8, (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
KEPT = 1e-8
# Of the angular momentum, where steps a frame grow.
SUBSTEPS, SLOPE = (16, 32), 0.7
FORMULATIONS: tuple[Formulation, ...] = ("convergent", "original")
Vectors = NDArray[np.float64]


@dataclass
class Course:
    """The record of a collision.

    Args:
        momenta: (T, 3) of both bodies, in kg m/s.
        first: (T, 3) of the first body.
        size: Σ |m v| over all vertices at the start.
        spins: (T, 3) angular momenta about the origin.
        unsolved: frames that did not converge.
    """

    momenta: Vectors
    first: Vectors
    size: float
    spins: Vectors
    unsolved: int

    @property
    def lost(self) -> float:
        """The largest change of momentum, as a share of ``size``."""
        return float(np.linalg.norm(self.momenta - self.momenta[0], axis=1).max() / self.size)

    @property
    def exchanged(self) -> float:
        """The momentum that went from one to the other, as a share of ``size``."""
        return float(np.linalg.norm(self.first[-1] - self.first[0]) / self.size)

    @property
    def spin_lost(self) -> float:
        """The change of angular momentum, as a share."""
        start = self.spins[0]
        return float(np.linalg.norm(self.spins[-1] - start) / np.linalg.norm(start))


def run() -> Subject:
    plain = {kind: _collide(kind, 0.0) for kind in FORMULATIONS}
    rough = {kind: _collide(kind, FRICTION) for kind in FORMULATIONS}
    lost = [_collide("convergent", 0.0, tolerance).lost for tolerance in TOLERANCES]
    checks: list[Check] = []
    for kind in FORMULATIONS:
        for words, course in (("no friction", plain[kind]), (f"μ = {FRICTION}", rough[kind])):
            name = f"{kind}, {words}"
            checks += [
                at_least(
                    f"{name}: momentum exchanged, share",
                    course.exchanged,
                    0.1,
                    from_solver=True,
                    reason="bodies that miss each other show nothing",
                ),
                at_most(f"{name}: change of momentum, share", course.lost, KEPT),
            ]
    coarse, fine = (_collide("convergent", 0.0, substeps=count).spin_lost for count in SUBSTEPS)
    checks.append(
        at_least(
            f"change of angular momentum, power of the step (share {coarse:.1e} at "
            f"{SUBSTEPS[0]} steps a frame)",
            float(np.log2(coarse / fine)),
            SLOPE,
        )
    )
    return Subject(
        title="Momentum of bodies that collide",
        text="A ball and a cube meet off their centres at 3 m/s, in free space. The contact and "
        "friction forces between them are equal and opposite, so their total momentum must stay "
        "the same. "
        "Shares are of the sum of |m v| over all vertices. Implicit Euler, solved to "
        f"{SOLVED:g} m/s; what is left of the forces is all that changes the momentum. The angular "
        "momentum is lost to implicit Euler as a free body's is, with the first power of the step. "
        f"Here it must be at least the power {SLOPE:g}, for where and when bodies touch changes "
        "with it too.",
        source="Conservation of momentum.",
        checks=checks,
        panels=_panels(plain, rough, lost),
        note=_note(plain, rough, lost),
    )


def _note(
    plain: dict[Formulation, Course], rough: dict[Formulation, Course], lost: list[float]
) -> str:
    enough = max(t for t, share in zip(TOLERANCES, lost, strict=True) if share <= KEPT)
    unsolved = sum(course.unsolved for course in (*plain.values(), *rough.values()))
    frames = FRAMES * (len(plain) + len(rough))
    rougher = _collide("convergent", ROUGHER)
    return (
        f"At the usual tolerance of {TOLERANCES[0]:g} m/s the share is {lost[0]:.1e}; {KEPT:g} "
        f"takes {enough:g} m/s. Of {frames} frames, {unsolved} did not converge. At "
        f"μ = {ROUGHER}, {rougher.unsolved} of {FRAMES} do not, and the share is "
        f"{rougher.lost:.1e} (convergent)."
    )


def _collide(
    kind: Formulation,
    friction: float,
    tolerance: float = SOLVED,
    substeps: int | None = None,
) -> Course:
    simulator = Simulator(
        _scene(kind, friction), ImplicitEuler(tolerance), substeps=substeps, device="cpu"
    )
    first = len(simulator.frame().positions[0])
    states = [_momenta(simulator)]
    unsolved = 0
    for frame in simulator.run(FRAMES):
        states.append(_momenta(simulator))
        unsolved += not frame.report.solver_statistics.converged
    momenta, places = (np.array(values) for values in zip(*states, strict=True))
    return Course(
        momenta.sum(axis=1),
        momenta[:, :first].sum(axis=1),
        float(np.linalg.norm(momenta[0], axis=1).sum()),
        np.cross(places, momenta).sum(axis=1),
        unsolved,
    )


def _momenta(simulator: Simulator) -> tuple[Vectors, Vectors]:
    """(N, 3) momenta and places of the vertices."""
    state = simulator.state
    momenta = (simulator.system.mass * state.velocities).numpy().T
    return momenta, state.positions.numpy().T


def _scene(kind: Formulation, friction: float) -> Scene:
    ball = SoftBody(
        graded_ball(0.1, 4, 1.0), StableNeoHookean(1e5, 0.3), velocity=(2.0, 0.0, 0.0), name="ball"
    )
    cosine, sine = np.cos(0.3), np.sin(0.3)
    turn = np.array([[cosine, sine, 0.0], [-sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    mesh = block((3, 3, 3), (0.2, 0.2, 0.2), (-0.1, -0.1, -0.1))
    cube = SoftBody(
        mesh.with_vertices(mesh.vertices @ turn + np.array([0.3, 0.03, 0.02])),
        StableNeoHookean(5e4, 0.4),
        velocity=(-1.0, 0.5, 0.0),
        name="cube",
    )
    contact = Contact(friction=friction, formulation=kind)
    return Scene([ball, cube], gravity=(0.0, 0.0, 0.0), contact=contact)


def _panels(
    plain: dict[Formulation, Course], rough: dict[Formulation, Course], lost: list[float]
) -> list[Panel]:
    time = np.arange(1 + FRAMES) / 24.0
    curves = []
    for words, courses in (("no friction", plain), (f"μ = {FRICTION}", rough)):
        course = courses["convergent"]
        curves += [
            Curve(f"ball, {words}", time, course.first[:, 0], words),
            Curve(f"both, {words}", time, course.momenta[:, 0], words, "dashes"),
        ]
    tolerance = Curve("change of momentum", TOLERANCES, lost, "change", "dotted line")
    return [
        Panel("", "time (s)", "momentum along x (kg m/s)", curves),
        Panel("no friction", "tolerance (m/s)", "share", [tolerance], "xy"),
    ]
