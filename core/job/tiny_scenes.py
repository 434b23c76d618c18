# SPDX-License-Identifier: GPL-3.0-or-later
"""Tiny scenes whose simulation loads and compiles the solver, a piece at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..geometry.embedding import embed
from ..geometry.tet_mesh import TetMesh
from ..materials import CorotatedLinear, StableNeoHookean, StVenantKirchhoff
from ..scene.channel import Channel
from ..scene.contact_settings import Collider, Contact, ContactSurface, Ground
from ..scene.forces import Absorber, Falloff, ForceField, VelocityGrid
from ..scene.goals import Goals
from ..scene.rest_shape import Plasticity, RestShape
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody

if TYPE_CHECKING:
    from ..integrators import Integrator

Piece = Callable[[], None]

# The number of tets at which the eight vertices of two tets are few.
CROWD = 30


def tetrahedra() -> None:
    from ..geometry.embedding import embed
    from ..meshing import tetrahedralize
    from ..meshing.report import report

    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    triangles = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    mesh = tetrahedralize(corners, triangles, edge_length=0.8)
    embed(mesh, corners)
    report(mesh, corners, triangles)


def explicit_steps() -> None:
    from ..integrators import SymplecticEuler
    from ..kernels.deformation import SHARED_TETS, VertexSums

    _steps(SymplecticEuler())
    # Of many tets another loop adds up the forces.
    many = np.zeros((4, SHARED_TETS), dtype=np.int32)
    VertexSums(many).add(np.zeros((9, SHARED_TETS)), np.zeros((3, 1)))


def implicit_steps() -> None:
    from ..integrators import ImplicitEuler

    _steps(ImplicitEuler())


def _steps(integrator: Integrator) -> None:
    for body in (_tet(), _tet_with_surface()):
        _simulate(Scene([body], Ground()), integrator)
    for sag_free in (False, True):
        drawn = replace(_tet(), goals=_goals(sag_free))
        _simulate(Scene([drawn]), integrator)


def overlap() -> None:
    from ..errors import IntersectionError
    from ..preparation.contact_surface import crosses_itself
    from ..preparation.initial_intersections import resolve_initial_intersections

    # A tip in a base is offset inwards, and one that comes out above is refused.
    for height in (0.9, 0.05):
        scene = Scene([_tet(), _tet(height)], contact=Contact())
        with contextlib.suppress(IntersectionError):
            resolve_initial_intersections(scene)
    body = _tet()
    assert isinstance(body.mesh, TetMesh)
    crosses_itself(ContactSurface(body.mesh.vertices, body.mesh.surface))


def clearance() -> None:
    from ..integrators import Automatic
    from ..integrators.explicit_stepper import MAX_SAMPLES

    # Surfaces apart by more than the activation distance, and within the search radius: of one
    # body, and of two.
    low, high = (_tet(height).mesh for height in (0.001, 1.007))
    assert isinstance(low, TetMesh) and isinstance(high, TetMesh)
    parts = TetMesh(np.concatenate([low.vertices, high.vertices]), [[0, 1, 2, 3], [4, 5, 6, 7]])
    bodies = [SoftBody(parts), _tet(height=2.013)]
    # In more steps than positions are sampled: between samples, vertices move on curves.
    scene = Scene(bodies, gravity=(0.0, 0.0, 0.0), contact=Contact())
    _simulate(scene, Automatic(), 2 * MAX_SAMPLES)
    # A surface within one tetrahedron, which holds all of its parts apart while it turns fast.
    tet = _tet().mesh
    assert isinstance(tet, TetMesh)
    inside = 0.5 * (tet.vertices + tet.vertices.mean(axis=0))
    held = ContactSurface(inside, tet.surface, embed(tet, inside))
    turning = replace(_tet(), contact_surface=held, angular_velocity=(0.0, 0.0, 30.0))
    scene = Scene([turning], gravity=(0.0, 0.0, 0.0), contact=Contact())
    _simulate(scene, Automatic(), 2 * MAX_SAMPLES)
    # Near enough for the search for parts that tetrahedra hold apart.
    _touch(Automatic())


def explicit_contact() -> None:
    from ..integrators import SymplecticEuler

    _touch(SymplecticEuler())
    # If few of many vertices are deflected, candidates are searched around these only.
    parts = [_tet(height=3.0 * index).mesh for index in range(CROWD)]
    vertices = np.concatenate([part.vertices for part in parts if isinstance(part, TetMesh)])
    crowd = SoftBody(TetMesh(vertices, np.arange(4 * CROWD).reshape(-1, 4)))
    falling = replace(_tet(height=1.02), velocity=(0.0, 0.0, -5.0))
    _simulate(
        Scene([crowd, falling], gravity=(0.0, 0.0, 0.0), contact=Contact()), SymplecticEuler()
    )
    # One collider pushes a body, and another one squeezes it until collisions and tets that would
    # invert stop it.
    for rise in (0.1, 1.0):
        _simulate(_pushed(rise), SymplecticEuler())


def _pushed(rise: float) -> Scene:
    """A body below one collider and above another that comes up by so many metres a frame."""
    corners = np.array([[-1.0, -1.0, -0.05], [3.0, -1.0, -0.05], [-1.0, 3.0, -0.05]])
    up, triangles = np.array([0.0, 0.0, 1.0]), np.array([[0, 1, 2]], dtype=np.int32)
    path = corners + rise * np.arange(3.0)[:, None, None] * up
    return Scene(
        [_tet()],
        gravity=(0.0, 0.0, 0.0),
        contact=Contact(),
        colliders=[Collider(path, triangles), Collider(corners + 1.1 * up, triangles)],
    )


def implicit_contact() -> None:
    from ..integrators import SDIRK2, ImplicitEuler

    _touch(ImplicitEuler())
    # It looks for impacts.
    _touch(SDIRK2())


def _touch(integrator: Integrator) -> None:
    # Fast enough to be stopped at the collision, which some loops are for.
    falling = replace(_tet(height=1.001), velocity=(0.0, 0.0, -5.0), friction=0.5)
    bodies = [replace(_tet(), friction=0.5), falling]
    _simulate(Scene(bodies, Ground(), contact=Contact()), integrator)


def viscosity() -> None:
    from ..integrators import ImplicitEuler, SymplecticEuler

    thick = replace(_tet(), viscosity=1.0, stiffness_damping=0.01)
    for integrator in (SymplecticEuler(), ImplicitEuler()):
        _simulate(Scene([thick], Ground()), integrator)


def plasticity() -> None:
    from ..integrators import SymplecticEuler

    # Soft enough to flow under its weight, which loops are for.
    clay = replace(_tet(), plasticity=Plasticity(1.0))
    _simulate(Scene([clay], Ground()), SymplecticEuler())


def gradients() -> None:
    import torch

    from ..adjoint import simulate
    from ..integrators import BDF2, Midpoint, SymplecticEuler

    young = torch.tensor(1e5, dtype=torch.float64, requires_grad=True)
    soft = replace(_tet(), material=StableNeoHookean(young), viscosity=1.0)
    above = replace(_tet(height=1.01), velocity=(0.0, 0.0, -1.0))
    clay = replace(soft, plasticity=Plasticity(1.0))
    seen = replace(_tet_with_surface(), material=StableNeoHookean(young))
    scenes = [Scene([clay], Ground()), Scene([seen], Ground()), *_reshaped()]
    runs: list[tuple[Scene, Integrator]] = [(scene, SymplecticEuler()) for scene in scenes]
    runs.append((Scene([soft, above], Ground(), contact=Contact()), BDF2()))
    runs.append((Scene([soft], Ground()), Midpoint()))
    for scene, integrator in runs:
        frames = simulate(scene, integrator, frames=1)
        torch.autograd.backward(frames[-1].positions[0].sum())


def _reshaped() -> list[Scene]:
    """Return scenes for gradients with respect to rest shapes."""
    import torch

    body = _tet()
    assert isinstance(body.mesh, TetMesh)
    vertices = torch.tensor(body.mesh.vertices, requires_grad=True)
    body = replace(body, mesh=TetMesh(vertices, body.mesh.tets))
    return [Scene([body]), Scene([replace(body, viscosity=1.0)])]


def bounce() -> None:
    from ..integrators import SymplecticEuler

    _simulate(Scene([_tet_with_surface()], Ground(response="projection")), SymplecticEuler())


def constraints() -> None:
    from ..integrators import XPBD

    _simulate(Scene([_tet()], Ground()), XPBD())


def stretches() -> None:
    from ..integrators import ImplicitEuler, SymplecticEuler

    for material in (CorotatedLinear(), StVenantKirchhoff()):
        _simulate(Scene([replace(_tet(), material=material)], Ground()), ImplicitEuler())
    corotated = replace(_tet(), material=CorotatedLinear())
    assert isinstance(corotated.mesh, TetMesh)
    almost_a_line = corotated.mesh.vertices * np.array([1.0, 1e-3, 1e-3])
    _simulate(Scene([replace(corotated, initial_positions=almost_a_line)]), SymplecticEuler())


def noise() -> None:
    from ..integrators import ImplicitEuler, SymplecticEuler

    field = ForceField("turbulence", is_absorbed=True)
    wall = Absorber(Channel.constant(np.eye(3)), np.array([[0, 1, 2]], dtype=np.int32))
    small = ForceField("force", falloff=Falloff(max_distance=0.1))
    for integrator in (ImplicitEuler(), SymplecticEuler()):
        _simulate(Scene([_tet()], forces=[field, small], absorbers=[wall]), integrator)
    still = VelocityGrid(np.zeros((1, 1, 1, 3), dtype=np.float32), Channel.constant(np.eye(3, 4)))
    flow = ForceField("fluid_flow", grid=still)
    _simulate(Scene([_tet()], forces=[flow]), ImplicitEuler())


def squeezed_pose() -> None:
    from ..integrators import SymplecticEuler

    body = _tet()
    assert isinstance(body.mesh, TetMesh)
    flat = body.mesh.vertices * np.array([1.0, 1.0, 0.1])
    goals = Goals(np.arange(4, dtype=np.int32), np.stack([body.mesh.vertices, flat]), sag_free=True)
    _simulate(Scene([replace(body, goals=goals, damping=0.5)]), SymplecticEuler())


def gas() -> None:
    from ..integrators import ImplicitEuler

    _simulate(Scene([replace(_tet(), target_volume=1.1)]), ImplicitEuler())


def rest_shape() -> None:
    from ..integrators import ImplicitEuler

    body = _tet()
    assert isinstance(body.mesh, TetMesh)
    amounts = Channel(np.array([[0.0], [0.1], [0.2]]))
    growing = replace(body, rest_shape=RestShape(body.mesh.vertices[None], amounts))
    _simulate(Scene([growing]), ImplicitEuler())


def _tet(height: float = 0.001) -> SoftBody:
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    corners[:, 2] += height
    return SoftBody(TetMesh(corners, [[0, 1, 2, 3]]))


def _goals(sag_free: bool) -> Goals:
    targets = Channel.constant([[0.0, 0.0, 0.1]])
    return Goals(np.array([0], dtype=np.int32), targets, sag_free=sag_free)


def _tet_with_surface() -> SoftBody:
    """Return a tet that collides with the ground at the points of a surface."""
    body = _tet()
    assert isinstance(body.mesh, TetMesh)
    points, triangles = body.mesh.vertices, body.mesh.surface
    seen = ContactSurface(points, triangles, embed(body.mesh, points))
    return replace(body, seen_surface=seen)


def _simulate(scene: Scene, integrator: Integrator, substeps: int | None = None) -> None:
    from ..simulator import Simulator

    for _ in Simulator(scene, integrator, substeps=substeps, device="cpu").run(2):
        pass


#: In the order in which a simulation needs them.
PIECES: tuple[Piece, ...] = (
    *(
        tetrahedra,
        explicit_steps,
        overlap,
        clearance,
        explicit_contact,
        implicit_contact,
        implicit_steps,
    ),
    *(viscosity, plasticity, bounce, constraints, stretches, noise, gas, rest_shape),
    *(squeezed_pose, gradients),
)
