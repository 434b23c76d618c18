# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core import TetMesh
from supple.looks.filling import distances_outside, enclosed_volume, material_volume
from supple.looks.region import Region
from supple.verification.meshes import block, graded_ball

BLOCK = block((2, 2, 2), (1.0, 2.0, 3.0), (0.1, 0.2, 0.3))


#: The upper half of the upper tets of the block, and the lower half of them.
LAYERS = (
    ((-np.inf, -np.inf, 2.55), (np.inf, np.inf, np.inf)),
    ((-np.inf, -np.inf, 1.8), (np.inf, np.inf, 2.55)),
)


def two_blocks(apart: float) -> tuple[np.ndarray, np.ndarray]:
    count = len(BLOCK.vertices)
    vertices = np.concatenate([BLOCK.vertices, BLOCK.vertices + np.array([apart, 0.0, 0.0])])
    return vertices, np.concatenate([BLOCK.surface, BLOCK.surface + count])


def test_a_block_encloses_its_volume() -> None:
    assert enclosed_volume(BLOCK.vertices, BLOCK.surface) == pytest.approx(6.0, rel=5e-3)


def test_a_ball_of_tets_encloses_what_they_fill() -> None:
    ball = graded_ball(0.3, 6, 2.0)
    volume = enclosed_volume(ball.vertices, ball.surface)
    assert volume == pytest.approx(ball.rest_volumes.sum(), rel=2e-3)


@pytest.mark.parametrize(("apart", "once"), [(0.5, 9.0), (1.5, 12.0)])
def test_what_lies_in_two_shells_counts_once(apart: float, once: float) -> None:
    vertices, triangles = two_blocks(apart)
    assert enclosed_volume(vertices, triangles) == pytest.approx(once, rel=5e-3)


@pytest.mark.parametrize(
    ("region", "volume"),
    [
        (Region(low=(0.6, -np.inf, -np.inf)), 3.0),
        (Region(high=(np.inf, 0.7, np.inf)), 1.5),
        (Region(low=(-np.inf, -np.inf, 2.3)), 2.0),
        (Region(high=(np.inf, np.inf, 1.3)), 2.0),
        (Region((0.6, 1.2, 1.8), (9.0, 9.0, 2.8)), 0.5),
        (Region(low=(-np.inf, -np.inf, 4.0)), 0.0),
    ],
)
def test_only_what_is_in_the_region_counts(region: Region, volume: float) -> None:
    found = enclosed_volume(BLOCK.vertices, BLOCK.surface, region)
    assert found == pytest.approx(volume, rel=2e-3)


@pytest.mark.parametrize(
    ("region", "volume"),
    [(Region(), 6.0), (Region(low=(0.6, -np.inf, -np.inf)), 3.0), (Region(high=(9, 9, 1.05)), 1.5)],
)
def test_only_what_tets_are_filled_with_counts(region: Region, volume: float) -> None:
    surface = BLOCK.vertices, BLOCK.surface
    assert material_volume(BLOCK, *surface, region) == pytest.approx(volume, rel=0.02)
    half = TetMesh(BLOCK.vertices, BLOCK.tets, np.full(len(BLOCK.tets), 0.5))
    assert material_volume(half, *surface, region) == pytest.approx(0.5 * volume, rel=0.02)


def test_what_tets_are_filled_with_is_where_the_surface_has_its_inside() -> None:
    # The surface ends below the upper half of the upper tets, and beside all of them.
    inside = block((2, 2, 2), (1.2, 2.0, 2.25), (0.1, 0.2, 0.3))
    surface = inside.vertices, inside.surface
    upper = BLOCK.vertices[BLOCK.tets][:, :, 2].mean(axis=1) > 1.8
    fill = TetMesh(BLOCK.vertices, BLOCK.tets, np.where(upper, 0.5, 1.0))
    above, below = (material_volume(fill, *surface, Region(*at)) for at in LAYERS)
    assert above == pytest.approx(0.0, abs=1e-12)
    assert below == pytest.approx(1.5, rel=0.02)


def test_points_are_outside_by_their_distance_in_cells() -> None:
    low, high = BLOCK.vertices.min(axis=0), BLOCK.vertices.max(axis=0)
    middle, cell = 0.5 * (low + high), BLOCK.edge_length
    beside = middle + np.array([high[0] - middle[0] + 0.25 * cell, 0.0, 0.0])
    above = middle + np.array([0.0, 0.0, high[2] - middle[2] + 1e-5 * cell])
    far = middle + np.array([100.0, 0.0, 0.0])
    found = distances_outside(BLOCK, [middle, beside, above, far])
    np.testing.assert_allclose(found, [0.0, 0.25, 0.0, 4.0], atol=1e-6)
