# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from supple.core import Ground, Scene, Simulator, SoftBody, SurfaceMesh
from supple.core.errors import IntersectionError, SceneError
from supple.core.geometry.tet_mesh import TetMesh, signed_volumes
from supple.core.preparation import initial_intersections
from supple.core.preparation.initial_intersections import (
    MAX_TRIED_PAIRS,
    MIN_DISTANCE_RATIO,
    minimum_translations,
    resolve_initial_intersections,
)
from supple.core.preparation.intersections import find_close, find_intersections
from supple.core.preparation.overlap_contraction import InitialConfiguration, contract_overlap
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.core.scene.collision_points import contact_distances, ground_distance
from supple.core.scene.contact_settings import Attachment, Collider, Contact, ContactSurface
from supple.verification.meshes import block, graded_ball

#: Two metres wide, in the plane z = 0, with faces as large as that.
TABLE = Collider(
    [[-1.0, -1, 0], [2, -1, 0], [2, 2, 0], [-1, 2, 0]], [[0, 1, 2], [0, 2, 3]], name="Table"
)


def box(offset=(0.0, 0.0, 0.0), cells: int = 4, name: str = "Box", **options) -> SoftBody:
    mesh = block((cells, cells, cells))
    return SoftBody(mesh.with_vertices(mesh.vertices + np.array(offset)), name=name, **options)


def scene(*bodies: SoftBody, colliders=(), **options) -> Scene:
    options.setdefault("contact", Contact())
    return Scene(list(bodies), colliders=list(colliders), **options)


def refusal(described: Scene) -> IntersectionError:
    with pytest.raises(IntersectionError) as caught:
        resolve_initial_intersections(described)
    return caught.value


def check_repaired(before: Scene, after: Scene) -> None:
    """Free of intersections, with a gap, sound tets, little moved, and rest shapes as they were."""
    shapes, at_first = InitialConfiguration(after), InitialConfiguration(before)
    pairs = {pair for pair, _ in find_intersections(at_first.surfaces()).object_pairs()}
    assert pairs
    surfaces = shapes.surfaces()
    assert len(find_intersections(surfaces)) == 0
    distances = contact_distances(after)
    gap = 0.99 * MIN_DISTANCE_RATIO * min(distances[pair] for pair in pairs)
    assert len(find_close(surfaces, gap).between({p for p in pairs if p[0] != p[1]})) == 0
    for own, old, was in zip(shapes.bodies, at_first.bodies, before.bodies, strict=True):
        assert own.mesh is was.mesh
        moved = np.linalg.norm(own.positions - old.positions, axis=1)
        assert moved.max() < 1.1 * own.mesh.edge_length
        ratio = signed_volumes(own.positions, own.mesh.tets) / own.mesh.rest_volumes
        assert ratio.min() > 0.1


def test_bodies_apart_stay_as_they_are_however_close():
    close = scene(box(), box((0, 0, 1 + 1e-6)))
    assert resolve_initial_intersections(close) is close


def test_without_contact_nothing_is_looked_at():
    overlapping = scene(box(), box((0.5, 0.5, 0.5)), contact=None)
    assert resolve_initial_intersections(overlapping) is overlapping


@pytest.mark.parametrize("gap", [0.0, -0.02, -0.05])
def test_stacked_boxes_that_touch_or_overlap_a_little_are_parted(gap):
    stacked = scene(box(), box((0.1, 0.05, 1 + gap), name="Upper"))
    check_repaired(stacked, resolve_initial_intersections(stacked))


def test_a_box_that_stands_in_a_table_a_little_is_drawn_up():
    standing = scene(box((0, 0, -0.03)), colliders=[TABLE])
    after = resolve_initial_intersections(standing)
    check_repaired(standing, after)
    (body,) = InitialConfiguration(after).bodies
    lowest = body.positions[:, 2].min()
    assert 0.0 < lowest < 0.01


def test_what_the_ground_raises_is_parted_from_what_lies_on_it() -> None:
    bodies = box(name="Lower"), box((0.1, 0.1, 1.001), name="Upper")
    simulator = Simulator(scene(*bodies, ground=Ground()))
    shapes = InitialConfiguration(simulator.scene)
    positions = [part.numpy() for part in simulator.frame().positions]
    lower = simulator.scene.bodies[0]
    assert positions[0][:, 2].min() >= 0.99 * ground_distance(Ground(), lower)
    assert len(find_intersections(shapes.surfaces(positions))) == 0


