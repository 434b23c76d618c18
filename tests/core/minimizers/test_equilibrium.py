# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest
import torch

from supple.core import (
    Collider,
    Contact,
    Falloff,
    ForceField,
    Ground,
    InstabilityError,
    Scene,
    SceneError,
    Simulator,
    SoftBody,
    Sphere,
    SurfaceMesh,
    tetrahedralize,
)
from supple.core.integrators import SymplecticEuler
from supple.core.materials import MODELS, Linear, NeoHookean, StableNeoHookean, StVenantKirchhoff
from supple.tests.core.balls import ball_surface, soft_ball
from supple.tests.core.boxes import BOX_TRIANGLES, box_corners
from supple.verification.felupe_rest import rest_positions
from supple.verification.laws import law_of
from supple.verification.meshes import graded_ball


def test_a_hanging_bar_is_as_long_as_the_closed_form_says(make_block) -> None:
    # ν = 0: u(L) = ρ g L² / 2E at small strain; linear tets are exact at the nodes of a bar.
    mesh = make_block((1, 1, 8), (0.1, 0.1, 1.0))
    top = np.flatnonzero(mesh.vertices[:, 2] == 1.0)
    body = SoftBody(mesh, StableNeoHookean(1e8, 0.0), pinned=top)
    rest = Simulator(Scene([body])).settle()
    sag = -float(rest.positions[0][mesh.vertices[:, 2] == 0.0, 2].mean())
    assert sag == pytest.approx(1000.0 * 9.81 / 2e8, rel=1e-3)
    assert rest.report.solver_statistics.converged
    assert float(rest.velocities[0].abs().max()) == 0.0


def test_a_body_dropped_on_the_ground_settles_on_its_whole_weight(make_block) -> None:
    body = SoftBody(make_block((3, 3, 3), origin=(0, 0, 0.5)), StableNeoHookean(3e4, 0.45))
    simulator = Simulator(Scene([body], ground=Ground()))
    rest = simulator.settle()
    assert simulator.system.ground_barrier is not None
    force = float(simulator.system.ground_barrier.normal_force(simulator.state.positions).sum())
    assert force == pytest.approx(9810.0, rel=1e-6)
    assert rest.report.minimum_ground_distance > 0.0


def test_a_settled_body_stays_where_it_is(make_block) -> None:
    body = SoftBody(make_block(origin=(0, 0, 0.1)), StableNeoHookean(1e5, 0.3))
    simulator = Simulator(Scene([body], ground=Ground(friction=0.0)))
    rest = simulator.settle()
    *_, after = simulator.run(12)
    assert float((after.positions[0] - rest.positions[0]).abs().max()) < 1e-6


def test_equilibrium_does_not_depend_on_where_it_is_looked_for_from(make_block) -> None:
    mesh = make_block((4, 1, 1), (1.0, 0.2, 0.2))
    left = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    stretched = mesh.vertices * [1.8, 1.0, 1.0]
    ends = [
        Simulator(
            Scene(
                [SoftBody(mesh, StableNeoHookean(2e5, 0.4), pinned=left, initial_positions=start)]
            )
        ).settle()
        for start in (None, stretched)
    ]
    torch.testing.assert_close(ends[0].positions[0], ends[1].positions[0], rtol=0, atol=1e-7)


def test_a_body_that_nothing_holds_is_named_with_the_cure(make_block) -> None:
    body = SoftBody(make_block(), name="Block")
    with pytest.raises(
        InstabilityError, match=r"Block: nothing holds .* Pin vertices, add a ground"
    ):
        Simulator(Scene([body])).settle()


