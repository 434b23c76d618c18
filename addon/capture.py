# SPDX-License-Identifier: GPL-3.0-or-later
"""A Blender scene as the solver wants it: metres, world space, every frame that matters."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ..core.contact_settings import Collider
from ..core.errors import SceneError
from ..core.job import Settings
from ..core.materials import MODELS, Material, StVenantKirchhoff
from ..core.overlap import check_above_ground, check_clear_of
from ..core.scene import Ground, Scene, Skin, SoftBody, Sphere, SurfaceMesh
from .captured import Capture, CapturedObject, CaptureError
from .colliders import capture_colliders
from .integrators import of_bodies, use_tolerance
from .motion import NO_PINS, Matrices, Motion, follow, frame_kept, transform, world_matrix
from .surfaces import (
    PIN_WEIGHT,
    Points,
    Triangles,
    filled_surface,
    group_weights,
    own_shape,
    without_supple,
)
from .units import exact, metres_per_unit

# A matrix whose columns span less than this share of their cube is flat.
FLAT = 1e-9


def capture(context: bpy.types.Context) -> Capture:
    """Reads all soft bodies of the scene at its start frame.

    Raises:
        CaptureError: when something in the scene cannot be simulated.
    """
    scene = context.scene
    objects = soft_bodies(context)
    if not objects:
        raise CaptureError(
            "The scene has no soft body; select a mesh object and press Add Soft Body."
        )
    for obj in objects:
        _check_object(obj)
    frames = frame_range(scene)
    pinned = [_pinned(obj) for obj in objects]
    unit = metres_per_unit(scene)
    with frame_kept(scene), without_supple(objects):
        scene.frame_set(frames[0])
        depsgraph = context.evaluated_depsgraph_get()
        shapes = [_Shape.read(obj, depsgraph, unit) for obj in objects]
        colliders = capture_colliders(context, frames, unit)
        motions = follow(context, objects, pinned, frames)
    bodies = []
    for obj, shape, pins, motion in zip(objects, shapes, pinned, motions, strict=True):
        _check_matrices(obj, motion)
        bodies.append(_soft_body(obj, shape, pins, motion, unit))
    described = _scene(scene, bodies, shapes, colliders, unit)
    captured = [
        CapturedObject(obj.session_uid, obj.name, len(shape.points), motion.matrices, unit)
        for obj, shape, motion in zip(objects, shapes, motions, strict=True)
    ]
    return Capture(described, _settings(scene, objects, frames, unit), captured, frames[0])


def soft_bodies(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The mesh objects of the view layer that are to be simulated, in the order of their names."""
    found = [obj for obj in context.view_layer.objects if is_soft_body(obj)]
    return sorted(found, key=lambda obj: obj.name)


def is_soft_body(obj: bpy.types.Object | None) -> bool:
    return obj is not None and obj.type == "MESH" and obj.supple.enabled


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
class _Shape:
    """One object at the start frame, in metres in the world."""

    points: Points
    vertices: Points
    triangles: Triangles

    @staticmethod
    def read(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, unit: float) -> _Shape:
        local = own_shape(obj, depsgraph)
        vertices, triangles = filled_surface(obj, depsgraph, local)
        _check_shape(obj, local, vertices, triangles)
        matrix = world_matrix(obj, depsgraph)
        _check_scale(obj, matrix)
        if np.linalg.det(matrix[:3, :3]) < 0.0:
            # A mirrored object would be seen from its inside.
            triangles = np.ascontiguousarray(triangles[:, ::-1])
        points = unit * transform(matrix, local)
        return _Shape(points, unit * transform(matrix, vertices), triangles)

    def size(self) -> Points:
        """(3,) extent of the surface along the axes."""
        extent: Points = np.ptp(self.vertices[np.unique(self.triangles)], axis=0)
        return extent


def _soft_body(
    obj: bpy.types.Object, shape: _Shape, pinned: NDArray[np.int32], motion: Motion, unit: float
) -> SoftBody:
    own = obj.supple
    path = motion.pin_path()
    with _naming(obj):
        mesh = SurfaceMesh(
            shape.vertices,
            shape.triangles,
            own.mesh_method,
            float(shape.size().max()) / own.resolution,
        )
        skin = Skin(
            shape.points,
            pinned if len(pinned) else None,
            None if path is None else unit * path,
        )
        return SoftBody(
            mesh,
            _material(own),
            exact(own.density),
            damping=exact(own.damping),
            stiffness_damping=exact(own.stiffness_damping),
            viscosity=exact(own.viscosity),
            skin=skin,
            name=obj.name,
        )


