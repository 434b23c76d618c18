# SPDX-License-Identifier: GPL-3.0-or-later
"""Takes: kept simulations that can be shown again, removed, and whose settings come back."""

from __future__ import annotations

from pathlib import Path

import bpy
import numpy as np
import pytest

from supple.addon import actions
from supple.addon.cache import cache_moves, scene_cache, trash, unused_caches
from supple.addon.modifiers import find_modifier
from supple.addon.panels import ghost_overlay
from supple.addon.paths import absolute
from supple.addon.playback import mesh_cache
from supple.addon.reports import outdated
from supple.addon.takes import kept
from supple.core.errors import SuppleError

from ..conftest import evaluated_positions, world_positions

LAST = 4


@pytest.fixture
def obj(scene: bpy.types.Scene, add_body, solver_here) -> bpy.types.Object:
    """A soft cube of which two takes are kept: one soft, the other hard, which is shown."""
    scene.frame_end = LAST
    obj = add_body(location=(0, 0, 3))
    scene.supple.ground_height = 2.0
    for young in (2e3, 5e6):
        obj.supple.young = young
        actions.simulate(bpy.context)
        kept.keep(bpy.context)
    return obj


def takes() -> list[bpy.types.PropertyGroup]:
    return list(bpy.context.scene.supple.takes)


def folder(take: bpy.types.PropertyGroup) -> Path:
    return absolute(take.folder).parent


def test_a_take_says_what_it_is(obj):
    soft, hard = takes()
    assert (soft.name, hard.name) == ("Take 1", "Take 2")
    assert (soft.stiffness, hard.stiffness) == ("2e+03 Pa", "5e+06 Pa")
    assert soft.frames == LAST and soft.size.endswith("KB") and soft.date.startswith("20")
    assert folder(soft) != folder(hard) == mesh_cache.shown_folder(bpy.context.scene)


def test_another_take_is_shown_and_its_settings_come_back(obj):
    soft, hard = takes()
    of_hard = evaluated_positions(obj, LAST)
    assert "Take 1 is shown: Cube." in kept.show(bpy.context, soft)
    of_soft = evaluated_positions(obj, LAST)
    assert np.abs(of_soft - of_hard).max() > 1e-4
    assert kept.is_shown(bpy.context, soft) and not kept.is_shown(bpy.context, hard)
    assert outdated.changed(obj) == ["Stiffness"]
    kept.restore(bpy.context, soft)
    assert obj.supple.young == 2e3
    assert outdated.changed(obj) == [] and outdated.changed_of_scene(bpy.context.scene) == []
    kept.show(bpy.context, hard)
    np.testing.assert_array_equal(evaluated_positions(obj, LAST), of_hard)


def test_settings_of_all_kinds_come_back(obj, add_body):
    scene, soft = bpy.context.scene, takes()[0]
    plate = add_body("Plate", location=(5, 0, 0))
    plate.supple.enabled, plate.supple.collider = False, True
    actions.simulate(bpy.context)
    obj.supple.attach_to = plate
    obj.supple.attachments.add().attach_to = plate
    scene.supple.results = {"stretch"}
    scene.supple.use_ground = False
    scene.frame_end = 2
    take = scene.supple.takes.add()
    kept.restore(bpy.context, soft)
    assert obj.supple.attach_to is None and len(obj.supple.attachments) == 0
    assert scene.supple.results == set() and scene.supple.use_ground and scene.frame_end == LAST
    assert take is not None


def test_later_runs_and_free_leave_takes_alone(obj):
    soft, hard = takes()
    for density in (500.0, 600.0):
        obj.supple.density = density
        actions.simulate(bpy.context)
    assert folder(soft).is_dir() and folder(hard).is_dir()
    actions.free(bpy.context)
    assert folder(soft).is_dir() and folder(hard).is_dir()
    unused = {each.folder for each in unused_caches.find()}
    assert unused.isdisjoint({folder(soft), folder(hard)})
    kept.show(bpy.context, soft)
    assert find_modifier(obj) is not None


def test_a_removed_take_goes_to_the_trash_and_comes_back_with_undo(obj):
    scene, soft = bpy.context.scene, takes()[0]
    gone = folder(soft)
    message = kept.remove(bpy.context, soft)
    assert message.startswith("Removed Take 1 and its frames, ")
    assert [take.name for take in takes()] == ["Take 2"] and not gone.exists()
    assert trash.folders(gone.parent) == [gone.parent / trash.NAME / gone.name]
    # Undo brings the entry back; its handler looks for the frames.
    again = scene.supple.takes.add()
    again.folder = str(gone / "playback")
    again.bodies.add().files = "0.pc2"
    cache_moves.reconnect()
    assert gone.is_dir() and trash.folders(gone.parent) == []


def test_frames_of_a_removed_take_that_are_shown_stay(obj):
    hard = takes()[1]
    here = folder(hard)
    assert kept.remove(bpy.context, hard) == (
        "Removed Take 2. Its frames stay, since they are in use."
    )
    assert here.is_dir() and mesh_cache.shown_folder(bpy.context.scene) == here


def test_frames_are_kept_once(obj):
    with pytest.raises(SuppleError, match=r"The present frames are already kept as Take 2\."):
        kept.keep(bpy.context)


def test_takes_of_a_changed_mesh_and_missing_frames_are_refused(obj):
    soft = takes()[0]
    obj.data.vertices.add(1)
    with pytest.raises(SuppleError, match=r"Cube has 9 vertices and had 8 in Take 1"):
        kept.show(bpy.context, soft)
    folder(soft).rename(folder(soft).with_name("elsewhere"))
    with pytest.raises(SuppleError, match=r"Take 1 cannot be shown: .* is missing"):
        kept.show(bpy.context, soft)


def test_a_file_saved_elsewhere_finds_its_takes(obj, tmp_path):
    scene = bpy.context.scene
    scene.supple.cache_folder = ""
    path = tmp_path / "saved" / "jelly.blend"
    path.parent.mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    for take in takes():
        kept.show(bpy.context, take)
    assert scene_cache.open_file() == path


def test_a_ghost_is_where_the_take_was(obj):
    scene, (soft, hard) = bpy.context.scene, takes()
    assert list(ghost_overlay.ghosts(scene)) == []
    soft.show_ghost = True
    kept.show(bpy.context, soft)
    expected = world_positions(obj, 3)
    kept.show(bpy.context, hard)
    scene.frame_set(3)
    ((points, corners),) = ghost_overlay.ghosts(scene)
    np.testing.assert_allclose(points, expected, atol=1e-5)
    assert corners.shape == (12, 3)


def test_the_buttons_say_why_they_are_grey(scene, add_body):
    add_body()
    with pytest.raises(RuntimeError, match=r"Nothing is simulated yet\. Press Simulate first"):
        bpy.ops.supple.keep_take()
    for name in ("show_take", "remove_take", "restore_take"):
        with pytest.raises(RuntimeError, match=r"There is no take\. Press Keep as Take"):
            getattr(bpy.ops.supple, name)()
