# SPDX-License-Identifier: GPL-3.0-or-later
"""Slow motion: frames that simulate more time than they show, or less."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from supple.core import Channel, Contact, Scene, Simulator, SoftBody
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    XPBD,
    Adaptive,
    Automatic,
    ImplicitEuler,
    Midpoint,
    RungeKutta4,
    SymplecticEuler,
)
from supple.core.job import Job, Settings, digest
from supple.core.materials import StableNeoHookean
from supple.core.scene.goals import Goals
from supple.core.system import System
from supple.tests.core.job_runs import check_same_bytes_in_parts
from supple.verification.meshes import block

FRAME, FRAMES = 1.0 / 24.0, 3
GRAVITY = np.array([[0.0, 0.0, -9.0], [1.0, 0.0, -5.0], [0.0, 2.0, 3.0]])
#: Slower and slower, then fast again.
KEYED = np.array([1.0, 1.0, 0.4, 0.2, 1.5])

METHODS = {
    "implicit Euler": ImplicitEuler(tolerance=1e-11),
    "BDF2": BDF2(tolerance=1e-11),
    "SDIRK2": SDIRK2(tolerance=1e-11),
    "symplectic Euler": SymplecticEuler(),
    "midpoint": Midpoint(),
    "Runge-Kutta": RungeKutta4(),
    "XPBD": XPBD(),
    "automatic": Automatic(),
}


def _driven(slower: int, viscosity: float, **options) -> Scene:
    """A bar pulled by its pins and, with dampers, by goals, in gravity that changes: all of it
    over so many times the frames, in as much less time a frame."""
    mesh = block((3, 1, 1), (0.6, 0.2, 0.2))
    pinned = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    drawn = np.flatnonzero(mesh.vertices[:, 0] == mesh.vertices[:, 0].max())
    sway = np.array([0.0, 0.05, -0.03, 0.02, 0.02])[:, None, None] * np.array([0.2, 0.0, 1.0])
    body = SoftBody(
        mesh,
        StableNeoHookean(2e4, 0.3),
        pinned=pinned,
        pin_path=_slowed(mesh.vertices[pinned] + sway, slower),
        goals=Goals(drawn, _slowed(mesh.vertices[drawn] - sway, slower), 1.0, 3.0, 0.5),
        viscosity=viscosity,
        damping=0.5,
        stiffness=_slowed(np.array([1.0, 2.0, 0.5]), slower),
    )
    gravity = _slowed(GRAVITY, slower)
    return Scene([body], gravity=gravity, time_scale=1.0 / slower, **options)


def _slowed(samples: np.ndarray, slower: int) -> Channel:
    return Channel(Channel(samples).resampled(slower).samples)


@pytest.mark.parametrize(
    ("name", "contact"), [*((name, None) for name in METHODS), ("implicit Euler", Contact())]
)
def test_half_as_fast_every_second_frame_is_one_of_real_time(name, contact) -> None:
    method, viscosity = METHODS[name], 0.0 if name == "XPBD" else 5.0
    steps = 4 if isinstance(method, ImplicitEuler | BDF2 | SDIRK2) else 20
    real, slow = (
        list(
            Simulator(
                _driven(slower, viscosity, contact=contact),
                method,
                frame_time=FRAME,
                substeps=steps // slower,
                device="cpu",
            ).run(slower * FRAMES)
        )
        for slower in (1, 2)
    )
    for first, second in zip(real, slow[1::2], strict=True):
        assert first.time == pytest.approx(second.time, rel=1e-14)
        torch.testing.assert_close(first.positions[0], second.positions[0], rtol=0, atol=1e-12)
        torch.testing.assert_close(first.velocities[0], second.velocities[0], rtol=0, atol=1e-9)
    assert float((real[-1].positions[0] - real[0].positions[0]).abs().max()) > 1e-2


@pytest.mark.parametrize("method", [RungeKutta4(), Adaptive(RungeKutta4(), 1e-8)])
def test_where_it_is_keyed_what_falls_has_fallen_for_its_integral(method) -> None:
    scene = Scene([SoftBody(block((1, 1, 1)))], time_scale=Channel(KEYED))
    simulator = Simulator(scene, method, frame_time=FRAME, device="cpu")
    elapsed = 0.0
    for frame in simulator.run(6):
        first, second = (KEYED[min(k, len(KEYED) - 1)] for k in (frame.index - 1, frame.index))
        elapsed += 0.5 * (first + second) * FRAME
        assert frame.time == pytest.approx(elapsed, rel=1e-14)
        fallen = frame.positions[0][:, 2].numpy() - scene.bodies[0].mesh.vertices[:, 2]
        np.testing.assert_allclose(fallen, -0.5 * 9.81 * elapsed**2, rtol=1e-9)


@pytest.mark.parametrize(
    ("method", "steps", "off"),
    [
        (RungeKutta4(), 60, 1e-7),
        (BDF2(1e-11), 20, 5e-3),
        (SDIRK2(1e-11), 20, 5e-3),
        (XPBD(), 60, 0.1),
    ],
)
def test_where_it_is_keyed_an_oscillation_is_where_it_is_at_that_time(method, steps, off) -> None:
    """Over frames of 1, 0.7 and 0.3 as much time, against one of all of it."""
    mesh = block((2, 1, 1), (0.4, 0.2, 0.2))
    pinned = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    body = SoftBody(mesh, StableNeoHookean(2e4, 0.3), pinned=pinned)
    keyed = Scene([body], time_scale=Channel(KEYED[:4]))
    seconds = System(keyed, torch.device("cpu"), torch.float64, FRAME).frame_times.until(3)
    assert seconds == pytest.approx((1.0 + 0.7 + 0.3) * FRAME)
    *_, found = Simulator(keyed, method, frame_time=FRAME, substeps=steps, device="cpu").run(3)
    straight = Simulator(
        Scene([body]), method, frame_time=seconds, substeps=3 * steps, device="cpu"
    )
    (expected,) = straight.run(1)
    moved = float((expected.positions[0] - torch.as_tensor(mesh.vertices)).abs().max())
    assert float((found.positions[0] - expected.positions[0]).abs().max()) < off * moved


def test_slow_frames_need_fewer_explicit_steps() -> None:
    body = SoftBody(block((2, 2, 2)), StableNeoHookean(1e5, 0.3))
    fast, slow = (
        Simulator(Scene([body], time_scale=scale), SymplecticEuler(), device="cpu").stepper.substeps
        for scale in (1.0, 0.25)
    )
    assert slow == pytest.approx(fast / 4, abs=1)


def test_a_job_keeps_it_and_goes_on_from_any_frame(tmp_path: Path) -> None:
    def make(folder: Path, frames: int) -> Job:
        scene = Scene([SoftBody(block((1, 1, 1)))], time_scale=Channel(KEYED))
        settings = Settings(frames, FRAME, device="cpu", integrator="bdf2", substeps=3)
        return Job.create(folder, scene, settings)

    check_same_bytes_in_parts(make, tmp_path)
    read = Job(tmp_path / "in parts").scene.time_scale
    assert isinstance(read, Channel)
    np.testing.assert_array_equal(read.samples, KEYED)


def test_real_time_changes_no_name_of_a_run() -> None:
    bodies, settings = [SoftBody(block((1, 1, 1)))], Settings(3)
    plain, real, slow, keyed = (
        digest(Scene(bodies, **options), settings)
        for options in ({}, {"time_scale": 1.0}, {"time_scale": 0.5}, {"time_scale": KEYED})
    )
    assert plain == real
    assert len({plain, slow, keyed}) == 3
