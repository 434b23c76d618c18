# SPDX-License-Identifier: GPL-3.0-or-later
"""Pressed tets beside finite differences and minima found in other ways."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from supple.core.geometry.tet_mesh import TetMesh
from supple.core.kernels.flat_tets import (
    FlatTets,
    PressedTets,
    find_flat,
    find_inverted,
    no_flat_tets,
    pressed_depth,
    relax_flat,
    stop_inverted,
)
from supple.core.meshing.lattice_loops import measure, write_descent
from supple.core.potentials.height_floor import HeightRatios
from supple.verification.meshes import block

FLOOR = 0.4
REST = np.array([[0.0, 0, 0], [1, 0, 0], [0.2, 1.1, 0], [0.1, 0.3, 0.9], [0.7, 0.8, 0.8]])
#: Two tets that share a face, and one inside out that has no pressure.
CORNERS = np.array([[0, 1, 2, 3], [1, 2, 3, 4], [0, 2, 1, 3]], dtype=np.int32).T
PRESSURES = np.array([2.0, 3.0, 0.0])
MOBILITY = np.array([0.3, 0.7, 0.4, 1.1, 0.6])


def signed_volumes(nodes: np.ndarray) -> np.ndarray:
    return np.array([np.linalg.det(x[1:] - x[0]) / 6.0 for x in nodes[CORNERS.T]])


VOLUMES = signed_volumes(REST)
#: The second tet is turned the other way round where it begins.
SIGNS = np.sign(VOLUMES)


def flat(squash: float) -> np.ndarray:
    """The nodes with heights so many times what they are."""
    return REST * [1.0, 1.0, squash]


def pressed_tets() -> PressedTets:
    corners = CORNERS.copy()
    corners[:2, SIGNS < 0.0] = CORNERS[1::-1, SIGNS < 0.0]
    gradients = np.stack([np.linalg.inv(edges(REST, own)) for own in corners.T])
    products = np.einsum("mki,mli,m->klm", gradients, gradients, abs(VOLUMES))
    metric = np.stack([*products[np.triu_indices(3)], 1.0 / abs(VOLUMES)])
    return PressedTets(corners, gradients, metric, abs(VOLUMES), PRESSURES)


def found(
    at: np.ndarray, wanted: np.ndarray, places: int = 9, before: int = 0
) -> tuple[int, FlatTets]:
    out = no_flat_tets(places)
    for part in out:
        part.fill(77)
    return find_flat(pressed_tets(), FLOOR, at, wanted, MOBILITY, out, before), out


def relax_each(own: FlatTets, count: int, mobility: np.ndarray, moves: np.ndarray) -> None:
    """One pass over the first tets."""
    for k in range(count):
        relax_flat(own, k, FLOOR, mobility, moves)


def edges(nodes: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """The (3, 3) edges from the first corner, in columns."""
    return (nodes[corners[1:]] - nodes[corners[0]]).T


def ratios(nodes: np.ndarray) -> np.ndarray:
    """(2,) height ratios of those that have a pressure."""
    gradients = [edges(nodes, own) @ np.linalg.inv(edges(REST, own)) for own in CORNERS.T[:2]]
    return HeightRatios(np.stack(gradients)).values


def test_gradients_are_how_the_height_ratio_changes() -> None:
    at = flat(0.2) + np.random.default_rng(1).normal(scale=0.02, size=REST.shape)
    count, own = found(at, at)
    assert count == 2
    np.testing.assert_allclose(own.ratios[:2], ratios(at), rtol=1e-13)
    for k, corner, axis in itertools.product(range(2), range(4), range(3)):
        ends = []
        for h in (-1e-6, 1e-6):
            moved = at.copy()
            moved[own.corners[k, corner], axis] += h
            ends.append(ratios(moved)[k])
        expected = (ends[1] - ends[0]) / 2e-6
        assert own.gradients[k, corner, axis] == pytest.approx(expected, abs=1e-8)


def test_tets_know_their_energy_and_how_easily_they_grow() -> None:
    own = found(flat(0.2), flat(0.2))[1]
    np.testing.assert_allclose(own.energies[:2], abs(VOLUMES[:2]) * PRESSURES[:2], rtol=1e-14)
    np.testing.assert_array_equal(np.sort(own.corners[:2]), np.sort(CORNERS.T[:2]))
    squares = (own.gradients[:2] ** 2).sum(axis=2)
    expected = (squares * MOBILITY[own.corners[:2]]).sum(axis=1)
    np.testing.assert_allclose(own.compliances[:2], expected, rtol=1e-13)
    assert not own.forces[:2].any()


def test_tets_that_are_flat_or_about_to_be_are_found() -> None:
    for at, wanted, count in ((0.2, 1.0, 2), (1.0, 0.2, 2), (0.25, 0.25, 0), (0.24, 0.25, 2)):
        assert found(flat(at), flat(wanted))[0] == count
    # Where it was made linear, not where it would go.
    np.testing.assert_allclose(found(flat(1.0), flat(0.2))[1].ratios[:2], 1.0, rtol=1e-6)


def test_tets_come_after_those_there_are_and_are_counted_without_a_place() -> None:
    count, own = found(flat(0.2), flat(0.2), places=4, before=3)
    assert count == 5
    assert (own.corners[:3] == 77).all() and (own.corners[3] != 77).all()


def test_a_depth_solves_its_square() -> None:
    starts = [-7.0, -0.3, 0.0, 0.1, 0.3999]
    for start, stiffness in itertools.product(starts, [0.0, 1e-6, 0.3, 1e5]):
        depth = pressed_depth(start, stiffness, FLOOR)
        assert depth > 0.0
        assert FLOOR * (1.0 - depth) == pytest.approx(start + stiffness * depth**2, rel=1e-9)


def test_one_tet_comes_to_the_least_of_inertia_and_pressure() -> None:
    at, random = flat(0.2), np.random.default_rng(2)
    own = found(at, at)[1]
    wanted = random.normal(scale=0.02, size=REST.shape)
    moves = wanted.copy()
    relax_each(own, 1, MOBILITY, moves)
    slopes = np.zeros_like(REST)
    slopes[own.corners[0]] = own.gradients[0]
    way = MOBILITY[:, None] * slopes

    def energy(force: float) -> float:
        reached = own.ratios[0] + (slopes * (wanted + force * way)).sum()
        inertia = 0.5 * (force**2 * way**2 / MOBILITY[:, None]).sum()
        return inertia + own.energies[0] * FLOOR * max(0.0, 1.0 - reached / FLOOR) ** 3 / 3.0

    least = minimize_scalar(energy, bounds=(0.0, 1.0), options={"xatol": 1e-10}).x
    assert own.forces[0] == pytest.approx(least, rel=1e-5) and least > 1e-3
    np.testing.assert_allclose(moves, wanted + least * way, atol=1e-7)
    again = moves.copy()
    relax_each(own, 1, MOBILITY, again)
    np.testing.assert_allclose(again, moves, atol=1e-14)


def test_tets_that_share_nodes_all_come_to_rest_under_their_pressures() -> None:
    at = flat(0.1)
    own, moves = found(at, at)[1], np.zeros_like(REST)
    for _ in range(300):
        relax_each(own, 2, MOBILITY, moves)
    reached = own.ratios[:2] + (own.gradients[:2] * moves[own.corners[:2]]).sum(axis=(1, 2))
    assert (reached > own.ratios[:2] + 0.01).all() and (reached < FLOOR).all()
    expected = own.energies[:2] * (1.0 - reached / FLOOR) ** 2
    np.testing.assert_allclose(own.forces[:2], expected, rtol=1e-10)


@pytest.mark.parametrize("passes", [1, 2, 5])
def test_momentum_is_kept_after_any_number_of_passes(passes) -> None:
    at = flat(0.1)
    own, moves = found(at, at)[1], np.zeros_like(REST)
    for _ in range(passes):
        relax_each(own, 2, MOBILITY, moves)
    impulses = moves / MOBILITY[:, None]
    assert abs(impulses).max() > 0.03
    np.testing.assert_allclose(impulses.sum(axis=0), 0.0, atol=1e-14)
    turning = np.cross(at, impulses).sum(axis=0)
    np.testing.assert_allclose(turning, 0.0, atol=1e-14)


def test_what_opens_again_is_pressed_no_more() -> None:
    at = flat(0.2)
    own, moves = found(at, at)[1], np.zeros_like(REST)
    relax_each(own, 2, MOBILITY, moves)
    assert (own.forces[:2] > 0.0).all()
    lifted = flat(1.0) - at
    moves += lifted
    for _ in range(2):
        relax_each(own, 2, MOBILITY, moves)
    assert not own.forces[:2].any()
    np.testing.assert_allclose(moves, lifted, atol=1e-13)


def test_what_nothing_can_move_is_left_alone() -> None:
    at = flat(0.2)
    own, moves = found(at, at)[1], np.zeros_like(REST)
    own.compliances[:2] = 0.0
    relax_each(own, 2, np.zeros(5), moves)
    assert not moves.any() and not own.forces[:2].any()


LEAST, HALVINGS = 0.1, 4


def turned(before: float, after: float, mobility: np.ndarray = MOBILITY) -> int:
    return len(find_inverted(pressed_tets(), LEAST, flat(before), flat(after), mobility))


@pytest.mark.parametrize(
    ("squash", "count"), [(1.0, 0), (0.11, 0), (0.09, 2), (0.0, 2), (-1.0, 2), (-0.11, 2)]
)
def test_tets_that_lose_most_of_their_volume_are_found(squash: float, count: int) -> None:
    assert turned(1.0, squash) == count
    # Those that are inside out may go on as they like.
    assert turned(-1.0, squash) == 0
    # The first tet has a corner that the second has not, and both have another.
    held = np.arange(len(REST))
    assert turned(1.0, squash, np.where(held == 0, 0.0, MOBILITY)) == min(count, 1)
    assert turned(1.0, squash, np.where(held == 1, 0.0, MOBILITY)) == 0


def stopped(squash: float, sizes: np.ndarray) -> np.ndarray:
    step_sizes, moves = sizes.copy(), flat(squash) - REST
    stop_inverted(pressed_tets(), np.array([0]), LEAST, HALVINGS, REST, moves, step_sizes)
    return step_sizes


def test_a_tet_goes_half_as_far_until_it_keeps_its_part_of_the_volume() -> None:
    ones = np.ones(len(REST))
    # A part t of the way leaves 1 - t (1 - squash) of the height.
    for squash, size in ((0.2, 1.0), (0.05, 0.5), (-0.7, 0.5), (-0.9, 0.25), (-50.0, 0.0)):
        np.testing.assert_array_equal(stopped(squash, ones), [*[size] * 4, 1.0])


def test_all_corners_of_a_tet_go_by_the_least_of_them() -> None:
    sizes = np.array([1.0, 0.7, 0.4, 0.9, 0.8])
    np.testing.assert_array_equal(stopped(-0.7, sizes), [*[0.4] * 4, 0.8])


TARGET, POWER, STIFFNESS, REACH = 0.42, 4, 60.0, 0.4


@pytest.fixture
def bent() -> tuple[TetMesh, np.ndarray, np.ndarray]:
    """Tets of an edge of about one, targets, and normals of some of the vertices."""
    mesh = block((2, 2, 1), size=(2.0, 2.0, 1.0))
    random = np.random.default_rng(5)
    vertices = mesh.vertices + random.normal(0.0, 0.08, mesh.vertices.shape)
    normals = random.normal(size=vertices.shape)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    normals[::3] = 0.0
    return TetMesh(vertices, mesh.tets), vertices + random.normal(0.0, 0.1, vertices.shape), normals


def slopes(mesh: TetMesh, targets: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """The (N, 3) gradient of the energy, by finite differences."""
    found, step = np.empty_like(mesh.vertices), 1e-6
    for index in np.ndindex(*found.shape):
        sides = []
        for sign in (1.0, -1.0):
            moved = mesh.vertices.copy()
            moved[index] += sign * step
            sides.append(measure(moved, mesh.tets, targets, normals))
        found[index] = (sides[0] - sides[1]) / (2.0 * step)
    return found


def test_altitudes_and_distances_from_planes_cost(bent) -> None:
    mesh, targets, normals = bent
    altitudes = 1.0 / np.linalg.norm(mesh.shape_gradients, axis=2)
    away = ((mesh.vertices - targets) * normals).sum(axis=1)
    expected = ((TARGET / altitudes) ** (2 * POWER)).sum() + STIFFNESS * (away**2).sum()
    assert measure(mesh.vertices, mesh.tets, targets, normals) == pytest.approx(expected)


def test_a_tet_that_is_turned_inside_out_costs_more_than_anything(bent) -> None:
    mesh, targets, normals = bent
    turned = mesh.vertices * (1.0, 1.0, -1.0)
    assert measure(turned, mesh.tets, targets, normals) == np.inf


def test_the_direction_is_that_of_newton_and_no_longer_than_tets_are_thick(bent) -> None:
    mesh, targets, normals = bent
    count = len(mesh.vertices)
    limits, diagonals, found = np.empty(count), np.empty(count), np.empty((count, 3))
    write_descent(mesh.vertices, mesh.tets, targets, normals, limits, diagonals, found)

    gradients = mesh.shape_gradients
    products = gradients @ gradients.swapaxes(1, 2)
    first = POWER * TARGET**8 * np.einsum("maa->ma", products) ** 3
    factors = (4 * POWER - 2) * first / np.einsum("maa->ma", products)
    seconds = np.einsum("ma,mab->mb", factors, products**2)
    thinnest = np.full(count, np.inf)
    altitudes = 1.0 / np.linalg.norm(gradients, axis=2)
    np.minimum.at(thinnest, mesh.tets, altitudes.min(axis=1)[:, None])
    hessians = np.bincount(mesh.tets.ravel(), seconds.ravel())[:, None, None] * np.eye(3)
    hessians += 2.0 * STIFFNESS * normals[:, :, None] * normals[:, None, :]
    expected = np.linalg.solve(hessians, -slopes(mesh, targets, normals)[:, :, None])[:, :, 0]
    lengths = np.linalg.norm(expected, axis=1)
    is_shortened = lengths > REACH * thinnest
    assert 0 < is_shortened.sum() < count
    expected[is_shortened] *= (REACH * thinnest / lengths)[is_shortened, None]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
