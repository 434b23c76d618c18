# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes that are too coarse to be seen bending, and the button that helps."""

from __future__ import annotations

import bmesh
import bpy
import numpy as np
import pytest

from supple.addon import actions, ids
from supple.addon.capture import fingerprint
from supple.addon.capture.surfaces import coordinates
from supple.addon.panels.main import SUPPLE_PT_main
from supple.addon.reports import coarse_meshes, notices

from ..layout import drawn
from ..shown_notices import only, press, shown_notices


def added(add, **arguments) -> bpy.types.Object:
    add(location=(0, 0, 3), **arguments)
    bpy.ops.supple.add()
    bpy.context.view_layer.update()
    return bpy.context.object


def text(**arguments) -> None:
    """A mesh of letters whose curves have many short edges, and whose straight bars have none."""
    bpy.ops.object.text_add(**arguments)
    bpy.context.object.data.body, bpy.context.object.data.extrude = "SUPPLE", 0.1
    bpy.ops.object.convert(target="MESH")


def turned(outline, segments: int) -> None:
    """A solid of revolution of (radius, height) points, closed by fans of triangles."""
    mesh, vertices, faces = bmesh.new(), [], []
    for radius, height in outline:
        angles = 2.0 * np.pi * np.arange(segments) / segments
        vertices += [(radius * np.cos(a), radius * np.sin(a), height) for a in angles]
    for ring in range(len(outline) - 1):
        for this in range(segments):
            following = (this + 1) % segments
            low, high = ring * segments, (ring + 1) * segments
            faces.append((low + this, low + following, high + following, high + this))
    corners = [mesh.verts.new(vertex) for vertex in vertices]
    for face in faces:
        mesh.faces.new([corners[corner] for corner in face])
    for ring, height, turn in ((0, outline[0][1], -1), (len(outline) - 1, outline[-1][1], 1)):
        middle = mesh.verts.new((0.0, 0.0, height))
        for this in range(segments):
            ends = (this, (this + 1) % segments)[::turn]
            mesh.faces.new([middle, *(corners[ring * segments + end] for end in ends)])
    made = bpy.data.meshes.new("Turned")
    mesh.to_mesh(made)
    mesh.free()
    obj = bpy.data.objects.new("Turned", made)
    bpy.context.scene.collection.objects.link(obj)
    bpy.ops.object.select_all(action="DESELECT")
    obj.location.z = 3.0
    bpy.context.view_layer.objects.active = obj
    obj.select_set(True)


def pudding(**_) -> None:
    """With a flat top and a flat bottom, whose triangles are as long as it is wide."""
    rings = [(1.0 - 0.3 * t - 0.2 * t**8, 1.2 * t) for t in np.linspace(0.0, 1.0, 21)]
    turned(rings, 64)


def cone(**_) -> None:
    turned([(1.0, 0.0), (0.01, 3.0)], 64)


def divided_cube(**arguments) -> None:
    bpy.ops.mesh.primitive_cube_add(**arguments)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.quads_convert_to_tris()
    bpy.ops.object.mode_set(mode="OBJECT")


COARSE = {
    "cube": lambda: added(bpy.ops.mesh.primitive_cube_add),
    "cylinder": lambda: added(bpy.ops.mesh.primitive_cylinder_add, depth=6),
    "long cube": lambda: added(bpy.ops.mesh.primitive_cube_add, scale=(5, 1, 1)),
    "text": lambda: added(text),
    "cube of triangles": lambda: added(divided_cube),
    "cone": lambda: added(cone),
}
FINE = {
    "monkey": lambda: added(bpy.ops.mesh.primitive_monkey_add),
    "ball": lambda: added(bpy.ops.mesh.primitive_uv_sphere_add),
    "round ball": lambda: added(bpy.ops.mesh.primitive_ico_sphere_add),
    "torus": lambda: added(bpy.ops.mesh.primitive_torus_add),
    "pudding": lambda: added(pudding),
}


@pytest.mark.parametrize("make", COARSE.values(), ids=COARSE)
def test_a_coarse_mesh_is_reported_and_mended_at_a_button(scene, make):
    obj = make()
    assert "has too few vertices to bend visibly" in only(ids.SUBDIVIDE)
    assert any("too few vertices" in text for text in notices.before_a_run(bpy.context))
    assert press(shown_notices()[0]) == {"FINISHED"}
    assert shown_notices() == []
    assert longest_edge(obj) <= 0.5 * max(obj.dimensions) / obj.supple.resolution + 1e-6


@pytest.mark.parametrize("make", FINE.values(), ids=FINE)
def test_of_a_finer_one_nothing_is_reported(scene, make):
    make()
    assert shown_notices() == []


