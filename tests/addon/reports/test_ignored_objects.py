# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields, colliders and caches that act otherwise than they look are reported."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import bpy
import pytest

from supple.addon import runs
from supple.addon.capture import force_fields
from supple.addon.reports import ignored
from supple.addon.worker import session
from supple.tests.addon.reports.ignored_lines import messages, only
from supple.tests.addon.rigs import alembic_cache, mdd_cache, pc2_cache


def field_of(obj: bpy.types.Object, kind: str = "FORCE") -> bpy.types.FieldSettings:
    """A force field that the active object gets."""
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.forcefield_toggle()
    obj.field.type = kind
    return obj.field


@pytest.mark.parametrize("kind", ["WIND", "TURBULENCE", "DRAG", "VORTEX", "LENNARDJ"])
def test_a_force_field_that_acts_is_not_named_until_it_is_hidden(add_body, kind):
    add_body()
    bpy.ops.object.effector_add(type=kind)
    field = bpy.context.object
    assert messages() == []
    field.hide_set(True)
    assert only() == (
        f"{field.name} has a force field and is hidden, so that it has no effect. Show it."
    )


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("GUIDE", "its force field Curve Guide does not act on soft bodies"),
        ("BOID", "its force field Boid does not act on soft bodies"),
        (
            "TEXTURE",
            ("its force field Texture does not act on soft bodies, with or without a Texture"),
        ),
        (
            "FLUID_FLOW",
            ("its force field Fluid Flow has no Domain Object. Choose one, or hide the field."),
        ),
    ],
)
def test_a_force_field_of_a_kind_that_does_not_act_is_named(add_body, kind, message):
    add_body()
    bpy.ops.object.empty_add()
    field = bpy.context.object
    field_of(field, kind)
    assert only().startswith(f"{field.name}: {message}")


def test_what_flows_must_be_in_a_domain_that_is_shown_and_baked(add_body):
    """Only a real Blender bakes one: ``tests/blender/scenarios/fluid_flow.py``."""
    add_body()
    bpy.ops.object.empty_add()
    own = field_of(bpy.context.object, "FLUID_FLOW")
    # In no scene: this process has no fluids, and a domain that is evaluated ends it.
    box = bpy.data.objects.new("Box", bpy.data.meshes.new("Box"))
    own.source_object = box
    assert "uses Box as its Domain Object, which is not a fluid domain in the viewport" in only()
    modifier = box.modifiers.new("Fluid", "FLUID")
    assert "which is not a fluid domain in the viewport" in only()
    modifier.fluid_type = "DOMAIN"
    unbaked = "its force field Fluid Flow needs the fluid in Box to be baked first"
    assert unbaked in only()
    modifier.show_viewport = False
    assert "which is not a fluid domain in the viewport" in only()


class _Baked:
    """The settings of a domain as they are once it is baked, which no script may say."""

    def __init__(self, modifier: bpy.types.FluidModifier) -> None:
        self._domain = modifier.domain_settings

    has_cache_baked_data = True

    def __getattr__(self, name: str) -> object:
        return getattr(self._domain, name)


@pytest.mark.parametrize(
    ("settings", "with_smoke", "message"),
    [
        ({"use_adaptive_domain": True}, False, "Untick Adaptive Domain and bake it again"),
        (
            {"use_noise": True},
            True,
            "the smoke density of Box, which has Noise. Untick Smoke Density",
        ),
        ({"domain_type": "LIQUID"}, True, "which is a liquid. Untick Smoke Density"),
        (
            {"use_noise": True},
            False,
            "this build of Blender has no fluids. Simulate in Blender itself.",
        ),
        ({"domain_type": "LIQUID"}, False, "this build of Blender has no fluids"),
        ({}, True, "this build of Blender has no fluids"),
    ],
)
def test_what_blender_does_not_tell_of_a_baked_domain_is_named(
    settings, with_smoke, message, tmp_path
):
    box = bpy.data.objects.new("Box", bpy.data.meshes.new("Box"))
    modifier = box.modifiers.new("Fluid", "FLUID")
    modifier.fluid_type = "DOMAIN"
    for name, value in settings.items():
        setattr(modifier.domain_settings, name, value)
    shown = SimpleNamespace(
        **{"type": "FLUID", "fluid_type": "DOMAIN", "show_viewport": True},
        domain_settings=_Baked(modifier),
    )
    modifier.domain_settings.cache_directory = str(tmp_path)
    source = SimpleNamespace(name="Box", modifiers=[shown], library=None)
    field = SimpleNamespace(source_object=source, use_smoke_density=with_smoke)
    gone = f"baked again: its files are not in {tmp_path}. Bake it, or hide the field."
    assert gone in force_fields.why_unread(field)
    (tmp_path / "data").mkdir()
    assert gone in force_fields.why_unread(field)
    (tmp_path / "data" / "fluid_data_0001.vdb").touch()
    assert message in force_fields.why_unread(field)


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("shape", "SURFACE", "the shape Surface of its force field is ignored"),
        ("shape", "POINTS", "the shape Every Point of its force field is ignored"),
        ("use_absorption", True, "no object absorbs its force field"),
        ("noise", 1.0, "the Noise of its force field is one gust"),
    ],
)
def test_a_setting_of_a_force_field_that_is_not_as_in_blender_is_named(
    add_body, setting, value, message
):
    add_body()
    bpy.ops.mesh.primitive_plane_add()
    field = field_of(bpy.context.object)
    assert messages() == []
    setattr(field, setting, value)
    assert message in only()


