# SPDX-License-Identifier: GPL-3.0-or-later
"""What is reported of bodies that share a mesh or a scene, or are linked from another file."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from supple.addon import actions, command_line, ids
from supple.addon.bake import shape_keys
from supple.addon.capture.captured import CaptureError
from supple.addon.capture.scene import capture
from supple.addon.modifiers import find_modifier
from supple.addon.reports import notices

from ..conftest import empty_file, evaluated_positions, world_positions
from ..shown_notices import only, press, shown_notices

# What two share


def test_a_body_of_two_scenes_is_reported_before_the_run(scene, add_body, play):
    obj = add_body()
    other = bpy.data.scenes.new("Other")
    other.collection.objects.link(obj)
    (line,) = notices.before_a_run(bpy.context)
    assert line.startswith("Cube is in the scene Other, too, and plays the same frames there")
    assert "Make Single User" in line
    (notice,) = shown_notices()
    assert (notice.text, notice.is_problem) == (line, False)


def test_the_first_three_of_many_scenes_are_named(scene, add_body):
    obj = add_body()
    for name in ("Other B", "Other C", "Other D"):
        bpy.data.scenes.new(name).collection.objects.link(obj)
    (line,) = notices.before_a_run(bpy.context)
    assert line.startswith("Cube is in the scenes Other B, Other C, Other D, too, and plays")
    bpy.data.scenes.new("Other E").collection.objects.link(obj)
    (line,) = notices.before_a_run(bpy.context)
    assert line.startswith("Cube is in the scenes Other B, Other C, Other D and 1 more, too,")


def test_linked_duplicates_are_reported_before_the_run_and_baked_each_for_itself(add_body, play):
    first = add_body("First")
    second = first.copy()
    second.name, second.location = "Second", (3, 0, 0)
    bpy.context.collection.objects.link(second)
    bpy.context.view_layer.update()
    lines = notices.before_a_run(bpy.context)
    assert lines == [
        "First shares its mesh with Second; Bake gives each a mesh of its own until Free."
    ]
    assert [notice.text for notice in shown_notices()] == lines
    play(3, wobble=True)
    played = [world_positions(obj, 3) for obj in (first, second)]
    assert "First has a mesh of its own until Free." in actions.bake(bpy.context)
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
    assert actions.free(bpy.context) == "There was nothing to remove."
    assert shape_keys.has_bake(linked)


def test_a_linked_mesh_is_not_made_a_soft_body(add_body, tmp_path):
    add_body().supple.enabled = False
    linked = reopened_with_link(tmp_path)
    linked.select_set(True)
    assert not bpy.ops.supple.add.poll()
    local = linked.override_create(remap_local_usages=True)
    local.select_set(True)
    assert bpy.ops.supple.add.poll()
