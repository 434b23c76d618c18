# SPDX-License-Identifier: GPL-3.0-or-later
"""Mesh objects as soft bodies: their shape at rest and at the start, their settings, their pins."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import bpy
import numpy as np
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from ...core.errors import JobError, SceneError
from ...core.geometry.winding_number import winding_number
from ...core.job import Job
from ...core.job.run_start import run_start
from ...core.materials import MODELS, Material, StVenantKirchhoff
from ...core.scene.channel import Channel
from ...core.scene.paint import Paint
from ...core.scene.rest_shape import Plasticity, RestShape, TetRestShape
from ...core.scene.skin import Skin, SurfaceMesh
from ...core.scene.soft_body import SoftBody
from ...core.scene.start import PosedStart, RunStart
from ...core.scene.stitches import Release
from .. import driving, start_runs
from ..driving import keeps_vertices
from ..settings import captured
from ..settings.object import OBJECT
from ..units import exact_float
from .attachments import captured_release
from .captured import CaptureError
from .motion import Matrices, Motion, transform, world_matrix
from .pins import Pins
from .refined import Refined, refined
from .rest_shape import has_shape_keys
from .start_velocity import StartVelocity
from .surfaces import Points, Triangles, driven_coordinates, surface_to_fill
from .surroundings import coefficients

# A matrix whose columns span less than this part of their cube is flat.
FLAT_VOLUME_RATIO = 1e-9


@dataclass(frozen=True)
class Shape:
    """One object at rest, in metres in the world.

    Args:
        points: (V, 3) of its own mesh.
        vertices, triangles: of the surface that is filled.
        longest_side: of that surface, along the object's own axes, however it is turned.
        axes: (3, 3) the object's own in the world, one a column; they mirror where it is mirrored.
        refined: the meshes that are shown in place of its own vertices.
        start: the shape it starts in; None where that is this one.
    """

    points: Points
    vertices: Points
    triangles: Triangles
    longest_side: float
    axes: NDArray[np.float64]
    refined: tuple[Refined, ...] = ()
    start: PosedStart | RunStart | None = None

    @staticmethod
    def read(context: bpy.types.Context, obj: bpy.types.Object, unit: float) -> Shape:
        """Read the object as driven and bent at the present frame."""
        with driving.without_refiners([obj]):
            local = driven_coordinates(obj, context.evaluated_depsgraph_get())
        depsgraph = context.evaluated_depsgraph_get()
        vertices, triangles = surface_to_fill(obj, depsgraph, local)
        _check_shape(obj, local, vertices, triangles)
        matrix = world_matrix(obj, depsgraph)
        _check_scale(obj, matrix)
        if np.linalg.det(matrix[:3, :3]) < 0.0:
            # A mirrored object would be seen from its inside.
            triangles = np.ascontiguousarray(triangles[:, ::-1])

        def placed(points: Points) -> Points:
            return unit * transform(matrix, points)

        seen = [replace(each, points=placed(each.points)) for each in refined(obj, local, vertices)]
        extent = np.ptp(vertices[np.unique(triangles)], axis=0)
        longest_side = unit * float((extent * np.linalg.norm(matrix[:3, :3], axis=0)).max())
        axes = _axes(matrix)
        return Shape(placed(local), placed(vertices), triangles, longest_side, axes, tuple(seen))


def soft_body(
    obj: bpy.types.Object,
    shape: Shape,
    paint: list[Paint],
    pins: Pins,
    motion: Motion,
    keyed: dict[str, Channel],
    start: StartVelocity,
    rest_shape: RestShape | TetRestShape | None,
    *,
    unit: float,
    resolution_scale: float,
) -> SoftBody:
    """Make the body for the solver, without the surface that collides.

    Args:
        keyed: the settings that can be keyed at each frame, by name.
        start: its velocity and spin there.
        rest_shape: of its own vertices, or of its tetrahedra; None is as modelled.
        unit: metres in a Blender unit.
        resolution_scale: of the scene, in percent.

    Raises:
        CaptureError: when it cannot be simulated.
    """
    _check_matrices(obj, motion)
    props, young = obj.supple, keyed["young"]
    friction, kinetic = coefficients(props)
    # Jiggling bodies move with their animation from the start.
    thrown = StartVelocity.none() if pins.sag_free and props.start_from_animation else start
    with _naming(obj):
        return SoftBody(
            _surface(shape, paint, props, exact_float(resolution_scale)),
            _material(props, float(young.at(0))),
            velocity=_vector(thrown.linear),
            skin=_skin(shape, pins, motion, rest_shape, unit),
            friction=friction,
            kinetic_friction=kinetic,
            field_weight=None if props.field_weight == 1.0 else exact_float(props.field_weight),
            name=obj.name,
            plasticity=_plasticity(props),
            stiffness=_factors(obj, young),
            pressure=keyed["pressure"],
            drag=keyed["drag"],
            target_volume=keyed["target_volume"] if props.use_target_volume else None,
            angular_velocity=_vector(thrown.angular),
            release=_release(obj, keyed["pinned"]),
            start=shape.start,
            tet_rest_shape=rest_shape if isinstance(rest_shape, TetRestShape) else None,
            # Its animation decides where its parts go through each other.
            self_contact=not pins.sag_free,
            starts_settled=props.start_settled and shape.start is None,
            **captured(OBJECT, props),
        )


def _surface(
    shape: Shape, paint: list[Paint], props: bpy.types.PropertyGroup, scale: float
) -> SurfaceMesh:
    cells = max(1.0, 0.01 * scale * props.resolution)
    edge_length = shape.longest_side / cells
    return SurfaceMesh(
        shape.vertices, shape.triangles, props.mesh_method, edge_length, paint, shape.axes
    )


def _axes(matrix: Matrices) -> NDArray[np.float64]:
    """Return the (3, 3) orthogonal matrix nearest to the object's, which mirrors where the object
    does."""
    u, _, vh = np.linalg.svd(matrix[:3, :3])
    return u @ vh


def _skin(
    shape: Shape,
    pins: Pins,
    motion: Motion,
    rest_shape: RestShape | TetRestShape | None,
    unit: float,
) -> Skin:
    path = pins.pin_path(motion, unit, is_placed=shape.start is not None)
    goals = pins.goals(motion, unit)
    skin_shape = rest_shape if isinstance(rest_shape, RestShape) else None
    seen = [Skin(each.points) for each in shape.refined]
    return Skin(shape.points, pins.pinned(), path, goals=goals, rest_shape=skin_shape, refined=seen)


def _release(obj: bpy.types.Object, pinned: Channel) -> Release | None:
    if not obj.supple.pin_group:
        return None
    return captured_release(f"{obj.name}, its pins", pinned, obj.supple.pin_force)


def _vector(values: NDArray[np.float64]) -> tuple[float, float, float]:
    x, y, z = values.tolist()
    return x, y, z


def _factors(obj: bpy.types.Object, young: Channel) -> Channel | None:
    """Return the ratio of the stiffness at each frame to that at the start; None if it is
    constant."""
    low = np.flatnonzero(young.samples <= 0.0)
    if len(low):
        raise CaptureError(
            f"{obj.name}: Stiffness must be above 0 Pa, and is {young.samples[low[0]]:g}"
            + (f" {low[0]} frames after the start" if low[0] else "")
            + "; jelly has about 5e3, rubber 1e6."
        )
    return None if young.is_constant else Channel(young.samples / young.samples[0])


def _material(props: bpy.types.PropertyGroup, young: float) -> Material:
    model, poisson = MODELS[props.model], exact_float(props.poisson)
    if model is StVenantKirchhoff:
        resistance = exact_float(props.guard) * young
        return StVenantKirchhoff(young, poisson, compression_resistance=resistance)
    return model(young, poisson)


def _plasticity(props: bpy.types.PropertyGroup) -> Plasticity | None:
    if not props.use_plasticity:
        return None
    return Plasticity(
        exact_float(props.yield_stress),
        exact_float(props.creep_time),
        exact_float(props.hardening),
        exact_float(props.plastic_limit),
    )


# Reasons why a body cannot be simulated


@contextmanager
def _naming(obj: bpy.types.Object) -> Iterator[None]:
    """Errors of the core, beginning with the object's name."""
    try:
        yield
    except SceneError as error:
        text = str(error)
        named = text if text.startswith(obj.name) else f"{obj.name}: {text}"
        raise CaptureError(named) from error