def test_a_plate_whose_top_is_drawn_in_is_not_drawn_into_the_ground() -> None:
    plate = SoftBody(block((8, 8, 1), (2.0, 2.0, 0.3), (0.0, 0.0, 0.01)), name="Plate")
    weight = SoftBody(block((6, 6, 6), (0.8, 0.8, 0.8), (0.6, 0.6, 0.28)), name="Weight")
    started = resolve_initial_intersections(scene(plate, weight, ground=Ground()))
    shapes = InitialConfiguration(started)
    lowest = shapes.bodies[0].positions[:, 2].min()
    assert lowest >= ground_distance(Ground(), started.bodies[0])
    assert len(find_intersections(shapes.surfaces())) == 0


def test_what_is_pinned_stays_where_it_is_led():
    body = box((0, 0, 0.0))
    top = np.flatnonzero(body.mesh.vertices[:, 2] == 1.0)
    path = body.mesh.vertices[top][None] + [0.0, 0, 0.01]
    pinned = replace(body, pinned=top.astype(np.int32), pin_path=path)
    after = resolve_initial_intersections(scene(pinned, colliders=[TABLE])).bodies[0]
    assert after.initial_positions is not None
    np.testing.assert_array_equal(after.initial_positions[top], path[0])


def test_balls_that_overlap_a_little_are_flattened():
    ball = graded_ball(0.5, 8, 1.0)
    upper = ball.with_vertices(np.add(ball.vertices, (0.02, 0.01, 0.985)))
    balls = scene(SoftBody(ball, name="Lower"), SoftBody(upper, name="Upper"))
    check_repaired(balls, resolve_initial_intersections(balls))


@pytest.mark.parametrize("edge", [0.2, 0.3])
def test_the_bulge_of_tetrahedra_around_surfaces_that_touch_is_repaired(edge):
    cube = block((3, 3, 3))
    bodies = [
        SoftBody(
            SurfaceMesh(np.add(cube.vertices, (0, 0, k)), cube.surface, edge_length=edge),
            name=str(k),
        )
        for k in range(2)
    ]
    solids, _ = tetrahedralize_scene(scene(*bodies, colliders=[TABLE]))
    check_repaired(solids, resolve_initial_intersections(solids))


def test_a_contact_surface_is_moved_through_its_tetrahedra():
    fine = block((9, 9, 9))
    points, triangles = np.unique(fine.surface, return_inverse=True)
    bodies = []
    for name, height in (("Lower", 0.0), ("Upper", 0.98)):
        body = box((0, 0, height), name=name)
        surface = ContactSurface(
            fine.vertices[points] + [0.0, 0, height], triangles.reshape(-1, 3).astype(np.int32)
        )
        bodies.append(replace(body, contact_surface=surface))
    solids, _ = tetrahedralize_scene(scene(*bodies))
    check_repaired(solids, resolve_initial_intersections(solids))


def test_deep_overlaps_are_refused_with_where_and_by_how_much_to_move():
    error = refusal(scene(box(name="Jelly"), box((0.1, 0.1, 0.45), name="Cake")))
    text = str(error)
    assert text.startswith("Jelly intersects Cake at the start: ")
    assert " faces around (0.5" in text
    assert re.search(r"Press Push Apart to move them 55\d mm apart\.$", text)
    jelly, cake = error.report.offenders
    assert (jelly.name, cake.name) == ("Jelly", "Cake")
    assert len(jelly.faces) == len(jelly.points) > 0
    centres = box().mesh.vertices[box().mesh.surface[jelly.faces]].mean(axis=1)
    np.testing.assert_allclose(centres, jelly.points)
    offsets = error.report.offsets
    assert offsets is not None and set(offsets) == {"Cake"}
    assert offsets["Cake"] == pytest.approx((0, 0, 0.551), abs=0.01)


def test_faces_of_a_collider_are_its_own():
    error = refusal(scene(box((0, 0, -0.5)), colliders=[TABLE]))
    assert "Box intersects Table" in str(error)
    assert error.report.offenders[1].faces.tolist() == [0, 1]


