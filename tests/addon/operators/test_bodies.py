# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators that make soft bodies, copy their settings and apply presets."""

from __future__ import annotations

from pathlib import Path

import bpy
import pytest

from supple.addon.capture.objects import soft_bodies
from supple.addon.capture.scene import capture
from supple.addon.operators.presets import FOLDER
from supple.addon.panels.body import SUPPLE_PT_material
from supple.addon.panels.main import SUPPLE_PT_main
from supple.addon.properties import selection, suited
from supple.addon.settings.object import OBJECT
from supple.core import Plasticity
from supple.core.materials import MODELS
from supple.core.materials.bounce import bounciness, loss_factor, undamped_rebound
from supple.core.materials.presets import GROUPS, PRESETS

from ..layout import drawn


@pytest.fixture
def cube(scene: bpy.types.Scene) -> bpy.types.Object:
    scene.supple.ground_height = 0.0
    bpy.ops.mesh.primitive_cube_add(size=1.0, location=(0, 0, 3))
    return bpy.context.object


def test_add_makes_every_selected_mesh_a_soft_body_and_nothing_else(scene, cube):
    bpy.ops.object.camera_add()
    bpy.context.object.select_set(True)
    bpy.ops.mesh.primitive_cube_add(location=(5, 0, 3))
    other = bpy.context.object
    cube.select_set(True)
    assert bpy.ops.supple.add() == {"FINISHED"}
    assert set(soft_bodies(bpy.context)) == {cube, other}
    assert scene.supple.ground_height == 0.0


def test_the_ground_goes_half_a_height_below_a_first_body_that_lies_under_it(scene, cube):
    cube.location.z = 0.0
    cube.scale = (1, 1, 3)
    bpy.context.view_layer.update()
    bpy.ops.supple.add()
    assert scene.supple.ground_height == pytest.approx(-3.0)
    capture(bpy.context)


def test_the_ground_stays_under_what_is_below_it_by_rounding_alone(scene, cube):
    cube.location.z = 0.5 - 1e-7
    bpy.context.view_layer.update()
    bpy.ops.supple.add()
    assert scene.supple.ground_height == 0.0
    capture(bpy.context)


def test_the_ground_stays_once_there_is_a_soft_body(scene, cube):
    bpy.ops.supple.add()
    bpy.ops.mesh.primitive_cube_add(location=(5, 0, -9))
    bpy.ops.supple.add()
    assert scene.supple.ground_height == 0.0


def test_a_soft_body_is_not_added_twice(cube):
    bpy.ops.supple.add()
    assert not bpy.ops.supple.add.poll()


@pytest.mark.parametrize(
    ("add", "kind"),
    [
        (lambda: bpy.ops.object.text_add(), "text"),
        (lambda: _add_tube(), "curve"),
        (lambda: bpy.ops.surface.primitive_nurbs_surface_sphere_add(), "surface"),
        (lambda: bpy.ops.object.metaball_add(), "metaball"),
    ],
)
def test_what_can_be_converted_says_how(scene, add, kind):
    add()
    name = bpy.context.object.name
    cure = f"{name} is a {kind}, not a mesh. Choose Object › Convert › Mesh first."
    assert selection.why_none(bpy.context) == cure
    assert ("INFO", cure) in drawn(SUPPLE_PT_main, bpy.context.object).texts
    assert not bpy.ops.supple.simulate.poll()
    bpy.ops.object.convert(target="MESH")
    assert selection.candidates(bpy.context) == [bpy.context.object]


def _add_tube() -> None:
    bpy.ops.curve.primitive_bezier_circle_add()
    bpy.context.object.data.bevel_depth = 0.1


def test_a_hidden_mesh_is_told_to_be_hidden(cube):
    cube.hide_set(True)
    cure = "Cube is hidden and cannot be selected. Show it first."
    assert ("INFO", cure) in drawn(SUPPLE_PT_main, cube).texts
    assert not bpy.ops.supple.add.poll() and not bpy.ops.supple.simulate.poll()


def test_a_mesh_becomes_one_where_its_modifiers_leave_it_faces(scene):
    bpy.ops.mesh.primitive_circle_add(vertices=8)
    ring = bpy.context.object
    cure = f"{ring.name} has no faces, and a soft body needs a surface to fill. Add faces first."
    assert selection.why_none(bpy.context) == cure
    assert not bpy.ops.supple.add.poll() and not bpy.ops.supple.simulate.poll()
    screw = ring.modifiers.new("Screw", "SCREW")
    bpy.context.view_layer.update()
    assert selection.candidates(bpy.context) == [ring]
    screw.show_viewport = False
    bpy.ops.mesh.primitive_monkey_add()
    monkey = bpy.context.object
    ring.select_set(True)
    assert selection.candidates(bpy.context) == [monkey]


