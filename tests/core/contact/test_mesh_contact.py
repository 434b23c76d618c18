# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch

from supple.core import Collider, Contact, ContactSurface, PairFriction, Scene, SoftBody, TetMesh
from supple.core.contact.mesh_contact import MeshContact
from supple.core.discretize import discretize
from supple.core.materials import StableNeoHookean
from supple.verification.exact_intersections import count_intersections
from supple.verification.meshes import block

pytest.importorskip("ipctk")

REACH = 0.05
SLIP = 1e-3
FORMULATIONS = ["convergent", "original"]
TRIANGLE = np.array([[-5.0, -5, 0], [5, -5, 0], [0, 9, 0]])
#: A table much wider than what lies on it.
TABLE = np.array([[-9.0, -8, 0], [9, -8, 0], [9, 8, 0], [-9, 8, 0]])
HALVES = np.array([[0, 1, 2], [0, 2, 3]])
BOX_FACES = block((1, 1, 1)).surface


def contact_of(scene: Scene) -> MeshContact:
    solids = discretize(scene)[0]
    meshes = [body.mesh for body in solids.bodies]
    mass = np.concatenate([mesh.lumped_mass(1000.0) for mesh in meshes])
    return MeshContact(solids, meshes, float(mass.mean()))


def rest(scene: Scene) -> torch.Tensor:
    """(3, N)."""
    return torch.as_tensor(np.concatenate([body.mesh.vertices for body in scene.bodies]).T.copy())


def shaken(positions: torch.Tensor, amount: float, seed: int) -> torch.Tensor:
    random = torch.Generator().manual_seed(seed)
    return positions + amount * torch.randn(positions.shape, generator=random, dtype=torch.float64)


def gradient(contact: MeshContact, positions: torch.Tensor) -> torch.Tensor:
    """(3, N)."""
    out = torch.zeros_like(positions)
    contact.add_gradient(positions, out)
    return out


# Energies and their derivatives


def stack(formulation: str, surface: str, friction: dict[str, float]) -> Scene:
    """A block above another one, close to it, and over a table."""
    meshes = [block((2, 1, 1)), block((1, 2, 1), (0.8, 0.7, 0.9), (0.13, 0.11, 1.0 + 0.4 * REACH))]
    around = None
    if surface == "embedded":
        # Not quite that of the tetrahedra it lies in.
        box = block((1, 1, 1), (0.8, 0.7, 0.9), (0.13, 0.11, 1.0 + 0.4 * REACH)).vertices
        box[:, 0] += 0.05 * box[:, 1]
        around = ContactSurface(box, BOX_FACES)
    bodies = [
        SoftBody(meshes[0], StableNeoHookean(1e5, 0.3)),
        SoftBody(meshes[1], StableNeoHookean(1e5, 0.3), contact_surface=around),
    ]
    contact = Contact(distance=REACH, formulation=formulation, stiffness=1e6, **friction)
    table = Collider(TABLE - [0.0, 0.0, 0.5 * REACH], HALVES)
    return Scene(bodies, colliders=[table], contact=contact)


FRICTION = {
    "frictionless": ({"friction": 0.0}, 0.0),
    "sticking": ({"friction": 0.7}, 0.3),
    "sliding": ({"friction": 0.7}, 20.0),
    "kinetic, sticking": ({"friction": 0.7, "kinetic_friction": 0.3}, 0.3),
    "kinetic, breaking loose": ({"friction": 0.7, "kinetic_friction": 0.3}, 1.4),
    "kinetic, sliding": ({"friction": 0.7, "kinetic_friction": 0.3}, 20.0),
}


@pytest.fixture(params=FRICTION)
def friction(request) -> str:
    return request.param


@pytest.fixture(params=["boundary", "embedded"])
def surface(request) -> str:
    return request.param


@pytest.fixture
def at_work(formulation, surface, friction) -> tuple[MeshContact, torch.Tensor]:
    """In a step that began where the upper block and the lower one lay further back."""
    coefficients, ways = FRICTION[friction]
    scene = stack(formulation, surface, coefficients)
    contact, positions = contact_of(scene), shaken(rest(scene), 0.05 * REACH, 1)
    back = torch.zeros_like(positions)
    own = len(scene.bodies[0].mesh.vertices)
    direction = torch.tensor([0.8, 0.6, 0.0], dtype=torch.float64)[:, None]
    back[:, own:] = 2.0 * ways * SLIP * direction
    back[:, :own] = ways * SLIP * direction
    contact.begin_step(positions - back, SLIP, lagged=positions)
    contact.stay(positions)
    return contact, positions


