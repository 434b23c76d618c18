# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of files that are no text: Linux takes any bytes, such as those of an older encoding."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import bpy
import pytest

from supple.addon import command_line, modifiers
from supple.addon.cache import unused_caches
from supple.addon.panels.main import SUPPLE_PT_main
from supple.addon.playback import fields
from supple.core.errors import DamageError, SuppleError

from .layout import drawn

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="no such names there")

ODD = os.fsdecode(b"k\xf6hl")
SHOWN = "k\ufffdhl"


def is_text(text: str) -> bool:
    return text.encode(errors="replace").decode() == text


@pytest.fixture
def folder(scene, add_body, tmp_path: Path) -> Path:
    """The path of a saved file with a soft body."""
    add_body()
    (tmp_path / ODD).mkdir()
    scene.supple.cache_folder = ""
    scene.supple.results = {"speed"}
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / ODD / f"{ODD}.blend"))
    return tmp_path / ODD


@pytest.mark.usefixtures("solver_here")
def test_the_buttons_work_and_their_messages_can_be_shown(folder):
    obj = bpy.context.object
    assert bpy.ops.supple.simulate() == {"FINISHED"}
    assert bpy.ops.supple.bake() == {"FINISHED"}
    # From the frames that were baked.
    assert fields.show([obj], "speed", bpy.context.scene)
    assert bpy.ops.supple.simulate() == {"FINISHED"}
    modifier = modifiers.find_modifier(obj)
    Path(bpy.path.abspath(modifier.filepath)).unlink()
    with pytest.raises(RuntimeError, match=f"{SHOWN}.*is missing. Restore it, or simulate"):
        bpy.ops.supple.bake()
    texts = [text for _, text in drawn(SUPPLE_PT_main, obj).texts]
    assert all(map(is_text, texts))
    assert any(f"{SHOWN}/supple_cache" in text for text in texts)
    obj.modifiers.remove(modifier)
    (unused,) = unused_caches.find()
    assert f"{SHOWN}/supple_cache" in str(unused)


@pytest.mark.usefixtures("solver_here")
@pytest.mark.parametrize(("encoding", "last"), [("utf-8", b"k\xf6hl-\xc3\xa4"), ("ascii", b"k")])
def test_the_command_line_prints_names_as_they_are_on_the_disk(
    folder, monkeypatch, tmp_path: Path, encoding: str, last: bytes
) -> None:
    pipe = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(pipe, encoding=encoding))
    words = ["simulate", str(next(folder.glob("*.blend"))), "--cache", str(tmp_path / f"{ODD}-ä")]
    assert command_line.run_with_file(words) == 0
    made = pipe.getvalue().splitlines()[-1]
    assert last in made
    assert Path(os.fsdecode(made)).is_dir() == (encoding == "utf-8")


def test_errors_name_them_in_letters() -> None:
    assert str(SuppleError(f"{ODD} is not there.")) == f"{SHOWN} is not there."
    assert DamageError(Path(ODD), "cut off").finding == f"{SHOWN} is damaged (cut off)"
    assert str(SuppleError("Zähne, 歯, 🦷")) == "Zähne, 歯, 🦷"