def _material(own: bpy.types.PropertyGroup) -> Material:
    model, young, poisson = MODELS[own.model], exact(own.young), exact(own.poisson)
    if model is StVenantKirchhoff:
        return StVenantKirchhoff(young, poisson, guard=exact(own.guard) * young)
    return model(young, poisson)


def _scene(
    scene: bpy.types.Scene,
    bodies: list[SoftBody],
    shapes: list[_Shape],
    colliders: list[Sphere | Collider],
    unit: float,
) -> Scene:
    own = scene.supple
    ground = None
    spheres = [collider for collider in colliders if isinstance(collider, Sphere)]
    try:
        if own.use_ground:
            ground = Ground(
                unit * exact(own.ground_height),
                exact(own.ground_friction),
                exact(own.ground_restitution),
                own.ground_response,
                penalty=exact(own.ground_penalty),
            )
        for body, shape in zip(bodies, shapes, strict=True):
            if ground is not None:
                check_above_ground(body.name, shape.vertices, ground)
            check_clear_of(body.name, shape.vertices, shape.triangles, spheres)
        x, y, z = (unit * exact(part) if scene.use_gravity else 0.0 for part in scene.gravity)
        return Scene(bodies, ground, (x, y, z), colliders)
    except SceneError as error:
        raise CaptureError(str(error)) from error


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


def _pinned(obj: bpy.types.Object) -> NDArray[np.int32]:
    name = obj.supple.pin_group
    if not name:
        return NO_PINS
    group = obj.vertex_groups.get(name)
    if group is None:
        raise CaptureError(
            f"{obj.name} has no vertex group {name!r} to pin; choose another pin group."
        )
    pinned = np.flatnonzero(group_weights(obj, group) > PIN_WEIGHT).astype(np.int32)
    if len(pinned) == 0:
        raise CaptureError(
            f"{obj.name}: no vertex has a weight above {PIN_WEIGHT} in the pin group {name!r}; "
            "paint some, or clear the pin group."
        )
    if len(pinned) == len(obj.data.vertices):
        raise CaptureError(
            f"{obj.name}: every vertex is pinned by the group {name!r}, so nothing can move; "
            "pin fewer."
        )
    return pinned


# What cannot be simulated


@contextmanager
def _naming(obj: bpy.types.Object) -> Iterator[None]:
    """Errors of the core, beginning with the object's name."""
    try:
        yield
    except SceneError as error:
        text = str(error)
        named = text if text.startswith(obj.name) else f"{obj.name}: {text}"
        raise CaptureError(named) from error


def _check_object(obj: bpy.types.Object) -> None:
    if obj.mode == "EDIT":
        raise CaptureError(f"{obj.name} is being edited; go back to Object Mode.")
    if not obj.visible_get():
        raise CaptureError(
            f"{obj.name} is hidden, and Blender does not work out hidden objects; show it, or "
            "remove its soft body."
        )


def _check_shape(
    obj: bpy.types.Object, points: Points, vertices: Points, triangles: Triangles
) -> None:
    for positions, where in ((points, "vertex"), (vertices, "after its modifiers, vertex")):
        broken = ~np.isfinite(positions).all(axis=1)
        if broken.any():
            raise CaptureError(
                f"{obj.name}: {where} {int(broken.argmax())} is not at a finite position; move "
                "or delete it."
            )
    if len(triangles) == 0:
        raise CaptureError(f"{obj.name} has no faces; a soft body needs a surface to fill.")


def _check_scale(obj: bpy.types.Object, matrix: Matrices) -> None:
    axes = matrix[:3, :3]
    if not np.isfinite(matrix).all():
        raise CaptureError(f"{obj.name} is not at a finite place; check its transform.")
    if abs(np.linalg.det(axes)) <= FLAT * np.linalg.norm(axes) ** 3:
        raise CaptureError(f"{obj.name} has a scale of zero; give it some size on every axis.")


def _check_matrices(obj: bpy.types.Object, motion: Motion) -> None:
    for matrix in motion.matrices:
        _check_scale(obj, matrix)
