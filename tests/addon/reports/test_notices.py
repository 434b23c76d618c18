# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems and surprises are reported, with the button that helps."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from mathutils import Matrix

from supple.addon import actions, command_line, ids, remembered
from supple.addon.bake import shape_keys
from supple.addon.capture.captured import CaptureError
from supple.addon.capture.scene import capture
from supple.addon.modifiers import find_modifier
from supple.addon.panels.main import draw_notices, latest_notices, simulate_text
from supple.addon.playback import mesh_cache
from supple.addon.reports import notices, run_reports
from supple.core.errors import SuppleError
from supple.tests.addon.conftest import empty_file, evaluated_positions, set_linear, world_positions
from supple.tests.addon.layout import Layout, around
from supple.tests.addon.shown_notices import only, press, shown_notices


def test_nothing_is_reported_of_a_body_that_plays_as_it_is(add_body, play):
    add_body()
    assert shown_notices() == []
    play(3)
    bpy.context.scene.frame_set(3)
    assert shown_notices() == []


def test_a_step_of_the_frame_range_is_said_before_a_run(scene, add_body):
    add_body()
    scene.frame_step = 3
    (line,) = (text for text in notices.before_a_run(bpy.context) if "Step" in text)
    assert line.startswith("The Step 3 under Output › Frame Range only affects")
    scene.frame_step = 1
    assert not any("Step" in text for text in notices.before_a_run(bpy.context))


def test_gravity_that_other_units_make_weak_is_said(scene, add_body):
    add_body()
    scene.unit_settings.scale_length = 0.01
    (notice,) = shown_notices()
    assert notice.text.startswith("Gravity is 0.0981 m/s²") and not notice.is_problem
    (line,) = (text for text in notices.before_a_run(bpy.context) if "Gravity" in text)
    assert line == notice.text
    assert "in units of 0.01 m: bodies fall in slow motion. Type -9.81 m/s² under" in line
    # As typed in: Blender takes it for 981 of its units.
    scene.gravity = (0.0, 0.0, -981.0)
    assert shown_notices() == []
    scene.unit_settings.scale_length = 1.0
    scene.gravity = (0.0, 0.0, -9.81)
    assert shown_notices() == []


@pytest.mark.parametrize("change", [("use_gravity", False), ("gravity", (0.0, 0.0, -3.0))])
def test_gravity_that_was_chosen_is_not(scene, add_body, change):
    add_body()
    scene.unit_settings.scale_length = 0.01
    setattr(scene, *change)
    assert shown_notices() == []


def test_a_bake_and_a_free_change_nothing_that_was_simulated(scene, add_body, play):
    obj = add_body()
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Tall")
    key.keyframe_insert("value", frame=1)
    play(3)
    frames, start = mesh_cache.read(obj)
    shape_keys.bake(obj, frames, start)
    assert "older than its simulation" in only(ids.BAKE)
    shape_keys.free(obj)
    assert shown_notices() == []


def test_frames_that_are_gone_or_cut_off_are_reported_and_not_baked(add_body, play):
    add_body()
    job, _ = play(3)
    path = job.folder / "playback" / "0.pc2"
    path.write_bytes(path.read_bytes()[:-1])
    assert "Cube does not play its frames:" in only(ids.SIMULATE)
    assert "is incomplete" in only(ids.SIMULATE)
    shutil.rmtree(job.folder)
    assert "0.pc2 is missing. Restore it, or simulate again." in only(ids.SIMULATE)
    assert not bpy.ops.supple.bake.poll()
    assert "is missing" in actions.why_no_bake(bpy.context)


def test_undoing_free_says_that_the_frames_are_gone(scene, add_body, play):
    add_body()
    bpy.ops.ed.undo_push(message="before")
    job, _ = play(3)
    bpy.ops.ed.undo_push(message="Simulate")
    assert bpy.ops.supple.bake.poll()
    bpy.ops.supple.free()
    shutil.rmtree(job.folder)
    bpy.ops.ed.undo_push(message="Free")
    bpy.ops.ed.undo()
    assert find_modifier(bpy.data.objects["Cube"]) is not None
    assert not bpy.ops.supple.bake.poll()
    assert "Cube does not play its frames:" in only(ids.SIMULATE)
    assert bpy.ops.supple.free() == {"FINISHED"}
    assert shown_notices() == []


