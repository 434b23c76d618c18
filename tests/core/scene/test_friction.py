# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from supple.core import (
    Collider,
    Contact,
    Ground,
    PairFriction,
    Scene,
    SceneError,
    Simulator,
    SoftBody,
    Sphere,
    SurfacePaint,
)
from supple.core.integrators import XPBD, ImplicitEuler, Integrator, SymplecticEuler
from supple.core.materials import StableNeoHookean
from supple.core.potentials.contact.friction import painted_shares
from supple.core.scene.friction import (
    Coefficients,
    FrictionTable,
    f0,
    f1,
    f1_slope,
    slide_stiffness,
)
from supple.core.simulator import Frame
from supple.verification.meshes import block

CORNERS = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
NONE = (None, None)


@pytest.fixture
def make_table(make_block):
    """Makes the table of two bodies, Jelly and Rubber, a mesh, Table, a Ball and the ground."""

    def make(jelly=NONE, rubber=NONE, table=NONE, ball=NONE, ground=NONE, **contact):
        bodies = [
            SoftBody(make_block(), friction=static, kinetic_friction=kinetic, name=name)
            for name, (static, kinetic) in (("Jelly", jelly), ("Rubber", rubber))
        ]
        mesh = Collider(CORNERS, [[0, 1, 2]], *table, name="Table")
        sphere = Sphere((9.0, 9.0, 9.0), 1.0, *_given(ball), name="Ball")
        level = Ground(0.0, *_given(ground))
        sphere.kinetic_friction, level.kinetic_friction = ball[1], ground[1]
        scene = Scene(bodies, level, colliders=[sphere, mesh], contact=Contact(**contact))
        return FrictionTable(scene)

    return make


def _given(coefficients) -> list[float]:
    return [] if coefficients[0] is None else [coefficients[0]]


# What two surfaces have together


def test_two_surfaces_have_the_geometric_mean_of_theirs(make_table) -> None:
    table = make_table((0.9, 0.4), (0.4, 0.1), (0.1, 0.0), (1.6, 0.9), (2.5, 2.5))
    static, kinetic = table.mesh_pairs
    np.testing.assert_allclose(static, [[0.9, 0.6, 0.3], [0.6, 0.4, 0.2], [0.3, 0.2, 0.1]])
    np.testing.assert_allclose(kinetic, [[0.4, 0.2, 0.0], [0.2, 0.1, 0.0], [0.0, 0.0, 0.0]])
    np.testing.assert_allclose(table.on_sphere(0), [[1.2, 0.8], [0.6, 0.3]])
    np.testing.assert_allclose(table.on_ground, [[1.5, 1.0], [1.0, 0.5]])


def test_what_has_none_takes_that_of_what_it_touches(make_table) -> None:
    table = make_table(rubber=(0.9, 0.6), ball=(0.3, 0.2), ground=(0.2, 0.1), friction=0.7)
    assert table.on_sphere(0).static[0] == 0.3 and table.on_sphere(0).kinetic[0] == 0.2
    assert table.on_ground.static[0] == 0.2 and table.on_ground.kinetic[0] == 0.1
    np.testing.assert_array_equal(table.mesh_pairs.static[1], 0.9)
    np.testing.assert_array_equal(table.mesh_pairs.kinetic[1], 0.6)


def test_where_neither_has_any_it_is_the_contacts(make_table) -> None:
    static, kinetic = make_table(friction=0.7, kinetic_friction=0.3).mesh_pairs
    np.testing.assert_array_equal(static, np.full((3, 3), 0.7))
    np.testing.assert_array_equal(kinetic, np.full((3, 3), 0.3))
    np.testing.assert_array_equal(make_table(friction=0.7).mesh_pairs.kinetic, static)


def test_the_default_of_all_is_one_half(make_table, make_block) -> None:
    np.testing.assert_array_equal(make_table().all_pairs.static, 0.5)
    np.testing.assert_array_equal(make_table().all_pairs.kinetic, 0.5)
    alone = FrictionTable(Scene([SoftBody(make_block())], Ground()))
    assert alone.on_ground == (0.5, 0.5)


