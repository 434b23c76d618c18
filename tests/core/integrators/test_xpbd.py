# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from supple.core import Ground, Scene, SceneError, Simulator, SoftBody, TetMesh
from supple.core import simulator as simulator_module
from supple.core.integrators import XPBD, explicit_step
from supple.core.materials import MODEL_TABLE, MODELS, StableNeoHookean, StVenantKirchhoff
from supple.tests.core.pretended_cuda import pretended_cuda

FRAME = 1.0 / 24.0
WEIGHTLESS = (0.0, 0.0, 0.0)
BOTH = pytest.mark.parametrize("model", [StableNeoHookean, StVenantKirchhoff])


def _stretched(make_block, model, young: float = 1e4, amount: float = 0.05, **options) -> SoftBody:
    mesh = make_block()
    start = mesh.vertices * [1.0 + amount, 1.0, 1.0]
    return SoftBody(mesh, model(young, 0.3), initial_positions=start, **options)


@BOTH
@pytest.mark.parametrize("substeps", [1, 7])
def test_free_fall_follows_the_closed_form_of_the_scheme(make_block, model, substeps: int) -> None:
    body = SoftBody(make_block(), model(1e5, 0.3), velocity=(1.0, 0.0, 2.0))
    *_, last = Simulator(Scene([body]), XPBD(), substeps=substeps).run(24)
    steps, h = 24 * substeps, FRAME / substeps
    drop = 9.81 * h * h * steps * (steps + 1) / 2
    expected = body.mesh.vertices + np.array([last.time, 0.0, 2.0 * last.time - drop])
    np.testing.assert_allclose(last.positions[0].numpy(), expected, atol=1e-9)


@BOTH
def test_momentum_of_a_free_body_is_kept(make_block, model) -> None:
    body = _stretched(make_block, model, velocity=(1.0, 2.0, 3.0))
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), XPBD())
    *_, last = simulator.run(24)
    momentum = simulator.system.mass @ last.velocities[0]
    np.testing.assert_allclose(momentum.numpy(), [1000.0, 2000.0, 3000.0], rtol=1e-10)


@BOTH
@pytest.mark.parametrize("substeps", [1, 10])
def test_damping_is_a_rate_whatever_the_step(make_block, model, substeps: int) -> None:
    bodies = [
        SoftBody(make_block(), model(1e4, 0.3), damping=rate, velocity=(1.0, 0.0, 0.0))
        for rate in (0.0, 0.7)
    ]
    *_, last = Simulator(Scene(bodies, gravity=WEIGHTLESS), XPBD(), substeps=substeps).run(24)
    speeds = [float(velocities[0, 0]) for velocities in last.velocities]
    assert speeds == pytest.approx([1.0, math.exp(-0.7)], rel=1e-9)


@BOTH
def test_a_body_of_any_stiffness_rests_calmly_at_one_step_a_frame(make_block, model) -> None:
    mesh = make_block()
    top = np.flatnonzero(mesh.vertices[:, 2] == 1.0)
    body = SoftBody(mesh, model(1e11, 0.45), pinned=top, damping=2.0)
    *_, last = Simulator(Scene([body]), XPBD(), substeps=1).run(240)
    assert last.report.substeps == 1
    assert float(last.velocities[0].abs().max()) < 1e-3
    assert last.report.minimum_volume_ratio > 0.2


@BOTH
def test_the_shear_of_a_stiff_regular_tet_dies_out_at_long_steps(model) -> None:
    # All of its stiffness is in one direction: none of what a step overshoots is held back.
    corners = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    sheared = corners + 1e-3 * corners[:, [1, 0, 2]] * [1.0, 1.0, 0.0]
    body = SoftBody(TetMesh(corners, [[0, 1, 2, 3]]), model(1e9, 0.3), initial_positions=sheared)
    *_, last = Simulator(Scene([body], gravity=WEIGHTLESS), XPBD(), substeps=1).run(48)
    _assert_congruent(last.positions[0], corners, 1e-9)


def test_twenty_steps_a_frame_are_taken_when_nobody_says(make_block) -> None:
    body = SoftBody(make_block(), StableNeoHookean(1e9, 0.45))
    (frame,) = Simulator(Scene([body]), XPBD()).run(1)
    assert frame.report.substeps == 20
    assert frame.report.integrator == "XPBD"


def _assert_congruent(found: torch.Tensor, expected: np.ndarray, within: float = 2e-3) -> None:
    distances = torch.pdist(torch.as_tensor(expected))
    torch.testing.assert_close(torch.pdist(found), distances, rtol=0.0, atol=within)