def test_an_edited_mesh_is_reported_with_its_numbers(add_body, play):
    obj = add_body()
    play(3)
    obj.data.vertices.add(1)
    assert "Cube has 9 vertices and had 8" in only(ids.SIMULATE)


def test_modifiers_before_the_frames_are_reported_and_put_behind_them(add_body, play):
    obj = add_body()
    obj.modifiers.new("Round", "BOOLEAN")
    play(3)
    obj.modifiers.move(0, 1)
    assert "Round of Cube comes before the simulated frames" in only(ids.ORDER_MODIFIERS)
    assert press(shown_notices()[0]) == {"FINISHED"}
    assert [modifier.type for modifier in obj.modifiers] == ["MESH_CACHE", "BOOLEAN"]
    assert shown_notices() == []


def test_what_could_drive_and_comes_after_the_frames_is_reported_and_made_to(add_body, play):
    obj = add_body()
    obj.modifiers.new("Rig", "ARMATURE")
    play(3)
    obj.modifiers.move(1, 0)
    (notice, *_) = [each for each in shown_notices() if each.operator == ids.ORDER_MODIFIERS]
    assert "Rig of Cube comes after the simulated frames" in notice.text
    assert not notice.is_problem
    assert press(notice) == {"FINISHED"}
    assert [modifier.type for modifier in obj.modifiers] == ["ARMATURE", "MESH_CACHE"]
    assert shown_notices() == []


def test_a_key_added_after_bake_is_reported_and_made_to_work(add_body, play):
    obj = add_body()
    play(3)
    actions.bake(bpy.context, kind="file")
    assert shown_notices() == []
    before = evaluated_positions(obj, 3)
    key = obj.shape_key_add(name="Correction", from_mix=False)
    key.points[0].co.z += 1.0
    key.value = 1.0
    assert "were added after Bake and have no effect" in only(ids.MAKE_KEYS_WORK)
    assert press(shown_notices()[0]) == {"FINISHED"}
    moved = evaluated_positions(obj, 3) - before
    np.testing.assert_allclose(moved[0], [0, 0, 1], atol=1e-6)
    np.testing.assert_allclose(moved[1:], 0.0, atol=1e-6)
    assert shown_notices() == []


def test_the_tab_says_what_is_alike_once_with_one_button(add_body, play):
    for x in range(7):
        add_body(f"Cube {x}", location=(3 * x, 0, 0))
    job, _ = play(3)
    shutil.rmtree(job.folder)
    layout = Layout()
    draw_notices(layout, around(None), latest_notices(around(None)))
    # Simulate stands above them.
    assert layout.buttons == []
    assert len(layout.texts) == 6
    assert layout.texts[0][0] == "ERROR"
    assert layout.texts[0][1].startswith("Cube 0 does not play its frames:")
    assert layout.texts[-1][1] == "And 2 more."


def test_while_an_animation_plays_the_tab_keeps_what_it_says_of_each_scene(scene, add_body, play):
    add_body()
    play(3)
    scene.frame_end = 9

    def said(of_scene: bpy.types.Scene, is_playing: bool) -> list[str]:
        layout, context = Layout(), around(None, is_playing)
        context.scene, context.view_layer = of_scene, of_scene.view_layers[0]
        draw_notices(layout, context, latest_notices(context))
        return [text for _, text in layout.texts]

    told = ["Frames 5 to 9 are not simulated yet."]
    assert said(scene, is_playing=False) == told
    scene.frame_end = 4
    assert said(scene, is_playing=True) == told
    assert said(bpy.data.scenes.new("Empty"), is_playing=True) == []
    assert said(scene, is_playing=True) == told
    assert said(scene, is_playing=False) == []


