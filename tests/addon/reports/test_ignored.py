# SPDX-License-Identifier: GPL-3.0-or-later
"""What the solver does not see is reported: by the panel, and before a simulation."""

from __future__ import annotations

from types import SimpleNamespace

import bpy
import pytest

from supple.addon import actions
from supple.addon.capture.captured import CaptureError
from supple.addon.capture.scene import capture
from supple.addon.operators.simulate import SUPPLE_OT_simulate
from supple.addon.panels.main import SUPPLE_PT_main
from supple.addon.panels.pins import SUPPLE_PT_pins
from supple.addon.reports import ignored

from ..layout import drawn
from .ignored_lines import key, messages, only


def test_an_ordinary_scene_has_nothing_that_is_ignored(scene, add_body):
    assert messages() == []
    body = add_body()
    body.modifiers.new("Smooth", "SUBSURF")
    body.vertex_groups.new(name="Top").add([1, 3], 1.0, "REPLACE")
    body.supple.pin_group = "Top"
    body.keyframe_insert("location", frame=1)
    bpy.ops.mesh.primitive_plane_add(location=(0, 0, -3))
    bpy.context.object.supple.collider = True
    assert messages() == []


def test_nothing_is_reported_of_a_scene_without_soft_bodies(scene):
    bpy.ops.object.effector_add(type="WIND")
    assert messages() == []


@pytest.mark.parametrize("kind", ["ARMATURE", "LATTICE", "HOOK", "CLOTH", "SURFACE_DEFORM"])
def test_a_modifier_that_moves_only_what_is_seen_is_named(add_body, kind):
    body = add_body()
    body.modifiers.new("Half", "MIRROR")
    modifier = body.modifiers.new("Rig", kind)
    # Blender 5 puts hooks first.
    body.modifiers.move(body.modifiers.find("Rig"), 1)
    assert only().startswith("Cube: the modifier Rig does not move the solid")
    assert "since Half before it changes the number of vertices" in only()
    modifier.show_viewport = False
    assert messages() == []


def test_what_drives_a_body_without_pins_is_named(add_body):
    body = add_body()
    body.modifiers.new("Dent", "DISPLACE")
    assert messages() == []
    body.modifiers.new("Rig", "ARMATURE")
    assert "Cube: it takes its shape at the start from Rig, whose motion moves" in only()
    body.vertex_groups.new(name="Top").add([1], 1.0, "REPLACE")
    body.supple.pin_group = "Top"
    assert messages() == []


def test_supple_s_own_playback_is_no_such_modifier(add_body):
    add_body().modifiers.new("Supple", "MESH_CACHE")
    assert messages() == []


def test_a_parent_that_bends_a_body_without_pins_is_named(add_body):
    body = add_body()
    bpy.ops.object.armature_add()
    body.parent, body.parent_type = bpy.context.object, "ARMATURE"
    assert "Cube: it takes its shape at the start from Armature" in only()
    body.parent_type = "OBJECT"
    assert messages() == []


@pytest.mark.parametrize(
    ("weights", "message"),
    [((0.4, 0.9, 1.0), "2 vertices have"), ((0.05, 1.0, 0.0), "1 vertex has")],
)
def test_weights_between_none_and_all_are_counted(add_body, weights, message):
    body = add_body()
    group = body.vertex_groups.new(name="Half")
    for vertex, weight in enumerate(weights):
        group.add([vertex], weight, "REPLACE")
    body.supple.pin_group = "Half"
    body.supple.attach_group = "Half"
    assert messages() == []
    body.supple.attach_to = add_body("Other")
    assert f"{message} a weight between 0 and 1 in Attach 'Half'" in only()


def test_weights_of_the_far_ends_of_stitches_are_counted_too(add_body):
    body, other = add_body(), add_body("Other")
    body.vertex_groups.new(name="Edge").add([1], 1.0, "REPLACE")
    other.vertex_groups.new(name="Edge").add([1, 2], 0.4, "REPLACE")
    props = body.supple
    props.attach_to, props.attach_group, props.stitch_group = other, "Edge", "Edge"
    assert messages() == []
    props.attach_as = "stitch"
    assert only().startswith("Other: 2 vertices have a weight between 0 and 1 in Other Group")


