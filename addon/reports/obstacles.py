# SPDX-License-Identifier: GPL-3.0-or-later
"""Meshes that soft bodies would fall or fly through: neither soft bodies nor colliders.

Each body moves as a stone would, without turning, and rays along its path are cast against the
meshes that are there. Keys of the place of a mesh count, its own and those of its parents; other
motion does not count: meshes and bodies are taken at their present positions.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import ge, le

import bpy
import numpy as np
from mathutils import Matrix, Vector
from mathutils.bvhtree import BVHTree
from numpy.typing import NDArray

from .. import driving
from ..animated import own_curves
from ..bake import shape_keys
from ..capture.attachments import rows_of
from ..capture.captured import CaptureError
from ..capture.motion import transform
from ..capture.objects import is_soft_body, shown_colliders, soft_bodies
from ..capture.scene import simulated_range
from ..capture.surfaces import Points, Triangles, triangles, vertex_coordinates
from ..modifiers import find_modifier
from ..start_runs import RUN
from ..units import frame_time, gravity, metres_per_unit

# The start points of rays on a surface: this many vertices, and as many points on faces.
_SAMPLES = 100
# The straight pieces of a curved path, and the keys of animated objects that are read at most.
_PIECES, _MOST_KEYS = 16, 64
# Ratios to the body's size: the start of a ray before its point, so that a body at rest on a mesh
# hits it; and the least height of a mesh above the ground, so that the ground is not hit first.
_BEHIND_RATIO, _GROUND_RATIO = 1e-3, 1e-2
# The distance of the points from the edges of their surface as a ratio to its size, for meshes that
# lie flush with it.
_INSIDE_RATIO = 1e-3
# The cosine between a body's path and a face's normal below which the body passes by.
_GRAZING_COSINE = 0.05
# Meshes with more faces are not looked through at redraws.
_MOST_FACES = 200_000
# The time that panels may take at a redraw in seconds, and the largest part of the time beyond.
_REDRAW_SECONDS, _TIME_RATIO = 0.003, 0.02
# The vertices that are checked for pins at most, and the stretch of the parts that hang from them.
_MOST_ANCHORS, _STRETCH_RATIO = 500, 1.1
# An object with a smaller one has no thickness along one of its axes.
_FLAT_DETERMINANT = 1e-30
# Meshes drawn in other ways stand for something else: a cutter, a cage.
_DRAWN_AS_MESH = {"SOLID", "TEXTURED"}

Vectors = NDArray[np.float64]


@dataclass(frozen=True)
class Obstacle:
    """A mesh in the way.

    Args:
        name: of the mesh object.
        bodies: names of the soft bodies that would pass through it.
    """

    name: str
    bodies: tuple[str, ...]


@dataclass(frozen=True)
class _Surface:
    """Triangles in the world, in Blender units."""

    points: Points
    triangles: Triangles

    @cached_property
    def low(self) -> Vectors:
        return self.points.min(axis=0)

    @cached_property
    def high(self) -> Vectors:
        return self.points.max(axis=0)

    @cached_property
    def tree(self) -> BVHTree:
        return BVHTree.FromPolygons(self.points.tolist(), self.triangles.tolist())


class _Mesh:
    """A mesh object in its present visible shape."""

    def __init__(self, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> None:
        self.obj, self._depsgraph = obj, depsgraph
        self._evaluated = obj.evaluated_get(depsgraph)
        corners = [
            self._evaluated.matrix_world @ Vector(each) for each in self._evaluated.bound_box
        ]
        self._low = [min(axis) for axis in zip(*corners, strict=True)]
        self._high = [max(axis) for axis in zip(*corners, strict=True)]

    def is_near(self, low: Vectors, high: Vectors) -> bool:
        """Whether its box overlaps another one."""
        return all(map(le, self._low, high)) and all(map(ge, self._high, low))

    @cached_property
    def _curves(self) -> list[tuple[Matrix, bpy.types.FCurve]]:
        """The curves that move it, its own and those of its parents, and the axes of each."""
        curves_with_axes = []
        for obj in (self.obj, *_parents(self.obj)):
            axes = obj.matrix_parent_inverse.to_3x3()
            if obj.parent is not None:
                axes = obj.parent.matrix_world.to_3x3() @ axes
            curves = (curve for curve in own_curves(obj) if curve.data_path == "location")
            curves_with_axes += [(axes, curve) for curve in curves]
        return curves_with_axes

    @cached_property
    def is_moving(self) -> bool:
        """Whether keys of its place move it."""
        return bool(self._curves)

    def key_frames(self, frames: range) -> list[float]:
        """Return the simulated frames that have keys of the mesh."""
        keyed = {point.co.x for _, curve in self._curves for point in curve.keyframe_points}
        return [frame for frame in sorted(keyed) if frames.start < frame < frames.stop][:_MOST_KEYS]

    def displacements(self, frames: Vectors) -> Vectors:
        """Return the (K, 3) displacements from the present place to those at frames."""
        moved: Vectors = np.zeros((len(frames), 3))
        now = self._depsgraph.scene.frame_current_final
        for axes, curve in self._curves:
            along = np.array(axes.col[curve.array_index])
            values = np.array([curve.evaluate(frame) for frame in frames]) - curve.evaluate(now)
            moved += np.outer(values, along)
        return moved

    @cached_property
    def face_count(self) -> int:
        return len(self._evaluated.data.polygons)

    @cached_property
    def samples(self) -> Points:
        """(S, 3) points of its surface, in the world."""
        return _samples(_surface(self.obj, self._depsgraph))

    def hits(self, rays: _Rays) -> Iterator[_Hit]:
        """Return the points in which rays hit the mesh."""
        matrix = self._evaluated.matrix_world
        if abs(matrix.determinant()) < _FLAT_DETERMINANT or self.face_count == 0:
            return
        inverse = np.array(matrix.inverted())
        starts = transform(inverse, rays.starts).tolist()
        steps = (rays.steps @ inverse[:3, :3].T).tolist()
        cast = self._evaluated.ray_cast
        for index, (start, step) in enumerate(zip(starts, steps, strict=True)):
            start, step = Vector(start), Vector(step)
            length = step.length
            is_hit, place, normal, _ = cast(start, step, distance=length)
            if is_hit:
                share = (place - start).length / length
                cosine = float(normal.dot(step)) / length
                yield _Hit(index, share, float((matrix @ place).z), cosine)


# The latest result of each scene, by its session_uid, and the time of the next search.
_latest: dict[int, tuple[list[Obstacle], float]] = {}


def find(context: bpy.types.Context, is_redraw: bool = False) -> list[Obstacle]:
    """The meshes in the way, in the order of their names.

    Args:
        is_redraw: whether a panel calls it, which gets the latest result if a search takes long.
    """
    if not is_redraw:
        return list(_obstacles(context, math.inf))
    uid, now = context.scene.session_uid, time.perf_counter()
    latest, due = _latest.get(uid, ([], 0.0))
    if now >= due:
        latest = list(_obstacles(context, _MOST_FACES))
        end = time.perf_counter()
        _latest[uid] = latest, end + max(0.0, end - now - _REDRAW_SECONDS) / _TIME_RATIO
    objects = context.scene.objects
    return [each for each in latest if _is_passive(objects.get(each.name))]


def _obstacles(context: bpy.types.Context, most_faces: float) -> Iterator[Obstacle]:
    depsgraph, bodies = context.view_layer.depsgraph, soft_bodies(context)
    if not bodies or depsgraph is None or context.scene.supple.contact == "never":
        return
    meshes = [_Mesh(obj, depsgraph) for obj in _candidates(context)]
    if not meshes:
        return
    colliders = [_Mesh(obj, depsgraph) for obj in shown_colliders(context) if obj.type == "MESH"]
    solids = [_Mesh(obj, depsgraph) for obj in bodies if find_modifier(obj) is None]
    hit_bodies: dict[str, list[str]] = {}
    for body in bodies:
        others = [*colliders, *(each for each in solids if each.obj != body)]
        for mesh in _in_the_way(context.scene, body, depsgraph, meshes, others, most_faces):
            hit_bodies.setdefault(mesh.obj.name, []).append(body.name)
    yield from (Obstacle(name, tuple(hit_bodies[name])) for name in sorted(hit_bodies))


def _is_passive(obj: bpy.types.Object | None) -> bool:
    """Whether an object is a mesh that is neither soft body nor collider, and not meant to be."""
    if obj is None or obj.type != "MESH":
        return False
    props = obj.supple
    return not (props.enabled or props.collider or props.is_preview or props.hides_obstacle_hint)


def _candidates(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The meshes that are seen as such."""
    return [
        obj
        for obj in context.view_layer.objects
        if _is_passive(obj)
        and obj.mode == "OBJECT"
        and not obj.hide_render
        and obj.display_type in _DRAWN_AS_MESH
        and obj.visible_get()
        and (obj.field is None or obj.field.type == "NONE")
        and not any(each.type in {"FLUID", "COLLISION"} for each in obj.modifiers)
    ]