def test_while_an_animation_plays_the_tab_looks_once_a_second(scene, add_body, play, monkeypatch):
    obj, now = add_body(), [100.0]
    play(3)
    monkeypatch.setattr(remembered, "time", SimpleNamespace(monotonic=lambda: now[0]))
    remembered.forget()
    context = around(obj, True)

    def text() -> str:
        return simulate_text(context, latest_notices(context))

    assert text() == "Simulate (up to date)"
    obj.supple.young *= 2.0
    now[0] += 0.9
    assert text() == "Simulate (up to date)"
    now[0] += 0.2
    assert text() == "Simulate (settings changed)"
    obj.supple.young /= 2.0
    # As while a run shows its progress.
    remembered.forget()
    assert text() == "Simulate (up to date)"


def test_free_of_a_body_that_is_edited_keeps_its_frames(add_body, play):
    obj = add_body()
    play(3)
    actions.bake(bpy.context)
    play(3)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(SuppleError, match="is being edited"):
        actions.free(bpy.context)
    bpy.ops.object.mode_set(mode="OBJECT")
    assert find_modifier(obj) is not None


@pytest.mark.parametrize(
    ("count", "names"), [(3, "Copy 0, Copy 1, Copy 2."), (5, "Copy 0, Copy 1, Copy 2 and 2 more.")]
)
def test_of_many_names_three_are_reported(scene, add_body, count, names):
    obj = add_body()
    for number in range(count):
        copy = bpy.data.objects.new(f"Copy {number}", obj.data)
        copy.location.x = 9.0
        scene.collection.objects.link(copy)
    assert f"Cube shares its mesh with {names}" in only("")


def test_a_pin_group_that_is_gone_is_told_of_before_the_run(add_body, play):
    body = add_body()
    group = body.vertex_groups.new(name="Pins")
    group.add([1], 1.0, "REPLACE")
    body.supple.pin_group = "Pins"
    assert shown_notices() == []
    body.vertex_groups.remove(group)
    assert only("") == "Cube has no vertex group 'Pins' to pin. Choose another group."


def test_a_bake_of_the_frames_that_are_played_again_is_not_called_older(scene, add_body, play):
    body = add_body()
    play(2)
    scene.frame_end = 3
    actions.bake(bpy.context)
    play(2)
    assert shape_keys.has_bake(body) and shown_notices() == []
    scene.frame_end = 4
    play(3)
    assert "older than its simulation" in only(ids.BAKE)


def reported() -> str:
    (text,) = [notice.text for notice in shown_notices() if "so far from" in notice.text]
    assert text in notices.before_a_run(bpy.context)
    return text


@pytest.mark.parametrize("resolution", [13, 26])
def test_a_body_is_reported_where_rounding_is_more_than_a_thousandth_of_a_cell(
    scene: bpy.types.Scene, add_body, resolution: int
) -> None:
    body = add_body()
    body.supple.resolution = resolution
    longest = max(body.dimensions)
    allowed = longest / resolution / 1000.0
    # Between powers of two single precision rounds by 2⁻²³ of the lower one.
    limit = 2.0 ** int(allowed * 2**23).bit_length()
    body.location = (0.49 * limit, 0.0, 0.0)
    bpy.context.view_layer.update()
    assert notices.far_away(scene, body) == ""
    body.location = (-1.5 * limit, 0.0, 0.0)
    bpy.context.view_layer.update()
    text = reported()
    assert "Move the scene to the world origin." in text and "Set Origin" not in text


def test_a_mesh_far_from_its_object_is_reported_with_the_cure(scene, add_body) -> None:
    body = add_body()
    body.data.transform(Matrix.Translation((9000.0, 0.0, 0.0)))
    body.location = (-9000.0, 0.0, 0.0)
    bpy.context.view_layer.update()
    text = reported()
    assert "Origin to Geometry." in text and "Move the scene" not in text


@pytest.fixture
def pinned(scene, add_body):
    scene.frame_start, scene.frame_end = 11, 20
    cube = add_body()
    cube.vertex_groups.new(name="Pins").add([0, 1, 2, 3], 1.0, "REPLACE")
    cube.supple.pin_group = "Pins"
    return cube


