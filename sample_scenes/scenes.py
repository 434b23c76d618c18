# SPDX-License-Identifier: GPL-3.0-or-later
"""The sample scenes, one function each; those of contact are in ``contact_scenes``, one that a
rig drives in ``walker``, and one of clay in ``clay``."""

from __future__ import annotations

import math

import bpy

from .bodies import ball, bear, box, make_soft, monkey, pin, tetrahedron
from .clay import CLAY_SAMPLES
from .contact_scenes import CONTACT_SAMPLES
from .kept import KEPT_SAMPLES
from .lively import LIVELY_SAMPLES
from .matched import MATCHED_SAMPLES
from .sample import Sample
from .slalom import SLALOM_SAMPLES
from .studio import BLUEBERRY, LEMON, LIME, ORANGE, RASPBERRY, jelly, label, plain, studio
from .tail import TAIL_SAMPLES
from .throw import THROW_SAMPLES
from .walker import WALKER_SAMPLES


def jelly_drop(scene: bpy.types.Scene) -> None:
    """The monkey, made of jelly, falls on the ground."""
    body = monkey("Jelly Monkey", RASPBERRY)
    body.location = (0.0, 0.0, 1.55)
    body.rotation_euler = [math.radians(angle) for angle in (-22.0, 9.0, 18.0)]
    make_soft(body, young=4e4, damping=0.5, viscosity=100.0, resolution=19)
    studio(scene, target=(0.0, 0.0, 0.93), distance=4.9)


def suspended_monkey(scene: bpy.types.Scene) -> None:
    """The monkey hangs by its ears and wobbles under its own weight."""
    body = monkey("Suspended Monkey", LIME)
    body.location = (0.0, 0.0, 1.5)
    make_soft(body, young=2.5e5, damping=0.4, resolution=18)
    reach = max(vertex.co.x for vertex in body.data.vertices)
    # The outer fifth: most of the ears.
    pin(body, [v.index for v in body.data.vertices if abs(v.co.x) > 0.8 * reach])
    scene.supple.use_ground = False
    studio(scene, target=(0.0, 0.0, 1.25), distance=5.2)


def falling_tetrahedron(scene: bpy.types.Scene) -> None:
    """A single tetrahedron, the smallest body there is, falls on the floor."""
    body = tetrahedron("Tetrahedron", LEMON, (0.0, 0.0, 1.1))
    body.rotation_euler = [math.radians(angle) for angle in (24.0, 14.0, 10.0)]
    make_soft(body, young=8e4, poisson=0.3, resolution=1)
    studio(scene, target=(0.0, 0.0, 0.75), distance=5.0)


def falling_cube(scene: bpy.types.Scene) -> None:
    """A cube falls on its corner."""
    body = box("Cube", ORANGE, (0.0, 0.0, 1.7), (1.0, 1.0, 1.0))
    body.rotation_euler = [math.radians(angle) for angle in (38.0, 30.0, 12.0)]
    make_soft(body, young=6e4, damping=0.3, resolution=6)
    studio(scene, target=(0.0, 0.0, 0.95), distance=5.6)


def ellipsoid_on_sphere(scene: bpy.types.Scene) -> None:
    """An ellipsoid falls on a fixed sphere, bends over it, and slides off."""
    body = ball("Ellipsoid", jelly("Plum", BLUEBERRY), (0.12, 0.0, 1.95), (1.7, 0.9, 0.7))
    make_soft(body, young=4e4, damping=0.3, resolution=14)
    pole = ball("Sphere", plain("Stone", (0.55, 0.53, 0.5)), (0.0, 0.0, 0.6), (0.8, 0.8, 0.8))
    pole.supple.collider = True
    # With the body's 0.5 it comes to 0.2.
    pole.supple.collider_friction = 0.08
    # The ball as it is, and its bounce: of spheres, which steps without contact know.
    scene.supple.integrator, scene.supple.contact = "symplectic_euler", "never"
    studio(scene, target=(0.15, 0.0, 0.95), distance=6.0)


