# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from supple.core import Scene, Simulator, SoftBody, SurfaceMesh
from supple.core.job import Job, Settings
from supple.core.job.worker import work
from supple.core.preparation import initial_intersections
from supple.core.preparation.prepared import prepare
from supple.core.scene.contact_settings import Contact

from ..box_job import box


@pytest.fixture
def touching() -> Scene:
    """Two boxes, one upon the other."""
    surface = box()
    shapes = [np.add(surface.vertices, (0.0, 0.0, height)) for height in (0.0, 1.0)]
    meshes = [SurfaceMesh(shape, surface.triangles, edge_length=0.5) for shape in shapes]
    bodies = [SoftBody(mesh, name="Brick") for mesh in meshes]
    return Scene(bodies, gravity=(0.0, 0.0, 0.0), contact=Contact())


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[Scene]:
    """The scenes of bricks in which intersections were looked for: others compile the solver."""
    found: list[Scene] = []

    def resolve_initial_intersections(scene: Scene) -> Scene:
        found.extend([scene] if scene.bodies[0].name == "Brick" else [])
        return original(scene)

    original = initial_intersections.resolve_initial_intersections
    monkeypatch.setattr(
        initial_intersections, "resolve_initial_intersections", resolve_initial_intersections
    )
    return found


def test_a_worker_looks_for_intersections_once(touching, searches, tmp_path: Path) -> None:
    job = Job.create(tmp_path, touching, Settings(1, device="cpu", integrator="implicit_euler"))
    work(job.folder)
    assert job.last_frame() == 1
    assert len(searches) == 1


def test_a_prepared_scene_is_simulated_as_it_is(touching, searches) -> None:
    solids, reports = prepare(touching)
    assert len(reports) == 2
    assert Simulator(solids, is_prepared=True).scene is solids
    assert len(searches) == 1


def test_a_scene_as_it_was_drawn_is_prepared_by_the_simulator(touching, searches) -> None:
    simulator = Simulator(touching, device="cpu")
    assert all(body.initial_positions is not None for body in simulator.scene.bodies)
    assert len(searches) == 1
