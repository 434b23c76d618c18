# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact forces at the end of an explicit step, found one by one: nonlinear Gauss–Seidel.

With the inertia of the step alone, min ½ |x − x̃|² / hσM⁻¹ + Σ s b(d/d̂) over contacts whose
distances d = n·Σ c x are linear, each contact's own problem has one unknown: d − d̃ = w F(d), with
its compliance w and its distance d̃ by all other forces. Its solution exists wherever d̃ is, below
the surface too, and is above zero. Forces are kept between the passes, so that after any number of
them they are equal and opposite.

Friction is Coulomb's, with the normal force of the same pass: sticking points are held at their
position at the start of the step.
"""

from __future__ import annotations

import math
from typing import Any

from ..compiled import compiled
from .barrier import barrier_of, surface_force
from .contact_constraints import GROUND, SURFACES
from .obstacles import ground_derivatives, proximal

# Newton's method on one distance.
MAX_ITERATIONS, CONVERGENCE_TOLERANCE = 30, 1e-7
MIN_DISTANCE_RATIO = 1e-30


@compiled()
def surface_energy(constraints: Any, count: int) -> float:
    """Return the barrier energy between surfaces whose contacts were made linear, in joules."""
    total = 0.0
    for k in range(count):
        u = constraints.distances[k] / constraints.dhats[k]
        if constraints.kinds[k] == SURFACES:
            total += constraints.scales[k] * barrier_of(u * u)[0]
    return total


@compiled()
def surface_proximal(start: float, stiffness: float) -> float:
    """The root u in (0, 1) of u − start − stiffness × ``surface_force``, for start < 1.

    The force is at least 2/u − 4u and convex, so that Newton's method climbs to the root from the
    one that this bound has.
    """
    bent = 1.0 + 4.0 * stiffness
    root = math.sqrt(start * start + 8.0 * stiffness * bent)
    # Two forms, since each one cancels for starts of one sign.
    u = 4.0 * stiffness / (root - start) if start < 0.0 else (start + root) / (2.0 * bent)
    u = min(1.0, max(MIN_DISTANCE_RATIO, u))
    for _ in range(MAX_ITERATIONS):
        force, slope = surface_force(u)
        change = (u - start - stiffness * force) / (1.0 - stiffness * slope)
        u = min(1.0, u - change)
        if abs(change) <= CONVERGENCE_TOLERANCE * u:
            break
    return u


@compiled()
def pressed_ratio(kind: int, start: float, stiffness: float) -> float:
    """The distance over d̂ that a contact comes to from one that has no force yet."""
    if start >= 1.0:
        return start
    if kind == GROUND:
        return proximal(start, stiffness, MIN_DISTANCE_RATIO, 0.0)
    return surface_proximal(start, stiffness)


@compiled()
def coulomb_friction(pull: Any, normal_force: float, static: float, kinetic: float) -> Any:
    """Return the friction force against the force that would hold a contact where it was."""
    size = math.sqrt(pull[0] * pull[0] + pull[1] * pull[1] + pull[2] * pull[2])
    if size <= static * normal_force:
        return pull
    share = kinetic * normal_force / size
    return share * pull[0], share * pull[1], share * pull[2]


@compiled(inline=True)
def change_of_difference(constraints: Any, k: int, moves: Any) -> Any:
    """Return the change of closest points' difference under (N, 3) moves of nodes."""
    x = y = z = 0.0
    for i in range(constraints.nodes.shape[1]):
        node = constraints.nodes[k, i]
        if node < 0:
            break
        c = constraints.coefficients[k, i]
        x += c * moves[node, 0]
        y += c * moves[node, 1]
        z += c * moves[node, 2]
    return x, y, z


@compiled(inline=True)
def _push(constraints: Any, k: int, force: Any, mobility: Any, moves: Any) -> None:
    """Add the effect of a force on a contact to the moves of its nodes."""
    x, y, z = force
    for i in range(constraints.nodes.shape[1]):
        node = constraints.nodes[k, i]
        if node < 0:
            break
        share = constraints.coefficients[k, i] * mobility[node]
        moves[node, 0] += share * x
        moves[node, 1] += share * y
        moves[node, 2] += share * z


