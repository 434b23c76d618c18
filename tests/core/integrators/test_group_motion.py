# SPDX-License-Identifier: GPL-3.0-or-later
"""Groups of bodies whose moves were truncated keep their momenta and gain no energy."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from supple.core.geometry.rigid_motion import keep_group_motion


def momenta(masses: Tensor, positions: Tensor, velocities: Tensor) -> np.ndarray:
    """(6,) linear and angular."""
    impulses = masses * velocities
    turning = torch.linalg.cross(positions, impulses, dim=0)
    return torch.cat([impulses.sum(1), turning.sum(1)]).numpy()


def kinetic_energy(masses: Tensor, velocities: Tensor) -> float:
    return float(0.5 * (masses * velocities.square()).sum())


def test_momenta_are_those_before_and_no_energy_is_added() -> None:
    generator = torch.Generator().manual_seed(3)
    for _ in range(200):
        masses = torch.rand(9, generator=generator, dtype=torch.float64) + 0.1
        positions, whole = torch.randn(2, 3, 9, generator=generator, dtype=torch.float64)
        # Mostly rigid motion, of which some vertices lose nearly all.
        whole = 0.05 * whole + torch.tensor([[3.0], [-1.0], [0.5]], dtype=torch.float64)
        step_sizes = torch.rand(9, generator=generator, dtype=torch.float64) ** 3
        own = masses, positions, step_sizes * whole, (1.0 - step_sizes) * whole
        corrected = keep_group_motion(*own)
        expected = momenta(masses, positions, whole)
        np.testing.assert_allclose(momenta(masses, positions, corrected), expected, atol=1e-12)
        assert kinetic_energy(masses, corrected) <= kinetic_energy(masses, whole) * (1.0 + 1e-12)


def test_two_bodies_of_which_one_stops_go_on_with_the_velocity_of_their_centre() -> None:
    """As in a perfectly inelastic impact: (m₁ v₁ + m₂ v₂)/(m₁ + m₂), of two cubes in line."""
    corners = torch.tensor(np.indices((2, 2, 2)).reshape(3, 8), dtype=torch.float64)
    positions = torch.cat([corners, corners + torch.tensor([[1.5], [0.0], [0.0]])], dim=1)
    masses = torch.cat([torch.full((8,), 2.0), torch.full((8,), 1.0)]).double()
    whole = torch.zeros_like(positions)
    whole[0, :8], whole[0, 8:] = 3.0, -1.5
    corrected = keep_group_motion(masses, positions, torch.zeros_like(whole), whole)
    expected = torch.zeros_like(whole)
    expected[0] = (2.0 * 3.0 - 1.0 * 1.5) / 3.0
    torch.testing.assert_close(corrected, expected, rtol=0.0, atol=1e-12)


def test_what_falls_as_a_whole_goes_on_as_a_whole_whichever_vertices_stop() -> None:
    positions = torch.tensor(np.indices((3, 2, 2)).reshape(3, 12), dtype=torch.float64)
    masses = torch.linspace(1.0, 2.0, 12, dtype=torch.float64)
    whole = torch.zeros_like(positions)
    whole[2] = -4.0
    velocities = whole.clone()
    velocities[:, :5] = 0.0
    corrected = keep_group_motion(masses, positions, velocities, whole - velocities)
    torch.testing.assert_close(corrected, whole, rtol=0.0, atol=1e-12)
