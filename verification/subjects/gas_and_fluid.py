# SPDX-License-Identifier: GPL-3.0-or-later
"""Gas inside of bodies, and bodies in a fluid at rest."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from supple.core import Fluid, Scene, Simulator, SoftBody, TetMesh
from supple.core.materials import StableNeoHookean

from ..check import Check, Subject, within
from ..meshes import block, hollow_ball

Values = NDArray[np.float64]

YOUNG, POISSON, PASCAL = 1e5, 0.3, 20.0
THIN, INNER = 0.99, 0.8
DENSITIES, HEIGHT, WATER = (150.0, 600.0, 900.0), 0.4, 1000.0
EXACT = 0.01


def run() -> Subject:
    return Subject(
        title="Gas and fluid",
        text=f"A pressure of {PASCAL:g} Pa inside of a hollow ball of E = {YOUNG:g} Pa and ν = "
        f"{POISSON:g}, 1 m in radius. With a wall of {1.0 - THIN:.2g} m it grows as a thin one, "
        f"with a wall of {1.0 - INNER:.2g} m as a thick one. A solid cube grows as its bulk "
        "modulus "
        f"says. A raft of {HEIGHT:g} m floats in water as deep as its density says.",
        source="Thin walls: p r² (1 − ν) / 2 E t, of Laplace's σ = p r / 2 t. Thick ones: Lamé, "
        "u = p a³ r ((1 − 2ν) + (1 + ν) b³ / 2 r³) / E (b³ − a³). Solids: p / 3 K. Archimedes: "
        "ρ h / ρ of the water.",
        checks=[_thin(), *_thick(), _solid(), *(_draught(density) for density in DENSITIES)],
    )


def _at_rest(mesh: TetMesh) -> Values:
    body = SoftBody(mesh, StableNeoHookean(YOUNG, POISSON), pressure=PASCAL)
    scene = Scene([body], gravity=(0.0, 0.0, 0.0))
    settled: Values = Simulator(scene, device="cpu").settle().positions[0].numpy()
    return settled


def _growth(mesh: TetMesh) -> tuple[Values, Values]:
    """The radii of the vertices, and how far they have moved outwards."""
    radii = np.linalg.norm(mesh.vertices, axis=1)
    moved = ((_at_rest(mesh) - mesh.vertices) * mesh.vertices).sum(axis=1) / radii
    return radii, moved


def _thin() -> Check:
    radii, moved = _growth(hollow_ball(THIN, 1.0, 3, 1))
    middle, wall = 0.5 * (1.0 + THIN), 1.0 - THIN
    expected = PASCAL * middle**2 * (1.0 - POISSON) / (2.0 * YOUNG * wall)
    growth = float((moved / radii).mean()) * middle
    return within("thin ball: growth of its radius", growth, expected, EXACT, "m")


def _thick() -> list[Check]:
    radii, moved = _growth(hollow_ball(INNER, 1.0, 3, 3))
    checks = []
    for radius, side in ((INNER, "inside"), (1.0, "outside")):
        law = (1.0 - 2.0 * POISSON) + (1.0 + POISSON) / (2.0 * radius**3)
        expected = PASCAL * INNER**3 * radius * law / (YOUNG * (1.0 - INNER**3))
        growth = float(moved[np.isclose(radii, radius)].mean())
        checks.append(within(f"thick ball: growth {side}", growth, expected, EXACT, "m"))
    return checks


def _solid() -> Check:
    mesh = block((2, 2, 2))
    width = float(np.ptp(_at_rest(mesh)[:, 0]))
    bulk = YOUNG / (3.0 * (1.0 - 2.0 * POISSON))
    return within("solid cube: growth of 1 m", width - 1.0, PASCAL / (3.0 * bulk), EXACT, "m")


def _draught(density: float) -> Check:
    raft = SoftBody(block((2, 2, 1), (1.0, 1.0, HEIGHT)), StableNeoHookean(1e6, 0.3), density)
    scene = Scene([raft], forces=[Fluid(level=0.1, density=WATER)])
    bottom = float(Simulator(scene, device="cpu").settle().positions[0][:, 2].min())
    what = f"raft of {density:g} kg/m³: depth of its bottom"
    return within(what, 0.1 - bottom, HEIGHT * density / WATER, EXACT, "m")