def test_a_surface_with_static_friction_alone_slides_with_it(make_table) -> None:
    table = make_table((0.9, None), friction=0.5, kinetic_friction=0.2)
    assert table.mesh_pairs.kinetic[0, 0] == 0.9 and table.mesh_pairs.kinetic[1, 1] == 0.2


def test_kinetic_friction_alone_is_a_surfaces_own_and_never_above_the_static_one(
    make_table,
) -> None:
    table = make_table((None, 0.1), (None, 0.8), friction=0.5, kinetic_friction=0.3)
    np.testing.assert_array_equal(np.diag(table.mesh_pairs.static), [0.5, 0.5, 0.5])
    np.testing.assert_array_equal(np.diag(table.mesh_pairs.kinetic), [0.1, 0.5, 0.3])


def test_equal_coefficients_are_kept_whatever_their_root_rounds_to(make_table) -> None:
    for value in np.random.default_rng(1).uniform(0.0, 2.0, 50):
        assert make_table((value, None), ground=(value, None)).on_ground.static[0] == value


# Pairs that are named


@pytest.mark.parametrize(("first", "second"), [("Jelly", "Table"), ("Table", "Jelly")])
def test_a_named_pair_overrides_both_ways_and_leaves_the_others(make_table, first, second) -> None:
    table = make_table(friction=0.5, pairs=[PairFriction(first, second, 1.2, 0.8)]).mesh_pairs
    expected = np.full((3, 3), 0.5)
    expected[[0, 2], [2, 0]] = 1.2
    np.testing.assert_array_equal(table.static, expected)
    np.testing.assert_array_equal(table.kinetic, np.where(expected == 1.2, 0.8, 0.5))


def test_a_pair_may_be_a_body_and_the_ground_or_a_sphere(make_table) -> None:
    pairs = [PairFriction("Rubber", "Ground", 0.9, 0.7), PairFriction("Ball", "Jelly", 0.3)]
    table = make_table(pairs=pairs)
    np.testing.assert_array_equal(table.on_ground, [[0.5, 0.9], [0.5, 0.7]])
    np.testing.assert_array_equal(table.on_sphere(0), [[0.3, 0.5], [0.3, 0.5]])


def test_a_pair_may_be_an_object_and_itself(make_table) -> None:
    table = make_table(pairs=[PairFriction("Rubber", "Rubber", 0.9)]).mesh_pairs
    assert table.static[1, 1] == table.kinetic[1, 1] == 0.9
    assert table.static[0, 1] == 0.5


def test_of_two_tables_of_the_same_name_a_pair_means_both(make_block) -> None:
    tables = [Collider(CORNERS, [[0, 1, 2]], name="Table") for _ in range(2)]
    contact = Contact(pairs=[PairFriction("Jelly", "Table", 0.1)])
    body = SoftBody(make_block(), name="Jelly")
    table = FrictionTable(Scene([body], colliders=tables, contact=contact))
    np.testing.assert_array_equal(table.mesh_pairs.static[0], [0.5, 0.1, 0.1])


@pytest.mark.parametrize("unknown", ["ball", "jelly", ""])
def test_a_name_that_is_not_there_is_refused_with_those_that_are(make_table, unknown) -> None:
    with pytest.raises(SceneError, match=r"'.*'.*: Jelly, Rubber, Table, Ball, Ground\.$"):
        make_table(pairs=[PairFriction("Jelly", unknown, 0.5)])


# The law

RATIOS = np.array([0.0, 1e-3, 0.3, 0.99, 1.01, 1.5, 1.99, 2.01, 8.0, 1e4])


@pytest.mark.parametrize("drop", [0.0, 0.6, 1.0])
def test_each_is_the_derivative_of_the_one_before(drop: float) -> None:
    h = 1e-6
    for function, slope in ((f0, f1), (f1, f1_slope)):
        inside = RATIOS[1:]
        rise = (function(inside + h, drop) - function(inside - h, drop)) / (2.0 * h)
        np.testing.assert_allclose(rise, slope(inside, drop), atol=1e-5)


