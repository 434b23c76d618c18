# SPDX-License-Identifier: GPL-3.0-or-later
"""A block on a slope that is a mesh: it sticks and slides as Coulomb has it."""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.core import Scene, Simulator, SoftBody
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.core.scene.contact_settings import Collider, Contact, Formulation

from ..check import Check, Curve, Panel, Subject, at_most, near, within
from ..meshes import block

GRAVITY, FRAME_RATE = 9.81, 24
# tan θ = ½: what friction has to hold is critical at μ = ½.
ANGLE = math.atan(0.5)
CRITICAL, SLIDES = 0.5, 0.49
STATIC, KINETIC, BRAKES = 0.6, 0.4, (0.8, 0.7)
PUSHED = 0.5
SIZE, YOUNG = (0.2, 0.2, 0.05), 1e6
# Smooth friction breaks loose at 3e-4 diagonals a second, far below the usual tolerance of 1 mm/s.
SOLVED, USUAL = 1e-8, 1e-3
USUALLY = (0.49, 0.45, 0.4)
SETTLING = 20.0
FORMULATIONS: tuple[Formulation, ...] = ("convergent", "original")


class Slide(NamedTuple):
    """The motion of the centre of mass down the slope, at the start and after every frame."""

    displacements: NDArray[np.float64]
    speeds: NDArray[np.float64]

    @property
    def acceleration(self) -> float:
        """From speeds alone, and not those while the friction takes hold: implicit Euler's ways are
        ½ a t² (1 + 1/n) after n steps."""
        time = np.arange(len(self.speeds)) / FRAME_RATE
        third = len(time) // 3
        return float(np.polyfit(time[third:], self.speeds[third:], 1)[0])


def run() -> Subject:
    sticking = {kind: _slide(kind, CRITICAL, None, 2.0) for kind in FORMULATIONS}
    sliding = {kind: _slide(kind, SLIDES, None, 2.0) for kind in FORMULATIONS}
    checks = []
    for kind in FORMULATIONS:
        checks += [
            at_most(
                f"{kind}, μ = {CRITICAL}: way in 2 s", _displacement(sticking[kind]), 0.5, "mm"
            ),
            _acceleration(f"{kind}, μ = {SLIDES}", sliding[kind], SLIDES),
            *_kinetic(kind),
        ]
    return Subject(
        title="Block on a slope that is a mesh",
        text=f"A block of {SIZE[0]:g} × {SIZE[1]:g} × {SIZE[2]:g} m (E = {YOUNG:g} Pa) on a slope "
        "of ½ made of two triangles. It has come to rest on it, held by a damping that is gone "
        f"when the time is taken. At μ = {CRITICAL}, where friction can just hold it, it must not "
        f"go further than 0.5 mm in 2 s. At μ = {SLIDES} it must slide with "
        f"g (sin θ − μ cos θ) = {_pull(SLIDES):.5f} m/s². With a static coefficient of {STATIC} "
        f"and a kinetic one of {KINETIC} it must stay at rest. It must slide with the kinetic one "
        f"when it has been pushed to {PUSHED:g} m/s. With {BRAKES[0]} and {BRAKES[1]} that stops "
        "it. "
        f"Implicit Euler, a step a frame, {FRAME_RATE} frames a second, solved to {SOLVED:g} m/s.",
        source="Coulomb's law for a rigid block.",
        checks=checks,
        panels=_panels(sticking, sliding),
        note=_usually(),
    )


def _kinetic(kind: Formulation) -> list[Check]:
    name = f"{kind}, μ = {STATIC} at rest, {KINETIC} sliding"
    pushed = _slide(kind, STATIC, KINETIC, 1.0, PUSHED)
    static, kinetic = BRAKES
    braked = _slide(kind, static, kinetic, 0.6, PUSHED)
    # While it slides: it stands after 0.28 s.
    going = Slide(braked.displacements[:7], braked.speeds[:7])
    return [
        at_most(
            f"{name}: way in 1 s", _displacement(_slide(kind, STATIC, KINETIC, 1.0)), 0.5, "mm"
        ),
        _acceleration(f"{name}, pushed", pushed, KINETIC),
        _acceleration(f"{kind}, μ = {static} at rest, {kinetic} sliding, pushed", going, kinetic),
        near("… and its speed after 0.6 s", 1e3 * braked.speeds[-1], 0.0, 0.2, "mm/s"),
    ]


