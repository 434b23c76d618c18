# SPDX-License-Identifier: GPL-3.0-or-later
"""A Blender scene as the solver wants it: metres, world space, every frame that matters."""

from __future__ import annotations

from dataclasses import dataclass, replace

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SceneError
from ...core.job import Settings
from ...core.preparation.overlap import check_surfaces
from ...core.scene.channel import Channel
from ...core.scene.contact_settings import Attachment, Collider
from ...core.scene.ground import Ground, Sphere
from ...core.scene.scene import Scene, SoftBody
from ..animated import has_animated_gravity
from ..units import exact, gravity, metres_per_unit
from . import changes, contact
from .attachments import capture_attachments
from .body import Shape, check_object, pinned_vertices, soft_body
from .captured import Capture, CapturedObject, CaptureError
from .friction import coefficients
from .integrators import of_bodies, supports_viscosity, use_tolerance
from .mesh_colliders import MeshCollider
from .motion import Motion, MotionRecording, Recording, frame_kept, record
from .objects import shown_colliders, soft_bodies
from .sphere_colliders import SphereCollider
from .surfaces import without_supple


def capture(context: bpy.types.Context) -> Capture:
    """Reads all soft bodies of the scene at its start frame, and what moves until its end.

    Raises:
        CaptureError: when something in the scene cannot be simulated.
    """
    scene, objects = context.scene, soft_bodies(context)
    if not objects:
        raise CaptureError(
            "The scene has no soft body; select a mesh object and press Add Soft Body."
        )
    for obj in objects:
        check_object(obj)
    contact.check_integrators(scene, objects)
    frames = frame_range(scene)
    read = _Reading.of(context, objects, frames)
    changes.forget_meshes()
    captured = [
        CapturedObject(
            *(obj.session_uid, obj.name, len(shape.points), motion.matrices, read.unit),
            changes.body_marks(obj),
        )
        for obj, shape, motion in zip(objects, read.shapes, read.motions, strict=True)
    ]
    settings = _settings(scene, objects, frames, read.unit)
    mark = changes.scene_mark(scene)
    return Capture(_scene(scene, read), settings, captured, frames[0], mark)


def frame_range(scene: bpy.types.Scene) -> range:
    """Frames from the one that shows the start to the last.

    Raises:
        CaptureError: when the last does not come after the first.
    """
    own = scene.supple
    first, last = (
        (scene.frame_start, scene.frame_end)
        if own.use_scene_range
        else (own.frame_start, own.frame_end)
    )
    if last <= first:
        raise CaptureError(
            f"The end frame {last} does not come after the start frame {first}; "
            "change the frame range."
        )
    return range(first, last + 1)


@dataclass(frozen=True)
class _Reading:
    """What was read of a scene. Lists go with ``objects``, but for what they land on."""

    objects: list[bpy.types.Object]
    pinned: list[NDArray[np.int32]]
    landed_on: list[bpy.types.Object]
    shapes: list[Shape]
    motions: list[Motion]
    gravity: Channel
    colliders: list[Sphere | Collider]
    attachments: list[Attachment]
    unit: float

    @staticmethod
    def of(context: bpy.types.Context, objects: list[bpy.types.Object], frames: range) -> _Reading:
        scene, landed_on = context.scene, shown_colliders(context)
        unit, touching = metres_per_unit(scene), contact.is_possible(scene, objects)
        if landed_on and not touching:
            contact.check_spheres(scene, objects, landed_on[0])
        attachments = capture_attachments(objects, landed_on, touching)
        pinned = [pinned_vertices(obj) for obj in objects]
        with frame_kept(scene), without_supple(objects):
            scene.frame_set(frames[0])
            depsgraph = context.evaluated_depsgraph_get()
            shapes = [Shape.read(obj, depsgraph, unit) for obj in objects]
            leads = [MotionRecording(*both) for both in zip(objects, pinned, strict=True)]
            kind = MeshCollider if touching else SphereCollider
            seen = [kind(obj, depsgraph, unit) for obj in landed_on]
            weight = Recording(
                lambda now: np.array(gravity(now.scene_eval)), has_animated_gravity(scene)
            )
            recordings = [recording for lead in leads for recording in lead.recordings]
            record(context, [weight, *recordings, *(each.recording for each in seen)], frames)
        motions = [lead.motion() for lead in leads]
        colliders = [each.described() for each in seen]
        acting = weight.channel()
        return _Reading(
            *(objects, pinned, landed_on, shapes, motions, acting, colliders, attachments, unit)
        )

    def bodies(self, scene: bpy.types.Scene) -> list[SoftBody]:
        each = zip(self.objects, self.shapes, self.pinned, self.motions, strict=True)
        bodies = [soft_body(*of_one, self.unit) for of_one in each]
        # What is left out here is said by ``ignored``.
        return [
            body
            if supports_viscosity(taken)
            else replace(body, stiffness_damping=0.0, viscosity=0.0)
            for body, taken in zip(bodies, of_bodies(self.objects, scene), strict=True)
        ]


def _scene(scene: bpy.types.Scene, read: _Reading) -> Scene:
    own, unit, bodies = scene.supple, read.unit, read.bodies(scene)
    touching = None
    if contact.is_wanted(scene, read.objects, read.landed_on):
        touching = contact.capture_contact(scene, read.objects, unit)
        each = zip(read.objects, read.shapes, bodies, strict=True)
        bodies = [contact.touching_body(*of_one) for of_one in each]
    try:
        ground = _ground(scene, unit) if own.use_ground else None
        described = Scene(bodies, ground, read.gravity, read.colliders, touching, read.attachments)
        # The worker does so, too; from here it is said before one is started.
        check_surfaces(described)
        return described
    except SceneError as error:
        raise CaptureError(str(error)) from error


def _ground(scene: bpy.types.Scene, unit: float) -> Ground:
    own = scene.supple
    friction, kinetic = coefficients(own, "ground_")
    return Ground(
        unit * exact(own.ground_height),
        friction,
        exact(own.ground_restitution),
        own.ground_response,
        penalty=exact(own.ground_penalty),
        kinetic_friction=kinetic,
    )


def _settings(
    scene: bpy.types.Scene, objects: list[bpy.types.Object], frames: range, unit: float
) -> Settings:
    own = scene.supple
    taken = of_bodies(objects, scene)
    # What no body takes is left out: a run is known by its settings.
    differ = len(set(taken)) > 1
    adaptive = use_tolerance(taken)
    return Settings(
        frame_count=len(frames) - 1,
        frame_time=exact(scene.render.fps_base) / scene.render.fps,
        substeps=own.substeps or None,
        device=own.device,
        dtype=own.precision,
        integrator=own.integrator if differ else taken[0],
        body_integrators=taken if differ else (),
        step_tolerance=unit * exact(own.step_tolerance) if adaptive else Settings.step_tolerance,
    )
