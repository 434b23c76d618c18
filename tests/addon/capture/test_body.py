# SPDX-License-Identifier: GPL-3.0-or-later
"""The data of one object that reach the solver: its mesh, its material, its pins, its gas."""

from __future__ import annotations

import math
from typing import Any

import bpy
import numpy as np
import pytest

from supple.addon.bake import shape_keys
from supple.addon.capture import fingerprint
from supple.addon.capture.captured import CaptureError
from supple.addon.capture.scene import capture
from supple.addon.capture.surfaces import base_coordinates
from supple.addon.reports import ignored
from supple.core.materials import MODELS
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.core.scene.rest_shape import Plasticity
from supple.core.scene.skin import SurfaceMesh

from ..conftest import set_linear

CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) / 2


def sorted_rows(points):
    return points[np.lexsort(np.round(points, 4).T)]


def captured() -> Any:
    return capture(bpy.context)


def surface_volume(surface: SurfaceMesh) -> float:
    a, b, c = surface.vertices[surface.triangles].swapaxes(0, 1)
    return float(np.einsum("ij,ij->", np.cross(a, b), c)) / 6.0


def pin(obj, indices, weight=1.0, name="Pin"):
    obj.vertex_groups.new(name=name).add(indices, weight, "REPLACE")
    obj.supple.pin_group = name


def test_positions_are_in_the_world_through_scale_rotation_and_parents(add_body):
    bpy.ops.object.empty_add(location=(0, 0, 3), rotation=(0, 0, math.pi / 2))
    parent = bpy.context.object
    obj = add_body(location=(1, 0, 0), scale=(2, 1, 0.5))
    obj.parent = parent
    body = captured().scene.bodies[0]
    x, y, z = (CORNERS * (2, 1, 0.5) + (1, 0, 0)).T
    expected = np.column_stack([-y, x, z + 3])
    np.testing.assert_allclose(sorted_rows(body.skin.points), sorted_rows(expected), atol=1e-6)
    np.testing.assert_allclose(sorted_rows(body.mesh.vertices), sorted_rows(expected), atol=1e-6)
    assert surface_volume(body.mesh) == pytest.approx(1.0)


def test_a_mirrored_object_still_has_its_outside_outside(add_body):
    add_body(scale=(-1, 1, 1))
    assert surface_volume(captured().scene.bodies[0].mesh) == pytest.approx(1.0)


def test_the_guard_of_st_venant_kirchhoff_is_in_units_of_the_stiffness(add_body):
    props = add_body().supple
    props.young, props.guard = 2e4, 1000.0
    assert not hasattr(captured().scene.bodies[0].material, "compression_resistance")
    props.model = "st_venant_kirchhoff"
    assert captured().scene.bodies[0].material.compression_resistance == pytest.approx(2e7)


def test_material_reaches_the_solver_as_it_was_typed(add_body):
    props = add_body().supple
    props.young, props.poisson, props.density = 1.1e5, 0.45, 1234.5
    props.damping, props.stiffness_damping, props.viscosity = 0.3, 0.0037, 12.3
    props.loss_factor = 0.123
    props.model = "corotated_linear"
    body = captured().scene.bodies[0]
    assert type(body.material) is MODELS["corotated_linear"]
    assert (body.material.young, body.material.poisson) == (1.1e5, 0.45)
    assert body.density == 1234.5
    assert (body.damping, body.stiffness_damping, body.viscosity) == (0.3, 0.0037, 12.3)
    assert body.loss_factor == 0.123


def test_plasticity_reaches_the_solver_where_it_is_switched_on(add_body):
    props = add_body().supple
    assert captured().scene.bodies[0].plasticity is None
    props.use_plasticity, props.yield_stress, props.creep_time = True, 1234.5, 0.3
    props.hardening, props.plastic_limit = 1.1e4, 0.7
    assert captured().scene.bodies[0].plasticity == Plasticity(1234.5, 0.3, 1.1e4, 0.7)


