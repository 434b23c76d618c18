# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from supple.core.errors import DamageError, JobError
from supple.core.job.files import (
    read_array,
    read_arrays,
    read_json,
    why_not_written,
    write_array,
    write_arrays,
    write_json,
    write_whole,
)


def test_what_was_written_comes_back(tmp_path: Path) -> None:
    array = np.arange(6.0).reshape(2, 3)
    write_array(tmp_path / "a.npy", array.T)
    np.testing.assert_array_equal(read_array(tmp_path / "a.npy"), array.T)
    arrays = {"scene/points": array, "count": np.array(3), "empty": np.zeros((0, 3)), "file": array}
    write_arrays(tmp_path / "b.npz", arrays)
    read = read_arrays(tmp_path / "b.npz")
    assert list(read) == list(arrays)
    for name, value in arrays.items():
        np.testing.assert_array_equal(read[name], value)
    write_json(tmp_path / "c.json", {"name": "Blöck", "list": [1, {"x": None}]})
    assert read_json(tmp_path / "c.json") == {"name": "Blöck", "list": [1, {"x": None}]}


def test_numpy_reads_the_arrays_too(tmp_path: Path) -> None:
    array = np.arange(6.0).reshape(2, 3)
    write_array(tmp_path / "a.npy", array)
    write_arrays(tmp_path / "b.npz", {"points": array})
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), array)
    np.testing.assert_array_equal(np.load(tmp_path / "b.npz")["points"], array)


def test_what_is_read_may_be_changed(tmp_path: Path) -> None:
    write_array(tmp_path / "a.npy", np.zeros(3))
    read_array(tmp_path / "a.npy")[0] = 1.0


def test_equal_arrays_make_equal_bytes(tmp_path: Path) -> None:
    first = write_arrays(tmp_path / "a.npz", {"x": np.ones(3)})
    content = (tmp_path / "a.npz").read_bytes()
    assert write_arrays(tmp_path / "a.npz", {"x": np.ones(3)}) == first
    assert (tmp_path / "a.npz").read_bytes() == content
    assert write_arrays(tmp_path / "a.npz", {"x": np.zeros(3)}) != first


def test_a_file_under_another_name_is_damaged(tmp_path: Path) -> None:
    write_array(tmp_path / "000001.npy", np.zeros(3))
    (tmp_path / "000001.npy").rename(tmp_path / "000002.npy")
    with pytest.raises(DamageError, match="its checksum does not match"):
        read_array(tmp_path / "000002.npy")


def test_a_file_that_another_program_reads_for_a_moment_is_written(tmp_path: Path, monkeypatch):
    replace, refusals = Path.replace, [PermissionError(13, "in use")] * 3

    def refuse_at_first(path: Path, target: Path) -> Path:
        if refusals:
            raise refusals.pop()
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", refuse_at_first)
    write_whole(tmp_path / "file", b"new")
    assert (tmp_path / "file").read_bytes() == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine").write_text("")
    with pytest.raises(JobError, match="folder cannot be written"):
        write_whole(tmp_path / "folder", b"new")
    assert [path.name for path in tmp_path.rglob("*")] == ["folder", "mine"]


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, "The disk is full: x was not written. Free some space"),
        (errno.EDQUOT, "The disk is full: x was not written. Free some space"),
        (errno.EROFS, "x cannot be written: Read-only file system. Choose another cache folder"),
    ],
)
def test_why_something_is_not_written(number: int, message: str) -> None:
    error = OSError(number, os.strerror(number))
    assert why_not_written(Path("x"), error).startswith(message)
