# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from supple.core import Ground, Scene, SceneError, Simulator, SoftBody, TetMesh
from supple.core import simulator as simulator_module
from supple.core.integrators import XPBD, explicit_stepper, xpbd
from supple.core.integrators.xpbd import (
    Constraints,
    GreenStrains,
    NeoHookeanConstraints,
    colour_tets,
)
from supple.core.kernels.xpbd_tets import BASIS, TRACES
from supple.core.materials import MODEL_TABLE, MODELS, Material, StableNeoHookean, StVenantKirchhoff
from supple.core.system import System
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
    pins."""
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
    monkeypatch.setattr(explicit_stepper, "CapturedStep", lambda step: step)
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


def _energy(model, mesh: TetMesh, young: float, poisson: float, x: torch.Tensor) -> torch.Tensor:
    """The energy of elasticity and weight in J, as the papers write it, without the code's
    functions."""
    rest = torch.as_tensor(mesh.vertices)
    tets = torch.as_tensor(mesh.tets, dtype=torch.int64)
    at_rest, now = (p[tets[:, 1:]] - p[tets[:, :1]] for p in (rest, x))
    f = torch.linalg.solve(at_rest, now).mT
    volumes = torch.linalg.det(at_rest) / 6.0
    mu = young / 2.0 / (1.0 + poisson)
    lam = young * poisson / (1.0 + poisson) / (1.0 - 2.0 * poisson)
    if model is StVenantKirchhoff:
        strain = 0.5 * (f.mT @ f - torch.eye(3, dtype=x.dtype))
        trace = strain.diagonal(dim1=1, dim2=2).sum(1)
        density = mu * strain.square().sum((1, 2)) + 0.5 * lam * trace.square()
    else:
        a, b, c = f.unbind(2)
        hydrostatic = (torch.linalg.cross(a, b) * c).sum(1) - 1.0 - mu / (lam + mu)
        density = 0.5 * mu * f.square().sum((1, 2)) + 0.5 * (lam + mu) * hydrostatic.square()
    height = x[tets][:, :, 2].mean(1)
    return (volumes * (density + 1000.0 * 9.81 * height)).sum()


def _least(model, mesh: TetMesh, young: float, poisson: float, held: np.ndarray) -> np.ndarray:
    """The minimum by Newton's method on the dense Hessian."""
    x = torch.as_tensor(mesh.vertices)
    free = torch.as_tensor(np.setdiff1d(np.arange(len(x)), held))

    def energy(moving: torch.Tensor) -> torch.Tensor:
        return _energy(model, mesh, young, poisson, x.index_put((free,), moving.view(-1, 3)))

    moving = x[free].reshape(-1)
    for _ in range(20):
        gradient = torch.autograd.functional.jacobian(energy, moving)
        if float(gradient.abs().max()) < 1e-8:
            return x.index_put((free,), moving.view(-1, 3)).numpy()
        hessian = torch.autograd.functional.hessian(energy, moving)
        moving = moving - torch.linalg.solve(hessian, gradient)
    raise AssertionError("Newton's method has not converged")


@BOTH
@pytest.mark.parametrize("poisson", [0.0, 0.4])
def test_short_steps_hang_where_the_energy_is_least(make_block, model, poisson: float) -> None:
    mesh = make_block((1, 1, 3), (0.3, 0.3, 0.9))
    held = np.flatnonzero(mesh.vertices[:, 2] > 0.89)
    expected = _least(model, mesh, 3e4, poisson, held)
    sag = float(np.abs(expected - mesh.vertices).max())
    assert sag > 0.1
    body = SoftBody(mesh, model(3e4, poisson), pinned=held, damping=8.0)

    def error(substeps: int) -> float:
        *_, last = Simulator(Scene([body]), XPBD(), substeps=substeps).run(96)
        assert last.report.energies.kinetic < 1e-12
        return float(np.abs(last.positions[0].numpy() - expected).max()) / sag

    coarse, fine = error(50), error(400)
    assert fine < 1e-4
    # Too soft by the square of the step.
    assert coarse / fine == pytest.approx(64.0, rel=0.1)


# Sag of the cantilever over that of ``settle``.
SAGS = [
    (StableNeoHookean, 2e5, 0.3, (1.085, 1.012, 1.007)),
    (StableNeoHookean, 2e6, 0.45, (2.681, 1.128, 1.008)),
    (StVenantKirchhoff, 2e5, 0.3, (1.033, 1.002, 1.000)),
    (StVenantKirchhoff, 2e6, 0.45, (2.209, 1.088, 1.005)),
]


