# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are either whole or absent, and that know when they are damaged.

Each is written under a temporary name, then renamed. Each carries a checksum of its name and
content: JSON objects as their first member, arrays behind their last byte, where other readers do
not look. It is compared before anything is made of the content.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import io
import json
import os
import re
import secrets
import stat
import struct
import time
import tokenize
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import DamageError, JobError

CHECKSUM_BYTES = 16
RENAME_RETRIES, RENAME_PAUSE_S = 20, 0.05
_CHECKSUM_MEMBER = re.compile(rb'\{"checksum": "([0-9a-f]{32})",')
_TEMPORARY_NAME = re.compile(r".+\.\d+\.part")
# Processes of two machines may have one number.
_MACHINE = secrets.randbelow(10**9)
_npy: Any = np.lib.format  # it has no types
_EPOCH = (1980, 1, 1, 0, 0, 0)
_WRONG = "its checksum does not match"
# Exceptions of numpy's and Python's readers for malformed content.
_MALFORMED = (
    *(ValueError, TypeError, KeyError, EOFError, OverflowError, RecursionError, MemoryError),
    *(SyntaxError, RuntimeError, tokenize.TokenError, zipfile.BadZipFile, struct.error),
)


def checksum(name: str, content: bytes | memoryview) -> bytes:
    """16 bytes that change with the name of a file and with every bit of its content."""
    hashed = hashlib.blake2b(name.encode() + b"\0", digest_size=CHECKSUM_BYTES)
    hashed.update(content)
    return hashed.digest()


# Writing


def write_whole(path: Path, *parts: bytes | memoryview) -> None:
    """Makes a file that appears at ``path`` only once it is complete.

    Raises:
        JobError: when it cannot be written; the previous content is kept.
    """
    temporary = path.with_name(f"{path.name}.{os.getpid()}{_MACHINE:09d}.part")
    try:
        with temporary.open("wb") as file:
            for part in parts:
                file.write(part)
        _take_the_place_of(path, temporary)
    except OSError as error:
        raise JobError(why_not_written(path, error)) from error
    finally:
        # It is there still where writing failed; a disk that refuses this, too, has been named.
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def _take_the_place_of(path: Path, temporary: Path) -> None:
    """Tries again for a while where another program, such as a virus scanner on Windows, has one of
    the two open."""
    for _ in range(RENAME_RETRIES):
        with contextlib.suppress(PermissionError):
            temporary.replace(path)
            return
        time.sleep(RENAME_PAUSE_S)
    temporary.replace(path)


def remove_unfinished(folder: Path) -> None:
    """Remove the unfinished files that a killed ``write_whole`` left in a folder.

    Raises:
        JobError: when that cannot be removed.
    """
    for path in folder.glob("*.part"):
        if _TEMPORARY_NAME.fullmatch(path.name) and path.is_file():
            remove(path)


def remove(path: Path) -> None:
    """Removes a file, if it is there.

    Raises:
        JobError: when it cannot be removed.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        if path.exists():
            raise JobError(why_not_written(path, error)) from error


def append_line(path: Path, line: bytes) -> None:
    """Adds a line at the end of a file; a reader must expect the last one to be cut off."""
    try:
        with path.open("ab") as file:
            file.write(line + b"\n")
    except OSError as error:
        raise JobError(why_not_written(path, error)) from error


def write_json(path: Path, value: Mapping[str, object]) -> None:
    """Writes an object that has a member at least."""
    write_whole(path, json_line(path.name, value, indent=1))


def write_array(path: Path, array: NDArray[Any]) -> None:
    content = io.BytesIO()
    np.save(content, array, allow_pickle=False)
    _write_checked(path, content)


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Writes an archive as ``numpy.load`` reads it; its checksum in hexadecimal digits.

    Equal arrays make equal bytes.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", _EPOCH)
            with archive.open(entry, "w", force_zip64=True) as file:
                _npy.write_array(file, np.asanyarray(array), allow_pickle=False)
    return _write_checked(path, content)


def json_line(name: str, value: Mapping[str, object], indent: int | None = None) -> bytes:
    """An object as JSON text, its checksum first."""
    body = json.dumps(value, indent=indent, allow_nan=False)[1:].encode()
    return b'{"checksum": "%s",%s' % (checksum(name, body).hex().encode(), body)


def why_not_written(path: Path, error: OSError, where: str = "cache folder") -> str:
    """Return the message about a file that could not be written.

    Args:
        where: the thing that the user may choose another of.
    """
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk is full: {path} was not written. Free some space, then simulate again."
    return (
        f"{path} cannot be written: {error.strerror or error}. Choose another {where}, then "
        "simulate again."
    )


def _write_checked(path: Path, content: io.BytesIO) -> str:
    view = content.getbuffer()
    mark = checksum(path.name, view)
    write_whole(path, view, mark)
    return mark.hex()


# Reading


def read_bytes(path: Path) -> bytes:
    """The content of a regular file.

    Raises:
        DamageError: when there is none.
        JobError: when it cannot be read.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise JobError(f"{path} is not a file. Move it away, then simulate again.")
        return path.read_bytes()
    except FileNotFoundError as error:
        raise DamageError(path) from error
    except OSError as error:
        raise JobError(
            f"{path} cannot be read: {error.strerror or error}. Allow it to be read, or choose "
            "another cache folder."
        ) from error
    except MemoryError as error:
        raise DamageError(path, "it is larger than the memory") from error


