# SPDX-License-Identifier: GPL-3.0-or-later
"""Damage a job folder that has four frames of five: all that a disk, an editor, a synchronizing
program or somebody hostile may do to each of its files. The same at every run."""

from __future__ import annotations

import io
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from supple.core.job.files import (
    checksum,
    json_line,
    read_arrays,
    read_json,
    write_arrays,
    write_json,
)

Damage = Callable[[Path], object]

ARCHIVES = ("scene.npz", "solids.npz", "checkpoint_0.npz", "checkpoint_1.npz")
FRAMES = ("frames/000000.npy", "frames/000002.npy", "frames/000003.npy")
FILES = ("scene.json", "solids.json", "log.jsonl", *ARCHIVES, *FRAMES)

_ZEROS = b"\0" * 500
_TEXTS = {
    "an empty object": b"{}\n",
    "an empty list": b"[]\n",
    "a number": b"5\n",
    "nothing": b"null\n",
    "no UTF-8": b'{"checksum": "\xff\xfe"}\n',
    "deep nesting": b"[" * 100_000 + b"\n",
    "an archive's beginning": b"PK\x03\x04" + _ZEROS,
    "an array's beginning": b"\x93NUMPY\x01\x00\x76\x00" + _ZEROS,
    "zeros": _ZEROS,
}
# What stands where a number, a word or a list should. JSON has no other kinds.
_VALUES: tuple[object, ...] = (
    *(None, True, -5, 2.7, 1e300, 10**400, "text", [], [[]], {}, {"type": "Scene"}),
)
_RIGHT_MEMBERS = (
    *(("minimum_distance", None), ("minimum_distance", -5), ("minimum_distance", 2.7)),
    ("integrator", "text"),
)
_HEADERS = {
    "terabytes": "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 3), }",
    "beyond counting": f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({10**30}, 3), }}",
    "less than nothing": "{'descr': '<f8', 'fortran_order': False, 'shape': (-15, -3), }",
    "objects": "{'descr': '|O', 'fortran_order': False, 'shape': (15, 3), }",
    "words": "{'descr': '<U2', 'fortran_order': False, 'shape': (15, 3), }",
    "nothing": "{}",
    "nesting": "(" * 9000,
    "no dictionary": "[1, 2",
}


def all_damages() -> Iterator[tuple[str, Damage]]:
    """Yield each damage with its description, the files named first."""
    for number, name in enumerate(FILES):
        dice = random.Random(number)
        for share in (0.0, 0.01, 0.6, 1.0):
            yield f"{name} cut at {share}", _changed(name, _cut(share))
        for place in (dice.random() for _ in range(5)):
            yield f"{name} with a flipped bit at {place:.3f}", _changed(name, _flipped(place))
        for what, text in _TEXTS.items():
            yield f"{name} replaced by {what}", _changed(name, lambda _, text=text: text)
        noise = dice.randbytes(700)
        yield f"{name} replaced by noise", _changed(name, lambda _, noise=noise: noise)
        yield f"{name} with something behind", _changed(name, lambda old: old + b"more\n")
        yield f"{name} missing", lambda folder, name=name: (folder / name).unlink()
        yield f"{name} being a folder", lambda folder, name=name: _make_folder(folder / name)
    for first, second in (("scene", "solids"), ("checkpoint_0", "checkpoint_1")):
        yield f"{first}.npz in place of {second}.npz", _copied(f"{first}.npz", f"{second}.npz")
    yield "frames/000001.npy in place of the next", _copied(FRAMES[0], FRAMES[1])
    yield from _forged_json()
    yield from _forged_arrays()


def _forged_json() -> Iterator[tuple[str, Damage]]:
    """Other values with a checksum that fits: those that nobody would write."""
    for number in range(55):
        value = _VALUES[number % len(_VALUES)]
        yield (
            f"scene.json, value {number} {_short(value)}",
            _leaf_changed("scene.json", number, value),
        )
    for member in ("frame", "substeps", "integrator", "converged", "blocked", "minimum_distance"):
        for value in (None, "text", -5, 2.7, {}):
            if (member, value) not in _RIGHT_MEMBERS:
                yield f"log.jsonl with {member} {value}", _record_changed(member, value)


