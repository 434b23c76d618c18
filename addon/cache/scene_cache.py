# SPDX-License-Identifier: GPL-3.0-or-later
"""Job folders of a scene. A scene keeps its latest run, the run before, and the runs that bodies
start from."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import uuid
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import bpy

from ...core.errors import DamageError, JobError, SuppleError
from ...core.job import Job, Settings, digest, lock
from ...core.scene.scene import Scene
from ...core.version import version
from .. import cache_folder, preferences, start_runs
from ..paths import link_or_copy, users_cache
from ..playback.mesh_cache import shown_folder
from . import trash

BESIDE_THE_FILE = "//supple_cache"
UNSAVED = "unsaved-"
#: Comes after the name of a file that does not lie above its cache; in no clean name.
ELSEWHERE = "@"
#: Comes after a name that is not as it was given; in no clean name, either.
ALTERED = "~"
#: The limit for the name of a file or scene, in letters of up to three bytes; folder names may have
#: 255.
LONGEST_NAME = 50
# Written whole and never changed; all else is appended to, or small.
_LASTING = {".npy", ".npz"}
JOB_NAME = re.compile(r".+-([0-9a-f]{12})")


@dataclass(frozen=True)
class OpenedJob:
    """A job folder, ready for the worker.

    Args:
        job: the folder.
        reached: the last whole frame of those asked for, -1 for none.
        is_complete: whether that is all of them.
        warning: the damage of the folder, which is repaired; empty for none.
    """

    job: Job
    reached: int
    is_complete: bool
    warning: str


def open_job(
    scene: bpy.types.Scene, described: Scene, settings: Settings, source: Path | None = None
) -> OpenedJob:
    """The folder for this run: a new one, or the one in which it was begun.

    Args:
        source: the folder of the run whose first frames it takes, as its settings say.

    Raises:
        SuppleError: when the cache folder cannot be written, or another process simulates there.
    """
    name = digest(described, settings)
    folder = _folder(scene, name, settings.frame_count)
    cache_folder.check_reachable(folder)
    lock.check_free(folder)
    if source is None:
        _remove_older(scene, keep=folder)
    if not folder.exists():
        _take_same(folder)
    if source is not None and not (folder / "resumed").exists():
        with tempfile.TemporaryDirectory(dir=folder.parent) as part:
            link(source, Path(part) / "resumed", "playback*", "resumed")
            folder.mkdir(exist_ok=True)
            (Path(part) / "resumed").rename(folder / "resumed")
    reached = -1
    findings: list[str] = []
    if folder.exists():
        reached, findings = _survey(Job(folder), name, settings.frame_count)
        warning = "; ".join(findings) + ": the damaged parts are made again." if findings else ""
    else:
        warning = _other_version(scene)
    if findings or reached < settings.frame_count:
        # Written again even for a job under way, which may have asked for another number of frames.
        Job.create(folder, described, settings)
    return OpenedJob(Job(folder), reached, reached >= settings.frame_count, warning)


def _take_same(folder: Path) -> None:
    """Begins a folder with the frames of the same run that lie in the same cache: of another file,
    or of this one by another path. Neither can take them from the other."""
    same = [each for each in job_folders(folder.parent) if run_name(each) == run_name(folder)]
    for other in sorted(same, key=lambda each: Job(each).last_frame(), reverse=True):
        # A folder that is just simulated, removed or taken by another process is simulated here.
        with suppress(SuppleError, OSError), lock.show(other):
            lock.check_free(other)
            with tempfile.TemporaryDirectory(dir=folder.parent) as part:
                # Playback, which cannot be shared, is made step by step.
                link(other, Path(part) / folder.name, "playback*")
                (Path(part) / folder.name).rename(folder)
            return


def link(folder: Path, target: Path, *left: str) -> None:
    """Copy a job folder without the names in ``left``. Files that never change are hard-linked
    where possible."""
    ignored = shutil.ignore_patterns(lock.LOCK, f"{lock.SHOWN}*", f"{lock.CLAIM}*", *left)
    shutil.copytree(folder, target, copy_function=_link_lasting, ignore=ignored)


def _link_lasting(source: str, target: str) -> None:
    copy = link_or_copy if Path(source).suffix in _LASTING else shutil.copy2
    copy(source, target)


def free(scene: bpy.types.Scene) -> bool:
    """Moves the job folders of the scene that no body starts from to the trash; False when there
    were none."""
    folders = _freed(scene)
    for folder in folders:
        trash.put(folder)
    return bool(folders)


def check_free(scene: bpy.types.Scene) -> None:
    """Looks whether ``free`` may do so now.

    Raises:
        JobInUseError: when another process is at work in one of the folders, or renders it.
    """
    for folder in _freed(scene):
        lock.check_unused(folder)


def _freed(scene: bpy.types.Scene) -> list[Path]:
    protected = start_runs.folders()
    return [folder for folder in own_folders(scene) if folder not in protected]


def _survey(job: Job, name: str, last: int) -> tuple[int, list[str]]:
    """Count the frames of a run that can be shown, and list the damage.

    Damaged frames are removed: Blender must not show them before the worker has made them again.

    Returns:
        The last frame, at most ``last``, of the unbroken row of whole ones; the damage.
    """
    findings = []
    try:
        if digest(job.scene, job.settings) != name:
            findings.append(f"{job.folder / 'scene.json'} was changed")
    except DamageError as error:
        findings.append(error.finding)
    try:
        if not job.has_tet_scene():
            return -1, findings
        if job.run != name:
            job.truncate_after(-1)
            job.remove_tet_scene()
            return -1, [*findings, f"{job.folder} holds another simulation"]
    except DamageError as error:
        job.remove_tet_scene()
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
    """The message on frames on screen that another version simulated; empty where none did."""
    shown = shown_folder(scene)
    if shown is None or not shown.is_dir():
        return ""
    try:
        run_version = Job(shown).version
    except JobError:  # only the playback of a shown run is left
        return ""
    if run_version == version():
        return ""
    return (
        f"The frames were simulated by Supple {run_version}. This is Supple {version()}, which "
        "simulates again and keeps the old frames."
    )


def _folder(scene: bpy.types.Scene, name: str, last: int) -> Path:
    shown = shown_folder(scene)
    if shown is None or not shown.name.endswith(f"-{name}") or not shown.is_dir():
        shown = None
    # A file saved since it was simulated still has its frames where they were; where none can be
    # added, more of them go to the folder that is chosen.
    if shown is not None and (Job(shown).has_frame(last) or os.access(shown, os.W_OK)):
        return shown
    return root(scene) / f"{prefix(scene)}{name}"


def open_file() -> Path | None:
    """The .blend file that is open; None before it is saved."""
    return Path(bpy.data.filepath) if bpy.data.is_saved else None


def root(scene: bpy.types.Scene, file: Path | None = None) -> Path:
    """The folder of a scene's job folders.

    Args:
        scene: of the open file.
        file: the .blend file that it is saved as; the one that is open when left out.

    Raises:
        SuppleError: when that depends on a file that is not saved yet, or can hold no frames.
    """
    file = file or open_file()
    chosen = scene.supple.cache_folder or getattr(preferences.find(), "cache_folder", "")
    if file is None and not chosen:
        return users_cache()
    return cache_folder.resolved(chosen or BESIDE_THE_FILE, file)


def check_root(scene: bpy.types.Scene) -> None:
    """Looks whether a run has somewhere to lie, before it takes any time.

    Raises:
        SuppleError: when the scene shows no frames, and there is no folder for any.
    """
    if shown_folder(scene) is None:
        cache_folder.check_reachable(root(scene))


def prefix(scene: bpy.types.Scene, file: Path | None = None, parent: Path | None = None) -> str:
    """Begins the names of this scene's folders, and of no other's in the same cache.

    Args:
        scene: of the open file.
        file: the .blend file that it is saved as; the one that is open when left out.
        parent: the cache; that of the scene when left out.
    """
    file = file or open_file()
    if file is None:
        props = scene.supple
        props.unsaved_name = props.unsaved_name or f"{UNSAVED}{uuid.uuid4().hex[:8]}"
        return _joined(props.unsaved_name, scene)
    begin = clean_name(file.stem)
    if file.parent not in (parent or root(scene, file)).parents:
        # Files of one name in several folders may share this cache.
        begin += f"{ELSEWHERE}{_short(str(file.parent))}"
    return _joined(begin, scene)


def unsaved_folders(scene: bpy.types.Scene) -> list[Path]:
    """The scene's job folders from before its file was saved for the first time."""
    if not scene.supple.unsaved_name:
        return []
    begin = _joined(scene.supple.unsaved_name, scene)
    return [folder for folder in own_folders(scene) if folder.name.startswith(begin)]


