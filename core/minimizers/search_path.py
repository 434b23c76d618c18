# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a line search may go along a Newton step: along the ground, and without collision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from ..assembly.block_matrix import BlockMatrix
from ..potentials import GroundBarrier, GroundFriction, Inertia, Potential
from ..potentials.contact.mesh_contact import MeshContact
from ..potentials.ground_points import EmbeddedPoints
from .embedded_ground_projected_path import EmbeddedGroundProjectedPath
from .ground_projected_path import GroundProjectedPath

# A step that has met less curvature than the model holds may grow to so many times its length.
MAX_EXPANSION = 64.0
# The secant of a ground-projected path has to descend by this share of what the Newton step does.
MIN_DESCENT_RATIO = 0.1
# A path with a smaller collision-free step size than this is tried to this share of the step.
MIN_STEP_SIZE, SHORTENING_RATIO, MIN_NEWTON_FRACTION = 0.2, 0.25, 1e-3


@dataclass(frozen=True)
class SearchPath:
    """Where a line search may go from a point.

    Args:
        at: (3, N) positions by the step size.
        directional_derivative: of the energy at its start, in joules.
        max_step_size: along which every energy is finite and nothing collides, at most 1.
        reaches: whether a larger step size has both, too.
        newton_fraction: the share of a Newton step that a step size of 1 is.
    """

    at: Callable[[float], Tensor]
    directional_derivative: float
    max_step_size: float
    reaches: Callable[[float], bool]
    newton_fraction: float = 1.0

    @property
    def collision_free_step_size(self) -> float:
        """Of the Newton step."""
        return self.newton_fraction * self.max_step_size


