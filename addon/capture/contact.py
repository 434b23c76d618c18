# SPDX-License-Identifier: GPL-3.0-or-later
"""Contact settings of the bodies of a Blender scene."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SceneError
from ...core.geometry.triangles import without_unreferenced
from ...core.scene.contact_settings import Contact, ContactSurface
from ...core.scene.integrator_table import INTEGRATORS
from ...core.scene.soft_body import SoftBody
from ..units import exact_float
from .body import Shape
from .captured import CaptureError
from .colliders import decimated

ALWAYS, NEVER = "always", "never"

Objects = Sequence[bpy.types.Object]


def is_possible(scene: bpy.types.Scene) -> bool:
    """Whether the settings let soft bodies touch each other and meshes; colliders are spheres
    where they do not."""
    props = scene.supple
    return props.contact != NEVER and INTEGRATORS[props.integrator].supports_contact


def is_wanted(scene: bpy.types.Scene, bodies: Objects, colliders: Objects) -> bool:
    """Whether soft bodies get contact, if it is possible. A body alone only touches itself, and
    does without where it cannot, unless it always should."""
    if not is_possible(scene):
        return False
    if len(bodies) > 1 or colliders or scene.supple.contact == ALWAYS:
        return True
    props = scene.supple
    is_bouncy = props.use_ground and props.ground_response == "projection"
    can_self_collide = props.self_contact and not all(body.supple.jiggle_group for body in bodies)
    return can_self_collide and not is_bouncy


def check_integrator(scene: bpy.types.Scene, objects: Objects) -> None:
    """Refuse bodies that should touch each other and cannot.

    Raises:
        CaptureError: with the cure.
    """
    choice, integrator = scene.supple.contact, scene.supple.integrator
    if choice == NEVER or (len(objects) == 1 and choice != ALWAYS):
        return
    if not INTEGRATORS[integrator].supports_contact:
        raise CaptureError(
            f"{INTEGRATORS[integrator].label} does not support contact between soft bodies. "
            "Choose Automatic or Implicit Euler, or set Contact to Never."
        )


def check_spheres(scene: bpy.types.Scene, colliders: Objects) -> None:
    """Refuses implicit steps with the spheres that stand for colliders where nothing touches.

    Raises:
        CaptureError: with the cure.
    """
    name = scene.supple.integrator
    if colliders and INTEGRATORS[name].is_implicit:
        raise CaptureError(
            f"{colliders[0].name} is a collider, and {INTEGRATORS[name].label} needs contact "
            "for it. Set Contact to Automatic, or untick Collider."
        )


def capture_contact(
    scene: bpy.types.Scene, bodies: Objects, colliders: Objects, unit: float
) -> Contact:
    """The contact settings of a scene.

    Args:
        bodies: its soft bodies.
        colliders: its colliders.
        unit: metres of the scene's unit.

    Raises:
        CaptureError: when they make no sense.
    """
    props = scene.supple
    try:
        return Contact(
            distance=unit * exact_float(props.contact_distance) or None,
            formulation=props.contact_formulation,
            friction_updates=props.friction_updates or None,
            self_contact=props.self_contact,
            spares_crossing=len(bodies) == 1 and props.contact != ALWAYS,
            passing=_passing(bodies, colliders),
        )
    except SceneError as error:
        raise CaptureError(str(error)) from error


def _passing(bodies: Objects, colliders: Objects) -> NDArray[np.int32] | None:
    """(P, 2) numbers of objects that do not touch by their collections; None without such pairs."""
    objects = [*bodies, *colliders]
    touched = [
        None if obj.supple.touches is None else set(obj.supple.touches.all_objects)
        for obj in objects
    ]
    if not any(each is not None for each in touched):
        return None
    pairs = [
        (first, second)
        for first in range(len(bodies))
        for second in range(first + 1, len(objects))
        if not (
            _allows(touched[first], objects[second]) and _allows(touched[second], objects[first])
        )
    ]
    return np.array(pairs, dtype=np.int32) if pairs else None


def _allows(touched: set[bpy.types.Object] | None, other: bpy.types.Object) -> bool:
    return touched is None or other in touched


def colliding_body(obj: bpy.types.Object, shape: Shape, body: SoftBody) -> SoftBody:
    """Return a body with the surface that collides.

    Raises:
        CaptureError: when nothing is left of that.
    """
    return replace(body, contact_surface=_surface(obj, shape))


def _surface(obj: bpy.types.Object, shape: Shape) -> ContactSurface | None:
    """The surface that the user chose to collide; None where the choice is automatic."""
    props = obj.supple
    if props.contact_surface != "mesh" or exact_float(props.contact_detail) == 1.0:
        return None
    vertices, faces = decimated(shape.vertices, shape.triangles, exact_float(props.contact_detail))
    if len(faces) == 0:
        raise CaptureError(f"{obj.name}: Decimate Ratio leaves no faces to collide with. Raise it.")
    # Nothing can touch a loose point.
    return ContactSurface(*without_unreferenced(vertices, faces))