@pytest.mark.parametrize("start", ["mirrored", "random"])
def test_an_inverted_body_comes_back_to_its_shape(make_block, start: str) -> None:
    mesh = make_block((4, 4, 4))
    positions = np.random.default_rng(0).random(mesh.vertices.shape)
    if start == "mirrored":
        positions = mesh.vertices * [1.0, 1.0, -1.0] + 1e-3 * positions
    body = SoftBody(mesh, StableNeoHookean(1e5, 0.3), initial_positions=positions, damping=4.0)
    *_, last = Simulator(Scene([body], gravity=WEIGHTLESS), XPBD()).run(96)
    _assert_congruent(last.positions[0], mesh.vertices)
    assert last.report.minimum_volume_ratio > 0.99


@pytest.mark.parametrize(("size", "end"), [(0.27, 0.0), (0.33, 1.0)])
def test_a_tet_shrunk_below_a_root_goes_to_a_point_as_its_energy_wants(size, end) -> None:
    # Ψ of F = s I falls towards s = 0 below the root of s³ + s² + s = 1 − 2ν: 0.30 at ν = 0.3.
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    body = SoftBody(
        TetMesh(corners, [[0, 1, 2, 3]]),
        StableNeoHookean(1e5, 0.3),
        initial_positions=size * corners,
        damping=100.0,
    )
    *_, last = Simulator(Scene([body], gravity=WEIGHTLESS), XPBD(), substeps=100).run(48)
    assert last.report.minimum_volume_ratio == pytest.approx(end, abs=1e-2)


@BOTH
def test_pinned_vertices_do_not_move(make_block, model) -> None:
    mesh = make_block()
    body = SoftBody(mesh, model(1e4, 0.3), pinned=[0, 5], velocity=(1.0, 0, 0))
    for frame in Simulator(Scene([body]), XPBD()).run(10):
        np.testing.assert_array_equal(frame.positions[0][[0, 5]].numpy(), mesh.vertices[[0, 5]])


@BOTH
def test_led_pins_are_where_they_are_led_at_each_frame(make_block, model) -> None:
    mesh = make_block()
    top = np.flatnonzero(mesh.vertices[:, 2] > 0.99)
    path = mesh.vertices[top] + np.linspace(0, 0.2, 5)[:, None, None] * [1.0, 0.0, 0.0]
    body = SoftBody(mesh, model(1e3, 0.3), pinned=top, pin_path=path, damping=1.0)
    for frame in Simulator(Scene([body], gravity=WEIGHTLESS), XPBD()).run(4):
        np.testing.assert_allclose(frame.positions[0][top].numpy(), path[frame.index], atol=1e-12)
        speed = 0.05 / FRAME
        np.testing.assert_allclose(frame.velocities[0][top, 0].numpy(), speed, rtol=1e-6)


