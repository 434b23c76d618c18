# SPDX-License-Identifier: GPL-3.0-or-later
"""A job of a box that falls on the ground, and the worker to simulate it."""

from __future__ import annotations

import contextlib
import io
import shutil
import subprocess
import sys
from pathlib import Path

from supple.core import Ground, Scene, Skin, SoftBody, SurfaceMesh
from supple.core.__main__ import main
from supple.core.job import Job, Settings
from supple.core.materials import StableNeoHookean

from .boxes import BOX_TRIANGLES, box_corners

COMMAND = [sys.executable, "-m", "supple.core"]


def box() -> SurfaceMesh:
    return SurfaceMesh(box_corners((0.0, 0.0, 0.5)), BOX_TRIANGLES, edge_length=0.34)


def box_job(folder: Path, frames: int, integrator: str = "automatic") -> Job:
    surface = box()
    body = SoftBody(surface, StableNeoHookean(3e4, 0.4), skin=Skin(surface.vertices), name="Jelly")
    settings = Settings(frames, device="cpu", integrator=integrator)
    return Job.create(folder, Scene([body], ground=Ground()), settings)


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run ``python -m supple.core FOLDER`` in this process, which has loaded the solver."""
    words = [str(folder), *options]
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as error,
    ):
        status = main(words)
    return subprocess.CompletedProcess(words, status, out.getvalue(), error.getvalue())


def copied(job: Job, folder: Path) -> Job:
    return Job(Path(shutil.copytree(job.folder, folder / "copy")))