def _is_related(obj: bpy.types.Object, body: bpy.types.Object) -> bool:
    """Whether an object goes with a soft body, or the body works with it."""
    return obj in _pointed_at(body) or any(map(is_soft_body, (*_parents(obj), *_pointed_at(obj))))


def _parents(obj: bpy.types.Object) -> Iterator[bpy.types.Object]:
    while (obj := obj.parent) is not None:
        yield obj


def _pointed_at(obj: bpy.types.Object) -> Iterator[bpy.types.Object]:
    """The objects that modifiers, constraints and Supple's settings of an object name."""
    rows = (row for _, row in rows_of(obj.supple)) if is_soft_body(obj) else ()
    for owner in (*obj.modifiers, *obj.constraints, obj.supple, *rows):
        for described in owner.bl_rna.properties:
            if described.type == "POINTER" and described.fixed_type.identifier == "Object":
                yield from filter(None, [getattr(owner, described.identifier)])


def _in_the_way(
    scene: bpy.types.Scene,
    body: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph,
    meshes: Sequence[_Mesh],
    others: Sequence[_Mesh],
    most_faces: float,
) -> Iterator[_Mesh]:
    """The meshes that a body would pass through.

    Args:
        others: colliders and soft bodies that stop it.
    """
    surface = _body_surface(body, depsgraph)
    if body.supple.jiggle_group or len(surface.triangles) == 0:
        return
    size = float((surface.high - surface.low).max())
    ground = -math.inf
    if scene.supple.use_ground:
        ground = scene.supple.ground_height + _GROUND_RATIO * size
    flight = _Flight.of(scene, body, surface, ground)
    anchors = surface.points[_anchors(body)]
    still = _Course.of(surface, flight.path, _BEHIND_RATIO * size, others, ground, anchors)
    for mesh in meshes:
        course = still
        if mesh.is_moving:
            # It may come to where others, and the ground, are not in the way.
            path = flight.beside(mesh)
            course = _Course.of(surface, path, _BEHIND_RATIO * size, (), -math.inf, anchors[:0])
        if (
            mesh.is_near(course.low, course.high)
            and 0 < mesh.face_count <= most_faces
            and not _is_related(mesh.obj, body)
            and course.hits(mesh)
        ):
            yield mesh


