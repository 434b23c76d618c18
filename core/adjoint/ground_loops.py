# SPDX-License-Identifier: GPL-3.0-or-later
"""Derivatives of explicit steps' contact with the ground, backwards.

Steps end their sweeps before forces have converged. The recorded sweeps are differentiated as they
are, backwards and point by point. A point is lifted to the root u of u − s + k β'(u) = 0, s its
height without its own force and k = c w/d̂ of its compliance c, so that du = (ds − β'(u) dk) / (1 +
k β''(u)), by the force −w β'(u). Friction is the force that stops the point, or that of its limit.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import compiled
from ..kernels.obstacles import ground_derivatives, proximal


class PointContacts(NamedTuple):
    """S points that the ground may push, of N vertices.

    Args:
        corners: (S, 4) vertices of each point.
        shares: (S, 4) of them in it.
        weights, distances: (S,) of the barrier, in newtons and metres.
        static, kinetic: (S,) coefficients of friction.
        compliance: (N,) in metres a newton over the step.
        point_compliance: (S,) compliances of points.
        step: in seconds.
    """

    corners: Any
    shares: Any
    weights: Any
    distances: Any
    static: Any
    kinetic: Any
    compliance: Any
    point_compliance: Any
    step: float


class PointTrace(NamedTuple):
    """The trace of P pushed points, by A sweeps of normal forces and B of friction.

    Args:
        points: (P,) of all.
        normal, friction: (A, P, 2) and (B, P, 4) as ``SweepTrace`` has them.
        falls: the number of sweeps in which normal forces fall.
        sticks: the number of friction sweeps with the static coefficient.
        slides: (P,) whether points have come to slide.
        normal_forces, friction_forces: (P,) and (P, 2) in the end.
    """

    points: Any
    normal: Any
    friction: Any
    falls: int
    sticks: int
    slides: Any
    normal_forces: Any
    friction_forces: Any

    @classmethod
    def for_vertices(cls, points: Any, stops: int) -> PointTrace:
        """Return the trace of P vertices for ``trace_vertices``, with ``stops`` sweeps of
        friction."""
        count = len(points)
        normal, friction = np.zeros((1, count, 2)), np.zeros((stops, count, 4))
        slides, forces = np.zeros(count, np.bool_), np.zeros(count)
        return cls(points, normal, friction, 1, 1, slides, forces, np.zeros((count, 2)))


class PointGradients(NamedTuple):
    """Gradients by members of ``PointContacts`` of the same name, and (1,) by the height of the
    ground, which grow."""

    weights: Any
    static: Any
    kinetic: Any
    point_compliance: Any
    compliance: Any
    height: Any


class MotionGradients(NamedTuple):
    """(3, N) gradients by positions and velocities of vertices, (S,) and (S, 2) by forces."""

    positions: Any
    velocities: Any
    normal: Any
    friction: Any


@compiled()
def trace_vertices(points: Any, starts: Any, velocities: Any, min_ratio: float, trace: Any) -> None:
    """Fill in the trace of vertices, whose forces are found in one sweep: those of friction by the
    static coefficient, then by the kinetic one.

    Args:
        points: ``PointContacts`` that are vertices.
        starts: (P,) ratios of height and distance before the contact.
        velocities: (3, N) before it.
        min_ratio: the least ratio that differs from zero.
        trace: ``PointTrace.for_vertices``.
    """
    for j in range(len(trace.points)):
        p = trace.points[j]
        v, compliance, distance = (
            points.corners[p, 0],
            points.point_compliance[p],
            points.distances[p],
        )
        root = proximal(starts[j], compliance * points.weights[p] / distance, min_ratio, 0.0)
        force = (root - starts[j]) * distance / compliance
        trace.normal[0, j, 1], trace.normal_forces[j] = root, force
        if len(trace.friction) == 0:
            continue
        x = -velocities[0, v] * points.step / compliance
        y = -velocities[1, v] * points.step / compliance
        size = math.sqrt(x * x + y * y)
        static, kinetic = 1.0, 1.0
        if size > points.static[p] * force:
            trace.slides[j] = True
            static, kinetic = points.static[p] * force / size, points.kinetic[p] * force / size
        for sweep in range(2):
            trace.friction[sweep, j, 2], trace.friction[sweep, j, 3] = x, y
        trace.friction[1, j, 0], trace.friction[1, j, 1] = static * x, static * y
        trace.friction_forces[j, 0], trace.friction_forces[j, 1] = kinetic * x, kinetic * y


@compiled(allocates=True)
def contact_back(points: Any, trace: Any, vertices: Any, later: Any, out: Any, grad: Any) -> None:
    """Propagate gradients back through the contact of points with the ground.

    They do not depend on other points.

    Args:
        points: ``PointContacts``.
        trace: ``PointTrace``, whose forces go back to before.
        vertices: (n,) of the points.
        later: points with gradients by the forces at the end.
        out: ``PointGradients``.
        grad: ``MotionGradients`` by the end, which becomes that by the start.
    """
    step, pushed = points.step, trace.points
    _keep_pushed(pushed, later, grad)
    for axis in range(2):
        for v in vertices:
            # Friction changes the displacement in the step as it changes the velocity.
            grad.velocities[axis, v] += step * grad.positions[axis, v]
    _friction_back(points, trace, out, grad)
    for j in range(len(pushed)):
        force = trace.normal_forces[j] / step
        grad_force = _move_back(points, pushed[j], force, grad.velocities[2], out.compliance)
        grad.normal[pushed[j]] += grad_force / step
    for sweep in range(len(trace.normal) - 1, -1, -1):
        for j in range(len(pushed) - 1, -1, -1):
            if points.point_compliance[pushed[j]] > 0.0:
                _push_back(points, trace, j, sweep, out, grad)
    for j in range(len(pushed)):
        force = trace.normal_forces[j]
        grad_force = _move_back(points, pushed[j], force, grad.positions[2], out.compliance)
        grad.normal[pushed[j]] += grad_force
    for axis in range(2):
        for v in vertices:
            grad.velocities[axis, v] -= step * grad.positions[axis, v]


@compiled(allocates=True)
def _keep_pushed(pushed: Any, later: Any, grad: Any) -> None:
    """Set the gradients by forces on ``later`` points to zero, except by those on pushed points."""
    saved = np.empty((len(pushed), 3))
    for j in range(len(pushed)):
        p = pushed[j]
        saved[j, 0], saved[j, 1], saved[j, 2] = (
            grad.normal[p],
            grad.friction[p, 0],
            grad.friction[p, 1],
        )
    for p in later:
        grad.normal[p] = grad.friction[p, 0] = grad.friction[p, 1] = 0.0
    for j in range(len(pushed)):
        p = pushed[j]
        grad.normal[p], grad.friction[p, 0], grad.friction[p, 1] = (
            saved[j, 0],
            saved[j, 1],
            saved[j, 2],
        )


@compiled(inline=True)
def _move_back(points: Any, p: int, force: float, upstream: Any, out: Any) -> float:
    """Turn the (N,) gradients by displacements under a force on point p into the gradient by the
    force; those by compliances grow."""
    total = 0.0
    for k in range(4):
        v = points.corners[p, k]
        along = points.shares[p, k] * upstream[v]
        out[v] += along * force
        total += along * points.compliance[v]
    return total


@compiled(inline=True)
def _push_back(points: Any, trace: Any, j: int, sweep: int, out: Any, grad: Any) -> None:
    """Through a normal force, to the one that there was before."""
    p, after, before = trace.points[j], trace.normal_forces[j], trace.normal[sweep, j, 0]
    compliance, distance, weight = (
        points.point_compliance[p],
        points.distances[p],
        points.weights[p],
    )
    along = _move_back(points, p, after - before, grad.positions[2], out.compliance)
    trace.normal_forces[j] = before
    upstream, grad.normal[p] = grad.normal[p] + along, -along
    root = trace.normal[sweep, j, 1]
    if sweep >= trace.falls and after == before:
        grad.normal[p] += upstream
        return
    if root >= 1.0:
        return
    first, second = ground_derivatives(root, math.log(root))
    stiffness = compliance * weight / distance
    grad_start = -upstream * weight * second / (1.0 + stiffness * second)
    grad_stiffness = -first * grad_start
    out.weights[p] += grad_stiffness * compliance / distance - first * upstream
    out.point_compliance[p] += (grad_stiffness * weight - grad_start * before) / distance
    grad.normal[p] -= grad_start * compliance / distance
    out.height[0] -= grad_start / distance
    for k in range(4):
        grad.positions[2, points.corners[p, k]] += points.shares[p, k] * grad_start / distance


@compiled(allocates=True)
def _friction_back(points: Any, trace: Any, out: Any, grad: Any) -> None:
    """Through all of friction."""
    pushed, normal = trace.points, trace.normal_forces
    limits, grad_limits = np.empty_like(normal), np.zeros_like(normal)
    for j in range(len(pushed)):
        coefficients = points.kinetic if trace.slides[j] else points.static
        limits[j] = coefficients[pushed[j]] * normal[j]
    for sweep in range(len(trace.friction) - 1, -1, -1):
        if sweep == trace.sticks - 1:
            for j in range(len(pushed)):
                p = pushed[j]
                if trace.slides[j]:
                    out.kinetic[p] += grad_limits[j] * normal[j]
                    grad.normal[p] += grad_limits[j] * points.kinetic[p]
                    limits[j], grad_limits[j] = points.static[p] * normal[j], 0.0
        for j in range(len(pushed) - 1, -1, -1):
            before = trace.friction[sweep, j]
            if limits[j] > 0.0 or before[0] != 0.0 or before[1] != 0.0:
                grad_limits[j] += _stop_back(points, trace, j, before, limits[j], out, grad)
    for j in range(len(pushed)):
        p = pushed[j]
        out.static[p] += grad_limits[j] * normal[j]
        grad.normal[p] += grad_limits[j] * points.static[p]
        for axis in range(2):
            force, upstream = (
                trace.friction_forces[j, axis] / points.step,
                grad.velocities[axis],
            )
            grad_force = _move_back(points, p, force, upstream, out.compliance)
            grad.friction[p, axis] += grad_force / points.step


@compiled(inline=True)
def _stop_back(
    points: Any, trace: Any, j: int, before: Any, limit: float, out: Any, grad: Any
) -> float:
    """Through a force of friction, to the one that there was before; the gradient by its limit."""
    p, grad_limit = trace.points[j], 0.0
    speed_compliance = points.point_compliance[p] / points.step
    grad_x = _slip_back(points, trace, j, 0, before[0], out, grad)
    grad_y = _slip_back(points, trace, j, 1, before[1], out, grad)
    x, y = before[2], before[3]
    size = math.sqrt(x * x + y * y)
    if size > limit:
        grad_limit = (grad_x * x + grad_y * y) / size
        grad_x = limit / size * (grad_x - grad_limit * x / size)
        grad_y = limit / size * (grad_y - grad_limit * y / size)
    grad.friction[p, 0] += grad_x
    grad.friction[p, 1] += grad_y
    out.point_compliance[p] += (
        grad_x * (before[0] - x) + grad_y * (before[1] - y)
    ) / points.point_compliance[p]
    for k in range(4):
        share = points.shares[p, k] / speed_compliance
        grad.velocities[0, points.corners[p, k]] -= share * grad_x
        grad.velocities[1, points.corners[p, k]] -= share * grad_y
    return grad_limit


@compiled(inline=True)
def _slip_back(
    points: Any, trace: Any, j: int, axis: int, before: float, out: Any, grad: Any
) -> float:
    """The gradient by the new force along one axis, which goes back to the old one."""
    p, change = trace.points[j], (trace.friction_forces[j, axis] - before) / points.step
    along = _move_back(points, p, change, grad.velocities[axis], out.compliance) / points.step
    upstream, grad.friction[p, axis] = grad.friction[p, axis] + along, -along
    trace.friction_forces[j, axis] = before
    return upstream
