# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from supple.core import Ground, JobError, Scene, SceneError, Skin, SoftBody, Sphere, SurfaceMesh
from supple.core.job import Job, Settings, digest
from supple.core.job.files import read_json, write_json
from supple.core.job.scene_file import decode, encode
from supple.core.materials import NeoHookean, StableNeoHookean, StVenantKirchhoff
from supple.core.scene.contact_settings import Contact, PairFriction
from supple.core.scene.forces import Absorber, ForceField
from supple.core.scene.integrator_table import INTEGRATORS

from ..boxes import BOX_TRIANGLES, box_corners

BOX = box_corners(), BOX_TRIANGLES


def _scene(make_block) -> Scene:
    tets = SoftBody(
        make_block(),
        NeoHookean(1e4, 0.3, j_min=0.2),
        density=900.0,
        pinned=[0, 3],
        pin_path=np.zeros((2, 2, 3)),
        initial_positions=make_block().vertices + 1.0,
        damping=0.25,
        stiffness_damping=0.004,
        viscosity=7.0,
        loss_factor=0.3,
        name="Blöck",
    )
    surface = SoftBody(
        SurfaceMesh(*BOX, edge_length=0.5),
        StableNeoHookean(np.float64(2e4), 0.4),
        skin=Skin(BOX[0], pinned=[1]),
        name="Box",
    )
    ball = Sphere((0.0, 9.0, 0.0), 1.5, friction=0.2, restitution=0.3, penalty=4.0, name="Ball")
    return Scene([tets, surface], Ground(-2.0, friction=0.1), (0, 1, -2), [ball])


def test_settings_of_a_file_that_asks_for_single_precision_are_read_without_it() -> None:
    assert Settings.of(Settings(3).record() | {"dtype": "float32"}) == Settings(3)


def test_a_scene_comes_back_from_the_folder_as_it_was(make_block, tmp_path: Path) -> None:
    settings = Settings(*(12, 1 / 30, 5), device="cpu", integrator="bdf2", step_tolerance=1e-5)
    Job.create(tmp_path / "job", _scene(make_block), settings)
    read = Job(tmp_path / "job")
    assert read.settings == settings
    assert digest(read.scene, settings) == digest(_scene(make_block), settings)
    first, second = read.scene.bodies
    assert (first.name, second.name) == ("Blöck", "Box")
    assert isinstance(first.material, NeoHookean)
    assert first.material.j_min == 0.2
    assert (first.damping, first.stiffness_damping, first.viscosity) == (0.25, 0.004, 7.0)
    assert first.loss_factor == 0.3
    np.testing.assert_array_equal(first.mesh.tets, make_block().tets)
    assert isinstance(second.mesh, SurfaceMesh)
    assert second.mesh.edge_length == 0.5
    assert read.scene.gravity == (0.0, 1.0, -2.0)
    (ball,) = read.scene.colliders
    assert (ball.center, ball.radius, ball.penalty, ball.name) == ((0, 9, 0), 1.5, 4.0, "Ball")


def test_members_are_written_by_their_names_and_read_by_those_of_older_files() -> None:
    written = encode(StVenantKirchhoff(1e4, 0.3, compression_resistance=1e7), "material", {})
    older = {"type": "StVenantKirchhoff", "young": 1e4, "poisson": 0.3, "guard": 1e7}
    assert set(written) == {"type", "young", "poisson", "compression_resistance"}
    for each in (written, older):
        assert decode(each, {}).compression_resistance == 1e7


def test_a_change_of_any_number_changes_the_digest(make_block) -> None:
    settings = Settings(12)
    slower = Settings(12, frame_time=0.05)
    names = {digest(_scene(make_block), settings), digest(_scene(make_block), slower)}
    moved = _scene(make_block)
    moved.bodies[1].mesh.vertices[0, 0] += 1e-9
    names.add(digest(moved, settings))
    for setting in ("damping", "stiffness_damping", "viscosity", "loss_factor"):
        calmer = _scene(make_block)
        setattr(calmer.bodies[0], setting, 0.26)
        names.add(digest(calmer, settings))
    smoother = _scene(make_block)
    smoother.colliders[0].friction = 0.1
    names.add(digest(smoother, settings))
    names |= {digest(_scene(make_block), Settings(12, integrator=name)) for name in INTEGRATORS}
    assert len(names) == 7 + len(INTEGRATORS)


def test_names_are_no_part_of_the_digest_but_what_has_the_same_one_is(make_block) -> None:
    """A force field does not absorb itself."""

    def named(body: str, field: str, absorber: str) -> str:
        scene = _scene(make_block)
        scene.bodies[0].name = body
        wall = Absorber(BOX[0], BOX[1], 0.5, name=absorber)
        fan = ForceField("wind", 1.0, is_absorbed=True, name=field)
        return digest(replace(scene, forces=[fan], absorbers=[wall]), Settings(12))

    assert named("A", "Fan", "Wall") == named("Z", "Wall", "Fan")
    assert named("A", "Fan", "Fan") != named("A", "Fan", "Wall")


def test_names_count_where_a_pair_is_named(make_block) -> None:
    def named(body: str) -> str:
        scene = Scene([SoftBody(make_block(), name=body), SoftBody(make_block(), name="Cup")])
        pairs = [PairFriction("Ball", "Cup", 0.1)]
        return digest(replace(scene, contact=Contact(pairs=pairs)), Settings(12))

    assert named("Ball") != named("Cup")