def test_modifiers_count_for_the_surface_and_not_for_the_skin(add_body):
    obj = add_body()
    obj.modifiers.new("Subdivide", "SUBSURF").levels = 2
    body = captured().scene.bodies[0]
    assert len(body.skin.points) == 8
    assert len(body.mesh.vertices) > 50
    assert surface_volume(body.mesh) < 0.9


def stretch(obj):
    modifier = obj.modifiers.new("Bend", "SIMPLE_DEFORM")
    modifier.deform_method, modifier.factor = "STRETCH", 3.0


def test_a_modifier_that_carries_the_result_away_is_left_out(add_body):
    obj = add_body()
    obj.modifiers.new("Mirror", "MIRROR")
    stretch(obj)
    body = captured().scene.bodies[0]
    assert surface_volume(body.mesh) == pytest.approx(1.0)
    assert np.ptp(body.mesh.vertices, axis=0) == pytest.approx([1, 1, 1])


def test_a_body_is_filled_as_it_is_driven_at_the_start(add_body):
    obj = add_body()
    stretch(obj)
    obj.modifiers.new("Round", "SUBSURF").levels = 0
    body = captured().scene.bodies[0]
    assert np.ptp(body.mesh.vertices, axis=0).max() == pytest.approx(4.0)
    np.testing.assert_array_equal(body.skin.points, body.mesh.vertices)


def test_shape_keys_are_mixed_with_groups_and_relative_keys(add_body):
    obj = add_body()
    obj.shape_key_add(name="Basis")
    obj.vertex_groups.new(name="Half").add([0], 0.5, "REPLACE")
    for name, value, muted in (("Up", 0.5, False), ("Masked", 1.0, False), ("Muted", 1.0, True)):
        key = obj.shape_key_add(name=name, from_mix=False)
        key.value, key.mute = value, muted
        for point in key.points:
            point.co.z += 1.0
    obj.data.shape_keys.key_blocks["Masked"].vertex_group = "Half"
    points = captured().scene.bodies[0].skin.points
    bpy.context.view_layer.update()
    shown = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data.vertices
    np.testing.assert_allclose(points, [tuple(v.co) for v in shown], atol=1e-6)
    rise = points[:, 2] - [vertex.co.z for vertex in obj.data.vertices]
    np.testing.assert_allclose(rise, [1.0, *[0.5] * 7], atol=1e-6)


def test_an_earlier_bake_does_not_count(add_body):
    obj = add_body()
    before = captured().scene.bodies[0].skin.points
    frames = np.zeros((4, 8, 3), dtype=np.float32)
    shape_keys.bake(obj, frames, 1)
    bpy.context.scene.frame_set(2)
    body = captured().scene.bodies[0]
    np.testing.assert_array_equal(body.skin.points, before)
    assert surface_volume(body.mesh) == pytest.approx(1.0)
    bpy.context.view_layer.update()
    shown = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data.vertices
    assert max(vertex.co.length for vertex in shown) == 0.0


def test_weights_of_one_pin_and_lower_ones_are_goals(scene, add_body):
    obj = add_body()
    scene.unit_settings.scale_length = 0.5
    obj.supple.goal_frequency, obj.supple.goal_damping = 3.1, 0.7
    pin(obj, [1, 4])
    obj.vertex_groups["Pin"].add([2], 0.25, "REPLACE")
    obj.vertex_groups["Pin"].add([3], 0.9995, "REPLACE")
    obj.vertex_groups["Pin"].add([5], 0.0, "REPLACE")
    skin = captured().scene.bodies[0].skin
    np.testing.assert_array_equal(skin.pinned, [1, 3, 4])
    assert skin.pin_path is None
    goals = skin.goals
    np.testing.assert_array_equal(goals.vertices, [2])
    np.testing.assert_array_equal(goals.weights, [0.25])
    assert (goals.frequency, goals.damping_ratio) == (3.1, 0.7)
    assert goals.targets.is_constant
    np.testing.assert_allclose(goals.targets.at(0), skin.points[[2]], atol=1e-7)


def test_goals_alone_pin_nothing(add_body):
    obj = add_body()
    pin(obj, range(8), weight=0.5)
    skin = captured().scene.bodies[0].skin
    assert skin.pinned is None
    assert len(skin.goals.vertices) == 8


