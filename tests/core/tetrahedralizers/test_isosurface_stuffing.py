# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core import TetMesh
from supple.core.tet_mesh import signed_volumes
from supple.core.tetrahedralizers.bcc_lattice import BccLattice
from supple.core.tetrahedralizers.isosurface_stuffing import stuff
from supple.core.tetrahedralizers.smoothing import smooth


def ball(radius: float) -> tuple[BccLattice, np.ndarray]:
    lattice = BccLattice.around(np.full(3, -radius), np.full(3, radius))
    return lattice, radius - np.linalg.norm(lattice.nodes() - [0.1, 0.2, 0.3], axis=1)


def test_lattice_tets_fill_space_and_are_all_alike() -> None:
    lattice = BccLattice.around(np.zeros(3), np.full(3, 2.0))
    nodes = lattice.nodes()
    tets = lattice.tets(np.ones(len(nodes), dtype=bool))
    np.testing.assert_allclose(signed_volumes(nodes, tets), 1 / 12)
    assert len(np.unique(np.sort(tets, axis=1), axis=0)) == len(tets)


def test_lattice_edges_have_the_two_lengths_of_the_lattice() -> None:
    lattice = BccLattice.around(np.zeros(3), np.full(3, 2.0))
    nodes = lattice.nodes()
    wanted = np.random.default_rng(9).random(len(nodes)) < 0.5
    for edges, length in (
        (lattice.short_edges(wanted), np.sqrt(0.75)),
        (lattice.long_edges(wanted), 1),
    ):
        np.testing.assert_allclose(np.linalg.norm(np.diff(nodes[edges], axis=1), axis=2), length)
        assert (wanted[edges[:, 0]] != wanted[edges[:, 1]]).all()


def test_interpolation_on_the_lattice_reproduces_linear_functions() -> None:
    lattice = BccLattice.around(np.zeros(3), np.full(3, 3.0))
    points = np.random.default_rng(10).uniform(0, 3, (50, 3))
    slope = np.array([1.0, -2.0, 0.5])
    np.testing.assert_allclose(lattice.interpolate(lattice.nodes() @ slope, points), points @ slope)


@pytest.mark.parametrize("radius", [0.9, 2.0, 3.3, 5.7])
def test_a_stuffed_ball_has_a_closed_surface_on_the_sphere(radius) -> None:
    vertices, tets = stuff(*ball(radius))
    assert (signed_volumes(vertices, tets) > 0).all()
    mesh = TetMesh(vertices, tets)
    distance = np.linalg.norm(vertices[np.unique(mesh.surface)] - [0.1, 0.2, 0.3], axis=1)
    assert np.abs(distance - radius).max() < 0.15
    edges = np.concatenate(
        [mesh.surface[:, [0, 1]], mesh.surface[:, [1, 2]], mesh.surface[:, [2, 0]]]
    )
    assert {tuple(edge) for edge in edges} == {tuple(edge[::-1]) for edge in edges}
    euler = len(np.unique(mesh.surface)) - len(edges) // 2 + len(mesh.surface)
    assert euler == 2


def test_faces_inside_are_shared_by_exactly_two_tets() -> None:
    vertices, tets = stuff(*ball(4.2))
    faces = np.sort(tets[:, [[1, 2, 3], [0, 2, 3], [0, 1, 3], [0, 1, 2]]].reshape(-1, 3), axis=1)
    _, counts = np.unique(faces, axis=0, return_counts=True)
    assert set(counts) == {1, 2}
    assert (counts == 1).sum() == len(TetMesh(vertices, tets).surface)


def test_no_solid_node_gives_no_tets() -> None:
    lattice, depth = ball(2.0)
    vertices, tets = stuff(lattice, np.minimum(depth, 0.0) - 0.1)
    assert vertices.shape == (0, 3) and tets.shape == (0, 4)


def test_smoothing_lengthens_the_shortest_altitude_and_keeps_the_surface() -> None:
    vertices, tets = stuff(*ball(4.2))
    rough = TetMesh(vertices, tets)
    better = TetMesh(smooth(vertices, rough.tets, rough.surface), rough.tets)

    def shortest_altitude(mesh: TetMesh) -> float:
        return float(1.0 / np.linalg.norm(mesh.shape_gradients, axis=2).max())

    assert shortest_altitude(better) > 1.4 * shortest_altitude(rough)
    np.testing.assert_array_equal(better.surface, rough.surface)
    distance = np.linalg.norm(better.vertices[np.unique(better.surface)] - [0.1, 0.2, 0.3], axis=1)
    assert np.abs(distance - 4.2).max() < 0.15
