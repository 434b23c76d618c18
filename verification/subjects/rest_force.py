# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground carries what rests on it."""

from __future__ import annotations

from supple.core import Ground, Scene, Simulator, SoftBody
from supple.core.integrators import Integrator
from supple.core.materials import Material, StableNeoHookean

from ..check import Check, Subject, within
from ..expected import Method, Model, methods, models
from ..meshes import block

GRAVITY, DENSITY, SIZE = 9.81, 1000.0, 0.5
WEIGHT = DENSITY * GRAVITY * SIZE**3
YOUNG, POISSON, DAMPING, FRAMES = 1e5, 0.35, 8.0, 96


def run() -> Subject:
    return Subject(
        title="Force at rest",
        text="A cube is dropped on the ground and comes to rest, by damped steps of every "
        "integrator and, for every material, by `settle()`. The barrier's force must add up to "
        "its weight. Adaptive midpoint's steps grow at rest until each is off by its tolerance: "
        "it hovers by up to a hundredth.",
        source="Balance of forces.",
        checks=[
            *(_stepped(method) for method in methods() if "barrier" in method.expected.ground),
            *(_settled(model) for model in models()),
        ],
    )


def _simulator(material: Material, integrator: Integrator | None) -> Simulator:
    mesh = block((2, 2, 2), (SIZE,) * 3, (0.0, 0.0, 0.05))
    body = SoftBody(mesh, material, DENSITY, damping=DAMPING)
    scene = Scene([body], ground=Ground(), gravity=(0.0, 0.0, -GRAVITY))
    return Simulator(scene, integrator, device="cpu")


def _force(simulator: Simulator) -> float:
    barrier = simulator.system.ground_barrier
    assert barrier is not None
    return float(barrier.normal_force(simulator.state.positions).sum())


def _stepped(method: Method) -> Check:
    simulator = _simulator(StableNeoHookean(YOUNG, POISSON), method.usual())
    for _ in simulator.run(FRAMES):
        pass
    seconds = FRAMES / 24
    what = f"{method.label}: force after {seconds:g} s"
    return within(what, _force(simulator), WEIGHT, method.share(1e-4, "rest"), "N")


def _settled(model: Model) -> Check:
    simulator = _simulator(model.kind(YOUNG, POISSON), None)
    simulator.settle()
    return within(f"{model.label}: force when settled", _force(simulator), WEIGHT, 1e-6, "N")