@pytest.mark.parametrize("formulation", FORMULATIONS)
class TestDerivatives:
    STEP = 1e-6 * REACH

    def test_the_gradient_is_the_slope_of_the_energy(self, at_work) -> None:
        contact, positions = at_work
        assert float(contact.energy(positions)) > 0.0
        found = gradient(contact, positions)
        for seed in range(3):
            way = shaken(torch.zeros_like(positions), 1.0, 10 + seed)
            after, before = (
                float(contact.energy(positions + sign * self.STEP * way)) for sign in (1, -1)
            )
            slope = (after - before) / (2.0 * self.STEP)
            assert float((found * way).sum()) == pytest.approx(slope, rel=1e-5)

    def test_the_second_derivative_of_friction_is_that_of_its_gradient(
        self, at_work, friction
    ) -> None:
        if friction == "kinetic, breaking loose":
            pytest.skip("test_friction looks at what is clamped where it softens")
        contact, positions = at_work
        exact = contact.hessian(positions, False)
        barrier = contact.barrier.hessian(contact._collisions, contact._points)
        matrix = contact.surface.pull_back_matrix(exact - barrier)

        def rubbed(at: torch.Tensor) -> torch.Tensor:
            if contact._friction is None:
                return torch.zeros_like(at)
            return torch.as_tensor(
                contact.surface.pull_back(contact._friction.gradient(contact.points(at)))
            )

        for seed in range(3):
            way = shaken(torch.zeros_like(positions), 1.0, 20 + seed)
            after, before = (rubbed(positions + sign * self.STEP * way) for sign in (1, -1))
            change = ((after - before) / (2.0 * self.STEP)).numpy()
            found = (matrix @ way.T.reshape(-1).numpy()).reshape(-1, 3).T
            limit = 1e-5 * np.abs(change).max() + 1e-12 * np.abs(barrier).max()
            np.testing.assert_allclose(found, change, rtol=1e-5, atol=limit)

    def test_both_second_derivatives_are_positive_semidefinite_and_the_projected_one_not_less(
        self, at_work
    ) -> None:
        contact, positions = at_work
        exact, projected = (contact.hessian(positions, flag).toarray() for flag in (False, True))
        least = -1e-9 * np.linalg.eigvalsh(projected)[-1]
        for matrix in (exact, projected):
            assert np.abs(matrix - matrix.T).max() <= 1e-9 * np.abs(matrix).max()
            assert np.linalg.eigvalsh(matrix)[0] >= least
        assert np.linalg.eigvalsh(projected - exact)[0] >= least

    def test_what_is_dragged_changes_the_gradient(self, at_work) -> None:
        contact, positions = at_work
        way = shaken(torch.zeros_like(positions), 1.0, 31)
        aside = np.random.default_rng(5).normal(size=contact.colliders.shape)
        found = contact.drag(positions, way, aside)
        matrix = contact.hessian(positions, True)
        moved = contact.surface.points(way.numpy(), aside)
        change = (matrix @ np.ascontiguousarray(moved).ravel()).reshape(-1, 3)
        np.testing.assert_allclose(found, contact.surface.pull_back(change), rtol=1e-10)

    def test_forces_inside_cancel_out_but_for_what_the_table_bears(self, at_work) -> None:
        contact, positions = at_work
        pressed = contact.barrier.gradient(
            contact._detection.collisions(contact.points(positions)), contact.points(positions)
        )
        np.testing.assert_allclose(pressed.sum(axis=0), 0.0, atol=1e-9 * np.abs(pressed).max())