def gummy_bear(scene: bpy.types.Scene) -> None:
    """Two gummy bears fall on their seats; of one the head is hard."""
    for x, name, colour, is_painted in (
        (-0.75, "Soft Bear", ORANGE, False),
        (0.75, "Hard-Headed Bear", LIME, True),
    ):
        body = bear(name, colour)
        body.location = (x, 0.0, 1.3)
        make_soft(body, young=1.5e4, damping=0.3, viscosity=30.0, resolution=13)
        if is_painted:
            # Where it is not painted, as soft as the other one.
            body.supple.young, body.supple.unpainted_young = 1.5e6, 0.01
            body.supple.paint_young = "Head"
    studio(scene, target=(0.0, 0.0, 1.05), distance=6.6, aspect=1.25, size=1.2)


def midpoint_and_runge_kutta(scene: bpy.types.Scene) -> None:
    """A tetrahedron hangs by its tip, with one step a frame: midpoint explodes."""
    body = tetrahedron("Tetrahedron", RASPBERRY, (0.0, 0.0, 1.5))
    make_soft(body, young=1.8e4, poisson=0.3, resolution=1)
    pin(body, [3])
    scene.supple.use_ground, scene.supple.contact = False, "never"
    scene.supple.integrator, scene.supple.substeps = "midpoint", 1
    studio(scene, target=(0.0, 0.0, 1.05), distance=5.4, size=1.3, aside=0.0)


def adaptive_on_and_off(scene: bpy.types.Scene) -> None:
    """Seven midpoint steps a frame are too long once a cube has hit the ground; as many that are
    longer in the air and shorter on the ground are not."""
    body = box("Cube", RASPBERRY, (0.0, 0.0, 1.8), (1.0, 1.0, 1.0), cuts=6)
    body.rotation_euler = [math.radians(angle) for angle in (30.0, 20.0, 0.0)]
    make_soft(body, young=7.5e4, poisson=0.3, resolution=3)
    scene.supple.integrator, scene.supple.contact = "midpoint", "never"
    scene.supple.substeps, scene.supple.step_tolerance = 7, 1e-3
    studio(scene, target=(0.1, 0.0, 0.95), distance=6.2, size=1.3, aside=0.0)


def material_models(scene: bpy.types.Scene) -> None:
    """Columns of four models are twisted, then pressed to half their height."""
    models = (
        ("Linear", "linear", LEMON),
        ("Corotated", "corotated_linear", ORANGE),
        ("St. Venant–Kirchhoff", "st_venant_kirchhoff", RASPBERRY),
        ("Stable Neo-Hookean", "stable_neo_hookean", LIME),
    )
    for index, (name, model, colour) in enumerate(models):
        x = 1.6 * (index - 1.5)
        body = box(name, colour, (x, 0.0, 0.75), (0.7, 0.7, 1.5), cuts=16)
        make_soft(body, young=1e5, poisson=0.3, resolution=14, model=model)
        body.supple.friction = 2.0
        pin(body, [v.index for v in body.data.vertices if v.co.z > 0.68])
        for frame, turn, height in ((1, 0.0, 0.75), (40, 120.0, 0.75), (72, 120.0, 0.1)):
            body.rotation_euler.z, body.location.z = math.radians(turn), height
            body.keyframe_insert("rotation_euler", frame=frame)
            body.keyframe_insert("location", frame=frame)
        label(name, (x, -1.25, 0.1), 0.16)
    scene.supple.integrator, scene.supple.contact = "implicit_euler", "never"
    scene.supple.ground_friction = 2.0
    studio(scene, target=(0.0, 0.0, 0.6), distance=11.6, aspect=2.0, size=1.5, aside=0.0)


