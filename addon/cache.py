# SPDX-License-Identifier: GPL-3.0-or-later
"""Where job folders lie. A scene keeps its latest run and the one before, and no other's."""

from __future__ import annotations

import contextlib
import re
import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path

import bpy

from ..core.errors import DamageError, JobError, JobInUseError, SuppleError
from ..core.job import Job, Settings, digest, lock
from ..core.scene import Scene
from ..core.version import version
from . import preferences
from .paths import absolute, users_cache
from .playback import shown_folder

BESIDE_THE_FILE = "//supple_cache"


@dataclass(frozen=True)
class OpenedJob:
    """A job folder, ready for the worker.

    Args:
        job: the folder.
        reached: the last whole frame of those asked for, -1 for none.
        is_complete: whether that is all of them.
        warning: what was wrong with the folder and is made again; empty when nothing was.
    """

    job: Job
    reached: int
    is_complete: bool
    warning: str


def open_job(scene: bpy.types.Scene, described: Scene, settings: Settings) -> OpenedJob:
    """The folder for this run: a new one, or the one in which it was begun.

    Raises:
        SuppleError: when the cache folder cannot be written, or another process simulates there.
    """
    name = digest(described, settings)
    folder = _folder(scene, name)
    lock.check_free(folder)
    _remove_older(scene, keep=folder)
    reached, findings = -1, []
    if folder.exists():
        reached, findings = _survey(Job(folder), name, settings.frame_count)
        warning = "; ".join(findings) + ": what is damaged is made again." if findings else ""
    else:
        warning = _other_version(scene)
    if findings or reached < settings.frame_count:
        # Anew even where it was begun: then it may have asked for another number of frames.
        Job.create(folder, described, settings)
    return OpenedJob(Job(folder), reached, reached >= settings.frame_count, warning)


def free(scene: bpy.types.Scene) -> bool:
    """Removes the job folders of the scene; False when there were none."""
    folders = _own_folders(scene)
    for folder in folders:
        _remove(folder)
    return bool(folders)


def _survey(job: Job, name: str, last: int) -> tuple[int, list[str]]:
    """How many frames of a run can be shown, and what is damaged.

    What the worker will make again is removed: Blender must not show it meanwhile.

    Returns:
        The last frame, at most ``last``, of the unbroken row of whole ones; what was found.
    """
    findings = []
    try:
        if digest(job.scene, job.settings) != name:
            findings.append(f"{job.folder / 'scene.json'} was changed")
    except DamageError as error:
        findings.append(error.finding)
    try:
        if not job.has_solids():
            return -1, findings
        if job.run != name:
            job.truncate_after(-1)
            job.remove_solids()
            return -1, [*findings, f"{job.folder} holds another simulation"]
    except DamageError as error:
        job.remove_solids()
        return -1, [*findings, error.finding]
    damaged = job.damaged_frames(last)
    if not damaged:
        return last, findings
    checkpoint, unusable = job.read_checkpoint()
    frame = -1 if checkpoint is None else checkpoint[0]
    job.truncate_after(frame)
    damaged = {index: finding for index, finding in damaged.items() if index <= frame}
    for index in damaged:
        job.remove_frame(index)
    return min(damaged, default=frame + 1) - 1, [*findings, *unusable, *damaged.values()]


def _other_version(scene: bpy.types.Scene) -> str:
    """What to tell of frames on screen that another version simulated; empty where none did."""
    shown = shown_folder(scene)
    if shown is None or not shown.is_dir():
        return ""
    try:
        of_version = Job(shown).version
    except JobError:  # of what is shown, its playback alone is left
        return ""
    if of_version == version():
        return ""
    return (
        f"The frames shown were simulated by Supple {of_version}; this is {version()}, which "
        "simulates them anew and leaves those where they are."
    )


def _folder(scene: bpy.types.Scene, name: str) -> Path:
    shown = shown_folder(scene)
    # A file saved since it was simulated still has its frames where they were.
    if shown is not None and shown.name.endswith(f"-{name}") and shown.is_dir():
        return shown
    return root(scene) / f"{_prefix(scene)}{name}"


def root(scene: bpy.types.Scene) -> Path:
    chosen = scene.supple.cache_folder or getattr(preferences.find(), "cache_folder", "")
    if chosen:
        if chosen.startswith("//") and not bpy.data.is_saved:
            raise SuppleError(
                f"The cache folder {chosen} lies beside the .blend file, which is not saved yet; "
                "save it, or choose another folder."
            )
        return absolute(chosen)
    if bpy.data.is_saved:
        return absolute(BESIDE_THE_FILE)
    return users_cache()


def _prefix(scene: bpy.types.Scene) -> str:
    """Begins the names of this scene's folders, and of no other's in the same cache."""
    if bpy.data.is_saved:
        return _joined(Path(bpy.data.filepath).stem, scene)
    own = scene.supple
    own.unsaved_name = own.unsaved_name or f"unsaved-{uuid.uuid4().hex[:8]}"
    return _joined(own.unsaved_name, scene)


def _joined(file: str, scene: bpy.types.Scene) -> str:
    return f"{bpy.path.clean_name(file)}-{bpy.path.clean_name(scene.name)}-"


def _own_folders(scene: bpy.types.Scene) -> list[Path]:
    """The scene's job folders, newest first."""
    unsaved = scene.supple.unsaved_name
    prefixes = {_prefix(scene)} | ({_joined(unsaved, scene)} if unsaved else set())
    names = re.compile(f"(?:{'|'.join(map(re.escape, prefixes))})[0-9a-f]{{12}}")
    shown = shown_folder(scene)
    parents = {root(scene)} | ({shown.parent} if shown is not None else set())
    found = [
        folder
        for parent in parents
        if parent.is_dir()
        for folder in parent.iterdir()
        if names.fullmatch(folder.name) and (folder / "scene.json").exists()
    ]
    return sorted(found, key=lambda folder: folder.stat().st_mtime, reverse=True)


def _remove_older(scene: bpy.types.Scene, keep: Path) -> None:
    older = [folder for folder in _own_folders(scene) if folder != keep]
    shown = shown_folder(scene)
    previous = shown if shown is not None and shown != keep else next(iter(older), None)
    for folder in older:
        if folder != previous:
            # Another Blender may have opened the same file.
            with contextlib.suppress(JobInUseError):
                _remove(folder)


def _remove(folder: Path) -> None:
    lock.check_free(folder)
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise SuppleError(f"{folder} cannot be removed: {error.strerror}.") from error
