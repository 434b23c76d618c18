# SPDX-License-Identifier: GPL-3.0-or-later
"""Jiggle: meshes that wobble on top of their animation."""

from __future__ import annotations

import math

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from supple.addon import actions, driving, modifiers
from supple.addon.capture.pins import HELD_WEIGHT
from supple.addon.capture.scene import capture
from supple.addon.capture.surfaces import group_weights
from supple.addon.panels.body import SUPPLE_PT_jiggle
from supple.addon.panels.main import SUPPLE_PT_main
from supple.addon.playback import mesh_cache
from supple.addon.reports import ignored
from supple.core.job import Job
from supple.core.preparation.transfers import depths

from ..layout import drawn
from ..rigs import key

LENGTH, RADIUS = 1.2, 0.15


@pytest.fixture
def tail(scene: bpy.types.Scene) -> bpy.types.Object:
    """A cylinder along x that sags and is no soft body yet."""
    bpy.ops.mesh.primitive_cylinder_add(
        vertices=8,
        radius=RADIUS,
        depth=LENGTH,
        end_fill_type="TRIFAN",
        rotation=(0, 0.5 * math.pi, 0),
    )
    bpy.ops.object.transform_apply(location=False)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.subdivide(number_cuts=2)
    bpy.ops.object.mode_set(mode="OBJECT")
    obj = bpy.context.object
    obj.name = "Tail"
    return obj


def rig_of(tail: bpy.types.Object, turns: tuple[float, ...] = (0.6, 0.6, 0.6)) -> bpy.types.Object:
    """Bones along its lower half and upper half; the second is turned, at frames 1, 3 and 5."""
    bpy.ops.object.armature_add(enter_editmode=True)
    rig = bpy.context.object
    first = rig.data.edit_bones[0]
    first.head, first.tail = (-0.5 * LENGTH, 0, 0), (0, 0, 0)
    second = rig.data.edit_bones.new("Tip")
    second.head, second.tail, second.parent = (0, 0, 0), (0.5 * LENGTH, 0, 0), first
    bpy.ops.object.mode_set(mode="OBJECT")
    names = [bone.name for bone in rig.data.bones]
    for name, side in zip(names, (-1.0, 1.0), strict=True):
        group = tail.vertex_groups.new(name=name)
        for vertex in tail.data.vertices:
            weight = min(max(0.5 + side * vertex.co.x / 0.4, 0.0), 1.0)
            if weight:
                group.add([vertex.index], weight, "REPLACE")
    tail.modifiers.new("Armature", "ARMATURE").object = rig
    posed = rig.pose.bones["Tip"]
    posed.rotation_mode = "XYZ"
    key(posed, "rotation_euler", tuple((turn, 0.0, 0.2 * turn) for turn in turns))
    choose(tail)
    return rig


def choose(obj: bpy.types.Object) -> None:
    bpy.ops.object.select_all(action="DESELECT")
    obj.select_set(True)
    bpy.context.view_layer.objects.active = obj


def world(obj: bpy.types.Object, frame: int) -> np.ndarray:
    bpy.context.scene.frame_set(frame)
    shown = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    points = np.array([tuple(vertex.co) for vertex in shown.data.vertices])
    matrix = np.array(shown.matrix_world)
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def test_a_keyed_prop_wobbles_as_a_whole(scene, tail):
    key(tail, "location", ((0, 0, 0), (1, 0, 0), (1, 0, 0)))
    assert bpy.ops.supple.jiggle(speed=2.5, duration=0.8, falloff="none") == {"FINISHED"}
    assert (group_weights(tail, tail.vertex_groups["Jiggle"]) == 1.0).all()
    body = capture(bpy.context).scene.bodies[0]
    assert not body.self_contact
    goals = body.skin.goals
    assert body.skin.pinned is None
    assert goals.sag_free
    assert goals.falloff_depth is None
    assert len(goals.vertices) == len(tail.data.vertices)
    # What wobbles most has the speed, and is down to a twentieth after the duration.
    np.testing.assert_allclose(goals.frequency * np.sqrt(goals.weights), 2.5)
    decay = goals.damping_ratio * 2.0 * math.pi * 2.5
    assert math.exp(-decay * 0.8) == pytest.approx(0.05)
    # Half the length, at half the speed, of a layer: E = 2 (1 + ν) ρ (4 L f/2)².
    speed = 4.0 * 0.5 * LENGTH * 0.5 * 2.5
    expected = 2.0 * (1.0 + tail.supple.poisson) * 1000.0 * speed**2
    assert tail.supple.young == pytest.approx(expected, rel=0.06)


