# SPDX-License-Identifier: GPL-3.0-or-later
"""A ball at 100 m/s goes through nothing, however thin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from supple.core import Scene, Simulator, SoftBody, TetMesh
from supple.core.contact_settings import Contact, Formulation
from supple.core.integrators import ImplicitEuler
from supple.core.materials import StableNeoHookean

from ..check import Check, Curve, Panel, Subject, at_least, at_most
from ..collider_meshes import sheet, slab
from ..meshes import block, graded_ball
from ..scene_intersections import scene_intersections

SPEED, RADIUS, THICKNESS, WIDTH = 100.0, 0.1, 0.01, 0.6
FRAME_RATE, FRAMES = 24, 2
FORMULATIONS: tuple[Formulation, ...] = ("convergent", "original")


@dataclass
class Course:
    """One entry a frame.

    Args:
        intersections: pairs of triangles.
        above: the least height of the ball above what it meets, below it or above, in metres.
        converged: whether it did.
    """

    intersections: list[int] = field(default_factory=list)
    above: list[float] = field(default_factory=list)
    converged: list[bool] = field(default_factory=list)


def run() -> Subject:
    found = {
        f"{name}, {kind}": _course(scene(kind))
        for name, scene in TARGETS.items()
        for kind in FORMULATIONS
    }
    checks: list[Check] = []
    for name, course in found.items():
        checks += [
            at_most(f"{name}: intersections, all frames", sum(course.intersections), 0.0),
            at_least(f"{name}: least way of the ball above", min(course.above), 1e-9, "m"),
        ]
    unsolved = sum(course.converged.count(False) for course in found.values())
    return Subject(
        title="Impact at 100 m/s",
        text=f"A soft ball (radius {RADIUS:g} m, E = 1e5 Pa) hits a soft plate (E = 1e6 Pa) "
        f"{1e3 * THICKNESS:g} mm thick whose rim is held, a mesh of two triangles without "
        f"thickness, and a box {1e3 * THICKNESS:g} mm thick, at {SPEED:g} m/s: "
        f"{SPEED / FRAME_RATE:.1f} m a frame. It must stay on the side that it came from, and "
        "nothing may intersect. Where the plate gives way, it is the plate's middle that the "
        "ball's must stay above.",
        source="`verification/exact_intersections.py`, which decides with whole numbers what "
        "rounding leaves open.",
        checks=checks,
        panels=_panels(found),
        note=f"One step a frame; {unsolved} of {len(found) * FRAMES} did not converge. A step that "
        "does not is not exact, but ends without intersections all the same.",
    )


def _course(scene: Scene) -> Course:
    simulator = Simulator(scene, ImplicitEuler(), substeps=1, device="cpu")
    course = Course()
    for frame in simulator.run(FRAMES):
        heights = [positions.numpy()[:, 2] for positions in frame.positions]
        course.intersections.append(scene_intersections(simulator))
        if len(heights) > 1:
            course.above.append(float(heights[0].mean() - heights[1].min()))
        else:
            course.above.append(float(heights[0].min()))
        course.converged.append(frame.report.effort.converged)
    return course


def _ball() -> SoftBody:
    mesh = graded_ball(RADIUS, 3, 1.0)
    return SoftBody(
        TetMesh(mesh.vertices + np.array([0.0, 0.0, 1.5 * RADIUS]), mesh.tets),
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


def _panels(found: dict[str, Course]) -> list[Panel]:
    frames = np.arange(1 + FRAMES)
    curves = [
        Curve(name, frames, [0.5 * RADIUS, *course.above], name, "dotted line")
        for name, course in found.items()
    ]
    return [Panel("", "frame", "ball above what it meets (m)", curves)]