def read_json(path: Path) -> dict[str, Any]:
    """Read the file of ``write_json``.

    Raises:
        DamageError: when it is not that any more.
        JobError: when it cannot be read.
    """
    try:
        return parse_json_line(path.name, read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise DamageError(path, str(error)) from error


def read_array(path: Path) -> NDArray[Any]:
    """Read the file of ``write_array``; errors as of ``read_json``."""
    content, _ = _read_checked(path)
    try:
        return _parse_array(content)
    except _MALFORMED as error:
        raise DamageError(path, str(error)) from error


def read_arrays(path: Path, expected: str | None = None) -> dict[str, NDArray[Any]]:
    """Read the file of ``write_arrays``, which must have the checksum ``expected``; errors as of
    ``read_json``."""
    content, file_checksum = _read_checked(path)
    if expected is not None and file_checksum != expected:
        raise DamageError(path, "it does not belong to the file beside it")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return {
                entry.filename.removesuffix(".npy"): _parse_array(_member(archive, entry))
                for entry in archive.infolist()
            }
    except _MALFORMED as error:
        raise DamageError(path, str(error)) from error


def parse_json_line(name: str, text: bytes) -> dict[str, Any]:
    """Parse the line of ``json_line``.

    Raises:
        ValueError, RecursionError: when it is not that any more.
    """
    head = _CHECKSUM_MEMBER.match(text)
    if head is None or checksum(name, text[head.end() :]).hex().encode() != head[1]:
        raise ValueError(_WRONG)
    return json.loads(b"{" + text[head.end() :], parse_constant=_refuse_constant)


def _read_checked(path: Path) -> tuple[memoryview, str]:
    content = memoryview(read_bytes(path))
    body, mark = content[:-CHECKSUM_BYTES], content[-CHECKSUM_BYTES:]
    if len(mark) < CHECKSUM_BYTES or checksum(path.name, body) != mark:
        raise DamageError(path, _WRONG)
    return body, mark.hex()


def _member(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> memoryview:
    if entry.compress_type != zipfile.ZIP_STORED:
        raise ValueError(f"{entry.filename} is compressed")
    return memoryview(archive.read(entry))


def _parse_array(content: memoryview) -> NDArray[Any]:
    """The array of a .npy file. Nothing is allocated for content that the header promises and the
    file lacks."""
    file = io.BytesIO(content)
    shape, is_fortran, dtype = _read_header(file)
    values = content[file.tell() :]
    if dtype.kind not in "biuf" or not dtype.isnative:
        raise ValueError(f"an array of {dtype} instead of numbers")
    if min(shape, default=0) < 0 or _product(shape) * dtype.itemsize != len(values):
        raise ValueError(f"the shape {shape} is not that of {len(values)} bytes")
    order: Any = "F" if is_fortran else "C"
    return np.frombuffer(values, dtype).reshape(shape, order=order).copy()


def _read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = _npy.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"an array file of version {version}")
    size = file.read(2)
    return _parse_header(size + file.read(int.from_bytes(size, "little")))


# Frames of a run begin alike: to parse it takes longer than to read a frame.
@functools.lru_cache(maxsize=64)
def _parse_header(header: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    return _npy.read_array_header_1_0(io.BytesIO(header))


def _product(shape: tuple[int, ...]) -> int:
    """Exact, however large."""
    result = 1
    for size in shape:
        result *= size
    return result


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a number")