def _key(obj: bpy.types.Object, name: str, *values: tuple[int, object]) -> None:
    for frame, value in values:
        setattr(obj, name, value)
        obj.keyframe_insert(name, frame=frame)
    set_linear(obj)


def test_a_teleport_is_reported_with_its_frame_and_the_cure(pinned):
    _key(pinned, "location", (11, (0, 0, 0)), (14, (0, 0, 0)), (15, (5, 0, 0)))
    (line,) = notices.jumping_pins(capture(bpy.context))
    assert line.startswith("Cube: its pins jump by 5 m from frame 14 to 15. The body is set")
    assert "spread the motion over more frames." in line


def test_a_turn_and_a_wall_are_named(pinned):
    _key(pinned, "rotation_euler", (14, (0, 0, 0)), (15, (0, 0, 3.14159)))
    (line,) = notices.jumping_pins(capture(bpy.context))
    assert line.startswith("Cube: its pins turn by 180° from frame 14 to 15")
    pinned.animation_data_clear()
    pinned.rotation_euler = (0, 0, 0)
    bpy.ops.mesh.primitive_plane_add(size=20, location=(2, 0, 0), rotation=(0, 1.5708, 0))
    wall = bpy.context.object
    wall.name, wall.supple.collider = "Wall", True
    _key(pinned, "location", (14, (0, 0, 0)), (15, (5, 0, 0)))
    (line,) = notices.jumping_pins(capture(bpy.context))
    assert "jump by 5 m, through Wall, from frame 14 to 15" in line


def test_frames_of_a_teleport_are_not_blamed_on_substeps(pinned, play):
    _key(pinned, "location", (14, (0, 0, 0)), (15, (5, 0, 0)))
    job, _ = play(2)
    for frame in range(10):
        job.append_record(
            {"frame": frame, "integrator": "Implicit Euler", "converged": frame not in (4, 8)}
        )
    warning = run_reports.read(job, 11).warning
    assert "1 frame did not reach the tolerance, since pins teleport" in warning
    assert "1 frame did not reach the tolerance. Raise Substeps" in warning


# What two share


def test_a_body_of_two_scenes_is_reported_before_the_run(scene, add_body, play):
    obj = add_body()
    other = bpy.data.scenes.new("Other")
    other.collection.objects.link(obj)
    (line,) = notices.before_a_run(bpy.context)
    assert line.startswith("Cube is also in the scene Other and plays the same frames there")
    assert "Make Single User" in line
    (notice,) = shown_notices()
    assert (notice.text, notice.is_problem) == (line, False)


def test_the_first_three_of_many_scenes_are_named(scene, add_body):
    obj = add_body()
    for name in ("Other B", "Other C", "Other D"):
        bpy.data.scenes.new(name).collection.objects.link(obj)
    (line,) = notices.before_a_run(bpy.context)
    assert line.startswith("Cube is also in the scenes Other B, Other C, Other D and plays")
    bpy.data.scenes.new("Other E").collection.objects.link(obj)
    (line,) = notices.before_a_run(bpy.context)
    assert line.startswith("Cube is also in the scenes Other B, Other C, Other D and 1 more")


def test_linked_duplicates_are_reported_before_the_run_and_baked_each_for_itself(add_body, play):
    first = add_body("First")
    second = first.copy()
    second.name, second.location = "Second", (3, 0, 0)
    bpy.context.collection.objects.link(second)
    bpy.context.view_layer.update()
    lines = notices.before_a_run(bpy.context)
    assert lines == [
        ("First shares its mesh with Second. Bake gives each its own mesh until Free.")
    ]
    assert [notice.text for notice in shown_notices()] == lines
    play(3, wobble=True)
    played = [world_positions(obj, 3) for obj in (first, second)]
    assert "First uses its own copy of the mesh until Free." in actions.bake(bpy.context)
    assert first.data != second.data
    for obj, expected in zip((first, second), played, strict=True):
        np.testing.assert_allclose(world_positions(obj, 3), expected, atol=1e-6)