@pytest.mark.parametrize(("model", "young", "poisson", "expected"), SAGS)
def test_a_cantilever_sags_more_than_it_should_at_long_steps(
    make_block, model, young: float, poisson: float, expected: tuple[float, ...]
) -> None:
    mesh = make_block((8, 2, 2), (0.8, 0.2, 0.2))
    clamped = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    tip = mesh.vertices[:, 0] == 0.8
    body = SoftBody(mesh, model(young, poisson), pinned=clamped, damping=10.0)

    def sag(positions: torch.Tensor) -> float:
        return float((mesh.vertices - positions.numpy())[tip, 2].mean())

    exact = sag(Simulator(Scene([body])).settle().positions[0])
    found = []
    for substeps in (20, 80, 320):
        *_, last = Simulator(Scene([body]), XPBD(), substeps=substeps).run(36)
        found.append(sag(last.positions[0]) / exact)
    assert found == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(("young", "ratio"), [(1e4, 0.72), (1e5, 0.11), (1e6, 0.0)])
def test_an_undamped_vibration_loses_energy_the_stiffer_the_sooner(
    make_block, young: float, ratio: float
) -> None:
    body = _stretched(make_block, StableNeoHookean, young)
    simulator = Simulator(Scene([body], gravity=WEIGHTLESS), XPBD(), substeps=20)
    before = simulator.system.energies(simulator.state).total
    *_, last = simulator.run(24)
    assert last.report.energies.total / before == pytest.approx(ratio, abs=0.005)


@BOTH
def test_the_turning_that_comes_from_nowhere_falls_with_the_step(make_block, model) -> None:
    # Each tet takes the others' moves of the same step for where it was.
    def turning(substeps: int) -> float:
        body = _stretched(make_block, model, amount=0.3)
        simulator = Simulator(Scene([body], gravity=WEIGHTLESS), XPBD(), substeps=substeps)
        *_, last = simulator.run(4)
        momentum = simulator.system.mass[:, None] * last.velocities[0]
        return float(torch.linalg.cross(last.positions[0], momentum).sum(0).norm())

    coarse, fine = turning(20), turning(320)
    assert fine < coarse / 8.0


CPU = torch.device("cpu")
KINDS = [(StableNeoHookean, NeoHookeanConstraints), (StVenantKirchhoff, GreenStrains)]
XPBD_CONSTRAINTS_BOTH = pytest.mark.parametrize(
    ("model", "kind"), KINDS, ids=lambda kind: kind.__name__
)
# A tet of no symmetry.
CORNERS = np.array([[0.1, 0.0, 0.2], [1.1, 0.1, 0.0], [0.2, 0.8, 0.1], [0.0, 0.3, 1.2]])
YOUNG, DENSITY = 1e4, 1000.0
LONG, SHORT = 1.0, 1e-6


def _one(model: type[Material], poisson: float = 0.3, pinned=None) -> System:
    mesh = TetMesh(CORNERS, [[0, 1, 2, 3]])
    body = SoftBody(mesh, model(YOUNG, poisson), density=DENSITY, pinned=pinned)
    return System(Scene([body]), CPU, torch.float64)


def _constraints(system: System, kind: type[Constraints], step: float) -> Constraints:
    made = kind(system.elasticities[0], system.inverse_mass)
    made.set_step(torch.full_like(system.mass, step * step))
    return made


def _relaxed(system: System, kind: type[Constraints], step: float, x: torch.Tensor) -> torch.Tensor:
    moved = x.clone()
    _constraints(system, kind, step).relax(moved)
    return moved


def _shaken(system: System, inverse_mass_metric: float = 0.2, seed: int = 3) -> torch.Tensor:
    rest = system.rest_positions()
    generator = torch.Generator().manual_seed(seed)
    return rest + inverse_mass_metric * torch.randn(
        rest.shape, generator=generator, dtype=torch.float64
    )


def _f(positions: torch.Tensor) -> torch.Tensor:
    rest = torch.as_tensor(CORNERS.T)
    return (positions[:, 1:] - positions[:, :1]) @ torch.linalg.inv(rest[:, 1:] - rest[:, :1])


def _volume() -> float:
    return float(abs(np.linalg.det(CORNERS[1:] - CORNERS[0]))) / 6.0


