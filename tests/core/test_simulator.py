# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from supple.core import (
    Channel,
    Contact,
    Fluid,
    ForceField,
    Ground,
    InstabilityError,
    JobError,
    Scene,
    SceneError,
    Simulator,
    SoftBody,
    TetMesh,
    Wind,
    simulator,
)
from supple.core import simulator as simulator_module
from supple.core.assembly.tensor_channel import CachedAt
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    XPBD,
    ImplicitEuler,
    Integrator,
    SymplecticEuler,
    explicit_stepper,
)
from supple.core.job.scene_file import load_scene, save_scene
from supple.core.materials import MODELS, CorotatedLinear, Linear, NeoHookean, StableNeoHookean
from supple.core.simulator import CUDA_LEAST_TETS, fastest_device, find_device
from supple.core.system import System
from supple.tests.core.pretended_cuda import CUDA, pretended_cuda
from supple.verification.meshes import block

FRAME = 1.0 / 24.0
MakeBlock = Callable[..., TetMesh]


@pytest.fixture(
    params=[SymplecticEuler, ImplicitEuler, BDF2, SDIRK2], ids=lambda kind: kind.__name__
)
def integrator(request: pytest.FixtureRequest) -> Integrator:
    return request.param()


def test_a_settled_body_is_held_by_a_barrier_force_equal_to_its_weight(
    make_block, integrator
) -> None:
    body = SoftBody(
        make_block((2, 2, 2), origin=(0, 0, 0.01)), StableNeoHookean(1e5, 0.3), damping=16.0
    )
    simulator = Simulator(Scene([body], ground=Ground()), integrator)
    *_, last = simulator.run(75)
    assert last.report.energies.kinetic < 1e-5
    barrier = simulator.system.ground_barrier
    assert barrier is not None
    force = -barrier.gradient(simulator.state.positions).sum(1)
    np.testing.assert_allclose(force.numpy(), [0.0, 0.0, 1000.0 * 9.81], rtol=1e-4, atol=1e-6)


def test_a_body_put_down_by_projection_rests_on_the_plane(make_block) -> None:
    body = SoftBody(make_block(origin=(0, 0, 1.1)), StableNeoHookean(3e4, 0.3), damping=8.0)
    ground = Ground(height=1.0, response="projection")
    *_, last = Simulator(Scene([body], ground=ground), SymplecticEuler()).run(120)
    assert last.report.minimum_ground_distance == pytest.approx(0.0, abs=1e-9)
    assert last.report.energies.kinetic < 1e-4


def test_a_hanging_bar_stretches_as_the_closed_form_says(make_block, integrator) -> None:
    # ν = 0: u(L) = ρ g L² / 2E at small strain; linear tets are exact at the nodes of a bar.
    length, young = 1.0, 1e7
    mesh = make_block((1, 1, 8), (0.1, 0.1, length))
    top = np.flatnonzero(mesh.vertices[:, 2] == length)
    body = SoftBody(mesh, StableNeoHookean(young, 0.0), pinned=top, damping=100.0)
    *_, last = Simulator(Scene([body]), integrator).run(20)
    bottom = mesh.vertices[:, 2] == 0.0
    sag = -float(last.positions[0][bottom, 2].mean())
    assert sag == pytest.approx(1000.0 * 9.81 * length**2 / (2 * young), rel=2e-3)


def test_pinned_vertices_do_not_move(make_block, integrator) -> None:
    mesh = make_block()
    body = SoftBody(mesh, StableNeoHookean(1e4, 0.3), pinned=[0, 5], velocity=(1.0, 0, 0))
    for frame in Simulator(Scene([body]), integrator).run(10):
        np.testing.assert_array_equal(frame.positions[0][[0, 5]].numpy(), mesh.vertices[[0, 5]])


def test_led_pins_follow_their_path_and_keep_its_end(make_block, integrator) -> None:
    mesh = make_block((4, 1, 1), (1.0, 0.1, 0.1))
    left = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    steps = np.linspace(0.0, 0.2, 6)[:, None, None] * np.array([0.0, 1.0, 0.0])
    path = mesh.vertices[left] + steps
    body = SoftBody(mesh, StableNeoHookean(1e5, 0.3), pinned=left, pin_path=path, damping=1.0)
    for frame in Simulator(Scene([body]), integrator).run(8):
        expected = path[min(frame.index, 5)]
        np.testing.assert_allclose(frame.positions[0][left].numpy(), expected, atol=1e-12)


