# SPDX-License-Identifier: GPL-3.0-or-later
"""Of which run a bake is."""

from __future__ import annotations

import bpy

from .shape_keys import RECORD, key_frames, record

_RUN = "run"


def note_run(obj: bpy.types.Object, run: str) -> None:
    """Writes down of which run the bake of ``obj`` is."""
    obj.data.shape_keys[RECORD][_RUN] = run


def is_of(obj: bpy.types.Object, run: str, last_frame: int) -> bool:
    """Whether the bake of ``obj`` is of that run, up to that scene frame or a later one."""
    return bool(record(obj).get(_RUN) == run and key_frames(obj)[-1] >= last_frame)
