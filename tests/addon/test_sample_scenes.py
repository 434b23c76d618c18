# SPDX-License-Identifier: GPL-3.0-or-later
"""The .blend files that come along, and the picture that the demo makes of one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy
import numpy as np
import pytest

from supple.addon.capture.scene import capture
from supple.core import InstabilityError, SoftBody
from supple.core.job.run import simulator_of
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.core.scene.soft_body import start_positions
from supple.sample_scenes import build, demo
from supple.sample_scenes.contact_scenes import CONTACT_SAMPLES
from supple.sample_scenes.scenes import SAMPLES

from .conftest import empty_file


@pytest.fixture(autouse=True)
def empty_file_afterwards() -> Iterator[None]:
    yield
    empty_file()


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_scene_is_small_and_can_be_simulated_and_rendered(name: str) -> None:
    path = build.FOLDER / f"{name}.blend"
    assert path.stat().st_size < 300_000
    bpy.ops.wm.open_mainfile(filepath=str(path))
    captured = capture(bpy.context)
    assert captured.settings.frame_count == SAMPLES[name].frames - 1
    assert max(SAMPLES[name].moments) <= SAMPLES[name].frames
    assert bpy.context.scene.camera is not None
    assert not bpy.data.libraries
    assert not bpy.data.images


def test_there_is_a_file_for_each_scene_and_no_other() -> None:
    assert {path.stem for path in build.FOLDER.glob("*.blend")} == set(SAMPLES)


@pytest.mark.parametrize("name", SAMPLES)
def test_the_committed_scene_is_what_the_script_builds(name: str, tmp_path: Path) -> None:
    built = _description(build.build(name, tmp_path, with_kept=False))
    assert built == _description(build.FOLDER / f"{name}.blend")


def test_of_two_birds_one_keeps_its_shape() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(build.FOLDER / "keeps_its_shape.blend"))
    captured = capture(bpy.context)
    scene, _ = tetrahedralize_scene(captured.scene)
    starts = [start_positions(body) for body in scene.bodies]
    *_, frame = simulator_of(scene, captured.settings).run(2)
    still, drooping = sorted(
        float(np.abs(own.numpy() - start).max())
        for own, start in zip(frame.positions, starts, strict=True)
    )
    assert drooping > 0.02 and still < 1e-4


@pytest.mark.parametrize(
    ("name", "calm"),
    [("midpoint_and_runge_kutta", "runge_kutta4"), ("adaptive_on_and_off", "adaptive_midpoint")],
)
def test_a_body_explodes_by_midpoint_and_another_integrator_keeps_it_calm(
    name: str, calm: str
) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(build.FOLDER / f"{name}.blend"))
    captured = capture(bpy.context)
    assert captured.settings.integrator == "midpoint"
    bpy.context.scene.supple.integrator = calm
    others, (scene, _) = capture(bpy.context).settings, tetrahedralize_scene(captured.scene)
    exploding = simulator_of(scene, captured.settings)
    wild, quiet = (
        [frame.report.energies.elastic for frame in each.run(SAMPLES[name].frames - 1)]
        for each in (exploding, simulator_of(scene, others))
    )
    assert max(wild[-12:]) > 2.0 * max(quiet)
    assert max(quiet[-12:]) < 1.1 * max(quiet[:-12])
    with pytest.raises(InstabilityError, match="too few at frame"):
        list(exploding.run(60))


def test_the_suspended_monkey_hangs_by_both_ears() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(build.FOLDER / "suspended_monkey.blend"))
    body = capture(bpy.context).scene.bodies[0]
    assert body.skin is not None
    assert body.skin.pinned is not None
    across = body.skin.points[body.skin.pinned][:, 0]
    assert (across < 0).any()
    assert (across > 0).any()
    assert len(across) < len(body.skin.points) / 4


@pytest.mark.parametrize("name", CONTACT_SAMPLES)
def test_things_touch_in_a_scene_of_contact(name: str) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(build.FOLDER / f"{name}.blend"))
    scene = capture(bpy.context).scene
    assert scene.contact is not None
    assert len(scene.bodies) + len(scene.meshes) > 1


@pytest.mark.parametrize(
    ("name", "mover"),
    [("squeezed_body", "Left Plate"), ("twisted_bar", "Right Plate"), ("limb_collider", "Leg")],
)
def test_a_collider_that_is_keyed_is_captured_frame_by_frame(name: str, mover: str) -> None:
    bpy.ops.wm.open_mainfile(filepath=str(build.FOLDER / f"{name}.blend"))
    meshes = {mesh.name: mesh for mesh in capture(bpy.context).scene.meshes}
    path = meshes[mover].vertices.samples
    assert len(path) == SAMPLES[name].frames
    assert np.abs(path[-1] - path[0]).max() > 0.2


def test_the_leg_bends_at_its_knee() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(build.FOLDER / "limb_collider.blend"))
    (leg,) = capture(bpy.context).scene.meshes
    path = leg.vertices.samples
    # From tip to tip it is shorter when it is bent.
    ends = np.linalg.norm(path[:, -1] - path[:, -2], axis=1)
    assert ends.min() < 0.95 * ends.max()


def test_the_critical_friction_of_the_slope_lies_between_its_blocks() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(build.FOLDER / "slope.blend"))
    scene = capture(bpy.context).scene
    for kind in (scene.bodies, scene.meshes):
        assert sorted(each.friction or 0.0 for each in kind) == pytest.approx([0.48, 0.52])
    first = scene.meshes[0].at(0)
    along = first[first[:, 1].argmin()] - first[first[:, 1].argmax()]
    assert along[2] / along[1] == pytest.approx(0.5, abs=0.05)


def test_the_contact_sheet_reads_from_the_top_left() -> None:
    pictures = [np.full((2, 3, 4), k / 10, dtype=np.float32) for k in range(5)]
    sheet = demo.contact_sheet(pictures, columns=4)
    gap, down, across = demo.GAP, demo.GAP + 2, demo.GAP + 3
    assert sheet.shape == (2 * down + gap, 4 * across + gap, 4)
    assert sheet[gap + down, gap, 0] == 0.0
    assert sheet[gap + down, gap + across, 0] == np.float32(0.1)
    assert sheet[gap, gap, 0] == np.float32(0.4)


def test_a_scene_that_there_is_not_is_refused(tmp_path: Path, capsys) -> None:
    assert demo.main(["jelly_jump"], tmp_path) == 2
    assert "There is no scene jelly_jump; there are jelly_drop, " in capsys.readouterr().err


def test_a_picture_written_reads_back_alike(tmp_path: Path) -> None:
    pixels = np.linspace(0.0, 1.0, 3 * 5 * 4, dtype=np.float32).reshape(3, 5, 4)
    pixels[..., 3] = 1.0
    demo.write_image(tmp_path / "picture.png", pixels)
    np.testing.assert_allclose(demo.read_image(tmp_path / "picture.png"), pixels, atol=1 / 255)


def _description(path: Path) -> list[object]:
    bpy.ops.wm.open_mainfile(filepath=str(path))
    captured = capture(bpy.context)
    # What a kept shape does not change is called alike, and not in the same order.
    bodies = sorted(captured.scene.bodies, key=lambda body: body.name)
    lights = sorted((light.name, light.energy, *light.color) for light in bpy.data.lights)
    place = [value for row in bpy.context.scene.camera.matrix_world for value in row]
    return [
        *map(_of_body, bodies),
        repr(captured.scene.ground),
        repr(captured.scene.colliders),
        repr(captured.scene.contact),
        captured.settings,
        lights,
        place,
    ]


def _of_body(body: SoftBody) -> list[object]:
    assert body.skin is not None
    pinned = None if body.skin.pinned is None else body.skin.pinned.tolist()
    return [body.skin.points.tolist(), pinned, repr(body.material), body.density, body.damping]
