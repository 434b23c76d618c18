# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from supple.core import Ground, Scene, SoftBody
from supple.core.geometry.tet_mesh import TetMesh, signed_volumes
from supple.core.preparation.initial_intersections import minimum_translations
from supple.core.preparation.intersections import find_close, find_intersections
from supple.core.preparation.overlap_contraction import InitialConfiguration, contract_overlap
from supple.core.scene.contact_settings import Attachment, Collider, Contact
from supple.verification.meshes import block

GAP = 0.001


def box(*offset: float, name: str = "Box") -> SoftBody:
    mesh = block((3, 3, 3))
    return SoftBody(mesh.with_vertices(mesh.vertices + np.array(offset)), name=name)


def table(height: float = 0.0, size: float = 5.0) -> Collider:
    corners = size * np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    return Collider(np.add(corners, (0, 0, height)), [[0, 1, 2], [0, 2, 3]], name="Table")


def offsets(*bodies: SoftBody, colliders=(), **options):
    scene = Scene(list(bodies), colliders=list(colliders), contact=Contact(), **options)
    shapes = InitialConfiguration(scene)
    result = minimum_translations(shapes, find_intersections(shapes.surfaces()), GAP)
    if result is not None:
        moved = [body.positions + way for body, way in zip(shapes.bodies, result, strict=True)]
        close = find_close(shapes.surfaces(moved), 0.99 * GAP)
        assert all(first == second for (first, second), _ in close.object_pairs())
    return result


def test_a_body_goes_the_shortest_way_out_of_another_and_no_farther():
    found = offsets(box(0, 0, 0), box(0.8, 0.1, 0.3))
    np.testing.assert_allclose(found, [[0, 0, 0], [0.2 + GAP, 0, 0]], atol=0.1 * 0.2)


def test_a_body_in_a_table_goes_up_or_down_whichever_is_nearer():
    up, down = (
        offsets(box(0, 0, -0.1), colliders=[table()]),
        offsets(box(0, 0, -0.9), colliders=[table()]),
    )
    assert up[0] == pytest.approx([0, 0, 0.1 + GAP], abs=0.01)
    assert down[0] == pytest.approx([0, 0, -0.1 - GAP], abs=0.01)


def test_a_slope_is_left_at_right_angles():
    turn = np.array([[np.cos(0.4), 0, np.sin(0.4)], [0, 1, 0], [-np.sin(0.4), 0, np.cos(0.4)]])
    slope = replace(table(), vertices=table().vertices.at(0) @ turn.T)
    (way,) = offsets(box(-0.2, 0, 0.0), colliders=[slope])
    assert np.abs(np.cross(way, turn @ [0.0, 0, 1])).max() < 1e-9


def test_no_body_goes_below_the_ground():
    (way,) = offsets(box(0, 0, 0.05), colliders=[table(0.95)], ground=Ground(0.0))
    assert way[2] >= 0.0


def test_a_stack_of_overlapping_bodies_is_parted():
    found = offsets(
        *(box(0.02 * k, 0, 0.8 * k, name=str(k)) for k in range(4)), colliders=[table(0.1)]
    )
    assert np.linalg.norm(found, axis=1).max() < 1.1


def test_what_lies_on_another_goes_up_whichever_comes_first():
    under, on = box(0, 0, 0.001), box(0.05, 0, 0.7)
    for bodies, way in (((under, on), [0, 1]), ((on, under), [1, 0])):
        found = offsets(*bodies, ground=Ground(0.0))[way]
        np.testing.assert_allclose(found, [[0, 0, 0], [0, 0, 0.301 + GAP]], atol=0.02)


def test_a_body_does_not_end_inside_another():
    mesh = block((2, 2, 2))
    small = SoftBody(TetMesh(0.2 * mesh.vertices + [0.85, 0.4, 0.4], mesh.tets))
    found = offsets(box(0, 0, 0), small)
    assert found[1] == pytest.approx([0.15 + GAP, 0, 0], abs=0.02)


def test_what_is_pinned_or_attached_stays():
    pinned = replace(box(0, 0, 0), pinned=[0])
    first = offsets(box(0.3, 0, 0.8), pinned)
    assert not first[1].any() and first[0].any()
    assert offsets(pinned, replace(box(0.8, 0, 0), pinned=[0])) is None
    attached = [Attachment(0, [0], 0, "collider")]
    assert offsets(box(0, 0, 0), colliders=[table(9.0), table(0.2)], attachments=attached) is None


def test_the_same_scene_gives_the_same_bits():
    bodies = box(0, 0, 0), box(0.4, 0.3, 0.2)
    np.testing.assert_array_equal(offsets(*bodies), offsets(*bodies))


def test_drawing_in_gives_up_beyond_an_edge():
    shapes = InitialConfiguration(Scene([box(0, 0, -0.45)], colliders=[table()]))
    assert contract_overlap(shapes, [(0, 1)], GAP) is None
    held = replace(box(0, 0, -0.05), pinned=np.arange(16))
    shapes = InitialConfiguration(Scene([held], colliders=[table()]))
    lowest = np.flatnonzero(held.mesh.vertices[:, 2] < 0)
    held = replace(held, pinned=lowest)
    assert (
        contract_overlap(InitialConfiguration(Scene([held], colliders=[table()])), [(0, 1)], GAP)
        is None
    )


def test_drawing_in_leaves_what_is_far_away():
    body = box(0, 0, -0.02)
    shapes = InitialConfiguration(Scene([body], colliders=[table()]))
    (positions,) = contract_overlap(shapes, [(0, 1)], GAP)
    moved = np.linalg.norm(positions - body.mesh.vertices, axis=1)
    high = body.mesh.vertices[:, 2] > 0.9
    assert moved[high].max() < 0.3 * moved.max()
    assert 0.02 < moved.max() < 0.025


def test_a_thin_body_is_not_turned_inside_out():
    mesh = block((6, 6, 1), (1.0, 1.0, 0.05))
    sheet = SoftBody(TetMesh(mesh.vertices - [0.0, 0, 0.005], mesh.tets))
    (positions,) = contract_overlap(
        InitialConfiguration(Scene([sheet], colliders=[table()])), [(0, 1)], GAP
    )
    assert positions[:, 2].min() >= GAP
    assert (signed_volumes(positions, mesh.tets) > 0).all()


def test_pairs_that_nothing_connects_are_drawn_in_as_if_they_were_alone():
    """Two boxes in tables of their own, and a third box that touches neither and is crossed by
    nobody."""
    bodies = [box(0, 0, -0.02), box(5, 0, -0.01), box(2.5, 0, 3.0)]
    near, far = table(size=2.0), table(size=2.0)
    far = Collider(np.add(far.at(0), (5.0, 0.0, 0.0)), far.triangles, name="Far Table")
    shapes = InitialConfiguration(Scene(bodies, colliders=[near, far]))
    together = contract_overlap(shapes, [(0, 3), (1, 4)], GAP)
    assert together is not None
    for index, pair in ((0, (0, 3)), (1, (1, 4))):
        alone = contract_overlap(shapes, [pair], GAP)
        assert alone is not None
        np.testing.assert_array_equal(alone[index], together[index])
        assert (alone[index] != bodies[index].mesh.vertices).any()
        np.testing.assert_array_equal(alone[1 - index], bodies[1 - index].mesh.vertices)
    np.testing.assert_array_equal(together[2], bodies[2].mesh.vertices)
