# SPDX-License-Identifier: GPL-3.0-or-later
"""A batch of shots in a real Blender without a window: one of them broken, then again."""

from __future__ import annotations

import json

from supple.tests.blender.harness import InstalledBlender, beside, fresh_folder

SHOTS = """
[all]
frames = "1-3"
settings = { "Cube.resolution" = 3 }

[[shot]]
file = "soft.blend"

[[shot]]
name = "nothing_soft"
file = "empty.blend"
settings = { "Cube.resolution" = 2 }
"""


def test_a_batch_bakes_its_shots_and_names_the_broken_one(installed: InstalledBlender) -> None:
    folder = fresh_folder(beside("batch"))
    installed.python(
        "import bpy\n"
        f"bpy.ops.wm.save_as_mainfile(filepath={str(folder / 'empty.blend')!r})\n"
        "cube = bpy.data.objects['Cube']\n"
        "cube.supple.enabled, cube.location.z = True, 1.5\n"
        f"bpy.ops.wm.save_as_mainfile(filepath={str(folder / 'soft.blend')!r})\n"
    )
    (folder / "shots.toml").write_text(SHOTS)
    words = ("--command", "supple", "batch", str(folder / "shots.toml"))
    done = installed.run(*words, timeout=300.0)
    assert done.returncode == 1, done.stdout
    assert "1 of 2 shots failed: nothing_soft." in done.stdout, done.stdout
    report = json.loads((folder / "shots_report" / "report.json").read_text())
    soft, broken = report["shots"]
    assert (soft["state"], broken["state"]) == ("done", "failed"), report
    assert "no soft body" in broken["error"]
    assert soft["frames"] == 2 and soft["peak_bytes"] > 10**8
    assert (folder / "soft_baked.blend").exists()
    assert (folder / "shots_report" / soft["picture"]).exists()
    assert "soft" in (folder / "shots_report" / "index.html").read_text()
    again = installed.run(*words, timeout=300.0)
    assert "Supple: soft: started" not in again.stdout
    assert "Supple: nothing_soft: started" in again.stdout
