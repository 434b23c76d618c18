# SPDX-License-Identifier: GPL-3.0-or-later
"""A job that is simulated in a moment and has something in each of its files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from supple.core import Collider, Contact, Ground, Scene, Skin, SoftBody, SurfaceMesh
from supple.core.job import Job, Settings
from supple.core.materials import NeoHookean

from ..box_job import run
from ..boxes import BOX_TRIANGLES, box_corners


def tiny_scene() -> Scene:
    """A pinned box of two dozen tets above a plate that rises, and does not reach it."""
    corners = box_corners((0.0, 0.0, 0.5))
    plate = np.array([[-1.0, -1, 0.1], [2, -1, 0.1], [2, 2, 0.1], [-1, 2, 0.1]])
    rising = plate + np.linspace(0.0, 0.05, 6)[:, None, None] * np.array([0.0, 0.0, 1.0])
    body = SoftBody(
        SurfaceMesh(corners, BOX_TRIANGLES, edge_length=0.6),
        NeoHookean(3e4, 0.4),
        skin=Skin(corners, pinned=[0], pin_path=np.tile(corners[:1], (3, 1, 1))),
        name="Jelly",
    )
    return Scene(
        [body],
        ground=Ground(),
        colliders=[Collider(rising, [[0, 1, 2], [0, 2, 3]], name="Plate")],
        contact=Contact(distance=0.02),
    )


def tiny_job(folder: Path, frames: int) -> Job:
    """Made, or asked for another number of frames."""
    return Job.create(folder, tiny_scene(), Settings(frames, device="cpu"))


def simulated(folder: Path) -> tuple[int, str, str]:
    """Exit status, standard output and standard error of ``python -m supple.core FOLDER``."""
    done = run(folder)
    return done.returncode, done.stdout, done.stderr


def contents(folder: Path) -> dict[str, bytes]:
    """The bytes of all files but the lock, which names the last process."""
    files = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
