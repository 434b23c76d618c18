# SPDX-License-Identifier: GPL-3.0-or-later
"""Alembic and USD: what is written comes back, with velocities and recorded fields."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from supple.addon.playback.fields import title

from .conftest import LAST, Throw
from .formats import imported, read, skip_without, world

FRAMES = range(1, LAST + 1)
KINDS = {
    "Alembic": ("export_alembic", "abc", "wm.alembic_import"),
    "USD": ("export_usd", "usdc", "wm.usd_import"),
}


def export(kind: str, folder: Path) -> Path:
    operator, ending, _ = KINDS[kind]
    path = folder / f"bar.{ending}"
    getattr(bpy.ops.supple, operator)(filepath=str(path))
    return path


def values(obj: bpy.types.Object, name: str, frame: int) -> np.ndarray:
    bpy.context.scene.frame_set(frame)
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    attribute = mesh.attributes[name]
    count, key = (3, "vector") if attribute.data_type == "FLOAT_VECTOR" else (1, "value")
    found = np.empty(count * len(mesh.vertices), dtype=np.float32)
    attribute.data.foreach_get(key, found)
    return found.reshape(-1, count)


@pytest.mark.parametrize("baked", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_motion_and_its_velocities_come_back(
    thrown: Throw, tmp_path: Path, kind: str, baked: bool
) -> None:
    importer = KINDS[kind][2]
    skip_without(importer)
    obj = thrown(baked)
    expected = [world(obj, frame) for frame in FRAMES]
    path = export(kind, tmp_path)
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == [path.name]
    read(importer, path)
    found = imported("Bar")
    size = float(np.linalg.norm(np.ptp(expected[0], axis=0)))
    for frame, points in zip(FRAMES, expected, strict=True):
        np.testing.assert_allclose(world(found, frame), points, rtol=0, atol=1e-5 * size)
    bpy.context.scene.frame_set(4)
    matrix = np.array(found.matrix_world)[:3, :3]
    speeds = values(found, "velocity", 4) @ matrix.T
    rate = bpy.context.scene.render.fps
    np.testing.assert_allclose(
        speeds, rate * (expected[4] - expected[2]) / 2.0, rtol=0, atol=1e-3 * rate
    )


def test_usd_holds_recorded_fields(
    scene: bpy.types.Scene, recorded_bar: bpy.types.Object, tmp_path: Path
) -> None:
    skip_without("wm.usd_import")
    path = export("USD", tmp_path)
    assert title("stretch") not in recorded_bar.data.attributes
    read("wm.usd_import", path)
    found = imported("Cube")
    name = title("stretch").replace(" ", "_")
    first, last = values(found, name, 2), values(found, name, 4)
    np.testing.assert_allclose(last, 3.0 * first, rtol=1e-5)
    assert first.min() > 0.0


def test_exporting_changes_nothing_in_the_scene(
    scene: bpy.types.Scene, thrown: Throw, tmp_path: Path
) -> None:
    obj = thrown()
    other = bpy.data.objects.new("Other", None)
    scene.collection.objects.link(other)
    obj.select_set(False)
    other.select_set(True)
    scene.frame_set(3)
    handlers = len(bpy.app.handlers.frame_change_pre)
    for kind in KINDS:
        export(kind, tmp_path)
    assert (scene.frame_start, scene.frame_end, scene.frame_current) == (1, LAST, 3)
    assert other.select_get() and not obj.select_get()
    assert "velocity" not in obj.data.attributes
    assert len(bpy.app.handlers.frame_change_pre) == handlers


def test_a_file_that_cannot_be_written_is_named(thrown: Throw, tmp_path: Path) -> None:
    thrown()
    (tmp_path / "bar.abc").mkdir()
    with pytest.raises(RuntimeError, match=r"bar\.abc cannot be written: "):
        export("Alembic", tmp_path)


def test_without_frames_the_reason_is_given(scene: bpy.types.Scene, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"Nothing is simulated yet\. Press Simulate first"):
        export("USD", tmp_path)
