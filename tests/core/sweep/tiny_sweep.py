# SPDX-License-Identifier: GPL-3.0-or-later
"""A sweep whose runs take a moment each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from supple.core.job import Settings
from supple.core.sweep import Span, Sweep

from ..job.tiny_job import tiny_scene

FRAMES = 2
SETTINGS = Settings(FRAMES, device="cpu")
SCENE = tiny_scene()
SWEEP = Sweep(
    grid={"Jelly.young": [1e4, 3e4], "ground.friction": Span(0.1, 0.9, 2)},
    lists={"Jelly.density": [500, 1000], "Jelly.poisson": [0.3, 0.4]},
)


def without_times(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows without what is never the same again."""
    return [{name: row[name] for name in row if name != "seconds"} for row in rows]


def frames_of(folder: Path) -> dict[str, bytes]:
    """The frames of all runs of a sweep."""
    paths = folder.glob("runs/*/frames/*.npy")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}