def flag(scene: bpy.types.Scene) -> None:
    """A thick flag of jelly hangs on its pole until the wind picks up, flutters, and sinks."""
    body = box("Flag", RASPBERRY, (0.7, 0.0, 1.9), (1.4, 0.1, 0.9), cuts=(28, 2, 18))
    make_soft(body, young=1.5e5, damping=0.3, viscosity=50.0, resolution=18)
    pin(body, [v.index for v in body.data.vertices if v.co.x < -0.65])
    ball("Pole", plain("Stone", (0.55, 0.53, 0.5)), (0.0, 0.0, 1.2), (0.12, 0.12, 2.6))
    bpy.ops.object.effector_add(
        type="WIND", location=(-1.2, 0.0, 1.6), rotation=(0.0, math.radians(80.0), 0.0)
    )
    wind = bpy.context.object
    for frame, strength in ((1, 0.0), (24, 0.0), (36, 14.0), (72, 14.0), (84, 0.0)):
        wind.field.strength = strength
        wind.keyframe_insert("field.strength", frame=frame)
    bpy.ops.object.effector_add(type="TURBULENCE")
    eddies = bpy.context.object
    eddies.field.size = 0.8
    # Eddies drift with the wind.
    for frame, strength, x in ((24, 0.0, 0.0), (36, 40.0, 0.0), (72, 40.0, 6.0), (84, 0.0, 8.0)):
        eddies.field.strength, eddies.location.x = strength, x
        eddies.keyframe_insert("field.strength", frame=frame)
        eddies.keyframe_insert("location", frame=frame)
    studio(scene, target=(0.6, 0.0, 1.3), distance=6.6)


def balloon(scene: bpy.types.Scene) -> None:
    """A rubber balloon on a stand is blown up to six times its volume, and let down again."""
    body = ball("Balloon", jelly("Rubber", RASPBERRY), (0.0, 0.0, 0.98), (0.7, 0.7, 0.86))
    wall = body.modifiers.new("Wall", "SOLIDIFY")
    wall.thickness = 0.07
    make_soft(body, young=1e5, density=300.0, damping=1.0, viscosity=50.0, resolution=14)
    pin(body, [v.index for v in body.data.vertices if v.co.z < -0.38])
    body.supple.use_target_volume = True
    for frame, factor in ((1, 1.0), (8, 1.0), (44, 6.0), (60, 6.0), (84, 1.0)):
        body.supple.target_volume = factor
        body.keyframe_insert("supple.target_volume", frame=frame)
    ball("Stand", plain("Stone", (0.55, 0.53, 0.5)), (0.0, 0.0, 0.28), (0.3, 0.3, 0.6))
    studio(scene, target=(0.0, 0.0, 0.98), distance=5.6)


SAMPLES: dict[str, Sample] = {
    "jelly_drop": Sample(jelly_drop, 60, (1, 10, 12, 13, 14, 15, 16, 18, 20, 23, 32, 60)),
    "suspended_monkey": Sample(suspended_monkey, 96, (1, 8, 14, 20)),
    "falling_tetrahedron": Sample(falling_tetrahedron, 60, (1, 11, 14, 30)),
    "falling_cube": Sample(falling_cube, 60, (1, 11, 14, 24)),
    "ellipsoid_on_sphere": Sample(ellipsoid_on_sphere, 48, (1, 9, 20, 29)),
    "gummy_bear": Sample(gummy_bear, 48, (14, 18), columns=2),
    "midpoint_and_runge_kutta": Sample(midpoint_and_runge_kutta, 72, (1, 14, 45, 67)),
    "adaptive_on_and_off": Sample(adaptive_on_and_off, 54, (1, 15, 27, 53)),
    "material_models": Sample(material_models, 72, (1, 40, 56, 72), columns=2),
    "flag": Sample(flag, 96, (1, 24, 44, 56, 68, 96), columns=3),
    "balloon": Sample(balloon, 96, (1, 20, 30, 44, 68, 96), columns=3),
    **CONTACT_SAMPLES,
    **WALKER_SAMPLES,
    **LIVELY_SAMPLES,
    **CLAY_SAMPLES,
    **TAIL_SAMPLES,
    **THROW_SAMPLES,
    **SLALOM_SAMPLES,
    **KEPT_SAMPLES,
    **MATCHED_SAMPLES,
}
