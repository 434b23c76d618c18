# SPDX-License-Identifier: GPL-3.0-or-later
"""Materials that several soft bodies share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import pytest

from supple.addon.panels.body import SUPPLE_PT_material
from supple.addon.properties import material_sets, suited
from supple.addon.properties.presets import PRESET_SETTINGS
from supple.addon.reports import ignored
from supple.addon.settings import assign

from ..layout import drawn

Bodies = tuple[bpy.types.Object, bpy.types.Object, bpy.types.Object]


def _select(active: bpy.types.Object, *others: bpy.types.Object) -> None:
    bpy.ops.object.select_all(action="DESELECT")
    for obj in (active, *others):
        obj.select_set(True)
    bpy.context.view_layer.objects.active = active


@pytest.fixture
def bodies(scene, add_body: Callable[..., bpy.types.Object]) -> Bodies:
    """Two bodies that share the material of the first, and a third one."""
    first, second, third = (add_body(name) for name in ("Jelly", "Ball", "Tyre"))
    first.supple.young, first.supple.density = 7e3, 800.0
    _select(first, second)
    assert bpy.ops.supple.share_material() == {"FINISHED"}
    return first, second, third


def _material(obj: bpy.types.Object) -> list[object]:
    return [getattr(obj.supple, name) for name in PRESET_SETTINGS]


def test_a_change_on_one_changes_all_of_the_set(bodies):
    first, second, third = bodies
    assert material_sets.bodies_of("Jelly") == [second, first]
    before = _material(third)
    assert second.supple.young == 7e3 and second.supple.density == 800.0
    second.supple.poisson, second.supple.friction = 0.3, 0.9
    assert _material(first) == _material(second)
    _select(second)
    bpy.ops.supple.apply_preset(preset="clay")
    assert first.supple.use_plasticity and _material(first) == _material(second)
    assign.assign(bpy.context.scene, "Ball.young", 123.0)
    assert first.supple.young == 123.0
    assert _material(third) == before


def test_a_single_user_keeps_the_values_and_goes_its_own_way(bodies):
    first, second, _ = bodies
    _select(second)
    assert bpy.ops.supple.unshare_material() == {"FINISHED"}
    assert _material(first) == _material(second)
    second.supple.young = 11.0
    assert first.supple.young == 7e3
    with pytest.raises(RuntimeError, match="does not share its material"):
        bpy.ops.supple.unshare_material()


def test_a_set_is_chosen_and_renamed_as_a_whole(bodies):
    first, _, third = bodies
    _select(third)
    assert bpy.ops.supple.use_material(name="Jelly") == {"FINISHED"}
    assert _material(third) == _material(first)
    third.supple.material_set_name = "Gum"
    assert material_sets.names() == ["Gum"] and first.supple.material_set_name == "Gum"
    bpy.ops.supple.unshare_material()
    _select(third)
    third.name = "Gum"
    third.supple.material_set = material_sets.new_name("Gum")
    first.supple.material_set_name = "Gum.001"
    assert third.supple.material_set == "Gum.001" and first.supple.material_set == "Gum.002"
    with pytest.raises(RuntimeError, match="No other soft body has the material set Nothing"):
        bpy.ops.supple.use_material(name="Nothing")


def test_a_copy_of_a_body_shares_its_material(bodies):
    first, second, _ = bodies
    _select(second)
    bpy.ops.object.duplicate()
    copy = bpy.context.object
    copy.supple.young = 5.0
    assert first.supple.young == second.supple.young == 5.0


def test_an_automatic_stiffness_does_not_fight_over_a_shared_one(scene):
    sizes = []
    for size in (0.1, 2.0):
        bpy.ops.mesh.primitive_cube_add(size=size)
        bpy.ops.supple.add()
        sizes.append(bpy.context.object)
    small, large = sizes
    _select(small, large)
    bpy.ops.supple.share_material()
    young = small.supple.young
    assert large.supple.young == young
    suited.refresh(bpy.context, 1)
    assert (small.supple.young, large.supple.young) == (young, young)


def test_a_keyed_stiffness_stays_the_own_one_of_a_body(bodies):
    first, second, _ = bodies
    for frame, young in ((1, 1e3), (10, 1e5)):
        first.supple.young = young
        first.keyframe_insert("supple.young", frame=frame)
    second.supple.young = 2e4
    bpy.context.scene.frame_set(5)
    first.supple.density = 900.0
    assert second.supple.density == 900.0 and second.supple.young == 2e4


def test_bodies_of_another_file_that_differ_are_named(bodies, tmp_path: Path):
    first, second, _ = bodies
    path = str(tmp_path / "body.blend")
    bpy.data.libraries.write(path, {second})
    first.supple.young = 99.0
    assert not any("Material Set" in line for line in ignored.messages(bpy.context))
    with bpy.data.libraries.load(path) as (_source, wanted):
        wanted.objects = ["Ball"]
    (appended,) = wanted.objects
    bpy.context.collection.objects.link(appended)
    assert appended.supple.young == 7e3
    lines = [line for line in ignored.messages(bpy.context) if "Material Set" in line]
    assert lines and "another body of its Material Set has other values" in lines[0]
    first.supple.young = 98.0
    assert appended.supple.young == 98.0
    assert not any("Material Set" in line for line in ignored.messages(bpy.context))


def test_the_panel_shows_the_name_and_the_number_of_users(bodies):
    first, _, third = bodies
    panel = drawn(SUPPLE_PT_material, first)
    assert "material_set_name" in panel.settings and "2" in panel.labels
    assert "supple.unshare_material" in panel.buttons
    panel = drawn(SUPPLE_PT_material, third)
    assert "material_set_name" not in panel.settings
    assert "SUPPLE_MT_material_sets" in panel.buttons


def test_copied_settings_bring_their_set_and_leave_another_one(bodies):
    first, second, third = bodies
    other = third.copy()
    bpy.context.collection.objects.link(other)
    other.name = "Other"
    _select(third, other)
    bpy.ops.supple.share_material()
    before = _material(other)
    _select(first, third)
    bpy.ops.supple.copy_settings()
    assert third.supple.material_set == "Jelly"
    assert _material(first) == _material(second) == _material(third) != before == _material(other)


def test_sharing_needs_others(bodies):
    _select(bodies[0])
    with pytest.raises(RuntimeError, match="Select other soft bodies"):
        bpy.ops.supple.share_material()
