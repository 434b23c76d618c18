# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Ground, Scene, SoftBody
from supple.core.integrators import symplectic_euler
from supple.core.integrators.symplectic_euler import Substep
from supple.core.materials import NeoHookean, StableNeoHookean
from supple.core.system import System
from supple.tests.core.pretended_cuda import pretended_cuda

STEP = 1e-4
CUDA = torch.device("cuda")


@pytest.fixture(params=["barrier", "projection", "led pins"])
def scene(request: pytest.FixtureRequest, make_block) -> Scene:
    mesh = make_block(origin=(0.0, 0.0, 1e-3))
    if request.param == "led pins":
        top = np.flatnonzero(mesh.vertices[:, 2] > 1.0)
        path = mesh.vertices[top] + np.array([0.0, 0.1, 0.3])[:, None, None]
        body = SoftBody(mesh, StableNeoHookean(1e4, 0.3), pinned=top, pin_path=path, damping=2.0)
        return Scene([body])
    bodies = [
        SoftBody(mesh, StableNeoHookean(1e4, 0.3), velocity=(1.0, 0.0, -1.0)),
        SoftBody(make_block(origin=(3.0, 0.0, 0.1)), NeoHookean(1e5, 0.4), damping=2.0),
    ]
    response = "barrier" if request.param == "barrier" else "projection"
    return Scene(bodies, ground=Ground(response=response))


@pytest.fixture
def captures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(symplectic_euler, "CapturedSubstep", lambda substep: substep)


def _substeps(substep: Substep, system: System, count: int = 20) -> list[torch.Tensor]:
    substep.begin(system.initial_state())
    for number in range(count):
        substep.lead_pins(0, (number + 1) / count)
        substep.run()
    return [x.cpu().clone() for x in (substep.positions, substep.velocities, substep.work)]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_a_replayed_substep_does_what_the_plain_one_does(scene, request) -> None:
    system = System(scene, CUDA, torch.float64)
    captured = _substeps(Substep(system, STEP), system)
    request.getfixturevalue("captures_nothing")
    plain = _substeps(Substep(system, STEP), system)
    torch.testing.assert_close(captured, plain, rtol=1e-12, atol=1e-12)


def test_what_is_captured_never_waits_for_the_device(scene, captures_nothing) -> None:
    on_host = System(scene, torch.device("cpu"), torch.float64)
    expected = _substeps(Substep(on_host, STEP), on_host)
    with pretended_cuda() as device:
        system = System(scene, CUDA, torch.float64)
        substep = Substep(system, STEP)
        substep.run()
        before = device.waits
        substep.run()
        assert device.waits == before
        found = _substeps(substep, system)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def test_a_frame_begun_again_repeats_itself_to_the_last_bit(scene) -> None:
    system = System(scene, torch.device("cpu"), torch.float64)
    substep = Substep(system, STEP)
    for first, second in zip(_substeps(substep, system), _substeps(substep, system), strict=True):
        assert torch.equal(first, second)