class SearchPaths:
    """Finds them: projected on the ground, where vertices would have to stop one by one, and as
    long as no surfaces collide.

    Args:
        potentials: all energies, which say along which step they are finite.
        inertia: the least stiffness of a vertex.
        ground, friction: of the ground; None where there is none.
        contact: between surfaces, likewise.
        free: (N,) which vertices move.
    """

    def __init__(
        self,
        potentials: Sequence[Potential],
        inertia: Inertia,
        ground: GroundBarrier | None,
        friction: GroundFriction | None,
        contact: MeshContact | None,
        free: Tensor,
    ) -> None:
        self._potentials, self._inertia = potentials, inertia
        self._ground, self._friction, self._contact = ground, friction, contact
        self._projected: GroundProjectedPath | EmbeddedGroundProjectedPath | None = None
        if ground is not None:
            self._projected = GroundProjectedPath(ground, friction)
            if isinstance(ground.points, EmbeddedPoints):
                self._projected = EmbeddedGroundProjectedPath(ground, friction, free)

    def set_model(self, matrix: BlockMatrix, projected: bool) -> None:
        """Sets the Hessian of all energies but the ground's, which Newton steps are made with.

        Args:
            projected: whether it is positive semi-definite.
        """
        if self._ground is None:
            return
        # The path has to know which curvature friction adds.
        self._is_bounded = projected and self._friction is not None and self._friction.is_bounded
        blocks = matrix.diagonal_blocks(self._ground.vertices)
        x, y, z = blocks.diagonal(dim1=1, dim2=2).T
        # Of a vertex by itself, horizontal and vertical. A Hessian that is not projected may hold
        # less than inertia alone.
        stiffness = torch.stack([0.5 * (x + y), z])
        self._stiffness = torch.maximum(stiffness, self._inertia.weight[self._ground.vertices])

    def initial_guess(self, positions: Tensor, predicted: Tensor) -> Tensor:
        """(3, N) ``predicted`` positions, projected onto the ground."""
        if self._projected is None:
            return predicted
        return self._projected.project_onto_ground(positions, predicted, self._inertia.weight)

    def find(self, positions: Tensor, direction: Tensor, gradient: Tensor) -> SearchPath:
        """The path along a Newton step.

        Args:
            direction: (3, N) the step, by the Hessian that was set last.
            gradient: (3, N) at ``positions``.
        """
        at, slope = self.curve(positions, direction), float((gradient * direction).sum())
        largest = self._max_fraction(at)
        if self._contact is None:
            # Found to a tolerance, a projected path need not begin as the step does.
            is_inexact = isinstance(self._projected, EmbeddedGroundProjectedPath)
            descent = MIN_DESCENT_RATIO * largest * slope
            if is_inexact and float((gradient * (at(largest) - positions)).sum()) > descent:
                at, largest = partial(_straight, positions, direction), 1.0
            max_size = min(largest, self.max_step(positions, direction))
            return SearchPath(at, slope, max_size, _is_within_expansion)
        fraction = largest
        # Collisions are detected along straight paths alone. Where the one to the end of a
        # projected step is cut short, one to an earlier place of it may lead further.
        path = self._secant(positions, at(fraction) - positions, gradient)
        while self._projected is not None and fraction > MIN_NEWTON_FRACTION:
            descends = path.directional_derivative <= MIN_DESCENT_RATIO * fraction * slope
            if descends and path.max_step_size > MIN_STEP_SIZE:
                break
            fraction *= SHORTENING_RATIO
            shorter = self._secant(positions, at(fraction) - positions, gradient)
            if descends and _promised_change(shorter) >= _promised_change(path):
                # The candidates that were built last have to be those of where the search goes.
                fraction /= SHORTENING_RATIO
                path = self._secant(positions, path.at(1.0) - positions, gradient)
                break
            path = shorter
        if (
            self._projected is not None
            and path.directional_derivative > MIN_DESCENT_RATIO * fraction * slope
        ):
            # Where tets are far stiffer than the ground, they do not follow it: the step itself
            # descends, if not far.
            path = self._secant(positions, fraction * direction, gradient)
        self._contact.limited_steps += path.max_step_size < 1.0
        return replace(path, newton_fraction=fraction / largest)

    def _secant(self, positions: Tensor, displacement: Tensor, gradient: Tensor) -> SearchPath:
        """Along a displacement, as far as nothing collides."""
        slope = float((gradient * displacement).sum())
        scale = self._max_detectable(positions, displacement, 1.0)
        max_size = scale * self._collision_free_step_size(positions, scale * displacement)
        at = partial(_straight, positions, displacement)
        return SearchPath(at, slope, max_size, partial(self._reaches, positions, displacement))

    def _reaches(self, positions: Tensor, displacement: Tensor, step_size: float) -> bool:
        """Whether a displacement is free to a step size; if it is too long to detect collisions,
        the candidates remain as they are."""
        return (
            _is_within_expansion(step_size)
            and self._max_detectable(positions, displacement, step_size) == step_size
            and self._collision_free_step_size(positions, step_size * displacement) == 1.0
        )

    def _max_detectable(self, positions: Tensor, displacement: Tensor, limit: float) -> float:
        contact = self._contact
        assert contact is not None
        still = np.zeros_like(contact.colliders)
        return contact.max_step_size(positions, displacement, still, limit)

    def _collision_free_step_size(self, positions: Tensor, displacement: Tensor) -> float:
        """Of a displacement: as far as nothing collides and every energy is finite."""
        assert self._contact is not None
        free = self._contact.collision_free_step_size(positions, positions + displacement)
        return min(free, self.max_step(positions, displacement))

    def _max_fraction(self, at: Callable[[float], Tensor]) -> float:
        """The share of a Newton step that a search along a curve begins with."""
        projected = self._projected
        if not isinstance(projected, EmbeddedGroundProjectedPath) or at != projected.at:
            return 1.0
        return projected.max_fraction()

    def curve(self, positions: Tensor, direction: Tensor) -> Callable[[float], Tensor]:
        """Projected on the ground where that is in the way of a (3, N) Newton step."""
        projected = self._projected
        if projected is None:
            return partial(_straight, positions, direction)
        if isinstance(projected, EmbeddedGroundProjectedPath) and not projected.is_curved(
            positions, direction
        ):
            return partial(_straight, positions, direction)
        projected.start(positions, direction, self._stiffness, self._is_bounded)
        return projected.at

    def max_step(self, positions: Tensor, direction: Tensor) -> float:
        """The step size, at most 1, up to which every energy is finite."""
        return min(part.max_step(positions, direction) for part in self._potentials)


def _promised_change(path: SearchPath) -> float:
    """How much the energy would change along it, in joules, at its first rate."""
    return path.directional_derivative * path.max_step_size


def _is_within_expansion(step_size: float) -> bool:
    return step_size <= MAX_EXPANSION


def _straight(positions: Tensor, displacement: Tensor, step_size: float) -> Tensor:
    return positions + step_size * displacement
