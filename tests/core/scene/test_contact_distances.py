# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import numpy as np
import pytest

from supple.core import Collider, Contact, Ground, Scene, SoftBody, SurfaceMesh
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.core.scene.collision_points import contact_distances, ground_distance
from supple.verification.meshes import block

TABLE = Collider([[-50.0, -50, 0], [50, -50, 0], [0, 90, 0]], [[0, 1, 2]])
COARSE, FINE = SoftBody(block((2, 2, 2), (9.0,) * 3)), SoftBody(block((9, 9, 9), (0.01,) * 3))
LARGE, SMALL = 3e-3 * 9.0 * 3.0**0.5, 3e-3 * 0.01 * 3.0**0.5


def test_two_objects_have_the_lesser_of_their_shares_of_themselves() -> None:
    scene = Scene([COARSE, FINE], colliders=[TABLE, TABLE], contact=Contact())
    expected = np.array(
        [
            [LARGE, SMALL, LARGE, LARGE],
            [SMALL, SMALL, SMALL, SMALL],
            [LARGE, SMALL, 0.0, 0.0],
            [LARGE, SMALL, 0.0, 0.0],
        ]
    )
    np.testing.assert_allclose(contact_distances(scene), expected, rtol=1e-12)


def test_what_is_beside_a_body_does_not_matter_to_it() -> None:
    alone = contact_distances(Scene([FINE], colliders=[TABLE], contact=Contact()))
    among = contact_distances(Scene([COARSE, FINE], colliders=[TABLE], contact=Contact()))
    np.testing.assert_array_equal(among[1:, 1:], alone)


def test_tetrahedra_keep_the_distance_of_their_own_body_short() -> None:
    fine = SoftBody(block((40, 1, 1), (1.0, 0.02, 0.02)))
    scene = Scene([COARSE, fine], contact=Contact())
    distances, edge = contact_distances(scene), fine.mesh.mean_edges.mean()
    assert distances[1, 1] == distances[0, 1] == min(0.2 * edge, 3e-3 * fine.mesh.diagonal)
    thin = SoftBody(block((400, 1, 1), (1.0, 0.002, 0.002)))
    assert contact_distances(Scene([thin], contact=Contact()))[0, 0] == pytest.approx(
        0.2 * float(thin.mesh.mean_edges.mean())
    )
    assert distances[0, 0] == pytest.approx(LARGE)


def test_a_distance_that_was_chosen_holds_for_all() -> None:
    scene = Scene([COARSE, FINE], colliders=[TABLE], contact=Contact(distance=1e-4))
    distances = contact_distances(scene)
    assert distances[2, 2] == 0.0
    distances[2, 2] = 1e-4
    np.testing.assert_array_equal(distances, np.full((3, 3), 1e-4))


def test_a_mesh_counts_by_its_own_diagonal_and_not_by_that_of_the_tetrahedra_around_it() -> None:
    box = block((1, 1, 1), (1.0, 0.5, 0.25))
    body = SoftBody(SurfaceMesh(box.vertices, box.surface, edge_length=0.2), touching="mesh")
    scene, _ = tetrahedralize_scene(Scene([body], contact=Contact(), ground=Ground()))
    filled, diagonal = scene.bodies[0], float(np.linalg.norm([1.0, 0.5, 0.25]))
    assert filled.mesh.diagonal > 1.02 * diagonal
    assert contact_distances(scene)[0, 0] == pytest.approx(3e-3 * diagonal)
    assert ground_distance(Ground(), filled) == pytest.approx(1e-3 * diagonal)
    assert ground_distance(Ground(distance=0.02), filled) == 0.02