def test_a_longer_run_of_the_same_scene_has_the_same_digest(make_block) -> None:
    scene = _scene(make_block)
    assert digest(scene, Settings(12)) == digest(scene, Settings(250))


def test_nothing_is_left_half_written(make_block, tmp_path: Path) -> None:
    Job.create(tmp_path, _scene(make_block), Settings(3))
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda job: (job / "scene.json").unlink(), "scene.json is missing. Simulate again"),
        (lambda job: (job / "scene.npz").unlink(), "scene.npz is missing. Simulate again"),
        (lambda job: (job / "scene.json").write_text('{"format": 1, "sc'), "damaged"),
        (lambda job: (job / "scene.json").write_text("[]"), "damaged"),
        (lambda job: _cut(job / "scene.npz"), "damaged"),
        (lambda job: _edit(job, "settings", frame_count=0), "end frame must come after"),
        (lambda job: _edit(job, "settings", frames=3), "unexpected keyword"),
        (lambda job: _edit(job, "settings", integrator="magic"), "integrator must be one of"),
        (lambda job: _edit(job, "scene", gravity="down"), "gravity of Scene cannot be 'down'"),
        (lambda job: _edit(job, "scene", type="Torch"), "Torch"),
    ],
)
def test_a_damaged_folder_is_refused_by_file(make_block, tmp_path: Path, damage, message) -> None:
    Job.create(tmp_path, _scene(make_block), Settings(3))
    damage(tmp_path)
    with pytest.raises(JobError, match=message):
        _ = Job(tmp_path).scene


def test_pickled_arrays_are_never_loaded(make_block, tmp_path: Path) -> None:
    Job.create(tmp_path, _scene(make_block), Settings(3))
    np.savez(tmp_path / "scene.npz", **{"scene/bodies/0/pinned": np.array([{}], dtype=object)})
    with pytest.raises(JobError, match="damaged"):
        _ = Job(tmp_path).scene


def test_a_record_cut_off_by_a_kill_is_left_out(tmp_path: Path) -> None:
    job = Job(tmp_path)
    job.append_record({"frame": 1})
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"frame": 2, "kin')
    assert job.records() == [{"frame": 1}]


def test_what_lies_beyond_the_checkpoint_is_forgotten(tmp_path: Path) -> None:
    (tmp_path / "frames").mkdir()
    job = Job(tmp_path)
    for index in range(4):
        job.write_frame(index, np.zeros((2, 3)))
        job.append_record({"frame": index})
    job.truncate_after(2)
    assert job.last_frame() == 2
    assert [record["frame"] for record in job.records()] == [0, 1, 2]


def test_a_folder_that_cannot_be_made_is_named(make_block, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(JobError, match=r"file/job cannot be made: .*Choose another"):
        Job.create(tmp_path / "file" / "job", _scene(make_block), Settings(3))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"frame_count": 0}, "end frame must come after the start frame"),
        ({"frame_count": 3, "frame_time": 0.0}, "above 0 s"),
        ({"frame_count": 3, "substeps": 0}, "at least 1 substep"),
        ({"frame_count": 2.5}, r"number of frames must be a whole number, not 2\.5"),
        ({"frame_count": 3, "substeps": 1.5}, r"number of substeps must be a whole number"),
        ({"frame_count": 3, "pre_roll": "1"}, "pre-roll must be a whole number, not '1'"),
        ({"frame_count": 3, "device": "tpu"}, "auto, cpu or cuda"),
        ({"frame_count": 3, "integrator": "Euler"}, "automatic, implicit_euler, .*not 'Euler'"),
        ({"frame_count": 3, "step_tolerance": 0.0}, "adaptive steps must be above 0 m, not 0"),
    ],
)
def test_settings_out_of_range_are_refused(values: dict, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        Settings(**values)


class _Slime(StableNeoHookean):
    pass


@pytest.mark.parametrize(
    ("material", "message"),
    [
        (_Slime(1e4, 0.3), "No file can hold the class _Slime; simulate the scene in the script"),
        (StableNeoHookean([1e4] * 48, 0.3), "young of StableNeoHookean cannot be a list; give num"),
    ],
)
def test_what_could_not_be_read_again_is_not_saved(
    make_block, tmp_path: Path, material: StableNeoHookean, message: str
) -> None:
    with pytest.raises(SceneError, match=message):
        Job.create(tmp_path, Scene([SoftBody(make_block(), material)]), Settings(3))
    assert not (tmp_path / "scene.json").exists()


def test_a_folder_may_be_named_by_a_string_and_numbers_be_numpys(make_block, tmp_path) -> None:
    material = StableNeoHookean(np.float32(1e4), np.float64(0.3))
    scene = Scene([SoftBody(make_block(), material, density=np.int64(900))])
    job = Job.create(str(tmp_path / "job"), scene, Settings(np.int64(3)))
    assert job.folder == tmp_path / "job"
    assert job.settings.frame_count == 3
    assert job.scene.bodies[0].density == 900


def _cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def _edit(job: Path, part: str, **values: object) -> None:
    """With a checksum that fits, as if it had been written so."""
    content = read_json(job / "scene.json")
    content[part].update(values)
    write_json(job / "scene.json", content)
