# SPDX-License-Identifier: GPL-3.0-or-later
"""The stress of every material in tension and in shear."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import brentq

from supple.core import Scene, Simulator, SoftBody, TetMesh
from supple.core.materials import Material

from ..check import Check, Curve, Panel, Subject, at_most, largest_share, within
from ..expected import Model, models
from ..laws import Law, law_of
from ..meshes import block, irregular_block, on_faces

YOUNG, POISSON = 1e5, (0.3, 0.45)
STRETCHES = (0.5, 0.6, 0.75, 0.9, 1.1, 1.4, 1.8, 2.4, 3.0)
SHEARS = (0.1, 0.3, 0.6, 1.0)
# E, ν, stretch → lateral stretch, P₁₁ in pascal of Stable Neo-Hookean.
KNOWN = {(1e3, 0.3, 3.0): (0.64696, 1331.553), (1e5, 0.45, 0.5): (1.331937, -110935.1)}
KNOWN_DIGITS = 1e-6
# Of what is solved for, and of what is a formula on both sides.
SOLVED, EVALUATED = 1e-8, 1e-12
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Cube:
    """A deformation, the stress that a law, a settled cube and ``first_piola`` have in it."""

    deformation: Matrix
    law: Matrix
    solved: Matrix
    evaluated: Matrix
    #: Lateral stretch of the settled cube.
    lateral: float = 1.0


def run() -> Subject:
    cases = [(model, poisson) for poisson in POISSON for model in models()]
    pulled = {case: _pulled(*case) for case in cases}
    return Subject(
        title="Uniaxial tension and simple shear",
        text="*Uniaxial:* the two ends of a cube of 48 tets are moved apart and narrowed to the "
        "lateral stretch that the model's equations give. The sides are free and start where they "
        "were. `settle()` has to bring them to the same stretch, and the forces on the ends have "
        "to add up to the stress. *Shear:* the surface of an irregular cube is sheared by γ along "
        "x, and the forces on it give all nine components. The functions `Material.first_piola` "
        "are checked at the same deformations. The error is given as a share of the largest value.",
        source="The stresses of `verification/laws.py`, written from the models' papers and apart "
        "from the solver; the lateral stretch is the root of P₂₂ = 0 (Brent's method). Among them "
        "P₁₁ = E (s − 1) for linear and corotated elasticity, E s (s² − 1)/2 for "
        "St. Venant–Kirchhoff.",
        checks=[*_known(), *(c for case in cases for c in _checks(*case, pulled[case]))],
        panels=[_panel(poisson, pulled) for poisson in POISSON],
        note="St. Venant–Kirchhoff is pulled no further than it has an equilibrium: above 0.7, "
        "where it does not give way yet, and below √(1 + 1/ν), where its sides would meet.",
    )


def _known() -> list[Check]:
    checks = []
    for (young, poisson, stretch), (lateral, stress) in KNOWN.items():
        model = next(model for model in models() if model.name == "stable_neo_hookean")
        cube = _pull(model, young, poisson, stretch)
        what = f"{model.label}, E = {young:g} Pa, ν = {poisson}, stretch {stretch:g}"
        checks += [
            within(f"{what}: lateral stretch", cube.lateral, lateral, KNOWN_DIGITS),
            within(f"{what}: P₁₁", cube.solved[0, 0], stress, KNOWN_DIGITS, "Pa"),
        ]
    return checks


def _checks(model: Model, poisson: float, pulled: list[Cube]) -> list[Check]:
    sheared = [_shear(model, YOUNG, poisson, shear) for shear in SHEARS]
    ends = [cube.deformation[0, 0] for cube in (pulled[0], pulled[-1])]
    what = f"{model.label}, ν = {poisson}"
    lateral = max(abs(cube.lateral - cube.deformation[1, 1]) for cube in pulled)
    return [
        at_most(f"{what}: lateral stretch off, s = {ends[0]:g} … {ends[1]:g}", lateral, SOLVED),
        at_most(f"{what}: P of the pulled cube off", _off(pulled, "solved"), SOLVED),
        at_most(f"{what}: P of the sheared cube off, γ ≤ 1", _off(sheared, "solved"), SOLVED),
        at_most(f"{what}: `first_piola` off", _off(pulled + sheared, "evaluated"), EVALUATED),
    ]


def _off(cubes: list[Cube], which: str) -> float:
    return largest_share([getattr(c, which) for c in cubes], [c.law for c in cubes])


def _pulled(model: Model, poisson: float) -> list[Cube]:
    low, high = model.expected.stretches(poisson)
    return [_pull(model, YOUNG, poisson, s) for s in STRETCHES if low <= s <= high]


def _pull(model: Model, young: float, poisson: float, stretch: float) -> Cube:
    law = law_of(model.name, young, poisson)
    deformation = np.diag([stretch, *[_lateral(law, stretch)] * 2])
    mesh = block((2, 2, 2))
    start = mesh.vertices * [stretch, 1.0, 1.0]
    material = model.kind(young, poisson)
    positions, solved = _settled(material, mesh, on_faces(mesh, 0), deformation, start)
    middle = positions[mesh.vertices[:, 0] == 0.5]
    evaluated, lateral = _evaluated(material, deformation), np.ptp(middle, axis=0)[1:].mean()
    return Cube(deformation, law.stress(deformation), solved, evaluated, lateral)


def _lateral(law: Law, stretch: float) -> float:
    def across(width: float) -> float:
        return float(law.stress(np.diag([stretch, width, width]))[1, 1])

    return float(brentq(across, 0.05, 3.0, xtol=1e-15, rtol=1e-14))


def _reference(model: Model, poisson: float, stretch: float) -> float:
    """P₁₁ of a pulled bar in pascal."""
    law = law_of(model.name, YOUNG, poisson)
    lateral = _lateral(law, stretch)
    return float(law.stress(np.diag([stretch, lateral, lateral]))[0, 0])


def _shear(model: Model, young: float, poisson: float, shear: float) -> Cube:
    deformation = np.eye(3)
    deformation[0, 1] = shear
    mesh = irregular_block()
    noise = 0.02 * np.random.default_rng(3).normal(size=mesh.vertices.shape)
    start = mesh.vertices @ deformation.T + noise
    material, held = model.kind(young, poisson), np.unique(mesh.surface)
    _, solved = _settled(material, mesh, held, deformation, start)
    stress = law_of(model.name, young, poisson).stress(deformation)
    return Cube(deformation, stress, solved, _evaluated(material, deformation))


def _settled(
    material: Material,
    mesh: TetMesh,
    held: NDArray[np.int32],
    deformation: Matrix,
    start: Matrix,
) -> tuple[Matrix, Matrix]:
    """Positions, and the mean stress: Σ force ⊗ X over the held vertices, a volume of 1 m³."""
    start[held] = mesh.vertices[held] @ deformation.T
    body = SoftBody(mesh, material, pinned=held, initial_positions=start)
    simulator = Simulator(Scene([body], gravity=(0.0, 0.0, 0.0)), device="cpu")
    rest = simulator.settle()
    forces = simulator.system.elasticities[0].gradient(simulator.state.positions).numpy()
    return rest.positions[0].numpy(), forces[:, held] @ mesh.vertices[held]


def _evaluated(material: Material, deformation: Matrix) -> Matrix:
    stress: Matrix = material.first_piola(torch.as_tensor(deformation)[None])[0].numpy()
    return stress


def _panel(poisson: float, pulled: dict[tuple[Model, float], list[Cube]]) -> Panel:
    curves = []
    for (model, of), cubes in pulled.items():
        if of != poisson:
            continue
        dots = np.array([(cube.deformation[0, 0], cube.solved[0, 0] / YOUNG) for cube in cubes])
        fine = np.linspace(dots[0, 0], dots[-1, 0], 80)
        line = [_reference(model, poisson, stretch) / YOUNG for stretch in fine]
        curves += [
            Curve(model.label, fine, line, model.label),
            Curve("", dots[:, 0], dots[:, 1], model.label, "dots"),
        ]
    return Panel(
        f"ν = {poisson}: lines the references, dots the cube", "stretch", "P₁₁ / E", curves
    )