@pytest.mark.parametrize("drop", [0.0, 0.6])
def test_it_holds_up_to_the_static_coefficient_and_slides_with_the_kinetic_one(drop) -> None:
    forces = f1(np.array([0.0, 0.5, 1.0, 1.5, 2.0, 50.0]), drop)
    kinetic = 1.0 - drop
    expected = [0.0, 0.75, 1.0, 0.5 * (1.0 + kinetic), kinetic, kinetic]
    np.testing.assert_allclose(forces, expected, atol=1e-15)


def test_without_a_drop_the_energy_of_what_slides_is_its_force_times_its_way() -> None:
    np.testing.assert_allclose(f0(RATIOS[RATIOS > 1.0], 0.0), RATIOS[RATIOS > 1.0])
    assert f0(np.array(0.0), 0.0) == pytest.approx(1.0 / 3.0)


def test_stiffness_is_the_force_over_the_way_and_how_it_grows_along_it() -> None:
    limit, threshold, drop, h = 3.0, 1e-4, 0.6, 1e-11
    for length in RATIOS[1:-1] * threshold:
        across, along = slide_stiffness(length, threshold, limit, drop)
        before, after = (limit * f1((length + way) / threshold, drop) for way in (-h, h))
        assert across * length == pytest.approx(limit * f1(length / threshold, drop))
        assert along == pytest.approx((after - before) / (2.0 * h), rel=1e-4, abs=0.1)


def test_tensors_and_arrays_follow_the_same_law() -> None:
    drops = np.linspace(0.0, 1.0, len(RATIOS))
    for function in (f0, f1, f1_slope):
        found = function(torch.as_tensor(RATIOS), torch.as_tensor(drops))
        np.testing.assert_allclose(found, function(RATIOS, drops), rtol=1e-15, atol=1e-15)


def test_the_drop_is_the_share_that_is_lost_and_none_where_nothing_is() -> None:
    values = np.random.default_rng(2).uniform(0.0, 2.0, 100)
    assert not Coefficients(values, values).drop.any()
    found = Coefficients(np.array([0.5, 0.8, 0.0]), np.array([0.2, 0.8, 0.0]))
    np.testing.assert_allclose(found.drop[:2], [0.6, 0.0])
    assert math.isfinite(found.drop[2]) and found.act
    assert not Coefficients(np.zeros(2), np.zeros(2)).act


G, SLOPE, OWN, OTHER = 10.0, 0.5, 0.8, 0.2
FRAME, FRAMES = 0.02, 10
#: Between a block and what it lies on: about where it rests.
GAP = 1.85e-3
#: Of the surfaces' 0.8 and 0.2 unpainted.
WHOLE = 0.4
CELLS, SIZE = (3, 4, 1), (0.12, 0.16, 0.03)


def painted_block(factors, gap: float) -> SoftBody:
    """``factors`` of (V, 3) points, on its surface."""
    mesh = block(CELLS, SIZE, (0.0, 0.0, gap))
    paint = SurfacePaint(mesh.vertices, mesh.surface, factors(mesh.vertices))
    material = StableNeoHookean(3e5, 0.3)
    return SoftBody(
        mesh, material, stiffness_damping=2e-3, friction=OWN, friction_paint=paint, name="Block"
    )


def frames_of(scene: Scene, integrator: Integrator, **options) -> list[Frame]:
    run = Simulator(scene, integrator, frame_time=FRAME, device="cpu", **options)
    return list(run.run(FRAMES))