@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_against_being_pressed_a_point_over_the_middle_of_a_triangle_is_as_stiff_as_it_seems(
    formulation, projected
) -> None:
    corners = DART.mesh.vertices + np.array([0.0, 0.0, 0.4 * REACH - 1.0])
    scene = Scene(
        [tet(*corners)],
        colliders=[Collider(TRIANGLE - TRIANGLE.mean(axis=0), [[0, 1, 2]])],
        contact=Contact(distance=REACH, friction=0.0, formulation=formulation, stiffness=1e6),
    )
    contact, positions = contact_of(scene), rest(scene)
    contact.stay(positions)
    assert contact.count(positions) == 1
    # There, and along this way, the barrier is convex: projected, it is the same.
    way, step = torch.zeros_like(positions), 1e-6 * REACH
    way[2] = 1.0
    after, before = (gradient(contact, positions + sign * step * way) for sign in (1, -1))
    change = (after - before).numpy() / (2.0 * step)
    assert change[2, 0] > 0.0
    matrix = contact.surface.pull_back_matrix(contact.hessian(positions, projected))
    found = (matrix @ way.T.reshape(-1).numpy()).reshape(-1, 3).T
    np.testing.assert_allclose(found, change, atol=1e-6 * np.abs(change).max())


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_beyond_its_distance_nothing_pushes_and_nothing_is_close(formulation) -> None:
    scene = stack(formulation, "boundary", {"friction": 0.5})
    contact, positions = contact_of(scene), rest(scene)
    positions[2] += 0.6 * REACH
    positions[2, len(scene.bodies[0].mesh.vertices) :] += 0.7 * REACH
    contact.begin_step(positions, SLIP)
    contact.stay(positions)
    assert float(contact.energy(positions)) == 0.0
    assert not gradient(contact, positions).any()
    assert contact.hessian(positions, False).nnz == 0
    assert contact.count(positions) == 0
    assert math.isinf(contact.gap(positions))


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_gap_is_the_least_distance_between_surfaces(formulation) -> None:
    scene = stack(formulation, "boundary", {"friction": 0.0})
    contact, positions = contact_of(scene), rest(scene)
    contact.stay(positions)
    assert contact.gap(positions) == pytest.approx(0.4 * REACH, rel=1e-9)
    closer = positions - torch.tensor([[0.0], [0.0], [0.2 * REACH]], dtype=torch.float64)
    contact.stay(closer)
    assert contact.gap(closer) == pytest.approx(0.3 * REACH, rel=1e-9)
    assert contact.count(closer) > 0


def test_the_energy_grows_without_bound_as_surfaces_come_close() -> None:
    scene = stack("convergent", "boundary", {"friction": 0.0})
    contact, positions = contact_of(scene), rest(scene)
    energies = []
    for gap in (0.9, 0.5, 0.1, 1e-4, 1e-8):
        moved = positions.clone()
        moved[2] += (gap - 0.5) * REACH
        contact.stay(moved)
        energies.append(float(contact.energy(moved)))
    assert energies == sorted(energies)
    assert energies[-1] > 1.5 * energies[-2] > 0.0


def test_by_area_the_force_does_not_depend_on_the_mesh() -> None:
    forces = []
    for cells in (2, 4, 8):
        scene = Scene(
            [SoftBody(block((cells, cells, 1)))],
            colliders=[Collider(TRIANGLE - [0.0, 0.0, 0.5 * REACH], [[0, 1, 2]])],
            contact=Contact(distance=REACH, friction=0.0, stiffness=1e6),
        )
        contact, positions = contact_of(scene), rest(scene)
        contact.stay(positions)
        forces.append(float(gradient(contact, positions)[2].sum()))
    assert forces[1:] == pytest.approx(forces[:-1], rel=1e-9)


# Friction


def pyramid(**contact) -> tuple[MeshContact, torch.Tensor, list[slice]]:
    """Ever smaller bodies on top of each other over a table, half their reach apart; no corner is
    near an edge of what lies below it, so that all forces are vertical."""
    sizes = [(1.6, 1.6, 0.5), (1.2, 0.6, 0.5), (0.3, 0.45, 0.5)]
    bodies, ends = [], [0]
    for level, (size, own) in enumerate(zip(sizes, (0.9, 0.4, None), strict=True)):
        corner = (-0.5 * size[0], -0.5 * size[1], (0.5 + 0.5 * REACH) * level + 0.5 * REACH)
        mesh = block((1, 1, 1), size, corner)
        bodies.append(SoftBody(mesh, friction=own, name=f"Level {level}"))
        ends.append(ends[-1] + len(mesh.vertices))
    table = Collider(TRIANGLE, [[0, 1, 2]], friction=0.2, kinetic_friction=0.1, name="Table")
    scene = Scene(bodies, colliders=[table], contact=Contact(distance=REACH, **contact))
    where = [slice(a, b) for a, b in itertools.pairwise(ends)]
    return contact_of(scene), rest(scene), where


