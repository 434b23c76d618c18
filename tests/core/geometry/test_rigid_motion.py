# SPDX-License-Identifier: GPL-3.0-or-later
"""The rigid motion closest to the motion of points."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from supple.core.geometry.rigid_motion import keep_group_motion, rigid_velocity

Columns = torch.Tensor


def points(count: int, seed: int) -> Columns:
    return torch.as_tensor(np.random.default_rng(seed).standard_normal((3, count)))


def turning(positions: Columns, linear: Columns, angular: Columns) -> Columns:
    """Velocities of a body that turns about the origin."""
    whole = angular[:, None].expand_as(positions)
    return linear[:, None] + torch.linalg.cross(whole, positions, dim=0)


@pytest.mark.parametrize("offsets", [None, torch.tensor([0, 9])])
def test_a_rigid_motion_is_its_own(offsets) -> None:
    positions, masses = points(9, 0), torch.arange(1.0, 10.0, dtype=torch.float64)
    linear, angular = points(2, 1).T
    velocities = turning(positions, linear, angular)
    motion = rigid_velocity(masses, positions, velocities, offsets)
    centre = positions @ masses / masses.sum()
    torch.testing.assert_close(motion.centre[0], centre)
    torch.testing.assert_close(motion.linear[0], linear + torch.linalg.cross(angular, centre))
    torch.testing.assert_close(motion.angular[0], angular)
    torch.testing.assert_close(motion.at(positions), velocities)


def test_any_motion_keeps_momentum_and_angular_momentum() -> None:
    positions, velocities, masses = points(9, 0), points(9, 1), points(9, 2)[0].exp()
    left = velocities - rigid_velocity(masses, positions, velocities).at(positions)
    torch.testing.assert_close(left @ masses, torch.zeros(3, dtype=torch.float64))
    spin = torch.linalg.cross(positions, left * masses, dim=0).sum(1)
    torch.testing.assert_close(spin, torch.zeros(3, dtype=torch.float64))
    assert float((masses * left.square()).sum()) > 1.0


def test_bodies_side_by_side_move_each_by_itself() -> None:
    positions, velocities, masses = points(15, 0), points(15, 1), points(15, 2)[0].exp()
    both = rigid_velocity(masses, positions, velocities, torch.tensor([0, 6, 15]))
    at = both.at(positions, torch.tensor([0] * 6 + [1] * 9))
    for body, where in enumerate((slice(0, 6), slice(6, 15))):
        parts = masses[where], positions[:, where], velocities[:, where]
        alone = rigid_velocity(*parts)
        for part, other in zip(both, alone, strict=True):
            torch.testing.assert_close(part[body], other[0])
        torch.testing.assert_close(at[:, where], alone.at(positions[:, where]))
        torch.testing.assert_close(both.at(parts[1], body), at[:, where])


def test_points_on_a_line_in_single_precision_do_not_turn_about_it() -> None:
    direction = torch.tensor([1.0, 2.0, -2.0], dtype=torch.float64) / 3.0
    positions = direction[:, None] * torch.linspace(0.0, 1.0, 7, dtype=torch.float64)
    positions = (positions + 10.0).to(torch.float32).double()
    angular = torch.tensor([0.5, -1.0, 2.0], dtype=torch.float64)
    noise = 1e-3 * points(7, 3)
    motion = rigid_velocity(
        torch.ones(7, dtype=torch.float64),
        positions,
        turning(positions, torch.zeros(3, dtype=torch.float64), angular) + noise,
    )
    assert abs(float(motion.angular[0] @ direction)) < 1e-4
    across = angular - (angular @ direction) * direction
    torch.testing.assert_close(motion.angular[0], across, atol=5e-3, rtol=0.0)


def test_a_point_goes_as_it_goes() -> None:
    position, velocity = points(1, 0), points(1, 1)
    motion = rigid_velocity(torch.ones(1, dtype=torch.float64), position, velocity)
    torch.testing.assert_close(motion.at(position), velocity)
    torch.testing.assert_close(motion.angular, torch.zeros(1, 3, dtype=torch.float64))


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
