# SPDX-License-Identifier: GPL-3.0-or-later
"""Loss factors: the slowest vibration beside closed forms, and what a free wobble loses."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from supple.core import Ground, Scene, Simulator, SoftBody, TetMesh, tetrahedralize
from supple.core.errors import SceneError
from supple.core.integrators import XPBD, SymplecticEuler
from supple.core.materials import StableNeoHookean
from supple.core.materials.bounce import LANDING_SPEED, bounciness
from supple.core.materials.presets import PRESETS
from supple.core.preparation.loss_factors import slowest_vibration
from supple.core.preparation.prepared import prepare
from supple.core.scene.channel import Channel
from supple.verification.meshes import at_start, block

YOUNG, POISSON, DENSITY = 1e5, 0.3, 1000.0
MATERIAL = StableNeoHookean(YOUNG, POISSON)


def bar(cells=(10, 2, 2), size=(1.0, 0.1, 0.1), is_pinned=True, **settings) -> SoftBody:
    mesh = block(cells, size)
    return SoftBody(mesh, MATERIAL, pinned=at_start(mesh, 0) if is_pinned else None, **settings)


def ball(radius: float, cells: int) -> TetMesh:
    """A ball whose surface has 400 points, evenly spread."""
    number = np.arange(400) + 0.5
    polar, turn = np.arccos(1.0 - 2.0 * number / 400), math.pi * (1.0 + math.sqrt(5.0)) * number
    points = np.stack([np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)])
    hull = ConvexHull(radius * points.T)
    return tetrahedralize(hull.points, hull.simplices, edge_length=2.0 * radius / cells)


def test_a_clamped_bar_has_the_frequency_of_a_beam() -> None:
    """Euler and Bernoulli: ω = 1.875² √(E I / ρ A) / L²."""
    frequency = slowest_vibration(bar((60, 6, 6))).frequency
    expected = 1.8751**2 * math.sqrt(YOUNG * 0.1**2 / 12.0 / DENSITY) / (2.0 * math.pi)
    assert frequency == pytest.approx(expected, rel=0.05)


def test_a_free_bar_has_the_frequency_of_a_beam() -> None:
    """Euler and Bernoulli: ω = 4.730² √(E I / ρ A) / L²; a tenth as thick, shear takes 3 %."""
    frequency = slowest_vibration(bar((60, 6, 6), is_pinned=False)).frequency
    expected = 4.7300**2 * math.sqrt(YOUNG * 0.1**2 / 12.0 / DENSITY) / (2.0 * math.pi)
    assert frequency == pytest.approx(0.97 * expected, rel=0.05)


@pytest.mark.parametrize("poisson", [0.3, 0.49])
def test_a_ball_has_the_frequency_of_its_slowest_twist(poisson) -> None:
    """ω R / c = 2.501 with the speed c of shear waves, whatever Poisson's ratio: Lamb, "On the
    Vibrations of an Elastic Sphere", Proceedings of the London Mathematical Society 13, 1881."""
    material = StableNeoHookean(YOUNG, poisson)
    frequency = slowest_vibration(SoftBody(ball(0.05, 9), material, DENSITY)).frequency
    speed = math.sqrt(material.mu / DENSITY)
    assert frequency == pytest.approx(2.501 * speed / (2.0 * math.pi * 0.05), rel=0.05)


@pytest.mark.parametrize("cells", [(1, 1, 1), (12, 3, 3)], ids=["dense", "iterated"])
def test_the_frequency_goes_by_size_stiffness_and_density(cells) -> None:
    body = bar(cells, is_pinned=False)
    mesh = body.mesh.with_vertices(3.0 * body.mesh.vertices)
    other = replace(body, mesh=mesh, material=StableNeoHookean(4.0 * YOUNG, POISSON), density=250.0)
    ratio = slowest_vibration(other).frequency / slowest_vibration(body).frequency
    assert ratio == pytest.approx(4.0 / 3.0, rel=1e-3)


