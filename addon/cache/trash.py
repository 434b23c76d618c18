# SPDX-License-Identifier: GPL-3.0-or-later
"""The trash of a cache: Free moves job folders there, undo takes them back."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from ...core.errors import SuppleError
from ...core.job import lock

#: The folder's name. No job folder has it: theirs end with a digest.
NAME = "trash"

# Folders of the open file that went to the trash since it was opened. After Save As, undo may name
# another cache than the one they were in.
_thrown_away: set[Path] = set()


def put(folder: Path) -> None:
    """Move a job folder to the trash beside it, in place of the same run there.

    Raises:
        SuppleError: when it cannot be moved, or another process is at work there or renders it.
    """
    lock.check_unused(folder)
    target = folder.parent / NAME / folder.name
    try:
        target.parent.mkdir(exist_ok=True)
        if target.exists():
            shutil.rmtree(target)
        folder.rename(target)
    except OSError as error:
        raise SuppleError(f"{folder} cannot be moved to the trash: {error.strerror}.") from error
    _thrown_away.add(target)


def folders(cache: Path) -> list[Path]:
    """The job folders in the trash of a cache."""
    try:
        entries = sorted((cache / NAME).iterdir())
    except OSError:  # nothing was thrown away there
        return []
    return [folder for folder in entries if (folder / "scene.json").exists()]


def is_of_open_file(folder: Path) -> bool:
    """Whether a folder of a trash went there since the open file was opened."""
    return folder in _thrown_away


def forget() -> None:
    """Forget the trash when another file is opened."""
    _thrown_away.clear()


def take_back(caches: Iterable[Path], names: Iterable[str]) -> Path | None:
    """Move a job folder out of the trash, to where it was.

    Args:
        caches: the folders to search, besides the trash of the open file.
        names: ends of the folder's name, the first that is there counts.

    Returns:
        The folder where it is now; None when it is in no trash, or cannot be moved.
    """
    in_order = dict.fromkeys((*caches, *(folder.parent.parent for folder in _thrown_away)))
    removed = [folder for cache in in_order for folder in folders(cache)]
    for name in names:
        for folder in removed:
            if not folder.name.endswith(name):
                continue
            target = folder.parent.parent / folder.name
            with suppress(OSError):
                folder.rename(target)
                _thrown_away.discard(folder)
                return target
    return None
