# SPDX-License-Identifier: GPL-3.0-or-later
"""PC2 point caches: a header, then float32 positions sample by sample.

The header is ``POINTCACHE2\\0``, version, points, first frame, frames a sample, samples. Behind
the last sample is a checksum of all of them, where Blender does not look.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from os import SEEK_END
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError
from ...core.job.files import why_not_written

_HEADER = struct.Struct("<12siiffi")
_MAGIC = b"POINTCACHE2\0"
_CHECKSUM = struct.Struct("<8sI")
_CHECKSUM_MAGIC = b"SUPPLE\0\0"


def create(path: Path, points: int) -> None:
    """Begins a cache of ``points`` positions a sample, with no samples yet."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_header(points, 0) + _CHECKSUM.pack(_CHECKSUM_MAGIC, 0))
    except OSError as error:
        raise _not_written(path, error) from error


def begin(path: Path, points: int) -> None:
    """Creates a cache, unless there is a whole one with this many points: others may show it."""
    try:
        is_there = read(path).shape[1] == points
    except SuppleError:
        is_there = False
    if not is_there:
        create(path, points)


def put(path: Path, index: int, samples: Sequence[NDArray[Any]]) -> None:
    """Makes (V, 3) samples those from ``index`` on. The header counts them only once they are
    written.

    Equal samples stay, and so do all after them, since other processes may be showing them. The
    first different sample and all after it are replaced.
    """
    new = [np.ascontiguousarray(sample, dtype="<f4").tobytes() for sample in samples]
    try:
        with path.open("rb") as file:
            points, count = _parse(path, file.read(_HEADER.size))
            if index > count:
                raise SuppleError(f"Another process has restarted {path}. Simulate again.")
            file.seek(_end(points, index))
            while new and index < count and file.read(points * 12) == new[0]:
                index += 1
                del new[0]
        if new:
            with path.open("r+b") as file:
                _replace_from(path, file, index, new)
    except OSError as error:
        raise _not_written(path, error) from error


def _replace_from(path: Path, file: IO[bytes], index: int, new: Sequence[bytes]) -> None:
    points, count = _parse(path, file.read(_HEADER.size))
    if index < count:
        checksum = zlib.crc32(file.read(_end(points, index) - _HEADER.size))
        file.seek(0)
        file.write(_header(points, index))
        file.flush()
        file.truncate(_end(points, index))
    else:
        file.seek(_end(points, count))
        checksum = _parse_checksum(path, file.read(_CHECKSUM.size))
    file.seek(_end(points, index))
    for content in new:
        checksum = zlib.crc32(content, checksum)
        file.write(content)
    file.write(_CHECKSUM.pack(_CHECKSUM_MAGIC, checksum))
    file.flush()
    file.seek(0)
    file.write(_header(points, index + len(new)))


def read(path: Path) -> NDArray[np.float32]:
    """(F, V, 3) positions.

    Raises:
        SuppleError: when they cannot be read, or are not those that were written.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise SuppleError(_not_read(path, error)) from error
    points, count = _parse(path, content[: _HEADER.size])
    end = _end(points, count)
    if len(content) < end + _CHECKSUM.size:
        raise SuppleError(_cut_off(path))
    samples = memoryview(content)[_HEADER.size : end]
    if zlib.crc32(samples) != _parse_checksum(path, content[end : end + _CHECKSUM.size]):
        raise SuppleError(f"{path} is damaged (its checksum does not match). Simulate again.")
    values = np.frombuffer(content, "<f4", count * points * 3, _HEADER.size)
    return values.reshape(count, points, 3)


def sample(path: Path, index: int) -> NDArray[np.float32]:
    """(V, 3) positions of one frame, unchecked; raises SuppleError as ``read`` does."""
    try:
        with path.open("rb") as file:
            points, count = _parse(path, file.read(_HEADER.size))
            file.seek(_end(points, min(max(index, 0), count - 1)))
            return np.frombuffer(file.read(points * 12), "<f4").reshape(points, 3)
    except (OSError, ValueError) as error:
        raise SuppleError(
            _not_read(path, error) if isinstance(error, OSError) else _cut_off(path)
        ) from error


def frame_count(path: Path) -> int:
    """The number of frames, including the start; raises SuppleError as ``read`` does."""
    return _counts(path)[1]


def point_count(path: Path) -> int:
    """The number of points of each frame; raises SuppleError as ``read`` does."""
    return _counts(path)[0]


def why_unreadable(path: Path) -> str:
    """The damage of a cache that a quick look finds; empty when there is none."""
    try:
        with path.open("rb") as file:
            points, count = _parse(path, file.read(_HEADER.size))
            if file.seek(0, SEEK_END) >= _end(points, count) + _CHECKSUM.size:
                return ""
    except OSError as error:
        return _not_read(path, error)
    except SuppleError as error:
        return str(error)
    return _cut_off(path)


def _counts(path: Path) -> tuple[int, int]:
    try:
        with path.open("rb") as file:
            return _parse(path, file.read(_HEADER.size))
    except OSError as error:
        raise SuppleError(_not_read(path, error)) from error


def _not_read(path: Path, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{path} is missing. Restore it, or simulate again."
    return f"{path} cannot be read: {error.strerror}. Simulate again."


def _cut_off(path: Path) -> str:
    return f"{path} is incomplete. Simulate again."


def _end(points: int, samples: int) -> int:
    """The offset in a file at which a number of samples ends, in bytes."""
    return _HEADER.size + samples * points * 12


def _header(points: int, samples: int) -> bytes:
    return _HEADER.pack(_MAGIC, 1, points, 0.0, 1.0, samples)


def _parse(path: Path, header: bytes) -> tuple[int, int]:
    if len(header) < _HEADER.size or not header.startswith(_MAGIC):
        raise SuppleError(f"{path} is not a point cache. Simulate again.")
    _, _, points, _, _, samples = _HEADER.unpack(header)
    if points < 0 or samples < 0:
        raise SuppleError(f"{path} is damaged (it counts {samples} frames). Simulate again.")
    return points, samples


def _parse_checksum(path: Path, text: bytes) -> int:
    if len(text) < _CHECKSUM.size or not text.startswith(_CHECKSUM_MAGIC):
        raise SuppleError(f"{path} is damaged (it has no checksum). Simulate again.")
    return _CHECKSUM.unpack(text)[1]


def _not_written(path: Path, error: OSError) -> SuppleError:
    return SuppleError(why_not_written(path, error))