def _slide(
    make_block: MakeBlock,
    integrator: Integrator,
    friction: float,
    slope: float,
    frames: int,
    speed: float = 0.0,
    damping: float = 0.0,
    after: int = 0,
) -> float:
    """The distance that a stiff block slides after a frame, on a ground tilted by turning
    gravity."""
    angle = math.atan(slope)
    gravity = (9.81 * math.sin(angle), 0.0, -9.81 * math.cos(angle))
    body = SoftBody(
        make_block((2, 2, 1), (1.0, 1.0, 0.2), (0, 0, 0.0005)),
        StableNeoHookean(1e6, 0.3),
        velocity=(speed, 0.0, 0.0),
        damping=damping,
    )
    scene = Scene([body], ground=Ground(friction=friction), gravity=gravity)
    # Implicit steps are first and second order: enough of them for the closed forms.
    substeps = {SymplecticEuler: None, ImplicitEuler: 8}.get(type(integrator), 4)
    simulator = Simulator(scene, integrator, substeps=substeps)
    offsets = [float(f.positions[0][:, 0].mean()) - 0.5 for f in simulator.run(frames)]
    return offsets[-1] - (offsets[after - 1] if after else 0.0)


def test_a_block_on_a_slope_sticks_above_the_critical_friction(make_block, integrator) -> None:
    # Damped, and once it has leaned into the slope; a block that lacks friction still creeps then.
    # Smooth friction lets one that sticks creep, by less than a quarter millimetre in a second.
    creep = 1.25e-6 if isinstance(integrator, SymplecticEuler) else 6.2e-5
    assert abs(_slide(make_block, integrator, 0.51, 0.5, 16, damping=20.0, after=10)) < creep
    assert _slide(make_block, integrator, 0.49, 0.5, 16, damping=20.0, after=10) > 6.2e-4


def test_a_block_on_a_slope_slides_with_the_closed_form_acceleration(
    make_block, integrator
) -> None:
    angle = math.atan(0.5)
    acceleration = 9.81 * (math.sin(angle) - 0.3 * math.cos(angle))
    found = _slide(make_block, integrator, 0.3, 0.5, 12)
    assert found == pytest.approx(0.5 * acceleration * 0.5**2, rel=0.02)


def test_a_sliding_block_stops_after_the_closed_form_distance(make_block, integrator) -> None:
    found = _slide(make_block, integrator, 0.4, 0.0, 15, speed=2.0)
    assert found == pytest.approx(2.0**2 / (2 * 0.4 * 9.81), rel=0.03)


def test_single_precision_is_refused_on_a_cpu(make_block) -> None:
    with pytest.raises(SceneError, match=r"CPUs compute in torch.float64, not in torch.float32"):
        Simulator(Scene([SoftBody(make_block())]), device="cpu", dtype=torch.float32)


def test_two_runs_of_one_scene_agree_to_the_last_bit(make_block, integrator) -> None:
    def end() -> torch.Tensor:
        body = SoftBody(make_block(origin=(0, 0, 0.3)), StableNeoHookean(3e4, 0.4))
        *_, last = Simulator(Scene([body], ground=Ground()), integrator).run(24)
        return last.positions[0]

    assert torch.equal(end(), end())


def test_bodies_that_do_not_touch_move_as_if_alone(make_block, integrator) -> None:
    ground, substeps = Ground(distance=1e-3), 40
    if isinstance(integrator, ImplicitEuler | BDF2 | SDIRK2):
        # Bodies share a search, which ends within a tolerance, and friction lags on the way.
        integrator, ground = replace(integrator, tolerance=1e-9), replace(ground, friction=0.0)
        substeps = 4

    def body(x: float) -> SoftBody:
        return SoftBody(make_block(origin=(x, 0, 0.2)), StableNeoHookean(3e4, 0.4))

    def end(bodies: list[SoftBody]) -> torch.Tensor:
        *_, last = Simulator(Scene(bodies, ground=ground), integrator, substeps=substeps).run(8)
        return last.positions[0]

    together, alone = end([body(0.0), body(3.0)]), end([body(0.0)])
    # The second stage of SDIRK2 adds up what the search has left of the first.
    off = 1e-6 if isinstance(integrator, SDIRK2) else 1e-8
    torch.testing.assert_close(together, alone, rtol=0.0, atol=off)