def linked_reason(obj: bpy.types.Object) -> str:
    """Why a linked object cannot be simulated, and the cure; empty where it is not linked."""
    if obj.is_editable:
        return ""
    library = f" {Path(obj.library.filepath).name}" if obj.library else ""
    return (
        f"{obj.name} is linked from the file{library}, so that its frames would be lost when "
        "this file is opened again. Choose Object > Library Override > Make, or press Make "
        "Override."
    )


def check_object(obj: bpy.types.Object) -> None:
    """Refuses an object that Blender has no shape of.

    Raises:
        CaptureError: with the cure.
    """
    if reason := linked_reason(obj):
        raise CaptureError(reason)
    if obj.mode == "EDIT":
        raise CaptureError(f"{obj.name} is being edited. Go back to Object Mode.")


def _check_shape(
    obj: bpy.types.Object, points: Points, vertices: Points, triangles: Triangles
) -> None:
    for positions, where in ((points, "vertex"), (vertices, "after its modifiers, vertex")):
        broken = ~np.isfinite(positions).all(axis=1)
        if broken.any():
            raise CaptureError(
                f"{obj.name}: {where} {int(broken.argmax())} is not at a finite position. Move "
                "or delete it."
            )
    if len(triangles) == 0:
        raise CaptureError(f"{obj.name} has no faces; a soft body needs a surface to fill.")