@compiled(inline=True)
def initialize_force(constraints: Any, k: int, mobility: Any, moves: Any) -> None:
    """Begins with the force that the distance of a contact has where it was made linear: that of
    bodies at rest. It is at most the force that opens the contact."""
    dhat, compliance = constraints.dhats[k], constraints.compliances[k]
    u = max(MIN_DISTANCE_RATIO, constraints.distances[k] / dhat)
    if u >= 1.0 or compliance == 0.0:
        return
    stiffness = compliance * constraints.scales[k] / (dhat * dhat)
    if constraints.kinds[k] == GROUND:
        force = -ground_derivatives(u, math.log(u))[0]
    else:
        force = surface_force(u)[0]
    e = change_of_difference(constraints, k, moves)
    n = constraints.normals[k]
    ahead = u + (n[0] * e[0] + n[1] * e[1] + n[2] * e[2]) / dhat
    force = min(stiffness * force, max(0.0, 1.0 - ahead)) * dhat / compliance
    constraints.forces[k] = force
    _push(constraints, k, (force * n[0], force * n[1], force * n[2]), mobility, moves)


@compiled(inline=True)
def relax(constraints: Any, k: int, mobility: Any, moves: Any) -> float:
    """Solves a contact once; the change of its distance relative to the new distance.

    Args:
        mobility: (N,) in metres a newton over the step.
        moves: (N, 3) from where contacts were made linear, in metres; changed.
    """
    compliance = constraints.compliances[k]
    if compliance == 0.0:
        return 0.0
    e = change_of_difference(constraints, k, moves)
    n = (constraints.normals[k, 0], constraints.normals[k, 1], constraints.normals[k, 2])
    along = n[0] * e[0] + n[1] * e[1] + n[2] * e[2]
    dhat, force = constraints.dhats[k], constraints.forces[k]
    start = (constraints.distances[k] + along - compliance * force) / dhat
    if start >= 1.0 and force == 0.0:
        return 0.0
    stiffness = compliance * constraints.scales[k] / (dhat * dhat)
    ratio = pressed_ratio(constraints.kinds[k], start, stiffness)
    new = max(0.0, (ratio - start) * dhat / compliance)
    push = new - force
    x, y, z = push * n[0], push * n[1], push * n[2]
    constraints.forces[k] = new
    if constraints.static[k] > 0.0:
        displacement = constraints.displacements[k]
        s = (displacement[0] + e[0], displacement[1] + e[1], displacement[2] + e[2])
        off = s[0] * n[0] + s[1] * n[1] + s[2] * n[2]
        t = constraints.frictions[k]
        pull = (
            t[0] - (s[0] - off * n[0]) / compliance,
            t[1] - (s[1] - off * n[1]) / compliance,
            t[2] - (s[2] - off * n[2]) / compliance,
        )
        friction = coulomb_friction(pull, new, constraints.static[k], constraints.kinetic[k])
        x += friction[0] - t[0]
        y += friction[1] - t[1]
        z += friction[2] - t[2]
        t[0], t[1], t[2] = friction[0], friction[1], friction[2]
    _push(constraints, k, (x, y, z), mobility, moves)
    return compliance * abs(push) / (max(ratio, MIN_DISTANCE_RATIO) * dhat)


@compiled(inline=True)
def mark_active(nodes: Any, mobility: Any, last_changes: Any, present: int) -> None:
    """Mark the movable nodes of this contact as active.

    Args:
        last_changes: (N,) the pass that did so last; zero before the first, in which all are awake.
        present: the number of this pass, from 1 on.
    """
    for node in nodes:
        if node < 0:
            break
        if mobility[node] != 0.0:
            last_changes[node] = present


@compiled(inline=True)
def is_active(nodes: Any, last_changes: Any, since: int) -> bool:
    """Whether a pass, ``since`` or later, has changed the forces on a node of this row."""
    for node in nodes:
        if node < 0:
            break
        if last_changes[node] >= since:
            return True
    return False


@compiled()
def prescribed_work(constraints: Any, count: int, moves: Any) -> float:
    """Return the work of (N, 3) prescribed moves of nodes against contact forces, in joules."""
    work = 0.0
    for k in range(count):
        e = change_of_difference(constraints, k, moves)
        for axis in range(3):
            force = constraints.forces[k] * constraints.normals[k, axis]
            work -= (force + constraints.frictions[k, axis]) * e[axis]
    return work
