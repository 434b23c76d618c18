# SPDX-License-Identifier: GPL-3.0-or-later
"""The task of a farm: the paths and frames of the open file, for any farm."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import bpy

from ...core.errors import JobError, SuppleError
from ...core.job.files import write_whole
from ..cache import scene_cache


@dataclass(frozen=True)
class FarmJob:
    """The paths and frames of a job. All machines see the same files, maybe by other paths.

    Args:
        name: of the job.
        file: the .blend file.
        cache: the folder for simulated frames.
        baked: the baked .blend file to make.
        images: the folder for rendered images.
        frames: first and last frame to render.
        chunk: number of frames that one task renders.
    """

    name: str
    file: Path
    cache: Path
    baked: Path
    images: Path
    frames: tuple[int, int]
    chunk: int

    @property
    def frame_range(self) -> str:
        """The frames as a text, such as ``1-60``."""
        return f"{self.frames[0]}-{self.frames[1]}"

    @staticmethod
    def from_scene(scene: bpy.types.Scene, chunk: int) -> FarmJob:
        """The job for a scene of the open file.

        Raises:
            SuppleError: the file is not saved, or holds other changes than those on the disk.
        """
        file = scene_cache.open_file()
        if file is None:
            raise SuppleError("A farm reads the file from the disk. Save it first.")
        if bpy.data.is_dirty and not bpy.app.background:
            raise SuppleError("The file has changes that are not on the disk. Save it first.")
        return FarmJob(
            name=file.stem,
            file=file,
            cache=scene_cache.root(scene),
            baked=file.with_name(f"{file.stem}_baked.blend"),
            images=file.with_name(f"{file.stem}_frames"),
            frames=(scene.frame_start, scene.frame_end),
            chunk=chunk,
        )


def write_files(folder: Path, contents: Mapping[str, object]) -> None:
    """Write the files of a job.

    Args:
        folder: is made where it does not exist.
        contents: JSON objects by the names of their files.

    Raises:
        SuppleError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            write_whole(folder / name, json.dumps(content, indent=1).encode())
    except (OSError, JobError) as error:
        # The message of a JobError speaks of simulated frames.
        cause = error.__cause__ if isinstance(error, JobError) else error
        reason = getattr(cause, "strerror", None) or cause
        raise SuppleError(f"The job cannot be written into {folder}: {reason}.") from error
