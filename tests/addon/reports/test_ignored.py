# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings that the solver ignores are reported, with the cure."""

from __future__ import annotations

from types import SimpleNamespace

import bpy
import numpy as np
import pytest

from supple.addon import actions
from supple.addon.bake import shape_keys
from supple.addon.capture.captured import CaptureError
from supple.addon.capture.scene import capture
from supple.addon.operators.simulate import SUPPLE_OT_simulate
from supple.addon.panels.body import SUPPLE_PT_pins
from supple.addon.panels.main import SUPPLE_PT_main
from supple.addon.playback import mesh_cache
from supple.addon.reports import ignored
from supple.addon.settings.object import OBJECT
from supple.addon.settings.scene import SCENE
from supple.tests.addon import rigs
from supple.tests.addon.layout import drawn
from supple.tests.addon.reports.ignored_lines import key, messages, only


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
    assert only().startswith("Cube: the modifier Rig only changes the visible mesh")
    assert "since Half before it changes the number of vertices" in only()
    modifier.show_viewport = False
    assert messages() == []


def test_what_drives_a_body_without_pins_is_named(add_body):
    body = add_body()
    body.modifiers.new("Dent", "DISPLACE")
    assert messages() == []
    body.modifiers.new("Rig", "ARMATURE")
    assert "Cube: the motion of Rig moves only its pins" in only()
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
    assert "Cube: the motion of Armature" in only()
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
    assert first.startswith("Cube: the animation of Density is ignored")
    assert second.startswith(f"{scene.name}: the animation of Friction is ignored")


def test_settings_animated_in_the_nla_are_named(add_body):
    body = add_body()
    key(body, "supple.density")
    data = body.animation_data
    action, slot, data.action = data.action, data.action_slot, None
    assert messages() == []
    strip = data.nla_tracks.new().strips.new("Keys", 1, action)
    strip.action_slot = slot
    assert "Density" in only()


@pytest.mark.parametrize("path", ["gravity", "use_gravity"])
def test_animated_gravity_is_followed_and_not_named(scene, add_body, path):
    add_body()
    scene.keyframe_insert(path, frame=1)
    assert messages() == []


def test_an_animated_body_without_pins_is_named(add_body):
    body = add_body()
    body.keyframe_insert("rotation_euler", frame=1)
    assert only().startswith("Cube: its animation moves only its pins, and it has no Pin Group")


def test_a_hidden_collider_is_named(add_body):
    add_body()
    bpy.ops.mesh.primitive_plane_add(location=(0, 0, -3))
    plate = bpy.context.object
    plate.supple.collider = True
    plate.hide_set(True)
    assert only() == "Plane is a hidden collider, so that nothing lands on it. Show it."


def test_blender_s_own_physics_are_named(add_body):
    body = add_body()
    bpy.ops.rigidbody.object_add()
    assert only().startswith("Cube: its Rigid Body physics is ignored")
    bpy.ops.rigidbody.object_remove()
    bpy.ops.mesh.primitive_plane_add(location=(0, 0, -3))
    plate = bpy.context.object
    plate.modifiers.new("Collision", "COLLISION")
    assert only().startswith("Plane: soft bodies ignore Blender's Collision physics")
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
    assert only().startswith("Left Out is a soft body in a collection that is excluded")


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
    assert line.startswith("Away is a soft body instanced by Copy and is not simulated.")
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
        "Hidden is a hidden soft body and is not simulated. Show it, or remove the soft body."
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
    assert only().startswith("Cube: its animation moves only its pins, and it has no Pin Group")


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


def test_an_integrator_without_viscosity_is_named_and_runs_without_it(scene, add_body):
    body, scene.supple.self_contact = add_body(), False
    props = body.supple
    props.viscosity, props.stiffness_damping, props.loss_factor = 10.0, 0.01, 0.1
    assert messages() == []
    scene.supple.integrator = "xpbd"
    assert only().startswith("Cube: XPBD ignores Loss Factor, Stiffness Damping and Viscosity")
    (captured,) = capture(bpy.context).scene.bodies
    assert (captured.viscosity, captured.stiffness_damping, captured.loss_factor) == (0.0, 0.0, 0.0)
    props.viscosity = props.stiffness_damping = 0.0
    assert len(messages()) == 1
    props.loss_factor = 0.0
    assert messages() == []


