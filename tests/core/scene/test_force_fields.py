# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields as a script writes them, and as a file has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from supple.core import (
    Absorber,
    Channel,
    Falloff,
    ForceField,
    Scene,
    SceneError,
    SoftBody,
    VelocityGrid,
    Wind,
)
from supple.core.job import Job, Settings, digest
from supple.core.job.run import simulate
from supple.core.job.scene_file import encode, load_scene, save_scene
from supple.core.kernels.field_response import FieldNumbers
from supple.core.materials import StableNeoHookean
from supple.core.scene.forces import FALLOFF_NUMBERS, OWN_NUMBERS
from supple.verification.meshes import block

SETTINGS = Settings(2, device="cpu")


def body(**settings) -> SoftBody:
    mesh = block((1, 1, 1), (0.2, 0.2, 0.2), (0.0, 0.0, 0.05))
    return SoftBody(mesh, StableNeoHookean(1e4, 0.3), name="Jelly", **settings)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ForceField("gale"), "Force field: the kind must be one of force, wind"),
        (lambda: ForceField("wind", shape="cube"), "the shape must be one of point, line, plane"),
        (lambda: ForceField("wind", float("nan"), name="Fan"), "Fan: the strength must be finite"),
        (lambda: ForceField("force", axis=(0, 0, 0)), "the axis has no length"),
        (lambda: ForceField("force", axis=np.eye(4, 3)), "the axis has no length"),
        (lambda: ForceField("force", unit=0.0), "the unit must be above 0"),
        (lambda: ForceField("turbulence", size=-1.0), "the size must be 0 or more, not -1"),
        (lambda: ForceField("lennard_jones"), "Lennard-Jones needs a size above 0"),
        (lambda: ForceField("force", weight=[1.0, -0.5]), "the weight must be 0 or more, not -0.5"),
        (lambda: Falloff("disc"), "The shape of a falloff must be one of sphere, tube, cone"),
        (lambda: Falloff(side="up"), "The side of a falloff must be one of"),
        (lambda: Falloff(power=-1.0), "power of a falloff must be 0 or more"),
        (lambda: Wind((1.0, 0.0)), "Wind: the velocity must be three finite numbers"),
        (lambda: Wind((1.0, 0.0, 0.0), drag=-1.0), "Wind: the drag must be 0 or more"),
        (lambda: body(field_weight=-1.0), "Jelly: the weight of force fields must be 0 or more"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(make, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        make()


def test_numbers_lie_where_the_laws_look_for_them() -> None:
    assert FieldNumbers._fields == (*OWN_NUMBERS, *FALLOFF_NUMBERS)
    field = ForceField(
        "force",
        *(2.0, (1.0, 2.0, 3.0), (0.0, 1.0, 0.0)),
        flow=[0.1, 0.2, 0.2],
        falloff=Falloff(min_radius=7.0),
    )
    samples = field.parameters.samples
    assert samples.shape == (3, 17)
    np.testing.assert_array_equal(samples[:, :7], [[1, 2, 3, 0, 1, 0, 2]] * 3)
    numbers = FieldNumbers(*samples.T[6:])
    np.testing.assert_array_equal(numbers.flow, [0.1, 0.2, 0.2])
    assert numbers.weight[0] == 1.0 and numbers.min_radius[0] == 7.0
    assert numbers.max_radius[0] == numbers.max_distance[0] > 1e20
    np.testing.assert_array_equal(Wind((1.0, 2.0, 3.0)).parameters.samples, [[1, 2, 3, 1]])


def fields() -> list[ForceField | Wind]:
    keyed = ForceField(
        "harmonic",
        Channel(np.array([1.0, 4.0, 9.0])),
        Channel(np.arange(9.0).reshape(3, 3)),
        damping=0.3,
        falloff=Falloff("cone", 2.0, max_distance=5.0, max_radius=[30.0, 60.0]),
    )
    return [keyed, Wind((1.0, 2.0, 0.0), [0.5, 1.5])]


def test_a_file_has_all_of_a_field(tmp_path: Path) -> None:
    scene = Scene([body(field_weight=0.25)], forces=fields())
    save_scene(tmp_path / "scene.json", scene, {})
    read, _ = load_scene(tmp_path / "scene.json")
    assert read.bodies[0].field_weight == 0.25
    for written, found in zip(scene.forces, read.forces, strict=True):
        assert isinstance(written, ForceField | Wind) and isinstance(found, ForceField | Wind)
        samples = (each.parameters.samples for each in (written, found))
        np.testing.assert_array_equal(*samples)
    first, wind = read.forces
    assert isinstance(first, ForceField) and isinstance(wind, Wind)
    assert (first.kind, first.falloff.shape, wind.name) == ("harmonic", "cone", "Wind")
    assert digest(read, SETTINGS) == digest(scene, SETTINGS)


def test_a_run_is_known_by_its_fields() -> None:
    scenes = [
        Scene([body()]),
        Scene([body()], forces=[ForceField("wind")]),
        Scene([body()], forces=[ForceField("wind", 2.0)]),
        Scene([body()], forces=[ForceField("wind", falloff=Falloff(power=1.0))]),
        Scene([body(field_weight=0.5)], forces=[ForceField("wind")]),
    ]
    assert len({digest(scene, SETTINGS) for scene in scenes}) == len(scenes)


def test_a_job_gone_on_with_has_the_same_bytes(tmp_path: Path) -> None:
    def job(name: str, frames: int) -> Job:
        made = Job.create(
            tmp_path / name, Scene([body()], forces=fields()), Settings(frames, device="cpu")
        )
        if not made.has_tet_scene():
            made.write_tet_scene(made.scene, [])
        simulate(made)
        return made

    at_once = job("at once", 4)
    job("in parts", 2)
    in_parts = job("in parts", 4)
    for index in range(5):
        first, second = (each.frame_path(index).read_bytes() for each in (at_once, in_parts))
        assert first == second


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


TRIANGLE = np.array([[0, 1, 2]], dtype=np.int32)


@pytest.mark.parametrize(
    ("absorption", "words"),
    [
        (1.5, "Wall: the absorption must be 1 or less, not 1.5"),
        (-0.1, "Wall: the absorption must be 0 or more, not -0.1"),
        (np.array([0.5, 2.0]), "Wall: the absorption must be 1 or less, not 2"),
    ],
)
def test_only_a_share_can_be_absorbed(absorption, words) -> None:
    with pytest.raises(SceneError, match=words):
        Absorber(np.eye(3), TRIANGLE, absorption, "Wall")


def test_triangles_are_of_its_vertices() -> None:
    with pytest.raises(SceneError, match="Wall"):
        Absorber(np.eye(3), TRIANGLE + 1, name="Wall")


def test_files_keep_absorbers_and_which_fields_are_absorbed(make_block, tmp_path: Path) -> None:
    moving = np.eye(3) + np.array([0.0, 1.0, 3.0])[:, None, None]
    walls = [
        Absorber(moving, TRIANGLE, Channel(np.array([0.1, 0.7])), "Moving"),
        Absorber(np.eye(3), TRIANGLE, 0.3),
    ]
    fields = [ForceField("wind", is_absorbed=True), ForceField("wind")]
    scene = Scene([SoftBody(make_block((1, 1, 1)))], forces=fields, absorbers=walls)
    settings = Settings(2, 1 / 24)
    Job.create(tmp_path / "job", scene, settings)
    read = Job(tmp_path / "job").scene
    assert digest(read, settings) == digest(scene, settings)
    assert [getattr(force, "is_absorbed", None) for force in read.forces] == [True, False]
    first, second = read.absorbers
    np.testing.assert_array_equal(first.vertices.samples, moving)
    np.testing.assert_array_equal(first.absorption.samples, [0.1, 0.7])
    assert (first.name, second.absorption) == ("Moving", 0.3)


def test_a_scene_without_absorbers_is_written_as_ever(make_block) -> None:
    scene = Scene([SoftBody(make_block((1, 1, 1)))], forces=[ForceField("wind")])
    encoded = encode(scene, "scene", {})
    assert "absorbers" not in encoded and "is_absorbed" not in encoded["forces"][0]
