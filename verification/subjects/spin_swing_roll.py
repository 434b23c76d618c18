# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies spin, swing, roll and bounce in steps of a whole frame."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from supple.core import Collider, Contact, Frame, Ground, Scene, Simulator, Skin, SoftBody
from supple.core.integrators import SDIRK2, Automatic, Integrator, SymplecticEuler
from supple.core.materials import StableNeoHookean
from supple.core.scene.channel import Channel
from supple.core.scene.skin import SurfaceMesh

from ..check import Check, Curve, Panel, Subject, near, within
from ..meshes import block, icosphere

GRAVITY, FRAME_RATE, DENSITY = 9.81, 24, 1000.0
# A cube of 20 cm, in turns of up to 2.5 rad a frame.
SPINS = ((1e4, 5.0), (1e4, 60.0), (1e6, 20.0), (1e7, 60.0), (1e9, 60.0))
SPIN_SECONDS = 2.0
# A bar of 1 × 0.1 × 0.1 m that hangs by an edge and is let go where it is level.
SWINGS, SWING_SECONDS = (1e5, 1e6, 1e8), 8.0
# A ball of 20 cm that rolls down a slope of 20°.
RADIUS, ANGLE, ROLL_SECONDS, FRICTION = 0.1, math.radians(20.0), 1.25, 0.8
ROLLS = (("ground", 1e5, 24), ("ground", 1e7, 12), ("ground", 1e7, 60), ("mesh", 1e7, 24))
# A search with surfaces in contact ends within a 200th of the fastest motion.
ROLL_SHARES = {"ground": 0.03, "mesh": 0.04}
# A rubber ball of 10 cm without damping that falls by 1 m.
BALL_RADIUS, HEIGHT, RUBBER = 0.05, 1.0, 1.5e6
# The widest that the eye takes for the same, and what half of the frames of a contact leave open.
REBOUND_TOLERANCE = 0.1
REBOUND = "a tenth of the height is not seen; steps are an eighth of the contact"


def run() -> Subject:
    explicit, bounced = _drop(SymplecticEuler(), "ground"), _drop(SDIRK2(), "ground")
    swings = {young: _swing(young) for young in SWINGS}
    return Subject(
        title="Spin, swing, rolling and rebound",
        text="*Spin:* angular momentum of a cube of 20 cm in free space after two seconds. "
        "*Swing:* a bar of 1 × 0.1 × 0.1 m hangs by an edge and begins level; energy after eight "
        "seconds, as a share of that of its fall. *Rolling:* a ball of 20 cm, whose surface of 642 "
        f"vertices touches, rolls down a slope of 20° for {ROLL_SECONDS} s, μ = {FRICTION}. A "
        "rigid ball goes 5/14 g t² sin θ. "
        "*Rebound:* a rubber ball of 10 cm without damping falls by 1 m, beside symplectic Euler "
        "with the same tetrahedra. Spin and swing by Automatic, rolling and rebound by SDIRK2, "
        "which choose their steps.",
        source="Euler's equations; energy conservation; a rigid ball.",
        checks=[
            *(_spin(young, rate) for young, rate in SPINS),
            *(_swing_energy(young, energy) for young, energy in swings.items()),
            *(_roll(*case) for case in ROLLS),
            near(
                "ground: rebound, beside explicit steps",
                _apex(bounced),
                _apex(explicit),
                REBOUND_TOLERANCE * HEIGHT,
                "m",
                from_solver=True,
                reason=REBOUND,
            ),
            near(
                "mesh: rebound, beside explicit steps on the ground",
                _apex(_drop(SDIRK2(), "mesh")),
                _apex(explicit),
                REBOUND_TOLERANCE * HEIGHT,
                "m",
                from_solver=True,
                reason=REBOUND,
            ),
        ],
        panels=[
            Panel(
                "swing",
                "time (s)",
                "energy over that of the fall",
                [
                    Curve(f"E = {young:g} Pa", *_times(e), f"{young:g}")
                    for young, e in swings.items()
                ],
            ),
            Panel(
                "rebound",
                "time (s)",
                "height (m)",
                [
                    Curve("explicit", *_times(explicit), "explicit"),
                    Curve("SDIRK2", *_times(bounced), "SDIRK2"),
                ],
            ),
        ],
    )