def job_folders(parent: Path) -> list[Path]:
    """All job folders in a cache, whosever they are."""
    try:
        folders = sorted(parent.iterdir())
    except OSError:  # it does not exist, or is not for this user
        return []
    return [
        folder
        for folder in folders
        if JOB_NAME.fullmatch(folder.name) and (folder / "scene.json").exists()
    ]


def run_name(folder: Path) -> str:
    """The digest at the end of a job folder's name; empty where it is none."""
    match = JOB_NAME.fullmatch(folder.name)
    return match[1] if match else ""


def _joined(file: str, scene: bpy.types.Scene) -> str:
    return f"{file}-{clean_name(scene.name)}-"


def clean_name(name: str) -> str:
    """A name for the disk, and no other name's: of both bär and bür, Blender makes b_r."""
    clean = str(bpy.path.clean_name(name))[:LONGEST_NAME]
    return clean if clean == name else f"{clean}{ALTERED}{_short(name)}"


def _short(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()[:8]


def own_folders(scene: bpy.types.Scene) -> list[Path]:
    """The scene's job folders, newest first."""
    unsaved = scene.supple.unsaved_name
    before = {_joined(unsaved, scene)} if unsaved else set()
    shown = shown_folder(scene)
    parents = {shown.parent} if shown is not None else set()
    with suppress(SuppleError):  # beside a file that is not saved
        parents.add(root(scene))
    prefixes = {parent: {prefix(scene, parent=parent), *before} for parent in parents}
    folders = [
        folder
        for parent in parents
        for folder in job_folders(parent)
        if folder.name.removesuffix(run_name(folder)) in prefixes[parent]
    ]
    return sorted(folders, key=lambda folder: folder.stat().st_mtime, reverse=True)


def _remove_older(scene: bpy.types.Scene, keep: Path) -> None:
    older = [folder for folder in own_folders(scene) if folder != keep]
    shown = shown_folder(scene)
    previous = shown if shown is not None and shown != keep else next(iter(older), None)
    protected = {previous, *start_runs.folders()}
    for folder in older:
        if folder not in protected:
            # Another Blender may have opened the same file, or be the one that may write there.
            with suppress(SuppleError):
                remove(folder)


def remove(folder: Path) -> None:
    """Deletes a job folder.

    Raises:
        SuppleError: when it cannot be deleted, or another process is at work there or renders it.
    """
    lock.check_unused(folder)
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise SuppleError(f"{folder} cannot be removed: {error.strerror}.") from error