def test_only_what_cannot_be_repaired_is_named():
    three = scene(box(name="A"), box((0, 0, 0.99), name="B"), box((0.3, 0.05, 1.5), name="C"))
    error = refusal(three)
    assert str(error).startswith("B intersects C")
    assert [each.name for each in error.report.offenders] == ["B", "C"]


def test_a_body_through_itself_needs_another_surface_or_no_self_contact():
    mesh = block((4, 1, 1), (4.0, 1.0, 1.0))
    bent = mesh.vertices.copy()
    bent[bent[:, 0] == 4.0] -= [3.5, 0.0, 0.3]
    body = SoftBody(mesh, initial_positions=bent, name="Snake")
    error = refusal(scene(body))
    assert str(error).startswith("Snake intersects itself at the start")
    assert "untick Self Contact" in str(error)
    assert error.report.offsets is None
    allowed = scene(body, contact=Contact(self_contact=False))
    assert resolve_initial_intersections(allowed) is allowed


def test_a_body_through_itself_goes_on_doing_so_where_it_is_spared():
    mesh = block((4, 1, 1), (4.0, 1.0, 1.0))
    bent = mesh.vertices.copy()
    bent[bent[:, 0] == 4.0] -= [3.5, 0.0, 0.3]
    snake = SoftBody(mesh, initial_positions=bent, name="Snake")
    spared = Contact(spares_crossing=True)
    started = resolve_initial_intersections(scene(snake, box((9.0, 0, 0)), contact=spared))
    assert [body.self_contact for body in started.bodies] == [False, True]
    np.testing.assert_array_equal(started.bodies[0].initial_positions, bent)
    (frame,) = Simulator(started).run(1)
    assert frame.report.crossing == ("Snake",)
    refusal(scene(snake, box((0.2, 0, 0)), contact=spared))


def test_attached_bodies_may_intersect():
    bodies = box(name="A"), box((0.5, 0.5, 0.5), name="B")
    attached = scene(*bodies, attachments=[Attachment(1, [0], 0)])
    assert resolve_initial_intersections(attached) is attached
    to_mesh = scene(
        box((0, 0, -0.5)), colliders=[TABLE], attachments=[Attachment(0, [0], 0, "collider")]
    )
    assert resolve_initial_intersections(to_mesh) is to_mesh


def test_colliders_may_intersect_each_other_and_hold_a_body_inside():
    outer = block((2, 2, 2))
    hollow = Collider(4.0 * outer.vertices - 1.5, outer.surface, name="Room")
    crossing = replace(hollow, vertices=hollow.at(0) + 0.3)
    inside = scene(box(), colliders=[hollow, crossing])
    assert resolve_initial_intersections(inside) is inside


def test_a_distance_longer_than_the_tetrahedra_is_refused_with_one_that_fits() -> None:
    scene = Scene([SoftBody(block((2, 2, 2)), name="Jelly")], contact=Contact(distance=1.0))
    with pytest.raises(SceneError, match=r"distance of 1 m is longer .* of Jelly, .* at most"):
        resolve_initial_intersections(scene)


@pytest.mark.parametrize(("pairs", "tried"), [(2, 3), (MAX_TRIED_PAIRS + 1, 1)])
def test_of_many_pairs_none_is_tried_by_itself(monkeypatch, pairs: int, tried: int) -> None:
    asked = []

    def counted(configuration, which, min_distance):
        asked.append(len(which))
        return contract_overlap(configuration, which, min_distance)

    monkeypatch.setattr(initial_intersections, "contract_overlap", counted)
    places = [(3.0 * k, 0.0, shift) for k in range(pairs) for shift in (0.0, 0.5)]
    error = refusal(scene(*(box(place, name=f"Box {k}") for k, place in enumerate(places))))
    assert len(asked) == tried and asked[0] == pairs
    assert f"and {pairs - 1} more such pairs" in str(error)
    assert len(error.report.offenders) == 2 * pairs


GAP = 0.001


def minimum_translation_box(*offset: float, name: str = "Box") -> SoftBody:
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
    found = offsets(minimum_translation_box(0, 0, 0), minimum_translation_box(0.8, 0.1, 0.3))
    np.testing.assert_allclose(found, [[0, 0, 0], [0.2 + GAP, 0, 0]], atol=0.1 * 0.2)


