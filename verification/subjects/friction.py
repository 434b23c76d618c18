# SPDX-License-Identifier: GPL-3.0-or-later
"""A block sticks, slides and stops as Coulomb has it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from supple.core import Ground, Scene, Simulator, SoftBody
from supple.core.materials import StableNeoHookean

from ..check import Check, Curve, Panel, Subject, at_most, within
from ..expected import Method, methods
from ..meshes import block

GRAVITY, FRAME_RATE = 9.81, 24
STICKS, SLIDES, CLEAR, SLIPPERY, LEVEL = 0.51, 0.49, 0.45, 0.3, 0.4
SPEED = 2.0
# Near the critical friction a stiff block, damped inside where the scheme damps nothing; see the
# note. In seconds: β times its fastest frequency of 4400/s is about 2.
STIFF, SOFT, STIFFNESS_DAMPING = 1e8, 1e6, 5e-4
IMPLICIT_STEPS = 8
Displacements = NDArray[np.float64]


def run() -> Subject:
    all_methods = list(methods())
    sliding = {method: _slide(method, SLIDES, 1.0) for method in all_methods}
    stopping = {method: _stop(method) for method in all_methods}
    sticking = {method: _slide(method, STICKS, 3.0) for method in all_methods}
    checks = []
    for method in all_methods:
        checks += [
            _creep(method, sticking[method]),
            _acceleration(method, sliding[method]),
            _as_usual(method),
            _fast_slide(method),
            _distance(method, stopping[method]),
        ]
    return Subject(
        title="Sliding block",
        text="A block of 1 × 1 × 0.2 m on a slope of ½, made by tilting gravity, starts in "
        f"equilibrium. At μ = {STICKS} it must stick, once it has leaned into the slope for a "
        "second. The smooth friction of implicit steps lets it creep by up to 1e-4 of its diagonal "
        "a second. "
        f"At μ = {SLIDES} it must slide with g (sin θ − μ cos θ) = {_pull(SLIDES):.5f} m/s²: so "
        f"say its ways after 1/4, 5/8 and 1 second. There E = {STIFF:g} Pa, and schemes that damp "
        f"nothing themselves have a stiffness damping of {STIFFNESS_DAMPING:g} s, which does not "
        f"slow the slide. Implicit steps are {IMPLICIT_STEPS} a frame, solved to rounding; at "
        f"μ = {CLEAR} it must also slide with the steps and the tolerance that a user gets. "
        f"Undamped and softer (E = {SOFT:g} Pa), it slides at μ = {SLIPPERY}, and on level ground "
        f"at μ = {LEVEL} it stops from {SPEED:g} m/s after v²/2μg.",
        source="Coulomb's law for a rigid block.",
        checks=checks,
        panels=_panels(sliding, stopping),
        note=_flutter(),
    )


def _flutter() -> str:
    """Describe how an elastic block differs from the rigid one of the closed forms, in figures."""
    explicit, many, implicit = (
        f"{_shaken(*how):.2f}"
        for how in (("symplectic_euler", None), ("symplectic_euler", 400), ("bdf2", 32))
    )
    return (
        "Near the critical friction an elastic block does not slide as a rigid one unless it is "
        "damped. Friction sets it vibrating, and contacts that vibrate hold less (Adams, "
        "“Self-excited oscillations of two elastic half-spaces sliding with a constant coefficient "
        f"of friction”, 1995). Without damping and at E = {SOFT:g} Pa it slides at μ = {SLIDES} "
        f"with {explicit} m/s² in symplectic Euler's own steps, and {many} in 400 a frame. "
        f"It is {implicit} in 32 steps of BDF2, whose own damping is small there."
    )


def _pull(friction: float) -> float:
    angle = math.atan(0.5)
    return GRAVITY * (math.sin(angle) - friction * math.cos(angle))


def _scene(
    friction: float,
    young: float,
    *,
    slope: float = 0.5,
    speed: float = 0.0,
    stiffness_damping: float = 0.0,
) -> Scene:
    angle = math.atan(slope)
    body = SoftBody(
        block((2, 2, 1), (1.0, 1.0, 0.2), (0.0, 0.0, 5e-4)),
        StableNeoHookean(young, 0.3),
        velocity=(speed, 0.0, 0.0),
        stiffness_damping=stiffness_damping,
    )
    gravity = (GRAVITY * math.sin(angle), 0.0, -GRAVITY * math.cos(angle))
    return Scene([body], ground=Ground(friction=friction), gravity=gravity)


def _displacements(
    method: Method,
    scene: Scene,
    seconds: float,
    *,
    from_equilibrium: bool,
    substeps: int | None = None,
    as_usual: bool = False,
) -> Displacements:
    """Return the displacement of the centre of mass at the start and after every frame, in
    metres.
    """
    if from_equilibrium:
        angle = _scene(STICKS, float(scene.bodies[0].material.young))
        rest = Simulator(angle, device="cpu").settle().positions[0].numpy()
        scene.bodies[0].initial_positions = rest
    if substeps is None and method.expected.kind == "implicit" and not as_usual:
        substeps = IMPLICIT_STEPS
    integrator = method.usual() if as_usual else method.exact()
    simulator = Simulator(scene, integrator, substeps=substeps, device="cpu")
    weights = (simulator.system.mass / simulator.system.mass.sum()).numpy()
    frames = [simulator.frame(), *simulator.run(round(FRAME_RATE * seconds))]
    centres = np.array([weights @ frame.positions[0].numpy()[:, 0] for frame in frames])
    displacements: Displacements = centres - centres[0]
    return displacements


def _slide(method: Method, friction: float, seconds: float) -> Displacements:
    scene = _scene(friction, STIFF, stiffness_damping=_stiffness_damping(method))
    return _displacements(method, scene, seconds, from_equilibrium=True)


def _stiffness_damping(method: Method) -> float:
    return 0.0 if method.expected.energy == "falls" else STIFFNESS_DAMPING


def _stop(method: Method) -> Displacements:
    return _displacements(
        method, _scene(LEVEL, SOFT, slope=0.0, speed=SPEED), 0.75, from_equilibrium=False
    )


def _creep(method: Method, displacements: Displacements) -> Check:
    diagonal = math.sqrt(2.04)
    bound = 2.0 * method.expected.creep * diagonal
    crept = np.abs(displacements[FRAME_RATE:] - displacements[FRAME_RATE]).max()
    return at_most(f"{method.label}, μ = {STICKS}: creep in 2 s", crept, bound, "m")


def _acceleration(method: Method, displacements: Displacements) -> Check:
    what = f"{method.label}, μ = {SLIDES}: acceleration"
    return within(what, _measured_acceleration(displacements), _pull(SLIDES), 1e-3, "m/s²")


def _measured_acceleration(displacements: Displacements) -> float:
    """The acceleration, from three ways, since breaking loose leaves a speed."""
    first, second, third = (displacements[FRAME_RATE * eighths // 8] for eighths in (2, 5, 8))
    return float((third - 2.0 * second + first) / (3.0 / 8.0) ** 2)


def _as_usual(method: Method) -> Check:
    """In the steps and to the tolerance that a user gets."""
    scene = _scene(CLEAR, STIFF, stiffness_damping=_stiffness_damping(method))
    displacements = _displacements(method, scene, 1.0, from_equilibrium=True, as_usual=True)
    what = f"{method.label} with its usual settings, μ = {CLEAR}: acceleration"
    return within(what, _measured_acceleration(displacements), _pull(CLEAR), 0.03, "m/s²")


def _fast_slide(method: Method) -> Check:
    displacements = _displacements(method, _scene(SLIPPERY, SOFT), 1.0, from_equilibrium=False)
    what = f"{method.label}, μ = {SLIPPERY}: way in 1 s"
    return within(what, displacements[-1], 0.5 * _pull(SLIPPERY), 0.03, "m")


def _distance(method: Method, displacements: Displacements) -> Check:
    expected = SPEED**2 / (2.0 * LEVEL * GRAVITY)
    return within(f"{method.label}, level: stops after", displacements[-1], expected, 0.03, "m")


def _shaken(name: str, substeps: int | None) -> float:
    """The acceleration of the soft block without damping, near the critical friction."""
    method = next(method for method in methods() if method.name == name)
    scene = _scene(SLIDES, SOFT)
    displacements = _displacements(method, scene, 1.0, from_equilibrium=True, substeps=substeps)
    time = np.arange(len(displacements)) / FRAME_RATE
    return float(2.0 * np.polyfit(time, displacements, 2)[0])


def _panels(
    sliding: dict[Method, Displacements], stopping: dict[Method, Displacements]
) -> list[Panel]:
    slide, stop = _curves(sliding), _curves(stopping)
    time = np.linspace(0.0, 1.0, 60)
    displacement = 1e3 * _pull(SLIDES) * 0.5 * time**2
    slide.append(Curve("closed form", time, displacement, "closed form", "dashes"))
    moving = np.minimum(time, SPEED / (LEVEL * GRAVITY))
    stopped = 1e3 * (SPEED * moving - 0.5 * LEVEL * GRAVITY * moving**2)
    stop.append(Curve("closed form", time, stopped, "closed form", "dashes"))
    return [
        Panel(f"slope ½, μ = {SLIDES}", "time (s)", "way (mm)", slide),
        Panel(f"level, μ = {LEVEL}", "time (s)", "way (mm)", stop),
    ]


def _curves(displacements: dict[Method, Displacements]) -> list[Curve]:
    return [
        Curve(
            method.label,
            np.arange(len(displacement)) / FRAME_RATE,
            1e3 * displacement,
            method.label,
        )
        for method, displacement in displacements.items()
    ]
