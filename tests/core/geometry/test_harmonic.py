# SPDX-License-Identifier: GPL-3.0-or-later
"""Values inside a mesh from those on its boundary."""

from __future__ import annotations

import numpy as np

from supple.core.geometry.cage_fit import harmonic_extension
from supple.verification.meshes import irregular_block


def test_linear_values_are_found_exactly() -> None:
    mesh = irregular_block((4, 4, 4))
    wanted = mesh.vertices @ np.array([[2.0, 1.0], [-3.0, 0.0], [5.0, 0.0]]) + [7.0, -1.0]
    boundary = np.unique(mesh.surface)
    assert len(boundary) < len(mesh.vertices)
    found = harmonic_extension(mesh, boundary, wanted[boundary])
    np.testing.assert_allclose(found, wanted, atol=1e-9)


def test_inside_nothing_is_beyond_the_values_on_the_boundary() -> None:
    mesh = irregular_block((5, 5, 5), seed=3)
    boundary = np.unique(mesh.surface)
    values = np.random.default_rng(1).integers(0, 2, (len(boundary), 1)).astype(float)
    found = harmonic_extension(mesh, boundary, values)
    assert found.min() == 0.0
    assert found.max() == 1.0
    inside = np.setdiff1d(np.arange(len(mesh.vertices)), boundary)
    assert np.ptp(found[inside]) < 0.9


def test_a_boundary_of_which_nothing_is_known_lets_nothing_through(make_block) -> None:
    """From end to end of a bar whose sides are free: linear all the same."""
    mesh = make_block((8, 2, 2), (2.0, 0.5, 0.5))
    ends = np.flatnonzero(np.isin(mesh.vertices[:, 0], (0.0, 2.0)))
    found = harmonic_extension(mesh, ends, 3.0 * mesh.vertices[ends, :1])
    np.testing.assert_allclose(found, 3.0 * mesh.vertices[:, :1], atol=1e-8)
