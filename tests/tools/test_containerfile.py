# SPDX-License-Identifier: GPL-3.0-or-later
"""The Containerfile agrees with the pinned packages, and its commands with the code."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Containerfile").read_text().replace("\\\n", "")


def test_its_packages_are_those_of_the_requirements() -> None:
    files = re.findall(r"-r (\S+)", TEXT)
    assert files == ["requirements/solver.txt", "requirements/farm.txt"]
    assert all((ROOT / file).is_file() for file in files)
    (python,) = re.findall(r"^FROM python:3\.(\d+)", TEXT, re.MULTILINE)
    assert int(python) >= 12
    pins = (ROOT / "requirements" / "dev.txt").read_text()
    (pinned,) = re.findall(r'^(bpy==\S+) ; python_version >= "3.12"', pins, re.MULTILINE)
    assert re.findall(r"bpy==\S+", TEXT) == [pinned]


def test_its_python_is_code_that_there_is() -> None:
    (code,) = re.findall(r'python -c "([^"]+)"', TEXT)
    imports = code.partition("; prepare_everything")[0]
    names: dict[str, object] = {}
    exec(compile(imports, "Containerfile", "exec"), names)
    assert callable(names["prepare_everything"])
    assert (ROOT / "__main__.py").is_file() and TEXT.endswith('["python", "-m", "supple"]\n')


def test_environments_and_builds_of_the_checkout_stay_out() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert {".git", ".venv", "build"} <= {*ignored}
    assert not {"addon", "core", "requirements", "pyproject.toml", "setup.py"} & {*ignored}
