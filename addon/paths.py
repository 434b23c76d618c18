# SPDX-License-Identifier: GPL-3.0-or-later
"""Paths as a .blend file keeps them, and where this user's caches lie."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import bpy


def portable(path: Path) -> str:
    """Relative to the .blend file where that is possible, so both can move together."""
    if not bpy.data.is_saved:
        return str(path)
    try:
        return str(bpy.path.relpath(str(path)))
    except ValueError:  # on another drive
        return str(path)


def absolute(path: str) -> Path:
    """Without ``..``, so that equal folders compare equal."""
    return Path(os.path.normpath(bpy.path.abspath(path)))


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
