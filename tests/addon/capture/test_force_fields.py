# SPDX-License-Identifier: GPL-3.0-or-later
"""Force fields as they are captured, beside what Blender's own do to particles."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import pytest
import torch
from mathutils import Euler, Matrix, Vector
from numpy.typing import NDArray

from supple.addon.capture import fingerprint
from supple.addon.capture.captured import CaptureError
from supple.addon.capture.scene import capture
from supple.core import Absorber, Channel, ForceField
from supple.core.potentials.field_laws import FieldLaw, FieldShadow

# Of particles, in seconds, whatever the frame rate.
FRAME = 0.04
SPEED = (0.4, -0.3, 0.6)
PLACE = Matrix.LocRotScale(Vector((0.3, -0.2, 0.4)), Euler((0.5, -0.3, 0.7)), Vector((1, 0.5, 1.5)))
POINTS = 1.5 * np.random.default_rng(1).normal(size=(20, 3))
Points = NDArray[np.float64]


def add_field(kind: str, **settings: Any) -> bpy.types.Object:
    bpy.ops.object.effector_add(type=kind)
    obj = bpy.context.object
    obj.matrix_world = PLACE
    for name, value in settings.items():
        setattr(obj.field, name, value)
    return obj


def add_particles() -> bpy.types.Object:
    """Particles of 1 kg and charge 1 at each of the points, all with the same velocity."""
    mesh = bpy.data.meshes.new("Points")
    mesh.from_pydata(POINTS.tolist(), [], [])
    obj = bpy.data.objects.new("Points", mesh)
    bpy.context.collection.objects.link(obj)
    obj.modifiers.new("Particles", "PARTICLE_SYSTEM")
    settings = obj.particle_systems[0].settings
    settings.count, settings.emit_from, settings.use_emit_random = len(POINTS), "VERT", False
    settings.frame_start = settings.frame_end = 1
    settings.lifetime, settings.normal_factor, settings.object_align_factor = 100, 0.0, SPEED
    settings.integrator, settings.mass, settings.particle_size = "EULER", 1.0, 1.0
    settings.effector_weights.gravity = 0.0
    settings.force_field_1.type, settings.force_field_1.strength = "CHARGE", 1.0
    return obj


def blender_s(particles: bpy.types.Object) -> tuple[Points, Points]:
    """(N, 3) velocities at the first frame, and accelerations from there to the next."""
    speeds = []
    for frame in (1, 2):
        bpy.context.scene.frame_set(frame)
        evaluated = particles.evaluated_get(bpy.context.evaluated_depsgraph_get())
        values = np.empty(3 * len(POINTS), dtype=np.float32)
        evaluated.particle_systems[0].particles.foreach_get("velocity", values)
        speeds.append(values.reshape(-1, 3).astype(float))
    return speeds[0], (speeds[1] - speeds[0]) / FRAME


def captured() -> ForceField:
    (field,) = capture(bpy.context).scene.forces
    assert isinstance(field, ForceField)
    return field


def ours(field: ForceField, speeds: Points, unit: float = 1.0) -> Points:
    """(N, 3) accelerations at the points."""
    at, moving = (torch.as_tensor(unit * values.T.copy()) for values in (POINTS, speeds))
    parameters = torch.as_tensor(field.parameters.samples[0])
    return FieldLaw(field, at)(parameters, at).acceleration(moving).T.numpy()


FALLOFF: dict[str, Any] = {
    **{"falloff_power": 1.7, "use_min_distance": True, "distance_min": 0.4},
    **{"use_max_distance": True, "distance_max": 2.0, "radial_falloff": 0.6},
    **{"use_radial_min": True, "radial_min": 0.3, "use_radial_max": True},
}
CASES: list[tuple[str, dict[str, Any]]] = [
    ("FORCE", {"shape": "LINE", "strength": 3.0, "flow": 0.2}),
    ("FORCE", {"shape": "PLANE", "strength": -3.0}),
    ("FORCE", {"strength": 2.0, "use_gravity_falloff": True}),
    ("WIND", {"strength": 2.0, "flow": 1.0}),
    ("VORTEX", {"shape": "POINT", "strength": 1.3}),
    ("VORTEX", {"shape": "PLANE", "strength": 1.3, "inflow": 0.3}),
    ("MAGNET", {"shape": "POINT", "strength": 2.0}),
    ("MAGNET", {"shape": "LINE", "strength": 2.0, **FALLOFF, "radial_max": 2.0}),
    ("MAGNET", {"shape": "PLANE", "strength": -2.0}),
    ("HARMONIC", {"strength": 3.0, "harmonic_damping": 0.4}),
    ("HARMONIC", {"shape": "LINE", "strength": 3.0, "rest_length": 0.5, "flow": 0.3}),
    ("HARMONIC", {"shape": "PLANE", "strength": 3.0, **FALLOFF, "harmonic_damping": 0.4}),
    ("CHARGE", {"strength": 2.0, "falloff_power": 2.0}),
    ("LENNARDJ", {"strength": 2.0, "use_max_distance": True, "distance_max": 2.0}),
    ("TURBULENCE", {"strength": 2.0, "size": 0.7, "falloff_power": 0.5}),
    ("TURBULENCE", {"strength": 2.0, "use_global_coords": True, "flow": 0.5}),
    ("DRAG", {"linear_drag": 0.5, "quadratic_drag": 0.7, "falloff_power": 0.5}),
    ("DRAG", {"linear_drag": 3.0, "quadratic_drag": 5.0}),
    *(
        ("FORCE", {"strength": 3.0, "falloff_type": kind, "z_direction": side, **FALLOFF, **ends})
        for kind, side, ends in (
            ("SPHERE", "BOTH", {}),
            ("SPHERE", "POSITIVE", {}),
            ("TUBE", "NEGATIVE", {"radial_max": 1.5}),
            ("CONE", "BOTH", {"radial_max": 120.0}),
        )
    ),
    ("VORTEX", {"shape": "PLANE", "strength": 3.0, **FALLOFF}),
]


@pytest.mark.parametrize(
    ("kind", "settings"), CASES, ids=[f"{n} {kind}" for n, (kind, _) in enumerate(CASES)]
)
def test_soft_bodies_feel_what_particles_of_one_kilogram_feel(add_body, kind, settings) -> None:
    add_body()
    particles = add_particles()
    add_field(kind, **settings)
    speeds, expected = blender_s(particles)
    np.testing.assert_allclose(speeds, [SPEED] * len(POINTS), atol=1e-6)
    largest = float(np.abs(expected).max())
    assert largest > 0.05
    np.testing.assert_allclose(ours(captured(), speeds), expected, atol=1e-4 * largest)


def test_in_a_scene_of_decimetres_bodies_move_as_particles_are_seen_to(scene, add_body) -> None:
    add_body()
    particles = add_particles()
    add_field("FORCE", strength=3.0, flow=0.4, falloff_power=1.5)
    scene.unit_settings.scale_length = 0.1
    speeds, expected = blender_s(particles)
    found = ours(captured(), 0.1 * speeds / 0.1, unit=0.1)
    np.testing.assert_allclose(found, 0.1 * expected, atol=1e-5)


# What is recorded


def test_settings_and_places_are_followed_frame_by_frame(add_body) -> None:
    add_body()
    fan = add_field("WIND", strength=1.0)
    for frame, strength, height, acting in ((1, 1.0, 0.0, True), (4, 7.0, 3.0, False)):
        fan.field.strength, fan.location = strength, (0.0, 0.0, height)
        fan.field.apply_to_location = acting
        for path in ("field.strength", "field.apply_to_location", "location"):
            fan.keyframe_insert(path, frame=frame)
    field = captured()
    assert isinstance(field.strength, Channel) and isinstance(field.origin, Channel)
    assert isinstance(field.weight, Channel)
    assert field.strength.samples.shape == (4,)
    assert (field.strength.samples[0], field.strength.samples[-1]) == (1.0, 7.0)
    np.testing.assert_allclose(field.origin.samples[:, 2][[0, 3]], [0.0, 3.0])
    assert field.weight.samples[-1] == 0.0
    assert field.flow == 1.0
    assert field.name == fan.name


def test_noise_makes_gusts_that_are_the_same_every_time(add_body) -> None:
    add_body()
    fan = add_field("WIND", strength=5.0, noise=2.0, seed=3)
    first, second = captured().strength, captured().strength
    assert isinstance(first, Channel) and isinstance(second, Channel)
    np.testing.assert_array_equal(first.samples, second.samples)
    gusts = (first.samples - 5.0) / 2.0
    assert len(set(gusts)) == 4
    assert gusts.min() >= -0.5 and gusts.max() <= 1.0
    fan.field.seed = 4
    other = captured().strength
    assert isinstance(other, Channel) and (other.samples != first.samples).all()


def test_which_fields_act_is_a_matter_of_view_layer_and_collection(scene, add_body) -> None:
    body = add_body()
    fans = [add_field("WIND"), add_field("FORCE"), add_field("GUIDE")]
    fans[0].name, fans[1].name = "B", "A"
    bpy.context.view_layer.objects.active = body
    bpy.ops.object.forcefield_toggle()

    def names() -> list[str]:
        found = capture(bpy.context).scene.forces
        return sorted(force.name for force in found if isinstance(force, ForceField))

    assert names() == ["A", "B"]
    scene.supple.effector_collection = bpy.data.collections.new("Chosen")
    assert names() == []
    inner = bpy.data.collections.new("Inner")
    scene.supple.effector_collection.children.link(inner)
    inner.objects.link(fans[0])
    assert names() == ["B"]
    scene.supple.effector_collection = None
    fans[0].hide_set(True)
    assert names() == ["A"]


def test_a_body_has_its_own_weight_of_fields(add_body) -> None:
    body = add_body()
    add_field("WIND")
    assert capture(bpy.context).scene.bodies[0].field_weight is None
    body.supple.field_weight = 0.3
    assert capture(bpy.context).scene.bodies[0].field_weight == 0.3


def test_a_field_without_direction_is_refused(add_body) -> None:
    add_body()
    fan = add_field("WIND")
    fan.matrix_world = Matrix.Diagonal((1.0, 1.0, 0.0, 1.0))
    with pytest.raises(CaptureError, match=f"{fan.name}: the axis has no length"):
        capture(bpy.context)


def test_what_is_set_of_a_field_makes_the_scene_another(scene, add_body) -> None:
    add_body()
    fan = add_field("WIND", strength=1.0)
    marks = [fingerprint.as_text(fingerprint.scene_fingerprint(scene))]
    fan.field.strength = 2.0
    marks.append(fingerprint.as_text(fingerprint.scene_fingerprint(scene)))
    fan.location.x += 1.0
    bpy.context.view_layer.update()
    marks.append(fingerprint.as_text(fingerprint.scene_fingerprint(scene)))
    scene.supple.effector_collection = bpy.data.collections.new("None of them")
    marks.append(fingerprint.as_text(fingerprint.scene_fingerprint(scene)))
    assert len(set(marks)) == len(marks)
    scene.supple.effector_collection = None
    fan.keyframe_insert("field.linear_drag", frame=1)
    moving = fingerprint.as_text(fingerprint.scene_fingerprint(scene))
    fan.field.strength = 3.0
    assert fingerprint.as_text(fingerprint.scene_fingerprint(scene)) == moving


# What stands in the way


def add_wall(absorption: float, **settings: Any) -> bpy.types.Object:
    """A square of 2 m in the horizontal plane through the origin, unless told otherwise."""
    bpy.ops.mesh.primitive_plane_add(size=2.0, **settings)
    bpy.ops.object.modifier_add(type="COLLISION")
    bpy.context.object.collision.absorption = absorption
    return bpy.context.object


def shadows(field: ForceField, absorbers: list[Absorber], speeds: Points) -> Points:
    """(N, 3) accelerations at the points."""
    at, moving = (torch.as_tensor(values.T.copy()) for values in (POINTS, speeds))
    parameters = torch.as_tensor(field.parameters.samples[0])
    law = FieldLaw(field, at, FieldShadow(absorbers, at[0]))
    law.begin_frame(parameters, at, 0)
    return law(parameters, at).acceleration(moving).T.numpy()


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("FORCE", {"strength": 3.0, "falloff_power": 1.0}),
        ("FORCE", {"shape": "LINE", "strength": 3.0}),
        ("FORCE", {"shape": "PLANE", "strength": 3.0}),
        ("WIND", {"strength": 3.0, "flow": 1.0}),
        ("VORTEX", {"shape": "POINT", "strength": 2.0}),
        ("VORTEX", {"shape": "PLANE", "strength": 2.0}),
        ("MAGNET", {"strength": 2.0}),
        ("HARMONIC", {"strength": 3.0, "harmonic_damping": 0.4}),
        ("CHARGE", {"strength": 2.0}),
        ("LENNARDJ", {"strength": 2.0}),
        ("TURBULENCE", {"strength": 2.0, "size": 0.7}),
        ("DRAG", {"linear_drag": 0.5, "quadratic_drag": 0.7}),
    ],
)
def test_what_absorbs_shades_bodies_as_it_does_particles(add_body, kind, settings) -> None:
    """Two walls along axes: Blender looks at the boxes of triangles alone."""
    add_body()
    particles = add_particles()
    add_field(kind, use_absorption=True, **settings)
    walls = [
        add_wall(0.4, location=(0.2, 0.1, -0.15)),
        add_wall(0.7, location=(0.0, -0.6, 0.5), rotation=(np.pi / 2.0, 0.0, 0.0)),
    ]
    for obj in walls:
        # It has the boxes wider by this.
        obj.collision.thickness_outer = 0.001
    speeds, expected = blender_s(particles)
    scene = capture(bpy.context).scene
    (field,) = scene.forces
    assert isinstance(field, ForceField) and len(scene.absorbers) == 2
    found, free = shadows(field, scene.absorbers, speeds), shadows(field, [], speeds)
    np.testing.assert_allclose(found, expected, atol=1e-4 * float(np.abs(expected).max()))
    if kind != "LENNARDJ":
        shaded = np.abs(found - free).max(axis=1) > 1e-3
        assert shaded.any() and not shaded.all()


def test_walls_are_followed_frame_by_frame_and_so_is_what_they_absorb(scene, add_body) -> None:
    add_body()
    add_field("FORCE", use_absorption=True)
    wall = add_wall(0.2)
    for frame, absorption, height in ((1, 0.2, 0.0), (4, 0.8, 3.0)):
        wall.collision.absorption, wall.location.z = absorption, height
        wall.keyframe_insert("collision.absorption", frame=frame)
        wall.keyframe_insert("location", frame=frame)
    scene.unit_settings.scale_length = 0.1
    (absorber,) = capture(bpy.context).scene.absorbers
    assert isinstance(absorber.absorption, Channel)
    np.testing.assert_allclose(absorber.absorption.samples[[0, 3]], [0.2, 0.8], rtol=1e-7)
    np.testing.assert_allclose(absorber.vertices.samples[[0, 3], :, 2], [[0.0] * 4, [0.3] * 4])
    assert absorber.name == wall.name


def test_a_scene_holds_no_absorbers_that_no_field_asks_for(add_body) -> None:
    add_body()
    fan = add_field("FORCE")
    wall = add_wall(0.5)
    assert capture(bpy.context).scene.absorbers == []
    fan.field.use_absorption = True
    assert [each.name for each in capture(bpy.context).scene.absorbers] == [wall.name]
    wall.hide_set(True)
    assert capture(bpy.context).scene.absorbers == []


def test_an_absorber_without_faces_is_refused(add_body) -> None:
    add_body()
    add_field("FORCE", use_absorption=True)
    wall = add_wall(0.5)
    wall.data.clear_geometry()
    with pytest.raises(CaptureError, match=r"an absorber without faces\. .*, or set its Field Abs"):
        capture(bpy.context)


def test_what_absorbs_is_part_of_a_scene_s_mark(scene, add_body) -> None:
    add_body()
    fan = add_field("FORCE")
    wall = add_wall(0.5)
    marks = [fingerprint.as_text(fingerprint.scene_fingerprint(scene))]
    wall.collision.absorption = 0.6
    assert fingerprint.as_text(fingerprint.scene_fingerprint(scene)) == marks[0]
    fan.field.use_absorption = True
    marks.append(fingerprint.as_text(fingerprint.scene_fingerprint(scene)))
    wall.collision.absorption = 0.7
    marks.append(fingerprint.as_text(fingerprint.scene_fingerprint(scene)))
    wall.location.x += 1.0
    bpy.context.view_layer.update()
    marks.append(fingerprint.as_text(fingerprint.scene_fingerprint(scene)))
    assert len(set(marks)) == len(marks)