def _check_scale(obj: bpy.types.Object, matrix: Matrices) -> None:
    axes = matrix[:3, :3]
    if not np.isfinite(matrix).all():
        raise CaptureError(f"{obj.name} has an infinite or invalid location. Check its transform.")
    if abs(np.linalg.det(axes)) <= FLAT_VOLUME_RATIO * np.linalg.norm(axes) ** 3:
        raise CaptureError(f"{obj.name} has a scale of zero. Give it some size on every axis.")


def _check_matrices(obj: bpy.types.Object, motion: Motion) -> None:
    for matrix in motion.matrices.samples:
        _check_scale(obj, matrix)


def read_shape(context: bpy.types.Context, obj: bpy.types.Object, unit: float) -> Shape:
    """Read the shape of one object at the start frame, in metres in world space.

    Raises:
        CaptureError: when it cannot be simulated, or the run that it starts from is not there or of
            another mesh.
    """
    shape = Shape.read(context, obj, unit)
    if obj.supple.start_shape == start_runs.POSE:
        with driving.undriven(obj):
            modelled = Shape.read(context, obj, unit)
        return replace(modelled, start=PosedStart(shape.points))
    if obj.supple.start_shape == start_runs.RUN:
        return _shape_from_run(obj, shape)
    return shape


def can_be_posed(obj: bpy.types.Object) -> bool:
    """Whether anything bends it before the frames, which keys of its rest shape do not."""
    keys = obj.data.shape_keys
    has_keys = keys is not None and len(keys.key_blocks) > 1 and not has_shape_keys(obj)
    return has_keys or driving.deforming_parent(obj) is not None or bool(driving.drivers(obj))


def _shape_from_run(obj: bpy.types.Object, shape: Shape) -> Shape:
    """The start shape from a frame of another run, with the rest shape of that run."""
    path = start_runs.path_of(obj)
    if path is None:
        raise CaptureError(
            f"{obj.name} should start from another run, and no run is chosen. Go to a frame of "
            "a run and press Start from Current Frame under Start."
        )
    try:
        job, body = Job(path.parent.parent), int(path.stem)
        frame = obj.supple.start_run_frame or job.last_frame()
        bodies = job.scene.bodies
        start = run_start(job, body, frame)
    except (JobError, ValueError) as error:
        raise CaptureError(
            f"{obj.name} starts from a run that cannot be read: {error} Choose another run "
            "under Start, or restore the file."
        ) from error
    other = bodies[body]
    if not isinstance(other.mesh, SurfaceMesh) or other.skin is None:
        raise CaptureError(
            f"{obj.name} starts from a run that was made by a script. Choose another run."
        )
    for what, now, then in (
        ("vertices", shape.points, other.skin.points),
        ("vertices after its modifiers", shape.vertices, other.mesh.vertices),
    ):
        if len(now) != len(then):
            raise CaptureError(
                f"{obj.name} has {len(now)} {what}, and {other.name} had {len(then)} in the "
                "run that it starts from. Choose a run of the same mesh under Start."
            )
    run_meshes = other.skin.refined
    seen = [
        replace(one, points=skin.points)
        for one, skin in zip(shape.refined, run_meshes, strict=False)
    ]
    if [len(each.points) for each in seen] != [len(each.points) for each in shape.refined]:
        seen = []
    return replace(
        shape,
        points=other.skin.points,
        vertices=other.mesh.vertices,
        triangles=other.mesh.triangles,
        refined=tuple(seen),
        start=start,
    )