@dataclass(frozen=True)
class _Course:
    """The expected course of the surface of a body.

    Args:
        surface: of the body.
        path: (K, 3) displacements.
        behind: the distance before a point at which its ray begins.
        low, high: (3,) the box that it sweeps.
        others: the surfaces that may stop it.
        ground: height below which hits do not count.
        anchors: (A, 3) pinned points.
    """

    surface: _Surface
    path: Vectors
    behind: float
    low: Vectors
    high: Vectors
    others: Sequence[_Mesh]
    ground: float
    anchors: Points

    @staticmethod
    def of(
        surface: _Surface,
        path: Vectors,
        behind: float,
        others: Sequence[_Mesh],
        ground: float,
        anchors: Points,
    ) -> _Course:
        moves = np.append(True, np.diff(path, axis=0).any(axis=1))
        low, high = (
            surface.low + path.min(axis=0) - behind,
            surface.high + path.max(axis=0) + behind,
        )
        return _Course(surface, path[moves], behind, low, high, others, ground, anchors)

    def hits(self, mesh: _Mesh) -> bool:
        """Whether a body's path goes through a mesh, and nothing stops the body before."""
        if len(self.path) < 2:
            return False
        if _any_hits_mesh(self._rays, mesh, self._stopping, self.ground):
            return True
        # Relative to the body, the mesh moves along the reversed path.
        above = mesh.samples[mesh.samples[:, 2] > self.ground]
        back = _Rays.along(above, -self.path, self.behind)
        back = back.within(self.surface.low, self.surface.high)
        return len(back.starts) > 0 and _any_hits_body(
            back, self.surface.tree, self._stopping, self.anchors
        )

    @cached_property
    def _rays(self) -> _Rays:
        rays = _Rays.along(_samples(self.surface), self.path, self.behind)
        if len(self.anchors) == 0:
            return rays
        return _Rays(rays.starts, rays.steps * _reach(rays.starts, rays.steps, self.anchors))

    @cached_property
    def _stopping(self) -> list[_Mesh]:
        return [mesh for mesh in self.others if mesh.is_near(self.low, self.high)]