def test_pins_of_a_child_follow_its_animated_parent(scene, add_body):
    bpy.ops.object.empty_add()
    parent = bpy.context.object
    obj = add_body()
    obj.parent = parent
    pin(obj, [3])
    for frame, x in ((1, 0.0), (4, 3.0)):
        parent.location.x = x
        parent.keyframe_insert("location", frame=frame)
    set_linear(parent)
    scene.frame_set(3)
    now = captured()
    path = now.scene.bodies[0].skin.pin_path.samples
    start = now.scene.bodies[0].skin.points[3]
    np.testing.assert_allclose(path[:, 0] - start, [[k, 0, 0] for k in range(4)], atol=1e-5)
    assert len(now.objects[0].matrices.samples) == 4
    assert scene.frame_current == 3


def test_an_object_with_a_constraint_that_does_not_move_has_one_matrix(add_body):
    obj = add_body()
    pin(obj, [0])
    obj.constraints.new("LIMIT_LOCATION")
    now = captured()
    assert len(now.objects[0].matrices.samples) == 1
    assert now.scene.bodies[0].skin.pin_path is None


def test_the_way_back_ends_at_the_own_mesh(scene, add_body):
    scene.unit_settings.scale_length = 0.1
    obj = add_body(location=(1, 2, 3), rotation=(0.3, 0.2, 0.1), scale=(1, 2, 3))
    now = captured()
    local = now.objects[0].to_local(0, now.scene.bodies[0].skin.points)
    np.testing.assert_allclose(local, [tuple(v.co) for v in obj.data.vertices], atol=1e-6)


def test_pins_on_a_turning_object_go_round_with_it(scene, add_body):
    obj = add_body(location=(2, 0, 0))
    pin(obj, [7])
    for frame, angle in ((1, 0.0), (4, math.pi / 2)):
        obj.rotation_euler = (0.0, 0.0, angle)
        obj.keyframe_insert("rotation_euler", frame=frame)
    set_linear(obj)
    x, y, z = obj.data.vertices[7].co
    path = captured().scene.bodies[0].skin.pin_path.samples[::2, 0]
    for index, angle in enumerate(np.linspace(0.0, math.pi / 2, 4)):
        cos, sin = math.cos(angle), math.sin(angle)
        expected = (2 + cos * x - sin * y, sin * x + cos * y, z)
        np.testing.assert_allclose(path[index], expected, atol=1e-5)


def test_unit_scale_reaches_the_path_of_pins(scene, add_body):
    scene.unit_settings.scale_length = 0.1
    obj = add_body()
    pin(obj, [0])
    for frame, x in ((1, 0.0), (4, 3.0)):
        obj.location.x = x
        obj.keyframe_insert("location", frame=frame)
    skin = captured().scene.bodies[0].skin
    np.testing.assert_allclose(skin.pin_path.samples[0, 0], skin.points[0], atol=1e-6)
    np.testing.assert_allclose(skin.pin_path.at(3)[0] - skin.points[0], [0.3, 0, 0], atol=1e-6)


def test_the_resolution_counts_cells_along_the_longest_side(add_body):
    add_body(scale=(1, 5, 2)).supple.resolution = 10
    assert captured().scene.bodies[0].mesh.edge_length == pytest.approx(0.5)


def test_an_object_that_is_turned_has_cells_as_large(add_body):
    obj = add_body(scale=(1, 5, 2), location=(0.0, 0.0, 20.0))
    obj.supple.resolution = 10
    parent = bpy.data.objects.new("Parent", None)
    obj.users_collection[0].objects.link(parent)
    obj.parent, parent.scale, obj.rotation_euler = parent, (3.0, 3.0, 3.0), (0.4, 0.7, 1.1)
    bpy.context.view_layer.update()
    assert captured().scene.bodies[0].mesh.edge_length == pytest.approx(1.5)


