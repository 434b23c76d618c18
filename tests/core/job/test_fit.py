# SPDX-License-Identifier: GPL-3.0-or-later
"""Test jobs that search instead of simulating frames."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supple.core import Ground, Scene, SceneError, Skin, SoftBody, SurfaceMesh
from supple.core.errors import DamageError
from supple.core.job import Job, Settings, fits
from supple.core.job.run import simulator_of
from supple.core.job.settings import digest
from supple.core.materials import StableNeoHookean
from supple.core.scene.paint import Paint

from ..box_job import run
from ..boxes import BOX_TRIANGLES, box_corners


def bar(held: bool = True, young: float = 2e4, **changes: Any) -> SoftBody:
    """0.3 m long, of two dozen tets, held at one end."""
    corners = box_corners((0.0, 0.0, 0.5), (0.3, 0.1, 0.1))
    paint = changes.pop("paint", [])
    surface = SurfaceMesh(corners, BOX_TRIANGLES, edge_length=0.1, paint=paint)
    skin = Skin(corners, pinned=np.arange(4, dtype=np.int32) if held else None)
    return SoftBody(surface, StableNeoHookean(young, 0.4), skin=skin, name="Bar", **changes)


def found(folder: Path, scene: Scene, frames: int, wanted: fits.Wanted) -> Any:
    """The result of a worker's search."""
    Job.create(folder, scene, Settings(frames, integrator="implicit_euler", device="cpu"))
    fits.write_wanted(folder, wanted)
    done = run(folder)
    assert done.returncode == 0, done.stderr
    return fits.read_found(folder)


def last_skin(scene: Scene, settings: Settings) -> np.ndarray:
    from supple.core.preparation.prepared import prepare

    own = prepare(scene)[0]
    *_, frame = simulator_of(own, settings).run(settings.frame_count)
    return own.bodies[0].skin.seen_at(frame.positions[0].numpy(), None)


def test_what_rests_as_it_was_found_does_not_droop(tmp_path: Path) -> None:
    scene = Scene([bar()], Ground(friction=0.5))
    settings = Settings(2, integrator="implicit_euler", device="cpu")
    points = scene.bodies[0].skin.points
    assert np.abs(last_skin(scene, settings) - points).max() > 0.01
    # The pace counts in motion alone.
    slow = replace(scene, time_scale=0.5)
    result = found(tmp_path, slow, 2, fits.KeepShape(0))
    assert result.distance < 1e-5
    # As .blend files keep it: in single precision.
    rough = replace(
        result.rest_shape,
        vertices=result.rest_shape.vertices.astype(np.float32).astype(float),
        rest=result.rest_shape.rest.astype(np.float32).astype(float),
    )
    still = replace(scene, bodies=[replace(scene.bodies[0], tet_rest_shape=rough)])
    np.testing.assert_allclose(last_skin(still, settings), points, atol=2e-5)
    losses = fits.read_losses(tmp_path)
    assert losses[-1][0] < losses[0][0] and losses[-1][1] == 1.0
    assert digest(scene, settings) != digest(still, settings)


def animation(body: SoftBody, frames: int) -> np.ndarray:
    settings = Settings(frames, integrator="implicit_euler", device="cpu")
    return last_skin(Scene([body]), settings)[None]


def test_the_stiffness_of_a_shape_is_found(tmp_path: Path) -> None:
    shapes = animation(bar(young=5e4), 3)
    stiff = found(tmp_path, Scene([bar()]), 4, fits.MatchShape(0, 3, shapes))
    assert stiff.young == pytest.approx(5e4, rel=0.01) and stiff.unpainted is None
    assert stiff.distance < 1e-2 * stiff.before


def test_a_body_in_the_shape_already_is_simulated_once(tmp_path: Path) -> None:
    shapes = animation(bar(young=5e4), 3).astype(np.float32)
    stiff = found(tmp_path, Scene([bar(young=5e4)]), 4, fits.MatchShape(0, 3, shapes))
    assert stiff.young == 5e4 and stiff.unpainted is None
    assert stiff.distance == stiff.before < 1e-5
    assert len(fits.read_losses(tmp_path)) == 1