def test_remove_keeps_the_settings_for_the_next_time(cube):
    bpy.ops.supple.add()
    cube.supple.density = 77.0
    assert bpy.ops.supple.remove() == {"FINISHED"}
    assert not cube.supple.enabled
    assert cube.supple.density == 77.0
    assert not bpy.ops.supple.remove.poll()


def test_bake_and_free_wait_for_a_simulation(cube):
    bpy.ops.supple.add()
    assert not bpy.ops.supple.bake.poll()
    assert not bpy.ops.supple.free.poll()


def test_all_selected_objects_become_colliders(scene, add_body):
    body = add_body()
    bpy.ops.mesh.primitive_plane_add()
    plane = bpy.context.object
    bpy.ops.object.empty_add(type="SPHERE")
    ball = bpy.context.object
    bpy.ops.mesh.primitive_cube_add()
    left = bpy.context.object
    for obj in (body, plane, ball):
        obj.select_set(True)
    left.select_set(False)
    assert bpy.ops.supple.add_collider() == {"FINISHED"}
    colliders = {obj.name for obj in scene.objects if obj.supple.collider}
    assert colliders == {plane.name, ball.name}


def test_no_collider_is_made_of_a_soft_body(add_body):
    add_body()
    with pytest.raises(RuntimeError, match="Select a mesh or an empty sphere"):
        bpy.ops.supple.add_collider()


SETTINGS = (
    *("model", "young", "poisson", "density"),
    *("damping", "loss_factor", "stiffness_damping", "viscosity"),
)


def settings(obj: bpy.types.Object) -> tuple:
    return tuple(getattr(obj.supple, name) for name in SETTINGS)


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_reaches_the_solver_with_its_published_numbers(add_body, name):
    props = add_body().supple
    props.damping, props.viscosity, props.stiffness_damping = 3.0, 5.0, 0.1
    assert bpy.ops.supple.apply_preset(preset=name, size="real") == {"FINISHED"}
    body, preset = capture(bpy.context).scene.bodies[0], PRESETS[name]
    assert type(body.material) is MODELS[preset.model]
    assert (body.material.young, body.material.poisson) == (preset.young, preset.poisson)
    assert (body.density, body.damping, body.viscosity) == (preset.density, 0.0, 0.0)
    assert body.loss_factor == pytest.approx(preset.loss_factor, rel=1e-5)
    assert body.stiffness_damping == 0.0


def test_it_goes_to_the_active_body_and_all_selected_ones_and_no_others(add_body):
    left_out, ball, active = add_body("Left out"), add_body("Ball"), add_body("Active")
    bpy.ops.mesh.primitive_cube_add()
    mesh = bpy.context.object
    bpy.context.view_layer.objects.active = active
    for obj, chosen in ((left_out, False), (ball, True), (active, False), (mesh, True)):
        obj.select_set(chosen)
    before = settings(left_out)
    assert settings(mesh) == before
    bpy.ops.supple.apply_preset(preset="cork")
    assert settings(active) == settings(ball) != before
    assert settings(left_out) == settings(mesh) == before


def test_resolution_and_pins_are_no_part_of_a_material(add_body):
    props = add_body().supple
    props.resolution, props.pin_group, props.mesh_method = 7, "Feet", "tetgen"
    bpy.ops.supple.apply_preset(preset="rubber")
    assert (props.resolution, props.pin_group, props.mesh_method) == (7, "Feet", "tetgen")


def test_it_needs_a_soft_body(scene):
    assert not bpy.ops.supple.apply_preset.poll()
    bpy.ops.mesh.primitive_cube_add()
    assert not bpy.ops.supple.apply_preset.poll()
    bpy.context.object.supple.enabled = True
    assert bpy.ops.supple.apply_preset.poll()


def test_the_menu_gives_numbers_and_sources(scene):
    menu = bpy.ops.supple.apply_preset.get_rna_type().properties["preset"]
    items = [(item.identifier, item.name) for item in menu.enum_items if item.identifier]
    assert items[:2] == [
        ("gelatine_dessert", "Gelatine Dessert  (8.8 cm)"),
        ("marshmallow", "Marshmallow  (1.8 m)"),
    ]
    assert sorted(name for name, _ in items) == sorted(PRESETS)
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(PRESETS)
    rubber = menu.enum_items["rubber"].description
    assert rubber.startswith("Sags by a tenth of its height when it is 32 m high.\n")
    assert "\n1.5 MPa, ν 0.49, 950 kg/m³, tan δ 0.05, rebound 83%." in rubber
    assert "Lindley 1974" in rubber


