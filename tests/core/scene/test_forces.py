# SPDX-License-Identifier: GPL-3.0-or-later
"""The forces of a scene: scripts' own, drag, fluids, gas and target volumes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import supple.core.simulator as simulator_module
from supple.core import (
    Channel,
    Fluid,
    Frame,
    Ground,
    InstabilityError,
    Paint,
    Scene,
    SceneError,
    Simulator,
    SoftBody,
    SurfaceMesh,
)
from supple.core.assembly.block_matrix import BlockMatrix
from supple.core.assembly.tensor_channel import TensorChannel
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    XPBD,
    Adaptive,
    Automatic,
    ImplicitEuler,
    Integrator,
    Midpoint,
    RungeKutta4,
    SymplecticEuler,
    explicit_stepper,
    stability,
)
from supple.core.integrators.stability import spectrum
from supple.core.job.scene_file import decode, encode, load_scene, save_scene
from supple.core.materials import StableNeoHookean
from supple.core.potentials import Potential, PrescribedPotential, Pressure, TargetVolume, TimeStep
from supple.core.preparation.transfers import with_painted_settings
from supple.core.system import System
from supple.tests.core.pretended_cuda import pretended_cuda
from supple.tests.core.tether import Tether, TetherEnergy
from supple.verification.meshes import block, hollow_ball

NOWHERE = (0.0, 0.0, 0.0)
GRAVITY = (0.3, 0.0, -9.81)
CHANGING = Channel(np.linspace((0.0, 2.0, -15.0), (3.0, -1.0, -5.0), 7))
INTEGRATORS = [
    SymplecticEuler(),
    Midpoint(),
    RungeKutta4(),
    Adaptive(SymplecticEuler()),
    XPBD(),
    ImplicitEuler(tolerance=1e-6),
    BDF2(tolerance=1e-6),
    SDIRK2(tolerance=1e-6),
    Automatic(),
]


@dataclass(frozen=True)
class Pull:
    """−Σ m a·x: what gravity is, from outside."""

    acceleration: Channel

    def potential(self, system: System) -> Potential:
        samples = torch.as_tensor(self.acceleration.samples).to(system.mass)
        return _PullEnergy(system.mass, TensorChannel(samples))


class _PullEnergy(PrescribedPotential):
    def __init__(self, mass: Tensor, channel: TensorChannel) -> None:
        super().__init__(channel)
        self._mass = mass

    def energy(self, positions: Tensor) -> Tensor:
        return -(self._mass * self.parameters[:, None] * positions).sum()

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out.sub_(self._mass * self.parameters[:, None])

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        """Add nothing: the force is constant."""


@dataclass(frozen=True)
class Wind:
    """Drag of so much a second, by the speed through air that moves."""

    rate: float
    velocity: tuple[float, float, float]

    def potential(self, system: System) -> Potential:
        return _WindEnergy(self.rate * system.mass, torch.as_tensor(self.velocity).to(system.mass))


class _WindEnergy(Potential):
    is_dissipative = True

    def __init__(self, drag: Tensor, velocity: Tensor) -> None:
        self._drag, self._velocity = drag, velocity[:, None]
        self._seconds, self._origin = 1.0, torch.zeros_like(drag)

    def begin_time_step(self, step: TimeStep) -> None:
        self._seconds = step.seconds
        self._origin = step.coasting_origin + step.seconds * self._velocity

    def energy(self, positions: Tensor) -> Tensor:
        away = (positions - self._origin).square().sum(0)
        return 0.5 * (self._drag * away).sum() / self._seconds

    def add_gradient(self, positions: Tensor, out: Tensor) -> None:
        out.add_(self._drag / self._seconds * (positions - self._origin))

    def add_hessian(self, positions: Tensor, matrix: BlockMatrix, projected: bool = True) -> None:
        matrix.add_diagonal((self._drag / self._seconds)[matrix.pattern.vertices])

    def add_rate_forces(self, positions: Tensor, velocities: Tensor, out: Tensor) -> None:
        out.add_(self._drag * (velocities - self._velocity))


@dataclass(frozen=True)
class StiffTether(Tether):
    def potential(self, system: System) -> TetherEnergy:
        return _StiffEnergy(self, torch.as_tensor(self.anchor).to(system.mass))


class _StiffEnergy(TetherEnergy):
    is_stiff = True


def body(**settings) -> SoftBody:
    mesh = block((1, 1, 1), (0.2, 0.2, 0.2), (0.0, 0.0, 0.05))
    return SoftBody(mesh, StableNeoHookean(1e4, 0.3), name="Jelly", **settings)


def run(scene: Scene, integrator: Integrator, frames: int = 4):
    return list(Simulator(scene, integrator, device="cpu").run(frames))


@pytest.mark.parametrize("gravity", [Channel.constant(GRAVITY), CHANGING], ids=["as is", "keyed"])
@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda kind: type(kind).__name__)
def test_what_pulls_like_gravity_moves_bodies_as_gravity_does(integrator, gravity) -> None:
    """Down to the ground, and about on it."""
    scenes = [
        Scene([body()], Ground(), NOWHERE, forces=[Pull(gravity)]),
        Scene([body()], Ground(), gravity),
    ]
    pulled, fallen = (run(scene, integrator, 6)[-1] for scene in scenes)
    lowest = float(fallen.positions[0][:, 2].min())
    assert lowest < 0.01
    # To the tolerance of steps: forces of a script's own may resist, so momentum is not balanced.
    torch.testing.assert_close(pulled.positions[0], fallen.positions[0], rtol=0.0, atol=1e-4)
    energies = pulled.report.energies
    assert energies.gravity == 0.0
    assert energies.forces == pytest.approx(fallen.report.energies.gravity, rel=1e-4)
    assert energies.total == pytest.approx(fallen.report.energies.total, rel=1e-4)


@pytest.mark.parametrize(
    "integrator",
    [SymplecticEuler(), ImplicitEuler(), BDF2(), SDIRK2()],
    ids=lambda kind: type(kind).__name__,
)
def test_a_tethered_body_hangs_where_its_weight_and_the_tether_balance(integrator) -> None:
    """The vertex it hangs by sinks by m g / k below the anchor."""
    stiffness = 400.0
    tether = Tether(7, stiffness, (0.2, 0.2, 0.25))
    scene = Scene([body(damping=8.0)], forces=[tether])
    frame = run(scene, integrator, 72)[-1]
    weight = 1000.0 * 0.2**3 * 9.81
    hung = frame.positions[0][7]
    assert float(hung[2]) == pytest.approx(0.25 - weight / stiffness, rel=0.01)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda kind: type(kind).__name__)
def test_wind_takes_bodies_along_by_and_by(integrator) -> None:
    """v = w (1 − e^(−kt)), from rest and without weight."""
    rate, wind, frames = 2.0, np.array([3.0, 0.0, 1.0]), 12
    scene = Scene([body()], gravity=NOWHERE, forces=[Wind(rate, tuple(wind))])
    last = list(Simulator(scene, integrator, substeps=None, device="cpu").run(frames))[-1]
    found = last.velocities[0].mean(dim=0).numpy()
    expected = wind * (1.0 - math.exp(-rate * frames / 24.0))
    # Of one step a frame, the first order is off by about k h / 2.
    np.testing.assert_allclose(found, expected, rtol=0.03, atol=1e-6)


def test_a_static_equilibrium_knows_forces() -> None:
    stiffness = 400.0
    scene = Scene([body()], forces=[Tether(7, stiffness, (0.2, 0.2, 0.25))])
    hung = Simulator(scene, device="cpu").settle().positions[0][7]
    weight = 1000.0 * 0.2**3 * 9.81
    assert float(hung[2]) == pytest.approx(0.25 - weight / stiffness, rel=1e-3)


def test_what_says_that_it_is_stiff_is_left_to_implicit_steps() -> None:
    scene = Scene([body()], forces=[StiffTether(7, 4e5, (0.2, 0.2, 0.25))])
    with pytest.raises(
        SceneError, match=r"Jelly: the force _StiffEnergy is too stiff for Symplectic Euler"
    ):
        Simulator(scene, SymplecticEuler(), device="cpu")
    frame = run(scene, Automatic(), 2)[-1]
    assert frame.report.integrator == "SDIRK2"
    assert math.dist(frame.positions[0][7].tolist(), (0.2, 0.2, 0.25)) < 1e-3


def test_what_has_no_energy_is_no_force() -> None:
    with pytest.raises(SceneError, match=r"9\.81 is not a force"):
        Scene([body()], forces=[9.81])  # type: ignore[list-item]


def test_a_scene_with_forces_is_in_no_file(tmp_path) -> None:
    scene = Scene([body()], forces=[Pull(Channel.constant(GRAVITY))])
    with pytest.raises(SceneError, match="No file can hold the class Pull"):
        save_scene(tmp_path / "scene.json", scene, {})
    assert not list(tmp_path.iterdir())
    save_scene(tmp_path / "scene.json", Scene([body()]), {})
    assert load_scene(tmp_path / "scene.json")[0].forces == []
    assert np.array_equal(
        load_scene(tmp_path / "scene.json")[0].bodies[0].mesh.vertices, body().mesh.vertices
    )


SPEED, FRAME, FRAMES = 3.0, 0.05, 8
#: From nothing to 6/s and back within the frames.
KEYS = [0.0, 2.0, 4.0, 6.0, 4.0, 2.0, 0.0, 0.0, 0.0]
SOFT = StableNeoHookean(1e4, 0.3)


def last_frame(body: SoftBody, integrator, **options):
    scene = Scene([body], gravity=(0.0, 0.0, 0.0))
    *_, last = Simulator(scene, integrator, frame_time=FRAME, device="cpu", **options).run(FRAMES)
    return last


def thrown(**settings) -> SoftBody:
    return SoftBody(block((1, 1, 1)), SOFT, velocity=(SPEED, 0.0, 0.0), **settings)


@pytest.mark.parametrize(
    ("integrator", "substeps", "off"),
    [
        (ImplicitEuler(1e-9), 24, 0.03),
        (BDF2(1e-9), 16, 2e-3),
        (SDIRK2(1e-9), 16, 2e-3),
        (SymplecticEuler(), 400, 2e-3),
        (Midpoint(), 200, 2e-3),
        (XPBD(), 400, 2e-3),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_keyed_drag_takes_what_its_integral_says(integrator, substeps, off) -> None:
    frame = last_frame(thrown(drag=Channel(KEYS)), integrator, substeps=substeps)
    # Straight from key to key: the integral is that of trapezia.
    expected = SPEED * math.exp(-FRAME * sum(KEYS))
    speeds = frame.velocities[0].numpy()
    np.testing.assert_allclose(speeds[:, 0], expected, rtol=off)
    np.testing.assert_allclose(speeds[:, 1:], 0.0, atol=1e-6)


def test_what_is_painted_half_loses_momentum_by_its_half() -> None:
    """A block as stiff as can be has the mean of the rates."""
    mesh = block((4, 1, 1))
    surface = SurfaceMesh(mesh.vertices, mesh.surface)
    half = np.where(mesh.vertices[:, 0] > mesh.vertices[:, 0].mean() - 1e-9, 1.0, 0.0)
    surface.paint = [Paint("drag", half)]
    painted = with_painted_settings(SoftBody(surface, SOFT, drag=2.0), surface, mesh)
    assert painted.drag_factors.shape == (len(mesh.tets),)
    share = mesh.lumped_mass(painted.drag_factors).sum() / mesh.lumped_mass(1.0).sum()
    assert 0.4 < share < 0.8
    stiff = SoftBody(
        *(mesh, StableNeoHookean(1e7, 0.3)),
        velocity=(SPEED, 0.0, 0.0),
        drag=2.0,
        drag_factors=painted.drag_factors,
        stiffness_damping=1e-3,
    )
    frame = last_frame(stiff, ImplicitEuler(1e-9), substeps=8)
    expected = SPEED * math.exp(-2.0 * share * FRAME * FRAMES)
    assert float(frame.velocities[0][:, 0].mean()) == pytest.approx(expected, rel=0.01)


def test_without_it_nothing_is_written_and_less_than_none_is_refused() -> None:
    arrays: dict = {}
    assert "drag" not in encode(thrown(), "body", arrays)
    body = decode(encode(thrown(drag=Channel(KEYS)), "body", arrays), arrays)
    np.testing.assert_array_equal(Channel.of(body.drag, "drag").samples, KEYS)
    with pytest.raises(SceneError, match="the drag per second must be 0 or more, not -1"):
        thrown(drag=-1.0)


STIFF = StableNeoHookean(1e6, 0.3)
FLUID_INTEGRATORS = [SymplecticEuler(), ImplicitEuler(), BDF2(), SDIRK2(), XPBD(), Automatic()]


def raft(density: float, **settings) -> SoftBody:
    """0.4 m high, its bottom at 0."""
    return SoftBody(block((2, 2, 1), (1.0, 1.0, 0.4)), STIFF, density, **settings)


@pytest.mark.parametrize("density", [150.0, 600.0, 900.0])
def test_a_body_floats_as_deep_as_archimedes_says(density) -> None:
    scene = Scene([raft(density)], forces=[Fluid(level=0.1)])
    rest = Simulator(scene, device="cpu").settle().positions[0][:, 2]
    draught = 0.1 - float(rest.min())
    assert draught == pytest.approx(0.4 * density / 1000.0, rel=0.01)


@pytest.mark.parametrize("integrator", FLUID_INTEGRATORS, ids=lambda kind: type(kind).__name__)
def test_a_body_that_is_dropped_in_comes_to_float(integrator) -> None:
    scene = Scene([raft(500.0)], forces=[Fluid(level=0.05, damping=8.0)])
    *_, last = Simulator(scene, integrator, device="cpu").run(48)
    bottom = float(last.positions[0][:, 2].min())
    assert 0.05 - bottom == pytest.approx(0.2, rel=0.02)


@pytest.mark.parametrize("integrator", FLUID_INTEGRATORS, ids=lambda kind: type(kind).__name__)
def test_a_body_sinks_at_the_speed_at_which_its_weight_and_the_drag_balance(integrator) -> None:
    """(m − ρ V) g = ½ ρ c (A / 4) v² + a m v."""
    size, density, drag, damping = 0.1, 1500.0, 0.8, 0.7
    body = SoftBody(block((1, 1, 1), (size, size, size)), StableNeoHookean(5e4, 0.3), density)
    scene = Scene([body], forces=[Fluid(100.0, 1000.0, drag, damping)])
    *_, last = Simulator(scene, integrator, device="cpu").run(36)
    volume = size**3
    quadratic, linear = 0.5 * 1000.0 * drag * 6.0 * size**2 / 4.0, damping * density * volume
    weight = (density - 1000.0) * volume * 9.81
    expected = (math.sqrt(linear**2 + 4.0 * quadratic * weight) - linear) / (2.0 * quadratic)
    assert -float(last.velocities[0][:, 2].mean()) == pytest.approx(expected, rel=0.01)


def test_drag_turns_no_velocity_round() -> None:
    """However strong it is, in implicit steps."""
    body = raft(1000.0, velocity=(5.0, 0.0, 0.0))
    scene = Scene([body], gravity=(0, 0, 0), forces=[Fluid(100.0, drag=1e5, damping=1e4)])
    for frame in Simulator(scene, ImplicitEuler(), device="cpu").run(3):
        assert -1e-6 < float(frame.velocities[0][:, 0].mean()) < 0.1


def test_steps_that_are_too_long_are_found_out_in_a_fluid() -> None:
    scene = Scene([raft(500.0)], forces=[Fluid(level=0.2, damping=2e3)])
    scene.bodies[0].velocity = (0.0, 0.0, 10.0)
    with pytest.raises(InstabilityError, match="substeps a frame are too few"):
        list(Simulator(scene, SymplecticEuler(), substeps=20, device="cpu").run(3))


def test_above_the_fluid_there_is_none() -> None:
    body = raft(500.0, velocity=(1.0, 0.0, 0.0))
    free, over = (
        list(Simulator(Scene([body], forces=forces), ImplicitEuler(), device="cpu").run(3))[-1]
        for forces in ([], [Fluid(level=-50.0, drag=100.0)])
    )
    torch.testing.assert_close(over.positions[0], free.positions[0])


def test_buoyancy_goes_by_a_gravity_that_is_keyed() -> None:
    """A body with the density of the fluid stays at rest whatever gravity is."""
    gravity = Channel(np.linspace((0.0, 0.0, -20.0), (0.0, 0.0, 0.0), 9))
    for integrator in (SymplecticEuler(), ImplicitEuler()):
        scene = Scene([raft(1000.0)], gravity=gravity, forces=[Fluid(level=9.0)])
        *_, last = Simulator(scene, integrator, device="cpu").run(8)
        assert float((last.positions[0] - torch.as_tensor(raft(1.0).mesh.vertices)).abs().max()) < (
            1e-6
        )


@pytest.mark.parametrize(
    ("integrator", "substeps"),
    [(SymplecticEuler(), 6), (ImplicitEuler(tolerance=1e-7), 1)],
    ids=["explicit", "implicit"],
)
def test_on_cuda_pressure_drag_and_fluid_meet_nothing_of_the_host(
    integrator, substeps, monkeypatch
) -> None:
    monkeypatch.setattr(simulator_module, "find_device", torch.device)
    monkeypatch.setattr(explicit_stepper, "CapturedStep", lambda step: step)
    monkeypatch.setattr(stability, "POWER_ITERATIONS", 5)
    mesh, soft = block((1, 1, 1)), StableNeoHookean(1e5, 0.3)
    swelling = Channel(np.array([0.0, 5e3]))
    braked = Channel(np.array([0.0, 20.0]))
    body = SoftBody(*(mesh, soft, 500.0), pressure=swelling, drag=braked, velocity=(1.0, 0.0, 0.0))

    def floated(device: str) -> torch.Tensor:
        scene = Scene([body], forces=[Fluid(level=0.1)])
        *_, last = Simulator(scene, integrator, device=device, substeps=substeps).run(1)
        return last.positions[0].cpu()

    expected = floated("cpu")
    with pretended_cuda():
        found = floated("cuda")
    torch.testing.assert_close(found, expected, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize(
    "settings", [{"level": math.nan}, {"density": 0.0}, {"drag": -1.0}, {"damping": math.inf}]
)
def test_what_is_no_fluid_is_refused(settings) -> None:
    with pytest.raises(SceneError, match="Fluid: the"):
        Fluid(**settings)


def test_a_file_has_the_fluid(tmp_path) -> None:
    path, fluid = tmp_path / "scene.json", Fluid(0.5, 900.0, 0.3, 0.1)
    save_scene(path, Scene([raft(500.0)], forces=[fluid]), {})
    assert load_scene(path)[0].forces == [fluid]


YOUNG, POISSON = 1e5, 0.3
BULK = YOUNG / (3.0 * (1.0 - 2.0 * POISSON))
PRESSURE_INTEGRATORS = [
    SymplecticEuler(),
    RungeKutta4(),
    XPBD(),
    ImplicitEuler(tolerance=1e-7),
    BDF2(tolerance=1e-7),
    SDIRK2(tolerance=1e-7),
    Automatic(),
]


def cube(**settings) -> SoftBody:
    return SoftBody(block((1, 1, 1)), StableNeoHookean(YOUNG, POISSON), name="Cushion", **settings)


def simulator(body: SoftBody, integrator: Integrator | None = None, **settings) -> Simulator:
    scene = Scene([body], gravity=NOWHERE)
    return Simulator(scene, integrator, device="cpu", **settings)


def pressure_of(body: SoftBody) -> Pressure:
    system = System(Scene([body], gravity=NOWHERE), torch.device("cpu"), torch.float64)
    (found,) = system.forces
    assert isinstance(found, Pressure)
    return found


@pytest.mark.parametrize("pascal", [20.0, -20.0])
def test_a_solid_body_swells_by_its_bulk_modulus(pascal) -> None:
    """A strain of p / 3K along every axis."""
    mesh = block((2, 2, 2))
    body = SoftBody(mesh, StableNeoHookean(YOUNG, POISSON), pressure=pascal)
    rest = simulator(body).settle().positions[0].numpy()
    grown = (rest - rest.mean(axis=0)) / (mesh.vertices - mesh.vertices.mean(axis=0) + 1e-30)
    outside = mesh.vertices[:, 0] == 1.0
    np.testing.assert_allclose(grown[outside, 0] - 1.0, pascal / (3.0 * BULK), rtol=1e-3)


def test_a_thin_balloon_grows_by_laplaces_law() -> None:
    """Δr / r = p r (1 − ν) / 2 E t."""
    mesh, pascal = hollow_ball(0.99, 1.0, 3, 1), 20.0
    body = SoftBody(mesh, StableNeoHookean(YOUNG, POISSON), pressure=pascal)
    rest = simulator(body).settle().positions[0].numpy()
    grown = float((np.linalg.norm(rest, axis=1) / np.linalg.norm(mesh.vertices, axis=1)).mean())
    expected = pascal * 0.995 * (1.0 - POISSON) / (2.0 * YOUNG * 0.01)
    assert grown - 1.0 == pytest.approx(expected, rel=0.01)


def test_a_thick_balloon_grows_as_lame_says() -> None:
    """u = p a³ r ((1 − 2ν) + (1 + ν) b³ / 2r³) / E (b³ − a³), at the inner and outer radius."""
    inner, outer, pascal, poisson = 0.8, 1.0, 20.0, 0.2
    mesh = hollow_ball(inner, outer, 3, 3)
    body = SoftBody(mesh, StableNeoHookean(YOUNG, poisson), pressure=pascal)
    rest = simulator(body).settle().positions[0].numpy()
    radii = np.linalg.norm(mesh.vertices, axis=1)
    moved = ((rest - mesh.vertices) * mesh.vertices).sum(axis=1) / radii
    for radius in (inner, outer):
        law = (1.0 - 2.0 * poisson) + (1.0 + poisson) * outer**3 / (2.0 * radius**3)
        expected = pascal * inner**3 * radius * law / (YOUNG * (outer**3 - inner**3))
        found = float(moved[np.isclose(radii, radius)].mean())
        assert found == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("integrator", PRESSURE_INTEGRATORS, ids=lambda kind: type(kind).__name__)
def test_a_keyed_pressure_swells_a_body_in_every_integrator(integrator) -> None:
    frames, pascal = 24, 2e3
    keyed = Channel(np.minimum(np.arange(frames + 1.0), 12.0) / 12.0 * pascal)
    body = cube(pressure=keyed, damping=10.0)
    *_, last = simulator(body, integrator).run(frames)
    side = float(np.ptp(last.positions[0][:, 0].numpy()))
    assert side - 1.0 == pytest.approx(pascal / (3.0 * BULK), rel=0.02)
    assert float(last.positions[0].mean()) == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize(
    "integrator",
    [
        SymplecticEuler(),
        RungeKutta4(),
        ImplicitEuler(tolerance=1e-7),
        BDF2(tolerance=1e-7),
        SDIRK2(tolerance=1e-7),
    ],
    ids=lambda kind: type(kind).__name__,
)
def test_what_a_keyed_pressure_adds_to_the_energy_is_minus_v_dp(integrator) -> None:
    pascal = np.linspace(2e3, 1.2e4, 25)
    body = cube(pressure=Channel(pascal))
    started = simulator(body).settle()
    body.initial_positions = started.positions[0].numpy()
    energy, run = pressure_of(body), simulator(body, integrator, substeps=6)
    frames = [run.frame(), *run.run(24)]
    volumes = np.array([float(energy.volume.of(frame.positions[0].T)) for frame in frames])
    totals = [frame.report.energies.total for frame in frames]
    # Beside what would be added were the volume to stay 1 m³.
    swollen = volumes - 1.0
    added = -float((np.diff(pascal) * (swollen[1:] + swollen[:-1]) / 2.0).sum())
    assert totals[-1] - totals[0] + 1e4 == pytest.approx(added, rel=5e-3)
    assert frames[-1].report.energies.forces == pytest.approx(-1.2e4 * volumes[-1])


def test_explicit_steps_are_as_short_as_the_most_pressure_asks_for() -> None:
    def frequency(pressure: Channel | float) -> float:
        system = System(Scene([cube(pressure=pressure)]), torch.device("cpu"), torch.float64)
        return spectrum(system).frequency

    rising = Channel(np.array([0.0, 1e5, 0.0]))
    assert frequency(rising) == pytest.approx(frequency(1e5))
    assert frequency(1e5) > 1.02 * frequency(0.0)


def test_gas_pushes_no_body_as_a_whole() -> None:
    body = SoftBody(hollow_ball(0.5, 1.0, 1), pressure=1e4)
    energy, rest = pressure_of(body), torch.as_tensor(body.mesh.vertices.T) + 1000.0
    force = energy.gradient(rest)
    torque = torch.linalg.cross(rest, force, dim=0).sum(1)
    assert float(force.abs().max()) > 100.0
    assert float(force.sum(1).abs().max()) < 1e-6
    assert float(torque.abs().max()) < 1e-6
    single = energy.gradient(rest)
    torch.testing.assert_close(single, energy.gradient(rest - 1000.0), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("integrator", [ImplicitEuler(), Automatic()], ids=["implicit", "auto"])
def test_a_balloon_that_bursts_is_said_to_and_its_frames_are_kept(integrator) -> None:
    body = SoftBody(
        hollow_ball(0.9, 1.0, 1, 1),
        StableNeoHookean(YOUNG, 0.45),
        pressure=Channel(np.linspace(0.0, 6e4, 7)),
        name="Balloon",
    )
    frames: list[Frame] = []
    with pytest.raises(InstabilityError, match=r"Balloon.*pressure inside .*[Ll]ower"):
        frames.extend(simulator(body, integrator).run(12))
    assert len(frames) >= 2
    assert float(frames[-1].positions[0].abs().max()) < 10.0


def test_what_is_no_equilibrium_names_the_pressure() -> None:
    body = SoftBody(hollow_ball(0.9, 1.0, 1, 1), pressure=5e5, name="Balloon")
    with pytest.raises(InstabilityError, match="pressure inside Balloon"):
        simulator(body).settle()


@pytest.mark.parametrize("pressure", [float("nan"), np.array([0.0, np.inf]), np.zeros((2, 3))])
def test_what_is_no_pressure_is_refused(pressure: Any) -> None:
    with pytest.raises(SceneError, match="Cushion: the pressure must be"):
        cube(pressure=pressure)


def test_a_file_has_the_pressure_and_none_where_there_is_none(tmp_path) -> None:
    path = tmp_path / "scene.json"
    for pressure in (250.0, Channel(np.array([0.0, 50.0, 20.0]))):
        save_scene(path, Scene([cube(pressure=pressure)]), {})
        found = load_scene(path)[0].bodies[0].pressure
        each = [Channel.of(value, "p").samples for value in (pressure, found)]
        np.testing.assert_array_equal(*each)
    save_scene(path, Scene([cube()]), {})
    assert "pressure" not in path.read_text()
    assert load_scene(path)[0].bodies[0].pressure == 0.0


CUBE = block((1, 1, 1), (0.1, 0.1, 0.1))


@pytest.mark.parametrize("integrator", [ImplicitEuler(1e-9), SymplecticEuler()])
def test_a_body_gets_as_fast_as_the_integral_says(integrator: Integrator) -> None:
    """From 0 to 4 m/s² in the first frame, and as much from then on."""
    uniform = np.zeros((2, 8, 3))
    uniform[1, :, 0] = 4.0
    body = SoftBody(CUBE, SOFT, accelerations=Channel(uniform))
    other = SoftBody(CUBE, SOFT)
    scene = Scene([other, body], gravity=(0.0, 0.0, 0.0))
    *_, last = Simulator(scene, integrator, frame_time=0.05, substeps=64, device="cpu").run(3)
    np.testing.assert_allclose(last.velocities[1][:, 0], 4.0 * 0.05 * 2.5, rtol=0.01)
    np.testing.assert_allclose(last.velocities[1][:, 1:], 0.0, atol=1e-9)
    np.testing.assert_allclose(last.velocities[0], 0.0, atol=1e-9)


def test_they_are_of_all_vertices() -> None:
    with pytest.raises(SceneError, match="the accelerations must be"):
        SoftBody(CUBE, SOFT, accelerations=Channel(np.zeros((1, 7, 3))))


def test_a_file_keeps_them() -> None:
    body = SoftBody(CUBE, SOFT, accelerations=np.arange(24.0).reshape(8, 3))
    arrays: dict[str, np.ndarray] = {}
    found = decode(encode(body, "body", arrays), arrays)
    np.testing.assert_array_equal(found.accelerations.samples, body.accelerations.samples)


TARGET_VOLUME_YOUNG, TARGET_VOLUME_POISSON = 1e5, 0.2
TARGET_VOLUME_INTEGRATORS = [
    SymplecticEuler(),
    RungeKutta4(),
    XPBD(),
    ImplicitEuler(tolerance=1e-7),
    BDF2(tolerance=1e-7),
    SDIRK2(tolerance=1e-7),
    Automatic(),
]


def target_volume_body(mesh=None, **settings) -> SoftBody:
    material = StableNeoHookean(TARGET_VOLUME_YOUNG, TARGET_VOLUME_POISSON)
    return SoftBody(mesh or block((1, 1, 1)), material, name="Cushion", **settings)


def target_volume_simulator(own: SoftBody, integrator=None, **settings) -> Simulator:
    return Simulator(Scene([own], gravity=NOWHERE), integrator, device="cpu", **settings)


def energy_of(own: SoftBody) -> TargetVolume:
    system = System(Scene([own], gravity=NOWHERE), torch.device("cpu"), torch.float64)
    (found,) = system.forces
    assert isinstance(found, TargetVolume)
    return found


@pytest.mark.parametrize("factor", [0.7, 2.5])
def test_a_shell_comes_to_its_target_volume_in_the_stiff_limit(factor) -> None:
    own = target_volume_body(
        hollow_ball(0.8, 1.0, 1, 1),
        target_volume=factor,
        volume_stiffness=1e4 * TARGET_VOLUME_YOUNG,
    )
    found = target_volume_simulator(own).settle().positions[0].T
    energy = energy_of(own)
    ratio = float(energy.volume.of(found)) / energy.volume.at_rest
    assert ratio == pytest.approx(factor, rel=1e-3)
    assert float(energy.pressure(found)) == pytest.approx(
        1e4 * TARGET_VOLUME_YOUNG * (factor - ratio)
    )


def test_a_shell_gives_way_to_its_gas_as_lame_says() -> None:
    """p = k (f − V/V₀) with ΔV/V₀ = 3u/a at the inner radius a, where
    u = p a⁴ ((1 − 2ν) + (1 + ν) b³ / 2a³) / E (b³ − a³)."""
    inner, outer, stiffness = 0.8, 1.0, 2e4
    own = target_volume_body(
        hollow_ball(inner, outer, 2, 3), target_volume=1.001, volume_stiffness=stiffness
    )
    found = target_volume_simulator(own).settle().positions[0].T
    energy = energy_of(own)
    law = (1.0 - 2.0 * TARGET_VOLUME_POISSON) + (1.0 + TARGET_VOLUME_POISSON) * outer**3 / (
        2.0 * inner**3
    )
    # Of the volume, for each pascal.
    compliance = 3.0 * inner**3 * law / (TARGET_VOLUME_YOUNG * (outer**3 - inner**3))
    pressure = stiffness * 0.001 / (1.0 + stiffness * compliance)
    grown = float(energy.volume.of(found)) / energy.volume.at_rest - 1.0
    assert float(energy.pressure(found)) == pytest.approx(pressure, rel=0.01)
    assert grown == pytest.approx(compliance * pressure, rel=0.01)
    # Both count: neither is the stiff nor the soft limit.
    assert 0.2 < grown / 0.001 < 0.8


@pytest.mark.parametrize(
    "integrator", TARGET_VOLUME_INTEGRATORS, ids=lambda kind: type(kind).__name__
)
def test_a_keyed_target_volume_swells_a_body_in_every_integrator(integrator) -> None:
    frames, stiffness = 24, 10.0 * TARGET_VOLUME_YOUNG
    keyed = Channel(1.0 + np.minimum(np.arange(frames + 1.0), 12.0) / 12.0)
    own = target_volume_body(target_volume=keyed, volume_stiffness=stiffness, damping=16.0)
    *_, last = target_volume_simulator(own, integrator).run(frames)
    found = last.positions[0].numpy()
    still = target_volume_simulator(
        target_volume_body(target_volume=2.0, volume_stiffness=stiffness)
    ).settle()
    size, expected = (np.ptp(each, axis=0) for each in (found, still.positions[0].numpy()))
    np.testing.assert_allclose(size, expected, rtol=3e-3)
    assert float(np.prod(size)) == pytest.approx(2.0, rel=0.1)
    assert found.mean() == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("integrator", [SymplecticEuler(), ImplicitEuler(tolerance=1e-8)])
def test_what_a_keyed_target_volume_adds_is_minus_p_times_its_change(integrator) -> None:
    """∂E/∂f df = p V₀ df, a pressure that lifts what it is to reach."""
    factors, stiffness = np.linspace(1.0, 1.2, 21), 2e4
    own = target_volume_body(target_volume=Channel(factors), volume_stiffness=stiffness)
    energy, run = energy_of(own), target_volume_simulator(own, integrator, substeps=8)
    frames = [run.frame(), *run.run(20)]
    pressures = []
    for frame, factor in zip(frames, factors, strict=True):
        energy.act(torch.tensor(factor, dtype=torch.float64))
        pressures.append(float(energy.pressure(frame.positions[0].T)))
    totals = [frame.report.energies.total for frame in frames]
    added = float((np.diff(factors) * (np.array(pressures[1:]) + pressures[:-1]) / 2.0).sum())
    assert totals[-1] - totals[0] == pytest.approx(added, rel=0.02)
    assert added > 50.0


def test_stiff_gas_of_several_bodies_is_solved_for_in_few_iterations() -> None:
    meshes = [hollow_ball(0.7, 1.0, 1, 1), hollow_ball(0.5, 0.8, 1, 1)]
    bodies = [target_volume_body(mesh, target_volume=3.0, volume_stiffness=1e9) for mesh in meshes]
    bodies[1].initial_positions = meshes[1].vertices + 5.0
    run = Simulator(Scene(bodies, gravity=NOWHERE), ImplicitEuler(), device="cpu")
    for frame in run.run(4):
        statistics = frame.report.solver_statistics
        assert statistics.converged and statistics.iterations < 20
    for own, positions in zip(bodies, frame.positions, strict=True):
        volume = energy_of(own).volume
        assert float(volume.of(positions.T)) == pytest.approx(3.0 * volume.at_rest, rel=0.01)


def test_torch_passes_solve_for_stiff_gas_like_compiled_loops(without_compiled_loops) -> None:
    own = target_volume_body(hollow_ball(0.7, 1.0, 1, 1), target_volume=2.0, volume_stiffness=1e8)
    (frame,) = target_volume_simulator(own, ImplicitEuler()).run(1)
    statistics = frame.report.solver_statistics
    assert statistics.converged and statistics.iterations < 20
    volume = energy_of(own).volume
    ratio = float(volume.of(frame.positions[0].T)) / volume.at_rest
    assert ratio == pytest.approx(2.0, rel=0.01)


def test_explicit_steps_are_as_short_as_stiff_gas_asks_for() -> None:
    def frequency(stiffness: float) -> float:
        own = target_volume_body(target_volume=1.0, volume_stiffness=stiffness)
        system = System(Scene([own]), torch.device("cpu"), torch.float64)
        return spectrum(system).frequency

    # k |∇V|² / V₀ m of a cube whose corners bear an eighth of its mass each: 3k / 2000 · 8 / 8.
    gradient = energy_of(target_volume_body(target_volume=1.0))._volume_gradient(
        torch.as_tensor(target_volume_body().mesh.vertices.T)
    )
    mass = torch.as_tensor(target_volume_body().mesh.lumped_mass(1000.0))
    expected = 1e8 * float((gradient.square() / mass).sum())
    assert frequency(1e8) == pytest.approx(np.sqrt(expected), rel=0.01)
    assert frequency(1e8) > 3.0 * frequency(1.0)


def test_a_balloon_that_bursts_is_said_to() -> None:
    own = target_volume_body(target_volume=1e4, volume_stiffness=1e7)
    with pytest.raises(InstabilityError, match="pressure inside"):
        list(target_volume_simulator(own, ImplicitEuler()).run(1))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"target_volume": 0.0}, "target volume must be above 0"),
        ({"target_volume": [1.0, -1.0]}, "target volume must be above 0 .* and is -1"),
        ({"target_volume": [1.0, np.nan]}, "target volume must be finite"),
        ({"target_volume": 1.0, "volume_stiffness": 0.0}, "in Pa, must be above 0"),
    ],
)
def test_what_is_no_target_volume_is_refused(settings, message) -> None:
    with pytest.raises(SceneError, match=message):
        target_volume_body(**settings)


def test_a_file_has_the_target_volume_and_none_where_there_is_none(tmp_path) -> None:
    path = tmp_path / "scene.json"
    for given in (1.5, Channel(np.array([1.0, 2.0, 1.5]))):
        save_scene(path, Scene([target_volume_body(target_volume=given, volume_stiffness=3e4)]), {})
        found = load_scene(path)[0].bodies[0]
        each = [Channel.of(value, "f").samples for value in (given, found.target_volume)]
        np.testing.assert_array_equal(*each)
        assert found.volume_stiffness == 3e4
    save_scene(path, Scene([target_volume_body()]), {})
    assert "volume" not in path.read_text()
