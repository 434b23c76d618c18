# SPDX-License-Identifier: GPL-3.0-or-later
"""Scenes at the edge of what anyone asks for: the right answer, never NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from supple.core import Contact, Frame, Ground, Scene, Simulator, SoftBody
from supple.core.integrators import BDF2, SDIRK2, Automatic, ImplicitEuler, Integrator
from supple.core.materials import StableNeoHookean
from supple.tests.core.touching import check_apart


@pytest.fixture(params=[ImplicitEuler, BDF2, SDIRK2], ids=lambda kind: kind.__name__)
def integrator(request: pytest.FixtureRequest) -> Integrator:
    return request.param()


# Size, drop, Young's modulus, density, seconds a frame, and frames enough to land.
SCENES: dict[str, dict[str, Any]] = {
    "a step of 1 s": {"frame_time": 1.0, "frames": 4},
    "a drop of 100 m": {"speed": 44.0, "frames": 12},
    "a body of 1 mm": {"size": 1e-3, "drop": 1e-3},
    "a body of 100 m": {"size": 100.0, "drop": 10.0, "young": 1e8, "frames": 40},
    "a density of 1e-3": {"density": 1e-3},
    "a density of 1e5": {"density": 1e5, "young": 1e8},
    "rubber that keeps its volume": {"young": 1e8, "poisson": 0.499},
}


@pytest.mark.parametrize("name", SCENES)
def test_it_comes_to_rest_on_its_whole_weight(make_block, integrator, name: str) -> None:
    asked = {"size": 1.0, "drop": 1.0, "young": 1e6, "poisson": 0.45, "density": 1000.0}
    asked |= {"speed": 0.0, "frame_time": 1.0 / 24.0, "frames": 18} | SCENES[name]
    size, density = asked["size"], asked["density"]
    body = SoftBody(
        make_block((2, 2, 2), (size,) * 3, (0.0, 0.0, asked["drop"])),
        StableNeoHookean(asked["young"], asked["poisson"]),
        density,
        velocity=(0.0, 0.0, -asked["speed"]),
    )
    scene = Scene([body], ground=Ground())
    simulator = Simulator(scene, integrator, frame_time=asked["frame_time"])
    frames = list(simulator.run(asked["frames"]))
    assert all(bool(torch.isfinite(frame.positions[0]).all()) for frame in frames)
    assert all(frame.report.solver_statistics.converged for frame in frames)
    assert all(frame.report.minimum_ground_distance > 0.0 for frame in frames)
    assert frames[-1].report.minimum_volume_ratio > 0.5
    simulator.settle()  # what is left of the bounce
    assert simulator.system.ground_barrier is not None
    force = float(simulator.system.ground_barrier.normal_force(simulator.state.positions).sum())
    assert force == pytest.approx(density * size**3 * 9.81, rel=1e-5)


def test_a_crushed_body_stays_above_the_ground(make_block, integrator) -> None:
    body = SoftBody(make_block(origin=(0, 0, 1.0)), StableNeoHookean(1e2, 0.45))
    for frame in Simulator(Scene([body], ground=Ground()), integrator).run(36):
        assert frame.report.minimum_ground_distance > 0.0


@pytest.mark.parametrize("seed", range(3))
def test_a_body_of_random_positions_comes_back_to_its_shape(
    make_block, integrator, seed: int
) -> None:
    mesh = make_block((4, 4, 4))
    start = np.random.default_rng(seed).random(mesh.vertices.shape)
    body = SoftBody(mesh, StableNeoHookean(1e5, 0.3), initial_positions=start, damping=4.0)
    *_, last = Simulator(Scene([body], gravity=(0.0, 0.0, 0.0)), integrator).run(72)
    # SDIRK2 keeps more of the wobble.
    off = 1e-2 if isinstance(integrator, SDIRK2) else 1e-3
    _assert_congruent(last.positions[0], torch.as_tensor(mesh.vertices), off)
    assert last.report.minimum_volume_ratio == pytest.approx(1.0, abs=10.0 * off)


def test_a_mirrored_body_turns_itself_right_side_out(make_block) -> None:
    mesh = make_block((4, 4, 4))
    noise = np.random.default_rng(0).random(mesh.vertices.shape)
    start = mesh.vertices * [1.0, 1.0, -1.0] + 1e-3 * noise
    body = SoftBody(mesh, StableNeoHookean(1e5, 0.3), initial_positions=start, damping=4.0)
    *_, last = Simulator(Scene([body], gravity=(0.0, 0.0, 0.0)), ImplicitEuler()).run(72)
    _assert_congruent(last.positions[0], torch.as_tensor(mesh.vertices))
    assert last.report.minimum_volume_ratio == pytest.approx(1.0, abs=1e-3)


def _assert_congruent(found: torch.Tensor, expected: torch.Tensor, off: float = 1e-3) -> None:
    torch.testing.assert_close(torch.pdist(found), torch.pdist(expected), rtol=0.0, atol=off)


# One thing at a time out of the ordinary about two cubes of six tets, one falling on the other:
# side 0.5 m, E = 1e5, ν = 0.45, 1000 kg/m³, 24 frames a second, 9.81 m/s².
EXTREMES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "poisson 0": {"poisson": 0.0},
    "poisson 0.4999": {"poisson": 0.4999},
    "young 1": {"young": 1.0},
    "young 1e12": {"young": 1e12},
    "density 1e-3": {"density": 1e-3},
    "density 1e5": {"density": 1e5},
    "sizes 1 to 1e4": {"ratio": 1e4},
    "steps of 1e-5 s": {"frame_time": 1e-5},
    "steps of 1 s": {"frame_time": 1.0},
    "no gravity": {"gravity": 0.0},
    "gravity 1000": {"gravity": 1000.0},
    "next to no stiffness, 1000 m/s², steps of 1 s": {
        "young": 1.0, "gravity": 1000.0, "frame_time": 1.0,
    },
    "stiff, light, steps of 1 s": {"young": 1e12, "density": 1e-3, "frame_time": 1.0},
    "stiff on soft": {"young": 1.0, "upper_young": 1e12},
    "heavy on light": {"density": 10.0, "upper_density": 1e5},
}  # fmt: skip


def _two_cubes(make_block, name: str, contact: Contact | None) -> tuple[Scene, float]:
    asked = {"young": 1e5, "poisson": 0.45, "density": 1000.0, "ratio": 1.0, "gravity": 9.81}
    asked |= {"frame_time": 1.0 / 24.0} | EXTREMES[name]
    large, small = 0.5, 0.5 / asked["ratio"]
    lower = make_block((1, 1, 1), (large,) * 3, (0.0, 0.0, 0.01 * large))
    above = (0.3 * large, 0.3 * large, 1.01 * large + 0.02 * small)
    bodies = [
        SoftBody(lower, StableNeoHookean(asked["young"], asked["poisson"]), asked["density"]),
        SoftBody(
            make_block((1, 1, 1), (small,) * 3, above),
            StableNeoHookean(asked.get("upper_young", asked["young"]), asked["poisson"]),
            asked.get("upper_density", asked["density"]),
        ),
    ]
    gravity = (0.0, 0.0, -asked["gravity"])
    return Scene(bodies, Ground(), gravity=gravity, contact=contact), asked["frame_time"]


def _assert_sound(frame: Frame) -> None:
    """Within the work that its report names, of finite numbers, and above the ground."""
    report = frame.report
    done = {"iterations": report.solver_statistics.iterations, "substeps": report.substeps}
    for part in report.most_work.split(" and "):
        most, what = part.split()
        assert done[what] <= int(most)
    is_implicit = report.integrator in ("Implicit Euler", "BDF2", "SDIRK2")
    assert done["iterations" if is_implicit else "substeps"] > 0
    assert all(bool(torch.isfinite(positions).all()) for positions in frame.positions)
    assert report.minimum_ground_distance is not None
    assert report.minimum_ground_distance > 0.0


@pytest.mark.parametrize("name", EXTREMES)
@pytest.mark.parametrize(
    "stepping", [Automatic(), BDF2(), SDIRK2()], ids=lambda kind: type(kind).__name__
)
def test_no_extreme_takes_more_work_than_is_named(
    make_block, name: str, stepping: Integrator
) -> None:
    scene, frame_time = _two_cubes(make_block, name, None)
    for frame in Simulator(scene, stepping, frame_time=frame_time).run(5):
        _assert_sound(frame)


# Where a frame takes hundreds of iterations, one says it; elsewhere there are three.
HARD = {
    "next to no stiffness, 1000 m/s², steps of 1 s",
    "gravity 1000",
    "density 1e5",
    "sizes 1 to 1e4",
    "stiff, light, steps of 1 s",
}


@pytest.mark.parametrize("name", EXTREMES)
def test_nor_does_any_where_bodies_touch_and_they_never_intersect(make_block, name: str) -> None:
    scene, frame_time = _two_cubes(make_block, name, Contact())
    simulator = Simulator(scene, ImplicitEuler(), frame_time=frame_time)
    for frame in simulator.run(1 if name in HARD else 3):
        _assert_sound(frame)
        check_apart(simulator)
        if name == "young 1e12":
            assert frame.report.solver_statistics.converged


# Those of them that carry their own weight, and come to rest in so many frames.
RESTING = ["nothing", "poisson 0", "poisson 0.4999", "young 1e12", "density 1e-3"]


@pytest.mark.parametrize("name", [*RESTING, "steps of 1 s"])
def test_at_rest_no_tet_is_inside_out(make_block, name: str) -> None:
    scene, frame_time = _two_cubes(make_block, name, None)
    simulator = Simulator(scene, frame_time=frame_time)
    list(simulator.run(4))
    settled = simulator.settle()
    assert settled.report.minimum_volume_ratio > 0.0
    assert settled.report.caught == ()
