# SPDX-License-Identifier: GPL-3.0-or-later
"""Compare the effect of force fields in a step with their laws, written a second time; and
motions in them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from supple.core import (
    Channel,
    Falloff,
    ForceField,
    Frame,
    Scene,
    Simulator,
    SoftBody,
    TetMesh,
    VelocityGrid,
)
from supple.core.integrators import ImplicitEuler, Integrator, SymplecticEuler
from supple.core.materials import StableNeoHookean

from ..check import Check, Subject, at_most, within
from ..meshes import block

Vectors = NDArray[np.float64]
Law = Callable[[Vectors, Vectors], Vectors]

POINTS, SIZE, SPEED = 20, 1e-4, np.array([0.4, -0.3, 0.6])
STRENGTH, FLOW, DAMPING, LENGTH = 1.7, 0.3, 0.4, 0.5
ORIGIN, AXIS = np.array([0.3, -0.2, 0.4]), np.array([0.48, 0.6, 0.64])
POWER, NEAREST, FARTHEST = 1.5, 0.2, 3.0
FRAME, EXACT = 1e-5, 1e-3
METHODS: dict[str, Integrator] = {
    "Symplectic Euler": SymplecticEuler(),
    "Implicit Euler": ImplicitEuler(tolerance=1e-9),
}
# A tenth of a second, which decides nothing of the speed at the end.
STEPS = {"Symplectic Euler": 20, "Implicit Euler": 2}
# In half a second a flow takes a body along, or swings it to the other side, in steps of 0.5 ms.
TAKEN, SWUNG, CARRYING = 1e-3, 1e-2, {"frame_time": 0.05, "substeps": 100}
COURSE = 0.5
DENSITY, INFLOW = 0.4, 10.0


def run() -> Subject:
    return Subject(
        title="Force fields",
        text=f"{POINTS} small tetrahedra that move at {np.linalg.norm(SPEED):.2g} m/s feel a field "
        f"for {FRAME * 1e6:g} µs. Their velocities change; the figure is the farthest one's "
        "distance from the law as a share of the largest. Each has a falloff of power "
        f"{POWER:g} between {NEAREST:g} and {FARTHEST:g} m and a flow, but for harmonic fields and "
        "drag. Noise has no closed form: the turbulence of Blender's own particles is what the "
        "add-on's tests hold it to. Then known motions of whole bodies: the end speed in wind and "
        "that under drag, and the period of a swing in a harmonic field. A speed and a "
        "displacement "
        "follow. The first is the speed to which a "
        f"smoke of density {DENSITY:g} that flows takes a body in {COURSE:g} s. The second is, in "
        f"a flow of {INFLOW:g} m/s a metre towards a plane, how far a body goes.",
        source="Blender Manual, Physics › Forces › Force Fields › Types, with the signs of what "
        "its particles do. The motions are w + g/k, √(g/c), 2π/√S, w (1 − e^(−Sρt)), and x″ + S "
        "x′ + S γ x = 0.",
        checks=[
            *(_law(kind, shape, label) for kind, shape in LAWS for label in METHODS),
            *(_end_speed(label) for label in METHODS),
            *(_drag_speed(label) for label in METHODS),
            _period(),
            *(_taken_along(label) for label in METHODS),
            *(_led_to_plane(label) for label in METHODS),
        ],
    )


def _away(points: Vectors, shape: str) -> Vectors:
    """From the nearest point of the source."""
    offset = points - ORIGIN
    along = (offset @ AXIS)[:, None] * AXIS
    return {"point": offset, "line": offset - along, "plane": along}[shape]


def _length(vectors: Vectors) -> Vectors:
    return np.linalg.norm(vectors, axis=1, keepdims=True)


def _falloff(away: Vectors) -> Vectors:
    distance = _length(away)
    weaker = (1.0 + np.maximum(distance - NEAREST, 0.0)) ** -POWER
    return np.where(distance > FARTHEST, 0.0, weaker)


def _law(kind: Any, shape: Any, label: str) -> Check:
    generator = np.random.default_rng(3)
    places = ORIGIN + generator.normal(size=(POINTS, 3))
    tet = SIZE * np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    mesh = TetMesh(
        (places[:, None] + tet).reshape(-1, 3), np.arange(4 * POINTS).reshape(-1, 4).tolist()
    )
    falloff = Falloff("sphere", POWER, NEAREST, FARTHEST)
    options: dict[str, Any] = {} if kind in {"harmonic", "drag"} else {"flow": FLOW}
    field = ForceField(
        *(kind, STRENGTH, tuple(ORIGIN), tuple(3.0 * AXIS), shape),
        damping=DAMPING,
        size=LENGTH,
        falloff=falloff,
        **options,
    )
    body = SoftBody(mesh, StableNeoHookean(1e3, 0.3), velocity=tuple(SPEED))
    scene = Scene([body], gravity=(0.0, 0.0, 0.0), forces=[field])
    simulator = Simulator(scene, METHODS[label], frame_time=FRAME, substeps=1, device="cpu")
    (frame,) = simulator.run(1)
    gained = (frame.velocities[0].numpy() - SPEED) / FRAME
    acceleration = gained.reshape(POINTS, 4, 3).mean(axis=1)
    expected = LAWS[kind, shape](_away(places, shape), places - ORIGIN)
    if options:
        expected = expected - FLOW * _falloff(_away(places, shape)) * SPEED
    off = _length(acceleration - expected).max() / _length(expected).max()
    what = f"{kind.replace('_', '-').title()}, {shape}, {label}: off the law"
    return at_most(what, float(off), EXACT)


def _force(away: Vectors, _: Vectors) -> Vectors:
    return STRENGTH * _falloff(away) * away / _length(away)


def _wind(away: Vectors, _: Vectors) -> Vectors:
    return STRENGTH * _falloff(away) * AXIS


def _whirl(away: Vectors, _: Vectors) -> Vectors:
    around = np.cross(AXIS, away)
    return STRENGTH * _falloff(away) * _length(away) * around / _length(around)


def _turning(away: Vectors, offset: Vectors) -> Vectors:
    """Velocities become those of a rotation, with what keeps that on its circle."""
    falloff = _falloff(away)
    rate = STRENGTH * falloff
    circling = rate * np.cross(AXIS, offset)
    return circling + rate * np.cross(AXIS, circling) - (falloff > 0.0) * SPEED


def _lorentz(away: Vectors, _: Vectors) -> Vectors:
    lines = np.cross(AXIS, away)
    return STRENGTH * _falloff(away) * np.cross(SPEED, lines / _length(lines))


def _lorentz_plane(away: Vectors, _: Vectors) -> Vectors:
    return STRENGTH * _falloff(away) * np.cross(SPEED, AXIS)


def _spring(away: Vectors, _: Vectors) -> Vectors:
    falloff = _falloff(away)
    pull = STRENGTH * falloff * (1.0 - LENGTH / _length(away)) * away
    return -pull - 2.0 * DAMPING * math.sqrt(STRENGTH) * (falloff > 0.0) * SPEED


def _charge(away: Vectors, _: Vectors) -> Vectors:
    return STRENGTH * _falloff(away) * away


def _lennard_jones(away: Vectors, _: Vectors) -> Vectors:
    distance = _length(away)
    slope = (LENGTH**12 / distance**12 - LENGTH**6 / distance**6) / distance
    return STRENGTH * (_falloff(away) > 0.0) * np.minimum(slope, 2.0) * away


def _drag(away: Vectors, _: Vectors) -> Vectors:
    rate = DAMPING + STRENGTH * np.linalg.norm(SPEED)
    return -rate * _falloff(away) * SPEED


LAWS: dict[tuple[str, str], Law] = {
    **{("force", shape): _force for shape in ("point", "line", "plane")},
    ("wind", "plane"): _wind,
    ("vortex", "point"): _whirl,
    ("vortex", "line"): _turning,
    ("magnetic", "point"): _lorentz,
    ("magnetic", "line"): _lorentz,
    ("magnetic", "plane"): _lorentz_plane,
    **{("harmonic", shape): _spring for shape in ("point", "line", "plane")},
    ("charge", "point"): _charge,
    ("lennard_jones", "point"): _lennard_jones,
    ("drag", "point"): _drag,
}


def _cube(**settings: Any) -> SoftBody:
    return SoftBody(block((1, 1, 1), (0.2,) * 3, (-0.1,) * 3), StableNeoHookean(1e5), **settings)


def _end_speed(label: str) -> Check:
    """Check the end speed of a fall where a wind has a flow of 1: S + g."""
    speed = _speed(ForceField("wind", STRENGTH, axis=(0.0, 0.0, -1.0), flow=1.0), label)
    return within(f"{label}: end speed in wind", speed, STRENGTH + 9.81, 1e-3, "m/s")


def _drag_speed(label: str) -> Check:
    """It falls where c v² = g."""
    speed = _speed(ForceField("drag", STRENGTH), label)
    expected = math.sqrt(9.81 / STRENGTH)
    return within(f"{label}: end speed under drag", speed, expected, 1e-3, "m/s")


def _speed(field: ForceField, label: str) -> float:
    """At which a cube falls after ten seconds."""
    scene = Scene([_cube()], forces=[field])
    settings: dict[str, Any] = {"frame_time": 0.1, "substeps": STEPS[label], "device": "cpu"}
    *_, last = Simulator(scene, METHODS[label], **settings).run(100)
    return -float(last.velocities[0][:, 2].mean())


def _period() -> Check:
    """Check the period of a body let go beside the source, from its crossings of it."""
    start = np.array([0.5, 0.0, 0.0])
    mesh = block((1, 1, 1), (0.2,) * 3, (-0.1,) * 3)
    body = SoftBody(mesh, StableNeoHookean(1e5), initial_positions=mesh.vertices + start)
    field = ForceField("harmonic", 4.0 * math.pi**2)
    scene = Scene([body], gravity=(0.0, 0.0, 0.0), forces=[field])
    simulator = Simulator(scene, SymplecticEuler(), frame_time=0.01, substeps=10, device="cpu")
    places = [0.5, *(float(frame.positions[0][:, 0].mean()) for frame in simulator.run(130))]
    crossings = [
        0.01 * (k + places[k] / (places[k] - places[k + 1]))
        for k in range(130)
        if places[k] * places[k + 1] < 0.0
    ]
    period = 2.0 * (crossings[1] - crossings[0])
    return within("Symplectic Euler: period in a harmonic field", period, 1.0, 1e-3, "s")


def _taken_along(label: str) -> Check:
    """From rest by what flows alike everywhere, along all axes of a box that is turned."""
    flow = np.tile(np.array([0.3, -0.4, 1.2], np.float32), (2, 2, 2, 1))
    turned = np.array([[0.0, -1.0, 0.0, 0.1], [1.0, 0.0, 0.0, 0.2], [0.0, 0.0, 1.0, 0.3]])
    density = np.full((2, 2, 2), DENSITY, np.float32)
    grid = VelocityGrid(flow, Channel.constant(turned), (-2.0,) * 3, (2.0,) * 3, density=density)
    last = _carried(grid, _cube(), label)
    share = 1.0 - math.exp(-STRENGTH * DENSITY * COURSE)
    speed = float(last.velocities[0].mean(0).numpy() @ np.array([0.4, 0.3, 1.2])) / 1.69
    return within(f"{label}: share of the speed of a flow", speed, share, TAKEN)


def _led_to_plane(label: str) -> Check:
    """It goes beyond, and would swing: S < 4 γ."""
    x = np.array([-0.75, -0.25, 0.25, 0.75])
    flow = np.zeros((1, 1, 4, 3), np.float32)
    flow[..., 0] = -INFLOW * x
    grid = VelocityGrid(flow, Channel.constant(np.eye(3, 4)), (-1.0,) * 3, (0.5, 2.0, 2.0))
    mesh, start = block((1, 1, 1), (0.2,) * 3, (-0.1,) * 3), 0.5
    places = mesh.vertices + np.array([start, 0.0, 0.0])
    body = SoftBody(mesh, StableNeoHookean(1e5), initial_positions=places)
    last = _carried(grid, body, label)
    decay = 0.5 * STRENGTH
    rate = math.sqrt(STRENGTH * INFLOW - decay**2)
    phase = rate * COURSE
    ratio = math.exp(-decay * COURSE) * (math.cos(phase) + decay / rate * math.sin(phase))
    reached = float(last.positions[0][:, 0].mean())
    return within(f"{label}: place in a flow to a plane", reached, start * ratio, SWUNG, "m")


def _carried(grid: VelocityGrid, body: SoftBody, label: str) -> Frame:
    field = ForceField("fluid_flow", STRENGTH, flow=1.0, grid=grid)
    scene = Scene([body], gravity=(0.0, 0.0, 0.0), forces=[field])
    settings: dict[str, Any] = {**CARRYING, "device": "cpu"}
    frames = round(COURSE / settings["frame_time"])
    *_, last = Simulator(scene, METHODS[label], **settings).run(frames)
    return last