def _times(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return np.arange(len(values)) / FRAME_RATE, values


def _material(young: float, poisson: float = 0.4) -> StableNeoHookean:
    return StableNeoHookean(young, poisson)


def _spin(young: float, rate: float) -> Check:
    mesh = block((4, 4, 4), (0.2, 0.2, 0.2))
    body = SoftBody(mesh, _material(young), density=DENSITY, angular_velocity=(0.0, 0.0, rate))
    simulator = Simulator(Scene([body], gravity=(0.0, 0.0, 0.0)), Automatic(), device="cpu")
    masses = simulator.system.mass.numpy()
    start = _angular_momentum(masses, simulator.frame())
    *_, last = simulator.run(int(SPIN_SECONDS * FRAME_RATE))
    left = _angular_momentum(masses, last) / start
    return within(f"spin, E = {young:g} Pa, {rate:g} rad/s: momentum left", left, 1.0, 0.01)


def _angular_momentum(masses: NDArray[np.float64], frame: Frame) -> float:
    positions, velocities = frame.positions[0].numpy(), frame.velocities[0].numpy()
    arms = positions - masses @ positions / masses.sum()
    return float((masses @ np.cross(arms, velocities))[2])


def _swing(young: float) -> NDArray[np.float64]:
    """Energy at every frame over that of the fall to the lowest point."""
    size = (1.0, 0.1, 0.1)
    mesh = block((8, 1, 1), size)
    x, _, z = mesh.vertices.T
    hinge = np.flatnonzero((x == x.min()) & (z == z.max()))
    body = SoftBody(mesh, _material(young, 0.3), density=DENSITY, pinned=hinge)
    gravity = (0.0, 0.0, -GRAVITY)
    simulator = Simulator(Scene([body], gravity=gravity), Automatic(), device="cpu")
    frames = [simulator.frame(), *simulator.run(int(SWING_SECONDS * FRAME_RATE))]
    totals = np.array([frame.report.energies.total for frame in frames])
    mass = float(simulator.system.mass.sum())
    fall = mass * GRAVITY * float(np.hypot(0.5 * size[0], 0.5 * size[2]) - 0.5 * size[2])
    return 1.0 + (totals - totals[0]) / fall


def _swing_energy(young: float, energy: NDArray[np.float64]) -> Check:
    return within(
        f"swing, E = {young:g} Pa: energy after {SWING_SECONDS:g} s, share", energy[-1], 1.0, 0.03
    )


def _roll(where: str, young: float, rate: int) -> Check:
    pull = GRAVITY * math.sin(ANGLE)
    body = _ball(RADIUS, 0.001, young, 0.04)
    gravity = (pull, 0.0, -GRAVITY * math.cos(ANGLE))
    simulator = Simulator(
        _scene(body, where, gravity, FRICTION), SDIRK2(), frame_time=1.0 / rate, device="cpu"
    )
    masses = simulator.system.mass.numpy()
    *_, last = simulator.run(int(ROLL_SECONDS * rate))
    way = float(masses @ last.positions[0].numpy()[:, 0] / masses.sum())
    right = 5.0 / 14.0 * pull * ROLL_SECONDS**2
    what = f"rolling, {where}, E = {young:g} Pa, {rate} frames a second: way"
    return within(what, way, right, ROLL_SHARES[where], "m")


def _drop(integrator: Integrator, where: str) -> NDArray[np.float64]:
    """The height of the centre above its lowest at rest, at every frame."""
    body = _ball(BALL_RADIUS, HEIGHT, RUBBER, 0.02)
    scene = _scene(body, where, (0.0, 0.0, -GRAVITY), 0.5)
    simulator = Simulator(scene, integrator, device="cpu")
    masses = simulator.system.mass.numpy()
    frames = [simulator.frame(), *simulator.run(int(1.3 * FRAME_RATE))]
    heights = [masses @ frame.positions[0].numpy()[:, 2] / masses.sum() for frame in frames]
    return np.array(heights) - BALL_RADIUS


def _apex(heights: NDArray[np.float64]) -> float:
    landed = int(heights[: int(0.8 * FRAME_RATE)].argmin())
    return float(heights[landed:].max())


def _ball(radius: float, height: float, young: float, edge: float) -> SoftBody:
    points, faces = icosphere(3)
    normals = np.cross(
        points[faces[:, 1]] - points[faces[:, 0]], points[faces[:, 2]] - points[faces[:, 0]]
    )
    inward = (normals * points[faces[:, 0]]).sum(axis=1) < 0.0
    faces[inward] = faces[inward][:, ::-1]
    points = radius * points + (0.0, 0.0, radius + height)
    surface = SurfaceMesh(points, faces.astype(np.int32), edge_length=edge)
    material = _material(young)
    return SoftBody(surface, material, density=DENSITY, skin=Skin(points), touching="mesh")


def _scene(
    body: SoftBody, where: str, gravity: tuple[float, float, float], friction: float
) -> Scene:
    if where == "ground":
        return Scene([body], gravity=gravity, ground=Ground(friction=friction))
    corners = np.array([[-2.0, -2, 0], [6, -2, 0], [6, 2, 0], [-2, 2, 0]])
    plane = Collider(Channel.constant(corners), np.array([[0, 1, 2], [0, 2, 3]]))
    return Scene([body], gravity=gravity, colliders=[plane], contact=Contact(friction=friction))
