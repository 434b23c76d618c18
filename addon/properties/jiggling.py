# SPDX-License-Identifier: GPL-3.0-or-later
"""Jiggle: bodies that wobble on top of their animation, with or without a rigid core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import bpy
import numpy as np
from mathutils import Vector
from mathutils.bvhtree import BVHTree
from mathutils.kdtree import KDTree
from numpy.typing import NDArray

from ...core.errors import SuppleError
from ...core.meshing.surface import check_surface, default_edge_length, signed_volume
from .. import driving
from ..animated import is_animated
from ..capture.captured import CaptureError
from ..capture.motion import may_move, transform
from ..capture.objects import is_soft_body
from ..capture.paint import find_group
from ..capture.surfaces import Points, Triangles, coordinates, group_weights
from ..driving import CARRYING
from ..named import named
from ..units import exact_float, metres_per_unit
from . import selection
from .suited import shape_of

# Rays are sent from no more triangles.
_MAX_RAYS = 2000
# The depth below the surface at which rays begin, as a ratio to the size.
_BEGIN_RATIO = 1e-5


def inner_depth(context: bpy.types.Context, obj: bpy.types.Object) -> tuple[float, float]:
    """Return the greatest depth inside a body and the edge length of its tetrahedra, in metres.

    Both are 0 for a mesh that cannot be filled, or has no inside.
    """
    try:
        shape = shape_of(context, obj)
        points, triangles = check_surface(shape.vertices, shape.triangles)
    except SuppleError:
        return 0.0, 0.0
    edge_length = default_edge_length(points, triangles)
    if obj.supple.is_property_set("resolution"):
        edge_length = shape.longest_side / obj.supple.resolution
    return _deepest(points, triangles), edge_length


def _deepest(points: Points, triangles: Triangles) -> float:
    """The largest distance from a surface, of middles between its two sides."""
    corners = points[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inwards = -normals if signed_volume(points, triangles) > 0.0 else normals
    tree = BVHTree.FromPolygons(points.tolist(), triangles.tolist())
    begin = _BEGIN_RATIO * float(np.ptp(points, axis=0).max())
    deepest = 0.0
    for index in range(0, len(triangles), -(-len(triangles) // _MAX_RAYS)):
        direction = Vector(inwards[index]).normalized()
        place = Vector(corners[index].mean(axis=0)) + begin * direction
        _, normal, _, distance = tree.ray_cast(place, direction)
        # A ray leaves the solid where the surface faces the other way.
        if normal is not None and normal.dot(Vector(normals[index])) < 0.0:
            _, _, _, depth = tree.find_nearest(place + 0.5 * distance * direction)
            deepest = max(deepest, depth)
    return deepest


#: The origin of the falloff: bones where there are any, else the surface; either; neither.
AUTOMATIC, BONES, SURFACE, NONE = "automatic", "bones", "surface", "none"
#: The group that is made where there is none.
GROUP = "Jiggle"
# Vertices nearer to the bones than this ratio of the 95th percentile of distances are fixed.
# Vertices at the percentile jiggle most.
_HELD_RATIO, _FAR_PERCENTILE = 0.35, 95.0
# Larger weights than the first count as jiggling, smaller ones than the second as fixed.
_WOBBLING_WEIGHT, _HELD_WEIGHT = 0.5, 0.1
# The speed of the elastic body alone as a ratio to that of its goals; both together are an eighth
# faster.
_ELASTIC_SPEED_RATIO = 0.5


@dataclass(frozen=True)
class Jiggle:
    """The choices of the button: those of ``JiggleSettings``, the name of a group or none, and
    the falloff, from the surface to a ``depth`` above 0."""

    speed: float
    duration: float
    amount: float
    group: str = ""
    falloff: str = AUTOMATIC
    depth: float = 0.5


def candidates(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The selected meshes that may wobble, soft bodies among them."""
    others = selection.candidates(context)
    return [obj for obj in context.selected_objects if is_soft_body(obj) or obj in others]


def why_none(context: bpy.types.Context) -> str:
    """Return the reason why no selected object can jiggle, with the cure."""
    reason = selection.why_none(context)
    is_general = reason.startswith("Select a mesh object")
    return "Select an animated mesh object." if is_general else reason


