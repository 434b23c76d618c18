# SPDX-License-Identifier: GPL-3.0-or-later
"""The .blend files that come along, and the picture that the demo makes of one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import bpy
import numpy as np
import pytest

from supple.addon.capture import capture
from supple.sample_scenes import build, demo

NAMES = ["jelly_drop", "suspended_monkey"]


@pytest.fixture(autouse=True)
def empty_file_afterwards() -> Iterator[None]:
    yield
    bpy.ops.wm.read_factory_settings(use_empty=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_scene_is_small_and_can_be_simulated_and_rendered(name: str) -> None:
    path = build.FOLDER / f"{name}.blend"
    assert path.stat().st_size < 500_000
    bpy.ops.wm.open_mainfile(filepath=str(path))
    captured = capture(bpy.context)
    assert len(captured.scene.bodies) == 1
    assert bpy.context.scene.camera is not None
    assert not bpy.data.libraries
    assert not bpy.data.images


def test_the_committed_scenes_are_what_the_script_builds(tmp_path: Path) -> None:
    for path in build.build_all(tmp_path):
        built = _description(path)
        assert built == _description(build.FOLDER / path.name)


def test_the_suspended_monkey_hangs_by_both_ears() -> None:
    bpy.ops.wm.open_mainfile(filepath=str(build.FOLDER / "suspended_monkey.blend"))
    body = capture(bpy.context).scene.bodies[0]
    assert body.skin is not None
    assert body.skin.pinned is not None
    across = body.skin.points[body.skin.pinned][:, 0]
    assert (across < 0).any()
    assert (across > 0).any()
    assert len(across) < len(body.skin.points) / 4


def test_the_contact_sheet_reads_from_the_top_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo, "SIDE", 2)
    pictures = [np.full((2, 2, 4), k / 10, dtype=np.float32) for k in range(5)]
    sheet = demo.contact_sheet(pictures)
    gap, step = demo.GAP, demo.GAP + 2
    assert sheet.shape == (2 * step + gap, demo.COLUMNS * step + gap, 4)
    assert sheet[gap + step, gap, 0] == 0.0
    assert sheet[gap + step, gap + step, 0] == np.float32(0.1)
    assert sheet[gap, gap, 0] == np.float32(0.4)


def test_a_picture_written_reads_back_alike(tmp_path: Path) -> None:
    pixels = np.linspace(0.0, 1.0, 3 * 5 * 4, dtype=np.float32).reshape(3, 5, 4)
    pixels[..., 3] = 1.0
    demo.write_image(tmp_path / "picture.png", pixels)
    np.testing.assert_allclose(demo.read_image(tmp_path / "picture.png"), pixels, atol=1 / 255)


def _description(path: Path) -> list[object]:
    bpy.ops.wm.open_mainfile(filepath=str(path))
    captured = capture(bpy.context)
    body = captured.scene.bodies[0]
    lights = sorted((light.name, light.energy, *light.color) for light in bpy.data.lights)
    place = [value for row in bpy.context.scene.camera.matrix_world for value in row]
    assert body.skin is not None
    return [
        body.skin.points.tolist(),
        repr(body.material),
        body.density,
        captured.settings,
        lights,
        place,
    ]