#: Where each level goes relative to what lies below it.
SLIDES = torch.tensor([[1.0, 0, 0], [0, 1.0, 0], [-0.6, 0.8, 0]], dtype=torch.float64)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_each_pair_rubs_with_its_own_coefficient_times_the_normal_force(formulation) -> None:
    options = {"friction": 0.6, "formulation": formulation, "stiffness": 1e5}
    named = [PairFriction("Level 2", "Level 1", 0.3, 0.25)]
    contact, positions, levels = pyramid(pairs=named, **options)
    start, shift = positions.clone(), torch.zeros(3, dtype=torch.float64)
    for where, slide in zip(levels, SLIDES, strict=True):
        shift = shift + 5.0 * SLIP * slide
        start[:, where] -= shift[:, None]
    contact.begin_step(start, SLIP, lagged=positions)
    contact.stay(positions)
    with_friction = gradient(contact, positions)
    contact._friction = None
    pressed = gradient(contact, positions)
    rubbed = torch.stack([(with_friction - pressed)[:, where].sum(1) for where in levels])
    # What lies above a level is borne through it.
    normal = -torch.stack([pressed[2, where].sum() for where in levels]).flip(0).cumsum(0).flip(0)
    assert (normal > 0.0).all()
    expected = torch.tensor([math.sqrt(0.9 * 0.1), math.sqrt(0.9 * 0.4), 0.25], dtype=torch.float64)
    own = (expected * normal)[:, None] * SLIDES
    own[:-1] -= own[1:].clone()
    torch.testing.assert_close(rubbed, own, rtol=1e-6, atol=1e-6 * float(normal.max()))


@pytest.mark.parametrize(("ways", "share"), [(0.25, 0.4375), (0.5, 0.75), (1.0, 1.0), (3.0, 1.0)])
def test_what_sticks_is_held_by_a_part_of_the_force_that_breaks_it_loose(ways, share) -> None:
    assert rubbing(ways, friction=0.5) == pytest.approx(0.5 * share, rel=1e-6)


@pytest.mark.parametrize("ways", [2.0, 9.0])
def test_what_slides_is_held_with_the_kinetic_coefficient(ways) -> None:
    assert rubbing(ways, friction=0.8, kinetic_friction=0.2) == pytest.approx(0.2, rel=1e-6)


def test_before_it_slides_it_is_held_with_up_to_the_static_coefficient() -> None:
    held = [rubbing(w, friction=0.8, kinetic_friction=0.2) for w in np.linspace(0.05, 2.0, 40)]
    assert max(held) == pytest.approx(0.8, rel=0.01)


def rubbing(ways: float, **friction) -> float:
    """Friction in units of the normal force, so many slips from where a block began."""
    scene = Scene(
        [SoftBody(block((2, 2, 1), (1.0, 1.0, 0.3), (0.0, 0.0, 0.4 * REACH)))],
        colliders=[Collider(TRIANGLE, [[0, 1, 2]])],
        contact=Contact(distance=REACH, **friction),
    )
    contact, positions = contact_of(scene), rest(scene)
    start = positions.clone()
    start[0] -= ways * SLIP
    contact.begin_step(start, SLIP, lagged=positions)
    contact.stay(positions)
    total = gradient(contact, positions).sum(1)
    assert abs(float(total[1])) < 1e-9 * abs(float(total[2]))
    return float(-total[0] / total[2])


