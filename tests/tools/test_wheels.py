# SPDX-License-Identifier: GPL-3.0-or-later
"""Packages for machines without a network."""

from __future__ import annotations

from pathlib import Path

import pytest

from supple.tools import wheels

HERE = Path("build/wheels")


def test_this_machine_needs_no_tags() -> None:
    options = wheels.parsed([], HERE)
    words = wheels.pip_words(Path("solver.txt"), options)
    assert words == ["download", "-r", "solver.txt", "--dest", str(HERE), "--only-binary", ":all:"]


def test_another_platform_has_its_tags_and_the_python_of_its_blender() -> None:
    options = wheels.parsed(["out", "--platform", "windows-x64", "--python", "3.13"], HERE)
    words = wheels.pip_words(Path("solver.txt"), options)
    assert words[3:5] == ["--dest", "out"]
    assert words[7:] == [
        *("--platform", "win_amd64", "--python-version", "3.13", "--implementation", "cp"),
        *("--abi", "cp313", "--abi", "abi3", "--abi", "none"),
    ]


@pytest.mark.parametrize("words", [["--platform", "macos-arm64"], ["--python", "4"]])
def test_what_is_missing_or_wrong_is_said(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        wheels.parsed(words, HERE)
