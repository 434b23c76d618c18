# SPDX-License-Identifier: GPL-3.0-or-later
"""Move pins and colliders to their prescribed positions, while pushed bodies make way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..potentials.contact.mesh_contact import MeshContact
from ..potentials.contact.surface import Points
from .incremental_potential import IncrementalPotential
from .newton import Newton

# Newton steps at most, with those in which bodies make way; and steps towards the target that may
# pass without progress.
MAX_NEWTON_STEPS, STALL_LIMIT_STEPS = 60, 8
# Below this step size bodies have to be given time to make way.
BLOCKED_STEP_SIZE = 0.05
# No shorter step is taken: where surfaces are at the least distance that detection leaves, hundreds
# of such steps would each take a hundredth of it.
LEAST_STEP_SIZE = 1e-6
# At the stall limit, less than this share of the whole displacement is no progress.
MIN_PROGRESS_RATIO = 1e-3
# The least distance of prescribed parts in activation distances, and in present minimum distances
# if they are already closer; the rest is left to rounding.
MIN_SEPARATION_RATIO, KEPT_DISTANCE_RATIO = 1e-2, 0.999
# Newton steps in which bodies make way, and at most where steps are cut or surfaces still open.
RELAXATION_ITERATIONS, MAX_RELAXATION_ITERATIONS = 2, 40


@dataclass(frozen=True)
class AdvanceResult:
    """The end of prescribed motion.

    Args:
        positions: (3, N) in metres, without intersections.
        blocked: messages on blocked objects.
    """

    positions: Tensor
    blocked: tuple[str, ...]


class PrescribedMotion:
    """Advances pinned vertices and colliders, and free vertices with them, without collisions.

    First all objects advance linearly towards their targets. After a collision, each step moves
    prescribed objects as far as collision detection allows, and free vertices by a Newton
    predictor; where that step is short, bodies are left to make way. An object that collides with
    another prescribed one, which cannot make way, is frozen.

    Args:
        objective: with contact.
        newton: its minimizer.
    """

    def __init__(
        self, objective: IncrementalPotential, newton: Newton, contact: MeshContact
    ) -> None:
        self._objective, self._newton, self._contact = objective, newton, contact
        self._pinned = ~objective.system.free
        self._has_pins = bool(self._pinned.any())
        self._slices = objective.system.body_slices()

    def advance(
        self,
        start: Tensor,
        target: Tensor,
        colliders: Points,
        tolerance: float,
        step: float,
    ) -> AdvanceResult:
        """Advance prescribed vertices and colliders to their targets without a collision.

        Args:
            start: (3, N) without intersections.
            target: (3, N) where pinned vertices have to be, and free ones might be.
            colliders: (C, 3) where colliders have to be.
            tolerance: the tolerance for free vertices, in metres.
            step: of the time integration, in seconds.
        """
        self._target, self._collider_target = target, colliders.copy()
        self._newton.begin()
        positions = self._advance_linearly(start)
        blocked = list[str]()
        whole = before = self._remaining_displacement(positions)
        steps_to_stall, steps_left = STALL_LIMIT_STEPS, MAX_NEWTON_STEPS
        was_stuck = False
        while self._remaining_displacement(positions) > 0.0:
            if steps_to_stall == 0 or steps_left <= 0:
                remaining = self._remaining_displacement(positions)
                if steps_left <= 0 or before - remaining < MIN_PROGRESS_RATIO * whole:
                    blocked += self._freeze_blocked(positions, everything=steps_left <= 0)
                before = self._remaining_displacement(positions)
                steps_to_stall, was_stuck = STALL_LIMIT_STEPS, False
                continue
            steps_to_stall, steps_left = steps_to_stall - 1, steps_left - 1
            positions, step_size = self._advance_with_predictor(positions)
            if step_size == 0.0 and was_stuck:
                # Bodies have had time to make way, and did not.
                steps_to_stall = 0
                continue
            was_stuck = step_size == 0.0
            if step_size < BLOCKED_STEP_SIZE:
                self._newton.begin()
                result = self._newton.minimize(
                    positions,
                    tolerance,
                    step,
                    min(steps_left, MAX_RELAXATION_ITERATIONS),
                    updates_lagged=False,
                    is_enough=lambda search: search.iterations >= RELAXATION_ITERATIONS,
                )
                positions, steps_left = result.positions, steps_left - result.iterations
        return AdvanceResult(positions, tuple(dict.fromkeys(blocked)))

    def _advance_linearly(self, positions: Tensor) -> Tensor:
        """Moves every object straight towards its target, until it collides."""
        contact = self._contact
        contact.build_static_candidates(positions)
        moving = set(range(len(contact.surface.names)))
        while moving:
            displacement, collider_displacement = self._displacements(positions, moving)
            is_last = (
                contact.max_step_size(positions, displacement, collider_displacement, 1.0) == 1.0
            )
            before = contact.points(positions)
            positions, step_size = self._move(positions, displacement, collider_displacement)
            if step_size == 1.0 and is_last:
                break
            if step_size < 1.0:
                stopped = contact.blocked(before, contact.points(positions)) & moving
                # Without an evident blocked object, all moving ones count as blocked.
                moving = moving - stopped if stopped else set()
        return positions

    def _displacements(self, positions: Tensor, moving: set[int]) -> tuple[Tensor, Points]:
        """Return the (3, N) and (C, 3) displacements that some objects still have to make, zero
        for all others.
        """
        displacement = self._target - positions
        collider_displacement = self._collider_target - self._contact.colliders
        for item, where in enumerate(self._slices):
            if item not in moving:
                displacement[:, where] = 0.0
        for item, where in enumerate(self._contact.surface.collider_slices, len(self._slices)):
            if item not in moving:
                collider_displacement[where] = 0.0
        return displacement, collider_displacement

    def _advance_with_predictor(self, positions: Tensor) -> tuple[Tensor, float]:
        """Move prescribed objects as far as possible, and free vertices by the corresponding
        Newton step; the step size."""
        objective, contact = self._objective, self._contact
        prescribed = torch.where(self._pinned, self._target - positions, 0.0)
        remaining = self._collider_target - contact.colliders
        scale = contact.max_step_size(positions, prescribed, remaining, 1.0)
        prescribed, collider_displacement = scale * prescribed, scale * remaining
        gradient = objective.gradient(positions)
        gradient = gradient + contact.hessian_product(positions, prescribed, collider_displacement)
        if bool(prescribed.any()):
            gradient = gradient + objective.gradient_without_contact(positions + prescribed)
            gradient = gradient - objective.gradient_without_contact(positions)
        direction = self._newton.newton_step(positions, gradient * objective.system.free)
        after = objective.paths.curve(positions, direction)(1.0)
        displacement = torch.where(
            self._pinned, self._target - positions, (after - positions) / scale
        )
        return self._move(positions, displacement, remaining)

    def _move(
        self, positions: Tensor, displacement: Tensor, collider_displacement: Points
    ) -> tuple[Tensor, float]:
        """Moves along displacements until something collides; the collision-free step size,
        relative to the tested displacement."""
        contact = self._contact
        scale = contact.max_step_size(positions, displacement, collider_displacement, 1.0)
        after = positions + scale * displacement
        colliders = contact.colliders + scale * collider_displacement
        if scale == 1.0:
            # They end exactly there, not just nearly, as rounding may have it.
            after = torch.where(self._pinned & (displacement != 0.0), self._target, after)
            colliders = np.where(collider_displacement != 0.0, self._collider_target, colliders)
        step_size = min(
            contact.collision_free_step_size(
                positions, after, colliders, self._min_separation(positions)
            ),
            self._objective.paths.max_step(positions, scale * displacement),
        )
        while step_size >= LEAST_STEP_SIZE:
            if step_size < 1.0:
                after = positions + step_size * scale * displacement
                colliders = contact.colliders + step_size * scale * collider_displacement
            # The straight way towards where a path along the ground ends may lead through it.
            if self._objective.system.is_above_ground(after):
                break
            step_size *= 0.5
        else:
            step_size, after, colliders = 0.0, positions, contact.colliders
        contact.limited_steps += step_size < 1.0
        contact.report_move(positions, after, colliders)
        contact.colliders = colliders
        return after, step_size

    def _min_separation(self, positions: Tensor) -> float:
        """Return the least distance between prescribed objects, in metres. They have no barrier,
        and each blocked step would leave a tenth of their distance."""
        if not self._has_pins:
            # Colliders may go through each other.
            return 0.0
        contact = self._contact
        objects, distances = contact.kinematic_pairs(positions, self._pinned)
        if not (distances < MIN_SEPARATION_RATIO * contact.distances[tuple(objects.T)]).any():
            return 0.0
        # Pairs that are closer still must be able to part.
        return KEPT_DISTANCE_RATIO * contact.min_distance(positions)

    def _remaining_displacement(self, positions: Tensor) -> float:
        """The largest along an axis of anything prescribed, in metres."""
        pins = torch.where(self._pinned, self._target - positions, 0.0).abs().max()
        colliders = np.abs(self._collider_target - self._contact.colliders)
        return max(float(pins), float(colliders.max(initial=0.0)))

    # Blocked objects

    def _freeze_blocked(self, positions: Tensor, everything: bool) -> list[str]:
        """End the motion of blocked objects, or of all; return messages on them."""
        moving = self._moving_objects(positions)
        names, bodies = self._contact.surface.names, len(self._slices)
        blocked: dict[int, str] = {}
        pairs, _ = self._contact.kinematic_pairs(positions, self._pinned)
        for pair in sorted(set(map(tuple, pairs.tolist()))):
            movers = [item for item in pair if item in moving]
            if not movers:
                continue
            # A collider that is seen to move cannot be stopped; pins can.
            mover = min(movers)
            other = names[pair[0] if mover == pair[1] else pair[1]]
            blocked[mover] = f"{other} is in the way"
        if everything or not blocked:
            blocked = dict.fromkeys(moving, "the bodies it presses cannot move aside")
        messages = []
        for item, why in sorted(blocked.items()):
            self._freeze(item, positions)
            whose = f"the pins of {names[item]}" if item < bodies else names[item]
            messages.append(f"{whose}: {why}")
        return messages

    def _moving_objects(self, positions: Tensor) -> list[int]:
        """Bodies and colliders, by their numbers, that have not reached their targets."""
        pins = torch.where(self._pinned, self._target - positions, 0.0).cpu().numpy()
        colliders = self._collider_target - self._contact.colliders
        remaining = [pins[:, where] for where in self._slices]
        remaining += [colliders[where] for where in self._contact.surface.collider_slices]
        return [item for item, displacement in enumerate(remaining) if displacement.any()]

    def _freeze(self, item: int, positions: Tensor) -> None:
        """Makes its present place the target of a body's pins or of a collider."""
        bodies = len(self._slices)
        if item < bodies:
            where = self._slices[item]
            self._target = self._target.clone()
            self._target[:, where] = positions[:, where]
        else:
            where = self._contact.surface.collider_slices[item - bodies]
            self._collider_target[where] = self._contact.colliders[where]
