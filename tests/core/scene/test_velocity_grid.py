# SPDX-License-Identifier: GPL-3.0-or-later
"""Test refused grids of velocities, and their storage in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from supple.core import Channel, ForceField, Scene, SceneError, SoftBody, VelocityGrid
from supple.core.job.scene_file import encode, load_scene, save_scene

BOX = np.eye(3, 4)
HALVES = np.arange(24.0).reshape(1, 2, 2, 2, 3) / 8.0


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"velocities": np.zeros((2, 3))}, "velocities must have 5 dimensions, not 2"),
        ({"velocities": np.zeros((1, 2, 2, 2, 4))}, r"must be \(frames, Z, Y, X, 3\) numbers"),
        ({"velocities": np.full((1, 1, 1, 3), np.nan)}, "velocities must be finite"),
        ({"density": np.zeros((2, 2, 3))}, "one number a cell and frame"),
        ({"matrix": np.zeros((3, 4))}, "the box is flat at frame 0; scale it up"),
        ({"matrix": np.zeros((2, 3, 3))}, r"the matrix must be \(3, 4\)"),
        ({"cell": (1.0, 0.0, 1.0)}, "a side of a cell must be above 0"),
        ({"speed": -1.0}, "the speed must be 0 or more"),
    ],
)
def test_what_makes_no_grid_is_refused(settings, message) -> None:
    with pytest.raises(SceneError, match=f"Smoke: .*{message}"):
        VelocityGrid(**({"velocities": HALVES, "matrix": BOX, "name": "Smoke"} | settings))


@pytest.mark.parametrize(("kind", "grid"), [("fluid_flow", None), ("wind", HALVES)])
def test_a_grid_belongs_to_a_fluid_flow_alone(kind, grid) -> None:
    grid = None if grid is None else VelocityGrid(grid, BOX)
    with pytest.raises(SceneError, match="Fan: a grid of velocities belongs to a fluid flow"):
        ForceField(kind, grid=grid, name="Fan")


def test_half_precision_is_kept_where_it_loses_nothing(make_block, tmp_path: Path) -> None:
    """As caches of fluids have it; and what is read is what was written."""
    random = np.random.default_rng(0).normal(size=(3, 2, 2, 2, 3)).astype(np.float32)
    moving = Channel(np.stack([BOX, 2.0 * BOX, BOX]))
    grids = [
        VelocityGrid(HALVES, BOX, density=np.full((2, 2, 2), 0.5)),
        VelocityGrid(random, moving, (0.1, 0.2, 0.3), (1.0, 2.0, 3.0), Channel([1.0, 2.0])),
        VelocityGrid(np.full((1, 1, 1, 3), 7e4), BOX),
    ]
    assert [grid.velocities.dtype for grid in grids] == [np.float16, np.float32, np.float32]
    fields = [ForceField("fluid_flow", grid=grid) for grid in grids]
    save_scene(tmp_path / "scene.json", Scene([SoftBody(make_block((1, 1, 1)))], forces=fields), {})
    scene, _ = load_scene(tmp_path / "scene.json")
    for grid, field in zip(grids, scene.forces, strict=True):
        assert isinstance(field, ForceField) and field.grid is not None
        np.testing.assert_array_equal(field.grid.velocities, grid.velocities)
        assert field.grid.velocities.dtype == grid.velocities.dtype
        np.testing.assert_array_equal(field.grid.matrix.samples, grid.matrix.samples)
        assert (field.grid.start, field.grid.cell) == (grid.start, grid.cell)
        np.testing.assert_array_equal(
            Channel.of(field.grid.speed, "").samples, Channel.of(grid.speed, "").samples
        )
        assert (field.grid.density is None) == (grid.density is None)
        if grid.density is not None and field.grid.density is not None:
            np.testing.assert_array_equal(field.grid.density, grid.density)


def test_a_field_without_a_grid_is_written_as_ever(make_block) -> None:
    wind = ForceField("wind")
    scene = Scene([SoftBody(make_block((1, 1, 1)))], forces=[wind])
    assert "grid" not in encode(scene, "scene", {})["forces"][0]
    assert wind.parameters.samples.shape == (1, 17)
