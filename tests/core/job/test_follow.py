# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the controls by which a job brings a body through keys."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supple.core import Scene, SceneError, SoftBody, SurfaceMesh
from supple.core.job import Job, Settings, fits
from supple.core.job.settings import digest
from supple.core.preparation.prepared import prepare

from ..box_job import run
from .test_fit import bar, found, last_skin

STEP = 1.0 / 24.0
AWAY = np.array([0.05, -0.03, 0.02])
#: Of the bar, whose corners are its skin.
SIZE = float(np.linalg.norm([0.3, 0.1, 0.1]))


def follow_keys(
    body: int, frames: Any, shapes: Any, points: Any = None, by: Any = "forces"
) -> fits.FollowKeys:
    return fits.FollowKeys(body, frames, shapes, points, by)


def settings(frames: int) -> Settings:
    return Settings(frames, integrator="implicit_euler", device="cpu")


def with_control(scene: Scene, control: Any) -> Scene:
    return replace(scene, bodies=[replace(scene.bodies[0], tet_control=control)])


def shape_of(body: SoftBody) -> np.ndarray:
    assert body.skin is not None
    return body.skin.points


def test_a_body_that_floats_is_led_by_the_least_force_of_a_particle(tmp_path: Path) -> None:
    """After n steps the accelerations a have moved it by h² Σ (n − k + 1) a."""
    scene = Scene([bar(held=False)], gravity=(0.0, 0.0, 0.0))
    wanted = follow_keys(0, [4], [shape_of(scene.bodies[0]) + 2.0 * AWAY])
    control = found(tmp_path, scene, 6, wanted)
    assert control.follows and control.distance < 0.01 * SIZE and control.frame == 4
    row = STEP**2 * np.array([0.0, 4.0, 3.0, 2.0, 1.0])
    least = np.linalg.norm(2.0 * AWAY) / np.linalg.norm(row)
    # As far as it is to go, but for the tolerance.
    assert control.effort * 2.0 == pytest.approx(least, rel=0.05)
    np.testing.assert_allclose(control.control.channel.samples[5:], 0.0)
    driven = last_skin(with_control(scene, control.control), settings(4))
    np.testing.assert_allclose(driven, wanted.shapes[0], atol=0.01 * SIZE)
    assert digest(scene, settings(4)) != digest(with_control(scene, control.control), settings(4))


def test_turned_and_bent_keys_are_followed_against_gravity(tmp_path: Path) -> None:
    scene = Scene([bar(young=1e5)])
    points = shape_of(scene.bodies[0])
    tip = points[:, 0] > 0.2
    bent = [points + tip[:, None] * [0.0, y, 0.05] for y in (0.03, -0.03)]
    control = found(tmp_path, scene, 8, follow_keys(0, [4, 8], bent))
    assert control.follows
    for frame, shape in zip((4, 8), bent, strict=True):
        driven = last_skin(with_control(scene, control.control), settings(frame))
        np.testing.assert_allclose(driven, shape, atol=0.011 * SIZE)
    losses = fits.read_losses(tmp_path)
    assert losses[-1][0] < 0.2 * losses[0][0] and 0.0 < losses[-1][1] <= 1.0


def test_pins_leave_their_path_for_a_corner_that_is_free(tmp_path: Path) -> None:
    scene = Scene([bar(young=2e5)])
    shape = shape_of(scene.bodies[0]) + AWAY
    wanted = follow_keys(0, [6], [shape], [7], "pins")
    control = found(tmp_path, scene, 6, wanted)
    assert control.follows and control.effort > 0.0 and control.control.by == "pins"
    driven = last_skin(with_control(scene, control.control), settings(6))
    assert np.linalg.norm(driven[7] - shape[7]) < 0.011 * SIZE
    assert np.abs(driven[0] - shape_of(scene.bodies[0])[0]).max() > 0.005


def test_another_filling_is_driven_much_the_same(tmp_path: Path) -> None:
    scene = Scene([bar(held=False)], gravity=(0.0, 0.0, 0.0))
    wanted = follow_keys(0, [4], [shape_of(scene.bodies[0]) + AWAY])
    control = found(tmp_path, scene, 4, wanted).control
    surface = scene.bodies[0].mesh
    assert isinstance(surface, SurfaceMesh)
    finer = replace(scene.bodies[0], mesh=replace(surface, edge_length=0.06))
    body = prepare(with_control(replace(scene, bodies=[finer]), control))[0].bodies[0]
    assert body.tet_control is None and len(body.mesh.vertices) > len(control.vertices)
    driven = last_skin(with_control(replace(scene, bodies=[finer]), control), settings(4))
    np.testing.assert_allclose(driven, wanted.shapes[0], atol=0.02 * SIZE)


def test_steps_that_have_no_gradients_are_corrected_for(tmp_path: Path) -> None:
    scene = Scene([bar(held=False, damping=1.0)])
    wanted = follow_keys(0, [5], [shape_of(scene.bodies[0]) + 4.0 * AWAY])
    Job.create(tmp_path, scene, Settings(5, integrator="automatic", device="cpu"))
    fits.write_wanted(tmp_path, wanted)
    assert run(tmp_path).returncode == 0
    control = fits.read_found(tmp_path)
    assert control.follows and control.distance < 0.01 * SIZE


def test_keys_out_of_reach_are_told_by_how_far(tmp_path: Path) -> None:
    """Pins may go anywhere, and do not stretch a bar."""
    scene = Scene([bar(young=1e6)], gravity=(0.0, 0.0, 0.0))
    shape = shape_of(scene.bodies[0]) * [1.5, 1.0, 1.0]
    control = found(tmp_path, scene, 3, follow_keys(0, [1, 2], [shape, shape], None, "pins"))
    assert not control.follows and 0.05 < control.distance < 0.16


def test_what_is_pinned_cannot_follow_by_forces(tmp_path: Path) -> None:
    scene = Scene([bar()])
    Job.create(tmp_path, scene, settings(3))
    points = np.flatnonzero(shape_of(scene.bodies[0])[:, 0] < 0.01)
    shape = shape_of(scene.bodies[0]) + AWAY
    fits.write_wanted(tmp_path, follow_keys(0, [2], [shape], points))
    done = run(tmp_path)
    assert (
        done.returncode == 1
        and "Bar: all vertices that should follow the keys are pinned" in done.stderr
    )


def test_requests_are_checked() -> None:
    shape = np.zeros((4, 3))
    for frames, shapes, points, what in (
        ([], np.zeros((0, 4, 3)), None, "give one"),
        ([0], [shape], None, "after the start"),
        ([3, 3], [shape, shape], None, "one after the other"),
        ([3], [shape, shape], None, "as many shapes"),
        ([3], [np.where(np.arange(4)[:, None] == 2, np.nan, shape)], None, "finite at vertex 2"),
        ([3], [shape], [4], "outside 0 … 3"),
        ([3], [shape], [], "No point of the body"),
    ):
        with pytest.raises(SceneError, match=what):
            follow_keys(0, frames, shapes, points)
