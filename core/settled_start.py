# SPDX-License-Identifier: GPL-3.0-or-later
"""The start of bodies that rest on something: the equilibrium near their modelled shape.

A body rests where the ground, a mesh collider or another body at rest supports it from below. Only
these bodies take part in the static solve; others are obstacles there, where they begin. A body
that the solve takes far from its start, since it topples or flows, keeps its modelled start.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray

from .errors import InstabilityError, SceneError
from .geometry.rigid_fit import closest_rotations
from .integrators import ImplicitEuler
from .minimizers.equilibrium import StaticAccuracy
from .potentials.contact.mesh_contact import MeshContact
from .preparation.overlap_contraction import InitialBody
from .scene.channel import Channel
from .scene.contact_settings import Collider
from .scene.scene import Scene
from .scene.soft_body import SoftBody
from .scene.stitches import Stitches
from .simulator import Simulator

Points = NDArray[np.float64]

#: The largest height of a supported body above its support, relative to its diagonal.
REST_GAP_RATIO = 0.005
#: The largest sideways displacement, relative to its diagonal; a body beyond it rolls or slides
#: away.
MAX_SHIFT_RATIO = 0.15
#: The largest sag, relative to its height; a body beyond it flows.
MAX_SAG_RATIO = 0.4
#: The largest rotation; a body beyond it topples.
MAX_TURN_RADIANS = math.radians(10.0)
# The most repeats of the solve without the bodies that do not stay.
_MAX_SOLVES = 4
# A fiftieth of gravity, and a thousandth of the size. With contact, smaller forces take ten times
# the iterations, without a visible difference.
_ACCURACY = StaticAccuracy(residual=0.2, step_ratio=1e-3, max_iterations=150, first_step=2.5)
# The largest slope of a supporting surface: the cosine of 45 degrees.
_UPRIGHT_COSINE = 0.7


@dataclass(frozen=True)
class SettledStart:
    """The bodies that are settled before the first frame.

    Args:
        settled: names of the bodies that begin at rest.
        unstable: names of those that begin on something, and do not stay there.
    """

    settled: tuple[str, ...] = ()
    unstable: tuple[str, ...] = ()


def settle_start(
    simulator: Simulator, report: Callable[[list[str]], object] | None = None
) -> SettledStart:
    """Put those bodies to rest that are to start settled and rest on something.

    Args:
        simulator: at its start.
        report: is called with the names of these bodies before each solve.
    """
    scene, state = simulator.system.scene, simulator.state
    simulator.system.go_to(0, 0.0)
    slices = simulator.system.body_slices()
    starts = [state.positions[:, where].T.double().cpu().numpy() for where in slices]
    gravity = np.asarray(simulator.system.gravity.acceleration.tolist(), dtype=np.float64)
    strength = float(np.linalg.norm(gravity))
    if strength == 0.0 or scene.spheres:
        return SettledStart()
    down = gravity / strength
    resting = _Resting(simulator, starts, down).bodies()
    names = [body.name for body in scene.bodies]
    unstable: set[int] = set()
    for _ in range(_MAX_SOLVES):
        resting = _uncoupled(scene, resting - unstable)
        if not resting:
            break
        order = sorted(resting)
        if report is not None:
            report([names[body] for body in order])
        try:
            settled = _equilibrium(simulator, starts, order)
        except (InstabilityError, SceneError):
            unstable |= resting
            break
        ends = zip(order, settled, strict=True)
        moved = {body for body, points in ends if _leaves(starts[body], points, down)}
        if not moved:
            positions = state.positions.clone()
            for body, points in zip(order, settled, strict=True):
                positions[:, slices[body]] = torch.as_tensor(points.T).to(positions)
            simulator.state = replace(state, positions=positions)
            return SettledStart(
                tuple(names[body] for body in order),
                tuple(names[body] for body in sorted(unstable)),
            )
        unstable |= moved
    return SettledStart((), tuple(names[body] for body in sorted(unstable | resting)))


class _Resting:
    """Finds the bodies that rest on something.

    Args:
        simulator: at its start.
        starts: (N, 3) vertices of each body.
        down: (3,) the direction of gravity.
    """

    def __init__(self, simulator: Simulator, starts: list[Points], down: Points) -> None:
        self._scene, self._starts, self._down = simulator.system.scene, starts, down
        system = simulator.system
        self._diagonals = [mesh.diagonal for mesh in system.meshes]
        self._slices = system.body_slices()
        self._positions = torch.as_tensor(np.concatenate(starts).T.copy())
        self._contact: MeshContact | None = None
        if self._scene.contact is not None:
            mass = float(system.mass.mean())
            self._contact = MeshContact(self._scene, system.meshes, mass)

    def bodies(self) -> set[int]:
        """Their indices."""
        scene = self._scene
        candidates = [k for k, body in enumerate(scene.bodies) if _may_settle(body)]
        resting = {k for k in candidates if self._is_on_ground(k)}
        # From the bottom up, so that the supports of a body are known before it.
        height = [float((self._starts[k] @ self._down).max()) for k in range(len(scene.bodies))]
        for body in sorted(set(candidates) - resting, key=lambda k: -height[k]):
            if self._contact is not None and self._is_carried(self._contact, body, resting):
                resting.add(body)
        return resting

    def _gap(self, body: int) -> float:
        return REST_GAP_RATIO * self._diagonals[body]

    def _is_on_ground(self, body: int) -> bool:
        ground = self._scene.ground
        if ground is None or self._down[2] > -_UPRIGHT_COSINE:
            return False
        lowest = float(_visible_points(self._scene.bodies[body], self._starts[body])[:, 2].min())
        return lowest - ground.height <= self._gap(body)

    def _is_carried(self, contact: MeshContact, body: int, resting: set[int]) -> bool:
        """Whether the way down of a body ends at once at a collider or at a body at rest."""
        drop = self._gap(body) * self._down
        if not self._is_near(contact, body, drop):
            return False
        after = self._positions.clone()
        after[:, self._slices[body]] += torch.as_tensor(drop)[:, None]
        share = contact.collision_free_step_size(self._positions, after)
        if share >= 1.0:
            return False
        reached = self._positions + share * (after - self._positions)
        blocked = contact.blocked(contact.points(self._positions), contact.points(reached))
        count = len(self._scene.bodies)
        return any(other in resting or other >= count for other in blocked - {body})

    def _is_near(self, contact: MeshContact, body: int, drop: Points) -> bool:
        """Whether the box of a body hits that of another object on its way down."""
        points, owner = contact.points(self._positions), contact.surface.object_of
        body_points = points[owner == body]
        low = np.minimum(body_points.min(axis=0), body_points.min(axis=0) + drop)
        high = np.maximum(body_points.max(axis=0), body_points.max(axis=0) + drop)
        inside = ((points >= low) & (points <= high)).all(axis=1) & (owner != body)
        if inside.any():
            return True
        # A large face may cross the box although none of its corners is inside.
        for other in np.unique(owner[owner != body]):
            around = points[owner == other]
            if (around.min(axis=0) <= high).all() and (around.max(axis=0) >= low).all():
                return True
        return False


def _may_settle(body: SoftBody) -> bool:
    """Whether a body is set to settle, begins without speed, and keeps its shape at rest."""
    velocities = [*body.velocity, *body.angular_velocity]
    moves = any(velocities) or (
        body.initial_velocities is not None and bool(np.any(body.initial_velocities))
    )
    changes = body.plasticity is not None or body.has_gas or body.is_sag_free
    is_driven = body.tet_control is not None or body.accelerations is not None
    return body.starts_settled and not (moves or changes or is_driven)


def _visible_points(body: SoftBody, positions: Points) -> Points:
    """Return the (V, 3) points that collide with the ground."""
    surface = body.seen_surface
    if surface is None or surface.embedding is None:
        return positions
    return surface.embedding.interpolate(positions)


def _uncoupled(scene: Scene, resting: set[int]) -> set[int]:
    """Return the resting bodies that nothing ties to others."""
    ties = [(each.body, each.other) for each in scene.attachments if each.joins_bodies]
    ties += [(each.body, each.other) for each in scene.stitches]
    left = set(resting)
    for _ in range(len(scene.bodies)):
        torn = {body for tie in ties for body in tie if not left.issuperset(tie)}
        if not left & torn:
            break
        left -= torn
    return left


def _equilibrium(simulator: Simulator, starts: list[Points], order: list[int]) -> list[Points]:
    """(N, 3) vertices at rest of each of some bodies; all others stay at their starts."""
    settled = Simulator(
        _resting_scene(simulator.system.scene, starts, order),
        ImplicitEuler(),
        frame_time=simulator.frame_time,
        device="cpu",
        is_prepared=True,
    ).settle(_ACCURACY)
    return [positions.numpy() for positions in settled.positions]


def _resting_scene(scene: Scene, starts: list[Points], order: list[int]) -> Scene:
    """The bodies at rest alone, and all others as colliders."""
    number = {body: place for place, body in enumerate(order)}
    others = [body for body in range(len(scene.bodies)) if body not in number]
    colliders = list(scene.colliders)
    if scene.contact is not None:
        colliders += [_still(scene.bodies[body], starts[body]) for body in others]
    ground = scene.ground
    if ground is not None and ground.response != "barrier":
        ground = replace(ground, response="barrier", restitution=0.0, penalty=0.0)
    return replace(
        scene,
        bodies=[
            replace(scene.bodies[body], initial_positions=starts[body], start=None)
            for body in order
        ],
        ground=ground,
        colliders=colliders,
        attachments=[
            replace(
                each,
                body=number[each.body],
                other=number[each.other] if each.to == "body" else each.other,
            )
            for each in scene.attachments
            if _joins(number, [each.body, *([each.other] if each.to == "body" else [])])
        ],
        forces=[
            replace(each, body=number[each.body], other=number[each.other])
            if isinstance(each, Stitches)
            else each
            for each in scene.forces
            if not isinstance(each, Stitches) or _joins(number, [each.body, each.other])
        ],
    )


def _joins(number: dict[int, int], bodies: Iterable[int]) -> bool:
    return all(body in number for body in bodies)


def _still(body: SoftBody, positions: Points) -> Collider:
    """A body that does not move, where it starts."""
    initial = InitialBody.of(body)
    return Collider(
        Channel.of(initial.points(positions), f"{body.name}: where it starts", None, 3),
        initial.triangles,
        friction=body.friction,
        kinetic_friction=body.kinetic_friction,
        name=body.name,
    )


def _leaves(start: Points, settled: Points, down: Points) -> bool:
    """Whether vertices (N, 3) have turned, moved aside or sagged far."""
    diagonal = float(np.linalg.norm(np.ptp(start, axis=0)))
    centred, around = start - start.mean(axis=0), settled - settled.mean(axis=0)
    shift = settled.mean(axis=0) - start.mean(axis=0)
    aside = float(np.linalg.norm(shift - (shift @ down) * down))
    height, left = float(np.ptp(start @ down)), float(np.ptp(settled @ down))
    rotation = closest_rotations((around.T @ centred)[None])[0]
    turn = math.acos(min(max(0.5 * (float(np.trace(rotation)) - 1.0), -1.0), 1.0))
    is_aside = aside > MAX_SHIFT_RATIO * diagonal or turn > MAX_TURN_RADIANS
    return is_aside or left < (1.0 - MAX_SAG_RATIO) * height
