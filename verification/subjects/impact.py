# SPDX-License-Identifier: GPL-3.0-or-later
"""A ball at 100 m/s goes through nothing, however thin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from supple.core import Scene, Simulator, SoftBody, TetMesh
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean
from supple.core.scene.contact_settings import Contact, Formulation

from ..check import Check, Curve, Panel, Subject, at_most
from ..collider_meshes import sheet, slab
from ..meshes import block, graded_ball
from ..scene_intersections import scene_intersections

SPEED, RADIUS, THICKNESS, WIDTH = 100.0, 0.1, 0.01, 0.6
FRAME_RATE, FRAMES = 24, 2
FORMULATIONS: tuple[Formulation, ...] = ("convergent", "original")


Points = NDArray[np.float64]


@dataclass
class Course:
    """One entry a frame.

    Args:
        intersections: pairs of triangles.
        below: vertices of the ball's surface that are on the other side.
        heights: of the middle of the ball's surface, in metres.
        volumes: the least volume of a tet over its volume at rest.
        converged: whether it did.
    """

    intersections: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)
    heights: list[float] = field(default_factory=list)
    volumes: list[float] = field(default_factory=list)
    converged: list[bool] = field(default_factory=list)


def run() -> Subject:
    courses = {
        f"{name}, {kind}": _course(scene(kind))
        for name, scene in TARGETS.items()
        for kind in FORMULATIONS
    }
    checks: list[Check] = []
    for name, course in courses.items():
        checks += [
            at_most(f"{name}: intersections, all frames", sum(course.intersections), 0.0),
            at_most(f"{name}: vertices on the other side", sum(course.below), 0.0),
        ]
    unsolved = sum(course.converged.count(False) for course in courses.values())
    least = min(min(course.volumes) for course in courses.values())
    return Subject(
        title="Impact at 100 m/s",
        text=f"A soft ball (radius {RADIUS:g} m, E = 1e5 Pa) hits a soft plate (E = 1e6 Pa) "
        f"{1e3 * THICKNESS:g} mm thick whose rim is held. It also hits a mesh of "
        f"two triangles without thickness, and a box {1e3 * THICKNESS:g} mm thick. The speed is "
        f"{SPEED:g} m/s: "
        f"{SPEED / FRAME_RATE:.1f} m a frame. Nothing may intersect, and the ball's surface must "
        "stay on the side that it came from. Straight above each of its vertices lies an even "
        "number of the triangles of the upper face.",
        source="`verification/exact_intersections.py`, which decides with whole numbers what "
        "rounding leaves open.",
        checks=checks,
        panels=_panels(courses),
        note=f"One step a frame; {unsolved} of {len(courses) * FRAMES} did not converge. Their "
        "end is not a solution, and tets inside may be inside out (the least volume ratio "
        f"is {least:.2f}), but the surfaces are apart.",
    )


def _course(scene: Scene) -> Course:
    simulator = Simulator(scene, ImplicitEuler(), substeps=1, device="cpu")
    upper = _upper_face(simulator)
    course = Course()
    for frame in simulator.run(FRAMES):
        ball = scene.bodies[0].mesh
        assert isinstance(ball, TetMesh)
        surface = frame.positions[0].numpy()[np.unique(ball.surface)]
        met = scene.meshes[0].at(0) if scene.meshes else frame.positions[1].numpy()
        course.intersections.append(scene_intersections(simulator))
        course.below.append(count_below(surface, met[upper]))
        course.heights.append(float(surface[:, 2].mean()))
        course.volumes.append(frame.report.minimum_volume_ratio)
        course.converged.append(frame.report.solver_statistics.converged)
    return course


def _upper_face(simulator: Simulator) -> NDArray[np.int32]:
    """(F, 3) triangles of what the ball meets."""
    scene = simulator.scene
    if scene.meshes:
        vertices, triangles = scene.meshes[0].at(0), scene.meshes[0].triangles
    else:
        mesh = scene.bodies[1].mesh
        assert isinstance(mesh, TetMesh)
        vertices, triangles = mesh.vertices, mesh.surface
    upper: NDArray[np.int32] = triangles[
        (vertices[triangles, 2] >= vertices[:, 2].max() - 1e-9).all(axis=1)
    ]
    return upper


def count_below(points: Points, corners: Points) -> int:
    """Count the (P, 3) points below a sheet of triangles (F, 3 corners, 3), which may hang over:
    points with an odd number of triangles straight above.
    """
    apart = corners[None, :, :, :2] - points[:, None, None, :2]
    after = np.roll(apart, -1, axis=2)
    # Of the triangle of the point and the edge across from each corner.
    areas = np.roll(apart[..., 0] * after[..., 1] - apart[..., 1] * after[..., 0], -1, axis=2)
    total = areas.sum(axis=2)
    inside = (areas > 0.0).all(axis=2) | (areas < 0.0).all(axis=2)
    heights = (areas * corners[None, :, :, 2]).sum(axis=2) / np.where(inside, total, 1.0)
    above = (inside & (heights > points[:, 2:])).sum(axis=1)
    return int((above % 2 == 1).sum())


def _ball() -> SoftBody:
    mesh = graded_ball(RADIUS, 3, 1.0)
    return SoftBody(
        mesh.with_vertices(mesh.vertices + np.array([0.0, 0.0, 1.5 * RADIUS])),
        StableNeoHookean(1e5, 0.3),
        velocity=(0.0, 0.0, -SPEED),
        name="ball",
    )


def _on_plate(kind: Formulation) -> Scene:
    corner = (-0.5 * WIDTH, -0.5 * WIDTH, -0.5 * THICKNESS)
    mesh = block((6, 6, 1), (WIDTH, WIDTH, THICKNESS), corner)
    outwards = np.abs(mesh.vertices[:, :2]).max(axis=1)
    rim = np.flatnonzero(outwards > 0.499 * WIDTH).astype(np.int32)
    plate = SoftBody(mesh, StableNeoHookean(1e6, 0.3), pinned=rim, name="plate")
    return Scene([_ball(), plate], contact=Contact(formulation=kind))


def _on_sheet(kind: Formulation) -> Scene:
    return Scene([_ball()], colliders=[sheet()], contact=Contact(formulation=kind))


def _on_slab(kind: Formulation) -> Scene:
    return Scene([_ball()], colliders=[slab(THICKNESS)], contact=Contact(formulation=kind))


TARGETS: dict[str, Callable[[Formulation], Scene]] = {
    "soft plate": _on_plate,
    "sheet": _on_sheet,
    "slab": _on_slab,
}


def _panels(courses: dict[str, Course]) -> list[Panel]:
    frames = np.arange(1 + FRAMES)
    curves = [
        Curve(name, frames, [1.5 * RADIUS, *course.heights], name, "dotted line")
        for name, course in courses.items()
    ]
    return [Panel("", "frame", "middle of the ball's surface (m)", curves)]
