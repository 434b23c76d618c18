# SPDX-License-Identifier: GPL-3.0-or-later
"""The kept runs that bodies start from: playback files, which name a body of a job folder."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import bpy

from .paths import absolute

#: Choices of ``start_shape``: from a run, and bent by modifiers and shape keys.
RUN, POSE = "run", "pose"


def path_of(obj: bpy.types.Object) -> Path | None:
    """The playback file of the run that a body starts from; None where it starts otherwise."""
    props = obj.supple
    if not props.enabled or props.start_shape != RUN or not props.start_run:
        return None
    return absolute(props.start_run)


def starting(objects: Iterable[bpy.types.Object]) -> Iterator[tuple[bpy.types.Object, Path]]:
    """The bodies that start from a run, and its file."""
    for obj in objects:
        path = path_of(obj)
        if path is not None:
            yield obj, path


def folders() -> set[Path]:
    """The job folders that the open file needs for it."""
    return {path.parent.parent for _, path in starting(bpy.data.objects)}


def name_of(start_run: str) -> tuple[str, ...]:
    """The part of a file's path that stays the same when its cache moves: the digest at the end
    of the folder's name, and the body."""
    parts = start_run.replace("\\", "/").split("/")
    return (parts[-3].rpartition("-")[2], parts[-1]) if len(parts) > 2 else (start_run,)