def test_a_hinge_and_loose_crumbs_do_not_count_as_vibrations() -> None:
    """A bar that turns about an edge bends sideways as a clamped one; a crumb beside a body, and
    one that hangs on it by a vertex, change nothing."""
    clamped, hinged = bar(), bar()
    mesh = hinged.mesh
    edge = np.flatnonzero((mesh.vertices[:, 0] < 1e-9) & (mesh.vertices[:, 2] < 1e-9))
    hinged = replace(hinged, pinned=edge)
    frequency = slowest_vibration(hinged).frequency
    assert frequency > 0.8 * slowest_vibration(clamped).frequency
    free = bar(is_pinned=False)
    tip = len(mesh.vertices) - 1
    crumbs = np.array([[2.0, 0, 0], [2.1, 0, 0], [2.0, 0.1, 0], [2.0, 0, 0.1]])
    crumbs = np.concatenate([crumbs, mesh.vertices[tip] + [[0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]])
    more = [[tip + 1, tip + 2, tip + 3, tip + 4], [tip, tip + 5, tip + 6, tip + 7]]
    whole = TetMesh(np.concatenate([mesh.vertices, crumbs]), np.concatenate([mesh.tets, more]))
    beside = slowest_vibration(replace(free, mesh=whole)).frequency
    assert beside == pytest.approx(slowest_vibration(free).frequency, rel=1e-6)


def loss(body: SoftBody, field: np.ndarray) -> float:
    """tan δ by what a wobble that begins with (N, 3) velocities keeps of its height in a swing."""
    frequency = slowest_vibration(body).frequency
    speed = 1e-3 * body.mesh.diagonal * frequency / np.abs(field).max()
    body = replace(body, initial_velocities=speed * field)
    weights = body.mesh.lumped_mass(body.density)[:, None] * field
    sim = Simulator(
        Scene([body], gravity=(0.0, 0.0, 0.0)),
        SymplecticEuler(),
        frame_time=1.0 / (24.0 * frequency),
        device="cpu",
    )
    places = [float((weights * f.positions[0].numpy()).sum()) for f in sim.run(60)]
    moved = np.array(places) - float((weights * body.mesh.vertices).sum())
    tops = [k for k in range(1, 59) if moved[k - 1] < moved[k] > moved[k + 1] and moved[k] > 0.0]
    ratio = moved[tops[1]] / moved[tops[0]]
    return -math.log(ratio) / math.pi


def without_rigid(mesh: TetMesh, field: np.ndarray) -> np.ndarray:
    """The (N, 3) velocities without momentum and angular momentum."""
    arms, mass = mesh.vertices - mesh.vertices.mean(axis=0), mesh.lumped_mass(1.0)
    turns = [np.cross(axis, arms) for axis in np.eye(3)]
    rigid = [*(np.broadcast_to(axis, arms.shape) for axis in np.eye(3)), *turns]
    weights = np.sqrt(np.repeat(mass, 3))
    basis = np.linalg.qr(weights[:, None] * np.stack([r.ravel() for r in rigid], axis=1))[0]
    weighted = weights * field.ravel()
    return ((weighted - basis @ (basis.T @ weighted)) / weights).reshape(-1, 3)


def tuned(body: SoftBody, frequency: float) -> SoftBody:
    """The same body, of a size with which it has a frequency."""
    size = slowest_vibration(body).frequency / frequency
    return replace(body, mesh=body.mesh.with_vertices(size * body.mesh.vertices))


@pytest.mark.parametrize("frequency", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("name", ["rubber", "gelatine_dessert", "foam", "sponge"])
def test_a_free_wobble_loses_what_the_loss_factor_says_at_any_size(name, frequency) -> None:
    preset = PRESETS[name]
    mesh = block((3, 3, 3))
    body = SoftBody(mesh, preset.material(), preset.density, loss_factor=preset.loss_factor)
    x, y, z = (mesh.vertices - 0.5).T
    twist = np.stack([-y * z, x * z, 0.0 * z], axis=1)
    twist = without_rigid(mesh, twist)
    assert loss(tuned(body, frequency), twist) == pytest.approx(preset.loss_factor, rel=0.1)


@pytest.mark.parametrize("frequency", [1.0, 10.0, 100.0])
def test_a_pinned_block_loses_what_the_loss_factor_says_at_any_size(frequency) -> None:
    mesh = block((3, 3, 3))
    body = SoftBody(mesh, MATERIAL, DENSITY, pinned=at_start(mesh, 2), loss_factor=0.15)
    shear = mesh.vertices[:, 2:] * [1.0, 1.0, 0.0]
    assert loss(tuned(body, frequency), shear) == pytest.approx(0.15, rel=0.1)


def viscosity(body: SoftBody):
    return prepare(Scene([body]))[0].bodies[0].viscosity


def test_it_becomes_viscosity_beside_what_is_there() -> None:
    body = bar(loss_factor=0.1)
    alone = viscosity(body)
    both = prepare(Scene([replace(body, viscosity=3.0)]))[0]
    assert both.bodies[0].viscosity == pytest.approx(3.0 + alone)
    assert both.bodies[0].loss_factor == 0.0
    assert prepare(both)[0].bodies[0].viscosity == both.bodies[0].viscosity


def test_copies_have_the_same_viscosity() -> None:
    body = bar(loss_factor=0.1)
    moved = replace(body, mesh=body.mesh.with_vertices(np.add(body.mesh.vertices, [3.0, 1.0, 0.7])))
    first, second = prepare(Scene([body, moved]))[0].bodies
    assert first.viscosity == second.viscosity


def test_a_painted_loss_factor_is_one_a_tet() -> None:
    body = bar()
    share = np.linspace(0.0, 1.0, len(body.mesh.tets))
    painted = viscosity(replace(body, loss_factor=0.2 * share))
    np.testing.assert_allclose(painted, share * viscosity(replace(body, loss_factor=0.2)))


def test_a_keyed_stiffness_counts_with_its_value_at_the_start() -> None:
    keyed = replace(bar(loss_factor=0.1), stiffness=Channel(np.array([4.0, 1.0, 9.0])))
    assert viscosity(keyed) == pytest.approx(2.0 * viscosity(bar(loss_factor=0.1)))


def test_scenes_without_a_loss_factor_are_left_as_they_are() -> None:
    body = bar(stiffness_damping=0.01, viscosity=7.0)
    same = prepare(Scene([body]))[0].bodies[0]
    assert (same.stiffness_damping, same.viscosity) == (0.01, 7.0)


def test_a_negative_loss_factor_is_refused() -> None:
    with pytest.raises(SceneError, match="loss factor must be 0 or more, not -1; soft rubber"):
        bar(loss_factor=-1.0)


def test_xpbd_knows_none() -> None:
    with pytest.raises(SceneError, match="XPBD supports no loss factor"):
        Simulator(Scene([bar(loss_factor=0.1)]), XPBD(), device="cpu")


def rebound(poisson: float, loss_factor: float, speed: float) -> float:
    """The share of its height to which a ball comes back from the ground.

    Args:
        speed: at which it lands, in speeds of its shear waves.
    """
    radius, material = 0.05, StableNeoHookean(YOUNG, poisson)
    mesh, wave = ball(radius, 7), math.sqrt(material.mu / DENSITY)
    lift = 0.02 * radius - mesh.vertices[:, 2].min()
    mesh = mesh.with_vertices(np.add(mesh.vertices, [0.0, 0.0, lift]))
    body = SoftBody(
        mesh, material, DENSITY, velocity=(0, 0, -speed * wave), loss_factor=loss_factor
    )
    scene = Scene([body], Ground(friction=0.0, distance=0.002 * radius), gravity=(0.0, 0.0, 0.0))
    seconds = radius / (4.0 * wave)
    mass, upwards = mesh.lumped_mass(DENSITY), -1.0
    for frame in Simulator(scene, SymplecticEuler(), frame_time=seconds, device="cpu").run(200):
        upwards = float(mass @ frame.velocities[0].numpy()[:, 2]) / mass.sum()
        if upwards > 0.0 and float(frame.positions[0][:, 2].min()) > 0.01 * radius:
            break
    return (upwards / (speed * wave)) ** 2


@pytest.mark.parametrize(("poisson", "speed"), [(0.49, 0.2), (0.33, 0.2), (0.33, 0.4)])
@pytest.mark.parametrize("loss_factor", [0.15, 0.5])
def test_a_ball_bounces_back_as_its_loss_factor_says(poisson, speed, loss_factor) -> None:
    """Beside one without damping, which keeps some of the energy in vibrations."""
    share = rebound(poisson, loss_factor, speed) / rebound(poisson, 0.0, speed)
    # Which landing is that of a fall of one metre, by its waves' speed.
    young = 2.0 * (1.0 + poisson) * DENSITY * (LANDING_SPEED / speed) ** 2
    damped, undamped = (bounciness(tan, young, poisson, DENSITY) for tan in (loss_factor, 0.0))
    assert share == pytest.approx(damped / undamped, abs=0.1)