def let_jiggle(
    context: bpy.types.Context, objects: Sequence[bpy.types.Object], choices: Jiggle
) -> str:
    """Makes meshes soft bodies that wobble on top of their animation; the message for the user.

    Raises:
        SuppleError: when one is not animated, or its group is missing or empty; nothing is changed.
    """
    for obj in objects:
        _check(obj)
    plans = [_plan(context, obj, choices) for obj in objects]
    # The next action comes first: a status bar cuts off the end.
    verb = "wobbles" if len(objects) == 1 else "wobble"
    messages = [f"{named(objects)} {verb} on top of the animation. Press Simulate."]
    grouped: dict[str, list[bpy.types.Object]] = {}
    for obj, plan in zip(objects, plans, strict=True):
        group = plan.group
        if group is None:
            group = _make_group(obj, plan.weights)
            grouped.setdefault(plan.how, []).append(obj)
        _set(context, obj, group, choices, plan.depth)
        driving.put_in_place(obj)
    new = [obj for obj in objects if not is_soft_body(obj)]
    if new:
        messages.append(selection.make_soft(context, new))
    messages += [
        f"Created the vertex group {GROUP} of {named(them)}, {how}."
        for how, them in grouped.items()
    ]
    return " ".join(messages)


def _check(obj: bpy.types.Object) -> None:
    if obj.data.library is not None:
        raise SuppleError(
            f"The mesh of {obj.name} is linked from another file, and its vertex groups with "
            "it. Choose Object > Relations > Make Local > Selected Objects and Data first."
        )
    if obj.mode == "EDIT":
        raise SuppleError(f"{obj.name} is being edited. Go back to Object Mode.")
    for modifier in driving.refiners(obj):
        if modifier.type in CARRYING and modifier.show_viewport and not modifier.use_pin_to_last:
            raise SuppleError(
                f"{obj.name}: the modifier {modifier.name} comes after one that changes the "
                "number of vertices, so that it cannot move the body. Move it to the top of "
                "the stack, and press Jiggle again."
            )
    keys = obj.data.shape_keys
    if not (may_move(obj) or driving.is_driven(obj) or (keys is not None and is_animated(keys))):
        raise SuppleError(
            f"{obj.name} is not animated, so that nothing would jiggle. Key it or its shape "
            "keys, or give it an armature or a moving parent, and press Jiggle again. Press "
            "Add Soft Body for a body that falls."
        )


@dataclass(frozen=True)
class _Plan:
    """The part of an object that should jiggle.

    Args:
        depth: of the core, as ``jiggle_depth``.
        group: that the object has; None for one to be made.
        weights: (V,) of that.
        how: it is made, in words.
    """

    depth: float
    group: bpy.types.VertexGroup | None = None
    weights: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    how: str = ""


def _plan(context: bpy.types.Context, obj: bpy.types.Object, choices: Jiggle) -> _Plan:
    """Return the plan of a jiggling object.

    Raises:
        SuppleError: if the required bones, the group, or weights in it are missing.
    """
    falloff, group = choices.falloff, _chosen_group(obj, choices.group)
    if group is not None:
        depth = obj.supple.jiggle_depth if falloff == AUTOMATIC else 0.0
        return _Plan(choices.depth if falloff == SURFACE else depth, group)
    segments = _bones(obj) if falloff in (AUTOMATIC, BONES) else np.empty((0, 2, 3))
    if len(segments) > 0:
        weights = _falloff(_distances(_points(obj), segments))
        how = "with weights that grow with the distance from the bones"
        return _Plan(0.0, None, weights, how)
    if falloff == BONES:
        raise SuppleError(
            f"{obj.name}: no bones deform it, so that Falloff has no bones to use. Choose From "
            "Surface, or give it an armature whose bones have Deform ticked."
        )
    weights, how = np.ones(len(obj.data.vertices)), "with all weights 1"
    if falloff == NONE or (falloff == AUTOMATIC and not _has_core(context, obj)):
        return _Plan(0.0, None, weights, how)
    return _Plan(choices.depth, None, weights, f"{how}, and a rigid core")


def _has_core(context: bpy.types.Context, obj: bpy.types.Object) -> bool:
    """Whether tetrahedra surely have a vertex inside."""
    deepest, edge_length = inner_depth(context, obj)
    return deepest > edge_length


