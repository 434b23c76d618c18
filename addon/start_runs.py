# SPDX-License-Identifier: GPL-3.0-or-later
"""The runs that bodies start from, and takes: playback files, which name a body of a job."""

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


def takes(
    scenes: Iterable[bpy.types.Scene],
) -> Iterator[tuple[bpy.types.PropertyGroup, Path]]:
    """The takes of scenes, and the playback file of the first body of each."""
    for scene in scenes:
        for take in scene.supple.takes:
            files = next((body.files for body in take.bodies if body.files), "")
            yield take, absolute(take.folder) / files.partition("/")[0]


def folders() -> set[Path]:
    """The job folders that the open file needs for them."""
    paths = [path for _, path in (*starting(bpy.data.objects), *takes(bpy.data.scenes))]
    return {path.parent.parent for path in paths}


def name_of(start_run: str) -> tuple[str, ...]:
    """The part of a file's path that stays the same when its cache moves: the digest at the end
    of the folder's name, and the body."""
    parts = start_run.replace("\\", "/").split("/")
    return (parts[-3].rpartition("-")[2], parts[-1]) if len(parts) > 2 else (start_run,)