def test_an_integrator_without_plasticity_is_named_and_runs_without_it(scene, add_body):
    body, scene.supple.self_contact = add_body(), False
    body.supple.use_plasticity = True
    assert messages() == []
    body.supple.viscosity, scene.supple.integrator = 0.0, "xpbd"
    assert only().startswith("Cube: XPBD ignores Plasticity. Turn it off")
    assert capture(bpy.context).scene.bodies[0].plasticity is None


def test_substeps_are_ignored_where_a_tolerance_says_how_long_all_steps_are(scene, add_body):
    add_body()
    scene.supple.integrator, scene.supple.substeps = "adaptive_midpoint", 4
    scene.supple.self_contact = False
    assert only().startswith("Scene: Substeps is ignored, since")
    scene.supple.contact, scene.supple.integrator = "never", "midpoint"
    assert messages() == []


def test_an_older_file_that_asks_for_single_precision_is_told_that_it_gets_double(scene, add_body):
    add_body()
    read = getattr(scene.supple, "bl_system_properties_get", None)
    stored = scene.supple if read is None else read(do_create=True)
    stored["precision"] = 1
    assert only().startswith("Scene: the file was made with single precision")
    stored["precision"] = 0
    assert messages() == []


@pytest.mark.parametrize("integrator", ["symplectic_euler", "midpoint", "runge_kutta4"])
def test_friction_passes_are_ignored_where_no_step_is_implicit(scene, add_body, integrator):
    add_body()
    scene.supple.friction_updates = 1
    assert messages() == []
    scene.supple.integrator = integrator
    assert only().startswith("Scene: Friction Passes is ignored, since")
    scene.supple.contact = "never"
    assert messages() == []


def test_a_body_on_bouncy_ground_is_said_to_go_through_itself(scene, add_body):
    body, props = add_body(), scene.supple
    props.ground_response = "projection"
    assert only().startswith("Cube does not collide with itself")
    assert capture(bpy.context).scene.contact is None
    props.self_contact = False
    assert messages() == []
    props.self_contact, body.supple.jiggle_group = True, "Jiggle"
    assert messages() == []
    body.supple.jiggle_group, props.use_ground = "", False
    assert messages() == []


@pytest.mark.parametrize("integrator", ["xpbd", "adaptive_midpoint"])
def test_a_body_whose_integrator_knows_no_contact_is_said_to_go_through_itself(
    scene, add_body, integrator
):
    body, props = add_body(), scene.supple
    body.supple.viscosity, props.integrator = 0.0, integrator
    assert only().startswith("Cube does not collide with itself, since ")
    assert "only supports collisions with the ground and spheres. Choose Automatic" in only()
    assert capture(bpy.context).scene.contact is None
    props.contact = "never"
    assert messages() == []
    props.contact, body.supple.jiggle_group = "automatic", "Jiggle"
    assert not any("through itself" in line for line in messages())


def key_at(owner: bpy.types.ID, path: str, *keys: tuple[int, float]) -> bpy.types.FCurve:
    prefix, _, name = path.rpartition(".")
    settings = owner.path_resolve(prefix)
    for frame, value in keys:
        setattr(settings, name, value)
        owner.keyframe_insert(path, frame=frame)
    bag = owner.animation_data.action.layers[0].strips[0].channelbags[0]
    return bag.fcurves.find(path)


