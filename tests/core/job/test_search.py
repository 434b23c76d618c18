# SPDX-License-Identifier: GPL-3.0-or-later
"""The integrators of searches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from supple.core import Collider, Contact, Scene
from supple.core.integrators import BDF2, Integrator, SymplecticEuler
from supple.core.integrators.contact_failures import DivergedStepError
from supple.core.job import Job, Settings
from supple.core.job.follow import Search
from supple.core.preparation.prepared import prepare

from .test_fit import bar


@pytest.mark.parametrize("scheme", ["symplectic_euler", "runge_kutta4"])
def test_explicit_steps_with_contact_are_replaced_by_bdf2(tmp_path: Path, scheme: str) -> None:
    wall = Collider(np.array([[1.0, -5, -5], [1.0, 5, -5], [1.0, 0, 9]]), [[0, 1, 2]])
    thrown = bar(held=False, young=2e4, velocity=(10.0, 0.0, 0.0))
    scene = Scene([thrown], gravity=(0.0, 0.0, 0.0), colliders=[wall], contact=Contact())
    Job.create(tmp_path, scene, Settings(2, integrator=scheme, device="cpu"))
    job = Job(tmp_path)
    job.write_tet_scene(*prepare(job.scene))
    assert isinstance(Search.of(job).options["integrator"], BDF2)


def test_explicit_steps_that_diverge_are_replaced_by_bdf2(tmp_path: Path, capsys) -> None:
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
