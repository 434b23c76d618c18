# SPDX-License-Identifier: GPL-3.0-or-later
"""From what is painted on a surface to what each tet has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from supple.core import Paint, Plasticity, Scene, Simulator, SoftBody, SurfaceMesh
from supple.core.geometry.tet_mesh import TetMesh
from supple.core.integrators import ImplicitEuler, SymplecticEuler
from supple.core.job import Job, Settings, digest
from supple.core.job.scene_file import encode
from supple.core.materials import StableNeoHookean
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.core.preparation.transfers import tet_factors, with_painted_settings
from supple.core.scene.paint import PAINTED_SETTINGS
from supple.core.system import System

LENGTH, WIDTH = 2.0, 0.4


def surface_of(mesh: TetMesh, **options) -> SurfaceMesh:
    used, triangles = np.unique(mesh.surface, return_inverse=True)
    return SurfaceMesh(mesh.vertices[used], triangles.reshape(-1, 3), **options)


def bar(make_block, cells=(1, 1, 1), origin=(0.0, 0.0, 0.0), **options) -> SurfaceMesh:
    return surface_of(make_block(cells, (LENGTH, WIDTH, WIDTH), origin), **options)


def ramp(points: np.ndarray) -> np.ndarray:
    """A tenth at the start of the bar, 1 at its end."""
    return 0.1 + 0.9 * points[..., 0] / LENGTH


def centroids(mesh: TetMesh) -> np.ndarray:
    return mesh.vertices[mesh.tets].mean(axis=1)


def filled(surface: SurfaceMesh, **options) -> SoftBody:
    scene, _ = tetrahedralize_scene(Scene([SoftBody(surface, **options)]))
    return scene.bodies[0]


@pytest.mark.parametrize(("cells", "exact"), [((1, 1, 1), 1e-9), ((17, 5, 3), 5e-3)])
def test_a_linear_ramp_reaches_tets_that_end_at_the_surface(make_block, cells, exact) -> None:
    """Exactly where triangles are larger than what is looked for between them."""
    mesh, surface = make_block((10, 4, 4), (LENGTH, WIDTH, WIDTH)), bar(make_block, cells)
    found = tet_factors(mesh, surface, ramp(surface.vertices)[:, None])[:, 0]
    np.testing.assert_allclose(found, ramp(centroids(mesh)), atol=exact)


@pytest.mark.parametrize("cells", [(1, 1, 1), (40, 8, 8)])
def test_a_linear_ramp_reaches_cells_around_the_surface(make_block, cells) -> None:
    """However many vertices the surface has; beyond its ends values stay."""
    surface = bar(make_block, cells, edge_length=0.1)
    surface.paint = [Paint("young", ramp(surface.vertices))]
    body = filled(surface, material=StableNeoHookean(2e4))
    off = body.material.young / 2e4 - ramp(centroids(body.mesh))
    inside = np.abs(centroids(body.mesh)[:, 0] - LENGTH / 2) < 0.45 * LENGTH
    assert np.abs(off[inside]).max() < 4e-3
    assert np.abs(off).max() < 0.02


def test_painted_density_has_the_mass_and_the_centre_of_mass_of_the_integral(make_block) -> None:
    surface = bar(make_block, edge_length=0.1)
    surface.paint = [Paint("density", ramp(surface.vertices))]
    body = filled(surface, density=500.0)
    mass = body.mesh.lumped_mass(body.density)
    assert mass.sum() == pytest.approx(500.0 * 0.55 * LENGTH * WIDTH**2, rel=5e-3)
    # ∫ (0.1 + 0.9 s) s ds / ∫ (0.1 + 0.9 s) ds over s from 0 to 1
    centre = (0.05 + 0.3) / 0.55 * LENGTH
    assert (mass @ body.mesh.vertices[:, 0]) / mass.sum() == pytest.approx(centre, rel=5e-3)


def test_parts_that_lie_closer_than_a_cell_keep_their_own_paint(make_block) -> None:
    size, gap = (1.0, 0.4, 0.3), 0.03
    lower, upper = (make_block((10, 4, 3), size, (0, 0, z)) for z in (0.0, size[2] + gap))
    both = TetMesh(
        np.concatenate([lower.vertices, upper.vertices]),
        np.concatenate([lower.tets, upper.tets + len(lower.vertices)]),
    )
    surface = surface_of(both, edge_length=0.1)
    is_upper = surface.vertices[:, 2] > size[2] + gap / 2
    surface.paint = [Paint("young", np.where(is_upper, 1.0, 0.1))]
    body = filled(surface, material=StableNeoHookean(1.0))
    np.testing.assert_allclose(np.unique(body.material.young.round(6)), [0.1, 1.0])
    heights = centroids(body.mesh)[:, 2]
    assert heights[body.material.young > 0.5].min() > size[2] - 0.12
    assert heights[body.material.young < 0.5].max() < size[2] + gap + 0.12


def test_each_setting_is_multiplied_by_its_own_paint(make_block) -> None:
    mesh, surface = make_block((4, 1, 1), (LENGTH, WIDTH, WIDTH)), bar(make_block)
    surface.paint = [
        Paint(name, np.full(8, 0.1 * (k + 1))) for k, name in enumerate(PAINTED_SETTINGS)
    ]
    body = SoftBody(
        *(surface, StableNeoHookean(1e4, 0.3), 1000.0),
        damping=2.0,
        stiffness_damping=0.01,
        viscosity=0.0,
        plasticity=Plasticity(50.0),
    )
    found = with_painted_settings(body, surface, mesh)
    for value, expected in (
        (found.material.young, 1e3),
        (found.density, 200.0),
        (found.damping, 0.6),
        (found.stiffness_damping, 0.004),
        (found.plasticity.yield_stress, 30.0),
    ):
        np.testing.assert_allclose(value, np.full(len(mesh.tets), expected))
    assert found.viscosity == 0.0
    np.testing.assert_allclose(found.friction_paint.at(mesh.vertices), 0.7)
    assert found.material.poisson == 0.3


@pytest.mark.parametrize("integrator", [SymplecticEuler(), ImplicitEuler(1e-6)])
def test_one_value_for_all_tets_is_the_number(make_block, integrator) -> None:
    mesh = make_block((3, 1, 1))
    pinned = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    values = {"density": 300.0, "damping": 1.5, "stiffness_damping": 0.004, "viscosity": 5.0}
    each = {name: np.full(len(mesh.tets), value) for name, value in values.items()}
    found = []
    for young, settings in ((1e4, values), (np.full(len(mesh.tets), 1e4), each)):
        body = SoftBody(mesh, StableNeoHookean(young, 0.3), pinned=pinned, **settings)
        *_, last = Simulator(Scene([body]), integrator, device="cpu").run(2)
        found.append(last.positions[0])
    assert float((found[0] - torch.as_tensor(mesh.vertices)).abs().max()) > 0.01
    torch.testing.assert_close(*found, rtol=0.0, atol=1e-8)


def test_vertices_are_damped_as_the_mass_of_the_tets_around_them_is(make_block) -> None:
    mesh, random = make_block((2, 1, 1)), np.random.default_rng(5)
    damping, density = random.uniform(0.0, 3.0, len(mesh.tets)), random.uniform(1, 9, 12)
    other = SoftBody(make_block((1, 1, 1)), damping=7.0)
    scene = Scene([SoftBody(mesh, density=density, damping=damping), other])
    system = System(scene, torch.device("cpu"), torch.float64)
    assert isinstance(system.damping, torch.Tensor)
    resisted = float((system.damping * system.mass)[: len(mesh.vertices)].sum())
    assert resisted == pytest.approx(float((damping * density * mesh.rest_volumes).sum()))
    np.testing.assert_array_equal(system.damping[len(mesh.vertices) :], 7.0)
    vertex = int(mesh.tets[0, 0])
    around = (mesh.tets == vertex).any(axis=1)
    mean = np.average(damping[around], weights=(density * mesh.rest_volumes)[around])
    assert float(system.damping[vertex]) == pytest.approx(mean)


def test_paint_comes_back_from_the_folder_and_changes_the_digest(make_block, tmp_path: Path):
    settings = Settings(2)

    def painted(value: float) -> Scene:
        paint = [Paint("young", np.full(8, value)), Paint("density", np.ones(8))]
        return Scene([SoftBody(bar(make_block, paint=paint))])

    Job.create(tmp_path, painted(0.5), settings)
    read = Job(tmp_path).scene
    (young, density) = read.bodies[0].mesh.paint
    assert (young.setting, density.setting) == ("young", "density")
    np.testing.assert_array_equal(young.factors, np.full(8, 0.5))
    assert digest(read, settings) == digest(painted(0.5), settings)
    assert digest(read, settings) != digest(painted(0.6), settings)


def test_values_of_tets_come_back_from_the_folder_as_they_were(make_block, tmp_path: Path) -> None:
    surface = bar(make_block, edge_length=0.3)
    names = ("young", "density", "damping")
    surface.paint = [Paint(name, ramp(surface.vertices)) for name in names]
    job = Job.create(tmp_path, Scene([SoftBody(surface, damping=2.0)]), Settings(2))
    job.write_tet_scene(*tetrahedralize_scene(job.scene))
    (made,), (read,) = tetrahedralize_scene(job.scene)[0].bodies, Job(tmp_path).tet_scene.bodies
    assert np.ptp(read.density) > 100.0
    np.testing.assert_array_equal(read.density, made.density)
    np.testing.assert_array_equal(read.damping, made.damping)
    np.testing.assert_array_equal(read.material.young, made.material.young)


def test_a_surface_without_paint_is_written_as_ever(make_block) -> None:
    assert "paint" not in encode(bar(make_block), "surface", {})