def test_friction_holds_with_the_forces_it_was_given_last_and_as_often_as_allowed() -> None:
    contact, positions, levels = pyramid(friction=0.5, friction_updates=2, stiffness=1e5)
    closer, closest = positions.clone(), positions.clone()
    closer[2, levels[2]] -= 0.1 * REACH
    closest[2, levels[2]] -= 0.2 * REACH
    aside = torch.zeros_like(positions)
    aside[0, levels[2]] = SLIP
    contact.begin_step(positions, SLIP)
    contact.sweep(positions, closest + aside)
    held = friction_at(contact, positions + aside)
    assert held > 0.0
    assert friction_at(contact, closer + aside) == pytest.approx(held, rel=1e-3)
    changed, whole = contact.lag(closer)
    assert 0.0 < changed < whole
    grown = friction_at(contact, closer + aside)
    assert grown > 1.02 * held
    # The second time was the last.
    assert contact.lag(closest) == (0.0, 0.0)
    assert friction_at(contact, closest + aside) == pytest.approx(grown, rel=1e-3)
    contact.begin_step(positions, SLIP)
    assert contact.lag(closest)[0] > 0.0


def friction_at(contact: MeshContact, positions: torch.Tensor) -> float:
    """Its energy, in joules."""
    friction = contact._friction
    assert friction is not None
    return float(friction.energy(contact.points(positions)))


def test_forces_taken_where_they_were_taken_before_have_not_changed() -> None:
    contact, positions, _ = pyramid(friction=0.5)
    contact.begin_step(positions, SLIP)
    changed, whole = contact.lag(positions)
    assert changed == 0.0
    assert whole > 0.0


def test_what_stuck_creeps_by_as_many_slips_as_it_moved() -> None:
    contact, positions, levels = pyramid(friction=0.5)
    contact.begin_step(positions, SLIP)
    aside = torch.tensor([[SLIP], [0.0], [0.0]], dtype=torch.float64)
    assert contact.creep(positions, positions) == 0.0
    assert contact.creep(positions, positions + 0.25 * aside) == pytest.approx(0.25)
    assert contact.creep(positions + 0.9 * aside, positions - aside) == pytest.approx(1.9)
    # What slid already may move on.
    assert contact.creep(positions + 1.1 * aside, positions + 6.0 * aside) < 1e-9
    one = positions.clone()
    one[:, levels[2]] += 0.5 * aside
    # The farthest counts, whatever slides below.
    slid = one.clone()
    slid[:, levels[0]] += 7.0 * aside
    slid[:, levels[1]] += 7.0 * aside
    assert contact.creep(positions, one) == pytest.approx(0.5)
    assert contact.creep(slid, slid + aside) < 1e-9


def test_without_friction_nothing_lags_or_creeps() -> None:
    scene = stack("convergent", "boundary", {"friction": 0.0})
    contact, positions = contact_of(scene), rest(scene)
    contact.begin_step(positions, SLIP)
    assert contact.lag(positions) == (0.0, 0.0)
    assert contact.creep(positions, positions + 1.0) == 0.0


# Ways


def tet(*corners: tuple[float, float, float]) -> SoftBody:
    return SoftBody(TetMesh(corners, [[0, 1, 2, 3]]))


DART = tet((0.0, 0, 1), (0.3, 0, 2), (-0.2, 0.3, 2), (-0.2, -0.3, 2))
#: Its lowest edge lies along y, above an edge along x.
ROOF = tet((0.0, -0.4, 1), (0.0, 0.4, 1), (0.4, 0.1, 2), (-0.4, 0.1, 2))
#: Seen along y it is a line, whose upper edge is long.
FENCE = np.array([[-9.0, 0, 0], [9, 0, 0], [0, 0, -9]])
#: Its corner points up.
THORN = np.array([[0.0, 0, 0], [0.1, 0.1, -9], [-0.1, 0.1, -9]])


@pytest.mark.parametrize(
    ("body", "obstacle"),
    [(DART, TRIANGLE), (ROOF, FENCE), (ROOF, TRIANGLE)],
    ids=["point through triangle", "edge through edge", "edge through triangle"],
)
@pytest.mark.parametrize("fall", [1.001, 3.0, 1000.0])
def test_nothing_tunnels(body, obstacle, fall) -> None:
    scene = Scene([body], colliders=[Collider(obstacle, [[0, 1, 2]])])
    contact, before = contact_of(scene), rest(scene)
    after = before.clone()
    after[2] -= fall
    share = contact.sweep(before, after)
    assert 0.0 < share < 1.0 / fall
    # It goes nearly all the way there.
    assert share > 0.89 / fall
    check_apart(contact, before + share * (after - before))