def test_a_body_that_starts_in_the_ground_is_refused_with_its_depth(make_block) -> None:
    body = SoftBody(make_block(origin=(0, 0, -0.25)), name="Block")
    with pytest.raises(SceneError, match=r"Block starts 0\.25 m below the ground; raise it"):
        Simulator(Scene([body], ground=Ground()))


def test_a_body_put_exactly_on_the_ground_is_not_thrown_up(make_block, integrator) -> None:
    body = SoftBody(make_block(), StableNeoHookean(1e6, 0.3))
    simulator = Simulator(Scene([body], ground=Ground()), integrator)
    highest = max(float(f.positions[0][:, 2].max()) for f in simulator.run(24))
    assert highest < 1.005


def test_parameters_that_do_not_fit_the_tets_are_refused(make_block) -> None:
    with pytest.raises(SceneError, match=r"Jelly: the material's young has the shape \(7,\), but"):
        SoftBody(make_block(), StableNeoHookean(np.full(7, 1e5), 0.4), name="Jelly")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"substeps": 0}, "at least 1 substep a frame, not 0; None lets the integrator choose"),
        ({"substeps": -1}, "at least 1 substep a frame, not -1"),
        ({"substeps": 2.5}, r"substeps must be a whole number, not 2\.5"),
        ({"frame_time": 0.0}, "time of a frame must be above 0 s, not 0"),
        ({"frame_time": -0.1}, r"time of a frame must be above 0 s, not -0\.1"),
        ({"frame_time": math.nan}, "time of a frame must be above 0 s, not nan"),
        ({"frame_time": math.inf}, "time of a frame must be above 0 s, not inf"),
    ],
)
def test_no_time_and_no_steps_are_refused(make_block, integrator, values, message: str) -> None:
    with pytest.raises(SceneError, match=message):
        Simulator(Scene([SoftBody(make_block())]), integrator, **values)


@pytest.mark.parametrize("kind", [ImplicitEuler, BDF2, SDIRK2])
@pytest.mark.parametrize("tolerance", [-1.0, 0.0, math.nan])
def test_a_tolerance_that_no_step_can_reach_is_refused(make_block, kind, tolerance) -> None:
    with pytest.raises(SceneError, match=r"the tolerance in m/s must be above 0, not"):
        Simulator(Scene([SoftBody(make_block())]), kind(tolerance))


def test_too_few_substeps_are_refused_with_what_is_enough(make_block) -> None:
    scene = Scene([SoftBody(make_block(), StableNeoHookean(1e6, 0.3))])
    with pytest.raises(InstabilityError, match="None in a script") as refused:
        Simulator(scene, SymplecticEuler(), substeps=1)
    enough = re.search(r"at least (\d+)", str(refused.value))
    assert enough is not None
    Simulator(scene, SymplecticEuler(), substeps=int(enough[1]))


@pytest.mark.parametrize("model", MODELS.values())
@pytest.mark.parametrize("kind", [SymplecticEuler, ImplicitEuler])
def test_every_model_lands_and_comes_to_rest_on_its_weight(make_block, kind, model) -> None:
    mesh = make_block((2, 2, 2), (0.5, 0.5, 0.5), (0.0, 0.0, 0.05))
    body = SoftBody(mesh, model(2e5, 0.35), damping=8.0)
    simulator = Simulator(Scene([body], ground=Ground()), kind())
    *_, last = simulator.run(40)
    ground = simulator.system.ground_barrier
    pushed = float(ground.normal_force(simulator.state.positions).sum())
    assert pushed == pytest.approx(9.81 * 1000.0 * 0.5**3, rel=1e-2)
    assert last.report.energies.kinetic < 1e-3


# Converged far enough for another order of additions not to show.
EXACT = [
    SymplecticEuler(),
    ImplicitEuler(tolerance=1e-6),
    BDF2(tolerance=1e-6),
    SDIRK2(tolerance=1e-6),
]
EXACTLY = pytest.mark.parametrize("exact", EXACT, ids=lambda kind: type(kind).__name__)


def _landing(
    make_block: MakeBlock, integrator: Integrator, device: str, frames: int
) -> torch.Tensor:
    """The end positions of a body that lands on rough ground, and of one with prescribed pins."""
    led = make_block(origin=(3.0, 0.0, 1.0))
    left = np.flatnonzero(led.vertices[:, 0] == 3.0)
    path = led.vertices[left] + np.linspace(0.0, 0.2, 6)[:, None, None]
    bodies = [
        SoftBody(make_block(origin=(0, 0, 0.005)), StableNeoHookean(3e4, 0.4), velocity=(1, 0, 0)),
        SoftBody(led, NeoHookean(1e5, 0.3), pinned=left, pin_path=path, damping=1.0),
    ]
    scene = Scene(bodies, ground=Ground(friction=0.5))
    *_, last = Simulator(scene, integrator, device=device).run(frames)
    return torch.cat(last.positions).cpu()


