# SPDX-License-Identifier: GPL-3.0-or-later
"""PC2 point caches: a header, then float32 positions sample by sample.

The header is ``POINTCACHE2\\0``, version, points, first frame, frames a sample, samples.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Sequence
from os import SEEK_END
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import SuppleError

_HEADER = struct.Struct("<12siiffi")
_MAGIC = b"POINTCACHE2\0"


def create(path: Path, points: int) -> None:
    """Begins a cache of ``points`` positions a sample, with no samples yet."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_header(points, 0))
    except OSError as error:
        raise _not_written(path, error) from error


def append(path: Path, samples: Sequence[NDArray[Any]]) -> None:
    """Adds (V, 3) samples. The header counts them only once they are written."""
    try:
        with path.open("r+b") as file:
            points, count = _parse(path, file.read(_HEADER.size))
            file.seek(_HEADER.size + count * points * 12)
            for sample in samples:
                file.write(np.ascontiguousarray(sample, dtype="<f4").tobytes())
            file.flush()
            file.seek(0)
            file.write(_header(points, count + len(samples)))
    except OSError as error:
        raise _not_written(path, error) from error


def read(path: Path) -> NDArray[np.float32]:
    """(F, V, 3) positions."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SuppleError(_not_read(path, error)) from error
    points, count = _parse(path, content[: _HEADER.size])
    if len(content) < _HEADER.size + count * points * 12:
        raise SuppleError(_cut_off(path))
    values = np.frombuffer(content, "<f4", count * points * 3, _HEADER.size)
    return values.reshape(count, points, 3)


def why_unreadable(path: Path) -> str:
    """What is wrong with a cache, at a glance; empty when nothing is."""
    try:
        with path.open("rb") as file:
            points, count = _parse(path, file.read(_HEADER.size))
            if file.seek(0, SEEK_END) >= _HEADER.size + count * points * 12:
                return ""
    except OSError as error:
        return _not_read(path, error)
    except SuppleError as error:
        return str(error)
    return _cut_off(path)


def _not_read(path: Path, error: OSError) -> str:
    return f"{path} cannot be read: {error.strerror}. Simulate again."


def _cut_off(path: Path) -> str:
    return f"{path} is cut off. Simulate again."


def _header(points: int, samples: int) -> bytes:
    return _HEADER.pack(_MAGIC, 1, points, 0.0, 1.0, samples)


def _parse(path: Path, header: bytes) -> tuple[int, int]:
    if len(header) < _HEADER.size or not header.startswith(_MAGIC):
        raise SuppleError(f"{path} is not a point cache. Simulate again.")
    _, _, points, _, _, samples = _HEADER.unpack(header)
    return points, samples


def _not_written(path: Path, error: OSError) -> SuppleError:
    if error.errno == errno.ENOSPC:
        return SuppleError(f"The disk is full: {path} was not written. Free some space first.")
    return SuppleError(f"{path} cannot be written: {error.strerror}. Choose another cache folder.")