NEAR = Contact(distance=REACH)


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-7])
@pytest.mark.parametrize(("body", "obstacle"), [(DART, TRIANGLE), (ROOF, FENCE)])
def test_what_is_very_close_already_does_not_tunnel_but_may_leave(body, obstacle, gap) -> None:
    scene = Scene([body], colliders=[Collider(obstacle, [[0, 1, 2]])], contact=NEAR)
    contact, before = contact_of(scene), rest(scene)
    before[2] -= 1.0 - gap * REACH
    after = before.clone()
    after[2] -= 2.0 * gap * REACH
    share = contact.sweep(before, after)
    # Less where rounding is bounded.
    assert 0.3 < share < 0.5
    check_apart(contact, before + share * (after - before))
    assert contact.sweep(before, before - 3.0 * (after - before)) == 1.0


def test_as_much_room_as_was_asked_for_is_left() -> None:
    scene = Scene([DART], colliders=[Collider(TRIANGLE, [[0, 1, 2]])], contact=NEAR)
    contact, before = contact_of(scene), rest(scene)
    after = before.clone()
    after[2] -= 3.0
    share = contact.sweep(before, after, room=0.4 * REACH)
    end = before + share * (after - before)
    contact.stay(end)
    assert 0.4 * REACH <= float(end[2].min()) < 0.15
    # On from there, there is none.
    nearer = end.clone()
    nearer[2] += 0.5 * REACH - end[2].min()
    assert contact.sweep(nearer, nearer - 0.5, room=0.49 * REACH) < 0.02


@pytest.mark.parametrize("self_contact", [False, True])
def test_what_got_narrowest_on_a_way_is_what_blocks_it(self_contact) -> None:
    options = Contact(distance=REACH, self_contact=self_contact)
    aside = torch.tensor([[0.0, 3.0, -3.0], [0.0, 0.0, 0.0], [0.0, 0.02, 2.0]], dtype=torch.float64)
    scene = Scene([DART] * 3, colliders=[Collider(TRIANGLE, [[0, 1, 2]])], contact=options)
    contact, before = contact_of(scene), rest(scene)
    before += aside.repeat_interleave(4, dim=1)
    after = before.clone()
    after[2] -= 1.1
    after = before + contact.sweep(before, after) * (after - before)
    places = contact.points(before), contact.points(after)
    assert contact.blocked(*places) == {0, 3}


def test_a_point_of_a_collider_does_not_go_through_the_side_of_a_body() -> None:
    body = tet((-1.0, -1, 1), (1, -1, 1), (0, 2, 1), (0, 0, 3))
    scene = Scene([body], colliders=[Collider(THORN, [[0, 1, 2]])])
    contact, positions = contact_of(scene), rest(scene)
    raised = contact.colliders + np.array([0.0, 0.0, 50.0])
    share = contact.sweep(positions, positions, raised)
    assert 0.89 / 50.0 < share < 1.0 / 50.0
    # Looking moves nothing.
    np.testing.assert_array_equal(contact.colliders, THORN)
    contact.colliders = contact.colliders + share * (raised - contact.colliders)
    check_apart(contact, positions)


def test_a_body_does_not_go_through_itself_unless_it_may() -> None:
    mesh = block((6, 1, 1), (6.0, 1.0, 1.0))
    # Bent into a ring, one end goes through the other.
    angle = mesh.vertices[:, :1] / 6.0 * 1.7 * math.pi
    radius = 2.0 + mesh.vertices[:, 2:]
    bent = np.hstack([radius * np.cos(angle), radius * np.sin(angle), mesh.vertices[:, 1:2]])
    before, after = torch.as_tensor(bent.T.copy()), torch.as_tensor(bent.T.copy())
    after[1, mesh.vertices[:, 0] == 6.0] += 4.0
    shares = []
    for touches in (True, False):
        scene = Scene([SoftBody(mesh)], contact=Contact(self_contact=touches))
        shares.append(contact_of(scene).sweep(before, after))
    assert shares[0] < 1.0
    assert shares[1] == 1.0