def test_it_is_one_step_to_undo(add_body):
    bpy.ops.ed.undo_push(message="Before")
    before = settings(add_body())
    bpy.ops.ed.undo_push(message="A body")
    bpy.ops.supple.apply_preset("EXEC_DEFAULT", True, preset="fat")
    assert settings(bpy.data.objects["Cube"]) != before
    bpy.ops.ed.undo()
    assert settings(bpy.data.objects["Cube"]) == before


def test_clay_brings_its_plasticity_along_and_says_how_high_it_stands(add_body, capfd):
    body = add_body()
    bpy.ops.supple.apply_preset(preset="clay", size="real")
    clay = PRESETS["clay"]
    assert capture(bpy.context).scene.bodies[0].plasticity == Plasticity(clay.yield_stress)
    assert "will slump" not in capfd.readouterr().out
    body.scale.z = 3.0
    bpy.context.view_layer.update()
    bpy.ops.supple.apply_preset(preset="clay", size="real")
    assert "Cube will slump: this material stands up to 2.3 m." in (capfd.readouterr().out)
    menu = bpy.ops.supple.apply_preset.get_rna_type().properties["preset"]
    told = menu.enum_items["clay"].description
    assert told.startswith("Stands up to a height of 2.3 m. Higher bodies slump.\n9.6 MPa")
    assert "yields at 41 kPa" in told


@pytest.mark.parametrize("name", PRESETS)
def test_the_menu_shows_the_preset_whose_values_the_body_has(add_body, name):
    body = add_body()
    body.scale = (1.7, 1.0, 0.3)
    bpy.context.view_layer.update()
    assert drawn(SUPPLE_PT_material, body).labels[0] == "Preset"
    for size in ("real", "hand"):
        bpy.ops.supple.apply_preset(preset=name, size=size)
        assert drawn(SUPPLE_PT_material, body).labels[0] == PRESETS[name].label
    body.supple.young *= 1.01
    assert drawn(SUPPLE_PT_material, body).labels[0] == "Preset"


def test_a_preset_fits_the_size_of_each_body(add_body):
    """Twenty times as large as 10 cm: as much sag, wobble and loss of it in a swing."""
    large, small = add_body("Large", scale=(1.0, 2.0, 0.5)), add_body("Small", scale=(0.05,) * 3)
    bpy.context.view_layer.update()
    for obj in (large, small):
        obj.select_set(True)
    bpy.ops.supple.apply_preset(preset="gelatine_dessert")
    gelatine = PRESETS["gelatine_dessert"]
    for obj, scale in ((large, 20.0), (small, 0.5)):
        props = obj.supple
        assert props.young == pytest.approx(scale * gelatine.young)
        assert props.density == pytest.approx(gelatine.density)
        assert props.loss_factor == pytest.approx(gelatine.loss_factor)
    bpy.ops.supple.apply_preset(preset="gelatine_dessert", size="real")
    assert large.supple.young == small.supple.young == pytest.approx(gelatine.young)


def test_a_typed_bounciness_sets_the_loss_factor_and_a_preset_shows_its_own(add_body):
    props = add_body().supple
    props.young = 1e6
    props.bounciness = 79.0
    elasticity = (props.young, props.poisson, props.density)
    assert props.loss_factor == pytest.approx(loss_factor(0.79, *elasticity))
    assert props.bounciness == pytest.approx(79.0)
    captured = capture(bpy.context).scene.bodies[0].loss_factor
    assert captured == pytest.approx(props.loss_factor, rel=1e-5)
    bpy.ops.supple.apply_preset(preset="foam")
    elasticity = (props.young, props.poisson, props.density)
    assert props.bounciness == pytest.approx(100.0 * bounciness(props.loss_factor, *elasticity))
    assert props.bounciness == pytest.approx(55.0, abs=10.0)
    props.bounciness = 100.0
    assert props.loss_factor == 0.0
    assert props.bounciness == pytest.approx(100.0 * undamped_rebound(*elasticity))
    props.bounciness = -5.0
    assert props.bounciness == pytest.approx(1.0)


def test_a_monkey_of_two_metres_keeps_the_look_of_gelatine(scene, capfd):
    bpy.ops.mesh.primitive_monkey_add(size=2.0, location=(0, 0, 3))
    bpy.ops.supple.add()
    bpy.ops.supple.apply_preset(preset="gelatine_dessert")
    bpy.context.view_layer.update()
    text, is_problem = suited.sag_message(scene, bpy.context.object)
    assert text.startswith("Sags by about") and not is_problem
    assert "Gelatine Dessert (Hand Size): Suzanne." in capfd.readouterr().out


def select(*objects: bpy.types.Object) -> None:
    """Select objects; the first one is active."""
    bpy.ops.object.select_all(action="DESELECT")
    for obj in objects:
        obj.select_set(True)
    bpy.context.view_layer.objects.active = objects[0]


