# SPDX-License-Identifier: GPL-3.0-or-later
"""A rest shape that changes from frame to frame, beside what theory says of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from supple.core import (
    Channel,
    Plasticity,
    RestShape,
    Scene,
    SceneError,
    Simulator,
    Skin,
    SoftBody,
    SurfaceMesh,
)
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
from supple.core.integrators.stability import spectrum
from supple.core.job import Job, Settings
from supple.core.job.scene_file import load_scene, save_scene
from supple.core.materials import (
    CorotatedLinear,
    Linear,
    NeoHookean,
    StableNeoHookean,
    StVenantKirchhoff,
)
from supple.core.preparation.prepared import prepare
from supple.core.system import System
from supple.tests.core.job_runs import check_same_bytes_in_parts
from supple.verification.meshes import block

FRAME = 1.0 / 24.0
CPU = torch.device("cpu")
YOUNG = 1e5
NOWHERE = (0.0, 0.0, 0.0)
MESH = block((2, 2, 2))
CENTRE = MESH.vertices.mean(axis=0)
MATERIALS = [
    kind(YOUNG, 0.3)
    for kind in (StableNeoHookean, NeoHookean, CorotatedLinear, StVenantKirchhoff, Linear)
]
INTEGRATORS = [
    SymplecticEuler(),
    Midpoint(),
    RungeKutta4(),
    Adaptive(RungeKutta4(), 1e-6),
    XPBD(),
    ImplicitEuler(1e-7),
    BDF2(1e-7),
    SDIRK2(1e-7),
    Automatic(),
]


def scaling(amounts) -> RestShape:
    """A rest shape that is larger by the amounts."""
    return RestShape((MESH.vertices - CENTRE)[None], np.reshape(amounts, (-1, 1)))


def scaled(factor: float) -> np.ndarray:
    return CENTRE + factor * (MESH.vertices - CENTRE)


def cube(rest_shape: RestShape, material=None, **options) -> SoftBody:
    return SoftBody(MESH, material or MATERIALS[0], rest_shape=rest_shape, name="Cube", **options)


def simulator(body: SoftBody, integrator=None, **options) -> Simulator:
    return Simulator(Scene([body], gravity=NOWHERE), integrator, device="cpu", **options)


def system_of(body: SoftBody) -> System:
    return System(Scene([body], gravity=NOWHERE), CPU, torch.float64)


@pytest.mark.parametrize("material", MATERIALS, ids=lambda m: type(m).__name__)
def test_a_free_body_settles_in_its_rest_shape(material) -> None:
    body = cube(scaling([0.7]), material, initial_positions=MESH.vertices)
    frame = simulator(body).settle()
    grown = frame.positions[0].numpy()
    moved = grown.mean(axis=0) - CENTRE
    np.testing.assert_allclose(grown - moved, scaled(1.7), atol=1e-6)
    assert frame.report.energies.elastic < 1e-9 * YOUNG
    assert frame.report.minimum_volume_ratio == pytest.approx(1.0, abs=1e-6)


def test_torch_passes_take_the_rest_shape_like_compiled_loops(without_compiled_loops) -> None:
    for material in MATERIALS[:3]:
        frame = simulator(cube(scaling([0.7]), material, initial_positions=MESH.vertices)).settle()
        assert float(np.ptp(frame.positions[0].numpy()[:, 2])) == pytest.approx(1.7, abs=1e-6)
    twice = simulator(cube(scaling([0.0, 1.0])), RungeKutta4()).run(1)
    assert next(twice).report.minimum_volume_ratio < 0.9


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: type(i).__name__)
def test_a_body_grows_with_its_rest_shape_in_every_integrator(integrator) -> None:
    amounts = np.minimum(np.arange(25.0), 12.0) / 24.0
    *_, last = simulator(cube(scaling(amounts), damping=10.0), integrator).run(24)
    np.testing.assert_allclose(last.positions[0].numpy(), scaled(1.5), atol=2e-3)
    assert last.report.minimum_volume_ratio == pytest.approx(1.0, abs=6e-3)


def test_a_body_starts_in_the_rest_shape_of_the_start() -> None:
    first = simulator(cube(scaling([0.3]))).frame()
    np.testing.assert_allclose(first.positions[0].numpy(), scaled(1.3), atol=1e-12)
    assert first.report.energies.elastic == pytest.approx(0.0, abs=1e-9 * YOUNG)


def test_the_energy_is_that_of_a_body_modelled_so() -> None:
    """And what is between frames is half of each."""
    body = cube(scaling([0.2, 0.6]))
    system, positions = system_of(body), torch.as_tensor(scaled(1.1).T)
    for fraction, factor in ((0.0, 1.2), (0.5, 1.4), (1.0, 1.6)):
        system.go_to(0, fraction)
        modelled = system_of(SoftBody(MESH.with_vertices(scaled(factor)), MATERIALS[0]))
        (mine,), (other,) = system.elasticities, modelled.elasticities
        assert float(mine.energy(positions)) == pytest.approx(float(other.energy(positions)))
        torch.testing.assert_close(mine.gradient(positions), other.gradient(positions))
        torch.testing.assert_close(
            mine.tets.volume_ratios(positions), other.tets.volume_ratios(positions)
        )


@pytest.mark.parametrize("scheme", [SymplecticEuler(), Midpoint(), RungeKutta4()])
def test_the_energy_put_in_is_that_of_the_change_of_the_rest_shape(scheme) -> None:
    """∂E/∂X dX, where all but one vertex is held."""
    held = np.arange(1, len(MESH.vertices))
    body = cube(scaling([0.0, 0.4]), pinned=held, damping=1e6)
    system, count = system_of(body), 100
    state = system.initial_state()
    before = system.energies(state).elastic
    step = scheme.make_step(system, FRAME / count)
    step.begin(state.positions, state.velocities)
    for number in range(count):
        step.prescribe(0, number / count, (number + 1) / count)
        step.advance()
    after = system.energies(replace(state, frame=1, positions=step.positions)).elastic
    gained = float(step.raised)
    (part,) = system.elasticities
    start = torch.as_tensor(MESH.vertices.T)
    # The slope by finite differences of the rest shape, integrated at the middles.
    slopes = [
        float(part.energy_change(part.at(0, t - 1e-5), part.at(0, t + 1e-5), start)) / 2e-5
        for t in (np.arange(50) + 0.5) / 50.0
    ]
    assert gained == pytest.approx(float(np.mean(slopes)), rel=0.01)
    assert gained == pytest.approx(after - before, rel=0.01)
    assert gained > 0.01 * YOUNG


@pytest.mark.parametrize("scheme", [SymplecticEuler(), RungeKutta4()])
def test_of_what_moves_the_energy_put_in_is_all_that_is_gained(scheme) -> None:
    system, count = system_of(cube(scaling([0.0, 0.4]))), 400
    state = system.initial_state()
    step = scheme.make_step(system, FRAME / count)
    step.begin(state.positions, state.velocities)
    for number in range(count):
        step.prescribe(0, number / count, (number + 1) / count)
        step.advance()
    after = replace(state, frame=1, positions=step.positions, velocities=step.velocities)
    energies = system.energies(after)
    assert float(step.raised) == pytest.approx(energies.total, rel=0.01)
    assert energies.kinetic > 0.1 * energies.total


def test_explicit_steps_are_as_short_as_the_fastest_rest_shape_asks_for() -> None:
    """A body that is twice as large and weighs as much has twice the stiffness along an edge."""
    modelled = spectrum(system_of(cube(scaling([0.0])))).frequency
    grown = spectrum(system_of(cube(scaling([0.0, 1.0, 0.0])))).frequency
    assert grown == pytest.approx(np.sqrt(2.0) * modelled, rel=1e-3)
    flat = RestShape((MESH.vertices - CENTRE)[None] * [0.0, 0.0, -1.0], np.array([[0.0], [0.8]]))
    thin = SoftBody(MESH.with_vertices(flat.displaced(MESH.vertices, np.array([0.8]))))
    expected = spectrum(system_of(replace(thin, material=MATERIALS[0], density=5000.0))).frequency
    assert spectrum(system_of(cube(flat))).frequency == pytest.approx(expected, rel=1e-3)


def test_a_keyed_stiffness_counts_beside_it() -> None:
    body = cube(scaling([0.0, 0.4]), stiffness=Channel(np.array([1.0, 3.0, 2.0])))
    (part,) = system_of(body).elasticities
    positions = torch.as_tensor(scaled(1.2).T)
    part.go_to(1, 0.0)
    once = system_of(cube(scaling([0.4]))).elasticities[0].energy(positions)
    assert float(part.energy(positions)) == pytest.approx(3.0 * float(once))
    assert part.stiffest.tolist() == pytest.approx([3.0, 0.4])


def test_a_rest_shape_of_the_skin_is_shown_by_the_tetrahedra_around_it() -> None:
    mesh = block((3, 3, 3))
    triangles = mesh.surface
    used = np.unique(triangles)
    points = mesh.vertices[used]
    surface = SurfaceMesh(
        points, np.searchsorted(used, triangles).astype(np.int32), "lattice", 0.25
    )
    bend = np.zeros_like(points)
    bend[:, 2] = 0.4 * points[:, 0] ** 2
    keys = RestShape(np.stack([0.6 * points, bend]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    (body,) = prepare(Scene([SoftBody(surface, skin=Skin(points, rest_shape=keys))]))[0].bodies
    assert body.skin.rest_shape is None
    grown, bent = body.rest_shape.displacements
    # What is affine is followed exactly, by all tets.
    np.testing.assert_allclose(grown, 0.6 * body.mesh.vertices, atol=1e-9)
    shown = body.skin.embedding.interpolate(bent)
    np.testing.assert_allclose(shown, bend, atol=0.02 * float(bend.max()))


def test_a_rest_shape_that_is_inside_out_is_refused_with_the_frame() -> None:
    flip = (MESH.vertices - CENTRE)[None] * [-1.0, 0.0, 0.0]
    mirrored = RestShape(flip, np.array([[0.5], [3.0]]))
    with pytest.raises(SceneError, match=r"Cube: 0 frames.*48 of its 48 tets flat or inside out"):
        simulator(cube(mirrored))


def test_what_cannot_be_a_rest_shape_is_refused() -> None:
    with pytest.raises(SceneError, match="Cube: the rest shape has 3 vertices, the mesh 27"):
        cube(RestShape(np.zeros((1, 3, 3)), np.zeros((1, 1))))
    with pytest.raises(SceneError, match="must be"):
        RestShape(np.zeros((3, 3)), np.zeros((1, 1)))
    with pytest.raises(SceneError, match="not finite at vertex 2"):
        RestShape(np.full((1, 3, 3), [[0.0], [0.0], [np.nan]]), np.zeros((1, 1)))
    with pytest.raises(SceneError, match="excludes plasticity"):
        cube(scaling([0.1]), plasticity=Plasticity(1e3))


def test_a_file_has_the_rest_shape_and_none_where_there_is_none(tmp_path) -> None:
    path = tmp_path / "scene.json"
    for amounts in ([0.2], [0.0, 0.5, 0.1]):
        save_scene(path, Scene([cube(scaling(amounts))]), {})
        found = load_scene(path)[0].bodies[0].rest_shape
        np.testing.assert_array_equal(found.amounts.samples[:, 0], amounts)
        np.testing.assert_array_equal(found.displacements[0], MESH.vertices - CENTRE)
    save_scene(path, Scene([SoftBody(MESH)]), {})
    assert "rest_shape" not in path.read_text()


@pytest.mark.parametrize("integrator", ["automatic", "implicit_euler", "midpoint", "xpbd"])
def test_a_job_gone_on_with_has_the_same_bytes(tmp_path: Path, integrator: str) -> None:
    """With gas inside, too."""
    body = cube(scaling([0.0, 0.2, 0.1, 0.3, 0.3]), target_volume=Channel([1.0, 1.3, 1.1]))
    scene = Scene([body], gravity=NOWHERE)

    def make_job(folder: Path, frames: int) -> Job:
        return Job.create(folder, scene, Settings(frames, device="cpu", integrator=integrator))

    check_same_bytes_in_parts(make_job, tmp_path)
