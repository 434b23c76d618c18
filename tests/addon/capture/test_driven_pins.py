# SPDX-License-Identifier: GPL-3.0-or-later
"""Pins and goals follow the mesh as Blender evaluates it, whatever moves it."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

from supple.addon import actions, driving, modifiers
from supple.addon.capture.scene import capture
from supple.core.errors import SuppleError

from ..rigs import RIGS, alembic_cache, armature, geometry_nodes, hook, key, lattice

# Pinned to the last, the others drawn to goals.
WEIGHTS = {1: 1.0, 4: 1.0, 3: 0.3, 5: 0.9}
FRAMES = (1, 2, 3, 4, 5)
TOLERANCE_OF_SIZE = 1e-5


@pytest.fixture
def body(scene, add_body) -> bpy.types.Object:
    scene.frame_end = FRAMES[-1]
    obj = add_body(location=(0.3, 0.2, 0.1), scale=(1.0, 1.2, 0.8))
    group = obj.vertex_groups.new(name="Pin")
    for vertex, weight in WEIGHTS.items():
        group.add([vertex], weight, "REPLACE")
    obj.supple.pin_group = "Pin"
    return obj


def evaluated(obj: bpy.types.Object, frame: int, subframe: float = 0.0) -> NDArray[np.float64]:
    """The (V, 3) points in the world, all modifiers included."""
    bpy.context.scene.frame_set(frame, subframe=subframe)
    shown = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    points = np.array([tuple(vertex.co) for vertex in shown.data.vertices])
    matrix = np.array(shown.matrix_world)
    return points @ matrix[:3, :3].T + matrix[:3, 3]


@pytest.mark.parametrize("rig", RIGS.values(), ids=RIGS.keys())
def test_targets_are_where_the_evaluated_mesh_is(scene, body, rig):
    rig(body)
    scene.supple.motion_samples = 4
    skin = capture(bpy.context).scene.bodies[0].skin
    moved = 0.0
    for frame, fraction in (*((f, 0.0) for f in FRAMES), (2, 0.25), (3, 0.5)):
        shown = evaluated(body, frame, fraction)
        tolerance = TOLERANCE_OF_SIZE * np.ptp(shown, axis=0).max()
        for vertices, path in (
            (skin.pinned, skin.pin_path),
            (skin.goals.vertices, skin.goals.targets),
        ):
            at = path.at(frame - 1, fraction)
            np.testing.assert_allclose(at, shown[vertices], rtol=0, atol=tolerance)
            moved = max(moved, np.abs(at - path.at(0)).max())
    assert moved > 0.05
    np.testing.assert_allclose(skin.points, evaluated(body, 1), rtol=0, atol=1e-6)


def test_by_default_targets_are_right_at_half_frames_too(scene, body):
    armature(body)
    skin = capture(bpy.context).scene.bodies[0].skin
    assert skin.pin_path.per_frame == 2
    shown = evaluated(body, 2, 0.5)[skin.pinned]
    np.testing.assert_allclose(skin.pin_path.at(1, 0.5), shown, rtol=0, atol=1e-6)
    straight = 0.5 * (skin.pin_path.at(1) + skin.pin_path.at(2))
    assert np.abs(straight - shown).max() > 1e-4


def test_what_goes_straight_needs_one_sample_a_frame(scene, body):
    key(body, "location", ((0, 0, 0), (1, 0, 0), (2, 0, 0)))
    for curve in body.animation_data.action.layers[0].strips[0].channelbags[0].fcurves:
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
    path = capture(bpy.context).scene.bodies[0].skin.pin_path
    assert (path.per_frame, len(path.samples)) == (1, 5)


def test_modifiers_behind_those_that_drive_change_neither_pins_nor_points(scene, body):
    armature(body)
    before = capture(bpy.context).scene.bodies[0]
    body.modifiers.new("Round", "SUBSURF")
    after = capture(bpy.context).scene.bodies[0]
    np.testing.assert_array_equal(after.skin.points, before.skin.points)
    np.testing.assert_array_equal(after.skin.pin_path.samples, before.skin.pin_path.samples)
    assert len(after.mesh.vertices) > len(before.mesh.vertices)
    assert body.modifiers["Round"].show_viewport


def test_the_place_of_the_frames_tells_what_drives(scene, body, play):
    armature(body)
    play(3)
    assert driving.order(body) == "Follows: Armature"
    driven = capture(bpy.context).scene.bodies[0].skin.pin_path
    assert driven is not None
    body.modifiers.move(1, 0)
    assert driving.order(body) == "Applied after: Armature"
    assert capture(bpy.context).scene.bodies[0].skin.pin_path is None
    assert driving.put_in_place(body)
    assert not driving.put_in_place(body)
    path = capture(bpy.context).scene.bodies[0].skin.pin_path
    np.testing.assert_array_equal(path.samples, driven.samples)


def test_all_that_deforms_drives_until_vertices_change(body):
    for rig in (lattice, hook, geometry_nodes):
        rig(body)
    body.modifiers.new("Smooth", "CORRECTIVE_SMOOTH")
    body.modifiers.new("Round", "SUBSURF")
    armature(body)
    assert (
        driving.order(body)
        == "Follows: Lattice, Hook, Sway. Applied after: Smooth, Round, Armature"
    )


def test_nodes_that_make_vertices_refine(body):
    geometry_nodes(body)
    tree = body.modifiers["Sway"].node_group
    subdivide = tree.nodes.new("GeometryNodeSubdivideMesh")
    end = next(node for node in tree.nodes if node.bl_idname == "NodeGroupOutput")
    source = end.inputs[0].links[0].from_socket
    tree.links.new(source, subdivide.inputs[0])
    tree.links.new(subdivide.outputs[0], end.inputs[0])
    assert driving.order(body) == "Applied after: Sway"


def test_a_modifier_that_changes_vertices_before_the_frames_is_refused_by_name(body, play):
    armature(body)
    body.modifiers.new("Round", "SUBSURF")
    body.modifiers.new("Cage", "LATTICE")
    play(3)
    body.modifiers.move(body.modifiers.find("Supple"), 3)
    with pytest.raises(SuppleError, match=r"Cube: the modifier Round changes the number of verti"):
        capture(bpy.context)
    assert [modifier.show_viewport for modifier in body.modifiers] == [True] * 4


def test_a_goal_whose_vertex_a_modifier_removes_later_names_it_and_the_frame(body, play):
    body.vertex_groups["Pin"].remove([1, 4])
    armature(body)
    play(3)
    fade = body.modifiers.new("Fade", "DECIMATE")
    body.modifiers.move(2, 0)
    key(fade, "ratio", (1.0, 1.0, 0.3))
    message = r"Cube: the modifier Fade changes the number of vertices \(frame 3\.5\)"
    with pytest.raises(SuppleError, match=message):
        capture(bpy.context)
    assert fade.show_viewport


def test_a_file_of_other_vertices_is_refused_by_the_name_of_its_modifier(body):
    alembic_cache(body)
    body.data.vertices.add(1)
    with pytest.raises(SuppleError, match="Cube: the modifier Alembic changes the number of vert"):
        capture(bpy.context)


def test_a_modifier_that_is_switched_by_its_animation_is_refused(body):
    armature(body)
    round_ = body.modifiers.new("Round", "SUBSURF")
    round_.keyframe_insert("show_viewport", frame=1)
    with pytest.raises(SuppleError, match=r"modifier Round of Cube is switched on and off"):
        capture(bpy.context)


# What is played and baked


def seen(obj: bpy.types.Object) -> list[NDArray[np.float64]]:
    return [evaluated(obj, frame, part) for frame, part in ((1, 0.0), (2, 0.5), (4, 0.0), (9, 0.0))]


@pytest.mark.parametrize("rig", RIGS.values(), ids=RIGS.keys())
def test_what_drives_a_body_does_not_deform_its_frames_again(scene, body, play, rig):
    rig(body)
    before, is_driven = seen(body), driving.is_driven(body)
    job, _ = play(3, wobble=True)
    expected = [next(job.seen_positions(frame))[0] for frame in (0, 3)]
    played = seen(body)
    for shown, simulated in zip((played[0], played[2]), expected, strict=True):
        np.testing.assert_allclose(shown, simulated, rtol=0, atol=1e-5)
    message = actions.bake(bpy.context)
    assert modifiers.find_modifier(body) is None
    for shown, once in zip(seen(body), played, strict=True):
        np.testing.assert_allclose(shown, once, rtol=0, atol=1e-5)
    assert ("Turned off until Free" in message) == is_driven
    actions.free(bpy.context)
    for shown, once in zip(seen(body), before, strict=True):
        np.testing.assert_allclose(shown, once, rtol=0, atol=1e-6)
    assert driving.RECORD not in body


@pytest.mark.parametrize("rig", RIGS.values(), ids=RIGS.keys())
def test_a_bake_changes_nothing_of_what_is_simulated_next(scene, body, play, rig):
    rig(body)
    play(3)
    before = capture(bpy.context).scene.bodies[0].skin
    actions.bake(bpy.context)
    after = capture(bpy.context).scene.bodies[0].skin
    np.testing.assert_allclose(after.points, before.points, rtol=0, atol=1e-6)
    np.testing.assert_allclose(after.pin_path.samples, before.pin_path.samples, rtol=0, atol=1e-6)


def test_a_driver_that_is_switched_by_its_animation_is_not_baked(body, play):
    armature(body)
    play(3)
    body.modifiers["Armature"].keyframe_insert("show_viewport", frame=1)
    with pytest.raises(SuppleError, match=r"modifier Armature of Cube is switched on and off"):
        actions.bake(bpy.context)
    assert modifiers.find_modifier(body) is not None