def test_goals_are_ignored_beside_what_jiggles(add_body):
    body = add_body()
    body.vertex_groups.new(name="Jiggle").add(range(8), 1.0, "REPLACE")
    body.vertex_groups.new(name="Held").add([1], 0.5, "REPLACE")
    body.supple.pin_group = "Held"
    assert messages() == []
    body.supple.jiggle_group = "Jiggle"
    assert only().startswith("Cube: 1 vertex has a weight between 0 and 1 in Pin Group 'Held'.")
    assert "goal_frequency" not in drawn(SUPPLE_PT_pins, body).settings


def test_weights_are_counted_anew_after_a_while(add_body, monkeypatch):
    body = add_body()
    body.vertex_groups.new(name="Top").add([1], 0.3, "REPLACE")
    body.supple.attach_group, body.supple.attach_to = "Top", add_body("Other")
    clock = [100.0]
    monkeypatch.setattr(ignored, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    assert only()
    body.vertex_groups["Top"].add([1], 1.0, "REPLACE")
    clock[0] += 1.0
    assert ignored.messages(bpy.context, is_redraw=True) == []


def test_a_redraw_leaves_fine_meshes_to_the_next_simulation(add_body, monkeypatch):
    body = add_body()
    body.vertex_groups.new(name="Top").add([1], 0.3, "REPLACE")
    body.supple.attach_group, body.supple.attach_to = "Top", add_body("Other")
    monkeypatch.setattr(ignored, "_FEW_VERTICES", 7)
    ignored._counts.clear()
    assert ignored.messages(bpy.context, is_redraw=True) == []
    assert len(ignored.messages(bpy.context)) == 1
    assert len(ignored.messages(bpy.context, is_redraw=True)) == 1
    monkeypatch.setattr(ignored, "_FEW_VERTICES", 8)
    monkeypatch.setattr(ignored, "_REDRAW_SECONDS", -1.0)
    ignored._counts.clear()
    assert ignored.messages(bpy.context, is_redraw=True) == []


def test_animated_settings_of_a_body_and_of_the_scene_are_named(scene, add_body):
    body = add_body()
    key(body, "supple.density")
    key(scene, "supple.ground_friction")
    first, second = messages()
    assert first.startswith("Cube: the animation of Density (kg/m³) is ignored")
    assert second.startswith(f"{scene.name}: the animation of Friction is ignored")


def test_settings_animated_in_the_nla_are_named(add_body):
    body = add_body()
    key(body, "supple.density")
    data = body.animation_data
    action, slot, data.action = data.action, data.action_slot, None
    assert messages() == []
    strip = data.nla_tracks.new().strips.new("Keys", 1, action)
    strip.action_slot = slot
    assert "Density (kg/m³)" in only()


@pytest.mark.parametrize("path", ["gravity", "use_gravity"])
def test_animated_gravity_is_followed_and_not_named(scene, add_body, path):
    add_body()
    scene.keyframe_insert(path, frame=1)
    assert messages() == []


def test_an_animated_body_without_pins_is_named(add_body):
    body = add_body()
    body.keyframe_insert("rotation_euler", frame=1)
    assert only().startswith("Cube: its animation moves its pins, and it has none")


def test_a_hidden_collider_is_named(add_body):
    add_body()
    bpy.ops.mesh.primitive_plane_add(location=(0, 0, -3))
    plate = bpy.context.object
    plate.supple.collider = True
    plate.hide_set(True)
    assert only() == "Plane is a collider and hidden, so nothing lands on it. Show it."


def test_blender_s_own_physics_are_named(add_body):
    body = add_body()
    bpy.ops.rigidbody.object_add()
    assert only().startswith("Cube: its rigid body is ignored")
    bpy.ops.rigidbody.object_remove()
    bpy.ops.mesh.primitive_plane_add(location=(0, 0, -3))
    plate = bpy.context.object
    plate.modifiers.new("Collision", "COLLISION")
    assert only().startswith("Plane: soft bodies do not see Blender's Collision physics")
    plate.supple.collider = True
    assert messages() == []
    assert body.supple.enabled


def test_a_body_that_the_view_layer_leaves_out_is_named(scene, add_body):
    add_body()
    left_out = add_body("Left Out")
    collection = bpy.data.collections.new("Away")
    scene.collection.children.link(collection)
    collection.objects.link(left_out)
    scene.collection.objects.unlink(left_out)
    bpy.context.view_layer.layer_collection.children["Away"].exclude = True
    bpy.context.view_layer.update()
    assert only().startswith("Left Out is a soft body of a collection that this view layer")


def test_a_body_that_is_instanced_alone_is_named_in_the_tab_too(scene, add_body, play, solver):
    add_body("Here")
    body, collection = add_body("Away"), bpy.data.collections.new("Prop")
    collection.objects.link(body)
    empty = bpy.data.objects.new("Copy", None)
    empty.instance_type, empty.instance_collection = "COLLECTION", collection
    scene.collection.objects.link(empty)
    assert messages() == []
    scene.collection.objects.unlink(body)
    line = only()
    assert line.startswith("Away is a soft body that Copy instances, so it is not simulated.")
    assert ("ERROR", line) in drawn(SUPPLE_PT_main, None).texts
    bpy.data.objects.remove(bpy.data.objects["Here"])
    assert only() == SUPPLE_OT_simulate.unavailable_reason(bpy.context) == line
    with pytest.raises(CaptureError) as refusal:
        capture(bpy.context)
    assert str(refusal.value) == line
    scene.collection.objects.link(body)
    bpy.context.view_layer.update()
    play(2)
    scene.collection.objects.unlink(body)
    assert messages() == []


@pytest.mark.parametrize("is_alone", [True, False])
def test_a_hidden_body_is_named(add_body, is_alone):
    if not is_alone:
        add_body()
    add_body("Hidden").hide_set(True)
    assert only() == (
        "Hidden is a soft body and hidden, so it is not simulated. Show it, or remove its soft "
        "body."
    )


@pytest.mark.usefixtures("solver_here")
def test_the_panel_and_a_simulation_say_it(scene, add_body):
    body = add_body()
    bpy.ops.object.effector_add(type="GUIDE")
    scene.frame_end = 2
    assert any("force field" in text for _, text in drawn(SUPPLE_PT_main, body).texts)
    messages: list[str] = []
    actions.simulate(bpy.context, messages.append)
    assert messages[0].startswith("Warning: CurveGuide: its force field Curve Guide does not act")


def test_an_animation_is_used_by_pins_or_by_the_start(add_body):
    body = add_body()
    body.supple.start_from_animation = True
    assert only().startswith("Cube: it starts at rest, since From Animation under Start finds")
    body.keyframe_insert("location", frame=1)
    assert messages() == []
    body.supple.start_from_animation = False
    assert only().startswith("Cube: its animation moves its pins, and it has none")


def test_only_what_the_solver_takes_frame_by_frame_can_be_keyed_or_driven(scene, add_body):
    body = add_body()
    keyed = {"young", "pressure", "target_volume", "drag", "pinned", "attached", "closed"}
    for own, expected in ((body.supple, keyed), (scene.supple, {"time_scale"})):
        settings = [prop for prop in own.bl_rna.properties if prop.identifier != "name"]
        assert {prop.identifier for prop in settings if prop.is_animatable} == expected
    for name in ("young", "pressure", "drag"):
        body.supple.keyframe_insert(name, frame=1)
    assert messages() == []
    with pytest.raises(TypeError, match="not animatable"):
        scene.supple.keyframe_insert("ground_height")
