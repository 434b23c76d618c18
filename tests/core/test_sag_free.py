# SPDX-License-Identifier: GPL-3.0-or-later
"""Bodies with sag-free goals: at rest in any pose, and oscillators where that moves."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from supple.core import (
    Channel,
    Goals,
    Plasticity,
    Scene,
    SceneError,
    Simulator,
    Skin,
    SoftBody,
    SurfaceMesh,
    TetMesh,
)
from supple.core.geometry.tet_mesh import signed_volumes
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    XPBD,
    Automatic,
    ImplicitEuler,
    RungeKutta4,
    SymplecticEuler,
)
from supple.core.integrators.stability import spectrum
from supple.core.materials import Linear, StableNeoHookean
from supple.verification.meshes import block

FRAME_TIME = 1.0 / 24.0
FREQUENCY, RATIO = 2.0, 0.1
SOFT = StableNeoHookean(2e3, 0.45)
LENGTH = 0.6


def bar() -> tuple[np.ndarray, np.ndarray]:
    """(V, 3) points and (T, 3) triangles of a square bar along x."""
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * 0.06
    points = [(x, y, z) for x in np.linspace(0.0, LENGTH, 9) for y, z in corners]
    sides = [
        (4 * ring + a, 4 * ring + b, 4 * ring + 4 + b, 4 * ring + 4 + a)
        for ring in range(8)
        for a, b in ((0, 1), (1, 2), (2, 3), (3, 0))
    ]
    quads = [(3, 2, 1, 0), (32, 33, 34, 35), *sides]
    triangles = [half for a, b, c, d in quads for half in ((a, b, c), (a, c, d))]
    return np.array(points), np.array(triangles)


POINTS, TRIANGLES = bar()


def bent(angle: float) -> np.ndarray:
    """The bar, bent upwards by an angle in all."""
    x, y, z = POINTS.T
    radius, turn = LENGTH / angle, angle * x / LENGTH
    return np.stack([(radius - z) * np.sin(turn), y, radius - (radius - z) * np.cos(turn)], axis=1)


def tail(path: np.ndarray | Channel, sag_free: bool = True, reach: float = LENGTH) -> SoftBody:
    """The bar, held at its root, with goals up to ``reach``."""
    path = path if isinstance(path, Channel) else Channel.of(path, "the path", len(POINTS), 3)
    held = np.flatnonzero(POINTS[:, 0] < 0.01)
    drawn = np.flatnonzero((POINTS[:, 0] >= 0.01) & (POINTS[:, 0] <= reach))
    goals = Goals(
        drawn, path.mapped(lambda each: each[:, drawn]), 0.3, FREQUENCY, 0.4, sag_free=sag_free
    )
    skin = Skin(POINTS, held, path.mapped(lambda each: each[:, held]), goals=goals)
    return SoftBody(SurfaceMesh(POINTS, TRIANGLES, edge_length=0.12), SOFT, skin=skin)


def simulator(body: SoftBody, integrator=None, substeps=None) -> Simulator:
    scene = Scene([body])
    return Simulator(scene, integrator, frame_time=FRAME_TIME, substeps=substeps, device="cpu")


def seen(sim: Simulator, frame) -> np.ndarray:
    skin = sim.scene.bodies[0].skin
    assert skin is not None
    return skin.seen_at(frame.positions[0], None, frame.index)


@pytest.mark.parametrize(
    "integrator",
    [SymplecticEuler(), ImplicitEuler(), BDF2(), SDIRK2()],
    ids=lambda one: type(one).__name__,
)
def test_it_stays_in_a_pose_that_is_not_its_shape_at_rest(integrator) -> None:
    pose = bent(2.0)
    sim = simulator(tail(pose), integrator)
    *_, frame = sim.run(6)
    np.testing.assert_allclose(seen(sim, frame), pose, rtol=0.0, atol=1e-9 * LENGTH)
    # Without, it sags and straightens.
    sim = simulator(tail(pose, sag_free=False), integrator)
    *_, frame = sim.run(6)
    assert np.abs(seen(sim, frame) - pose).max() > 0.02 * LENGTH


@pytest.mark.parametrize("reach", [LENGTH, 0.3 * LENGTH])
def test_it_comes_to_rest_in_the_pose_that_its_animation_stops_in(reach: float) -> None:
    """Its free end with it, where goals do not reach it: that goes on straight."""
    angles = np.concatenate([np.linspace(0.01, 2.0, 5), np.full(3, 2.0)])
    path = np.stack([bent(angle) for angle in angles])
    sim = simulator(tail(path, reach=reach), ImplicitEuler())
    *_, moving = sim.run(4)
    known = np.flatnonzero(POINTS[:, 0] <= reach)
    assert np.abs(seen(sim, moving) - path[4])[known].max() > 3e-3 * LENGTH
    *_, _ = sim.run(1)
    rested = sim.settle()
    np.testing.assert_allclose(
        seen(sim, rested)[known], path[-1][known], rtol=0.0, atol=1e-8 * LENGTH
    )
    turn = 2.0 * reach / LENGTH
    straight = np.array([math.cos(turn), 0.0, math.sin(turn)])
    start = 0.5 * LENGTH * np.array([math.sin(turn), 0.0, 1.0 - math.cos(turn)])
    tip = seen(sim, rested)[-4:].mean(0)
    assert np.linalg.norm(tip - start - (LENGTH - reach) * straight) < 0.1 * LENGTH


STIFF = StableNeoHookean(1e5, 0.3)
TET = TetMesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 1, 2, 3]])


@pytest.mark.parametrize(
    ("integrator", "substeps"),
    [(SymplecticEuler(), 200), (RungeKutta4(), 6), (BDF2(), 20), (SDIRK2(), 10)],
)
def test_it_overshoots_as_an_oscillator_where_its_animation_stops(integrator, substeps) -> None:
    """Before that it goes along, from the start: x″ + 2ζω x′ + ω² x = 0 from x = 0, x′ = V on."""
    speed, stop, frames = np.array([3.0, 0.0, 0.6]), 2, 7
    gone = np.minimum(np.arange(frames + 1), stop)[:, None, None] * speed * FRAME_TIME
    goals = Goals(
        np.arange(4), TET.vertices + gone, 1.0, FREQUENCY, damping_ratio=RATIO, sag_free=True
    )
    body = SoftBody(TET, STIFF, goals=goals)
    omega = 2.0 * math.pi * FREQUENCY
    damped = omega * math.sqrt(1.0 - RATIO**2)
    for frame in simulator(body, integrator, substeps).run(frames):
        lag = (frame.positions[0].numpy() - TET.vertices - gone[frame.index]).mean(0)
        time = max(0, frame.index - stop) * FRAME_TIME
        swing = math.exp(-RATIO * omega * time) * math.sin(damped * time) / damped
        np.testing.assert_allclose(lag, speed * swing, rtol=0.0, atol=6e-3 / omega)


def test_the_balance_that_tells_of_divergence_knows_its_animation() -> None:
    """Explicit steps at the limit go on, however fast the pose is bent."""
    path = np.stack([bent(0.01 + 1.5 * math.sin(0.8 * frame) ** 2) for frame in range(8)])
    sim = simulator(tail(path), SymplecticEuler())
    substeps = sim.stepper.substeps
    assert [frame.report.substeps for frame in sim.run(7)] == [substeps] * 7


def test_a_pose_that_squeezes_tets_shortens_explicit_steps() -> None:
    mesh = block((2, 2, 2), (0.5, 0.5, 0.5), (0.0, 0.0, 0.0))
    body = SoftBody(mesh, SOFT, pose=np.stack([mesh.vertices, mesh.vertices * [1.0, 1.0, 0.5]]))
    slow = simulator(replace(body, pose=mesh.vertices)).system
    fast = simulator(body).system
    assert 1.3 < spectrum(fast).frequency / spectrum(slow).frequency < 2.0


@pytest.mark.parametrize(
    "more",
    [
        {"material": Linear(1e5, 0.3)},
        {"plasticity": Plasticity(1e3)},
        {"stiffness": Channel(np.array([1.0, 2.0]))},
    ],
    ids=lambda more: next(iter(more)),
)
def test_what_cannot_follow_a_pose_is_refused(more) -> None:
    with pytest.raises(SceneError, match="sag-free"):
        replace(tail(bent(1.0)), **more)


def test_xpbd_refuses_sag_free_goals() -> None:
    with pytest.raises(SceneError, match="sag"):
        simulator(tail(bent(1.0)), XPBD())


def folded(angle: float) -> np.ndarray:
    """The bar as linear blend skinning folds it in its middle: flat, and beyond 90° inside out."""
    share = np.clip((POINTS[:, :1] - 0.4 * LENGTH) / (0.2 * LENGTH), 0.0, 1.0)
    x, y, z = (POINTS - [0.5 * LENGTH, 0.0, 0.0]).T
    cosine, sine = math.cos(angle), math.sin(angle)
    turned = np.stack([cosine * x - sine * z + 0.5 * LENGTH, y, sine * x + cosine * z], axis=1)
    return (1.0 - share) * POINTS + share * turned


def test_where_a_pose_turns_tets_inside_out_it_rests_close_to_it() -> None:
    path = np.stack([folded(angle) for angle in np.linspace(0.0, 2.6, 13)])
    sim = simulator(tail(path), ImplicitEuler())
    pose = sim.scene.bodies[0].pose
    assert pose is not None
    assert signed_volumes(pose.samples[-1], sim.system.meshes[0].tets).min() < 0.0
    *_, moving = sim.run(14)
    assert np.abs(seen(sim, moving) - path[-1]).max() > 0.03 * LENGTH
    np.testing.assert_allclose(seen(sim, sim.settle()), path[-1], rtol=0.0, atol=1e-2 * LENGTH)


def test_automatic_keeps_quick_steps_where_the_pose_alone_presses_tets_flat() -> None:
    path = np.stack([folded(angle) for angle in np.linspace(0.0, 2.6, 13)])
    sim = simulator(tail(path), Automatic())
    frames = list(sim.run(14))
    assert {frame.report.integrator for frame in frames} == {SymplecticEuler.label}
    (elasticity,) = sim.system.elasticities
    ratios = elasticity.tets.volume_ratios(sim.state.positions)
    least = elasticity.least_volume_ratio(sim.state.positions)
    # Those that are not squeezed count.
    assert float(ratios.min()) < 0.0 < 0.05 < least <= float(ratios.max())


@pytest.mark.parametrize(("sag_free", "names"), [(True, ()), (False, ("Soft body",))])
def test_that_it_goes_through_itself_is_no_news_of_what_jiggles(sag_free: bool, names) -> None:
    body = replace(tail(bent(0.1), sag_free), self_contact=False)
    (frame,) = simulator(body, ImplicitEuler()).run(1)
    assert frame.report.crossing == names