def test_keyed_numbers_of_a_force_field_count_and_keyed_choices_are_named(add_body):
    add_body()
    bpy.ops.object.effector_add(type="WIND")
    field = bpy.context.object
    for path in ("field.strength", "field.falloff_power", "field.apply_to_location", "location"):
        field.keyframe_insert(path, frame=1)
    assert messages() == []
    field.keyframe_insert("field.use_max_distance", frame=1)
    assert "the animation of Use Max of its force field is ignored" in only()


def test_the_force_fields_of_bodies_and_particles_are_named(add_body):
    body = add_body()
    field_of(body)
    assert only().startswith("Cube: force fields on soft bodies have no effect")
    body.field.type = "NONE"
    bpy.ops.mesh.primitive_plane_add()
    plane = bpy.context.object
    plane.modifiers.new("Dust", "PARTICLE_SYSTEM")
    assert messages() == []
    plane.particle_systems[0].settings.force_field_1.type = "FORCE"
    name = plane.particle_systems[0].name
    assert only().startswith(f"Plane: the force fields of its particles {name} do not act")


def absorber(obj: bpy.types.Object, absorption: float = 0.5) -> None:
    with bpy.context.temp_override(object=obj, active_object=obj):
        bpy.ops.object.modifier_add(type="COLLISION")
    obj.collision.absorption = absorption


def test_an_absorbed_field_is_said_to_meet_nothing_until_there_is_something_to_absorb(add_body):
    body = add_body()
    bpy.ops.object.empty_add()
    fan = bpy.context.object
    field_of(fan).use_absorption = True
    nothing = f"{fan.name}: no object absorbs its force field. Add Physics › Collision"
    assert only().startswith(nothing)
    bpy.ops.mesh.primitive_plane_add()
    wall = bpy.context.object
    absorber(wall)
    assert messages() == []
    wall.collision.absorption = 0.0
    assert {line.partition(": ")[0] for line in messages()} == {fan.name, wall.name}
    wall.collision.absorption = 0.1
    wall.hide_set(True)
    assert only().startswith(nothing)
    wall.hide_set(False)
    absorber(body)
    assert only().startswith(f"{body.name}: soft bodies do not absorb force fields.")
    fan.field.use_absorption = False
    assert [line.partition(": ")[0] for line in messages()] == [wall.name]


def add_collider(kind: str, **place: object) -> bpy.types.Object:
    getattr(bpy.ops.mesh, f"primitive_{kind}_add")(**place)
    obj = bpy.context.object
    obj.supple.collider = True
    bpy.context.view_layer.update()
    return obj


def test_a_floor_below_the_ground_is_named(scene, add_body):
    scene.supple.ground_height = 0.0
    add_body(location=(0, 0, 1))
    floor = add_collider("plane", size=10, location=(0, 0, -3))
    assert only() == (
        "Plane: the collider is below the ground, down to -3 m, and bodies land on the ground "
        "at 0 m first. Lower the Height of the ground, or untick Ground."
    )
    floor.hide_set(True)
    assert only() == "Plane is a hidden collider, so that nothing lands on it. Show it."
    floor.hide_set(False)
    scene.supple.use_ground = False
    assert messages() == []
    scene.supple.use_ground, scene.supple.ground_height = True, -3.0
    assert messages() == []


