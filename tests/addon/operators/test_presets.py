# SPDX-License-Identifier: GPL-3.0-or-later
"""Presets of material and quality: those that come along, and those of the user."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest

from supple.addon.capture.scene import capture
from supple.addon.operators.presets import FOLDER

SHIPPED = Path(FOLDER) / "presets" / "supple"


@pytest.fixture
def user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder of scripts, empty."""
    monkeypatch.setenv("BLENDER_USER_SCRIPTS", str(tmp_path))
    return tmp_path


def run(path: Path) -> None:
    menu = f"SUPPLE_PT_{path.parent.name}_presets"
    assert bpy.ops.script.execute_preset(filepath=str(path), menu_idname=menu) == {"FINISHED"}


def test_draft_normal_and_final_are_finer_and_finer(scene, add_body):
    add_body().supple.resolution = 10
    edges = []
    for name in ("Draft", "Normal", "Final"):
        run(SHIPPED / "quality" / f"{name}.py")
        edges.append(capture(bpy.context).scene.bodies[0].mesh.edge_length)
    assert edges == pytest.approx([1.0 / 6.0, 0.1, 1.0 / 15.0])
    assert scene.supple.substeps == 0


def test_the_preset_default_is_a_material_as_it_is_at_first(add_body):
    body = add_body()
    bpy.ops.supple.apply_preset(preset="clay")
    assert body.supple.use_plasticity
    run(SHIPPED / "material" / "Default.py")
    other = add_body()
    for line in (SHIPPED / "material" / "Default.py").read_text().splitlines():
        if line.startswith("props."):
            name = line.split()[0].removeprefix("props.")
            assert getattr(body.supple, name) == getattr(other.supple, name), name


def test_a_material_is_kept_under_a_name_and_removed(user_folder, add_body):
    first = add_body("First")
    first.supple.young, first.supple.friction = 1234.0, 0.25
    assert bpy.ops.supple.add_material_preset(name="My Gum") == {"FINISHED"}
    (path,) = (user_folder / "presets" / "supple" / "material").iterdir()
    assert path.name == "My_Gum.py"
    second = add_body("Second")
    run(path)
    assert (second.supple.young, second.supple.friction) == (1234.0, 0.25)
    bpy.ops.supple.add_material_preset(name="My Gum", remove_name=True)
    assert not path.exists()
