# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertex groups and attributes of a mesh, as factors on the settings of its soft body."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon.capture import fingerprint
from supple.addon.capture.captured import CaptureError
from supple.addon.capture.scene import capture
from supple.addon.panels.body import SUPPLE_PT_paint
from supple.addon.reports import ignored
from supple.core.potentials.contact.surface import CollisionSurface
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene

from ..layout import drawn


def add_group(obj, weights, name="Head"):
    group = obj.vertex_groups.new(name=name)
    for index, weight in enumerate(weights):
        if weight > 0.0:
            group.add([index], weight, "REPLACE")


def add_attribute(obj, kind, domain, values=None, name="Head"):
    attribute = obj.data.attributes.new(name, kind, domain)
    if values is not None:
        wanted = "color" if "COLOR" in kind else "value"
        attribute.data.foreach_set(wanted, np.asarray(values, dtype=np.float32).ravel())
    return attribute


def captured():
    return capture(bpy.context).scene


def paints():
    return {paint.setting: paint.factors for paint in captured().bodies[0].mesh.paint}


def heights(obj):
    return np.array([vertex.co.z for vertex in obj.data.vertices]) + 0.5


def test_without_paint_nothing_is_captured(add_body):
    add_body()
    assert captured().bodies[0].mesh.paint == []


def test_a_group_scales_between_where_unpainted_and_the_setting(add_body):
    obj = add_body()
    weights = [0.0, 0.25, 0.5, 1.0, 0.0, 0.0, 0.0, 1.0]
    add_group(obj, weights)
    obj.supple.paint_young, obj.supple.unpainted_young = "Head", 0.2
    obj.supple.paint_damping, obj.supple.unpainted_damping = "Head", 0.0
    found = paints()
    np.testing.assert_allclose(found["young"], 0.2 + 0.8 * np.array(weights))
    np.testing.assert_allclose(found["damping"], weights)
    assert list(found) == ["young", "damping"]


def test_float_attributes_may_go_beyond_one(add_body):
    obj = add_body()
    add_attribute(obj, "FLOAT", "POINT", np.arange(8))
    obj.supple.paint_density = "Head"
    np.testing.assert_allclose(paints()["density"], 0.1 + 0.9 * np.arange(8), rtol=1e-6)


@pytest.mark.parametrize("kind", ["FLOAT_COLOR", "BYTE_COLOR"])
def test_colours_count_by_how_bright_they_are(add_body, kind):
    obj = add_body()
    colours = np.zeros((8, 4))
    colours[0, 0] = colours[1, 1] = colours[2, 2] = 1.0
    colours[3] = 1.0
    add_attribute(obj, kind, "POINT", colours)
    obj.supple.paint_viscosity, obj.supple.unpainted_viscosity = "Head", 0.0
    expected = [0.2126, 0.7152, 0.0722, 1.0, 0, 0, 0, 0]
    np.testing.assert_allclose(paints()["viscosity"], expected, atol=1e-6)


def test_colours_of_corners_are_averaged_at_each_vertex(add_body):
    obj = add_body()
    vertex = np.array([loop.vertex_index for loop in obj.data.loops])
    colours = np.ones((len(vertex), 4))
    colours[np.flatnonzero(vertex == 5)[0]] = 0.0
    add_attribute(obj, "FLOAT_COLOR", "CORNER", colours)
    obj.supple.paint_young, obj.supple.unpainted_young = "Head", 0.4
    np.testing.assert_allclose(paints()["young"], [1, 1, 1, 1, 1, 0.8, 1, 1], atol=1e-6)


def test_modifiers_that_make_vertices_carry_the_paint_to_them(add_body):
    obj = add_body()
    add_group(obj, heights(obj))
    obj.modifiers.new("Subdivide", "SUBSURF").levels = 2
    obj.modifiers["Subdivide"].subdivision_type = "SIMPLE"
    obj.supple.paint_young, obj.supple.unpainted_young = "Head", 0.5
    surface = captured().bodies[0].mesh
    assert len(surface.vertices) > 8
    expected = 0.5 + 0.5 * (surface.vertices[:, 2] + 0.5)
    np.testing.assert_allclose(surface.paint[0].factors, expected, atol=1e-6)