def acceleration(*scene, **options) -> float:
    """Down the slope, once it lies on it."""
    speeds = [float(frame.velocities[0][:, 0].mean()) for frame in frames_of(*scene, **options)]
    return (speeds[-1] - speeds[FRAMES // 2]) / (FRAME * (FRAMES - 1 - FRAMES // 2))


def expected(friction: float) -> float:
    return max(0.0, G * (math.sin(math.atan(SLOPE)) - friction * math.cos(math.atan(SLOPE))))


GRAVITY = (G * math.sin(math.atan(SLOPE)), 0.0, -G * math.cos(math.atan(SLOPE)))


def on_ground(factors) -> Scene:
    ground = Ground(distance=2e-3, friction=OTHER)
    return Scene([painted_block(factors, GAP)], gravity=GRAVITY, ground=ground)


def on_mesh(factors) -> Scene:
    plate = np.array([[-1.0, -1, 0], [3, -1, 0], [3, 1, 0], [-1, 1, 0]])
    collider = Collider(plate, np.array([[0, 1, 2], [0, 2, 3]], np.int32), friction=OTHER)
    contact = Contact(distance=2e-3)
    body = painted_block(factors, GAP)
    return Scene([body], gravity=GRAVITY, contact=contact, colliders=[collider])


def evenly(factor: float):
    return lambda points: np.full(len(points), factor)


def in_the_middle(factor: float):
    """On the middle line of the underside, along the slope; it counts for a quarter."""

    def factors(points):
        middle = np.isclose(points[:, 1], SIZE[1] / 2) & np.isclose(points[:, 2], GAP)
        return np.where(middle, factor, 1.0)

    return factors


EVERYWHERE = [
    pytest.param(on_ground, ImplicitEuler(1e-6), {"substeps": 2}, id="ground-implicit"),
    pytest.param(on_ground, SymplecticEuler(), {}, id="ground-explicit"),
    pytest.param(on_mesh, ImplicitEuler(1e-6), {"substeps": 2}, id="mesh-implicit"),
    pytest.param(on_mesh, SymplecticEuler(), {}, id="mesh-explicit"),
]


@pytest.mark.parametrize(("scene", "integrator", "options"), EVERYWHERE)
def test_it_slides_by_the_root_of_what_is_painted(scene, integrator, options) -> None:
    found = acceleration(scene(evenly(0.25)), integrator, **options)
    assert found == pytest.approx(expected(0.5 * WHOLE), rel=0.01)


@pytest.mark.parametrize(("scene", "integrator", "options"), EVERYWHERE)
def test_what_is_painted_along_a_line_counts_by_its_area(scene, integrator, options) -> None:
    found = acceleration(scene(in_the_middle(0.0)), integrator, **options)
    # Between the line and its neighbours √f is ⅔ in the mean where contacts are, else 0 and 1.
    assert expected(WHOLE) < found
    assert found == pytest.approx(expected(0.75 * WHOLE), rel=0.06)


@pytest.mark.parametrize(("scene", "integrator", "options"), EVERYWHERE)
def test_it_sticks_where_it_is_painted_rough(scene, integrator, options) -> None:
    frames = frames_of(scene(evenly(9.0)), integrator, **options)
    under = frames[-1].positions[0][:, 2] < 0.5 * SIZE[2]
    before, after = (frame.positions[0][under, 0].mean() for frame in (frames[4], frames[-1]))
    # It would have slid by 3 mm with the 0.4 of what is not painted.
    assert abs(float(after - before)) < 2e-4


def test_what_is_put_back_on_the_ground_has_it_too() -> None:
    scene = on_ground(evenly(0.25))
    body = replace(scene.bodies[0], stiffness_damping=0.0)
    assert scene.ground is not None
    scene.bodies, scene.ground = [body], replace(scene.ground, response="projection")
    for each in (SymplecticEuler(), XPBD()):
        found = acceleration(scene, each)
        assert found == pytest.approx(expected(0.5 * WHOLE), rel=0.05)


def test_the_share_of_a_pair_is_that_of_its_closest_points() -> None:
    # A point on the middle of a face whose corners have 0.1, 0.2 and 0.6; edges that cross.
    coefficients = np.array([[1.0, -0.25, -0.25, -0.5], [0.75, 0.25, -0.5, -0.5]])
    factors = np.array([[0.5, 0.1, 0.2, 0.6], [0.4, 0.8, 0.2, 0.6]])
    found = painted_shares(coefficients, factors)
    np.testing.assert_allclose(found**2, [0.5 * (0.025 + 0.05 + 0.3), 0.5 * 0.4])