@pytest.mark.parametrize(
    ("frames", "side"), [((4, 9), "after the end frame 4"), ((-7, 1), "before the start frame 1")]
)
def test_keys_of_which_no_frame_sees_a_change_are_reported(scene, add_body, frames, side):
    body = add_body()
    key_at(body, "supple.young", *zip(frames, (1e4, 5e4), strict=True))
    (message,) = ignored.messages(bpy.context)
    assert message.startswith(
        f"Cube: all keys of Stiffness are {side}, so that it does not change."
    )
    captured = capture(bpy.context).scene.bodies[0]
    assert captured.material.young == pytest.approx(1e4 if frames[0] == 4 else 5e4)
    assert captured.stiffness is None


def test_of_keys_on_both_sides_the_frames_take_what_lies_between(add_body):
    curve = key_at(add_body(), "supple.young", (-2, 1e4), (7, 1e5))
    curve.keyframe_points[0].interpolation = "LINEAR"
    assert ignored.messages(bpy.context) == []
    factors = capture(bpy.context).scene.bodies[0].stiffness
    np.testing.assert_allclose(factors.samples, [1.0, 1.25, 1.5, 1.75], rtol=1e-6)


def test_what_goes_on_beyond_its_keys_is_not_reported(add_body):
    body = add_body()
    curve = key_at(body, "supple.pressure", (10, 100.0), (20, 200.0))
    assert len(ignored.messages(bpy.context)) == 1
    curve.extrapolation = "LINEAR"
    assert ignored.messages(bpy.context) == []
    curve.extrapolation = "CONSTANT"
    curve.modifiers.new("CYCLES")
    assert ignored.messages(bpy.context) == []


def test_a_value_that_is_keyed_once_is_meant_as_it_is(add_body):
    key_at(add_body(), "supple.young", (40, 2e4))
    assert ignored.messages(bpy.context) == []


def test_fields_and_gravity_are_reported_too(scene, add_body):
    add_body()
    bpy.ops.object.effector_add(type="WIND")
    key_at(bpy.context.object, "field.strength", (8, 1.0), (9, 2.0))
    for frame, value in ((-3, -9.81), (0, 0.0)):
        scene.gravity[2] = value
        scene.keyframe_insert("gravity", frame=frame)
    wind, weight = ignored.messages(bpy.context)
    assert "all keys of Strength are after the end frame 4" in wind
    assert weight.startswith("Scene: all keys of Gravity are before the start frame 1")


def test_what_absorbs_fields_is_reported_too(add_body):
    add_body()
    bpy.ops.object.effector_add(type="WIND")
    bpy.context.object.field.use_absorption = True
    bpy.ops.mesh.primitive_plane_add()
    bpy.ops.object.modifier_add(type="COLLISION")
    wall = bpy.context.object
    key_at(wall, "collision.absorption", (10, 0.2), (20, 0.7))
    (message,) = ignored.messages(bpy.context)
    assert message.startswith(f"{wall.name}: all keys of Absorption are after the end frame 4")


def keyed_empty(name: str = "Hand") -> bpy.types.Object:
    bpy.ops.object.empty_add()
    empty = bpy.context.object
    empty.name = name
    rigs.key(empty, "location", ((0, 0, 0), (1, 0, 0), (0, 0, 0)))
    return empty


def child_of_keyed(obj: bpy.types.Object) -> None:
    obj.parent = keyed_empty()


def grandchild_of_keyed(obj: bpy.types.Object) -> None:
    bpy.ops.object.empty_add()
    obj.parent = bpy.context.object
    obj.parent.name = "Arm"
    obj.parent.parent = keyed_empty()


def copies_keyed(obj: bpy.types.Object) -> None:
    obj.constraints.new("COPY_LOCATION").target = keyed_empty()


def child_of_bone(obj: bpy.types.Object) -> None:
    obj.parent = rigs.bone()
    obj.parent.name = "Rig"
    obj.parent_type, obj.parent_bone = "BONE", obj.parent.pose.bones[0].name


def follows_a_bone_that_reaches_for_keys(obj: bpy.types.Object) -> None:
    bpy.ops.object.armature_add()
    rig = bpy.context.object
    rig.pose.bones[0].constraints.new("TRACK_TO").target = keyed_empty()
    follow = obj.constraints.new("COPY_ROTATION")
    follow.target, follow.subtarget = rig, rig.pose.bones[0].name


