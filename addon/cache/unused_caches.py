# SPDX-License-Identifier: GPL-3.0-or-later
"""Job folders that the open file does not play, and the files that may play them."""

from __future__ import annotations

import mmap
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import bpy

from ...core.errors import SuppleError, legible
from .. import start_runs
from ..paths import users_cache
from ..playback.mesh_cache import folder_of, playing
from . import scene_cache, trash

# The first bytes of .blend files in which a name can be found.
_UNCOMPRESSED = b"BLENDER"

_UNITS = ("bytes", "KB", "MB", "GB", "TB")


@dataclass(frozen=True)
class UnusedCache:
    """A job folder that the open file does not play.

    Args:
        folder: the folder of the cache.
        size: in bytes.
        user: the file that may play it, such as ``drop.blend``; empty for none.
    """

    folder: Path
    size: int
    user: str

    def __str__(self) -> str:
        user = f", which {self.user} may use" if self.user else ""
        return legible(f"{self.folder}, {formatted_size(self.size)}{user}")


def find() -> list[UnusedCache]:
    """Return the unused folders in the caches of the open file and of this user, the largest
    first."""
    used = {folder_of(path) for _, path in playing(bpy.data.objects)} | start_runs.folders()
    previous, roots = _previous(used), _roots()
    folders = [folder for root in roots for folder in scene_cache.job_folders(root)]
    caches = [
        UnusedCache(
            folder,
            folder_size(folder),
            "an undo" if folder in previous else _user(folder, folder.parent),
        )
        for folder in folders
        if folder not in used
    ]
    thrown_away = [(folder, root) for root in roots for folder in trash.folders(root)]
    caches += [
        UnusedCache(folder, folder_size(folder), "" if _is_own(folder) else _user(folder, root))
        for folder, root in thrown_away
    ]
    return sorted(caches, key=lambda each: each.size, reverse=True)


def remove(others_too: bool = False) -> tuple[int, int]:
    """Delete unused job folders.

    Args:
        others_too: whether to delete also folders that a closed file may use.

    Returns:
        The number of deleted folders, and their size in bytes.

    Raises:
        SuppleError: when one cannot be deleted.
    """
    removable = [each for each in find() if others_too or not each.user]
    for each in removable:
        scene_cache.remove(each.folder)
    return len(removable), sum(each.size for each in removable)


def formatted_size(size: int) -> str:
    """A number of bytes, such as ``1.2 GB``."""
    value, unit = float(size), 0
    # A size that rounds to 1000 of one unit is 1 of the next.
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value, unit = value / 1000.0, unit + 1
    return f"{value:.3g} {_UNITS[unit]}"


def _roots() -> set[Path]:
    roots = {users_cache()}
    for scene in bpy.data.scenes:
        with suppress(SuppleError):  # beside a file that is not saved
            roots.add(scene_cache.root(scene))
    return roots


def _previous(used: set[Path]) -> set[Path]:
    """The latest run of each scene that is not shown, which an undo may show again."""
    unseen = (
        [folder for folder in scene_cache.own_folders(scene) if folder not in used]
        for scene in bpy.data.scenes
    )
    return {folders[0] for folders in unseen if folders}


def _is_own(thrown_away: Path) -> bool:
    """Whether Free of the open file moved a folder to the trash."""
    begin = thrown_away.name.removesuffix(scene_cache.run_name(thrown_away))
    cache = thrown_away.parent.parent
    prefixes = {scene_cache.prefix(scene, parent=cache) for scene in bpy.data.scenes}
    return begin in prefixes or trash.is_of_open_file(thrown_away)


def folder_size(folder: Path) -> int:
    """The size of the files in a folder, in bytes."""
    size = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # gone meanwhile
            size += path.stat().st_size if path.is_file() else 0
    return size


def _user(folder: Path, root: Path) -> str:
    """Return the name of the file that may play a folder of a cache. The names of folders begin
    with those of their files and scenes."""
    if folder.name.startswith(scene_cache.UNSAVED):
        return "a file that was never saved"
    file = scene_cache.open_file()
    if file is None or root.parent != file.parent or scene_cache.ELSEWHERE in folder.name:
        # It may belong to a file anywhere on the disk.
        return "another file"
    beside = (path for path in file.parent.glob("*.blend") if path != file)
    return next((path.name for path in beside if _may_play(path, folder)), "")


def _may_play(file: Path, folder: Path) -> bool:
    """Whether a .blend file beside the cache may play a folder: it is of its name, or names it."""
    if folder.name.startswith(f"{scene_cache.clean_name(file.stem)}-"):
        return True
    try:
        with file.open("rb") as opened:
            if opened.read(len(_UNCOMPRESSED)) != _UNCOMPRESSED:
                return True
            with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
                return content.find(os.fsencode(folder.name)) >= 0
    except OSError:  # unreadable: it may
        return True