def _chosen_group(obj: bpy.types.Object, name: str) -> bpy.types.VertexGroup | None:
    """The one of that name, being painted, or named Jiggle; None without any."""
    if not name and obj.mode == "WEIGHT_PAINT" and obj.vertex_groups.active is not None:
        name = obj.vertex_groups.active.name
    if not name and GROUP not in obj.vertex_groups:
        return None
    group = find_group(obj, name or GROUP, "jiggle")
    if not (group_weights(obj, group) > 0.0).any():
        raise CaptureError(
            f"{obj.name}: no vertex has a weight above 0 in the group {group.name!r}. Paint "
            "some weights, or remove the group and press Jiggle again."
        )
    return group


def _make_group(obj: bpy.types.Object, weights: NDArray[np.float64]) -> bpy.types.VertexGroup:
    group = obj.vertex_groups.new(name=GROUP)
    # One call for each weight that there is.
    for weight in np.unique(rounded := weights.round(2)):
        if weight > 0.0:
            group.add(np.flatnonzero(rounded == weight).tolist(), float(weight), "REPLACE")
    return group


def _bones(obj: bpy.types.Object) -> Points:
    """(B, 2, 3) heads and tails at rest in the world, of the bones that deform an object."""
    rigs = [modifier.object for modifier in driving.drivers(obj) if modifier.type == "ARMATURE"]
    rigs.append(driving.deforming_parent(obj))
    segments = []
    for rig in rigs:
        if rig is None or rig.type != "ARMATURE":
            continue
        bones = [bone for bone in rig.data.bones if bone.use_deform]
        deforming = [bone for bone in bones if bone.name in obj.vertex_groups]
        for bone in deforming or bones:
            ends = np.array([bone.head_local, bone.tail_local])
            segments.append(transform(np.array(rig.matrix_world), ends))
    return np.array(segments).reshape(-1, 2, 3)


def _points(obj: bpy.types.Object) -> Points:
    """(V, 3) vertices in the world, as modelled."""
    points = coordinates(obj.data.vertices, len(obj.data.vertices))
    return transform(np.array(obj.matrix_world), points)


def _distances(points: Points, segments: Points) -> NDArray[np.float64]:
    """Return the (V,) distances to the closest of (B, 2, 3) segments."""
    nearest = np.full(len(points), np.inf)
    for head, tail in segments:
        along = tail - head
        share = np.clip((points - head) @ along / max(float(along @ along), 1e-30), 0.0, 1.0)
        away = np.linalg.norm(points - head - share[:, None] * along, axis=1)
        nearest = np.minimum(nearest, away)
    return nearest


def _falloff(distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (V,) weights that rise smoothly from the fixed vertices to distant ones."""
    far = max(float(np.percentile(distances, _FAR_PERCENTILE)), 1e-30)
    share = np.clip((distances / far - _HELD_RATIO) / (1.0 - _HELD_RATIO), 0.0, 1.0)
    return share * share * (3.0 - 2.0 * share)


def _set(
    context: bpy.types.Context,
    obj: bpy.types.Object,
    group: bpy.types.VertexGroup,
    choices: Jiggle,
    depth: float,
) -> None:
    props = obj.supple
    props.jiggle_group, props.jiggle_amount = group.name, choices.amount
    props.jiggle_speed, props.jiggle_duration = choices.speed, choices.duration
    props.jiggle_depth = depth
    if is_soft_body(obj) or props.is_property_set("young"):
        return
    # A layer as thick as that, held on one side, swings sideways with √(G/ρ) / 4 L, G the shear
    # modulus: so fast by itself that goals have the say.
    reach = metres_per_unit(context.scene) * _reach(_points(obj), group_weights(obj, group))
    if depth > 0.0 and (deepest := inner_depth(context, obj)[0]) > 0.0:
        reach = min(reach, depth * deepest)
    speed = 4.0 * reach * _ELASTIC_SPEED_RATIO * choices.speed
    shear = exact_float(props.density) * speed * speed
    props.young = float(f"{2.0 * (1.0 + exact_float(props.poisson)) * shear:.2g}")


def _reach(points: Points, weights: NDArray[np.float64]) -> float:
    """The distance of the jiggling part from the held part, or from its own middle."""
    held, wobbling = points[weights < _HELD_WEIGHT], points[weights >= _WOBBLING_WEIGHT]
    if len(wobbling) == 0:
        wobbling = points
    if len(held) == 0:
        return 0.5 * float(np.ptp(points, axis=0).max())
    tree = KDTree(len(held))
    for index, point in enumerate(held):
        tree.insert(point, index)
    tree.balance()
    return max(tree.find(point)[2] for point in wobbling)