def armature_of_bones(obj: bpy.types.Object) -> None:
    follow = obj.constraints.new("ARMATURE")
    target = follow.targets.new()
    target.target = rigs.bone()
    target.subtarget = target.target.pose.bones[0].name


@pytest.mark.parametrize(
    ("move", "names"),
    [
        (child_of_keyed, "its parent Hand moves"),
        (grandchild_of_keyed, "its parent Arm moves"),
        (copies_keyed, "its constraint Copy Location moves"),
        (child_of_bone, "its parent Rig moves"),
        (follows_a_bone_that_reaches_for_keys, "its constraint Copy Rotation moves"),
        (armature_of_bones, "its constraint Armature moves"),
        (rigs.constraint, "its constraint Follow Path and its constraint Track To move"),
        (rigs.path_parent, "its parent NurbsPath moves"),
    ],
)
def test_what_carries_a_body_without_pins_is_named(add_body, move, names):
    body = add_body()
    move(body)
    assert only().startswith(
        f"Cube: {names} only its pins, and it has no Pin Group. Press Jiggle, choose"
    )
    body.supple.start_from_animation = True
    assert messages() == []
    body.supple.start_from_animation = False
    body.vertex_groups.new(name="Top").add([1], 1.0, "REPLACE")
    body.supple.pin_group = "Top"
    assert messages() == []


def test_what_stands_still_is_not(add_body):
    body = add_body()
    bpy.ops.object.empty_add()
    body.parent = bpy.context.object
    body.constraints.new("COPY_LOCATION").target = add_body("Other")
    body.supple.keyframe_insert("young", frame=1)
    body.keyframe_insert("hide_render", frame=1)
    assert messages() == []


def test_what_both_carries_and_bends_a_body_without_pins_is_named_once(add_body):
    body = add_body()
    body.keyframe_insert("location", frame=1)
    rigs.shape_keys(body)
    assert only() == (
        "Cube: its animation and the motion of its shape keys move only its pins, and it has no "
        "Pin Group. Press Jiggle, choose a Pin Group, or apply what deforms it."
    )


def test_two_that_follow_each_other_end_the_search(add_body):
    body, other = add_body(), add_body("Other")
    body.constraints.new("COPY_LOCATION").target = other
    other.constraints.new("COPY_LOCATION").target = body
    assert messages() == []


@pytest.mark.parametrize("kind", ["relative", "absolute", "driven"])
def test_shape_keys_that_move_a_body_without_pins_are_named(add_body, kind):
    body = add_body()
    if kind == "driven":
        rigs.driver(body)
        body.driver_remove("rotation_euler")
    else:
        rigs.shape_keys(body)
    if kind == "absolute":
        keys = body.data.shape_keys
        keys.animation_data_clear()
        keys.use_relative = False
        keys.keyframe_insert("eval_time", frame=1)
    assert only().startswith("Cube: the motion of its shape keys")
    assert "Press Jiggle, choose a Pin Group, or apply" in only()
    body.supple.rest_shape = "shape_keys"
    assert not any("its shape at the start" in line for line in messages())


@pytest.mark.parametrize("has_keys", [False, True])
def test_the_keys_of_a_bake_are_no_such_animation(add_body, play, has_keys):
    body = add_body()
    if has_keys:
        rigs.shape_keys(body)
    before = messages()
    assert len(before) == has_keys
    play(3)
    actions.bake(bpy.context)
    assert messages() == before
    shape_keys.free(body)
    mesh_cache.detach(body)
    assert messages() == before


def test_what_the_table_of_needs_names_are_settings():
    for needs, table in ((ignored.BODY_NEEDS, OBJECT), (ignored.SCENE_NEEDS, SCENE)):
        named = {name for need in needs for name in need.settings}
        assert named and named <= {row.name for row in table}