@EXACTLY
def test_torch_passes_agree_with_the_compiled_loops(make_block, exact, request) -> None:
    compiled = _landing(make_block, exact, "cpu", 6)
    request.getfixturevalue("without_compiled_loops")
    passes = _landing(make_block, exact, "cpu", 6)
    torch.testing.assert_close(passes, compiled, rtol=0, atol=1e-8)


@EXACTLY
def test_nothing_on_a_cuda_device_meets_the_host(make_block, exact, monkeypatch) -> None:
    expected = _landing(make_block, exact, "cpu", 1)
    monkeypatch.setattr(simulator_module, "find_device", torch.device)
    monkeypatch.setattr(explicit_stepper, "CapturedStep", lambda step: step)
    with pretended_cuda():
        found = _landing(make_block, exact, "cuda", 1)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
@EXACTLY
def test_cuda_agrees_with_the_processor(make_block, exact) -> None:
    on_cuda, on_host = (_landing(make_block, exact, device, 24) for device in ("cuda", "cpu"))
    torch.testing.assert_close(on_cuda, on_host, rtol=0, atol=1e-6)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device here")
@pytest.mark.parametrize("integrator", [SymplecticEuler(), ImplicitEuler(), BDF2(), SDIRK2()])
def test_cuda_repeats_itself_to_the_last_bit(make_block, integrator) -> None:
    first, again = (_landing(make_block, integrator, "cuda", 12) for _ in range(2))
    assert torch.equal(first, again)


@pytest.mark.parametrize("kind", [ImplicitEuler, BDF2, SDIRK2])
@pytest.mark.parametrize("young", [1e7, 1e8])
def test_a_stiff_block_breaks_loose_at_the_usual_tolerance(make_block, kind, young) -> None:
    """The way on which friction gives in is shorter than what the tolerance would let pass."""
    body = SoftBody(make_block(size=(1.0, 1.0, 0.2), cells=(2, 2, 1)), StableNeoHookean(young, 0.3))
    tilt = math.atan(0.5)
    gravity = (9.81 * math.sin(tilt), 0.0, -9.81 * math.cos(tilt))
    simulator = Simulator(Scene([body], ground=Ground(friction=0.45), gravity=gravity), kind())
    *_, last = simulator.run(12)
    speed = 0.5 * 9.81 * (math.sin(tilt) - 0.45 * math.cos(tilt))
    assert float(last.velocities[0][:, 0].mean()) == pytest.approx(speed, rel=0.05)


