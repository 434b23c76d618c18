# SPDX-License-Identifier: GPL-3.0-or-later
"""The folder that a cache setting means, or why it can hold no frames."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from ..core.errors import SuppleError
from .paths import absolute

#: Bytes that file systems take as the name of a file or folder, or letters.
_LONGEST_NAME = 255
#: Bytes of the path of a file that Blender reads.
_LONGEST_PATH = 1023
#: Bytes for the names below a cache: a job folder and its playback files.
_ROOM = _LONGEST_NAME + 45
_DRIVE = re.compile(r"[A-Za-z]:([\\/]|$)")
_VARIABLE = re.compile(r"^~|\$\w+|\$\{\w+\}|%\w*[A-Za-z_]{2}\w*%")


def resolved(text: str, file: Path | None) -> Path:
    """The folder that a setting means: a whole path, or one that begins with ``//``, which stands
    for the folder of the .blend file.

    Args:
        text: the setting.
        file: the .blend file; None while it is not saved.

    Raises:
        SuppleError: when it means no folder in which Blender could play frames.
    """
    if not text.startswith("//"):
        if reason := _incomplete_path_reason(text):
            raise SuppleError(f"The cache folder {_short(text)} {reason}")
        folder = absolute(text)
    elif file is None:
        raise SuppleError(
            f"The cache folder {text} lies beside the .blend file, which is not saved yet. "
            "Save it, or choose another folder."
        )
    else:
        folder = absolute(text, file.parent)
    _check(folder, Path() if file is None else file.parent)
    return folder


def check_reachable(folder: Path) -> None:
    """Refuse a folder that cannot be made.

    Raises:
        SuppleError: when a folder neither is there nor can be made, as far as can be seen without
            making it.
    """
    for path in (folder, *folder.parents):
        try:
            is_folder = path.is_dir()
            if not is_folder and not os.path.lexists(path):
                continue
        except OSError as error:
            raise SuppleError(
                f"The cache folder {folder} cannot be reached: {error.strerror}. Choose another "
                "folder."
            ) from error
        if not is_folder:
            what = "a file" if path.is_file() else "not a folder"
            raise SuppleError(f"In the cache folder {folder}, {path} is {what}. Choose another.")
        return


def _incomplete_path_reason(text: str) -> str:
    """Return the reason why a setting is no complete path, with the cure; empty for a complete
    path."""
    if os.name != "nt":
        if _DRIVE.match(text):
            return "is on a Windows drive, which this system does not have. Choose another folder."
        if text.startswith("\\\\"):
            return (
                "is a Windows network path. Mount the network folder, and choose the folder "
                "where it is mounted."
            )
        if text.startswith("/") and "\\" in text:
            return "has a \\ in it, which Blender reads as /. Choose another folder."
    expanded = Path(os.path.expandvars(text))
    with suppress(RuntimeError):  # there is no such user
        expanded = expanded.expanduser()
    if expanded != Path(text) and expanded.is_absolute():
        return f"holds a variable or ~, which are not replaced. Write {expanded} instead."
    if not Path(text).is_absolute():
        return (
            "is a relative path. Begin it with // to place it beside the .blend file, or "
            "choose an absolute path."
        )
    return ""


def _check(folder: Path, start: Path) -> None:
    """Refuse a folder whose path is not usable.

    Args:
        folder: the folder for frames.
        start: the folder of the .blend file.

    Raises:
        SuppleError: when a name in its path is none that Blender and the disk both take.
    """
    if os.name != "nt" and "\\" in str(folder):
        raise SuppleError(
            f"The path of the cache folder {folder} has a \\ in it, which Blender reads as /. "
            "Rename the folder there, or choose another cache folder."
        )
    for path in (folder, *folder.parents):
        size = len(path.name if os.name == "nt" else os.fsencode(path.name))
        if size > _LONGEST_NAME:
            raise SuppleError(
                f"In the cache folder, the name {_short(path.name)} has {size} bytes, and "
                f"folder names may have {_LONGEST_NAME}. Choose a shorter name."
            )
        is_new = path not in (start, *start.parents) and not os.path.lexists(path)
        if is_new and (variable := _VARIABLE.search(path.name)):
            raise SuppleError(
                f"In the cache folder {_short(str(folder))}, {variable[0]} is not replaced. "
                "Write its value instead."
            )
    if (size := len(os.fsencode(folder)) + _ROOM) > _LONGEST_PATH:
        raise SuppleError(
            f"The path of the cache folder {_short(str(folder))} is too long: paths of its "
            f"files would have up to {size} bytes, and Blender reads {_LONGEST_PATH}. Choose "
            "another folder."
        )


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:40]}…{text[-20:]}"
