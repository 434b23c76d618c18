# SPDX-License-Identifier: GPL-3.0-or-later
"""A rotation costs no energy, but in the linear model."""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

from supple.core import Scene, Simulator, SoftBody
from supple.core.materials import Material
from supple.core.system import System

from ..check import Check, Subject, at_most, within
from ..expected import Model, models
from ..meshes import irregular_block

YOUNG, POISSON = 1e5, 0.3
ANGLES = (0.1, 0.5, 1.0, 2.0, math.pi)
AXIS = np.array([2.0, -1.0, 3.0]) / math.sqrt(14.0)
# Rounding of a sum over some hundred tets.
ROUNDING = 1e-12
Vectors = NDArray[np.float64]


def run() -> Subject:
    checks: list[Check] = []
    for model in models():
        checks += _invariance(model) if model.expected.turns_freely else _closed_form(model)
    return Subject(
        title="Rotation",
        text="A cube that is strained by a third is turned by angles from 0.1 to π about a skew "
        "axis. Its energy must stay the same, and its forces must turn with it. The linear model "
        "takes a "
        "rotation for a strain; a turned cube at rest has just the energy of this strain.",
        source="Frame indifference. For the linear model, a rotation by φ has the strain "
        "(cos φ − 1)(1 − a ⊗ a) about its axis a, so Ψ = 2 (μ + λ)(1 − cos φ)².",
        checks=checks,
    )


def _invariance(model: Model) -> list[Check]:
    system, rest = _cube(model.kind(YOUNG, POISSON))
    noise = np.random.default_rng(2).normal(size=rest.shape)
    strained = rest * np.array([[1.3], [0.9], [1.05]]) + 0.01 * noise
    energy, forces = _energy(system, strained), _forces(system, strained)
    turned = [(_rotation(angle), _rotation(angle) @ strained) for angle in ANGLES]
    changes = [abs(_energy(system, x) - energy) / energy for _, x in turned]
    apart = [np.abs(_forces(system, x) - r @ forces).max() for r, x in turned]
    return [
        at_most(f"{model.label}: change of energy, share", max(changes), ROUNDING),
        at_most(
            f"{model.label}: forces off those that are turned, share",
            max(apart) / np.abs(forces).max(),
            10.0 * ROUNDING,
        ),
    ]


def _closed_form(model: Model) -> list[Check]:
    material = model.kind(YOUNG, POISSON)
    system, rest = _cube(material)
    return [
        within(
            f"{model.label}: energy of 1 m³ turned by {angle:.3g}",
            _energy(system, _rotation(angle) @ rest),
            2.0 * (material.mu + material.lam) * (1.0 - math.cos(angle)) ** 2,
            1e-10,
            "J",
        )
        for angle in ANGLES
    ]


def _cube(material: Material) -> tuple[System, Vectors]:
    body = SoftBody(irregular_block(), material)
    system = Simulator(Scene([body]), device="cpu").system
    return system, system.rest_positions().numpy()


def _energy(system: System, positions: Vectors) -> float:
    return float(system.elasticities[0].energy(torch.as_tensor(positions)))


def _forces(system: System, positions: Vectors) -> Vectors:
    return system.elasticities[0].gradient(torch.as_tensor(positions)).numpy()


def _rotation(angle: float) -> Vectors:
    """Rodrigues' formula."""
    cross = np.cross(np.eye(3), AXIS).T
    return np.eye(3) + math.sin(angle) * cross + (1.0 - math.cos(angle)) * cross @ cross
