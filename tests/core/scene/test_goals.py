# SPDX-License-Identifier: GPL-3.0-or-later
"""Test valid and refused goals, and their storage in files."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from supple.core import Channel, Goals, Scene, SceneError, Skin, SoftBody, SurfaceMesh
from supple.core.job import Job, Settings, digest

TWO = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
#: Of two vertices, at the start, after half a frame and after a frame.
MOVING = np.stack([TWO, TWO + 0.25, TWO + 1.0])
TETRAHEDRON = (
    [[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
    [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"vertices": []}, "Goals need a vertex"),
        ({"targets": MOVING[:, :1]}, r"targets of goals must be \(2, 3\)"),
        ({"targets": TWO * math.nan}, "targets of goals must be finite"),
        ({"weights": [0.5, 1.5]}, "weights of goals must be numbers from 0 to 1"),
        ({"weights": [-0.1, 0.5]}, "weights of goals"),
        ({"weights": math.nan}, "weights of goals"),
        ({"frequency": 0.0}, "frequency of goals must be above 0"),
        ({"damping_ratio": -1.0}, "damping ratio of goals must be 0 or more"),
    ],
)
def test_goals_that_make_no_sense_are_refused(wrong, message) -> None:
    with pytest.raises(SceneError, match=message):
        Goals(**{"vertices": [0, 1], "targets": TWO, **wrong})


@pytest.mark.parametrize("vertices", [[0, 8], [-1, 2], [3, 3]])
def test_a_goal_of_no_vertex_or_a_second_one_is_refused(make_block, vertices) -> None:
    goals = Goals(vertices, TWO)
    with pytest.raises(SceneError, match="Jelly: a vertex with a goal"):
        SoftBody(make_block((1, 1, 1)), goals=goals, name="Jelly")
    with pytest.raises(SceneError, match="the skin: a vertex with a goal"):
        Skin(make_block((1, 1, 1)).vertices, goals=goals)


def test_a_surface_has_goals_of_its_skin_alone() -> None:
    with pytest.raises(SceneError, match="no tet vertices yet to pin, place, reshape or draw to"):
        SoftBody(SurfaceMesh(*TETRAHEDRON), goals=Goals([0], TWO[:1]))


def test_without_damping_there_are_no_dashpots(make_block) -> None:
    mesh = make_block((1, 1, 1))
    for ratio, count in ((0.0, 1), (0.3, 2)):
        body = SoftBody(mesh, goals=Goals([0, 1], TWO, damping_ratio=ratio))
        assert len(body.forces) == count
    assert SoftBody(mesh).forces == []


def test_files_keep_goals_and_what_moves_between_frames(make_block, tmp_path: Path) -> None:
    skin = Skin(TETRAHEDRON[0], [2], Channel(MOVING[:, :1], 2), goals=Goals([1], TWO[:1], 0.5))
    goals = Goals([0, 1], Channel(MOVING, 2), [0.25, 0.75], 3.0, 0.0)
    scene = Scene(
        [
            SoftBody(make_block((1, 1, 1)), goals=goals),
            SoftBody(SurfaceMesh(*TETRAHEDRON), skin=skin),
        ]
    )
    settings = Settings(2, 1 / 24)
    Job.create(tmp_path / "job", scene, settings)
    read = Job(tmp_path / "job").scene
    assert digest(read, settings) == digest(scene, settings)
    first, second = read.bodies
    assert first.goals.targets.per_frame == 2
    np.testing.assert_array_equal(first.goals.targets.samples, MOVING)
    np.testing.assert_array_equal(first.goals.weights, [0.25, 0.75])
    assert (first.goals.frequency, first.goals.damping_ratio) == (3.0, 0.0)
    assert second.skin.pin_path.per_frame == 2
    assert second.skin.goals.targets.is_constant


def test_a_scene_without_goals_is_written_as_ever(make_block) -> None:
    from supple.core.job.scene_file import encode

    arrays: dict[str, np.ndarray] = {}
    body = SoftBody(make_block((1, 1, 1)), pinned=[0], pin_path=Channel(MOVING[:, :1]))
    encoded = encode(body, "body", arrays)
    assert "goals" not in encoded
    assert encoded["pin_path"] == {"array": "body/pin_path"}
