# SPDX-License-Identifier: GPL-3.0-or-later
"""The menu of real materials."""

from __future__ import annotations

import math

import bpy
import pytest

from supple.addon.capture.scene import capture
from supple.addon.panels.material import SUPPLE_PT_material
from supple.addon.properties import suited
from supple.core import Plasticity
from supple.core.materials import MODELS
from supple.core.materials.bounce import bounciness, frequency_ratio
from supple.core.materials.presets import GROUPS, PRESETS

from ..layout import drawn

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
    assert "\n1.5 MPa, ν 0.49, 950 kg/m³, tan δ 0.05, rebound 85%." in rubber
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
    props.bounciness = 79.0
    ratio = frequency_ratio(props.young, props.poisson, props.density)
    assert props.loss_factor == pytest.approx(-math.log(0.79) / math.pi / ratio)
    assert props.bounciness == pytest.approx(79.0)
    captured = capture(bpy.context).scene.bodies[0].loss_factor
    assert captured == pytest.approx(props.loss_factor, rel=1e-5)
    bpy.ops.supple.apply_preset(preset="foam")
    ratio = frequency_ratio(props.young, props.poisson, props.density)
    assert props.bounciness == pytest.approx(100.0 * bounciness(props.loss_factor, ratio))
    assert props.bounciness == pytest.approx(55.0, abs=10.0)
    props.bounciness = 100.0
    assert props.loss_factor == 0.0
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