def forged_solids() -> Iterator[tuple[str, Damage]]:
    """Other tetrahedra with a checksum that fits. Those may be another simulation, rightly."""
    values = [value for value in _VALUES if type(value) not in (int, float)]
    for number in range(54):
        value = values[number % len(values)]
        yield f"value {number} {_short(value)}", _leaf_changed("solids.json", number, value)


def _short(value: object) -> str:
    return str(value)[:20]


def _forged_arrays() -> Iterator[tuple[str, Damage]]:
    """Other arrays with a checksum that fits."""
    for what, header in _HEADERS.items():
        yield f"{FRAMES[1]} that claims {what}", _changed(FRAMES[1], _headed(FRAMES[1], header))
    far, lost = np.full((15, 3), 1e300), np.full((15, 3), np.nan)
    for what, array in (("far away", far), ("nowhere", lost), ("one short", np.zeros((14, 3)))):
        yield f"{FRAMES[1]} {what}", _changed(FRAMES[1], _array_of(FRAMES[1], array))
    for name in ARCHIVES[2:]:
        for frame in (np.array(-5), np.array(2.7), np.array("3"), np.array([3]), np.array(np.nan)):
            yield f"{name} of frame {frame!r}", _members_changed(name, {"frame": frame})
        for member in ("frame", "solids", "positions", "velocities", "substeps"):
            yield f"{name} without {member}", _members_changed(name, {member: None})
        for member in ("positions", "velocities", "colliders", "substeps"):
            yield f"{name} with {member} not finite", _members_changed(name, {member: lost})
            few = np.zeros((2, 2))
            yield f"{name} with {member} of another shape", _members_changed(name, {member: few})
            word = np.array("word")
            yield f"{name} with {member} in words", _members_changed(name, {member: word})


def _changed(name: str, change: Callable[[bytes], bytes]) -> Damage:
    return lambda folder: (folder / name).write_bytes(change((folder / name).read_bytes()))


def _cut(share: float) -> Callable[[bytes], bytes]:
    """Cut a file; the last share cuts off a single byte."""
    return lambda old: old[: min(int(share * len(old)), len(old) - 1)]


def _flipped(place: float) -> Callable[[bytes], bytes]:
    def change(old: bytes) -> bytes:
        bit = int(place * 8 * len(old))
        new = bytearray(old)
        new[bit // 8] ^= 1 << bit % 8
        return bytes(new)

    return change


def _make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "something").write_text("in it")


def _copied(source: str, target: str) -> Damage:
    return lambda folder: shutil.copy(folder / source, folder / target)


def _headed(name: str, header: str) -> Callable[[bytes], bytes]:
    text = header.encode() + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(360)
    return lambda _: content + checksum(Path(name).name, content)


def _array_of(name: str, array: np.ndarray[Any, Any]) -> Callable[[bytes], bytes]:
    content = io.BytesIO()
    np.save(content, array)
    return lambda _: content.getvalue() + checksum(Path(name).name, content.getvalue())


def _members_changed(name: str, members: dict[str, Any]) -> Damage:
    def change(folder: Path) -> None:
        arrays = read_arrays(folder / name) | members
        write_arrays(folder / name, {key: each for key, each in arrays.items() if each is not None})

    return change


def _leaf_changed(name: str, number: int, value: object) -> Damage:
    def change(folder: Path) -> None:
        content = read_json(folder / name)
        places = list(_places(content))
        container, key = places[number * 7 % len(places)]
        container[key] = value
        write_json(folder / name, content)

    return change


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every place in JSON, as a container and a key."""
    keys = list(value) if isinstance(value, dict) else range(len(value))
    for key in keys:
        yield value, key
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key])


def _record_changed(member: str, value: object) -> Damage:
    def change(folder: Path) -> None:
        path = folder / "log.jsonl"
        lines = path.read_bytes().split(b"\n")
        record = {"frame": 1, "time": 0.04, "integrator": "Implicit Euler", member: value}
        lines[1] = json_line(path.name, record)
        path.write_bytes(b"\n".join(lines))

    return change