@pytest.mark.parametrize(
    ("name", "value", "what"),
    [
        ("positions", np.zeros((3, 3)), "the scene"),
        ("velocities", None, "the scene"),
        ("substeps", np.array(0), "the scene"),
        ("room", np.array(["far"]), "the scene"),
        ("unfolding", np.zeros(2, dtype=int), "the bodies"),
        ("unfolding", np.zeros(3), "the bodies"),
        ("colliders", np.zeros((1, 3)), "the colliders"),
        ("clocks", np.zeros((2, 4)), "the colliders"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(make_block, name, value, what) -> None:
    bodies = [SoftBody(make_block(origin=(3.0 * k, 0.0, 0.05))) for k in range(3)]
    simulator = Simulator(Scene(bodies, ground=Ground()))
    saved = simulator.state.to_arrays() | {name: value}
    with pytest.raises(JobError, match=f"checkpoint does not fit {what}. Simulate again"):
        simulator.restore(0, {key: array for key, array in saved.items() if array is not None})


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


def test_a_value_is_computed_once_for_the_same_positions_and_anew_where_they_change() -> None:
    computed = []

    def total(positions: torch.Tensor) -> float:
        computed.append(positions)
        return float(positions.sum())

    cached, positions = CachedAt(total), torch.ones(3)
    assert cached(positions) == cached(positions.clone()) == 3.0
    assert len(computed) == 1
    positions[0] = 5.0
    assert cached(positions) == 7.0
    # Torch is not told of what is written through numpy.
    positions.numpy()[0] = 6.0
    assert cached(positions) == 8.0
    assert len(computed) == 3
    cached.forget()
    assert cached(positions) == 8.0
    assert len(computed) == 4


def test_on_the_host_it_is_computed_each_time_where_comparing_waits_or_a_tape_is_kept() -> None:
    computed = []

    def doubled(positions: torch.Tensor) -> torch.Tensor:
        computed.append(positions)
        return 2.0 * positions

    cached, positions = CachedAt(doubled), torch.ones(3)
    assert cached.on_host(positions) is cached.on_host(positions.clone())
    assert len(computed) == 1
    taped = positions.clone().requires_grad_()
    for count in (2, 3):
        cached.on_host(taped).sum().backward()
        assert len(computed) == count
    with pretended_cuda() as device:
        far, before = positions.to(CUDA), device.waits
        for count in (4, 5):
            cached.on_host(far)
            assert len(computed) == count
        assert device.waits == before


FAR = np.array([1e4, -1e4, 0.0])


def positions(origin: np.ndarray, integrator: ImplicitEuler | SymplecticEuler) -> np.ndarray:
    """The (F, N, 3) positions of a block that is thrown on the ground, relative to its start."""
    mesh = block((2, 2, 2), (1.0, 1.0, 1.0), (origin[0], origin[1], 0.02))
    body = SoftBody(mesh, StableNeoHookean(1e5, 0.3), velocity=(1.0, 0.3, -1.0))
    simulator = Simulator(Scene([body], ground=Ground()), integrator)
    return np.stack([frame.positions[0] - origin for frame in simulator.run(8)])


@pytest.mark.parametrize("integrator", [ImplicitEuler(), SymplecticEuler()])
def test_ten_kilometres_from_the_origin_a_run_is_the_same_to_a_tenth_of_a_nanometre(
    integrator,
) -> None:
    near, far = (positions(origin, integrator) for origin in (np.zeros(3), FAR))
    assert np.abs(near[-1] - near[0]).max() > 0.05
    np.testing.assert_allclose(far, near, rtol=0.0, atol=1e-10)


MESH = block((1, 1, 2), (0.2, 0.2, 0.4), (0.0, 0.0, -0.3))
HELD = np.flatnonzero(MESH.vertices[:, 2] > 0.0)
NOWHERE = (0.0, 0.0, 0.0)
NUMBERS = Channel(np.array([1.0, 3.0, 0.5, 2.0]))
VECTORS = Channel(np.array([[0.0, 0, -1], [1, 0, -9], [0, 3, -2], [0, 0, -5]]))
PATH = Channel(MESH.vertices[HELD] + 0.02 * VECTORS.samples[:, None])

Change = Callable[[Channel], Channel]


def _body(**keyed: object) -> SoftBody:
    return SoftBody(MESH, StableNeoHookean(2e3, 0.3), **keyed)


#: Scenes in which one thing changes, by what becomes of its channel.
SCENES: dict[str, Callable[[Change], Scene]] = {
    "gravity": lambda of: Scene([_body()], gravity=of(VECTORS)),
    "accelerations": lambda of: Scene(
        [_body(accelerations=of(VECTORS.mapped(lambda v: np.repeat(v[:, None], 12, axis=1))))]
    ),
    "pins": lambda of: Scene([_body(pinned=HELD, pin_path=of(PATH))]),
    "stiffness": lambda of: Scene([_body(pinned=HELD, stiffness=of(NUMBERS))]),
    "pressure": lambda of: Scene([_body(pressure=of(NUMBERS.mapped(lambda p: 100.0 * p)))]),
    "target volume": lambda of: Scene(
        [_body(target_volume=of(NUMBERS.mapped(lambda v: 1.0 + 0.1 * v)))]
    ),
    "drag": lambda of: Scene([_body(drag=of(NUMBERS), velocity=(1.0, 0.0, 0.0))]),
    "wind": lambda of: Scene([_body()], forces=[Wind(of(VECTORS))], gravity=NOWHERE),
    "drag of wind": lambda of: Scene([_body()], forces=[Wind((1.0, 0.0, 0.0), of(NUMBERS))]),
    "field": lambda of: Scene([_body()], forces=[ForceField("wind", of(NUMBERS))]),
    "place of a field": lambda of: Scene(
        [_body()], forces=[ForceField("force", 2.0, origin=of(VECTORS))]
    ),
    "buoyancy": lambda of: Scene([_body()], forces=[Fluid(0.0)], gravity=of(VECTORS)),
    "time": lambda of: Scene([_body()], time_scale=of(NUMBERS)),
}


@pytest.mark.parametrize("what", SCENES)
def test_the_same_motion_with_more_samples_is_the_same(what: str) -> None:
    expected, found, slower = (
        _moved(SCENES[what](of))
        for of in (
            lambda channel: channel,
            lambda channel: channel.resampled(3),
            lambda channel: Channel(channel.resampled(3).samples),
        )
    )
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-7)
    assert np.abs(slower - expected).max() > 1e-4


def _moved(scene: Scene) -> np.ndarray:
    *_, last = Simulator(scene, SymplecticEuler(), substeps=60).run(4)
    return last.positions[0].numpy()


def half_filled(mesh: TetMesh) -> TetMesh:
    return TetMesh(mesh.vertices, mesh.tets, np.full(len(mesh.tets), 0.5))


def final_positions(mesh: TetMesh, material, integrator) -> np.ndarray:
    pinned = np.flatnonzero(mesh.vertices[:, 0] == 0.0).astype(np.int32)
    body = SoftBody(mesh, material, pinned=pinned, viscosity=20.0, stiffness_damping=1e-3)
    if isinstance(integrator, XPBD):
        body = replace(body, viscosity=0.0, stiffness_damping=0.0)
    *_, last = Simulator(Scene([body]), integrator, device="cpu").run(4)
    return last.positions[0].numpy()


@pytest.mark.parametrize("material", [StableNeoHookean(1e4, 0.4), CorotatedLinear(1e4, 0.3)])
@pytest.mark.parametrize("integrator", [SymplecticEuler(), ImplicitEuler()])
def test_a_body_filled_by_half_moves_as_a_full_one(make_block, material, integrator) -> None:
    mesh = make_block((4, 2, 2), (1.0, 0.3, 0.3))
    full = final_positions(mesh, material, integrator)
    assert np.abs(full - mesh.vertices).max() > 0.01
    half = final_positions(half_filled(mesh), material, integrator)
    np.testing.assert_allclose(half, full, atol=1e-6)


def test_constraints_of_a_body_filled_by_half_are_as_soft(make_block) -> None:
    mesh, material = make_block((4, 2, 2), (1.0, 0.3, 0.3)), StableNeoHookean(1e4, 0.4)
    full = final_positions(mesh, material, XPBD())
    half = final_positions(half_filled(mesh), material, XPBD())
    np.testing.assert_allclose(half, full, atol=1e-9)


@pytest.mark.parametrize("model", [StableNeoHookean, CorotatedLinear, Linear])
def test_each_tet_is_as_stiff_as_it_is_filled(make_block, model) -> None:
    mesh = make_block((3, 2, 2))
    fill = np.random.default_rng(7).uniform(0.1, 1.0, len(mesh.tets))
    filled = TetMesh(mesh.vertices, mesh.tets, fill)
    moved = mesh.vertices + 0.05 * np.random.default_rng(8).normal(size=mesh.vertices.shape)
    positions = torch.as_tensor(np.ascontiguousarray(moved.T))
    gradients = []
    for own, young in ((filled, 1e4), (mesh, 1e4 * fill)):
        scene = Scene([SoftBody(own, model(young, 0.4))], gravity=(0.0, 0.0, 0.0))
        out = torch.zeros_like(positions)
        System(scene, torch.device("cpu"), torch.float64).add_gradient(positions, out)
        gradients.append(out.numpy())
    np.testing.assert_allclose(gradients[0], gradients[1], rtol=1e-9, atol=1e-9)


def test_a_file_keeps_what_of_each_tet_is_filled(make_block, tmp_path) -> None:
    mesh = half_filled(make_block())
    save_scene(tmp_path / "scene.json", Scene([SoftBody(mesh)]), {})
    scene, _ = load_scene(tmp_path / "scene.json")
    np.testing.assert_array_equal(scene.bodies[0].mesh.fill, mesh.fill)


def test_a_mesh_with_other_vertices_is_filled_as_much(make_block) -> None:
    mesh = half_filled(make_block((2, 1, 1)))
    twice = mesh.with_vertices(2.0 * mesh.vertices)
    np.testing.assert_allclose(twice.material_volumes, 8.0 * mesh.material_volumes)
    np.testing.assert_array_equal(twice.tets, mesh.tets)
