# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("addon", "core", "docs", "tests", "verification")


def test_the_files_that_a_contributor_is_sent_to_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    named = [path for path in re.findall(r"`([\w/.]+)`", text) if path.partition("/")[0] in ROOMS]
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_commands_that_it_names_are_those_of_dev() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    commands = set(re.findall(r'^    "(\w+)": command_', (ROOT / "dev.py").read_text(), re.M))
    assert set(re.findall(r"python3 dev\.py (\w+)", text)) == commands - {"blender"}