def test_where_nothing_is_in_the_way_all_of_it_is_free() -> None:
    scene = Scene([DART], colliders=[Collider(TRIANGLE, [[0, 1, 2]])])
    contact, before = contact_of(scene), rest(scene)
    aside = before + torch.tensor([[30.0], [0.0], [0.0]], dtype=torch.float64)
    # Over the obstacle and past its border.
    assert contact.sweep(before, aside) == 1.0
    assert contact.sweep(before, before) == 1.0
    below = aside - torch.tensor([[0.0], [0.0], [30.0]], dtype=torch.float64)
    assert contact.sweep(aside, below) == 1.0


def test_a_step_begins_with_no_step_limited_and_colliders_where_they_were_left() -> None:
    scene = Scene([DART], colliders=[Collider(np.stack([TRIANGLE, TRIANGLE - 1.0]), [[0, 1, 2]])])
    contact = contact_of(scene)
    contact.limited_steps = 3
    contact.begin(TRIANGLE - 0.3)
    assert contact.limited_steps == 0
    np.testing.assert_array_equal(contact.colliders, TRIANGLE - 0.3)
    contact.begin(None)
    np.testing.assert_array_equal(contact.colliders, TRIANGLE)


def check_apart(contact: MeshContact, positions: torch.Tensor) -> None:
    points = contact.points(positions)
    assert count_intersections(points, contact.surface.triangles) == 0
    contact.stay(positions)
    assert contact.gap(positions) > 0.0


# Stiffness


def test_the_original_barrier_stiffens_while_surfaces_come_too_close() -> None:
    scene = stack("original", "boundary", {"friction": 0.0})
    scene.contact.stiffness = None
    contact, positions = contact_of(scene), rest(scene)
    weight = torch.zeros_like(positions)
    weight[2] = 50.0
    contact.adapt_at_start(positions, 1.0 / 24.0, weight)
    first = contact.barrier.stiffness
    assert first > 0.0
    assert not contact.adapt(positions)
    gaps = []
    for gap in (1e-8, 5e-9, 2e-9, 3e-9):
        close = positions.clone()
        close[2] -= 0.5 * REACH - gap
        contact.stay(close)
        gaps.append(contact.adapt(close))
    assert gaps == [False, True, True, False]
    assert contact.barrier.stiffness > first


def test_the_convergent_barrier_and_a_chosen_stiffness_stay_as_they_are() -> None:
    for formulation in FORMULATIONS:
        contact = contact_of(stack(formulation, "boundary", {}))
        assert not contact.adapts
        assert contact.barrier.stiffness == 1e6
        assert not contact.adapt(rest(stack(formulation, "boundary", {})))


@pytest.mark.parametrize("second", [4e4, 2.5e7])
def test_the_convergent_stiffness_lies_between_the_softest_and_the_stiffest_bodys(
    second,
) -> None:
    scene = stack("convergent", "boundary", {})
    scene.contact.stiffness = None
    scene.bodies[1].material = StableNeoHookean(second, 0.3)
    # What lies between the two does not matter.
    middle = SoftBody(block(), StableNeoHookean(math.sqrt(1e5 * second) * 1.1, 0.3))
    scene.bodies.append(middle)
    expected = 0.1 * math.sqrt(1e5 * second)
    assert contact_of(scene).barrier.stiffness == pytest.approx(expected)


# What is led


def test_pairs_of_which_nothing_moves_freely_are_told_with_their_distances() -> None:
    contact, positions, levels = pyramid(friction=0.5)
    contact.stay(positions)
    pinned = torch.zeros(positions.shape[1], dtype=torch.bool)
    assert led_pairs(contact, positions, pinned) == set()
    pinned[levels[1]] = True
    assert led_pairs(contact, positions, pinned) == set()
    pinned[levels[2]] = True
    assert led_pairs(contact, positions, pinned) == {(1, 2)}
    pinned[levels[0]] = True
    assert led_pairs(contact, positions, pinned) == {(0, 1), (1, 2), (0, 3)}


def led_pairs(
    contact: MeshContact, positions: torch.Tensor, pinned: torch.Tensor
) -> set[tuple[int, ...]]:
    """The objects of pairs, which all are half their reach apart."""
    pairs, distances = contact.led_pairs(positions, pinned)
    np.testing.assert_allclose(distances, np.full(len(pairs), 0.5 * REACH), rtol=1e-9)
    return set(map(tuple, pairs.tolist()))