def _density(model: type[Material], f: torch.Tensor, poisson: float) -> torch.Tensor:
    """Ψ in J/m³, as the papers write it."""
    material = model(YOUNG, poisson)
    if model is StVenantKirchhoff:
        strain = 0.5 * (f.T @ f - torch.eye(3, dtype=f.dtype))
        return material.mu * (strain * strain).sum() + 0.5 * material.lam * strain.trace() ** 2
    bulk = material.lam + material.mu
    hydrostatic = torch.linalg.det(f) - 1.0 - material.mu / bulk
    return 0.5 * material.mu * (f * f).sum() + 0.5 * bulk * hydrostatic**2


def _gradient(function, x: torch.Tensor, h: float = 1e-6) -> torch.Tensor:
    """The gradient by central differences."""
    out = torch.zeros_like(x)
    for index in range(x.numel()):
        ends = []
        for sign in (1.0, -1.0):
            moved = x.clone()
            moved.view(-1)[index] += sign * h
            ends.append(float(function(moved)))
        out.view(-1)[index] = (ends[0] - ends[1]) / (2.0 * h)
    return out


@pytest.mark.parametrize("poisson", [-0.5, 0.0, 0.3, 0.49])
@pytest.mark.parametrize("model", [StableNeoHookean, StVenantKirchhoff])
def test_the_energy_of_the_constraints_has_the_moduli_of_the_material_at_rest(
    model, poisson: float
) -> None:
    material, rest = model(YOUNG, poisson), torch.eye(3, dtype=torch.float64)
    stress = _gradient(lambda f: _density(model, f, poisson), rest)
    assert float(stress.abs().max()) < 1e-5 * YOUNG
    directions = {
        "pull": torch.diag(torch.tensor([1.0, 0.0, 0.0], dtype=torch.float64)),
        "swell": torch.eye(3, dtype=torch.float64),
        "shear": torch.tensor([[0.0, 0.5, 0], [0.5, 0, 0], [0, 0, 0]], dtype=torch.float64),
        "turn": torch.tensor([[0.0, 1.0, 0], [-1.0, 0, 0], [0, 0, 0]], dtype=torch.float64),
    }
    for direction in directions.values():
        h = 1e-4
        at = [_density(model, rest + s * h * direction, poisson) for s in (-1.0, 0.0, 1.0)]
        curvature = float(at[0] - 2.0 * at[1] + at[2]) / h**2
        strain = 0.5 * (direction + direction.T)
        hooke = 2.0 * material.mu * float((strain**2).sum())
        hooke += material.lam * float(strain.trace()) ** 2
        assert curvature == pytest.approx(hooke, abs=1e-4 * YOUNG)


@XPBD_CONSTRAINTS_BOTH
@pytest.mark.parametrize("poisson", [-0.5, 0.0, 0.3, 0.49])
def test_in_a_short_step_a_tet_moves_by_the_forces_of_its_energy(model, kind, poisson) -> None:
    system = _one(model, poisson)
    x = _shaken(system)
    moved = (_relaxed(system, kind, SHORT, x) - x) / SHORT**2
    forces = -_volume() * _gradient(lambda p: _density(model, _f(p), poisson), x)
    expected = system.inverse_mass * forces
    torch.testing.assert_close(moved, expected, rtol=0, atol=1e-5 * float(expected.abs().max()))


@pytest.mark.parametrize("step", [1e-3, 0.01, LONG])
@pytest.mark.parametrize("pinned", [None, [1]])
def test_a_neo_hookean_tet_goes_to_the_least_of_its_model(step: float, pinned) -> None:
    system = _one(StableNeoHookean, pinned=pinned)
    x, material = _shaken(system), StableNeoHookean(YOUNG, 0.3)
    bulk, f = material.lam + material.mu, _f(x)
    cofactor = torch.linalg.det(f) * torch.linalg.inv(f).T
    shape = np.linalg.inv((CORNERS[1:] - CORNERS[0]).T)
    gradients = torch.as_tensor(np.vstack([-shape.sum(0), shape]))
    inverse_mass_metric = torch.einsum("a,ai,aj->ij", system.inverse_mass, gradients, gradients)
    largest = torch.linalg.eigvalsh(inverse_mass_metric)[-1]

    def model(change: torch.Tensor) -> torch.Tensor:
        by = change @ gradients
        hydrostatic = torch.linalg.det(f) - 1.0 - material.mu / bulk + (cofactor * by).sum()
        elastic = material.mu * (f * by).sum() + 0.5 * bulk * hydrostatic**2
        inertia = (system.free_mass * change.square()).sum()
        return (_volume() * elastic + material.mu * _volume() * largest * inertia) * step**2 + (
            0.5 * inertia
        )

    change = (_relaxed(system, NeoHookeanConstraints, step, x) - x).requires_grad_()
    (slope,) = torch.autograd.grad(model(change), change)
    size = float((system.free_mass * change.detach()).abs().max())
    assert float((slope * system.free).abs().max()) < 1e-10 * size


