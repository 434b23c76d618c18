# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np

from supple.core import TetMesh
from supple.core.preparation.contact_surface import (
    boundary_surface,
    crosses_itself,
    exempt_crossings,
    without_crossings,
)
from supple.core.preparation.intersections import Surfaces, find_intersections
from supple.core.scene.contact_settings import ContactSurface

from ..meshing.meshes import box, with_shells


def crossings(surface: ContactSurface) -> int:
    """The number of crossings among triangles that do not go through their body."""
    owner = np.zeros(len(surface.points), dtype=np.int32)
    return len(find_intersections(Surfaces(surface.points, triangles_of(surface), owner)))


def triangles_of(surface: ContactSurface) -> np.ndarray:
    """Triangles that do not go through their own body."""
    if surface.through_own is None:
        return surface.triangles
    return surface.triangles[~surface.through_own]


def test_of_shells_that_overlap_what_does_not_cross_is_left() -> None:
    one = box((0, 0, 0), (2, 2, 2), (8, 8, 8))
    two = box((1.6, 0.3, 0.3), (3, 1.3, 1.3), (6, 5, 5))
    points, triangles = with_shells(one, two)
    surface = ContactSurface(points, triangles.astype(np.int32))
    assert crossings(surface) > 0
    left = without_crossings(surface)
    assert crossings(left) == 0
    assert 0.7 * len(triangles) < len(left.triangles) < len(triangles)
    far = points[triangles].min(axis=1)[:, 0] > 2.3
    assert far.sum() == (points[left.triangles].min(axis=1)[:, 0] > 2.3).sum()


def test_what_lies_inside_of_the_material_goes_through() -> None:
    one = box((0, 0, 0), (2, 2, 2), (8, 8, 8))
    two = box((1.1, 0.3, 0.3), (3, 1.3, 1.3), (10, 5, 5))
    points, triangles = with_shells(one, two)
    exempted = exempt_crossings(ContactSurface(points, triangles.astype(np.int32)))
    assert crossings(exempted) == 0
    middles = points[triangles_of(exempted)].mean(axis=1)
    in_one = ((middles > 0.01) & (middles < 1.99)).all(axis=1)
    in_two = ((middles > [1.11, 0.31, 0.31]) & (middles < [2.99, 1.29, 1.29])).all(axis=1)
    assert not in_one.any() and not in_two.any()
    assert (middles[:, 0] > 2.9).any() and (middles[:, 0] < 0.1).any()
    # Those outside stay, although they share points with what crosses.
    beyond = [
        (points[those].min(axis=1)[:, 0] > 2.04).sum()
        for those in (triangles_of(exempted), triangles)
    ]
    assert beyond[0] == beyond[1] > 0


def test_a_lid_in_a_socket_is_not_inside() -> None:
    """The lid is open, and so is the socket: nothing is enclosed for certain."""
    head, (points, faces) = (
        box((0, 0, 0), (2, 2, 2), (8, 8, 8)),
        box((0.6, 0.6, 1.5), (1.4, 1.4, 2.4), (4, 4, 4)),
    )
    lid = points, faces[points[faces].max(axis=1)[:, 2] > 1.6]
    surface = ContactSurface(*(part for part in with_shells(head, lid)))
    surface = ContactSurface(surface.points, surface.triangles.astype(np.int32))
    outer = triangles_of(exempt_crossings(surface))
    assert (surface.points[outer].mean(axis=1)[:, 2] > 2.3).any()


def bow_tie(height: float = 0.0) -> ContactSurface:
    """Two triangles that share a point and lie over each other, as offsets of a narrow bend do, and
    one that is far away."""
    points = [[0, 0, 0], [2, -1, 0], [2, 1, 0], [1.5, 0, height], [1.5, 3, height]]
    points += [[9, 0, 0], [8, 1, 0], [9, 1, 1]]
    triangles = np.array([[0, 1, 2], [0, 3, 4], [5, 6, 7]], dtype=np.int32)
    return ContactSurface(np.array(points, dtype=float), triangles)


def test_neighbours_that_lie_over_each_other_go_through_but_for_rounding() -> None:
    for height in (0.0, 1e-7):
        exempted = exempt_crossings(bow_tie(height))
        assert exempted.through_own is not None
        assert exempted.through_own.tolist() == [True, True, False]
    apart = bow_tie(1e-3)
    assert exempt_crossings(apart) is apart


def test_what_touches_but_for_rounding_crosses() -> None:
    """Parts of a mesh in single precision that meet in a plane."""
    below = box((0, 0, 0), (1, 1, 1), (3, 3, 3))
    for gap, crosses in ((0.0, True), (1e-7, True), (1e-4, False)):
        above = box((0.3, 0.3, 1.0 + gap), (0.8, 0.8, 2), (2, 2, 2))
        points, triangles = with_shells(below, above)
        assert crosses_itself(ContactSurface(points, triangles.astype(np.int32))) is crosses


def test_a_surface_that_does_not_cross_itself_stays_whole() -> None:
    points, triangles = box((0, 0, 0), (2, 2, 2), (3, 3, 3))
    surface = ContactSurface(points, triangles.astype(np.int32))
    np.testing.assert_array_equal(without_crossings(surface).triangles, surface.triangles)
    assert exempt_crossings(surface) is surface


def test_the_boundary_of_tetrahedra_follows_their_vertices(make_block) -> None:
    mesh: TetMesh = make_block((3, 3, 3))
    surface = boundary_surface(mesh)
    moved = np.random.default_rng(4).normal(size=mesh.vertices.shape)
    corners = surface.embedding.interpolate(moved)[surface.triangles]
    np.testing.assert_allclose(corners, moved[mesh.surface])