def test_without_bones_a_core_is_held(tail):
    key(tail, "location", ((0, 0, 0), (1, 0, 0), (1, 0, 0)))
    assert bpy.ops.supple.jiggle(speed=2.5, depth=0.6) == {"FINISHED"}
    assert (group_weights(tail, tail.vertex_groups["Jiggle"]) == 1.0).all()
    goals = capture(bpy.context).scene.bodies[0].skin.goals
    assert goals.falloff_depth == pytest.approx(0.6)
    # The layer that wobbles reaches from the surface to that part of the axis's depth.
    reach = 0.6 * RADIUS * math.cos(math.pi / 8)
    speed = 4.0 * reach * 0.5 * 2.5
    expected = 2.0 * (1.0 + tail.supple.poisson) * 1000.0 * speed**2
    assert tail.supple.young == pytest.approx(expected, rel=0.1)
    # Once more, that stays; where it is not wanted, it goes.
    assert bpy.ops.supple.jiggle() == {"FINISHED"}
    assert tail.supple.jiggle_depth == pytest.approx(0.6)
    assert bpy.ops.supple.jiggle(falloff="none") == {"FINISHED"}
    assert tail.supple.jiggle_depth == 0.0


def test_what_is_thinner_than_its_tetrahedra_wobbles_as_a_whole(tail):
    key(tail, "location", ((0, 0, 0), (1, 0, 0), (1, 0, 0)))
    tail.data.transform(Matrix.Diagonal((1.0, 1.0, 0.05, 1.0)))
    assert bpy.ops.supple.jiggle() == {"FINISHED"}
    assert tail.supple.jiggle_depth == 0.0


def test_the_falloff_can_be_chosen_beside_bones(tail):
    rig_of(tail)
    assert bpy.ops.supple.jiggle(falloff="surface", depth=0.4) == {"FINISHED"}
    assert (group_weights(tail, tail.vertex_groups["Jiggle"]) == 1.0).all()
    assert tail.supple.jiggle_depth == pytest.approx(0.4)
    # Weights that are there stay.
    assert bpy.ops.supple.jiggle(falloff="bones") == {"FINISHED"}
    assert (group_weights(tail, tail.vertex_groups["Jiggle"]) == 1.0).all()
    assert tail.supple.jiggle_depth == 0.0


def test_a_falloff_from_bones_wants_some(tail):
    key(tail, "location", ((0, 0, 0), (1, 0, 0), (1, 0, 0)))
    refused("no bones deform it", falloff="bones")
    assert not tail.vertex_groups


def test_a_prop_keeps_its_core_on_the_animation(scene, tail, solver, solver_here):
    key(tail, "location", ((0, 0, 0), (0.3, 0, 0), (0.3, 0, 0)))
    scene.supple.integrator, scene.supple.contact = "implicit_euler", "never"
    bpy.ops.supple.jiggle()
    tail.supple.resolution = 12
    actions.simulate(bpy.context)
    job = Job(mesh_cache.shown_folder(scene))
    body = job.tet_scene.bodies[0]
    inside = depths(body.mesh)
    core = np.flatnonzero(inside > 0.5 * inside.max())
    assert len(core) > 5
    moved = job.read_frame(2) - body.mesh.vertices
    np.testing.assert_allclose(moved[core] - moved[core][0], 0.0, atol=1e-6)
    assert np.linalg.norm(moved - moved[core][0], axis=1).max() > 0.02
    assert set(core) <= set(body.pinned.tolist())