@pytest.mark.parametrize("step", [0.01, LONG])
@pytest.mark.parametrize("pinned", [None, [1]])
def test_a_st_venant_kirchhoff_tet_solves_one_strain_after_the_other(step: float, pinned) -> None:
    system = _one(StVenantKirchhoff, pinned=pinned)
    x = _shaken(system)
    material, expected = StVenantKirchhoff(YOUNG, 0.3), x.clone()
    for basis, trace in zip(torch.tensor(BASIS, dtype=torch.float64), TRACES, strict=True):

        def strain(at: torch.Tensor, basis: torch.Tensor = basis) -> torch.Tensor:
            green = 0.5 * (_f(at).T @ _f(at) - torch.eye(3, dtype=at.dtype))
            return (green * basis.view(3, 3)).sum()

        modulus = material.lam + 2.0 / 3.0 * material.mu if trace else material.mu
        gradient = _gradient(strain, expected)
        stiffness = (system.inverse_mass * gradient.square()).sum()
        compliance = 1.0 / (modulus * _volume() * step**2)
        multiplier = -strain(expected) / (stiffness + compliance)
        expected += system.inverse_mass * gradient * multiplier
    found = _relaxed(system, GreenStrains, step, x)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-7)


@XPBD_CONSTRAINTS_BOTH
@pytest.mark.parametrize("step", [0.01, LONG])
def test_a_tet_at_rest_stays_wherever_it_is_turned(model, kind, step: float) -> None:
    system = _one(model)
    turn, _ = torch.linalg.qr(_shaken(system)[:, :3])
    turn *= torch.linalg.det(turn)
    placed = turn @ system.rest_positions() + torch.tensor([[3.0], [-1.0], [2.0]])
    torch.testing.assert_close(_relaxed(system, kind, step, placed), placed, rtol=0, atol=1e-12)


def test_solved_one_after_the_other_as_published_a_tet_at_rest_turns_inside_out() -> None:
    system, material = _one(StableNeoHookean), StableNeoHookean(YOUNG, 0.3)
    bulk, x = material.lam + material.mu, system.rest_positions()
    parts = [
        (lambda at: _f(at).norm(), material.mu),
        (lambda at: torch.linalg.det(_f(at)) - 1.0 - material.mu / bulk, bulk),
    ]
    for constraint, modulus in parts:
        gradient = _gradient(constraint, x)
        stiffness = (system.inverse_mass * gradient.square()).sum()
        multiplier = -constraint(x) / (stiffness + 1.0 / (modulus * _volume() * LONG**2))
        x = x + system.inverse_mass * gradient * multiplier
    assert float(torch.linalg.det(_f(x))) < 0.0


@pytest.mark.parametrize("step", [0.01, LONG])
def test_a_neo_hookean_tet_does_not_turn_itself(step: float) -> None:
    system = _one(StableNeoHookean)
    x = _shaken(system)
    push = system.mass * (_relaxed(system, NeoHookeanConstraints, step, x) - x)
    turned = torch.linalg.cross(x, push, dim=0).sum(1)
    assert float(turned.abs().max()) < 1e-13 * float(push.abs().max())


def test_a_strain_turns_a_st_venant_kirchhoff_tet_by_nothing() -> None:
    f = _f(_shaken(_one(StVenantKirchhoff)))
    for basis in torch.tensor(BASIS, dtype=torch.float64).view(6, 3, 3):
        turning = f @ basis @ f.T
        torch.testing.assert_close(turning, turning.T)


@XPBD_CONSTRAINTS_BOTH
def test_a_pass_leaves_the_sum_of_mass_times_way_at_zero(make_block, model, kind) -> None:
    body = SoftBody(make_block((3, 2, 2)), model(YOUNG, 0.3))
    system = System(Scene([body]), CPU, torch.float64)
    x = _shaken(system, 0.05)
    push = system.mass * (_relaxed(system, kind, 0.01, x) - x)
    assert float(push.sum(1).abs().max()) < 1e-12 * float(push.abs().max())