def test_modifiers_that_carry_the_mesh_away_leave_the_paint_of_the_own_mesh(add_body):
    obj = add_body()
    add_group(obj, heights(obj))
    obj.modifiers.new("Subdivide", "SUBSURF").levels = 2
    obj.modifiers.new("Bend", "SIMPLE_DEFORM")
    obj.supple.paint_young, obj.supple.unpainted_young = "Head", 0.5
    np.testing.assert_allclose(paints()["young"], 0.5 + 0.5 * heights(obj))


def test_the_tetrahedra_are_as_stiff_as_the_paint_around_them(add_body):
    obj = add_body(scale=(1, 1, 3))
    obj.supple.resolution = 6
    add_group(obj, heights(obj))
    obj.supple.young, obj.supple.paint_young = 2e4, "Head"
    (body,), height = tetrahedralize_scene(captured())[0].bodies, 3.0
    z = body.mesh.vertices[body.mesh.tets].mean(axis=1)[:, 2] / height + 0.5
    np.testing.assert_allclose(body.material.young, 2e4 * (0.1 + 0.9 * z), atol=0.02 * 2e4)


def test_friction_stays_painted_on_the_surface_of_what_touches(add_body):
    obj = add_body()
    obj.supple.resolution = 4
    add_group(obj, heights(obj))
    obj.supple.paint_friction, obj.supple.unpainted_friction = "Head", 0.0
    scene = tetrahedralize_scene(captured())[0]
    surface = CollisionSurface(scene, [body.mesh for body in scene.bodies])
    expected = np.clip(surface.rest[:, 2] + 0.5, 0.0, 1.0)
    np.testing.assert_allclose(surface.friction_factors, expected, atol=1e-6)
    assert surface.friction_factors.max() == pytest.approx(1.0)


def test_the_yield_stress_is_painted_where_there_is_plasticity(add_body):
    obj = add_body(scale=(1, 1, 3))
    obj.supple.resolution = 6
    add_group(obj, heights(obj))
    obj.supple.paint_yield_stress = "Head"
    (told,) = ignored.messages(bpy.context)
    assert "'Head' paints its Yield Stress, and Plasticity is off" in told
    assert tetrahedralize_scene(captured())[0].bodies[0].plasticity is None
    obj.supple.use_plasticity, obj.supple.yield_stress = True, 3e3
    assert not ignored.messages(bpy.context)
    (body,) = tetrahedralize_scene(captured())[0].bodies
    z = body.mesh.vertices[body.mesh.tets].mean(axis=1)[:, 2] / 3.0 + 0.5
    found = body.plasticity.yield_stress
    np.testing.assert_allclose(found, 3e3 * (0.1 + 0.9 * z), atol=0.02 * 3e3)


# What cannot be painted with


def refusal(match):
    return pytest.raises(CaptureError, match=match)


def test_a_name_that_nothing_has_is_refused(add_body):
    add_body().supple.paint_young = "Hed"
    with refusal("Cube has no vertex group and no attribute 'Hed' to paint its Stiffness with"):
        captured()


def test_a_group_without_weights_is_refused(add_body):
    obj = add_body()
    add_group(obj, [])
    obj.supple.paint_density = "Head"
    with refusal("Cube: no vertex has a weight in the group 'Head' that paints its Density"):
        captured()


@pytest.mark.parametrize(
    ("kind", "domain", "told"),
    [
        ("FLOAT", "FACE", "is Float on Face"),
        ("FLOAT", "CORNER", "is Float on Face Corner"),
        ("BOOLEAN", "POINT", "is Boolean on Point"),
        ("FLOAT_COLOR", "FACE", "is Color on Face"),
    ],
)
def test_attributes_of_another_kind_are_refused_with_what_is_wanted(add_body, kind, domain, told):
    add_attribute(obj := add_body(), kind, domain)
    obj.supple.paint_damping = "Head"
    with refusal(
        rf"Cube: the attribute 'Head' cannot paint its Damping, since it {told}\. .* Conv"
    ):
        captured()