def test_every_setting_is_copied(add_body):
    source, target = add_body("Source"), add_body("Target")
    wall = add_body("Wall")
    for obj in (source, target):
        obj.vertex_groups.new(name="Top")
    settings = source.supple
    bpy.ops.supple.apply_preset(preset="clay")
    settings.pin_group = settings.jiggle_group = "Top"
    settings.attach_to, settings.contact_surface, settings.smooth = wall, "tetrahedra", 3
    settings.start_velocity = 1.0, 2.0, 3.0
    settings.attachments.add().attach_to = wall
    select(source, target)
    assert bpy.ops.supple.copy_settings() == {"FINISHED"}
    for row in OBJECT:
        if row.label and row.name != "attachments":
            there, here = getattr(target.supple, row.name), getattr(settings, row.name)
            is_list = hasattr(here, "__len__") and not isinstance(here, str)
            assert (list(there) == list(here)) if is_list else there == here, row.name
    assert [row.attach_to for row in target.supple.attachments] == [wall]


def test_a_mesh_becomes_soft_and_a_group_that_it_lacks_is_left_out(add_body):
    source = add_body("Source")
    source.vertex_groups.new(name="Top")
    source.supple.pin_group = "Top"
    bpy.ops.mesh.primitive_cube_add()
    cube = bpy.context.object
    select(source, cube)
    bpy.ops.supple.copy_settings()
    assert cube.supple.enabled and cube.supple.pin_group == ""


def test_an_automatic_stiffness_suits_the_size_of_the_other_body(scene):
    def soft(size: float) -> bpy.types.Object:
        bpy.ops.mesh.primitive_cube_add(size=size)
        bpy.ops.supple.add()
        return bpy.context.object

    small, large = soft(0.1), soft(2.0)
    before = large.supple.young
    assert small.supple.young < before
    select(small, large)
    bpy.ops.supple.copy_settings()
    assert large.supple.young == small.supple.young
    suited.refresh(bpy.context, 1)
    assert large.supple.young == before


def test_a_collider_gives_another_mesh_its_settings(scene):
    bpy.ops.mesh.primitive_plane_add()
    plane = bpy.context.object
    plane.supple.collider, plane.supple.collider_friction = True, 0.9
    bpy.ops.object.empty_add(type="SPHERE")
    ball = bpy.context.object
    select(plane, ball)
    bpy.ops.supple.copy_settings()
    assert ball.supple.collider and ball.supple.collider_friction == pytest.approx(0.9)


def test_it_needs_a_body_and_others(add_body):
    body = add_body()
    select(body)
    with pytest.raises(RuntimeError, match="Select other meshes"):
        bpy.ops.supple.copy_settings()


SHIPPED = Path(FOLDER) / "presets" / "supple"


@pytest.fixture
def user_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder of scripts, empty."""
    monkeypatch.setenv("BLENDER_USER_SCRIPTS", str(tmp_path))
    return tmp_path


def run(path: Path) -> None:
    menu = f"SUPPLE_PT_{path.parent.name}_presets"
    assert bpy.ops.script.execute_preset(filepath=str(path), menu_idname=menu) == {"FINISHED"}


def test_draft_normal_and_final_are_finer_and_finer(scene, add_body):
    add_body().supple.resolution = 10
    edges = []
    for name in ("Draft", "Normal", "Final"):
        run(SHIPPED / "quality" / f"{name}.py")
        edges.append(capture(bpy.context).scene.bodies[0].mesh.edge_length)
    assert edges == pytest.approx([1.0 / 6.0, 0.1, 1.0 / 15.0])
    assert scene.supple.substeps == 0


def test_the_preset_default_is_a_material_as_it_is_at_first(add_body):
    body = add_body()
    bpy.ops.supple.apply_preset(preset="clay")
    assert body.supple.use_plasticity
    run(SHIPPED / "material" / "Default.py")
    other = add_body()
    for line in (SHIPPED / "material" / "Default.py").read_text().splitlines():
        if line.startswith("props."):
            name = line.split()[0].removeprefix("props.")
            assert getattr(body.supple, name) == getattr(other.supple, name), name


def test_a_material_is_kept_under_a_name_and_removed(user_folder, add_body):
    first = add_body("First")
    first.supple.young, first.supple.friction = 1234.0, 0.25
    assert bpy.ops.supple.add_material_preset(name="My Gum") == {"FINISHED"}
    (path,) = (user_folder / "presets" / "supple" / "material").iterdir()
    assert path.name == "My_Gum.py"
    second = add_body("Second")
    run(path)
    assert (second.supple.young, second.supple.friction) == (1234.0, 0.25)
    bpy.ops.supple.add_material_preset(name="My Gum", remove_name=True)
    assert not path.exists()
