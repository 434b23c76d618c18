# SPDX-License-Identifier: GPL-3.0-or-later
"""Fields are kept with their frames: through kills, damage and other settings."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from supple.core import Scene, SceneError, SoftBody, TetMesh
from supple.core.errors import DamageError
from supple.core.geometry.embedding import embed
from supple.core.job import Job, Settings, digest, files
from supple.core.job.skin_fields import SkinField, at_vertices
from supple.core.job.worker import work
from supple.core.materials import StableNeoHookean
from supple.core.results import RESULTS
from supple.core.scene.skin import Skin

from ..box_job import copied, run
from .tiny_job import contents, tiny_scene

FRAMES = 4
SETTINGS = Settings(FRAMES, device="cpu", results=tuple(RESULTS))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Job:
    job = Job.create(tmp_path_factory.mktemp("recorded"), tiny_scene(), SETTINGS)
    done = run(job.folder)
    assert done.returncode == 0, done.stderr
    return job


def test_every_frame_has_what_was_asked_for(recorded: Job) -> None:
    (body,) = recorded.tet_scene.bodies
    for index in range(FRAMES + 1):
        fields = recorded.read_fields(index)
        assert list(fields) == list(RESULTS)
        for name, values in fields.items():
            of = body.mesh.tets if RESULTS[name].per == "tet" else body.mesh.vertices
            assert values.shape == (len(of),)
            assert values.dtype == np.float32
    assert recorded.read_fields(FRAMES)["speed"].max() > 0.1
    assert recorded.read_fields(FRAMES)["von_mises"].max() > 1.0


def test_frames_are_the_same_bits_with_fields_and_without(recorded: Job, tmp_path: Path) -> None:
    plain = Job.create(tmp_path, tiny_scene(), replace(SETTINGS, results=()))
    assert run(plain.folder).returncode == 0
    for index in range(FRAMES + 1):
        assert plain.frame_path(index).read_bytes() == recorded.frame_path(index).read_bytes()
        assert not plain.fields_path(index).exists()


def frames(job: Job) -> dict[str, bytes]:
    """Positions and fields of all frames."""
    found = contents(job.folder)
    return {name: found[name] for name in found if name.startswith("frames")}


class _KilledError(BaseException):
    """Nothing handles it, as nothing handles a kill."""


def test_killed_before_any_file_appears_it_goes_on_with_the_same_bits(
    recorded: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_whole, kills = files.write_whole, 0
    for count in range(40):
        job = copied(recorded, tmp_path / str(count))
        job.truncate_after(FRAMES - 1)
        left = [count]

        def count_down(path: Path, *parts: bytes, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                path.with_name(f"{path.name}.4711.part").write_bytes(b"half")
                raise _KilledError
            write_whole(path, *parts)

        with monkeypatch.context() as patch, contextlib.suppress(_KilledError):
            patch.setattr(files, "write_whole", count_down)
            work(job.folder)
        if left[0] >= 0:
            break
        kills += 1
        assert run(job.folder).returncode == 0
        assert frames(job) == frames(recorded)
    # At least fields, positions and state.
    assert kills >= 3


@pytest.mark.parametrize("damage", [b"", b"PK not really", None])
def test_damaged_and_missing_fields_are_simulated_again(
    recorded: Job, tmp_path: Path, damage: bytes | None
) -> None:
    job = copied(recorded, tmp_path)
    path = job.fields_path(2)
    path.unlink()
    if damage is not None:
        path.write_bytes(damage)
    assert list(job.damaged_frames(FRAMES)) == [2]
    done = run(job.folder)
    assert done.returncode == 0, done.stderr
    assert "000002.npz is" in done.stdout
    assert path.read_bytes() == recorded.fields_path(2).read_bytes()


def test_fields_of_other_tetrahedra_are_damage(recorded: Job, tmp_path: Path) -> None:
    job = copied(recorded, tmp_path)
    own = job.read_fields(1)
    job.write_fields(1, own | {"speed": own["speed"][1:]})
    with pytest.raises(DamageError, match="holds no speed of this scene"):
        job.read_fields(1)
    job.write_fields(1, own | {"speed": np.full_like(own["speed"], np.nan)})
    with pytest.raises(DamageError, match="speed is not finite"):
        job.read_fields(1)


def test_settings_without_results_are_written_and_named_as_ever() -> None:
    plain = Settings(FRAMES, device="cpu")
    numbers = asdict(plain)
    assert (numbers.pop("results"), numbers.pop("pre_roll")) == ((), 0)
    assert (numbers.pop("resumed_run"), numbers.pop("resumed_frame")) == ("", 0)
    assert plain.record() == numbers
    names = {digest(tiny_scene(), plain), digest(tiny_scene(), SETTINGS)}
    assert len(names) == 2
    mixed = Settings(FRAMES, device="cpu", results=("speed", "von_mises", "speed"))
    assert mixed.results == ("von_mises", "speed")
    assert Settings.of(json.loads(json.dumps(mixed.record()))) == mixed


def test_a_result_that_is_unknown_is_refused() -> None:
    known = "von_mises, stretch, speed, contact_pressure, plastic_strain"
    with pytest.raises(SceneError, match=f"one of {known}, not"):
        Settings(1, results=("heat",))


# On the skin


def test_values_of_tets_come_to_vertices_by_volume(make_block) -> None:
    mesh = make_block((3, 1, 1))
    np.testing.assert_allclose(at_vertices(mesh, np.full(len(mesh.tets), 7.0)), 7.0, rtol=1e-12)
    big = TetMesh(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -3]], [[0, 1, 2, 3], [0, 2, 1, 4]]
    )
    found = at_vertices(big, np.array([4.0, 8.0]))
    np.testing.assert_allclose(found, [7.0, 7.0, 7.0, 4.0, 8.0], rtol=1e-12)


def test_the_skin_of_each_body_gets_its_own_values_and_none_beyond(
    make_block, tmp_path: Path
) -> None:
    bodies = []
    for place in range(2):
        mesh = make_block((1 + place, 1, 1), origin=(3.0 * place, 0.0, 0.0))
        # The last one lies outside of the tets.
        points = np.array([[0.25, 0.5, 0.5], [0.75, 0.1, 0.9], [0.5, 0.5, 1.4]])
        points += (3.0 * place, 0.0, 0.0)
        skin = Skin(points, embedding=embed(mesh, points))
        bodies.append(SoftBody(mesh, StableNeoHookean(1e4, 0.4), skin=skin, name=str(place)))
    job = Job.create(tmp_path, Scene(bodies), replace(SETTINGS, results=("stretch", "speed")))
    job.write_tet_scene(job.scene, [])
    counts = [len(body.mesh.tets) for body in bodies], [len(body.mesh.vertices) for body in bodies]
    heights = np.concatenate([body.mesh.vertices[:, 2] for body in bodies])
    fields = {"stretch": np.repeat([1.0, 2.0], counts[0]), "speed": heights}
    job.write_fields(0, {name: values.astype(np.float32) for name, values in fields.items()})
    for place in range(2):
        np.testing.assert_allclose(SkinField(job, "stretch", place).at(0), 1.0 + place, rtol=1e-6)
        np.testing.assert_allclose(SkinField(job, "speed", place).at(0), [0.5, 0.9, 1.0], rtol=1e-6)
    assert SkinField(job, "stretch", 1).range(0) == (2.0, 2.0)
    np.testing.assert_allclose(SkinField(job, "speed", 0).range(0), (0.5, 1.0), rtol=1e-6)
