# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields as a script writes them, and as a file has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from supple.core import Channel, Falloff, ForceField, Scene, SceneError, SoftBody, Wind
from supple.core.job import Job, Settings, digest
from supple.core.job.run import simulate
from supple.core.job.scene_file import load_scene, save_scene
from supple.core.materials import StableNeoHookean
from supple.core.potentials.field_laws import _Numbers
from supple.core.scene.force_fields import FALLOFF_NUMBERS, OWN_NUMBERS
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
    assert _Numbers._fields == (*OWN_NUMBERS, *FALLOFF_NUMBERS)
    field = ForceField(
        "force",
        *(2.0, (1.0, 2.0, 3.0), (0.0, 1.0, 0.0)),
        flow=[0.1, 0.2, 0.2],
        falloff=Falloff(min_radius=7.0),
    )
    samples = field.parameters.samples
    assert samples.shape == (3, 17)
    np.testing.assert_array_equal(samples[:, :7], [[1, 2, 3, 0, 1, 0, 2]] * 3)
    numbers = _Numbers(*samples.T[6:])
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