@pytest.mark.parametrize(
    "kinds",
    [
        ("KEY_LINEAR",) * 5,
        ("KEY_CARDINAL",) * 5,
        ("KEY_CATMULL_ROM",) * 5,
        ("KEY_BSPLINE",) * 5,
        ("KEY_LINEAR", "KEY_BSPLINE", "KEY_CARDINAL", "KEY_LINEAR", "KEY_CATMULL_ROM"),
    ],
)
def test_absolute_shape_keys_are_taken_as_blender_shows_them(add_body, kinds):
    obj = add_body()
    obj.shape_key_add(name="Basis")
    random = np.random.default_rng(2)
    for _ in range(4):
        key = obj.shape_key_add(from_mix=False)
        key.points.foreach_set("co", random.normal(size=24).astype(np.float32))
    keys = obj.data.shape_keys
    for block, kind in zip(keys.key_blocks, kinds, strict=True):
        block.interpolation = kind
    keys.use_relative = False
    for time in (-3.0, 0.0, 2.5, 10.0, 13.0, 26.0, 37.5, 40.0, 55.0):
        keys.eval_time = time
        bpy.context.view_layer.update()
        depsgraph = bpy.context.evaluated_depsgraph_get()
        shown = [tuple(v.co) for v in obj.evaluated_get(depsgraph).data.vertices]
        np.testing.assert_allclose(
            base_coordinates(obj, depsgraph), shown, atol=1e-5, err_msg=str(time)
        )


def test_it_is_keyed_frame_by_frame_and_painted_by_a_group(scene, add_body):
    body = add_body()
    (captured,) = capture(bpy.context).scene.bodies
    assert captured.drag == 0.0
    scene.frame_start, scene.frame_end = 3, 6
    for frame, drag in ((3, 0.0), (6, 3.0)):
        body.supple.drag = drag
        body.keyframe_insert("supple.drag", frame=frame)
    set_linear(body)
    group = body.vertex_groups.new(name="Cape")
    group.add([v.index for v in body.data.vertices if v.co.z > 0.0], 1.0, "REPLACE")
    body.supple.paint_drag, body.supple.unpainted_drag = "Cape", 0.0
    body.supple.resolution = 4
    found = capture(bpy.context).scene
    np.testing.assert_allclose(found.bodies[0].drag.samples, [0.0, 1.0, 2.0, 3.0], rtol=1e-5)
    (filled,) = tetrahedralize_scene(found)[0].bodies
    heights = filled.mesh.vertices[filled.mesh.tets].mean(axis=1)[:, 2]
    np.testing.assert_allclose(filled.drag_factors, heights + 0.5, atol=0.03)
    assert filled.drag_factors.max() == pytest.approx(0.9, abs=0.1)


def captured_pressure():
    (body,) = capture(bpy.context).scene.bodies
    return body.pressure


def test_a_pressure_that_is_not_keyed_is_a_number(add_body):
    body = add_body()
    assert captured_pressure() == 0.0
    body.supple.pressure = 1234.5
    assert captured_pressure() == pytest.approx(1234.5)


def test_a_keyed_pressure_is_captured_frame_by_frame(scene, add_body):
    body = add_body()
    scene.frame_start, scene.frame_end = 3, 6
    for frame, pressure in ((3, 0.0), (6, 300.0)):
        body.supple.pressure = pressure
        body.keyframe_insert("supple.pressure", frame=frame)
    set_linear(body)
    scene.frame_set(5)
    np.testing.assert_allclose(captured_pressure().samples, [0.0, 100.0, 200.0, 300.0], rtol=1e-5)
    assert scene.frame_current == 5
    assert body.supple.pressure == pytest.approx(200.0)


def test_a_driven_pressure_is_captured_frame_by_frame(scene, add_body):
    body = add_body()
    scene.frame_start, scene.frame_end = 1, 3
    body.driver_add("supple.pressure").driver.expression = "10 * frame"
    np.testing.assert_allclose(captured_pressure().samples, [10.0, 20.0, 30.0], rtol=1e-5)