def _acceleration(claim: str, slide: Slide, friction: float) -> Check:
    return within(f"{claim}: acceleration", slide.acceleration, _pull(friction), 0.02, "m/s²")


def _pull(friction: float) -> float:
    return GRAVITY * (math.sin(ANGLE) - friction * math.cos(ANGLE))


def _displacement(slide: Slide) -> float:
    """In millimetres."""
    return float(1e3 * np.abs(slide.displacements).max())


def _usually() -> str:
    """Describe the accelerations at the tolerance that a user gets, in figures."""
    rows = []
    for kind in FORMULATIONS:
        accelerations = [
            _slide(kind, mu, None, 0.75, tolerance=USUAL).acceleration for mu in USUALLY
        ]
        rows.append(f"{kind} " + ", ".join(f"{value:.3f}" for value in accelerations))
    expected = ", ".join(f"{_pull(mu):.3f}" for mu in USUALLY)
    return (
        f"In steps solved to the usual {USUAL:g} m/s, far above the speed at which friction breaks "
        f"loose, a block near the critical friction may stay where it is. At μ = "
        f"{', '.join(map(str, USUALLY))} its accelerations are then, in m/s²: "
        f"{'; '.join(rows)}; they should be {expected}."
    )


def _scene(kind: Formulation, friction: float, kinetic: float | None) -> Scene:
    across, along = np.array([0.0, 1.0, 0.0]), _downhill()
    frame = np.stack([along, across, np.cross(along, across)])
    mesh = block((2, 2, 1), SIZE, (-0.5 * SIZE[0], -0.5 * SIZE[1], 1e-3 * SIZE[0]))
    body = SoftBody(mesh.with_vertices(mesh.vertices @ frame), StableNeoHookean(YOUNG, 0.3))
    corners = np.array([[-1.0, -1.0, 0.0], [9.0, -1.0, 0.0], [9.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
    slope = Collider(corners @ frame, np.array([[0, 1, 2], [0, 2, 3]]), name="slope")
    contact = Contact(friction=friction, kinetic_friction=kinetic, formulation=kind)
    return Scene([body], gravity=(0.0, 0.0, -GRAVITY), colliders=[slope], contact=contact)


def _downhill() -> NDArray[np.float64]:
    return np.array([math.cos(ANGLE), 0.0, -math.sin(ANGLE)])


@cache
def _rest(kind: Formulation) -> NDArray[np.float64]:
    """Return the (N, 3) positions at which the block comes to rest."""
    scene = _scene(kind, CRITICAL, None)
    scene.bodies[0].damping = SETTLING
    *_, last = Simulator(scene, ImplicitEuler(SOLVED), device="cpu").run(FRAME_RATE)
    rest: NDArray[np.float64] = last.positions[0].numpy()
    return rest


def _slide(
    kind: Formulation,
    friction: float,
    kinetic: float | None,
    seconds: float,
    speed: float = 0.0,
    tolerance: float = SOLVED,
) -> Slide:
    scene = _scene(kind, friction, kinetic)
    scene.bodies[0].initial_positions = _rest(kind)
    scene.bodies[0].velocity = tuple(speed * _downhill())
    simulator = Simulator(scene, ImplicitEuler(tolerance), device="cpu")
    weights = (simulator.system.mass / simulator.system.mass.sum()).numpy()
    frames = [simulator.frame(), *simulator.run(round(FRAME_RATE * seconds))]
    places, speeds = (
        np.array([weights @ values[0].numpy() @ _downhill() for values in column])
        for column in zip(*((frame.positions, frame.velocities) for frame in frames), strict=True)
    )
    return Slide(places - places[0], speeds)


def _panels(sticking: dict[Formulation, Slide], sliding: dict[Formulation, Slide]) -> list[Panel]:
    time = np.arange(1 + 2 * FRAME_RATE) / FRAME_RATE
    speeds = [Curve(kind, time, slide.speeds, kind) for kind, slide in sliding.items()]
    speeds.append(Curve("closed form", time, _pull(SLIDES) * time, "closed form", "dashes"))
    displacements = [
        Curve(kind, time, 1e3 * slide.displacements, kind) for kind, slide in sticking.items()
    ]
    return [
        Panel(f"μ = {SLIDES}", "time (s)", "speed (m/s)", speeds),
        Panel(f"μ = {CRITICAL}", "time (s)", "way (mm)", displacements),
    ]
