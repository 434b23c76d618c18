# SPDX-License-Identifier: GPL-3.0-or-later
"""Test the progress of compiling, measured by the files on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from supple.core import shipped_loops
from supple.core.job import warm_up


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    return tmp_path


def keep(path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    path.touch()


def test_the_share_grows_with_what_any_process_keeps(folder: Path) -> None:
    files = sorted(warm_up._index_files())
    shares = [warm_up.kept_ratio()]
    for place, name in files:
        keep(folder / place / name)
        shares.append(warm_up.kept_ratio())
    assert shares[0] == 0.0 and shares[-1] == 1.0
    assert shares == sorted(shares)
    assert shares[len(files) // 2] == pytest.approx(0.5, abs=0.01)


def test_what_came_with_the_extension_counts_beside_what_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shipped_loops, "FOLDER", folder / "shipped")
    monkeypatch.setattr(shipped_loops, "name", lambda: "of this machine")
    indices = sorted(warm_up._index_files().items())
    half = len(indices) // 2
    for _, path in indices[: half + 1]:
        there = folder / "shipped" / "of this machine" / path
        there.parent.mkdir(parents=True, exist_ok=True)
        there.touch()
    assert warm_up.kept_ratio() == pytest.approx(0.5, abs=0.01)
    for (place, name), _ in indices[half:]:
        keep(folder / place / name)
    assert warm_up.kept_ratio() == 1.0
    monkeypatch.setattr(shipped_loops, "name", lambda: "of another one")
    assert warm_up.kept_ratio() == pytest.approx(0.5, abs=0.01)


def test_what_older_files_left_and_other_installations_keep_does_not_count(folder: Path) -> None:
    place, name = next(iter(warm_up._index_files()))
    stem, _, python = name.removesuffix(".nbi").rpartition(".")
    for other in (f"{stem}9.{python}.nbi", f"{stem}.py30.nbi", f"{stem}.{python}.1.nbc"):
        keep(folder / place / other)
    keep(folder / "kernels_1f" / name)
    assert warm_up.kept_ratio() == 0.0


def test_without_a_folder_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    assert warm_up.kept_ratio() == 0.0