def test_another_frame_of_a_keyed_pressure_is_no_change_and_another_pressure_is(scene, add_body):
    body = add_body()
    body.supple.pressure = 5.0
    before = fingerprint.body_fingerprint(body)
    body.supple.pressure = 6.0
    assert fingerprint.body_fingerprint(body) != before
    for frame, pressure in ((1, 0.0), (9, 300.0)):
        body.supple.pressure = pressure
        body.keyframe_insert("supple.pressure", frame=frame)
    scene.frame_set(1)
    keyed = fingerprint.body_fingerprint(body)
    scene.frame_set(7)
    assert fingerprint.body_fingerprint(body) == keyed


def target_volume_captured():
    (body,) = capture(bpy.context).scene.bodies
    return body


def test_there_is_none_unless_it_is_ticked(add_body):
    body = add_body()
    body.supple.target_volume = 2.0
    assert target_volume_captured().target_volume is None
    body.supple.use_target_volume = True
    body.supple.volume_stiffness = 4321.0
    assert target_volume_captured().target_volume == pytest.approx(2.0)
    assert target_volume_captured().volume_stiffness == pytest.approx(4321.0)


def test_a_keyed_target_volume_is_captured_frame_by_frame(scene, add_body):
    body = add_body()
    scene.frame_start, scene.frame_end = 3, 6
    body.supple.use_target_volume = True
    for frame, factor in ((3, 1.0), (6, 2.5)):
        body.supple.target_volume = factor
        body.keyframe_insert("supple.target_volume", frame=frame)
    set_linear(body)
    np.testing.assert_allclose(
        target_volume_captured().target_volume.samples, [1.0, 1.5, 2.0, 2.5], rtol=1e-5
    )
    assert ignored.messages(bpy.context) == []
    body.supple.use_target_volume = False
    (message,) = ignored.messages(bpy.context)
    assert "animation of Target Volume is ignored" in message


def key(obj, *values):
    """A value at each of the frames 1, 4, …"""
    for index, value in enumerate(values):
        obj.supple.young = value
        obj.supple.keyframe_insert("young", frame=1 + 3 * index)
    set_linear(obj)


def body():
    return capture(bpy.context).scene.bodies[0]


def test_keys_become_factors_on_the_stiffness_of_the_start(scene, add_body):
    obj = add_body()
    key(obj, 2e4, 8e4)
    scene.frame_set(3)
    found = body()
    assert found.material.young == 2e4
    np.testing.assert_allclose(found.stiffness.samples, [1.0, 2.0, 3.0, 4.0], rtol=1e-5)
    assert scene.frame_current == 3


def test_keys_of_one_value_are_a_number(add_body):
    key(add_body(), 3e4, 3e4)
    found = body()
    assert (found.material.young, found.stiffness) == (3e4, None)


def test_a_driver_counts_as_well(scene, add_body):
    obj = add_body()
    driver = obj.driver_add("supple.young").driver
    driver.type, driver.expression = "SCRIPTED", "1000 * frame"
    found = body()
    assert found.material.young == pytest.approx(1e3)
    np.testing.assert_allclose(found.stiffness.samples, [1.0, 2.0, 3.0, 4.0], rtol=1e-5)


def test_the_guard_keeps_its_ratio(add_body):
    obj = add_body()
    obj.supple.model, obj.supple.guard = "st_venant_kirchhoff", 10.0
    key(obj, 2e4, 8e4)
    assert body().material.compression_resistance == pytest.approx(2e5)


def test_a_stiffness_that_vanishes_is_refused_with_when(add_body):
    key(add_body(), 3e3, 0.0)
    with pytest.raises(CaptureError, match="Cube: Stiffness must be above 0 Pa, and is 0 3 frames"):
        body()


def test_its_keys_are_not_ignored_and_no_change_of_a_setting(scene, add_body):
    obj = add_body()
    key(obj, 2e4, 8e4)
    assert ignored.messages(bpy.context) == []
    marks = []
    for frame in (1, 3):
        scene.frame_set(frame)
        marks.append(fingerprint.body_fingerprint(obj)["settings"])
    assert marks[0] == marks[1]
    obj.supple.density = 500.0
    assert fingerprint.body_fingerprint(obj)["settings"] != marks[0]
