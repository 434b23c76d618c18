# SPDX-License-Identifier: GPL-3.0-or-later
"""Test jobs that search instead of simulating frames: shapes, throws and controls."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supple.core import (
    Collider,
    Contact,
    Ground,
    InstabilityError,
    Scene,
    SceneError,
    Skin,
    SoftBody,
    SurfaceMesh,
)
from supple.core.errors import DamageError
from supple.core.integrators import BDF2, Integrator, SymplecticEuler
from supple.core.integrators.contact_failures import DivergedStepError
from supple.core.job import Job, Settings, fits
from supple.core.job.fit import Search, mean_of, with_body
from supple.core.job.run import simulator_of
from supple.core.job.settings import digest
from supple.core.job.worker import work
from supple.core.materials import StableNeoHookean
from supple.core.preparation.prepared import prepare
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


@pytest.mark.parametrize("scheme", ["symplectic_euler", "runge_kutta4"])
def test_explicit_steps_with_contact_are_replaced_by_bdf2(tmp_path: Path, scheme: str) -> None:
    wall = Collider(np.array([[1.0, -5, -5], [1.0, 5, -5], [1.0, 0, 9]]), [[0, 1, 2]])
    thrown = bar(held=False, young=2e4, velocity=(10.0, 0.0, 0.0))
    scene = Scene([thrown], gravity=(0.0, 0.0, 0.0), colliders=[wall], contact=Contact())
    Job.create(tmp_path, scene, Settings(2, integrator=scheme, device="cpu"))
    job = Job(tmp_path)
    job.write_tet_scene(*prepare(job.scene))
    assert isinstance(Search.of(job).options["integrator"], BDF2)


def test_explicit_steps_that_diverge_are_replaced_by_bdf2(tmp_path: Path, capsys) -> None:
    job = Job.create(tmp_path, Scene([bar()]), Settings(2, integrator="symplectic_euler"))
    job.write_tet_scene(*prepare(job.scene))
    taken: list[Integrator] = []

    def tool(*, integrator: Integrator, **options: Any) -> str:
        taken.append(integrator)
        if isinstance(integrator, SymplecticEuler):
            raise DivergedStepError("Bar: 1344 substeps a frame are too few.")
        return "found"

    assert Search.of(job).find(tool) == "found" and isinstance(taken[1], BDF2)
    assert "BDF2 instead: Bar: 1344 substeps" in capsys.readouterr().out


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


def test_follow_requests_are_checked() -> None:
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
