"""Plays every file in scenarios/ in a real Blender's window."""

from __future__ import annotations

from pathlib import Path

import pytest

from supple.tests.blender.harness import SCENARIOS, InstalledBlender


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.py")), ids=lambda path: path.stem)
def test_scenario(installed: InstalledBlender, path: Path) -> None:
    installed.play(path)
