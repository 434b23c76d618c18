# SPDX-License-Identifier: GPL-3.0-or-later
"""Gas inside of bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from supple.core import Channel, Frame, InstabilityError, Scene, SceneError, Simulator, SoftBody
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    XPBD,
    Automatic,
    ImplicitEuler,
    Integrator,
    RungeKutta4,
    SymplecticEuler,
)
from supple.core.integrators.stability import spectrum
from supple.core.job.scene_file import load_scene, save_scene
from supple.core.materials import StableNeoHookean
from supple.core.potentials import Pressure
from supple.core.system import System
from supple.verification.meshes import block, hollow_ball

NOWHERE = (0.0, 0.0, 0.0)
YOUNG, POISSON = 1e5, 0.3
BULK = YOUNG / (3.0 * (1.0 - 2.0 * POISSON))
INTEGRATORS = [
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


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda kind: type(kind).__name__)
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
