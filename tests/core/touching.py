# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulations with contact, and two opinions on whether anything intersects in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from supple.core import Collider, Simulator
from supple.core.contact.attached_pairs import attached_pairs
from supple.core.contact.mesh_contact import MeshContact
from supple.core.contact.surface import CollisionSurface
from supple.core.contact.toolkit import toolkit
from supple.core.integrators.implicit_stepper import ImplicitStepper
from supple.core.simulator import Frame
from supple.verification.exact_intersections import count_intersections


def contact_of(simulator: Simulator) -> MeshContact:
    assert isinstance(simulator.stepper, ImplicitStepper)
    contact = simulator.stepper._objective.contact
    assert contact is not None
    return contact


def check_apart(simulator: Simulator) -> None:
    """By the toolkit and by exact arithmetic, nothing intersects that may not."""
    surface, state = contact_of(simulator).surface, simulator.state
    colliders = surface.colliders_at(0, 0.0) if state.colliders is None else state.colliders
    points = surface.points(state.positions.cpu().numpy(), colliders)
    surface.mesh.can_collide = toolkit_filter(surface)
    assert not toolkit().has_intersections(surface.mesh, points)
    bodies, count = len(simulator.scene.bodies), len(surface.names)
    apart = {(i, j) for i in range(bodies, count) for j in range(i, count)}
    apart |= attached_pairs(simulator.scene)
    assert count_intersections(points, surface.triangles, surface.object_of, apart) == 0


def toolkit_filter(surface: CollisionSurface) -> Any:
    """Who may meet whom, as the toolkit wants to be told."""
    kit, vertices = toolkit(), np.arange(len(surface.object_of), dtype=np.int32)
    same = kit.make_vertex_patches_filter(surface.object_of.astype(np.int32))
    can_meet = kit.make_static_obstacle_filter(surface.body_count)
    for first, second in np.argwhere(~surface.may_meet):
        if first < second:
            together = vertices.copy()
            together[np.isin(surface.object_of, (first, second))] = 0
            can_meet &= kit.make_vertex_patches_filter(together) | ~same
        elif first == second:
            together = vertices.copy()
            together[surface.object_of == first] = 0
            can_meet &= kit.make_vertex_patches_filter(together)
    return can_meet


def checked(simulator: Simulator, frames: int) -> Iterator[Frame]:
    """Frames in which nothing intersects and which converge."""
    for frame in simulator.run(frames):
        check_apart(simulator)
        assert frame.report.effort.converged, frame.report.effort.stopped
        yield frame


def plate(
    height: float, half: float = 1.0, frames: np.ndarray | None = None, **options
) -> Collider:
    """A square about the vertical axis through (0.5, 0.5), at ``height``, moved by (T, 3)."""
    corners = np.array([[-half, -half, 0], [half, -half, 0], [half, half, 0], [-half, half, 0]])
    corners = corners + np.array([0.5, 0.5, height])
    path = corners if frames is None else corners + np.asarray(frames, dtype=float)[:, None]
    return Collider(path, [[0, 1, 2], [0, 2, 3]], **options)
