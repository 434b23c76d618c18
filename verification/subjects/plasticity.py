# SPDX-License-Identifier: GPL-3.0-or-later
"""A bar that is pulled or pressed beyond its yield stress and let go keeps what theory says."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from supple.core import Channel, Frame, Plasticity, Scene, Simulator, SoftBody
from supple.core.integrators import BDF2, SDIRK2, ImplicitEuler, Integrator, SymplecticEuler
from supple.core.materials import StableNeoHookean

from ..check import Check, Subject, within
from ..meshes import block

YOUNG, POISSON, YIELD, HARDENING = 1e6, 0.3, 5e3, 3e5
SIZE, STRAINS, EXACT = (0.2, 0.1, 0.1), (0.05, -0.05), 0.01
FRAME, PULLING, LEFT, DAMPING = 0.02, 8, 6, 1e-3
METHODS: dict[str, Integrator] = {
    "Symplectic Euler": SymplecticEuler(),
    "Implicit Euler": ImplicitEuler(),
    "BDF2": BDF2(),
    "SDIRK2": SDIRK2(),
}


def run() -> Subject:
    return Subject(
        title="Plasticity",
        text=f"A bar of {SIZE[0]:g} m (E = {YOUNG:g} Pa, yield stress {YIELD:g} Pa, hardening "
        f"{HARDENING:g} Pa) is brought to a logarithmic strain of ±{STRAINS[0]:g} with its volume "
        f"kept. That takes {PULLING} frames; then it is let go. The strain that it has "
        f"after {LEFT} more is plastic.",
        source="3μ (ε − α) = Y + H α, by the consistency of von Mises plasticity with linear "
        "isotropic hardening (Simo and Hughes, “Computational Inelasticity”, 1998, section 3.3).",
        checks=[_check(label, strain) for label in METHODS for strain in STRAINS],
    )


def _check(label: str, strain: float) -> Check:
    method = METHODS[label]
    shear = YOUNG / (2.0 * (1.0 + POISSON))
    flowed = (3.0 * shear * abs(strain) - YIELD) / (3.0 * shear + HARDENING)
    pulled = _simulator(_body(strain), method)
    list(pulled.run(PULLING + 1))
    free = _simulator(_body(), method)
    free.state = replace(pulled.state, previous=None)
    *_, last = free.run(LEFT)
    what = f"{label}, {'pulled' if strain > 0.0 else 'pressed'}: strain that is left"
    return within(what, _strain(last), math.copysign(flowed, strain), EXACT)


def _body(strain: float = 0.0) -> SoftBody:
    """All vertices outside are moved to a strain that grows from frame to frame, or none are."""
    mesh = block((2, 2, 2), SIZE)
    body = SoftBody(
        *(mesh, StableNeoHookean(YOUNG, POISSON)),
        stiffness_damping=DAMPING,
        plasticity=Plasticity(YIELD, hardening=HARDENING),
    )
    if strain == 0.0:
        return body
    along = strain * np.minimum(np.arange(PULLING + 2) / PULLING, 1.0)
    stretches = np.exp(along[:, None] * [1.0, -0.5, -0.5])
    outside = np.unique(mesh.surface).astype(np.int32)
    path = Channel(stretches[:, None, :] * mesh.vertices[outside])
    return replace(body, pinned=outside, pin_path=path)


def _simulator(body: SoftBody, method: Integrator) -> Simulator:
    scene = Scene([body], gravity=(0.0, 0.0, 0.0))
    return Simulator(scene, method, frame_time=FRAME, device="cpu")


def _strain(frame: Frame) -> float:
    x = block((2, 2, 2), SIZE).vertices[:, 0]
    points = frame.positions[0].numpy()
    way = points[x == SIZE[0]].mean(axis=0) - points[x == 0.0].mean(axis=0)
    return math.log(float(np.linalg.norm(way)) / SIZE[0])
