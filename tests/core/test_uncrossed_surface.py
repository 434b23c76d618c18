# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np

from supple.core import TetMesh
from supple.core.contact.intersections import Surfaces, find_intersections
from supple.core.contact_settings import ContactSurface
from supple.core.uncrossed_surface import boundary_surface, without_crossings

from .tetrahedralizers.meshes import box, with_shells


def crossings(surface: ContactSurface) -> int:
    owner = np.zeros(len(surface.points), dtype=np.int32)
    return len(find_intersections(Surfaces(surface.points, surface.triangles, owner)))


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


def test_a_surface_that_does_not_cross_itself_stays_whole() -> None:
    points, triangles = box((0, 0, 0), (2, 2, 2), (3, 3, 3))
    surface = ContactSurface(points, triangles.astype(np.int32))
    np.testing.assert_array_equal(without_crossings(surface).triangles, surface.triangles)


def test_the_boundary_of_tetrahedra_follows_their_vertices(make_block) -> None:
    mesh: TetMesh = make_block((3, 3, 3))
    surface = boundary_surface(mesh)
    moved = np.random.default_rng(4).normal(size=mesh.vertices.shape)
    corners = surface.embedding.interpolate(moved)[surface.triangles]
    np.testing.assert_allclose(corners, moved[mesh.surface])