# A ratio to the longest edge at a vertex. Subdivision moves the corner of a cube by 0.43 of it.
_REACH_RATIO = 0.75


def check_pins(
    context: bpy.types.Context, obj: bpy.types.Object, pins: Pins, shape: Shape, unit: float
) -> None:
    """Refuse pins that cannot be simulated.

    Args:
        shape: of the object at the present frame.
        unit: metres in a Blender unit.

    Raises:
        CaptureError: when a vertex that has a weight in the pin group is not in the solid.
    """
    changing = [
        modifier
        for modifier in driving.refiners(obj)
        if modifier.show_viewport and not keeps_vertices(modifier)
    ]
    # All vertices of a jiggling body jiggle, the hidden ones as well.
    if not changing or not obj.supple.pin_group or obj.supple.jiggle_group:
        return
    reach = _reaches(obj, shape.points)[pins.vertices]
    lost = pins.vertices[_is_outside(shape.points[pins.vertices], reach, shape)]
    culprit = _culprit(context, obj, lost, reach[np.isin(pins.vertices, lost)], unit, changing)
    if culprit:
        others = f" (and {len(lost) - 1} more)" if len(lost) > 1 else ""
        raise CaptureError(
            f"{obj.name}: the modifier {culprit} leaves no solid at vertex {lost[0]}{others} "
            f"of the Pin Group {obj.supple.pin_group!r}. Remove the vertex from the group, or "
            "change or apply the modifier."
        )


def _reaches(obj: bpy.types.Object, points: Points) -> Points:
    """Return (V,) the largest distance of the solid from each vertex; infinite for loose
    vertices."""
    edges = np.empty(2 * len(obj.data.edges), dtype=np.int32)
    obj.data.edges.foreach_get("vertices", edges)
    ends = edges.reshape(-1, 2)
    lengths = np.linalg.norm(points[ends[:, 0]] - points[ends[:, 1]], axis=1)
    longest = np.zeros(len(points))
    np.maximum.at(longest, ends, lengths[:, None])
    return np.where(longest > 0.0, _REACH_RATIO * longest, np.inf)


def _is_outside(points: Points, reach: Points, shape: Shape) -> NDArray[np.bool_]:
    """(P,) whether points lie outside of a surface, farther from it than they may."""
    tree = BVHTree.FromPolygons(shape.vertices.tolist(), shape.triangles.tolist())
    distances = np.array([tree.find_nearest(point)[3] for point in points.tolist()])
    far = distances > reach
    if far.any():
        inside = np.abs(winding_number(points[far], shape.vertices, shape.triangles)) > 0.5
        far[far] = ~inside
    return far


def _culprit(
    context: bpy.types.Context,
    obj: bpy.types.Object,
    lost: NDArray[np.int32],
    reach: Points,
    unit: float,
    changing: list[bpy.types.Modifier],
) -> str:
    """The name of the first of the modifiers without which none of the vertices is lost; empty
    where they are lost without any, or where there are none."""
    if len(lost) == 0:
        return ""
    try:
        for modifier in reversed(changing):
            modifier.show_viewport = False
            shape = Shape.read(context, obj, unit)
            if not _is_outside(shape.points[lost], reach, shape).any():
                return str(modifier.name)
    finally:
        for modifier in changing:
            modifier.show_viewport = True
    return ""
