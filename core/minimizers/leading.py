# SPDX-License-Identifier: GPL-3.0-or-later
"""Brings pins and colliders to where a step wants them, while what they meet makes way."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..potentials.contact.mesh_contact import MeshContact
from ..potentials.contact.topology import Points
from .incremental_potential import IncrementalPotential
from .newton import Newton

# Steps towards the goal at most, and those within which what is led has to get on.
MAX_STEPS, PATIENCE = 200, 8
# A share of the way so small that bodies have to be given time to make way.
BLOCKED = 0.05
# Getting on by less than this share of the whole way while it is out of patience is no progress.
PROGRESS = 1e-3
# Led parts come no closer than so many distances at which the barrier begins, but for rounding.
CLOSEST, NEARLY = 1e-2, 0.999
# Newton steps in which bodies make way, and at most where they have to get out of corners.
RELAXING, MOST_RELAXING = 2, 40


@dataclass(frozen=True)
class Led:
    """Where leading ended.

    Args:
        positions: (3, N) in metres, without intersections.
        held: what could not be led further, in words.
    """

    positions: Tensor
    held: tuple[str, ...]


class Leader:
    """Moves pinned vertices and colliders, and free vertices with them, so that nothing meets.

    First all go straight on towards a guess. From where something is in the way, each step moves
    what is led by as much as collision detection allows, and lets free vertices answer as Newton's
    method expects them to; where that gets nowhere, they are left to make way. What is in the way
    and cannot make way, since it is led or held itself, ends the motion.

    Args:
        objective: with contact.
        newton: its minimiser.
    """

    def __init__(
        self, objective: IncrementalPotential, newton: Newton, contact: MeshContact
    ) -> None:
        self._objective, self._newton, self._contact = objective, newton, contact
        self._pinned = ~objective.system.free
        self._has_pins = bool(self._pinned.any())
        self._slices = objective.system.body_slices()

    def lead(
        self, start: Tensor, goal: Tensor, colliders: Points, tolerance: float, step: float
    ) -> Led:
        """
        Args:
            start: (3, N) without intersections.
            goal: (3, N) where pinned vertices have to go, and free ones might.
            colliders: (C, 3) where colliders have to go.
            tolerance: in metres, for what makes way.
            step: of the time integration, in seconds.
        """
        self._goal, self._colliders = goal, colliders.copy()
        self._newton.begin()
        positions = self._go_straight(start)
        held: list[str] = []
        whole = before = self._left(positions)
        patience, steps = PATIENCE, MAX_STEPS
        while self._left(positions) > 0.0:
            if patience == 0 or steps == 0:
                if steps == 0 or before - self._left(positions) < PROGRESS * whole:
                    held += self._hold(positions, everything=steps == 0)
                before, patience = self._left(positions), PATIENCE
                continue
            patience, steps = patience - 1, steps - 1
            positions, share = self._push(positions)
            if share < BLOCKED:
                minimum = self._newton.minimize(
                    positions, tolerance, step, MOST_RELAXING, lags=False, enough=RELAXING
                )
                positions = minimum.positions
        return Led(positions, tuple(dict.fromkeys(held)))

    def _go_straight(self, positions: Tensor) -> Tensor:
        """Every object towards its goal, until it meets another."""
        contact = self._contact
        contact.stay(positions)
        going = set(range(len(contact.surface.names)))
        while going:
            way, aside = self._ways(positions, going)
            is_last = contact.max_step_size(positions, way, aside, 1.0) == 1.0
            before = contact.points(positions)
            positions, share = self._move(positions, way, aside)
            if share == 1.0 and is_last:
                break
            if share < 1.0:
                stopped = contact.blocked(before, contact.points(positions)) & going
                # Nothing seen to be in the way of what goes on: all of it is.
                going = going - stopped if stopped else set()
        return positions

    def _ways(self, positions: Tensor, going: set[int]) -> tuple[Tensor, Points]:
        """What is left of the ways of some objects, and none of those of others."""
        way, aside = self._goal - positions, self._colliders - self._contact.colliders
        for item, where in enumerate(self._slices):
            if item not in going:
                way[:, where] = 0.0
        for item, where in enumerate(self._contact.surface.collider_slices, len(self._slices)):
            if item not in going:
                aside[where] = 0.0
        return way, aside

    def _push(self, positions: Tensor) -> tuple[Tensor, float]:
        """What is led as far as it can go, and free vertices as Newton's method expects of them."""
        objective, contact = self._objective, self._contact
        led = torch.where(self._pinned, self._goal - positions, 0.0)
        aside = self._colliders - contact.colliders
        scale = contact.max_step_size(positions, led, aside, 1.0)
        led, aside = scale * led, scale * aside
        gradient = objective.gradient(positions) + contact.drag(positions, led, aside)
        if bool(led.any()):
            gradient = gradient + objective.gradient_apart(positions + led)
            gradient = gradient - objective.gradient_apart(positions)
        direction = self._newton.step_against(positions, gradient * objective.system.free)
        after = objective.paths.curve(positions, direction)(1.0)
        way = torch.where(self._pinned, self._goal - positions, (after - positions) / scale)
        return self._move(positions, way, self._colliders - contact.colliders)

    def _move(self, positions: Tensor, way: Tensor, aside: Points) -> tuple[Tensor, float]:
        """Along a way as far as nothing meets; the share of what was looked at that was free."""
        contact = self._contact
        scale = contact.max_step_size(positions, way, aside, 1.0)
        after, moved = positions + scale * way, contact.colliders + scale * aside
        if scale == 1.0:
            # Exactly there, not just nearly, as rounding may have it.
            after = torch.where(self._pinned & (way != 0.0), self._goal, after)
            moved = np.where(aside != 0.0, self._colliders, moved)
        share = min(
            contact.sweep(positions, after, moved, self._room(positions)),
            self._objective.paths.max_step(positions, scale * way),
        )
        contact.limited_steps += share < 1.0
        if share < 1.0:
            after = positions + share * scale * way
            moved = contact.colliders + share * scale * aside
        contact.colliders = moved
        return after, share

    def _room(self, positions: Tensor) -> float:
        """What has to be left, in metres, between what is led on either side: it feels no barrier,
        and every blocked step would leave a tenth of what there was."""
        if not self._has_pins:
            # Colliders may go through each other.
            return 0.0
        contact = self._contact
        objects, distances = contact.led_pairs(positions, self._pinned)
        if not (distances < CLOSEST * contact.distances[tuple(objects.T)]).any():
            return 0.0
        # What is closer still must be let go by.
        return NEARLY * contact.gap(positions)

    def _left(self, positions: Tensor) -> float:
        """The longest way along an axis that anything led still has to go, in metres."""
        pins = torch.where(self._pinned, self._goal - positions, 0.0).abs().max()
        colliders = np.abs(self._colliders - self._contact.colliders)
        return max(float(pins), float(colliders.max(initial=0.0)))

    # What cannot be led further

    def _hold(self, positions: Tensor, everything: bool) -> list[str]:
        """Ends the motion of what is blocked, or of all; what that is, in words."""
        moving = self._moving(positions)
        names, bodies = self._contact.surface.names, len(self._slices)
        blocked: dict[int, str] = {}
        pairs, _ = self._contact.led_pairs(positions, self._pinned)
        for pair in sorted(set(map(tuple, pairs.tolist()))):
            movers = [item for item in pair if item in moving]
            if not movers:
                continue
            # A collider that is seen to move cannot be stopped; pins can.
            mover = min(movers)
            other = names[pair[0] if mover == pair[1] else pair[1]]
            blocked[mover] = f"{other} is in the way"
        if everything or not blocked:
            blocked = dict.fromkeys(moving, "what it presses cannot make way")
        said = []
        for item, why in sorted(blocked.items()):
            self._stop(item, positions)
            whose = f"the pins of {names[item]}" if item < bodies else names[item]
            said.append(f"{whose}: {why}")
        return said

    def _moving(self, positions: Tensor) -> list[int]:
        """Bodies and colliders, by their numbers, of which something led has a way to go."""
        left = torch.where(self._pinned, self._goal - positions, 0.0).cpu().numpy()
        aside = self._colliders - self._contact.colliders
        ways = [left[:, where] for where in self._slices]
        ways += [aside[where] for where in self._contact.surface.collider_slices]
        return [item for item, way in enumerate(ways) if way.any()]

    def _stop(self, item: int, positions: Tensor) -> None:
        """Makes where it is the goal of a body's pins or of a collider."""
        bodies = len(self._slices)
        if item < bodies:
            where = self._slices[item]
            self._goal = self._goal.clone()
            self._goal[:, where] = positions[:, where]
        else:
            where = self._contact.surface.collider_slices[item - bodies]
            self._colliders[where] = self._contact.colliders[where]
