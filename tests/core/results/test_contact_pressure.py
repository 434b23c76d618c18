# SPDX-License-Identifier: GPL-3.0-or-later
"""Test that contact pressure on a body at rest bears its weight."""

from __future__ import annotations

import numpy as np
import pytest

from supple.core import Contact, Ground, Scene, SceneError, Simulator, SoftBody, Sphere, SurfaceMesh
from supple.core.integrators import XPBD, Automatic, ImplicitEuler, SymplecticEuler
from supple.core.materials import StableNeoHookean
from supple.core.results.contact_pressure import SurfaceForces, _Carriers
from supple.tests.core.balls import ball_surface
from supple.tests.core.boxes import BOX_TRIANGLES, box_corners
from supple.tests.core.touching import plate
from supple.verification.meshes import block

MATERIAL = StableNeoHookean(3e4, 0.3)
WEIGHT = 1000.0 * 9.81
RESULTS = ("contact_pressure",)


def box(gap: float, damping: float = 8.0) -> SoftBody:
    return SoftBody(block((2, 2, 2), origin=(0.0, 0.0, gap)), MATERIAL, damping=damping)


def pressure_after(scene: Scene, integrator, frames: int) -> np.ndarray:
    *_, last = Simulator(scene, integrator, results=RESULTS).run(frames)
    return last.fields["contact_pressure"][0].numpy()


@pytest.mark.parametrize("integrator", [ImplicitEuler(), SymplecticEuler(), XPBD()])
def test_the_ground_bears_a_box_at_rest(integrator) -> None:
    body = box(0.01)
    pressure = pressure_after(Scene([body], ground=Ground()), integrator, 40)
    assert pressure @ body.mesh.surface_areas == pytest.approx(WEIGHT, rel=0.01)
    above = body.mesh.vertices[:, 2] > 0.1
    assert pressure[above].max() == 0.0
    assert pressure[~above].min() > 0.0


@pytest.mark.parametrize(
    "integrator", [ImplicitEuler(), SymplecticEuler(), Automatic()], ids=lambda kind: type(kind)
)
def test_a_plate_bears_a_box_at_rest(integrator) -> None:
    body = box(0.02)
    scene = Scene([body], colliders=[plate(0.0, 3.0)], contact=Contact(distance=0.02))
    pressure = pressure_after(scene, integrator, 40)
    assert pressure @ body.mesh.surface_areas == pytest.approx(WEIGHT, rel=0.01)
    assert pressure[body.mesh.vertices[:, 2] > 0.1].max() == 0.0


def test_a_plate_bears_a_box_whose_faces_are_larger_than_its_tets_all_over() -> None:
    surface = SurfaceMesh(box_corners((0.0, 0.0, 0.01)), BOX_TRIANGLES, edge_length=0.25)
    scene = Scene([SoftBody(surface, MATERIAL, damping=8.0)], colliders=[plate(0.0, 3.0)])
    simulator = Simulator(scene, ImplicitEuler(), results=RESULTS)
    pressure = simulator.settle().fields["contact_pressure"][0].numpy()
    forces = SurfaceForces(simulator.system)
    areas = _Carriers.for_surfaces(forces).vertex_areas
    assert areas.sum() == pytest.approx(6.0)
    assert pressure @ areas == pytest.approx(float(simulator.system.mass.sum()) * 9.81, rel=1e-3)
    vertices = simulator.system.meshes[0].vertices
    # Those outside of the box lie between what touches.
    at_the_bottom = (vertices[:, 2] > 0.0) & (vertices[:, 2] < 0.1)
    below = at_the_bottom & (np.abs(vertices[:, :2] - 0.5) < 0.3).all(axis=1)
    assert pressure[below].min() > 0.5 * WEIGHT


def test_a_box_presses_on_the_one_below_as_hard_as_that_on_it() -> None:
    upper = SoftBody(block((1, 1, 1), (0.5, 0.5, 0.5), (0.2, 0.3, 1.03)), MATERIAL, damping=8.0)
    scene = Scene([box(0.02), upper], ground=Ground(), contact=Contact(distance=0.02))
    *_, last = Simulator(scene, ImplicitEuler(), results=RESULTS).run(40)
    (below, above), meshes = last.fields["contact_pressure"], [b.mesh for b in scene.bodies]
    on_upper = above.numpy() @ meshes[1].surface_areas
    assert on_upper == pytest.approx(WEIGHT / 8.0, rel=0.01)
    at_top = meshes[0].vertices[:, 2] > 0.9
    forces = below.numpy() * meshes[0].surface_areas
    assert forces[at_top].sum() == pytest.approx(on_upper, rel=0.01)
    assert forces[~at_top].sum() == pytest.approx(WEIGHT * 9.0 / 8.0, rel=0.01)


def test_what_is_settled_is_borne_whatever_steps_were_meant() -> None:
    upper = SoftBody(block((1, 1, 1), (0.5, 0.5, 0.5), (0.2, 0.3, 1.01)), MATERIAL)
    scene = Scene([box(0.01), upper], ground=Ground(), contact=Contact(distance=0.02))
    settled = Simulator(scene, SymplecticEuler(), results=RESULTS).settle()
    on_upper = settled.fields["contact_pressure"][1].numpy() @ upper.mesh.surface_areas
    assert on_upper == pytest.approx(WEIGHT / 8.0, rel=1e-3)


def test_the_ground_bears_what_is_seen_of_a_body_by_the_tets_around_it() -> None:
    points, faces = ball_surface(3, 0.5, (0.0, 0.0, 0.52))
    surface = SurfaceMesh(points, faces.astype(np.int32), edge_length=0.3)
    scene = Scene([SoftBody(surface, MATERIAL, damping=8.0)], ground=Ground())
    simulator = Simulator(scene, ImplicitEuler(), results=RESULTS)
    *_, last = simulator.run(40)
    pressure = last.fields["contact_pressure"][0].numpy()
    barrier = simulator.system.ground_barrier
    assert barrier is not None
    areas = _Carriers.for_ground(simulator.system, barrier).vertex_areas
    assert pressure.min() == 0.0
    assert pressure @ areas == pytest.approx(float(simulator.system.mass.sum()) * 9.81, rel=0.01)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"ground": Ground(response="projection")}, "a bouncy ground moves"),
        ({"spheres": [Sphere((0, 0, -2), 1.0)]}, "spheres move"),
        (
            {"contact": Contact(distance=0.02, formulation="original"), "colliders": [plate(-1.0)]},
            "Give contact a stiffness",
        ),
    ],
)
def test_a_pressure_that_cannot_be_had_is_refused_before_the_run(options, reason) -> None:
    colliders = [*options.pop("spheres", []), *options.pop("colliders", [])]
    with pytest.raises(SceneError, match=reason):
        Simulator(Scene([box(0.02)], colliders=colliders, **options), Automatic(), results=RESULTS)
