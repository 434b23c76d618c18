# SPDX-License-Identifier: GPL-3.0-or-later
"""Where a line search may go along a Newton step: along the ground, and until surfaces meet."""

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
from .embedded_ground_path import EmbeddedGroundPath
from .ground_path import GroundPath

# A step that has met less curvature than the model holds may go on for so many times its length.
MAX_EXPANSION = 64.0
# The secant of a bent path has to descend by this share of what the Newton step does.
MIN_DESCENT_RATIO = 0.1
# A path that is cut to less than this share, too, is tried to so much of the step as before.
CUT_RATIO, SHORTENING_RATIO, MIN_STEP_FRACTION = 0.2, 0.25, 1e-3


@dataclass(frozen=True)
class SearchPath:
    """Where a line search may go from a point.

    Args:
        at: (3, N) positions by the step size.
        slope: the directional derivative of the energy at its start, in joules.
        max_step_size: along which every energy is finite and nothing meets, at most 1.
        max_extended_step_size: to try when more promises more.
        newton_fraction: of a Newton step, how much a step size of 1 is.
    """

    at: Callable[[float], Tensor]
    slope: float
    max_step_size: float
    max_extended_step_size: float
    newton_fraction: float = 1.0

    @property
    def collision_free_fraction(self) -> float:
        """How much of the Newton step may be gone."""
        return self.newton_fraction * self.max_step_size


class SearchPaths:
    """Finds them: bent along the ground, which vertices would have to stop at one by one, and as
    long as no surfaces meet.

    Args:
        potentials: all energies, which say along which step they are finite.
        inertia: what holds a vertex at least.
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
        self._bent: GroundPath | EmbeddedGroundPath | None = None
        if ground is not None:
            self._bent = GroundPath(ground, friction)
            if isinstance(ground.points, EmbeddedPoints):
                self._bent = EmbeddedGroundPath(ground, friction, free)

    def take_model(self, matrix: BlockMatrix, projected: bool) -> None:
        """Takes the Hessian of all energies but the ground's, which Newton steps are made with.

        Args:
            projected: whether it is positive semi-definite.
        """
        if self._ground is None:
            return
        # Which friction adds here is for the path to know.
        self._is_bounded = projected and self._friction is not None and self._friction.is_bounded
        blocks = matrix.diagonal_blocks(self._ground.vertices)
        x, y, z = blocks.diagonal(dim1=1, dim2=2).T
        # Of a vertex by itself, horizontal and vertical. A Hessian that is not projected may hold
        # less than inertia alone.
        stiffness = torch.stack([0.5 * (x + y), z])
        self._stiffness = torch.maximum(stiffness, self._inertia.weight[self._ground.vertices])

    def initial_guess(self, positions: Tensor, predicted: Tensor) -> Tensor:
        """(3, N) ``predicted`` positions, but where the ground would let them end."""
        if self._bent is None:
            return predicted
        return self._bent.land(positions, predicted, self._inertia.weight)

    def find(
        self, positions: Tensor, direction: Tensor, gradient: Tensor, allow_expansion: bool = False
    ) -> SearchPath:
        """The path along a Newton step.

        Args:
            direction: (3, N) the step, by the model that was taken last.
            gradient: (3, N) at ``positions``.
            allow_expansion: whether the search may want to go further than the step, which takes
                longer to look for what is met.
        """
        at, slope = self.curve(positions, direction), float((gradient * direction).sum())
        if self._contact is None:
            # Found to a tolerance, a bent path need not begin as the step does.
            is_bent = isinstance(self._bent, EmbeddedGroundPath)
            descent = MIN_DESCENT_RATIO * slope
            if is_bent and float((gradient * (at(1.0) - positions)).sum()) > descent:
                at = partial(_straight, positions, direction)
            return SearchPath(at, slope, self.max_step(positions, direction), MAX_EXPANSION)
        most, fraction = MAX_EXPANSION if allow_expansion else 1.0, 1.0
        # What meets what is looked for on straight paths alone. Where the one to the end of a bent
        # step is cut short, one to an earlier place of it may lead further.
        path = self._secant(positions, at(fraction) - positions, gradient, most)
        while self._bent is not None and fraction > MIN_STEP_FRACTION:
            descends = path.slope <= MIN_DESCENT_RATIO * fraction * slope
            if descends and path.max_step_size > CUT_RATIO:
                break
            fraction *= SHORTENING_RATIO
            shorter = self._secant(positions, at(fraction) - positions, gradient, most)
            if descends and _promise(shorter) >= _promise(path):
                # What was swept last has to be where the search goes.
                fraction /= SHORTENING_RATIO
                path = self._secant(positions, path.at(1.0) - positions, gradient, most)
                break
            path = shorter
        if self._bent is not None and path.slope > MIN_DESCENT_RATIO * fraction * slope:
            # Where tets are far stiffer than the ground, they do not bend along it: the step itself
            # descends, if not far.
            path = self._secant(positions, fraction * direction, gradient, most)
        self._contact.limited_steps += path.max_extended_step_size < 1.0
        return replace(path, newton_fraction=fraction)

    def _secant(
        self, positions: Tensor, displacement: Tensor, gradient: Tensor, most: float
    ) -> SearchPath:
        """Straight on, at most ``most`` times, as far as it may be looked and nothing meets."""
        contact = self._contact
        assert contact is not None
        slope = float((gradient * displacement).sum())
        still = np.zeros_like(contact.colliders)
        reach = contact.max_step_size(positions, displacement, still, most)
        whole = reach * displacement
        free = contact.sweep(positions, positions + whole)
        longest = reach * min(free, self.max_step(positions, whole))
        at = partial(_straight, positions, displacement)
        return SearchPath(at, slope, min(1.0, longest), longest)

    def curve(self, positions: Tensor, direction: Tensor) -> Callable[[float], Tensor]:
        """Bent along the ground where that is in the way of a (3, N) Newton step."""
        bent = self._bent
        if bent is None:
            return partial(_straight, positions, direction)
        if isinstance(bent, EmbeddedGroundPath) and not bent.bends(positions, direction):
            return partial(_straight, positions, direction)
        bent.start(positions, direction, self._stiffness, self._is_bounded)
        return bent.at

    def max_step(self, positions: Tensor, direction: Tensor) -> float:
        """The share of a step along which every energy is finite."""
        return min(part.max_step(positions, direction) for part in self._potentials)


def _promise(path: SearchPath) -> float:
    """How much the energy would change along it, in joules, if it went on as it begins."""
    return path.slope * path.max_step_size


def _straight(positions: Tensor, displacement: Tensor, step_size: float) -> Tensor:
    return positions + step_size * displacement