def test_the_distance_from_bones_says_where(tail):
    rig = rig_of(tail)
    wide = [v.index for v in tail.data.vertices if v.co.x > 0.3 and v.co.z > 0.1]
    for index in wide:
        tail.data.vertices[index].co.z += 0.4
    assert bpy.ops.supple.jiggle() == {"FINISHED"}
    weights = group_weights(tail, tail.vertex_groups["Jiggle"])
    assert weights[wide].min() > 0.9
    on_bones = [v.index for v in tail.data.vertices if v.co.yz.length < 0.05]
    assert weights[on_bones].max() == 0.0
    body = capture(bpy.context).scene.bodies[0]
    assert set(on_bones) <= set(body.skin.pinned.tolist())
    assert rig.name in driving.order(tail) or "Armature" in driving.order(tail)


def test_weights_are_how_far_it_goes(tail):
    key(tail, "location", ((0, 0, 0), (1, 0, 0), (1, 0, 0)))
    group = tail.vertex_groups.new(name="Soft")
    group.add([0, 1, 2], 1.0, "REPLACE")
    group.add([3], 0.5, "REPLACE")
    group.add([4], 0.5 * HELD_WEIGHT, "REPLACE")
    bpy.ops.supple.jiggle(group="Soft", amount=0.5)
    assert "Jiggle" not in tail.vertex_groups
    skin = capture(bpy.context).scene.bodies[0].skin
    assert skin.goals.vertices.tolist() == [0, 1, 2, 3]
    # The stiffness is over the weight.
    np.testing.assert_allclose(skin.goals.weights * [0.5, 0.5, 0.5, 0.25], HELD_WEIGHT)
    assert 4 in skin.pinned
    assert len(skin.pinned) == len(tail.data.vertices) - 4
    pins = tail.vertex_groups.new(name="Pins")
    pins.add([0], 1.0, "REPLACE")
    tail.supple.pin_group = "Pins"
    assert 0 in capture(bpy.context).scene.bodies[0].skin.pinned


def test_a_group_of_that_name_is_taken_as_it_is(tail):
    key(tail, "location", ((0, 0, 0), (1, 0, 0), (1, 0, 0)))
    tail.vertex_groups.new(name="Jiggle").add([5], 0.75, "REPLACE")
    bpy.ops.supple.jiggle()
    assert group_weights(tail, tail.vertex_groups["Jiggle"]).sum() == 0.75


def test_what_is_a_soft_body_keeps_its_material(tail):
    key(tail, "location", ((0, 0, 0), (1, 0, 0), (1, 0, 0)))
    tail.supple.enabled, tail.supple.young = True, 777.0
    bpy.ops.supple.jiggle(speed=5.0)
    assert tail.supple.young == 777.0
    assert tail.supple.jiggle_speed == 5.0


def test_it_hangs_where_its_rig_has_it(scene, tail, solver, solver_here):
    """A pose that is not how it was modelled, which the start frame has already, and a change."""
    rig_of(tail, (0.9, 0.9, 0.9))
    scene.supple.integrator, scene.supple.contact = "implicit_euler", "never"
    bpy.ops.supple.jiggle()
    tail.supple.resolution = 6
    tail.vertex_groups["Jiggle"].add(list(range(len(tail.data.vertices))), 1.0, "REPLACE")
    actions.simulate(bpy.context)
    played = [world(tail, frame) for frame in (1, 4)]
    modifiers.find_modifier(tail).show_viewport = False
    for frame, points in zip((1, 4), played, strict=True):
        np.testing.assert_allclose(points, world(tail, frame), rtol=0.0, atol=1e-5 * LENGTH)


def refused(match: str, **more: object) -> None:
    with pytest.raises(RuntimeError, match=match):
        bpy.ops.supple.jiggle(**more)
    assert not bpy.context.object.supple.enabled
    assert not bpy.context.object.supple.jiggle_group


