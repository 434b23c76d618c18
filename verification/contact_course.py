# SPDX-License-Identifier: GPL-3.0-or-later
"""Record a scene with contact frame by frame, and check the statements that hold for every one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from supple.core import Scene, Simulator
from supple.core.integrators.integrator import Integrator

from .check import Check, Curve, Panel, at_least, at_most
from .scene_intersections import scene_intersections


@dataclass
class ContactCourse:
    """One entry a frame.

    Args:
        intersections: pairs of triangles.
        volumes: the least volume of a tet over its volume at rest.
        contacts: pairs of surface parts that are close.
        converged: whether each step reached the tolerance.
        positions: (N, 3) of each body; these from the start on.
    """

    intersections: list[int] = field(default_factory=list)
    volumes: list[float] = field(default_factory=list)
    contacts: list[int] = field(default_factory=list)
    converged: list[bool] = field(default_factory=list)
    positions: list[list[NDArray[np.float64]]] = field(default_factory=list)

    @classmethod
    def of(
        cls, scene: Scene, integrator: Integrator, frames: int, substeps: int | None = None
    ) -> ContactCourse:
        """Simulates it."""
        simulator = Simulator(scene, integrator, substeps=substeps, device="cpu")
        course = cls(positions=[[body.mesh.vertices for body in simulator.scene.bodies]])
        for frame in simulator.run(frames):
            course.intersections.append(scene_intersections(simulator))
            course.volumes.append(frame.report.minimum_volume_ratio)
            course.contacts.append(frame.report.solver_statistics.contacts)
            course.converged.append(frame.report.solver_statistics.converged)
            course.positions.append([positions.numpy() for positions in frame.positions])
        return course

    def checks(self, name: str, least_contacts: float) -> list[Check]:
        """That nothing intersects or turns inside out, and that something touches."""
        return [
            at_most(f"{name}: intersections, all frames", sum(self.intersections), 0.0),
            at_least(f"{name}: least volume ratio of a tet", min(self.volumes), 1e-3),
            at_least(
                f"{name}: most contacts in a frame",
                max(self.contacts),
                least_contacts,
                from_solver=True,
                reason="a scene in which nothing touches shows nothing",
            ),
        ]


def panels(courses: Mapping[str, ContactCourse]) -> list[Panel]:
    """Draw the courses of scenes by their names."""

    def curves(values: Callable[[ContactCourse], list[float]]) -> list[Curve]:
        return [
            Curve(name, 1 + np.arange(len(values(course))), values(course), name)
            for name, course in courses.items()
        ]

    return [
        Panel("contacts", "frame", "pairs", curves(lambda course: [*map(float, course.contacts)])),
        Panel("tets", "frame", "least volume ratio", curves(lambda course: course.volumes)),
    ]
