# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core.linear_solvers.rigid_modes import (
    MAX_GROUPS,
    RigidModes,
    TorchRigidModes,
    bisect,
    coarse_inverse,
    group_size,
)
from supple.tests.core.linear_solvers.implicit_systems import ImplicitSystem, implicit_system


@pytest.fixture(params=["several groups", "one group", "two bodies", "pinned"])
def system(request: pytest.FixtureRequest, make_block) -> ImplicitSystem:
    block = make_block((3, 2, 2))
    return {
        "several groups": lambda: implicit_system(block, group_size=7),
        "one group": lambda: implicit_system(block, group_size=1000),
        "two bodies": lambda: implicit_system(block, make_block(origin=(5.0, 0.0, 0.0))),
        "pinned": lambda: implicit_system(block, pinned=(0, 5, 35)),
    }[request.param]()


def rigid_motions(system: ImplicitSystem) -> np.ndarray:
    """(3n, 6G): the unknowns' displacements under small rigid motions of groups, one a column."""
    points = system.positions.double().numpy()
    count = len(system.group_offsets) - 1
    motions = np.zeros((len(points), 3, count, 6))
    for group in range(count):
        own = slice(*system.group_offsets[group : group + 2])
        centroid_offsets = points[own] - points[own].mean(0)
        centroid_offsets /= max(np.sqrt((centroid_offsets**2).sum(1).mean()), 1e-30)
        for axis, unit in enumerate(np.eye(3)):
            motions[own, :, group, axis] = unit
            motions[own, :, group, 3 + axis] = np.cross(unit, centroid_offsets)
    return motions.reshape(3 * len(points), 6 * count)


def correction(system: ImplicitSystem) -> np.ndarray:
    """(3n, 3n): Z (Zᵀ A Z)⁻¹ Zᵀ."""
    z = rigid_motions(system)
    return z @ np.linalg.inv(z.T @ system.dense @ z) @ z.T


def test_the_compiled_coarse_matrix_is_the_dense_product(system) -> None:
    modes = RigidModes(system.pattern, system.group_offsets)
    found = torch.linalg.inv(modes.update(system.matrix, system.positions.numpy())).numpy()
    z = rigid_motions(system)
    expected = z.T @ system.dense @ z
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8 * expected.max())


def test_the_passes_correct_a_residual_as_the_dense_product_does(system) -> None:
    modes = TorchRigidModes(system.pattern, system.group_offsets)
    modes.update(system.matrix, system.positions)
    residual = system.rhs()
    found = modes.correction(residual.T.contiguous()).T.numpy().ravel()
    expected = correction(system) @ residual.numpy().ravel()
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-8 * abs(expected).max())


def test_the_passes_are_the_same_to_the_last_bit_each_time(system) -> None:
    def once() -> torch.Tensor:
        modes = TorchRigidModes(system.pattern, system.group_offsets)
        modes.update(system.matrix, system.positions)
        return modes.correction(system.rhs().T.contiguous())

    assert torch.equal(once(), once())


def test_a_group_of_one_vertex_can_only_be_moved(make_block) -> None:
    system = implicit_system(make_block((1, 1, 1)), group_size=1)
    modes = TorchRigidModes(system.pattern, system.group_offsets)
    modes.update(system.matrix, system.positions)
    residual = system.rhs()
    # Translations of all vertices are all there is: the correction is the solution.
    found = modes.correction(residual.T.contiguous()).T.numpy().ravel()
    expected = np.linalg.solve(system.dense, residual.numpy().ravel())
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_without_a_positive_definite_coarse_matrix_there_is_no_correction() -> None:
    assert not coarse_inverse(torch.diag(torch.tensor([2.0, -1.0, 1.0]).double())).any()


def test_groups_are_of_near_points_and_hold_each_once() -> None:
    points = np.random.default_rng(2).uniform(size=(200, 3)) * [4.0, 1.0, 1.0]
    groups = bisect(points, np.arange(0, 200, 2), 13)
    assert sorted(np.concatenate(groups)) == list(range(0, 200, 2))
    # As few as there can be, of about one size.
    assert len(groups) == 8
    assert {len(group) for group in groups} == {12, 13}
    spread = [np.linalg.norm(np.ptp(points[group], axis=0)) for group in groups]
    assert max(spread) < 0.5 * np.linalg.norm(np.ptp(points, axis=0))


@pytest.mark.parametrize("count", [1, 128, 129, 12_800, 12_801, 1_000_000])
def test_there_are_no_more_groups_than_the_coarse_problem_can_take(count: int) -> None:
    assert -(-count // group_size(count)) <= MAX_GROUPS