def test_what_nothing_moves_is_refused(tail):
    refused("is not animated")


def test_an_empty_group_and_none_of_the_name_are_refused(tail):
    key(tail, "location", ((0, 0, 0), (1, 0, 0), (1, 0, 0)))
    tail.vertex_groups.new(name="Soft")
    refused("no vertex has a weight above 0 in the group 'Soft'", group="Soft")
    refused("no vertex group 'Softer'", group="Softer")


def test_an_armature_behind_what_makes_vertices_is_refused(tail):
    tail.modifiers.new("Round", "SUBSURF")
    rig_of(tail)
    refused("Armature comes after one that changes the number of vertices")
    tail.modifiers.move(1, 0)
    assert bpy.ops.supple.jiggle() == {"FINISHED"}


def test_a_linked_mesh_is_refused(tail, tmp_path):
    path = str(tmp_path / "library.blend")
    bpy.data.libraries.write(path, {tail.data})
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.meshes = [tail.data.name]
    tail.data = wanted.meshes[0]
    key(tail, "location", ((0, 0, 0), (1, 0, 0), (1, 0, 0)))
    refused("The mesh of Tail is linked")


def test_what_has_no_weight_left_is_told_when_simulated(tail):
    key(tail, "location", ((0, 0, 0), (1, 0, 0), (1, 0, 0)))
    bpy.ops.supple.jiggle(amount=0.0)
    with pytest.raises(Exception, match="no vertex of the group 'Jiggle' jiggles"):
        capture(bpy.context)


def test_xpbd_does_without_and_says_so(scene, tail):
    key(tail, "location", ((0, 0, 0), (1, 0, 0), (1, 0, 0)))
    bpy.ops.supple.jiggle()
    assert not any("Jiggle" in line or "sag" in line for line in ignored.messages(bpy.context))
    scene.supple.integrator = "xpbd"
    assert any("does not support Jiggle" in line for line in ignored.messages(bpy.context))
    assert not capture(bpy.context).scene.bodies[0].skin.goals.sag_free


def test_its_velocity_is_not_counted_twice(scene, tail):
    key(tail, "location", ((0, 0, 0), (1, 0, 0), (1, 0, 0)))
    bpy.ops.supple.jiggle()
    tail.supple.start_from_animation = True
    scene.supple.use_scene_range = False
    scene.supple.frame_start, scene.supple.frame_end = 2, 5
    assert capture(bpy.context).scene.bodies[0].velocity == (0.0, 0.0, 0.0)


def test_it_is_one_step_to_undo(tail):
    key(tail, "location", ((0, 0, 0), (1, 0, 0), (1, 0, 0)))
    bpy.ops.ed.undo_push(message="Before")
    bpy.ops.supple.jiggle()
    bpy.ops.ed.undo_push(message="Jiggle")
    bpy.ops.ed.undo()
    tail = bpy.data.objects["Tail"]
    assert not tail.supple.enabled
    assert not tail.vertex_groups
    assert not tail.supple.jiggle_group


def test_the_tab_has_the_button_and_the_settings(scene, tail):
    assert "supple.jiggle" in drawn(SUPPLE_PT_main, tail).buttons
    key(tail, "location", ((0, 0, 0), (1, 0, 0), (1, 0, 0)))
    bpy.ops.supple.jiggle()
    settings = drawn(SUPPLE_PT_jiggle, tail).settings
    assert {"jiggle_speed", "jiggle_duration", "jiggle_amount", "jiggle_depth"} <= set(settings)


def test_the_report_begins_with_what_to_do_next(tail, capfd):
    key(tail, "location", ((0, 0, 0), (1, 0, 0), (1, 0, 0)))
    bpy.ops.supple.jiggle()
    out = capfd.readouterr().out
    assert "Tail wobbles on top of the animation. Press Simulate. " in out
    assert "Created the vertex group Jiggle of Tail, with all weights 1, and a rigid core." in out
