# SPDX-License-Identifier: GPL-3.0-or-later
"""From the numbers of a scene to what time steps read, on autograd's tape."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..merged_material import fill
from ..obstacles.obstacles import BARRIER_STIFFNESS_RATIO
from ..potentials import Elasticity
from ..potentials.attachments import STIFFNESS_FACTOR, attached_vertices
from ..potentials.ground_points import GroundPoints
from ..system import System
from .contact_tables import barrier_tables, friction_tables
from .force_quantities import ForceQuantities
from .rest_quantities import RestQuantities

#: What time steps read, by name: ``mass`` (N,), ``damping`` (N,) in 1/s, ``gravity`` (T, 3),
#: ``pins`` (T, 3, P), ``positions`` and ``velocities`` (3, N) at the start. Of the i-th elasticity
#: Lamé's ``mu i`` and ``lam i`` (M,) and ``factor i`` (T,) on them, and of rest shapes that require
#: grad ``volumes i`` (M,) and ``shape gradients i`` (3, 3, M), and where tets flow ``flow i``
#: (5, M), as ``TetFlow`` takes it, and where rest shapes change ``amounts i`` (T, K),
#: ``displacements i`` (K, n, 3) and ``modelled i`` (n, 3); of the i-th viscosity
#: ``shear i`` and ``bulk i`` (M,), in Pa s, and ``viscous factor i`` (T,); of the i-th force
#: ``stiffness i`` (P,) in N/m, ``dashpots i`` (P,) in N s/m and ``targets i`` (T, 3, P) of goals,
#: of others ``parameters i`` (T, …) as its channel has them, and ``masses i`` (N,) where it acts by
#: mass, and ``at rest i`` of a target volume, in m³. Of the ground ``height``, ``weights`` (S,) in
#: N, ``static`` and ``kinetic`` (S,), and ``diagonals`` (N,) of bodies. Of contact ``contact
#: stiffness``, ``contact distance``, ``contact static`` and ``contact kinetic``, (O, O) of every
#: two objects. Of attachments ``attached`` (A,) in N/m.
Quantities = dict[str, Tensor]

# Of a plasticity, in the order of ``TetFlow``; and of a body without.
_PLASTIC = ("yield_stress", "hardening", "creep_time", "limit")
_ELASTIC: tuple[Any, ...] = (math.inf, 0.0, 0.0, math.inf)


class Derivation:
    """Takes quantities of a system from the tensors of its scene, by the formulas of ``System``.

    Args:
        system: of the scene with numbers alone.
        leaves: the tensors by their place in the scene.
    """

    def __init__(self, system: System, leaves: Mapping[str, Tensor]) -> None:
        self._system, self._leaves = system, leaves
        self._bodies = list(zip(system.bodies, system.meshes, strict=True))
        self._rest = RestQuantities(system, self._value)

    def quantities(self) -> Quantities:
        """All of them; those that no tensor bears on do not require grad."""
        quantities = {"mass": self._mass(), "damping": self._damping()}
        quantities["gravity"] = self._value("gravity", self._system.gravity.samples).view(-1, 3)
        quantities |= self._pins()
        quantities |= self._start(quantities["mass"], quantities.get("pins"))
        for index, part in enumerate(self._system.elasticities):
            quantities |= self._moduli(index, part)
            quantities[f"factor {index}"] = self._factor(part)
            quantities |= self._rest.of_elasticity(index, self._members(part))
            quantities |= self._rest.over_time(index, part, self._members(part)[0])
            quantities |= self._flow(index, part, quantities[f"mu {index}"])
        quantities |= self._viscosities(quantities)
        forces = ForceQuantities(
            self._system, self._value, self._lumped, quantities["mass"], self._rest.positions
        )
        quantities |= forces.all()
        return quantities | self._ground() | self._contact() | self._attached()

    def _tensor(self, values: Any) -> Tensor:
        return torch.as_tensor(values, dtype=self._system.dtype)

    def _value(self, place: str, otherwise: Any) -> Tensor:
        leaf = self._leaves.get(place)
        return self._tensor(otherwise if leaf is None else leaf)

    def _own(self, index: int, member: str) -> Tensor:
        """A member of a body or of what it has."""
        owner: Any = self._system.bodies[index]
        for name in member.split("."):
            owner = getattr(owner, name)
        return self._value(f"bodies[{index}].{member}", owner)

    def _of_tets(self, indices: list[int], member: str) -> Tensor:
        """(M,) of the tets of some bodies."""
        counts = [len(self._system.meshes[k].tets) for k in indices]
        return torch.cat(
            [self._own(k, member).expand(n) for k, n in zip(indices, counts, strict=True)]
        )

    def _of_vertices(self, values: list[Tensor]) -> Tensor:
        """(N,) of one value a body."""
        return torch.cat(
            [v.expand(len(m.vertices)) for v, (_, m) in zip(values, self._bodies, strict=True)]
        )

    def _lumped(self, index: int, densities: Tensor) -> Tensor:
        mesh = self._system.meshes[index]
        quarters = densities * self._rest.material_volumes(index) / 4.0
        corners = torch.as_tensor(mesh.tets.astype(np.int64)).ravel()
        return quarters.new_zeros(len(mesh.vertices)).index_add(
            0, corners, quarters.repeat_interleave(4)
        )

    def _mass(self) -> Tensor:
        return torch.cat(
            [self._lumped(k, self._own(k, "density")) for k in range(len(self._bodies))]
        )

    def _damping(self) -> Tensor:
        rates = []
        for index, (_, mesh) in enumerate(self._bodies):
            rate, density = self._own(index, "damping"), self._own(index, "density")
            if rate.ndim:
                rate = self._lumped(index, density * rate) / self._lumped(index, density)
            rates.append(rate.expand(len(mesh.vertices)))
        return torch.cat(rates)

    def _pins(self) -> Quantities:
        pins = self._system.moving_pins
        if pins is None:
            return {}
        moving = [
            index
            for index, (body, _) in enumerate(self._bodies)
            if body.pinned is not None and body.pin_path is not None
        ]
        if not any(f"bodies[{index}].pin_path" in self._leaves for index in moving):
            return {"pins": pins.path.samples}
        paths = [
            self._samples(f"bodies[{k}].pin_path", self._bodies[k][0].pin_path) for k in moving
        ]
        length = max(len(path) for path in paths)
        longest = [path[[min(t, len(path) - 1) for t in range(length)]] for path in paths]
        return {"pins": torch.cat(longest, dim=1).transpose(1, 2)}

    def _samples(self, place: str, channel: Any) -> Tensor:
        """(T, P, 3) of a channel, or of the tensor in its place."""
        values = self._value(place, channel.samples)
        return values if values.ndim == 3 else values[None]

    def _start(self, mass: Tensor, pins: Tensor | None) -> Quantities:
        system, positions, velocities = self._system, [], []
        offset = 0
        for index, (body, where) in enumerate(
            zip(system.bodies, system.body_slices(), strict=True)
        ):
            start = self._rest.at_start(index)
            if body.initial_positions is not None:
                start = self._own(index, "initial_positions")
            if body.pinned is not None and body.pin_path is not None and pins is not None:
                pinned = torch.as_tensor(body.pinned.astype(np.int64))
                path = pins[0, :, offset : offset + len(pinned)].T
                start, offset = start.index_copy(0, pinned, path), offset + len(pinned)
            own = mass[where]
            arms = start - own @ start / own.sum()
            spin = self._own(index, "angular_velocity").expand_as(arms)
            moving = self._own(index, "velocity") + torch.linalg.cross(spin, arms)
            if body.initial_velocities is not None:
                moving = moving + self._own(index, "initial_velocities")
            velocities.append(moving)
            positions.append(start)
        whole = torch.cat(velocities).T * system.free
        return {"positions": torch.cat(positions).T, "velocities": whole}

    def _members(self, part: Elasticity) -> list[int]:
        """The bodies of an elasticity."""
        offsets = self._system.vertex_offsets
        return [offsets.index(first) for first, _ in part.tets.meshes]

    def _moduli(self, index: int, part: Elasticity) -> Quantities:
        members = self._members(part)
        filled = np.concatenate([fill(self._system.meshes[k]) for k in members])
        solid = replace(
            part.material,
            young=self._of_tets(members, "material.young") * self._tensor(filled),
            poisson=self._of_tets(members, "material.poisson"),
        )
        return {f"mu {index}": solid.mu, f"lam {index}": solid.lam}

    def _flow(self, index: int, part: Elasticity, mu: Tensor) -> Quantities:
        """As ``TetFlow`` takes them."""
        members, rows = self._members(part), []
        if all(self._system.bodies[k].plasticity is None for k in members):
            return {}
        for k in members:
            filled, numbers = self._tensor(fill(self._system.meshes[k])), list(_ELASTIC)
            if self._system.bodies[k].plasticity is not None:
                numbers = [self._own(k, f"plasticity.{name}") for name in _PLASTIC]
            own = [self._tensor(number).expand(len(filled)) for number in numbers]
            rows.append(torch.stack([own[0] * filled, own[1] * filled, *own[2:]]))
        return {f"flow {index}": torch.cat([mu[None], torch.cat(rows, dim=1)])}

    def _factor(self, part: Elasticity) -> Tensor:
        """(T,) on the stiffness."""
        index, samples = self._members(part)[0], part.channel.samples
        if part.rest_shape is not None:
            samples = samples[:, 0]
        if self._system.bodies[index].stiffness is None:
            return samples
        return self._value(f"bodies[{index}].stiffness", samples).reshape(-1)

    def _viscosities(self, found: Quantities) -> Quantities:
        """As ``TetEnergies`` makes them, in the same order."""
        system, out, count = self._system, {}, 0
        for index, part in enumerate(system.elasticities):
            members = self._members(part)
            if not any(system.bodies[k].is_viscous for k in members):
                continue
            mu, lam = found[f"mu {index}"], found[f"lam {index}"]
            rates = self._of_tets(members, "stiffness_damping")
            filled = np.concatenate([fill(system.meshes[k]) for k in members])
            shears = self._tensor(filled) * self._of_tets(members, "viscosity")
            one = torch.ones(1, dtype=mu.dtype)
            parts = [(rates * mu + shears, rates * lam, one)]
            if system.bodies[members[0]].stiffness is not None:
                parts = [
                    (rates * mu, rates * lam, found[f"factor {index}"]),
                    (shears, torch.zeros_like(shears), one),
                ]
            for shear, bulk, factor in parts:
                out[f"shear {count}"], out[f"bulk {count}"] = shear, bulk
                out[f"viscous factor {count}"] = factor
                count += 1
        return out

    def _ground(self) -> Quantities:
        system, barrier = self._system, self._system.ground_barrier
        ground = system.scene.ground
        if barrier is None or ground is None:
            return {}
        young = self._of_vertices(self._mean_young)
        stiffness = BARRIER_STIFFNESS_RATIO * barrier.points.of_bodies(young)
        own = {
            "height": self._value("ground.height", ground.height),
            "weights": stiffness * self._areas(barrier.points),
            "diagonals": self._of_vertices(
                [self._rest.diagonal(k) for k in range(len(self._bodies))]
            ),
        }
        for name, table in zip(("static", "kinetic"), self._frictions, strict=True):
            coefficients = [table[k, -1] for k in range(len(self._bodies))]
            rows = barrier.points.of_bodies(self._of_vertices(coefficients))
            own[name] = rows * system.obstacles.friction_shares
        return own

    def _areas(self, points: GroundPoints) -> Tensor:
        """(S,) around the ground's points; surfaces that are seen keep theirs."""
        own = points.of_bodies(torch.cat([self._rest.areas(k) for k in range(len(self._bodies))]))
        seen = [torch.tensor(body.seen_surface is not None) for body in self._system.bodies]
        known = self._tensor(self._system.obstacles.areas)
        return torch.where(points.of_bodies(self._of_vertices(seen)), known, own)

    def _contact(self) -> Quantities:
        if self._system.scene.contact is None:
            return {}
        count = len(self._bodies) + len(self._system.scene.meshes)
        static, kinetic = (table[:count, :count] for table in self._frictions)
        own = barrier_tables(self._system, torch.stack(self._mean_young), self._value)
        return own | {"contact static": static, "contact kinetic": kinetic}

    def _attached(self) -> Quantities:
        """As ``Attachments.of_scene`` finds the stiffness."""
        system = self._system
        if not system.scene.attaches_bodies:
            return {}
        attached, around = attached_vertices(system.scene, system.vertex_offsets), []
        for index, (_, mesh) in enumerate(self._bodies):
            young, corners = self._own(index, "material.young"), self._tensor(mesh.tets.ravel())
            edges = self._tensor(mesh.mean_edges)
            sums = edges.new_zeros(len(mesh.vertices))
            whole = sums.index_add(0, corners.long(), (young * edges).repeat_interleave(4))
            around.append(whole / torch.bincount(corners.long()))
        own = torch.cat(around)
        others = own[torch.as_tensor(attached.corners)].mean(1)
        stiffness = torch.maximum(own[torch.as_tensor(attached.vertices)], others)
        return {"attached": STIFFNESS_FACTOR * stiffness}

    @property
    def _mean_young(self) -> list[Tensor]:
        """Of each body."""
        return [self._own(k, "material.young").mean() for k in range(len(self._bodies))]

    @cached_property
    def _frictions(self) -> tuple[Tensor, Tensor]:
        return friction_tables(self._system, self._value)