def test_meshes_that_were_shared_are_named_after_their_objects(add_body, play):
    first = add_body("Ball")
    first.data.name = "Ball"
    copies = [first.copy() for _ in range(3)]
    for number, copy in enumerate(copies, 1):
        copy.location.x = 3.0 * number
        bpy.context.collection.objects.link(copy)
    bpy.context.view_layer.update()
    assert len(notices.before_a_run(bpy.context)) == 1
    play(3)
    actions.bake(bpy.context)
    assert [obj.data.name for obj in (first, *copies)] == [obj.name for obj in (first, *copies)]


@pytest.mark.usefixtures("solver_here")
def test_what_two_share_is_reported_to_scripts_and_on_the_command_line(scene, add_body, capsys):
    first = add_body("First")
    second = first.copy()
    second.name, second.location = "Second", (3, 0, 0)
    bpy.context.collection.objects.link(second)
    messages: list[str] = []
    actions.simulate(bpy.context, messages.append)
    assert "First shares its mesh with Second" in messages[0]
    assert command_line.run(["simulate"]) == 0
    assert "Warning: First shares its mesh with Second" in capsys.readouterr().out


# What is linked from another file


def reopened_with_link(tmp_path: Path, collection: bool = False) -> bpy.types.Object:
    """Saves the scene as a library and links its cube to an empty file."""
    cube, props = bpy.data.objects["Cube"], bpy.data.collections.new("Props")
    cube.modifiers.new("Round", "SUBSURF")
    bpy.context.scene.collection.objects.unlink(cube)
    bpy.context.scene.collection.children.link(props)
    props.objects.link(cube)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    empty_file()
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, wanted):
        wanted.objects, wanted.collections = ["Cube"], ["Props"] if collection else []
    scene = bpy.context.scene
    scene.supple.ground_height = -5.0
    scene.frame_start, scene.frame_end = 1, 4
    if collection:
        scene.collection.children.link(bpy.data.collections["Props"])
    else:
        scene.collection.objects.link(bpy.data.objects["Cube"])
    bpy.context.view_layer.update()
    return bpy.data.objects["Cube"]


def sole_mesh() -> bpy.types.Object:
    (found,) = (obj for obj in bpy.context.scene.objects if obj.type == "MESH")
    return found


def test_a_linked_body_is_refused_before_the_run_with_the_cure(add_body, tmp_path):
    add_body()
    reopened_with_link(tmp_path)
    with pytest.raises(
        CaptureError, match=r"Cube is linked from the file library\.blend.*Override"
    ):
        capture(bpy.context)
    assert "Cube is linked from the file library.blend" in only(ids.MAKE_OVERRIDE)


@pytest.mark.parametrize("collection", [False, True])
def test_an_override_keeps_its_settings_and_its_playback(
    scene, add_body, play, tmp_path, collection
):
    add_body().supple.young = 5e4
    reopened_with_link(tmp_path, collection)
    assert press(shown_notices()[0]) == {"FINISHED"}
    cube = sole_mesh()
    assert cube.override_library is not None
    cube.supple.young = 7e4
    play(3)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "shot.blend"))
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "shot.blend"))
    cube = sole_mesh()
    assert cube.supple.young == pytest.approx(7e4)
    assert cube.modifiers[0] == find_modifier(cube)
    assert shown_notices() == []
    played = evaluated_positions(cube, 3)
    actions.bake(bpy.context)
    np.testing.assert_allclose(evaluated_positions(cube, 3), played, atol=1e-6)


def test_free_leaves_alone_what_is_baked_in_another_file(add_body, play, tmp_path):
    add_body()
    play(3)
    actions.bake(bpy.context)
    linked = reopened_with_link(tmp_path)
    assert not bpy.ops.supple.free.poll()
    assert actions.free(bpy.context) == "There is nothing to remove."
    assert shape_keys.has_bake(linked)


def test_a_linked_mesh_is_not_made_a_soft_body(add_body, tmp_path):
    add_body().supple.enabled = False
    linked = reopened_with_link(tmp_path)
    linked.select_set(True)
    assert not bpy.ops.supple.add.poll()
    local = linked.override_create(remap_local_usages=True)
    local.select_set(True)
    assert bpy.ops.supple.add.poll()
