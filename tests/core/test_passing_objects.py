# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects that pass through each other, beside others that do not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from supple.core import Collider, Contact, Ground, Scene, Simulator, SoftBody
from supple.core.errors import IntersectionError, SceneError
from supple.core.integrators import ImplicitEuler, SymplecticEuler
from supple.core.integrators.integrator import Integrator
from supple.core.job import Job, Settings, digest
from supple.core.materials import StableNeoHookean
from supple.core.preparation.initial_intersections import resolve_initial_intersections
from supple.verification.meshes import block

#: A table below all boxes, as object 3.
TABLE = Collider(
    0.1 * np.array([[-1.0, -1, 0], [20, -1, 0], [20, 2, 0], [-1, 2, 0]]),
    [[0, 1, 2], [0, 2, 3]],
    name="Table",
)
FRAMES = 8


def box(x: float, z: float) -> SoftBody:
    mesh = block((2, 2, 2))
    vertices = 0.1 * (mesh.vertices + np.array([x, 0.0, z]))
    return SoftBody(mesh.with_vertices(vertices), StableNeoHookean(3e4, 0.4), damping=1.0)


def scene(passing: list[tuple[int, int]] | None) -> Scene:
    """A box that falls on a box on a table, and a box that falls on the table alone."""
    bodies = [box(0.0, 0.05), box(0.0, 1.2), box(4.0, 0.3)]
    contact = Contact(passing=None if passing is None else np.array(passing, dtype=np.int32))
    return Scene(bodies, None, colliders=[TABLE], contact=contact)


def lowest(described: Scene, integrator: Integrator) -> list[float]:
    simulator = Simulator(described, integrator, frame_time=0.04, device="cpu")
    *_, last = simulator.run(FRAMES)
    return [float(positions[:, 2].min()) for positions in last.positions]


@pytest.mark.parametrize(
    "integrator", [ImplicitEuler(), SymplecticEuler()], ids=["implicit", "explicit"]
)
def test_pairs_that_pass_do_not_collide_and_all_others_do(integrator: Integrator) -> None:
    _, on_the_box, _ = lowest(scene(None), integrator)
    assert on_the_box > 0.08
    low, through_the_box, alone = lowest(scene([(0, 1)]), integrator)
    assert 0.0 < low < 0.01 and 0.0 < through_the_box < 0.03 and 0.0 < alone < 0.01
    _, _, through_the_table = lowest(scene([(3, 2)]), integrator)
    assert through_the_table < -0.1


def test_pairs_that_pass_may_overlap_at_the_start() -> None:
    overlapping = Scene([box(0.0, 0.0), box(0.3, 0.5)], Ground(-1.0), contact=Contact())
    with pytest.raises(IntersectionError):
        resolve_initial_intersections(overlapping)
    assert overlapping.contact is not None
    contact = replace(overlapping.contact, passing=np.array([[1, 0]]))
    passing = replace(overlapping, contact=contact)
    bodies = resolve_initial_intersections(passing).bodies
    for before, after in zip(passing.bodies, bodies, strict=True):
        np.testing.assert_array_equal(before.mesh.vertices, after.mesh.vertices)


def test_a_job_keeps_them_and_a_scene_without_is_the_same_run(tmp_path) -> None:
    settings = Settings(frame_count=2)
    with_pairs = Job.create(tmp_path / "job", scene([(0, 1)]), settings).scene
    assert with_pairs.passing_pairs == {(0, 1)}
    assert digest(scene([(0, 1)]), settings) != digest(scene(None), settings)
    assert (
        "passing"
        not in (
            Job.create(tmp_path / "none", scene(None), settings).folder / "scene.json"
        ).read_text()
    )


@pytest.mark.parametrize("pair", [(0, 0), (0, 4), (-1, 2)])
def test_pairs_of_no_two_objects_are_refused(pair: tuple[int, int]) -> None:
    with pytest.raises(SceneError, match=r"cannot pass through each other\. Name two of the 4"):
        scene([pair])