@XPBD_CONSTRAINTS_BOTH
def test_pinned_vertices_stay_to_the_last_bit(make_block, model, kind) -> None:
    pinned = [0, 4, 7]
    body = SoftBody(make_block(), model(YOUNG, 0.3), pinned=pinned)
    system = System(Scene([body]), CPU, torch.float64)
    x = _shaken(system, 0.05)
    moved = _relaxed(system, kind, LONG, x)
    assert torch.equal(moved[:, pinned], x[:, pinned])
    assert not torch.equal(moved, x)


def _several(make_block, model: type[Material], device: torch.device) -> System:
    bodies = [
        SoftBody(make_block((4, 3, 2)), model(YOUNG, 0.3), pinned=[0, 5, 6]),
        SoftBody(make_block((2, 2, 2)), model(3e5, 0.45), density=300.0),
    ]
    return System(Scene(bodies), device, torch.float64)


@XPBD_CONSTRAINTS_BOTH
@pytest.mark.parametrize("step", [1e-3, 0.05])
def test_the_passes_agree_with_the_compiled_loops(make_block, model, kind, step, request) -> None:
    system = _several(make_block, model, CPU)
    x = _shaken(system, 0.05)
    compiled = _relaxed(system, kind, step, x)
    request.getfixturevalue("without_compiled_loops")
    passes = _relaxed(system, kind, step, x)
    torch.testing.assert_close(passes, compiled, rtol=0, atol=1e-12)


@XPBD_CONSTRAINTS_BOTH
def test_a_pass_on_cuda_never_waits_and_agrees(make_block, model, kind) -> None:
    on_host = _several(make_block, model, CPU)
    x = _shaken(on_host, 0.05)
    expected = _relaxed(on_host, kind, 0.01, x)
    with pretended_cuda() as device:
        own = _constraints(_several(make_block, model, torch.device("cuda")), kind, 0.01)
        moved = x.to("cuda")
        before = device.waits
        own.relax(moved)
        assert device.waits == before
        found = moved.cpu()
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-12)


@XPBD_CONSTRAINTS_BOTH
def test_the_bits_do_not_depend_on_the_number_of_threads(
    make_block, model, kind, monkeypatch
) -> None:
    body = SoftBody(make_block((6, 6, 6)), model(YOUNG, 0.3))
    system = System(Scene([body]), CPU, torch.float64)
    x = _shaken(system, 0.03)
    found = []
    for tets_per_thread in (1, 10**9):
        monkeypatch.setattr(xpbd, "TETS_PER_THREAD", tets_per_thread)
        found.append(_relaxed(system, kind, 0.01, x))
    assert torch.equal(*found)


def _shares_vertex(corners: np.ndarray) -> np.ndarray:
    """(M, M) whether two tets have a vertex in common."""
    return (corners.T[:, None, :, None] == corners.T[None, :, None, :]).any((2, 3))


def test_tets_of_one_colour_share_no_vertex_and_every_tet_has_a_colour(make_block) -> None:
    mesh = make_block((5, 4, 3))
    corners = mesh.tets.T
    colours = colour_tets(corners, len(mesh.vertices))
    assert colours.min() == 0
    for colour in range(colours.max() + 1):
        own = corners[:, colours == colour]
        assert own.size > 0
        assert len(np.unique(own)) == own.size


def test_a_tet_gets_at_most_one_colour_more_than_it_has_neighbours(make_block) -> None:
    mesh = make_block((3, 3, 3))
    colours = colour_tets(mesh.tets.T, len(mesh.vertices))
    neighbours = _shares_vertex(mesh.tets.T).sum(1) - 1
    assert (colours <= neighbours).all()


def test_the_colours_are_near_the_fewest_that_there_can_be(make_block) -> None:
    mesh = make_block((6, 6, 6))
    colours = colour_tets(mesh.tets.T, len(mesh.vertices))
    # All tets at one vertex differ.
    fewest = np.bincount(mesh.tets.ravel()).max()
    assert fewest <= colours.max() + 1 <= 1.5 * fewest


def test_tets_apart_have_one_colour() -> None:
    corners = np.arange(40).reshape(10, 4).T
    assert (colour_tets(corners, 40) == 0).all()


def test_the_same_tets_get_the_same_colours(make_block) -> None:
    mesh = make_block((4, 4, 4))
    first, second = (colour_tets(mesh.tets.T, len(mesh.vertices)) for _ in range(2))
    np.testing.assert_array_equal(first, second)
