# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Ground, Scene, SoftBody
from supple.core.integrators import (
    XPBD,
    FixedStepIntegrator,
    Midpoint,
    RungeKutta4,
    SymplecticEuler,
    explicit_stepper,
)
from supple.core.integrators.explicit_stepper import ExplicitStep
from supple.core.materials import NeoHookean, StableNeoHookean, StVenantKirchhoff
from supple.core.system import System
from supple.tests.core.pretended_cuda import pretended_cuda

STEP = 1e-4
CUDA = torch.device("cuda")


@pytest.fixture(params=["barrier", "projection", "moving pins", "keyed gravity"])
def scene(request: pytest.FixtureRequest, make_block, scheme) -> Scene:
    mesh = make_block(origin=(0.0, 0.0, 1e-3))
    if request.param == "moving pins":
        top = np.flatnonzero(mesh.vertices[:, 2] > 1.0)
        path = mesh.vertices[top] + np.array([0.0, 0.1, 0.3])[:, None, None]
        body = SoftBody(mesh, StableNeoHookean(1e4, 0.3), pinned=top, pin_path=path, damping=2.0)
        return Scene([body])
    if request.param == "keyed gravity":
        return Scene(
            [SoftBody(mesh, StableNeoHookean(1e4, 0.3), damping=2.0)],
            gravity=[[0.0, 0.0, -9.0], [500.0, 0.0, 900.0]],
        )
    other = StVenantKirchhoff if isinstance(scheme, XPBD) else NeoHookean
    bodies = [
        SoftBody(mesh, StableNeoHookean(1e4, 0.3), velocity=(1.0, 0.0, -1.0)),
        SoftBody(make_block(origin=(3.0, 0.0, 0.1)), other(1e5, 0.4), damping=2.0),
    ]
    response = "barrier" if request.param == "barrier" else "projection"
    return Scene(bodies, ground=Ground(response=response))


@pytest.fixture
def captures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explicit_stepper, "CapturedStep", lambda step: step)


@pytest.fixture(
    params=[SymplecticEuler(), Midpoint(), RungeKutta4(), XPBD()], ids=lambda s: s.label
)
def scheme(request: pytest.FixtureRequest) -> FixedStepIntegrator:
    return request.param


def _results(own: ExplicitStep, system: System, count: int = 20) -> list[torch.Tensor]:
    advance_step = own.recorded()
    start = system.initial_state()
    own.begin(start.positions, start.velocities)
    for number in range(count):
        own.prescribe(0, number / count, (number + 1) / count)
        advance_step()
    return [x.cpu().clone() for x in (own.positions, own.velocities, own.work, own.raised)]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_a_replayed_substep_does_what_the_plain_one_does(scene, scheme, request) -> None:
    system = System(scene, CUDA, torch.float64)
    captured = _results(scheme.make_step(system, STEP), system)
    request.getfixturevalue("captures_nothing")
    plain = _results(scheme.make_step(system, STEP), system)
    torch.testing.assert_close(captured, plain, rtol=1e-12, atol=1e-12)


def test_what_is_captured_never_waits_for_the_device(scene, scheme, captures_nothing) -> None:
    on_host = System(scene, torch.device("cpu"), torch.float64)
    expected = _results(scheme.make_step(on_host, STEP), on_host, count=3)
    with pretended_cuda() as device:
        system = System(scene, CUDA, torch.float64)
        own = scheme.make_step(system, STEP)
        own.advance()
        before = device.waits
        own.advance()
        assert device.waits == before
        found = _results(own, system, count=3)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def test_a_frame_begun_again_repeats_itself_to_the_last_bit(scene, scheme) -> None:
    system = System(scene, torch.device("cpu"), torch.float64)
    own = scheme.make_step(system, STEP)
    for first, second in zip(_results(own, system), _results(own, system), strict=True):
        assert torch.equal(first, second)
