# SPDX-License-Identifier: GPL-3.0-or-later
"""Throws that a job finds."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supple.core import Collider, Contact, Ground, InstabilityError, Scene
from supple.core.job import Job, Settings, fits
from supple.core.job.fit import mean_of
from supple.core.job.follow import with_body
from supple.core.job.run import simulator_of
from supple.core.job.worker import work
from supple.core.preparation.prepared import prepare

from .test_fit import bar, found, last_skin


def thrown(folder: Path, scene: Scene, target: Any, frame: int, **settings: Any) -> Any:
    """The throw that a worker finds."""
    Job.create(folder, scene, Settings(frame, device="cpu", **settings))
    fits.write_wanted(folder, fits.HitTarget(0, tuple(target), frame))
    work(folder)
    assert len(fits.read_losses(folder)) <= 30
    return fits.read_found(folder)


def reached(scene: Scene, frame: int, velocity: Any, **settings: Any) -> np.ndarray:
    """The place of the centre of mass after a throw."""
    own = with_body(prepare(scene)[0], 0, velocity=velocity)
    *_, last = simulator_of(own, Settings(frame, device="cpu", **settings)).run(frame)
    return mean_of(own.bodies[0], None) @ last.positions[0].numpy()


def test_a_throw_is_found_for_points_that_are_seen(tmp_path: Path) -> None:
    scene = Scene([bar(held=False)], Ground())
    corner = np.zeros(8)
    corner[7] = 1.0
    target = (0.9, 0.3, 0.5)
    throw = found(tmp_path, scene, 6, fits.HitTarget(0, target, 5, corner))
    assert throw.hits and not any(throw.angular_velocity)
    thrown = replace(scene, bodies=[replace(scene.bodies[0], velocity=throw.velocity)])
    settings = Settings(5, integrator="implicit_euler", device="cpu")
    miss = np.linalg.norm(last_skin(thrown, settings)[7] - target)
    assert miss == pytest.approx(throw.distance, abs=1e-9) and miss < 0.01 * 0.63


def test_a_throw_is_found_in_steps_that_have_no_gradients(tmp_path: Path) -> None:
    scene = Scene([bar(held=False, damping=1.0)], Ground())
    throw = thrown(tmp_path, scene, (1.15, 0.05, 0.8), 5)
    assert throw.hits and throw.distance < 0.0105


WALL = Collider(np.array([[1.0, -5, -5], [1.0, 5, -5], [1.0, 0, 9]]), [[0, 1, 2]], name="Wall")


@pytest.mark.parametrize(
    ("around", "begun", "wanted"),
    [
        ({"ground": Ground()}, (1.8, 0.0, -5.0), (2.0, 0.1, -5.5)),
        ({"ground": Ground(response="projection")}, (1.8, 0.0, -5.0), (2.0, 0.2, -6.0)),
        ({"colliders": [WALL], "contact": Contact()}, (10.0, 0.0, 0.0), (8.0, 0.4, 0.5)),
    ],
    ids=["ground", "bouncy ground", "wall"],
)
def test_a_throw_bounces_to_its_target(tmp_path: Path, around, begun, wanted) -> None:
    """The settings are the defaults of a scene."""
    scene = Scene([bar(held=False, velocity=begun)], **around)
    frame = 5
    target = reached(scene, frame, wanted)
    throw = thrown(tmp_path, scene, target, frame)
    away = np.linalg.norm(reached(scene, frame, throw.velocity) - target)
    assert throw.hits and away == pytest.approx(throw.distance, abs=1e-9)
    assert away <= 0.01 * np.linalg.norm(target - [0.15, 0.05, 0.55])
    # And not straight.
    assert throw.velocity[2] < -3.0 or throw.velocity[0] > 6.0


SECONDS = 3 / 24


def simulated(law: Any) -> Any:
    """In place of simulations: bodies go as far as a law has it of their velocity."""

    def positions(job: Job, body: int, frames: int, *, velocity: Any, **others: Any) -> Any:
        start = job.tet_scene.bodies[body].mesh.vertices
        return [start + law(np.asarray(velocity, dtype=np.float64))]

    return positions


def test_where_no_throw_like_the_one_that_is_set_hits_it_is_thrown_straight(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def law(velocity: np.ndarray) -> Any:
        x, y, z = SECONDS * velocity
        return (x, y, z) if z > -0.1 else (0.2 * x, 0.2 * y, -0.1 + 0.05 * np.sin(20.0 * z))

    monkeypatch.setattr("supple.core.job.fit.positions", simulated(law))
    scene = Scene([bar(held=False, velocity=(1.0, 0.0, -6.0))])
    throw = thrown(tmp_path, scene, (1.0, 0.05, 1.2), 3)
    assert throw.hits and throw.set_distance > 0.3
    np.testing.assert_allclose(throw.velocity, np.array([0.85, 0.0, 0.65]) / SECONDS, atol=0.05)


def test_so_it_is_where_the_one_that_is_set_cannot_be_simulated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    def law(velocity: np.ndarray) -> Any:
        if velocity[2] < 0.0:
            raise InstabilityError("Bar: too fast.")
        return SECONDS * velocity

    monkeypatch.setattr("supple.core.job.fit.positions", simulated(law))
    scene = Scene([bar(held=False, velocity=(1.0, 0.0, -60.0))])
    throw = thrown(tmp_path, scene, (1.0, 0.05, 1.2), 3)
    assert throw.hits and throw.set_distance is None
    assert "a throw failed: Bar: too fast." in capsys.readouterr().out


def test_what_cannot_be_reached_is_told_by_how_far_and_soon(tmp_path: Path) -> None:
    throw = thrown(tmp_path, Scene([bar(held=False)], Ground()), (0.3, 0.05, -0.5), 3)
    assert not throw.hits and throw.distance > 0.4
    assert len(fits.read_losses(tmp_path)) <= 20


def test_a_spin_is_found_where_it_is_wanted(tmp_path: Path) -> None:
    begun = bar(held=False, young=1e6, velocity=(0.2, 0.0, 0.0))
    scene = Scene([begun], gravity=(0.0, 0.0, 0.0))
    Job.create(tmp_path, scene, Settings(2, device="cpu"))
    corner = np.zeros(8)
    corner[7] = 1.0
    fits.write_wanted(tmp_path, fits.HitTarget(0, (0.32, 0.06, 0.62), 2, corner, with_spin=True))
    work(tmp_path)
    throw = fits.read_found(tmp_path)
    assert throw.hits and any(throw.angular_velocity)
