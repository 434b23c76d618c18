# SPDX-License-Identifier: GPL-3.0-or-later
"""Forces of laws in the stretches, by invariants of the deformation."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.spatial.transform import Rotation

from supple.core import Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import SymplecticEuler
from supple.core.kernels.elasticity import MIN_SEPARATION, StretchKernel
from supple.core.materials import (
    AsRigidAsPossible,
    CorotatedLinear,
    StretchMaterial,
    StVenantKirchhoff,
)

COUNT = 400
MATERIALS = [
    CorotatedLinear(1e5, 0.3),
    AsRigidAsPossible(1e5),
    StVenantKirchhoff(1e5, 0.3, compression_resistance=1e8),
]
STRETCHES = {
    "rest": lambda random: np.ones((COUNT, 3)),
    "mild": lambda random: random.uniform(0.7, 1.4, (COUNT, 3)),
    "strong": lambda random: random.uniform(0.1, 4.0, (COUNT, 3)),
    "flat": lambda random: random.uniform(0.5, 1.5, (COUNT, 3)) * [1.0, 1.0, 0.0],
    "inside out": lambda random: random.uniform(0.5, 1.5, (COUNT, 3)) * [1.0, 1.0, -0.4],
    "almost a line": lambda random: random.uniform(0.5, 1.5, (COUNT, 3)) * [1.0, 1e-3, 1e-3],
    "turned over": lambda random: random.uniform(0.99, 1.01, (COUNT, 3)) * [2.0, 1.0, -1.0],
}


def forces_by_svd(material: StretchMaterial, f: np.ndarray, shapes: np.ndarray) -> np.ndarray:
    """V P times the shape gradients of corners 1 to 3, (M, 3, 3), by NumPy's singular vectors."""
    u, sigma, v = np.linalg.svd(f)
    # Rotations on both sides: the smallest stretch has the sign of J.
    for matrix in (u, v.transpose(0, 2, 1)):
        flip = np.linalg.det(matrix) < 0.0
        matrix[flip, :, 2] *= -1.0
        sigma[flip, 2] *= -1.0
    moduli = float(material.mu), float(material.lam), float(material.compression_resistance)
    first, second, third = sigma.T
    mu, lam, kappa = moduli
    principal = np.stack(material.first_derivatives(first, second, third, mu, lam, kappa), axis=1)
    stress = (u * principal[:, None]) @ v
    volumes = np.linalg.det(shapes) / 6.0
    return volumes[:, None, None] * stress @ np.linalg.inv(shapes).transpose(0, 2, 1)


@pytest.mark.parametrize("stretches", STRETCHES)
@pytest.mark.parametrize("material", MATERIALS, ids=lambda law: type(law).__name__)
def test_forces_of_stretches_are_those_of_singular_vectors(material, stretches) -> None:
    random = np.random.default_rng(3)
    shapes = np.eye(3) + random.uniform(-0.2, 0.2, (COUNT, 3, 3))
    first, second = (Rotation.random(COUNT, random_state=k).as_matrix() for k in (1, 2))
    sigma = STRETCHES[stretches](random)
    f = first * sigma[:, None] @ second
    corners = np.concatenate([np.zeros((COUNT, 1, 3)), shapes.transpose(0, 2, 1)], axis=1)
    mesh = TetMesh(corners.reshape(-1, 3), np.arange(4 * COUNT).reshape(-1, 4))
    system = Simulator(Scene([SoftBody(mesh, material)]), SymplecticEuler()).system
    kernel = system.elasticities[0].kernel
    assert isinstance(kernel, StretchKernel)
    moved = np.einsum("mij,mkj->mki", f, corners).reshape(-1, 3)
    found = kernel.edge_forces(torch.as_tensor(np.ascontiguousarray(moved.T)))
    expected = forces_by_svd(material, f, shapes)
    size = max(np.abs(expected).max(), 1.0)
    np.testing.assert_allclose(found.T.reshape(-1, 3, 3), expected, atol=1e-9 * size)
    if stretches in ("almost a line", "turned over") and material is not MATERIALS[2]:
        assert kernel._separations.min() < MIN_SEPARATION