def test_a_body_in_a_table_goes_up_or_down_whichever_is_nearer():
    up, down = (
        offsets(minimum_translation_box(0, 0, -0.1), colliders=[table()]),
        offsets(minimum_translation_box(0, 0, -0.9), colliders=[table()]),
    )
    assert up[0] == pytest.approx([0, 0, 0.1 + GAP], abs=0.01)
    assert down[0] == pytest.approx([0, 0, -0.1 - GAP], abs=0.01)


def test_a_slope_is_left_at_right_angles():
    turn = np.array([[np.cos(0.4), 0, np.sin(0.4)], [0, 1, 0], [-np.sin(0.4), 0, np.cos(0.4)]])
    slope = replace(table(), vertices=table().vertices.at(0) @ turn.T)
    (way,) = offsets(minimum_translation_box(-0.2, 0, 0.0), colliders=[slope])
    assert np.abs(np.cross(way, turn @ [0.0, 0, 1])).max() < 1e-9


def test_no_body_goes_below_the_ground():
    (way,) = offsets(
        minimum_translation_box(0, 0, 0.05), colliders=[table(0.95)], ground=Ground(0.0)
    )
    assert way[2] >= 0.0


def test_a_stack_of_overlapping_bodies_is_parted():
    found = offsets(
        *(minimum_translation_box(0.02 * k, 0, 0.8 * k, name=str(k)) for k in range(4)),
        colliders=[table(0.1)],
    )
    assert np.linalg.norm(found, axis=1).max() < 1.1


def test_what_lies_on_another_goes_up_whichever_comes_first():
    under, on = minimum_translation_box(0, 0, 0.001), minimum_translation_box(0.05, 0, 0.7)
    for bodies, way in (((under, on), [0, 1]), ((on, under), [1, 0])):
        found = offsets(*bodies, ground=Ground(0.0))[way]
        np.testing.assert_allclose(found, [[0, 0, 0], [0, 0, 0.301 + GAP]], atol=0.02)


def test_a_body_does_not_end_inside_another():
    mesh = block((2, 2, 2))
    small = SoftBody(TetMesh(0.2 * mesh.vertices + [0.85, 0.4, 0.4], mesh.tets))
    found = offsets(minimum_translation_box(0, 0, 0), small)
    assert found[1] == pytest.approx([0.15 + GAP, 0, 0], abs=0.02)


def test_what_is_pinned_or_attached_stays():
    pinned = replace(minimum_translation_box(0, 0, 0), pinned=[0])
    first = offsets(minimum_translation_box(0.3, 0, 0.8), pinned)
    assert not first[1].any() and first[0].any()
    assert offsets(pinned, replace(minimum_translation_box(0.8, 0, 0), pinned=[0])) is None
    attached = [Attachment(0, [0], 0, "collider")]
    assert (
        offsets(
            minimum_translation_box(0, 0, 0),
            colliders=[table(9.0), table(0.2)],
            attachments=attached,
        )
        is None
    )


def test_the_same_scene_gives_the_same_bits():
    bodies = minimum_translation_box(0, 0, 0), minimum_translation_box(0.4, 0.3, 0.2)
    np.testing.assert_array_equal(offsets(*bodies), offsets(*bodies))


def test_drawing_in_gives_up_beyond_an_edge():
    shapes = InitialConfiguration(
        Scene([minimum_translation_box(0, 0, -0.45)], colliders=[table()])
    )
    assert contract_overlap(shapes, [(0, 1)], GAP) is None
    held = replace(minimum_translation_box(0, 0, -0.05), pinned=np.arange(16))
    shapes = InitialConfiguration(Scene([held], colliders=[table()]))
    lowest = np.flatnonzero(held.mesh.vertices[:, 2] < 0)
    held = replace(held, pinned=lowest)
    assert (
        contract_overlap(InitialConfiguration(Scene([held], colliders=[table()])), [(0, 1)], GAP)
        is None
    )


def test_drawing_in_leaves_what_is_far_away():
    body = minimum_translation_box(0, 0, -0.02)
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
    bodies = [
        minimum_translation_box(0, 0, -0.02),
        minimum_translation_box(5, 0, -0.01),
        minimum_translation_box(2.5, 0, 3.0),
    ]
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
