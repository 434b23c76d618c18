# SPDX-License-Identifier: GPL-3.0-or-later
"""Job folders go where their .blend file goes: with the first save, with Save As, when it moved."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import bpy

from ...core.errors import SuppleError, legible
from ...core.job import lock
from .. import start_runs
from ..paths import absolute, portable
from ..playback.mesh_cache import folder_of, playing, shown_folder
from ..worker import session
from . import scene_cache, trash

#: Why a cache did not go with its file when that was saved last; empty when all did.
problem = ""

# The files that modifiers played before a save, by the session_uid of their objects and their
# names.
_before: dict[tuple[int, str], str] = {}


def before_saving(file: Path) -> None:
    """Brings the caches of the open file to where ``file`` will look for them.

    A file that was never saved takes its caches along. Another one leaves a copy behind, since
    the file it was may be opened again; frames are linked rather than copied where that is
    possible. Frames that cannot be brought stay where they are, and are played from there.
    """
    global problem
    _before.clear()
    if file.parent == Path(bpy.utils.user_resource("CONFIG")):
        return
    if session.is_running():
        if file != scene_cache.open_file():
            problem = (
                f"The frames of the running simulation are not copied with {file.name}. Save "
                "again when the simulation has ended."
            )
        return
    problem = ""
    brought: set[Path] = set()
    # Frames that two scenes play go with the scene that simulated them.
    for scene in sorted(bpy.data.scenes, key=_plays_another):
        try:
            _bring(scene, file, brought)
        except (SuppleError, OSError) as error:
            problem = legible(
                f"The simulated frames were not copied with {file.name}: {error} They play "
                "from their old folder. Save again, or choose another cache folder."
            )
            print(f"Supple: {problem}", flush=True)


def bring(scenes: Iterable[bpy.types.Scene], file: Path) -> None:
    """Copy the frames that scenes play to the caches that ``file`` has for them, and play them
    there.

    Raises:
        SuppleError, OSError: when one cannot be brought.
    """
    brought: set[Path] = set()
    for scene in sorted(scenes, key=_plays_another):
        _bring(scene, file, brought)
    _before.clear()


def after_saving(file: Path) -> None:
    """Go back to the caches of the open file when ``file`` is its copy."""
    if scene_cache.open_file() != file:
        for modifier, _ in playing(bpy.data.objects):
            if (path := _before.get(_key(modifier))) is not None:
                modifier.filepath = path
    reconnect()


def reconnect() -> None:
    """Find played frames that were moved, or that an undo brought back from before a save."""
    for scene in bpy.data.scenes:
        for modifier, path in playing(scene.objects):
            target = path if path.is_file() else _moved_file(scene, path)
            if target is not None and modifier.filepath != portable(target):
                modifier.filepath = portable(target)
        for obj, path in start_runs.starting(scene.objects):
            target = path if path.is_file() else _moved_file(scene, path)
            if target is not None and obj.is_editable and obj.supple.start_run != portable(target):
                obj.supple.start_run = portable(target)
        for take, path in start_runs.takes([scene]):
            target = path if path.is_file() else _moved_file(scene, path)
            if target is not None and take.folder != portable(target.parent):
                take.folder = portable(target.parent)


def _plays_another(scene: bpy.types.Scene) -> bool:
    """Whether a scene plays frames that it did not simulate."""
    shown = shown_folder(scene)
    return shown is not None and not shown.name.startswith(
        scene_cache.prefix(scene, parent=shown.parent)
    )


def _bring(scene: bpy.types.Scene, file: Path, brought: set[Path]) -> None:
    """Bring the frames of a scene, and add their folders to ``brought``, so that no other scene
    does."""
    moved = {} if bpy.data.is_saved else dict.fromkeys(scene_cache.unsaved_folders(scene), True)
    shown = {folder_of(path): False for _, path in playing(scene.objects)}
    needed = (*start_runs.starting(scene.objects), *start_runs.takes([scene]))
    shown |= {folder_of(path): False for _, path in needed}
    if not shown and not moved:
        return
    root, prefix = scene_cache.root(scene, file), scene_cache.prefix(scene, file)
    for folder, is_moved in {**shown, **moved}.items():
        target = root / f"{prefix}{scene_cache.run_name(folder)}"
        if folder in brought or not (folder / "scene.json").exists():
            continue
        if target != folder:
            _take(folder, target, is_moved)
        brought.add(target)
        _play_from(scene, folder, target, file, is_moved)
    if moved:
        scene.supple.unsaved_name = ""


def _take(folder: Path, target: Path, is_moved: bool) -> None:
    """Copy or move a folder to ``target``, which then holds all of it, or its former content."""
    lock.check_free(folder)
    part = target.with_name(f"{target.name}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    if part.exists():
        shutil.rmtree(part)
    if is_moved:
        shutil.move(folder, part)
    else:
        scene_cache.link(folder, part)
    if target.exists():
        scene_cache.remove(target)
    part.rename(target)


def _play_from(
    scene: bpy.types.Scene, folder: Path, target: Path, file: Path, is_moved: bool
) -> None:
    # Blender itself converts paths relative to the open file to paths relative to the new one.
    start = Path(bpy.data.filepath).parent if bpy.data.is_saved else file.parent
    for modifier, path in playing(scene.objects):
        if folder_of(path) == folder:
            playback = target / path.relative_to(folder)
            played_path = str(playback) if is_moved else modifier.filepath
            _before.setdefault(_key(modifier), played_path)
            modifier.filepath = portable(playback, start)


def _key(modifier: bpy.types.Modifier) -> tuple[int, str]:
    return modifier.id_data.session_uid, modifier.name


def _moved_file(scene: bpy.types.Scene, path: Path) -> Path | None:
    """A playback file that is not at ``path``, in the caches that the scene may have now, or in
    their trash, which it then leaves."""
    folder = folder_of(path)
    run, inside = scene_cache.run_name(folder), Path(path.parent.name, path.name)
    if not run:
        return None
    parents = [folder.parent]
    with suppress(SuppleError):  # beside a file that is not saved
        parents.append(scene_cache.root(scene))
    if bpy.data.is_saved:
        parents.append(absolute(scene_cache.BESIDE_THE_FILE))
    candidates = [each for parent in parents for each in scene_cache.job_folders(parent)]
    candidates.sort(key=lambda each: each.name != folder.name)
    files = (each / inside for each in candidates if scene_cache.run_name(each) == run)
    if (file := next((each for each in files if each.is_file()), None)) is not None:
        return file
    taken = trash.take_back(parents, (folder.name, f"-{run}"))
    return taken / inside if taken is not None and (taken / inside).is_file() else None
