# SPDX-License-Identifier: GPL-3.0-or-later
"""What the steps that bodies are taken in do without."""

from __future__ import annotations

from collections.abc import Iterator

import bpy

from ..capture import contact, integrators
from ..capture.objects import shown_colliders


def messages(context: bpy.types.Context, bodies: list[bpy.types.Object]) -> Iterator[str]:
    """One for each setting of these soft bodies and of their scene, with its cure."""
    scene = context.scene
    taken = integrators.of_bodies(bodies, scene)
    for obj, name in zip(bodies, taken, strict=True):
        yield from _of_body(obj.supple, name)
    names = " and ".join(dict.fromkeys(map(integrators.label, taken)))
    if scene.supple.substeps and all(integrators.use_tolerance([name]) for name in taken):
        yield (
            f"{scene.name}: Substeps is ignored, since the Tolerance says how long the steps of "
            f"{names} are. Set it to 0, or choose another integrator."
        )
    if reason := _why_through_itself(context, bodies):
        yield f"{bodies[0].name}: it goes through itself, since {reason}"
    if not contact.is_possible(scene, bodies):
        return
    if scene.supple.friction_updates and not any(map(integrators.may_be_implicit, taken)):
        yield (
            f"{scene.name}: Friction Passes is ignored, since the steps of {names} work out "
            "friction once. Set it to 0, or choose Automatic or Implicit Euler."
        )


def _of_body(props: bpy.types.PropertyGroup, taken: str) -> Iterator[str]:
    name, label = props.id_data.name, integrators.label(taken)
    if not integrators.supports_viscosity(taken) and (props.stiffness_damping or props.viscosity):
        yield (
            f"{name}: {label} ignores Stiffness Damping and Viscosity. Set both to 0, or choose "
            "another integrator."
        )
    if integrators.supports_plasticity(taken):
        return
    if props.jiggle_group:
        yield (
            f"{name}: {label} lets what jiggles sag, keeps the shape of the start, and holds no "
            "core. Choose another integrator."
        )
    if props.use_plasticity:
        yield f"{name}: {label} ignores Plasticity. Switch it off, or choose another integrator."


def _why_through_itself(context: bpy.types.Context, bodies: list[bpy.types.Object]) -> str:
    """What keeps a body alone from touching itself, which it should, and the cure."""
    scene, props = context.scene, context.scene.supple
    is_off = props.contact == contact.NEVER or not props.self_contact
    if is_off or len(bodies) > 1 or bodies[0].supple.jiggle_group:
        return ""
    if not contact.is_possible(scene, bodies):
        (taken,) = integrators.of_bodies(bodies, scene)
        return (
            f"{integrators.label(taken)} lets it touch the ground and spheres alone. Choose "
            "Automatic or Implicit Euler, or set Contact to Never."
        )
    is_bouncy = props.use_ground and props.ground_response == "projection"
    if is_bouncy and not contact.is_wanted(scene, bodies, shown_colliders(context)):
        return (
            "nothing but the ground touches on one whose Response is Bouncy. Choose Smooth, or "
            "untick Self Contact."
        )
    return ""