def test_values_that_leave_no_stiffness_are_refused_by_vertex(add_body):
    obj = add_body()
    add_attribute(obj, "FLOAT", "POINT", [1, 1, 1, -2, 1, 1, 1, 1])
    obj.supple.paint_young = "Head"
    with refusal("Cube: 'Head' cannot paint its Stiffness: .* vertex 3. Keep its values between 0"):
        captured()


@pytest.mark.parametrize("kind", ["group", "attribute"])
def test_modifiers_that_lose_the_paint_are_told(add_body, kind):
    obj = add_body()
    if kind == "group":
        add_group(obj, np.ones(8))
    else:
        add_attribute(obj, "FLOAT", "POINT", np.ones(8))
    obj.modifiers.new("Remesh", "REMESH").voxel_size = 0.3
    obj.supple.paint_young = "Head"
    with refusal(f"Cube: its modifiers drop the {kind} 'Head' that paints its Stiffness"):
        captured()


# What is told, and shown


def test_paint_of_a_setting_that_is_nothing_is_told(add_body):
    obj = add_body()
    add_group(obj, np.ones(8))
    obj.supple.paint_viscosity = "Head"
    obj.supple.viscosity = 3.0
    assert not ignored.messages(bpy.context)
    obj.supple.viscosity = 0.0
    (told,) = ignored.messages(bpy.context)
    assert told.startswith("Cube: 'Head' paints its Viscosity, which is 0 everywhere")


def test_what_is_painted_anew_is_seen_to_have_changed(add_body):
    obj = add_body()
    add_group(obj, np.ones(8))
    attribute = add_attribute(obj, "FLOAT", "POINT", np.ones(8), "Weight")
    obj.supple.paint_young, obj.supple.paint_density = "Head", "Weight"

    def mark():
        fingerprint.forget()
        return fingerprint.as_text(fingerprint.body_fingerprint(obj))

    marks = [mark(), mark()]
    assert marks[0] == marks[1]
    obj.vertex_groups["Head"].add([2], 0.5, "REPLACE")
    marks.append(mark())
    attribute.data[3].value = 0.5
    marks.append(mark())
    assert len(set(marks)) == 3


def test_the_panel_shows_what_is_left_where_unpainted_once_something_paints(add_body):
    obj = add_body()
    shown = drawn(SUPPLE_PT_paint, obj)
    assert shown.labels == [
        "Overlay",
        *("Stiffness", "Density", "Damping", "Stiffness Damping", "Viscosity"),
        *("Yield Stress", "Friction", "Drag", "Loss Factor"),
    ]
    assert not shown.buttons
    obj.supple.paint_density = "Head"
    shown = drawn(SUPPLE_PT_paint, obj)
    assert "unpainted_density" in shown.settings
    assert shown.buttons == ["supple.show_paint"]


def test_paint_is_shown_where_it_can_be_changed(add_body):
    obj = add_body()
    add_group(obj, np.ones(8), "Other")
    add_group(obj, np.ones(8))
    add_attribute(obj, "FLOAT_COLOR", "POINT", name="Colour")
    add_attribute(obj, "FLOAT", "POINT", name="Number")
    obj.vertex_groups.active_index = 0
    obj.supple.paint_young, obj.supple.paint_density = "Head", "Colour"
    obj.supple.paint_damping = "Number"
    bpy.ops.supple.show_paint(setting="young")
    assert (obj.mode, obj.vertex_groups.active.name) == ("WEIGHT_PAINT", "Head")
    bpy.ops.supple.show_paint(setting="young")
    assert obj.mode == "OBJECT"
    bpy.ops.supple.show_paint(setting="density")
    assert (obj.mode, obj.data.attributes.active_color.name) == ("VERTEX_PAINT", "Colour")
    bpy.ops.supple.show_paint(setting="density")
    with pytest.raises(RuntimeError, match="no brush for the float attribute 'Number'"):
        bpy.ops.supple.show_paint(setting="damping")