@BOTH
def test_the_work_of_slowly_led_pins_is_the_energy_that_it_stores(make_block, model) -> None:
    mesh = make_block((2, 1, 1))
    ends = np.flatnonzero((mesh.vertices[:, 0] < 0.01) | (mesh.vertices[:, 0] > 0.99))
    pull = (mesh.vertices[ends, :1] > 0.5) * np.array([0.02, 0.0, 0.0])
    path = mesh.vertices[ends] + np.linspace(0, 1, 25)[:, None, None] * pull
    body = SoftBody(mesh, model(1e5, 0.3), pinned=ends, pin_path=path, damping=1.0)
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), XPBD())
    own = XPBD().make_step(simulator.system, FRAME / 100)
    own.begin(simulator.state.positions, simulator.state.velocities)
    for number in range(2400):
        own.prescribe(number // 100, number % 100 / 100, (number % 100 + 1) / 100)
        own.advance()
    elastic = sum(float(part.energy(own.positions)) for part in simulator.system.elasticities)
    assert float(own.work) == pytest.approx(elastic, rel=0.02)


@BOTH
def test_a_dropped_body_comes_to_rest_on_a_barrier_that_carries_its_weight(
    make_block, model
) -> None:
    mesh = make_block(origin=(0.0, 0.0, 0.05))
    body = SoftBody(mesh, model(3e4, 0.3), damping=4.0, density=100.0)
    simulator = Simulator(Scene([body], ground=Ground()), XPBD())
    *_, last = simulator.run(144)
    carried = float(simulator.system.ground_barrier.normal_force(last.positions[0].T).sum())
    assert carried == pytest.approx(100.0 * 9.81, rel=1e-6)
    assert last.report.minimum_ground_distance > 0.0


@BOTH
def test_a_dropped_body_comes_to_rest_on_a_bouncy_ground(make_block, model) -> None:
    mesh = make_block(origin=(0.0, 0.0, 0.05))
    body = SoftBody(mesh, model(3e4, 0.3), damping=4.0, density=100.0)
    simulator = Simulator(Scene([body], ground=Ground(response="projection")), XPBD())
    *_, last = simulator.run(240)
    assert last.report.minimum_ground_distance == pytest.approx(0.0, abs=1e-12)
    # Nothing moves: what gravity gives in a step the ground takes.
    assert last.report.energies.kinetic < 1e-12


def _landing(make_block, device: str, frames: int, substeps: int | None = None) -> torch.Tensor:
    """The end positions of bodies of both models: one lands on rough ground, one has prescribed
    pins.
    """
    led = make_block(origin=(3.0, 0.0, 1.0))
    left = np.flatnonzero(led.vertices[:, 0] == 3.0)
    path = led.vertices[left] + np.linspace(0.0, 0.2, 6)[:, None, None]
    bodies = [
        SoftBody(make_block(origin=(0, 0, 0.005)), StableNeoHookean(3e4, 0.4), velocity=(1, 0, 0)),
        SoftBody(led, StVenantKirchhoff(1e5, 0.3), pinned=left, pin_path=path, damping=1.0),
    ]
    scene = Scene(bodies, ground=Ground(friction=0.5))
    *_, last = Simulator(scene, XPBD(), device=device, substeps=substeps).run(frames)
    return torch.cat(last.positions).cpu()


def test_two_runs_of_one_scene_agree_to_the_last_bit(make_block) -> None:
    assert torch.equal(_landing(make_block, "cpu", 12), _landing(make_block, "cpu", 12))


def test_torch_passes_agree_with_the_compiled_loops(make_block, request) -> None:
    compiled = _landing(make_block, "cpu", 4)
    request.getfixturevalue("without_compiled_loops")
    passes = _landing(make_block, "cpu", 4)
    torch.testing.assert_close(passes, compiled, rtol=0, atol=1e-8)


def test_nothing_on_a_cuda_device_meets_the_host(make_block, monkeypatch) -> None:
    expected = _landing(make_block, "cpu", 1, substeps=2)
    monkeypatch.setattr(simulator_module, "find_device", torch.device)
    monkeypatch.setattr(explicit_step, "CapturedStep", lambda step: step)
    with pretended_cuda():
        found = _landing(make_block, "cuda", 1, substeps=2)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-8)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
def test_cuda_agrees_with_the_processor(make_block) -> None:
    on_cuda, on_host = (_landing(make_block, device, 24) for device in ("cuda", "cpu"))
    torch.testing.assert_close(on_cuda, on_host, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    "model", [m for m in MODELS.values() if m not in (StableNeoHookean, StVenantKirchhoff)]
)
def test_a_model_that_has_no_constraints_is_refused_with_those_that_do(make_block, model) -> None:
    label = next(row.label for row in MODEL_TABLE.values() if row.kind is model)
    body = SoftBody(make_block(), model(1e4, 0.3), name="Jelly")
    with pytest.raises(SceneError, match=f"Jelly: XPBD has no .* {label}\\.") as error:
        Simulator(Scene([body]), XPBD())
    assert "Stable Neo-Hookean or St. Venant–Kirchhoff" in str(error.value)


def test_a_guard_against_compression_is_refused(make_block) -> None:
    body = SoftBody(
        make_block(), StVenantKirchhoff(1e4, 0.3, compression_resistance=1e7), name="Jelly"
    )
    with pytest.raises(SceneError, match=r"Jelly: .* compression resistance. Set it to 0"):
        Simulator(Scene([body]), XPBD())


@pytest.mark.parametrize(
    "damping", [{"stiffness_damping": 0.1}, {"viscosity": 10.0}, {"loss_factor": 0.2}]
)
def test_a_viscous_body_is_refused(make_block, damping: dict[str, float]) -> None:
    bodies = [SoftBody(make_block()), SoftBody(make_block(), name="Honey", **damping)]
    knows = "Honey: XPBD supports no loss factor, no stiffness damping and no viscosity"
    with pytest.raises(SceneError, match=knows):
        Simulator(Scene(bodies), XPBD())


def test_a_body_with_moduli_of_its_own_in_every_tet_falls_as_one(make_block) -> None:
    mesh = make_block()
    young = np.linspace(1e3, 1e6, len(mesh.tets))
    body = SoftBody(mesh, StableNeoHookean(young, np.linspace(0.0, 0.45, len(mesh.tets))))
    *_, last = Simulator(Scene([body], gravity=WEIGHTLESS), XPBD()).run(3)
    np.testing.assert_allclose(last.positions[0].numpy(), mesh.vertices, atol=1e-12)
