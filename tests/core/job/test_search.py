# SPDX-License-Identifier: GPL-3.0-or-later
"""By which steps something is sought."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from supple.core import Collider, Contact, Scene
from supple.core.adjoint import simulate
from supple.core.integrators import BDF2, Integrator, SymplecticEuler
from supple.core.integrators.contact_failures import DivergedStepError
from supple.core.job import Job, Settings
from supple.core.job.follow import Search, with_body
from supple.core.preparation.prepared import prepare

from .test_fit import bar


def test_where_surfaces_stop_explicit_steps_implicit_ones_are_taken_and_it_is_said(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Surfaces stop each other long before they are as near as they may come.
    monkeypatch.setattr("supple.core.integrators.truncated_motion.FLOOR_RATIO", 0.9)
    wall = Collider(np.array([[1.0, -5, -5], [1.0, 5, -5], [1.0, 0, 9]]), [[0, 1, 2]])
    thrown = bar(held=False, young=2e4, velocity=(10.0, 0.0, 0.0))
    scene = Scene([thrown], gravity=(0.0, 0.0, 0.0), colliders=[wall], contact=Contact())
    Job.create(tmp_path, scene, Settings(2, integrator="symplectic_euler", device="cpu"))
    job = Job(tmp_path)
    job.write_tet_scene(*prepare(job.scene))
    search = Search.of(job)
    velocity = torch.tensor([10.0, 0.0, 0.0], dtype=torch.float64, requires_grad=True)
    taped = with_body(search.scene, 0, velocity=velocity)
    *_, last = search.find(partial(simulate, taped, frames=2))
    assert "searching in steps of BDF2 instead: Bar: " in capsys.readouterr().out
    assert last.positions[0].requires_grad


def test_so_they_are_where_explicit_ones_diverge_however_short(tmp_path: Path, capsys) -> None:
    job = Job.create(tmp_path, Scene([bar()]), Settings(2, integrator="symplectic_euler"))
    job.write_tet_scene(*prepare(job.scene))
    taken: list[Integrator] = []

    def tool(*, integrator: Integrator, **options: Any) -> str:
        taken.append(integrator)
        if isinstance(integrator, SymplecticEuler):
            raise DivergedStepError("Bar: 1344 substeps a frame are too few.")
        return "found"

    assert Search.of(job).find(tool) == "found" and isinstance(taken[1], BDF2)
    assert "BDF2 instead: Bar: 1344 substeps" in capsys.readouterr().out
