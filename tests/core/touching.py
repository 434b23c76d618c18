# SPDX-License-Identifier: GPL-3.0-or-later
"""Simulations with contact, and two opinions on whether anything intersects in them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from supple.core import Collider, Simulator
from supple.core.integrators.implicit_stepper import ImplicitStepper
from supple.core.potentials.contact.mesh_contact import MeshContact
from supple.core.scene.collision_points import attached_pairs
from supple.core.simulator import Frame
from supple.tests.core.potentials.contact.reference import reference_mesh
from supple.tests.core.toolkit import ipctk
from supple.verification.exact_intersections import count_intersections


def contact_of(simulator: Simulator) -> MeshContact:
    assert isinstance(simulator.stepper, ImplicitStepper)
    contact = simulator.stepper._objective.contact
    assert contact is not None
    return contact


def check_apart(simulator: Simulator) -> None:
    """Check by the toolkit and by exact arithmetic that nothing intersects beyond the allowed
    pairs."""
    surface, state = contact_of(simulator).surface, simulator.state
    points = surface.points(state.positions.cpu().numpy(), surface.colliders_in(state))
    assert not ipctk().has_intersections(reference_mesh(surface), np.asfortranarray(points))
    bodies, count = len(simulator.scene.bodies), len(surface.names)
    apart = {(i, j) for i in range(bodies, count) for j in range(i, count)}
    apart |= attached_pairs(simulator.scene)
    assert count_intersections(points, surface.triangles, surface.object_of, apart) == 0


def checked(simulator: Simulator, frames: int) -> Iterator[Frame]:
    """Frames in which nothing intersects and which converge."""
    for frame in simulator.run(frames):
        check_apart(simulator)
        assert frame.report.solver_statistics.converged, (
            frame.report.solver_statistics.termination_reason
        )
        yield frame


def plate(
    height: float, half: float = 1.0, frames: np.ndarray | None = None, **options
) -> Collider:
    """A square about the vertical axis through (0.5, 0.5), at ``height``, moved by (T, 3)."""
    corners = np.array([[-half, -half, 0], [half, -half, 0], [half, half, 0], [-half, half, 0]])
    corners = corners + np.array([0.5, 0.5, height])
    path = corners if frames is None else corners + np.asarray(frames, dtype=float)[:, None]
    return Collider(path, [[0, 1, 2], [0, 2, 3]], **options)