@pytest.mark.parametrize("make", ["cube", "cylinder"])
def test_a_dismissed_hint_is_gone_in_the_panel_and_before_a_run(scene, make):
    obj = COARSE[make]()
    layout = drawn(SUPPLE_PT_main, obj)
    assert ids.DISMISS_HINT in layout.buttons and ids.SUBDIVIDE in layout.buttons
    marks = fingerprint.body_fingerprint(obj)
    assert bpy.ops.supple.dismiss_hint(object_name=obj.name) == {"FINISHED"}
    assert shown_notices() == [] and notices.before_a_run(bpy.context) == []
    assert fingerprint.body_fingerprint(obj) == marks
    assert ids.DISMISS_HINT not in drawn(SUPPLE_PT_main, obj).buttons


def test_faces_count_by_their_area_as_the_object_is_scaled(scene):
    obj = FINE["monkey"]()
    points, axes = coordinates(obj.data.vertices, len(obj.data.vertices)), np.array([1.0, 2.0, 3.0])
    longest, doubled = coarse_meshes._faces(obj.data, points * axes)
    for face in list(obj.data.polygons)[::50]:
        corners = (points * axes)[list(face.vertices)]
        fan = np.cross(corners[1:-1] - corners[0], corners[2:] - corners[0])
        assert doubled[face.index] == pytest.approx(np.linalg.norm(fan.sum(axis=0)))
        sides = np.linalg.norm(np.roll(corners, -1, axis=0) - corners, axis=1)
        assert longest[face.index] == pytest.approx(sides.max())


def test_a_subdivision_is_counted_and_is_to_be_finer(scene):
    obj = COARSE["cube"]()
    subdivision = obj.modifiers.new("Round", "SUBSURF")
    subdivision.levels = 0
    assert "too few vertices to bend visibly. Raise the levels of Round." in only("")
    subdivision.levels = 1
    assert shown_notices() == []
    obj.modifiers.new("Wave", "WAVE")
    assert "Press Subdivide" in only(ids.SUBDIVIDE)


def longest_edge(obj: bpy.types.Object) -> float:
    points = coordinates(obj.data.vertices, len(obj.data.vertices)) * np.array(obj.scale)
    ends = np.array([tuple(edge.vertices) for edge in obj.data.edges])
    return float(np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1).max())


def test_the_shape_and_all_that_the_mesh_carries_stay(scene):
    obj = COARSE["cube"]()
    obj.vertex_groups.new(name="Top").add([1, 3, 5, 7], 1.0, "REPLACE")
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Tall", from_mix=False)
    for point in key.points:
        point.co.z *= 2.0
    key.value = 0.25
    sharp = obj.data.attributes.new("sharp_edge", "BOOLEAN", "EDGE")
    for item in sharp.data:
        item.value = True
    coarse_meshes.subdivide(obj)
    points = coordinates(obj.data.vertices, len(obj.data.vertices))
    np.testing.assert_allclose(np.abs(points).max(axis=1), 1.0, atol=1e-6)
    keys = obj.data.shape_keys.key_blocks
    tall = coordinates(keys["Tall"].points, len(points))
    np.testing.assert_allclose(tall, points * [1, 1, 2], atol=1e-6)
    assert keys["Tall"].value == 0.25
    weights = [sum(group.weight for group in vertex.groups) for vertex in obj.data.vertices]
    np.testing.assert_allclose(weights, 0.5 * (points[:, 2] + 1.0), atol=1e-6)
    # The twelve edges of the cube, each in sixteen parts, and no others.
    sharp = obj.data.attributes["sharp_edge"]
    assert sum(item.value for item in sharp.data) == 12 * 16
    assert obj.data.uv_layers[0].uv[0].vector.length > 0.0


def test_a_subdivided_cube_is_simulated_and_bends(scene, solver_here):
    scene.supple.ground_height, scene.frame_end = 0.0, 12
    bpy.ops.mesh.primitive_cube_add(size=1.0, location=(0, 0, 0.55))
    obj = bpy.context.object
    bpy.ops.supple.add()
    bpy.context.view_layer.update()
    coarse_meshes.subdivide(obj)
    actions.simulate(bpy.context)
    scene.frame_set(12)
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    points = coordinates(evaluated.vertices, len(evaluated.vertices))
    rest = coordinates(obj.data.vertices, len(points))
    # An affine map is all that eight corners of a box in free fall would show.
    affine = np.column_stack([rest, np.ones(len(rest))])
    best, *_ = np.linalg.lstsq(affine, points, rcond=None)
    assert np.abs(affine @ best - points).max() > 0.005


@pytest.mark.parametrize("mode", ["EDIT", "SCULPT"])
def test_a_mesh_that_is_edited_is_left_alone(scene, mode):
    obj = COARSE["cube"]()
    bpy.ops.object.mode_set(mode=mode)
    with pytest.raises(RuntimeError, match="is being edited"):
        bpy.ops.supple.subdivide(object_name=obj.name)
    bpy.ops.object.mode_set(mode="OBJECT")
    assert len(obj.data.vertices) == 8


def test_a_bake_is_left_alone(add_body, play):
    obj = add_body()
    obj.supple.resolution = 10
    play(3)
    actions.bake(bpy.context)
    with pytest.raises(RuntimeError, match="is baked"):
        bpy.ops.supple.subdivide()
    assert len(obj.data.vertices) == 8
