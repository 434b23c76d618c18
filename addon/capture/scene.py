# SPDX-License-Identifier: GPL-3.0-or-later
"""A Blender scene as the solver wants it: metres, world space, every frame that matters."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import bpy

from ...core.errors import SceneError
from ...core.job import Settings
from ...core.preparation.overlap import check_surfaces
from ...core.scene.channel import Channel
from ...core.scene.contact_settings import Attachment, Collider, Sphere
from ...core.scene.forces import Absorber, Force, ForceField
from ...core.scene.integrator_table import INTEGRATORS
from ...core.scene.paint import Paint
from ...core.scene.rest_shape import RestShape, TetRestShape
from ...core.scene.scene import Scene
from ...core.scene.soft_body import SoftBody
from ...core.scene.stitches import Stitches
from .. import driving
from ..units import animation_frames, exact_float, frame_time, metres_per_unit
from . import contact, fingerprint
from .attachments import read_attachments
from .body import Shape, check_object, check_pins, read_shape, soft_body
from .captured import Capture, CapturedObject, CaptureError
from .colliders import MeshCollider, SphereCollider
from .control import kept_control
from .force_fields import AbsorberRecording, FieldRecording, absorbers, acting_fields
from .motion import Matrices, Motion, MotionRecording, keyed_settings, preserved_frame, record
from .objects import left_out, shown_colliders, soft_bodies
from .paint import capture_paint
from .pins import Pins
from .rest_shape import RestShapeRecording, basis_shown, has_shape_keys, kept_shape
from .start_velocity import StartVelocity, centre_of_volume, earlier_matrices, start_velocity
from .surfaces import without_supple
from .surroundings import (
    checked_time_scale,
    gravity_recording,
    ground,
    scene_forces,
    time_scale_recording,
)


def capture(context: bpy.types.Context, order: Sequence[str] = ()) -> Capture:
    """Read all soft bodies of the scene at its start frame, and all motion until its end.

    Args:
        order: names of objects that come first, in this order.

    Raises:
        CaptureError: when something in the scene cannot be simulated.
    """
    scene, objects = context.scene, soft_bodies(context)
    if not objects:
        none = "The scene has no soft body. Select a mesh object and press Add Soft Body."
        raise CaptureError(" ".join(left_out(context)) or none)
    for obj in objects:
        check_object(obj)
    contact.check_integrator(scene, objects)
    frames = simulated_range(scene)
    # A script may have moved them just now.
    context.view_layer.update()
    fingerprint.forget()
    prints = {obj: fingerprint.as_text(fingerprint.body_fingerprint(obj)) for obj in objects}
    # Sorted by content, so that names do not change frames.
    objects.sort(key=prints.__getitem__)
    objects.sort(key=partial(_place, order))
    read = _Reading.of(context, objects, frames, order)
    captured = [
        CapturedObject(
            *(obj.session_uid, obj.name, len(shape.points), motion.matrices, read.unit),
            prints[obj],
            tuple(each.visible_in for each in shape.refined),
            any(each.is_of_rest for each in shape.refined),
        )
        for obj, shape, motion in zip(objects, read.shapes, read.motions, strict=True)
    ]
    settings = _settings(scene, frames, read.unit)
    scene_print = fingerprint.as_text(fingerprint.scene_fingerprint(scene))
    return Capture(_scene(scene, read), settings, captured, frames[0], scene_print)


def played_range(scene: bpy.types.Scene) -> range:
    """Frames of the timeline from the first that is shown to the last.

    Raises:
        CaptureError: when the last does not come after the first.
    """
    props = scene.supple
    first, last = (
        (scene.frame_start, scene.frame_end)
        if props.use_scene_range
        else (props.frame_start, props.frame_end)
    )
    if last <= first:
        raise CaptureError(
            f"The end frame {last} does not come after the start frame {first}. Change the "
            "frame range."
        )
    return range(first, last + 1)


def frame_range(scene: bpy.types.Scene) -> range:
    """The frames of the animation that ``played_range`` shows, with its errors."""
    return animation_frames(scene, played_range(scene))


def simulated_range(scene: bpy.types.Scene) -> range:
    """The range of simulated frames, with the pre-roll; raises errors as ``played_range`` does."""
    shown = frame_range(scene)
    return range(shown.start - scene.supple.pre_roll, shown.stop)


@dataclass(frozen=True)
class _Reading:
    """The data read from a scene. Lists are parallel to ``objects``, except for colliders."""

    objects: list[bpy.types.Object]
    pins: list[Pins]
    collider_objects: list[bpy.types.Object]
    shapes: list[Shape]
    paints: list[list[Paint]]
    motions: list[Motion]
    keyed: list[dict[str, Channel]]
    starts: list[StartVelocity]
    rest_shapes: list[RestShape | TetRestShape | None]
    gravity: Channel
    time_scale: Channel
    colliders: list[Sphere | Collider]
    attachments: list[Attachment | Stitches]
    fields: list[ForceField]
    absorbers: list[Absorber]
    unit: float

    @staticmethod
    def of(
        context: bpy.types.Context,
        objects: list[bpy.types.Object],
        frames: range,
        order: Sequence[str],
    ) -> _Reading:
        scene, (collider_objects, acting, shading) = context.scene, _other_objects(context)
        collider_objects.sort(key=partial(_place, order))
        unit, touching = metres_per_unit(scene), contact.is_possible(scene)
        if not touching:
            contact.check_spheres(scene, collider_objects)
        attachments = read_attachments(objects, collider_objects, touching)
        pins = [Pins.read(obj) for obj in objects]
        with preserved_frame(scene), without_supple(objects), basis_shown(objects):
            earlier = earlier_matrices(context, objects, frames[0])
            scene.frame_set(frames[0])
            shapes = [_shape(context, *each, unit) for each in zip(objects, pins, strict=True)]
            depsgraph = context.evaluated_depsgraph_get()
            paints = [capture_paint(obj, depsgraph) for obj in objects]
            recorded = [
                MotionRecording(obj, pinned.vertices, scene.supple.motion_samples)
                for obj, pinned in zip(objects, pins, strict=True)
            ]
            keyed = [keyed_settings(obj) for obj in objects]
            resting = [RestShapeRecording(obj) if has_shape_keys(obj) else None for obj in objects]
            kind = MeshCollider if touching else SphereCollider
            colliders = [kind(obj, depsgraph, unit) for obj in collider_objects]
            weight, pace = gravity_recording(scene), time_scale_recording(scene)
            fields = [FieldRecording(obj, unit) for obj in acting]
            absorbing = [AbsorberRecording(obj, depsgraph, unit) for obj in shading]
            recordings = [
                weight,
                pace,
                *(each for motion in recorded for each in motion.recordings),
            ]
            recordings += [each for absorber in absorbing for each in absorber.recordings]
            recordings += [each for field in fields for each in field.recordings]
            recordings += [each for settings in keyed for each in settings.values()]
            recordings += [each for row in attachments for each in row.keyed.values()]
            recordings += [each.recording for each in (*colliders, *filter(None, resting))]
            with driving.without_refiners(objects):
                record(context, recordings, frames)
        time_scale = checked_time_scale(pace.channel(), frames)
        first_frame_time = frame_time(scene) * float(time_scale.at(0))
        motions = [motion.motion() for motion in recorded]
        return _Reading(
            objects=objects,
            pins=pins,
            collider_objects=collider_objects,
            shapes=shapes,
            paints=paints,
            motions=motions,
            keyed=[{name: each.channel() for name, each in row.items()} for row in keyed],
            starts=[
                _start(obj, shape, motion, earlier, unit, first_frame_time)
                for obj, shape, motion in zip(objects, shapes, motions, strict=True)
            ],
            rest_shapes=[
                _rest_shape(*each, unit) for each in zip(objects, resting, motions, strict=True)
            ],
            gravity=weight.channel(),
            time_scale=time_scale,
            colliders=[collider.described() for collider in colliders],
            attachments=[row.described() for row in attachments],
            fields=[field.described() for field in fields],
            absorbers=[absorber.described() for absorber in absorbing],
            unit=unit,
        )

    def bodies(self, scene: bpy.types.Scene) -> list[SoftBody]:
        lists = self.objects, self.shapes, self.paints, self.pins, self.motions, self.keyed
        each = zip(*lists, self.starts, self.rest_shapes, strict=True)
        bodies = [
            replace(
                soft_body(
                    *arguments, unit=self.unit, resolution_scale=scene.supple.resolution_scale
                ),
                tet_control=kept_control(obj, motion.matrices.at(0), self.unit),
            )
            for obj, motion, arguments in zip(self.objects, self.motions, each, strict=True)
        ]
        # ``reports/ignored`` reports the features that are left out here.
        return [_supported(body, scene.supple.integrator) for body in bodies]


def _place(order: Sequence[str], obj: bpy.types.Object) -> int:
    """The place of an object in an order; the last one for all that it does not name."""
    return order.index(obj.name) if obj.name in order else len(order)


def _other_objects(context: bpy.types.Context) -> Iterator[list[bpy.types.Object]]:
    """Yield the colliders, the force fields and the absorbers, each in the order of the bodies."""
    others = {
        "collider": shown_colliders(context),
        "force field": acting_fields(context),
        "absorber": absorbers(context),
    }
    for kind, objects in others.items():
        yield sorted(objects, key=partial(fingerprint.object_fingerprint, kind))


def _supported(body: SoftBody, integrator: str) -> SoftBody:
    """A body without the features that an integrator does not support."""
    if not INTEGRATORS[integrator].supports_viscosity:
        body = replace(body, loss_factor=0.0, stiffness_damping=0.0, viscosity=0.0)
    if INTEGRATORS[integrator].supports_plasticity:
        return body
    # Neither do its tets get other rest shapes.
    skin = body.skin
    if skin is not None and skin.goals is not None:
        skin = replace(skin, goals=replace(skin.goals, sag_free=False, falloff_depth=None))
    return replace(body, plasticity=None, skin=skin)


def _scene(scene: bpy.types.Scene, read: _Reading) -> Scene:
    unit, bodies = read.unit, read.bodies(scene)
    touching = None
    if contact.is_wanted(scene, read.objects, read.collider_objects):
        touching = contact.capture_contact(scene, read.objects, read.collider_objects, unit)
        each = zip(read.objects, read.shapes, bodies, strict=True)
        bodies = [contact.colliding_body(*arguments) for arguments in each]
    try:
        attachments = [each for each in read.attachments if isinstance(each, Attachment)]
        stitches = [each for each in read.attachments if isinstance(each, Stitches)]
        forces: list[Force] = [*read.fields, *stitches, *scene_forces(scene, unit)]
        described = Scene(
            bodies,
            ground(scene, unit),
            *(read.gravity, read.colliders, touching, attachments, forces),
            time_scale=read.time_scale,
            absorbers=read.absorbers,
        )
        # The worker does so, too; here it is reported before one is started.
        check_surfaces(described)
        return described
    except SceneError as error:
        raise CaptureError(str(error)) from error


def _shape(context: bpy.types.Context, obj: bpy.types.Object, pins: Pins, unit: float) -> Shape:
    """The shape of a body at the start, with its pins checked."""
    shape = read_shape(context, obj, unit)
    check_pins(context, obj, pins, shape, unit)
    return shape


def _start(
    obj: bpy.types.Object,
    shape: Shape,
    motion: Motion,
    earlier: dict[str, list[Matrices]],
    unit: float,
    first_frame_time: float,
) -> StartVelocity:
    centre, start = centre_of_volume(shape.vertices, shape.triangles), motion.matrices.at(0)
    matrices = earlier.get(obj.name, [])
    return start_velocity(obj, centre, start, matrices, unit, first_frame_time)


def _rest_shape(
    obj: bpy.types.Object, recording: RestShapeRecording | None, motion: Motion, unit: float
) -> RestShape | TetRestShape | None:
    start = motion.matrices.at(0)
    return recording.described(start, unit) if recording else kept_shape(obj, start, unit)


def _settings(scene: bpy.types.Scene, frames: range, unit: float) -> Settings:
    props = scene.supple
    return Settings(
        frame_count=len(frames) - 1,
        frame_time=frame_time(scene),
        substeps=props.substeps or None,
        device=props.device,
        integrator=props.integrator,
        # A tolerance that has no effect is left out: a run is known by its settings.
        step_tolerance=unit * exact_float(props.step_tolerance)
        if INTEGRATORS[props.integrator].is_adaptive
        else Settings.step_tolerance,
        results=tuple(props.results),
        pre_roll=props.pre_roll,
    )