def test_a_body_settles_on_a_mesh_but_not_on_what_only_explicit_steps_meet(make_block) -> None:
    mesh = make_block((1, 1, 1), (0.1, 0.1, 0.1), (0.0, 0.0, 0.01))
    body = SoftBody(mesh, StableNeoHookean(2e4, 0.4), friction=0.0)
    corners = np.array([[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [0.0, 1.0, 0.0]])
    table = Collider(corners, [[0, 1, 2]], friction=0.0)
    lowest = Simulator(Scene([body], colliders=[table])).settle().positions[0][:, 2].min()
    assert 0.0 < float(lowest) < 1e-3
    ball, bouncy = Sphere((0.0, 0.0, -1.0), 0.9), Ground(response="projection")
    for scene in (Scene([body], colliders=[ball]), Scene([body], bouncy)):
        with pytest.raises(SceneError, match="need"):
            Simulator(scene, SymplecticEuler()).settle()


def test_settling_leaves_an_explicit_run_its_materials(make_block) -> None:
    # Explicit steps need Neo-Hookean's continuation through J = 0; settling does without.
    mesh = make_block()
    pinned = np.flatnonzero(mesh.vertices[:, 2] == 1.0)
    scene = Scene([SoftBody(mesh, NeoHookean(1e5, 0.3), pinned=pinned)])
    simulator = Simulator(scene, SymplecticEuler())
    crushed = simulator.system.rest_positions() * -0.5
    before = float(simulator.system.elasticities[0].energy(crushed))
    simulator.settle()
    assert float(simulator.system.elasticities[0].energy(crushed)) == before


def test_a_ball_that_rolls_freely_on_a_fine_contact_settles() -> None:
    """Small tets weigh little: their forces have to vanish although nothing holds the ball."""
    ball = graded_ball(0.1, 8, 6.0)
    mesh = ball.with_vertices(ball.vertices + np.array([0.0, 0.0, 0.1]))
    body = SoftBody(mesh, StableNeoHookean(1e6, 0.3), density=250.0)
    simulator = Simulator(Scene([body], ground=Ground(friction=0.0)))
    frame = simulator.settle()
    carried = simulator.system.ground_barrier.normal_force(frame.positions[0].T)
    assert float(carried.sum()) == pytest.approx(250.0 * mesh.rest_volumes.sum() * 9.81, rel=1e-6)


def _leaning_egg() -> SoftBody:
    points, triangles = ball_surface(3)
    across, _, along = (points * [0.5, 0.6, 1.0]).T
    cos, sin = np.cos(0.5), np.sin(0.5)
    points[:, 0], points[:, 1] = cos * across + sin * along, 0.6 * points[:, 1]
    points[:, 2] = cos * along - sin * across
    points[:, 2] += 0.05 - points[:, 2].min()
    surface = SurfaceMesh(points, triangles.astype(np.int32), edge_length=0.2)
    return SoftBody(surface, StableNeoHookean(3e4, 0.45), name="Egg")


@pytest.mark.parametrize("contact", [None, Contact()], ids=["alone", "with contact"])
def test_a_body_that_topples_settles_on_its_visible_mesh(contact) -> None:
    """Its points share vertices, and where it comes to lie is a way off: friction does not pull it
    back."""
    simulator = Simulator(Scene([_leaning_egg()], ground=Ground(), contact=contact))
    frame = simulator.settle()
    body = simulator.scene.bodies[0]
    barrier = simulator.system.ground_barrier
    assert body.seen_surface is not None and barrier is not None
    height = float(frame.positions[0][:, 2].max())
    assert height < 0.55  # from 0.95
    carried = barrier.normal_force(simulator.state.positions)
    mass = float(simulator.system.mass.sum())
    assert float(carried.sum()) == pytest.approx(9.81 * mass, rel=1e-6)
    assert frame.report.solver_statistics.iterations < 400


def test_a_ball_settles_on_the_points_of_its_visible_mesh() -> None:
    body = soft_ball((0.0, 0.0, 0.6), resolution=4, subdivisions=3)
    frame = Simulator(Scene([body], ground=Ground())).settle()
    assert frame.report.solver_statistics.iterations < 200


def test_a_start_inside_out_is_refused_where_the_model_is_undefined(make_block) -> None:
    mesh = make_block()
    body = SoftBody(
        mesh, NeoHookean(), initial_positions=mesh.vertices * [1.0, 1.0, -1.0], name="Glove"
    )
    with pytest.raises(SceneError, match=r"Glove: 48 tets are .* inside out"):
        Simulator(Scene([body], gravity=(0.0, 0.0, 0.0))).settle()


@pytest.mark.parametrize(
    "material", [StableNeoHookean(2e6, 0.45), StVenantKirchhoff(2e5, 0.3)], ids=repr
)
def test_a_slender_beam_of_uneven_tets_settles(material) -> None:
    """The residual at the end lies in its softest bending, far below the rounding of the energy."""
    corners = box_corners(size=(0.8, 0.2, 0.2))
    mesh = tetrahedralize(corners, BOX_TRIANGLES, edge_length=0.067)
    clamped = np.flatnonzero(mesh.vertices[:, 0] < 0.02)
    frame = Simulator(Scene([SoftBody(mesh, material, pinned=clamped)])).settle()
    assert frame.report.solver_statistics.iterations < 200


def test_fields_pull_as_they_do_where_a_body_rests(make_block) -> None:
    """Not as the last step took them, which is linear about its start."""
    mesh = make_block((1, 1, 2), (0.1, 0.1, 0.2), (0.0, 0.0, 0.3))
    pinned = np.flatnonzero(mesh.vertices[:, 2] > 0.49)
    body = SoftBody(mesh, StableNeoHookean(2e4, 0.4), pinned=pinned)
    vortex = ForceField("vortex", 3.0, (0.3, 0.1, 0.2), (0.1, 0.2, 1.0), "plane")
    push = ForceField("force", 4.0, (0.3, -0.2, 0.35), falloff=Falloff(power=1.5))
    simulator = Simulator(Scene([body], forces=[vortex, push]))
    simulator.settle()
    system, positions = simulator.system, simulator.state.positions
    force = torch.zeros_like(positions)
    system.add_forces(positions, torch.zeros_like(positions), force)
    assert float((force * system.inverse_mass).norm(dim=0).max()) < 1e-6


DENSITY, GRAVITY = 1000.0, 9.81


@pytest.mark.parametrize("poisson", [0.3, 0.45])
@pytest.mark.parametrize("model", MODELS)
def test_a_cantilever_bends_as_it_does_in_an_independent_code(
    make_block, model: str, poisson: float
) -> None:
    mesh = make_block((8, 2, 2), (0.8, 0.2, 0.2))
    clamped = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    body = SoftBody(mesh, MODELS[model](2e5, poisson), DENSITY, pinned=clamped)
    rest = Simulator(Scene([body], gravity=(0.0, 0.0, -GRAVITY))).settle()
    weight = (0.0, 0.0, -DENSITY * GRAVITY)
    expected = rest_positions(mesh, clamped, law_of(model, 2e5, poisson), weight)
    deflection = float(np.abs(expected - mesh.vertices).max())
    assert deflection > 0.2  # far from small strain
    np.testing.assert_allclose(rest.positions[0].numpy(), expected, atol=1e-6 * deflection)


def test_the_linear_cantilever_sinks_as_in_another_independent_code(make_block) -> None:
    # On this mesh, of its tip on average, in metres.
    mesh = make_block((8, 2, 2), (0.8, 0.2, 0.2))
    clamped = np.flatnonzero(mesh.vertices[:, 0] == 0.0)
    body = SoftBody(mesh, Linear(2e5, 0.3), DENSITY, pinned=clamped)
    rest = Simulator(Scene([body], gravity=(0.0, 0.0, -GRAVITY))).settle()
    tip = mesh.vertices[:, 0] == 0.8
    sunk = (mesh.vertices - rest.positions[0].numpy())[tip, 2]
    assert sunk.mean() == pytest.approx(0.412614559, rel=1e-6)
