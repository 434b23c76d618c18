# SPDX-License-Identifier: GPL-3.0-or-later
"""Gas inside of bodies that wants to have a certain volume."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import Channel, InstabilityError, Scene, SceneError, Simulator, SoftBody
from supple.core.integrators import (
    BDF2,
    SDIRK2,
    XPBD,
    Automatic,
    ImplicitEuler,
    RungeKutta4,
    SymplecticEuler,
)
from supple.core.integrators.stability import spectrum
from supple.core.job.scene_file import load_scene, save_scene
from supple.core.materials import StableNeoHookean
from supple.core.potentials import TargetVolume
from supple.core.system import System
from supple.verification.meshes import block, hollow_ball

NOWHERE = (0.0, 0.0, 0.0)
YOUNG, POISSON = 1e5, 0.2
INTEGRATORS = [
    SymplecticEuler(),
    RungeKutta4(),
    XPBD(),
    ImplicitEuler(tolerance=1e-7),
    BDF2(tolerance=1e-7),
    SDIRK2(tolerance=1e-7),
    Automatic(),
]


def body(mesh=None, **settings) -> SoftBody:
    material = StableNeoHookean(YOUNG, POISSON)
    return SoftBody(mesh or block((1, 1, 1)), material, name="Cushion", **settings)


def simulator(own: SoftBody, integrator=None, **settings) -> Simulator:
    return Simulator(Scene([own], gravity=NOWHERE), integrator, device="cpu", **settings)


def energy_of(own: SoftBody) -> TargetVolume:
    system = System(Scene([own], gravity=NOWHERE), torch.device("cpu"), torch.float64)
    (found,) = system.forces
    assert isinstance(found, TargetVolume)
    return found


@pytest.mark.parametrize("factor", [0.7, 2.5])
def test_a_shell_comes_to_its_target_volume_in_the_stiff_limit(factor) -> None:
    own = body(hollow_ball(0.8, 1.0, 1, 1), target_volume=factor, volume_stiffness=1e4 * YOUNG)
    found = simulator(own).settle().positions[0].T
    energy = energy_of(own)
    ratio = float(energy.volume.of(found)) / energy.volume.at_rest
    assert ratio == pytest.approx(factor, rel=1e-3)
    assert float(energy.pressure(found)) == pytest.approx(1e4 * YOUNG * (factor - ratio))


def test_a_shell_gives_way_to_its_gas_as_lame_says() -> None:
    """p = k (f − V/V₀) with ΔV/V₀ = 3u/a at the inner radius a, where
    u = p a⁴ ((1 − 2ν) + (1 + ν) b³ / 2a³) / E (b³ − a³)."""
    inner, outer, stiffness = 0.8, 1.0, 2e4
    own = body(hollow_ball(inner, outer, 2, 3), target_volume=1.001, volume_stiffness=stiffness)
    found = simulator(own).settle().positions[0].T
    energy = energy_of(own)
    law = (1.0 - 2.0 * POISSON) + (1.0 + POISSON) * outer**3 / (2.0 * inner**3)
    # Of the volume, for each pascal.
    compliance = 3.0 * inner**3 * law / (YOUNG * (outer**3 - inner**3))
    pressure = stiffness * 0.001 / (1.0 + stiffness * compliance)
    grown = float(energy.volume.of(found)) / energy.volume.at_rest - 1.0
    assert float(energy.pressure(found)) == pytest.approx(pressure, rel=0.01)
    assert grown == pytest.approx(compliance * pressure, rel=0.01)
    # Both count: neither is the stiff nor the soft limit.
    assert 0.2 < grown / 0.001 < 0.8


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda kind: type(kind).__name__)
def test_a_keyed_target_volume_swells_a_body_in_every_integrator(integrator) -> None:
    frames, stiffness = 24, 10.0 * YOUNG
    keyed = Channel(1.0 + np.minimum(np.arange(frames + 1.0), 12.0) / 12.0)
    own = body(target_volume=keyed, volume_stiffness=stiffness, damping=16.0)
    *_, last = simulator(own, integrator).run(frames)
    found = last.positions[0].numpy()
    still = simulator(body(target_volume=2.0, volume_stiffness=stiffness)).settle()
    size, expected = (np.ptp(each, axis=0) for each in (found, still.positions[0].numpy()))
    np.testing.assert_allclose(size, expected, rtol=3e-3)
    assert float(np.prod(size)) == pytest.approx(2.0, rel=0.1)
    assert found.mean() == pytest.approx(0.5, abs=1e-3)


@pytest.mark.parametrize("integrator", [SymplecticEuler(), ImplicitEuler(tolerance=1e-8)])
def test_what_a_keyed_target_volume_adds_is_minus_p_times_its_change(integrator) -> None:
    """∂E/∂f df = p V₀ df, a pressure that lifts what it is to reach."""
    factors, stiffness = np.linspace(1.0, 1.2, 21), 2e4
    own = body(target_volume=Channel(factors), volume_stiffness=stiffness)
    energy, run = energy_of(own), simulator(own, integrator, substeps=8)
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
    bodies = [body(mesh, target_volume=3.0, volume_stiffness=1e9) for mesh in meshes]
    bodies[1].initial_positions = meshes[1].vertices + 5.0
    run = Simulator(Scene(bodies, gravity=NOWHERE), ImplicitEuler(), device="cpu")
    for frame in run.run(4):
        statistics = frame.report.solver_statistics
        assert statistics.converged and statistics.iterations < 20
    for own, positions in zip(bodies, frame.positions, strict=True):
        volume = energy_of(own).volume
        assert float(volume.of(positions.T)) == pytest.approx(3.0 * volume.at_rest, rel=0.01)


def test_torch_passes_solve_for_stiff_gas_like_compiled_loops(without_compiled_loops) -> None:
    own = body(hollow_ball(0.7, 1.0, 1, 1), target_volume=2.0, volume_stiffness=1e8)
    (frame,) = simulator(own, ImplicitEuler()).run(1)
    statistics = frame.report.solver_statistics
    assert statistics.converged and statistics.iterations < 20
    volume = energy_of(own).volume
    ratio = float(volume.of(frame.positions[0].T)) / volume.at_rest
    assert ratio == pytest.approx(2.0, rel=0.01)


def test_explicit_steps_are_as_short_as_stiff_gas_asks_for() -> None:
    def frequency(stiffness: float) -> float:
        own = body(target_volume=1.0, volume_stiffness=stiffness)
        system = System(Scene([own]), torch.device("cpu"), torch.float64)
        return spectrum(system).frequency

    # k |∇V|² / V₀ m of a cube whose corners bear an eighth of its mass each: 3k / 2000 · 8 / 8.
    gradient = energy_of(body(target_volume=1.0))._volume_gradient(
        torch.as_tensor(body().mesh.vertices.T)
    )
    mass = torch.as_tensor(body().mesh.lumped_mass(1000.0))
    expected = 1e8 * float((gradient.square() / mass).sum())
    assert frequency(1e8) == pytest.approx(np.sqrt(expected), rel=0.01)
    assert frequency(1e8) > 3.0 * frequency(1.0)


def test_a_balloon_that_bursts_is_said_to() -> None:
    own = body(target_volume=1e4, volume_stiffness=1e7)
    with pytest.raises(InstabilityError, match="pressure inside"):
        list(simulator(own, ImplicitEuler()).run(1))


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
        body(**settings)


def test_a_file_has_the_target_volume_and_none_where_there_is_none(tmp_path) -> None:
    path = tmp_path / "scene.json"
    for given in (1.5, Channel(np.array([1.0, 2.0, 1.5]))):
        save_scene(path, Scene([body(target_volume=given, volume_stiffness=3e4)]), {})
        found = load_scene(path)[0].bodies[0]
        each = [Channel.of(value, "f").samples for value in (given, found.target_volume)]
        np.testing.assert_array_equal(*each)
        assert found.volume_stiffness == 3e4
    save_scene(path, Scene([body()]), {})
    assert "volume" not in path.read_text()
