# SPDX-License-Identifier: GPL-3.0-or-later
"""Verify the height of bounces, and the energy that bodies keep."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from supple.core import Ground, Scene, Simulator, SoftBody
from supple.core.integrators import SymplecticEuler
from supple.core.materials import StableNeoHookean

from ..check import Check, Curve, Panel, Subject, at_least, at_most, near
from ..expected import Method, methods
from ..meshes import block

GRAVITY, FRAME = 9.81, 1.0 / 24.0
HEIGHT, RESTITUTIONS = 1.0, (0.3, 0.6, 0.9, 1.0)
DROP, YOUNG = 0.2, 1e5
# The first bounce is over; the second has not begun.
ONE_BOUNCE = 8
CELLS, STEPS = (2, 4, 8), (80, 160, 320, 640, 1280)
# In metres, of dust: a step's way at landing is far longer, but the mean over many lands alike.
DUST = 1e-3
FALL = "steps as long as the tolerance allows may fall too far by ½ t √(tolerance × g)"
# With what vertices that land twice may add to the layer's share.
AGAIN = 1.5
LAYER = "no theory says how many vertices land twice; half as much again is allowed"
FIRST_POWER = "8 cells a side are few, and vertices that land twice come on top"
# Short beside the waves through a cell, so that flight keeps the energy.
STEPS_A_CELL = 80


class Bounce(NamedTuple):
    """Time in seconds and energy, over the energy of the drop, less that at the start."""

    time: NDArray[np.float64]
    energy: NDArray[np.float64]

    @property
    def lost(self) -> float:
        return -float(self.energy[ONE_BOUNCE])


def run() -> Subject:
    meshes = {cells: _bounce("barrier", cells, STEPS_A_CELL * cells) for cells in CELLS}
    steps = {n: _bounce("projection", 2, n) for n in STEPS}
    explicit = [m for m in methods() if "projection" in m.expected.ground]
    return Subject(
        title="Bounce",
        text="*Restitution:* a body without stiffness is dust; each vertex bounces by itself on "
        "the projecting ground, to e² of its height. *Energy of an elastic body* (0.5 m, "
        f"E = {YOUNG:g} Pa, undamped, dropped by {DROP} m, no friction), as a share of the energy "
        "of the drop. On a projecting ground of e = 1 it is kept, up to an error of first order "
        "a landing. Many landings add up at random, so that their sum falls at least as the root "
        "of the step. On the barrier a vertex that lands loses its speed. So the body loses the "
        "share of its lowest layer, half a cell. It loses up to half as much again where vertices "
        "land twice. Both fall with the size of the tets. No scheme may gain.",
        source="v' = −e v; energy conservation; a layer's share of the mass of a cube of c cells "
        "is 1/2c.",
        checks=[
            *(_restitution(method, e) for method in explicit for e in RESTITUTIONS),
            *_step_checks(steps),
            *_mesh_checks(meshes),
            *(_gain(method) for method in methods() if "barrier" in method.expected.ground),
        ],
        panels=[
            _panel("projection, e = 1", "steps a frame", steps),
            _panel("barrier", "cells a side", meshes),
        ],
        note="The barrier takes energy at impact, from the layer of vertices that lands; in "
        "flight the energy stays, but for the beat of symplectic Euler.",
    )


def _restitution(method: Method, restitution: float) -> Check:
    """The highest point of the trajectory after the bounce, from height and speed."""
    mesh = block((1, 1, 1), (0.1, 0.1, 0.1), (0.0, 0.0, HEIGHT))
    ground = Ground(friction=0.0, restitution=restitution, response="projection")
    body = SoftBody(mesh, StableNeoHookean(1e-6, 0.3))
    scene = Scene([body], ground=ground, gravity=(0.0, 0.0, -GRAVITY))
    substeps = method.substeps(400)
    simulator = Simulator(scene, method.usual(), substeps=substeps, device="cpu")
    *_, last = simulator.run(15)
    lowest = mesh.vertices[:, 2] == HEIGHT
    speed = last.velocities[0].numpy()[lowest, 2]
    apex = last.positions[0].numpy()[lowest, 2] + speed**2 / (2.0 * GRAVITY)
    what = f"{method.label}, e = {restitution}: height of the bounce"
    tolerance = max(DUST, method.fall_error(last.time, GRAVITY))
    return near(what, apex.mean(), restitution**2 * HEIGHT, tolerance, "m", reason=FALL)


def _bounce(
    response: Literal["barrier", "projection"],
    cells: int,
    substeps: int | None,
    method: Method | None = None,
) -> Bounce:
    mesh = block((cells,) * 3, (0.5,) * 3, (0.0, 0.0, DROP))
    restitution = 1.0 if response == "projection" else 0.0
    scene = Scene(
        [SoftBody(mesh, StableNeoHookean(YOUNG, 0.3))],
        ground=Ground(friction=0.0, response=response, restitution=restitution),
        gravity=(0.0, 0.0, -GRAVITY),
    )
    integrator = SymplecticEuler() if method is None else method.usual()
    simulator = Simulator(scene, integrator, substeps=substeps, device="cpu")
    start = simulator.frame().report.energies.total
    totals = [start, *(f.report.energies.total for f in simulator.run(2 * ONE_BOUNCE))]
    weight = float(simulator.system.mass.sum()) * GRAVITY
    return Bounce(FRAME * np.arange(len(totals)), (np.array(totals) - start) / (weight * DROP))


def _step_checks(steps: dict[int, Bounce]) -> list[Check]:
    errors = [np.abs(bounce.energy).max() for bounce in steps.values()]
    slope = -np.polyfit(np.log(list(steps)), np.log(errors), 1)[0]
    return [
        at_most(f"Symplectic Euler, e = 1, {STEPS[-1]} steps: energy off, share", errors[-1], 5e-3),
        at_least("Symplectic Euler, e = 1: energy off, power of the step", slope, 0.5),
    ]


def _mesh_checks(meshes: dict[int, Bounce]) -> list[Check]:
    lost = [bounce.lost for bounce in meshes.values()]
    slope = -np.polyfit(np.log(CELLS), np.log(lost), 1)[0]
    return [
        *(
            check
            for cells, share in zip(CELLS, lost, strict=True)
            for check in _layer_checks(cells, share)
        ),
        near(
            "barrier: energy lost, power of the size of the tets",
            slope,
            1.0,
            0.2,
            reason=FIRST_POWER,
        ),
    ]


def _layer_checks(cells: int, share: float) -> list[Check]:
    """At least what the layer that lands has, and not much more."""
    what, layer = f"barrier, {cells} cells a side: energy lost, share", 0.5 / cells
    return [
        at_least(what, share, layer),
        at_most(what, share, AGAIN * layer, from_solver=True, reason=LAYER),
    ]


def _gain(method: Method) -> Check:
    kind = method.expected.kind
    bounce = _bounce("barrier", 2, 10 if kind == "implicit" else None, method)
    return at_most(f"{method.label}, barrier: most gained, share", bounce.energy.max(), 1e-4)


def _panel(title: str, what: str, bounces: dict[int, Bounce]) -> Panel:
    curves = [
        Curve(f"{what}: {key}", bounce.time, 1.0 + bounce.energy, str(key))
        for key, bounce in bounces.items()
    ]
    return Panel(title, "time (s)", "energy over that of the drop", curves)
