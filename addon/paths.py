# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths as a .blend file keeps them, and where this user's caches lie."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import bpy


def portable(path: Path, start: Path | None = None) -> str:
    """Relative to the .blend file where that is possible, so both can move together.

    Args:
        path: a file.
        start: the folder of the .blend file; that of the open one when left out.
    """
    if start is None and not bpy.data.is_saved:
        return str(path)
    try:
        return str(bpy.path.relpath(str(path), start=str(start) if start else None))
    except ValueError:  # on another drive
        return str(path)


def absolute(
    path: str, start: Path | None = None, library: bpy.types.Library | None = None
) -> Path:
    """Without ``..``, so that equal folders compare equal.

    Args:
        path: as a .blend file keeps it.
        start: the folder of the .blend file; that of the open one when left out.
        library: of whose file the path is part.
    """
    if os.name != "nt":
        # As Blender reads it: in files that Windows has written, it separates folders.
        path = path.replace("\\", "/")
    begin = str(start) if start else None
    return Path(os.path.normpath(bpy.path.abspath(path, start=begin, library=library)))


def link_or_copy(source: str | Path, target: str | Path) -> None:
    """Link a file that nobody writes into, or copy it where the disk cannot link."""
    try:
        os.link(source, target)
    except OSError:  # another drive, or one without links
        shutil.copy2(source, target)


def users_cache() -> Path:
    """Supple's folder among this user's caches."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", home / "AppData" / "Local"))
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "supple"
