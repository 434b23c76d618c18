# SPDX-License-Identifier: GPL-3.0-or-later
"""Test refused absorbers, and their storage in files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from supple.core import Absorber, Channel, ForceField, Scene, SoftBody
from supple.core.errors import SceneError
from supple.core.job import Job, Settings, digest
from supple.core.job.scene_file import encode

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