def _anchors(body: bpy.types.Object) -> list[int]:
    """A sample of the vertices that are pinned, attached or have goals."""
    props = body.supple
    names = {props.pin_group, *(row.attach_group for _, row in rows_of(props))}
    held = {group.index for group in body.vertex_groups if group.name in names}
    if not held:
        return []
    vertices = body.data.vertices
    looked_at = range(0, len(vertices), -(-len(vertices) // _MOST_ANCHORS))
    return [k for k in looked_at if any(each.group in held for each in vertices[k].groups)]


def _reach(points: Points, steps: Vectors, anchors: Points) -> Vectors:
    """(R, 1) the shares of steps that take points no farther from any anchor than a held body
    stretches."""
    lengths = np.linalg.norm(steps, axis=1)
    arms = points[:, None] - anchors[None]
    along = np.einsum("rax,rx->ra", arms, steps) / lengths[:, None]
    room = (_STRETCH_RATIO**2 - 1.0) * np.einsum("rax,rax->ra", arms, arms)
    reach = (np.sqrt(along**2 + room) - along).min(axis=1)
    return np.clip(reach / lengths, 0.0, 1.0)[:, None]


def _body_surface(body: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> _Surface:
    """Return the body at its start, without its simulated frames and its refining modifiers."""
    plays = find_modifier(body) is not None or shape_keys.has_bake(body)
    if driving.is_driven(body) and not plays:
        return _surface(body, depsgraph)
    points = vertex_coordinates(body.data)
    return _Surface(transform(np.array(body.matrix_world), points), triangles(body.data))


def _surface(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> _Surface:
    evaluated = obj.evaluated_get(depsgraph)
    points = transform(np.array(evaluated.matrix_world), vertex_coordinates(evaluated.data))
    return _Surface(points, triangles(evaluated.data))


@dataclass(frozen=True)
class _Flight:
    """The ballistic flight of a body until it lands.

    Args:
        start: velocity at first, in Blender units a second.
        pull: gravity, in Blender units.
        seconds: the time until all its points are below the ground, or the last frame.
        landing: the time until the first point reaches the ground, in seconds.
        frames: that are simulated.
        frame_time: in seconds.
        is_held: whether it stays in its place apart from sagging.
    """

    start: Vectors
    pull: Vectors
    seconds: float
    landing: float
    frames: range
    frame_time: float
    is_held: bool

    @staticmethod
    def of(
        scene: bpy.types.Scene, body: bpy.types.Object, surface: _Surface, ground: float
    ) -> _Flight:
        props = body.supple
        pull: Vectors = np.array(gravity(scene), dtype=np.float64) / metres_per_unit(scene)
        is_held = bool(props.pin_group) or any(True for _ in rows_of(props))
        is_still = is_held or props.start_shape == RUN
        start: Vectors = np.zeros(3)
        if not is_still:
            start = np.array(props.start_velocity, dtype=np.float64)
        try:
            frames = simulated_range(scene)
        except CaptureError:  # the range is reported
            frames = range(0)
        seconds = len(frames) * frame_time(scene)
        through, landing = (
            min(seconds, _fall_time(float(point[2]) - ground, float(start[2]), float(pull[2])))
            for point in (surface.high, surface.low)
        )
        return _Flight(start, pull, through, landing, frames, frame_time(scene), is_held)

    @property
    def path(self) -> Vectors:
        """(K, 3) displacements, in Blender units, from (0, 0, 0) on."""
        pieces = _PIECES if self.start.any() else 1
        return self._displacements(np.linspace(0.0, self.seconds, pieces + 1))

    def beside(self, mesh: _Mesh) -> Vectors:
        """(K, 3) displacements as a mesh sees them that is moved by its keys."""
        uniform = np.linspace(self.frames.start, self.frames.stop, _PIECES + 1)
        frames = np.unique([*uniform, *mesh.key_frames(self.frames)])
        times = np.minimum((frames - self.frames.start) * self.frame_time, self.landing)
        displacements = np.zeros((len(frames), 3)) if self.is_held else self._displacements(times)
        return displacements - mesh.displacements(frames)

    def _displacements(self, times: Vectors) -> Vectors:
        return np.outer(times, self.start) + np.outer(0.5 * times * times, self.pull)


def _fall_time(height: float, speed: float, pull: float) -> float:
    """Seconds until something of a height, in Blender units, is at 0; without end where it never
    is."""
    if not math.isfinite(height) or pull >= 0.0:
        return math.inf
    return (speed + math.sqrt(max(0.0, speed**2 - 2.0 * pull * max(height, 0.0)))) / -pull


def _samples(surface: _Surface) -> Points:
    """(S, 3) points of a surface, drawn in by a little."""
    centre = 0.5 * (surface.low + surface.high)
    return centre + (1.0 - _INSIDE_RATIO) * (_places(surface) - centre)


def _places(surface: _Surface) -> Points:
    """(S, 3) vertices, and places on faces that lie as close on large faces as on small ones."""
    count = len(surface.points)
    some = surface.points[:: -(-count // _SAMPLES)]
    corners = surface.points[surface.triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    areas = np.cumsum(np.linalg.norm(normals, axis=1))
    if not areas[-1] > 0.0:
        return some
    # A sequence of low discrepancy (Roberts 2018, R3): no two places are close to each other.
    plastic = 1.2207440846057596
    steps = np.arange(1, _SAMPLES + 1)[:, None] / plastic ** np.arange(1, 4)
    which, a, b = np.transpose((0.5 + steps) % 1.0)
    face = corners[np.searchsorted(areas, which * areas[-1]).clip(max=len(corners) - 1)]
    root = np.sqrt(a)
    weights = np.stack([1.0 - root, root * (1.0 - b), root * b], axis=1)
    return np.concatenate([some, np.einsum("sc,scx->sx", weights, face)])


@dataclass(frozen=True)
class _Rays:
    """Straight pieces of the paths of points, one after the other.

    Args:
        starts, steps: (R, 3) where they begin, and from there to where they end.
    """

    starts: Points
    steps: Vectors

    @staticmethod
    def along(points: Points, path: Vectors, behind: float) -> _Rays:
        """Return the rays of points along the pieces of a path.

        Args:
            points: (S, 3) that follow the path.
            path: (K, 3) displacements.
            behind: the distance before the points at which the first piece begins.
        """
        steps = np.diff(path, axis=0)
        starts = points[None] + path[:-1, None]
        first = steps[0] / np.linalg.norm(steps[0])
        starts[0] -= behind * first
        lengths = np.repeat(steps[:, None], len(points), axis=1)
        lengths[0] += behind * first
        return _Rays(starts.reshape(-1, 3), lengths.reshape(-1, 3))

    def within(self, low: Vectors, high: Vectors) -> _Rays:
        """The rays that reach a box."""
        ends = self.starts + self.steps
        beyond = (np.maximum(self.starts, ends) < low) | (np.minimum(self.starts, ends) > high)
        mask = ~beyond.any(axis=1)
        return _Rays(self.starts[mask], self.steps[mask])

    def until(self, index: int, share: float) -> _Rays:
        """A single ray, up to a share of its length."""
        return _Rays(self.starts[index][None], share * self.steps[index][None])


@dataclass(frozen=True)
class _Hit:
    """The point in which a ray hits a mesh.

    Args:
        ray: its number.
        share: of its length, up to there.
        height: in the world.
        cosine: between the ray and the normal of the face.
    """

    ray: int
    share: float
    height: float
    cosine: float


def _any_hits_mesh(rays: _Rays, mesh: _Mesh, stopping: Sequence[_Mesh], ground: float) -> bool:
    """Whether a ray hits a mesh above the ground, and no collider before it."""
    return any(
        hit.height > ground
        and abs(hit.cosine) > _GRAZING_COSINE
        and not _is_stopped(rays.until(hit.ray, hit.share), stopping)
        for hit in mesh.hits(rays)
    )


def _any_hits_body(rays: _Rays, tree: BVHTree, stopping: Sequence[_Mesh], anchors: Points) -> bool:
    """Whether a ray hits a body that can get so far, and no collider before it."""
    for index, (place, displacement) in enumerate(zip(rays.starts, rays.steps, strict=True)):
        start, step = Vector(place), Vector(displacement)
        point, normal, _, distance = tree.ray_cast(start, step, step.length)
        if normal is None or abs(normal.dot(step.normalized())) <= _GRAZING_COSINE:
            continue
        until = rays.until(index, distance / step.length)
        if len(anchors) and _reach(np.array([point]), -until.steps, anchors)[0, 0] < 1.0:
            continue
        if not _is_stopped(until, stopping):
            return True
    return False


def _is_stopped(ray: _Rays, stopping: Sequence[_Mesh]) -> bool:
    return any(True for mesh in stopping for _ in mesh.hits(ray))
