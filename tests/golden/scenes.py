# SPDX-License-Identifier: GPL-3.0-or-later
"""Small scenes that between them use every integrator, material, force and sample."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from supple.core import (
    Attachment,
    Channel,
    Contact,
    Fluid,
    ForceField,
    Goals,
    Ground,
    Plasticity,
    Scene,
    Simulator,
    SoftBody,
    Stitches,
)
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    XPBD,
    Adaptive,
    Automatic,
    ImplicitEuler,
    Integrator,
    Midpoint,
    RungeKutta4,
    SymplecticEuler,
)
from supple.core.materials import StableNeoHookean
from supple.core.materials.model_table import MODEL_TABLE
from supple.verification import storms
from supple.verification.meshes import block

#: Of each scene.
FRAMES = 12

SIDE = 0.1
SOFT = StableNeoHookean(2e4, 0.4)
#: Every result that frames can record.
RESULTS = ("von_mises", "stretch", "speed")

#: A scene that is ready to run.
Make = Callable[[], Simulator]


def cube(height: float, at: float = 0.0, **settings: object) -> SoftBody:
    """A cube of 48 tets above the ground."""
    return SoftBody(
        block((2, 2, 2), (SIDE,) * 3, (at, 0.0, height)), **{"material": SOFT, **settings}
    )


def _drop(integrator: Integrator, **settings: object) -> Simulator:
    """A cube that falls onto rough ground and turns."""
    # XPBD has no such damping.
    damping = 0.0 if isinstance(integrator, XPBD) else 1e-3
    body = cube(0.01, angular_velocity=(3.0, 1.0, 2.0), stiffness_damping=damping, **settings)
    return Simulator(Scene([body], ground=Ground(friction=0.3)), integrator, results=RESULTS)


def _stack(integrator: Integrator, contact: Contact) -> Simulator:
    """Two cubes that fall onto each other, the upper one tilted and sliding."""
    tilted = cube(SIDE + 0.005, 0.02, velocity=(0.5, 0.1, -0.5), angular_velocity=(0, 4.0, 0))
    scene = Scene([cube(0.002), tilted], ground=Ground(friction=0.3), contact=contact)
    return Simulator(scene, integrator)


def _train(integrator: Integrator) -> Simulator:
    scene = storms.course("train", type(integrator), 0, 0)
    return Simulator(scene, integrator, frame_time=storms.FRAME_TIME)


def _held() -> Simulator:
    """Pins that move, goals, an attachment, stitches, clay and keyed stiffness."""
    pinned = np.arange(9, dtype=np.int32)
    body = cube(0.3)
    path = body.mesh.vertices[pinned] + 0.01 * np.arange(FRAMES + 1)[:, None, None]
    goals = Goals([0, 3, 7], body.mesh.vertices[[0, 3, 7]] + 0.05, [0.3, 0.6, 1.0])
    bodies = [
        replace(body, pinned=pinned, pin_path=path),
        cube(0.3, 0.15, goals=goals, stiffness=Channel(np.linspace(1.0, 3.0, FRAMES + 1))),
        cube(0.3, 0.3, plasticity=Plasticity(200.0, creep_time=0.1)),
        cube(0.3, 0.45, velocity=(0.0, 0.0, 1.0)),
    ]
    stitches = Stitches(2, [18, 20], 3, gap=0.01)
    hold = Attachment(1, np.array([18, 19]), 0)
    return Simulator(Scene(bodies, attachments=[hold], forces=[stitches]), ImplicitEuler())


def _driven(integrator: Integrator) -> Simulator:
    """Pressure, a target volume, drag, fields, a fluid, keyed gravity and slow motion."""
    field = ForceField("vortex", 30.0, (0.0, 0.0, 0.2), (0.1, 0.2, 1.0))
    bodies = [
        cube(0.05, pressure=500.0, drag=2.0),
        cube(0.05, 0.2, target_volume=1.2, volume_stiffness=1e4),
    ]
    gravity = np.outer(np.linspace(1.0, -0.5, FRAMES + 1), [0.0, 0.0, -9.81])
    scene = Scene(
        bodies,
        gravity=Channel(gravity),
        forces=[field, Fluid(level=0.08, drag=2.0)],
        time_scale=Channel(np.linspace(1.0, 0.5, FRAMES + 1)),
    )
    return Simulator(scene, integrator)


EXPLICIT = (SymplecticEuler(), Midpoint(), RungeKutta4(), Adaptive(Midpoint(), tolerance=1e-5))
ALL = (Automatic(), ImplicitEuler(), BDF2(), SDIRK2(), *EXPLICIT, XPBD())
TOUCHING = (Automatic(), ImplicitEuler(), BDF2(), SDIRK2(), SymplecticEuler())


def _name(integrator: Integrator) -> str:
    return type(integrator).__name__


#: By name.
SCENES: dict[str, Make] = {
    **{f"drop, {_name(each)}": partial(_drop, each) for each in ALL},
    **{
        f"drop, {name}": partial(_drop, ImplicitEuler(), material=row.kind(2e4, 0.3))
        for name, row in MODEL_TABLE.items()
    },
    **{f"stack, {_name(each)}": partial(_stack, each, Contact(friction=0.4)) for each in TOUCHING},
    "stack, original barrier": partial(_stack, ImplicitEuler(), Contact(formulation="original")),
    **{f"train, {_name(each)}": partial(_train, each) for each in TOUCHING},
    "held": _held,
    **{f"driven, {_name(each)}": partial(_driven, each) for each in (ImplicitEuler(), Midpoint())},
}