def test_a_target_far_beyond_any_throw_is_refused_before_a_run(tmp_path: Path) -> None:
    Job.create(tmp_path, Scene([bar()]), Settings(12, device="cpu"))
    fits.write_wanted(tmp_path, fits.HitTarget(0, (1e9, 0.0, 0.0), 12))
    done = run(tmp_path)
    assert done.returncode != 0 and "1e+09 m away" in done.stdout + done.stderr
    assert fits.read_losses(tmp_path) == []


def test_so_is_a_painted_one_with_what_is_left_where_unpainted(tmp_path: Path) -> None:
    def painted(young: float, left: float) -> SoftBody:
        weights = np.array([1.0, 1, 1, 1, 0, 0, 0, 0])
        paint = Paint("young", left + (1.0 - left) * weights)
        return bar(young=young, paint=[paint])

    shapes = animation(painted(8e4, 0.25), 3)
    scene = Scene([painted(5e4, 0.5)])
    stiff = found(tmp_path, scene, 4, fits.MatchShape(0, 3, shapes, 0.5))
    assert stiff.young == pytest.approx(8e4, rel=0.05)
    assert stiff.unpainted == pytest.approx(0.25, rel=0.05)


def test_what_is_refused_is_said_and_nothing_is_found(tmp_path: Path) -> None:
    scene = Scene([bar()], ground=Ground(-2.0, response="projection"))
    Job.create(tmp_path, scene, Settings(3, integrator="symplectic_euler", device="cpu"))
    fits.write_wanted(tmp_path, fits.FollowKeys(0, np.array([2]), np.zeros((1, 8, 3))))
    done = run(tmp_path)
    assert done.returncode == 1 and "There are no gradients through a bouncy ground" in done.stderr
    assert not (tmp_path / "found.json").exists() and fits.read_losses(tmp_path) == []


def test_requests_are_checked() -> None:
    with pytest.raises(SceneError, match="three finite numbers"):
        fits.HitTarget(0, (0.0, float("nan"), 0.0), 3)
    with pytest.raises(SceneError, match="after the start"):
        fits.HitTarget(0, (0.0, 0.0, 0.0), 0)
    with pytest.raises(SceneError, match="No point of the body"):
        fits.HitTarget(0, (0.0, 0.0, 0.0), 3, np.zeros(4))
    with pytest.raises(SceneError, match=r"with_spin must be True or False, not 'no'"):
        fits.HitTarget(0, (0.0, 0.0, 0.0), 3, with_spin="no")
    with pytest.raises(SceneError, match="frame of the target must be a whole number"):
        fits.HitTarget(0, (0.0, 0.0, 0.0), 2.5)
    with pytest.raises(SceneError, match="must be one of forces, pins, not 'magic'"):
        fits.FollowKeys(0, np.ones(1, np.int32), np.zeros((1, 4, 3)), by="magic")
    with pytest.raises(SceneError, match="not finite at vertex 2"):
        fits.MatchShape(0, 1, np.where(np.arange(4)[:, None] == 2, np.nan, np.zeros((1, 4, 3))))


def test_what_is_damaged_is_not_taken_for_a_request(tmp_path: Path) -> None:
    fits.write_wanted(tmp_path, fits.HitTarget(0, (0.0, 0.0, 1.0), 3))
    assert fits.read_wanted(tmp_path).target == (0.0, 0.0, 1.0)
    path = tmp_path / "fit.json"
    path.write_bytes(path.read_bytes().replace(b"1.0", b"9.0"))
    with pytest.raises(DamageError):
        fits.read_wanted(tmp_path)
    fits.append_loss(tmp_path, 0.5, 0.1)
    with (tmp_path / "fit.jsonl").open("ab") as file:
        file.write(b'{"checksum": "00", "loss": 1.0}\n{"ch')
    assert fits.read_losses(tmp_path) == [(0.5, 0.1)]