def test_a_floor_half_under_the_ground_is_named_as_it_is_seen(scene, add_body):
    scene.supple.ground_height = 0.0
    add_body(location=(0, 0, 3))
    floor = add_collider("plane", size=2.0, rotation=(0.5, 0, 0))
    assert only().startswith("Plane: the collider goes below the ground, down to -0.479 m, and")
    floor.modifiers.new("Up", "DISPLACE").mid_level = 0.0
    bpy.context.view_layer.update()
    assert messages() == []


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("plane", {"size": 10.0}),
        ("plane", {"size": 10.0, "location": (0, 0, -0.005)}),
        ("cube", {"size": 1.0, "location": (0, 0, -0.5)}),
        ("uv_sphere", {"location": (0, 0, -0.5)}),
    ],
)
def test_what_lies_on_the_ground_or_stands_in_it_is_not(scene, add_body, kind, place):
    scene.supple.ground_height = 0.0
    add_body(location=(0, 0, 3))
    add_collider(kind, **place)
    assert messages() == []


@pytest.fixture
def body(add_body) -> bpy.types.Object:
    obj = add_body()
    obj.vertex_groups.new(name="Pins").add([0, 1], 1.0, "REPLACE")
    obj.supple.pin_group = "Pins"
    return obj


def told() -> list[str]:
    bpy.context.view_layer.update()
    return [line for line in ignored.messages(bpy.context) if "has no effect, since" in line]


CACHES = {"MDD": mdd_cache, "PC2": pc2_cache, "Alembic": alembic_cache}


@pytest.mark.parametrize("add", CACHES.values(), ids=CACHES)
def test_a_file_that_is_gone_is_told_by_object_modifier_and_file(body, add):
    add(body)
    assert told() == []
    (modifier,) = body.modifiers
    owner = modifier if modifier.type == "MESH_CACHE" else modifier.cache_file
    path = Path(owner.filepath)
    path.unlink()
    (line,) = told()
    assert line.startswith(
        f"Cube: the modifier {modifier.name} has no effect, since its file {path} is missing."
    )
    modifier.show_viewport = False
    assert told() == []


def test_it_is_told_before_a_run(body, monkeypatch):
    monkeypatch.setattr(session, "start", lambda *_: None)
    pc2_cache(body)
    Path(body.modifiers[0].filepath).unlink()
    warnings = runs.Simulation(bpy.context).warnings
    assert sum("has no effect, since its file" in line for line in warnings) == 1


def test_a_path_beside_the_file_is_found(body, tmp_path):
    pc2_cache(body)
    cache = Path(body.modifiers[0].filepath)
    cache.rename(tmp_path / cache.name)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "scene.blend"))
    body.modifiers[0].filepath = f"//{cache.name}"
    assert told() == []
    body.modifiers[0].filepath = "//other.pc2"
    assert f"its file {tmp_path / 'other.pc2'} is missing" in told()[0]


@pytest.mark.parametrize("kind", ["MESH_CACHE", "MESH_SEQUENCE_CACHE"])
def test_one_without_a_file_is_told(body, kind):
    body.modifiers.new("Cache", kind)
    assert told() == [
        (
            "Cube: the modifier Cache has no effect, since no file is chosen. Choose one, or "
            "remove it."
        )
    ]


def test_points_of_another_mesh_are_told(body):
    pc2_cache(body)
    body.data.vertices.add(1)
    (line,) = told()
    assert "points.pc2 has 8 points and the mesh 9 vertices" in line


def test_a_file_of_another_format_is_told(body):
    pc2_cache(body)
    Path(body.modifiers[0].filepath).write_bytes(b"ply\nformat ascii 1.0\nelement")
    assert "points.pc2 is not a PC2 file" in told()[0]


def test_an_object_that_a_file_does_not_have_is_told(body):
    alembic_cache(body)
    body.modifiers[0].object_path = ""
    assert "points.abc has no object ''. Choose one under Object Path." in told()[0]
    body.modifiers[0].object_path = "/Cube/Cube"
    bpy.context.scene.frame_set(2)
    assert told() == []
    body.modifiers[0].object_path = "/Cube/Ball"
    assert "points.abc has no object '/Cube/Ball'" in told()[0]


def test_colliders_and_constraints_are_looked_at_too(body):
    bpy.ops.mesh.primitive_plane_add()
    floor = bpy.context.object
    floor.supple.collider = True
    floor.modifiers.new("Waves", "MESH_CACHE").filepath = "/nowhere/waves.pc2"
    bpy.ops.object.empty_add()
    body.parent = floor.parent = carrier = bpy.context.object
    constraint = carrier.constraints.new("TRANSFORM_CACHE")
    lines = told()
    assert len(lines) == 2
    assert lines[0].startswith("Plane: the modifier Waves has no effect, since its file /nowhere")
    assert lines[1].startswith("Empty: the constraint Transform Cache has no effect, since no file")
    constraint.enabled = floor.modifiers[0].show_viewport = False
    assert told() == []
