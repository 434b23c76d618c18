# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are either whole or absent: written under a temporary name, then renamed."""

from __future__ import annotations

import errno
import json
import os
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from .errors import JobError


def write_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Lets ``write`` fill a new file that appears at ``path`` only once it is complete."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("wb") as file:
            write(file)
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise JobError(_why_not_written(path, error)) from error


def append_line(path: Path, text: str) -> None:
    """Adds a line at the end of a file; a reader must expect the last one to be cut off."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError as error:
        raise JobError(_why_not_written(path, error)) from error


def write_json(path: Path, value: object) -> None:
    text = json.dumps(value, indent=1, allow_nan=False)
    write_whole(path, lambda file: file.write(text.encode()))


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    write_whole(path, lambda file: np.savez(file, allow_pickle=False, **arrays))


def write_array(path: Path, array: NDArray[Any]) -> None:
    write_whole(path, lambda file: np.save(file, array, allow_pickle=False))


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise JobError(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise JobError(f"{path} is damaged ({error}); simulate again.") from error


def read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except (ValueError, EOFError, zipfile.BadZipFile, TypeError, AttributeError) as error:
        raise JobError(f"{path} is damaged ({error}); simulate again.") from error
    except OSError as error:
        raise JobError(f"{path} cannot be read: {error.strerror or error}.") from error


def read_array(path: Path) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise JobError(f"{path} is damaged ({error}); simulate again.") from error
    except OSError as error:
        raise JobError(f"{path} cannot be read: {error.strerror or error}.") from error
    return array


def _why_not_written(path: Path, error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return f"The disk is full: {path} was not written. Free some space, then simulate again."
    return (
        f"{path} cannot be written: {error.strerror}. Choose another cache folder, then simulate "
        "again."
    )
