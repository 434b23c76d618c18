# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import pytest
import torch

from supple.core import Contact, Scene, SceneError, Simulator, SoftBody, simulator
from supple.core.integrators import SymplecticEuler
from supple.core.simulator import CUDA_LEAST_TETS, fastest_device, find_device
from supple.verification.meshes import block

#: Six tets a cell, one cell more and fewer than pays on CUDA.
LARGE, SMALL = ((1, 1, CUDA_LEAST_TETS // 6 + more) for more in (1, 0))


@pytest.fixture
def with_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)


@pytest.fixture
def without_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)


def test_large_bodies_that_touch_nothing_are_for_cuda(with_cuda) -> None:
    assert fastest_device(Scene([SoftBody(block(LARGE))])) == "cuda"
    assert fastest_device(Scene([SoftBody(block(SMALL))])) == "cpu"
    halves = [SoftBody(block((1, 1, LARGE[2] // 2 + 1), origin=(x, 0, 0))) for x in (0.0, 2.0)]
    assert fastest_device(Scene(halves)) == "cuda"


def test_what_touches_is_for_the_cpu(with_cuda) -> None:
    assert fastest_device(Scene([SoftBody(block(LARGE))], contact=Contact())) == "cpu"


def test_without_cuda_all_is_for_the_cpu(without_cuda) -> None:
    assert fastest_device(Scene([SoftBody(block(LARGE))])) == "cpu"


def test_auto_is_the_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []

    def note(name: str) -> torch.device:
        taken.append(name)
        return torch.device("cpu")

    monkeypatch.setattr(simulator, "find_device", note)
    monkeypatch.setattr(simulator, "fastest_device", lambda scene: "the fastest")
    for device in ("auto", "cpu"):
        Simulator(Scene([SoftBody(block())]), device=device)
    assert taken == ["the fastest", "cpu"]


def test_explicit_steps_let_surfaces_meet_wherever_auto_leads(with_cuda) -> None:
    scene = Scene([SoftBody(block())], contact=Contact())
    assert Simulator(scene, SymplecticEuler()).system.device.type == "cpu"


def test_asking_for_cuda_where_there_is_none_says_so(without_cuda) -> None:
    with pytest.raises(SceneError, match=r"no CUDA device .* choose CPU or Automatic"):
        find_device("cuda")


def test_other_devices_are_refused() -> None:
    with pytest.raises(SceneError, match="auto, cpu or cuda, not 'tpu'"):
        find_device("tpu")
    assert find_device("cpu") == torch.device("cpu")
