# SPDX-License-Identifier: GPL-3.0-or-later
"""The stiffness, viscosity and resolution that suit a soft body and its load."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from zlib import crc32

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError
from ...core.meshing.surface import check_surface, default_edge_length, signed_volume
from ...core.preparation.sag import (
    EARTH,
    Load,
    PinnedSag,
    default_viscosity,
    default_young,
    estimated_sag,
    pinned_sag,
)
from ..bake import shape_keys
from ..capture.body import Shape
from ..capture.motion import preserved_frame, transform
from ..capture.objects import is_soft_body, soft_bodies
from ..capture.pins import PIN_WEIGHT
from ..capture.surfaces import Points, group_weights, vertex_coordinates, without_supple
from ..modifiers import find_modifier
from ..units import exact_float, gravity, metres_per_unit

# The part of the box around an open mesh that counts as its volume.
_OPEN_FILL_RATIO = 0.5
# The least part of that box that a closed mesh fills.
_MIN_FILL_RATIO = 0.01

# Around meshes and inside them, which takes milliseconds a redraw, by their session_uid.
_boxes: dict[int, Points] = {}
_volumes: dict[int, float] = {}
# Where bodies are, their feet and their tops, by their session_uid.
_feet_and_tops: dict[int, tuple[bytes, tuple[Points, Points]]] = {}


def forget(depsgraph: bpy.types.Depsgraph | None = None) -> None:
    """Forget the sizes of the objects and meshes that a dependency graph reports as edited, or of
    all without one."""
    known: tuple[dict[int, Any], ...] = (_boxes, _volumes, _feet_and_tops)
    if depsgraph is None:
        for sizes in known:
            sizes.clear()
        return
    for update in depsgraph.updates:
        if update.is_updated_geometry:
            for sizes in known:
                sizes.pop(update.id.original.session_uid, None)


def rest_box(obj: bpy.types.Object) -> Points:
    """(8, 3) corners around the object at rest, in the world in Blender units."""
    return transform(np.array(obj.matrix_world), _own_box(obj))


def _own_box(obj: bpy.types.Object) -> Points:
    """(8, 3) corners around the object at rest, in its own space."""
    if len(obj.data.vertices) and _shows_frames(obj):
        # Blender's box is of the frame that is shown.
        return _mesh_box(obj.data)
    return np.array(obj.bound_box)


def _shows_frames(obj: bpy.types.Object) -> bool:
    """Whether what Blender evaluates may be a simulated frame."""
    return find_modifier(obj) is not None or shape_keys.has_bake(obj)


def longest_side(obj: bpy.types.Object) -> float:
    """The longest side of the object at rest along its own axes, in Blender units."""
    return float(_sides(obj).max())


def _sides(obj: bpy.types.Object) -> NDArray[np.float64]:
    """The (3,) sides of the object at rest along its own axes, in Blender units."""
    matrix = np.array(obj.matrix_world)[:3, :3]
    sides: NDArray[np.float64] = np.ptp(_own_box(obj), axis=0) * np.linalg.norm(matrix, axis=0)
    return sides


def mesh_volume(obj: bpy.types.Object) -> float:
    """The volume inside the object's own mesh in the world, in Blender units; half of the box
    around it where the mesh is open."""
    mesh = obj.data
    if mesh.session_uid not in _volumes:
        _volumes[mesh.session_uid] = _volume(mesh)
    return abs(obj.matrix_world.to_3x3().determinant()) * _volumes[mesh.session_uid]


def _mesh_box(mesh: bpy.types.Mesh) -> Points:
    """(8, 3) corners, without modifiers and shape keys."""
    if mesh.session_uid not in _boxes:
        points = vertex_coordinates(mesh)
        low, high = points.min(axis=0), points.max(axis=0)
        corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)])
        _boxes[mesh.session_uid] = low + corners * (high - low)
    return _boxes[mesh.session_uid]


def _volume(mesh: bpy.types.Mesh) -> float:
    mesh.calc_loop_triangles()
    triangles = np.empty(3 * len(mesh.loop_triangles), dtype=np.int32)
    if len(triangles) == 0:
        return 0.0
    mesh.loop_triangles.foreach_get("vertices", triangles)
    points = vertex_coordinates(mesh)
    inside = abs(signed_volume(points, triangles.reshape(-1, 3)))
    around = float(np.ptp(points, axis=0).prod())
    is_closed = _MIN_FILL_RATIO * around < inside <= around * (1.0 + 1e-6)
    return inside if is_closed else _OPEN_FILL_RATIO * around


# The gap up to which a body stands on another, as a ratio to the lower one of their heights. The
# vertices of a body that are no farther from its lowest one are its foot, and those that are no
# farther from its highest one its top.
_GAP_RATIO = 0.02
# The part of the smaller one of foot and top from which a body stands on another; with less it
# leans.
_OVERLAP_RATIO = 0.1


def load_on(scene: bpy.types.Scene, obj: bpy.types.Object) -> Load:
    """The bodies that stand on a soft body, directly or on others that do."""
    return loads(scene).get(obj, Load())


def loads(scene: bpy.types.Scene) -> dict[bpy.types.Object, Load]:
    """Return the load on each soft body. A body that stands on several loads each by its share of
    the area."""
    bodies = [obj for obj in scene.objects if is_soft_body(obj) and obj.visible_get()]
    if len(bodies) < 2:
        return {}
    frame, unit = _upright(scene), metres_per_unit(scene)
    corners = np.array([unit * rest_box(obj) @ frame for obj in bodies])
    low, high = corners.min(axis=1), corners.max(axis=1)
    near = _near(low, high)
    feet, tops = np.zeros((2, len(bodies), 2, 2))
    for index in np.flatnonzero(near.any(axis=0) | near.any(axis=1)):
        feet[index], tops[index] = _foot_and_top(bodies[index], frame)
    shares = _shares(near, feet, tops)
    shares[[_is_carried(obj) for obj in bodies]] = 0.0
    carried, summits = np.zeros(len(bodies)), high[:, 2].copy()
    for upper in np.argsort(-low[:, 2], kind="stable"):
        below = np.flatnonzero(shares[upper])
        if len(below) == 0:
            continue
        density, volume = exact_float(bodies[upper].supple.density), mesh_volume(bodies[upper])
        mass = carried[upper] + density * unit**3 * volume
        carried[below] += shares[upper, below] / shares[upper].sum() * mass
        summits[below] = np.maximum(summits[below], summits[upper])
    heights = summits - high[:, 2]
    return {
        obj: Load(float(mass), float(height))
        for obj, mass, height in zip(bodies, carried, heights, strict=True)
    }


def _near(low: Points, high: Points) -> NDArray[np.bool_]:
    """(N, N) whether the box around a body, the row, begins where that around another, the column,
    ends.

    Args:
        low, high: (N, 3) corners of the boxes around the bodies in metres, the last axis up.
    """
    heights = (high - low)[:, 2]
    gaps = np.abs(low[:, None, 2] - high[None, :, 2])
    is_near = gaps <= _GAP_RATIO * np.minimum(heights[:, None], heights[None])
    ends, starts = np.minimum(high[:, None], high[None]), np.maximum(low[:, None], low[None])
    is_near &= (ends > starts)[:, :, :2].all(axis=2)
    np.fill_diagonal(is_near, False)
    return is_near


def _foot_and_top(obj: bpy.types.Object, frame: Points) -> tuple[Points, Points]:
    """(2, 2) rectangles around the lowest and around the highest vertices of a body at rest, each
    its low corner and its high one, in Blender units.

    Boxes alone do not tell whether a body stands on another: those around bodies that fall in a
    heap often begin where another one ends.
    """
    matrix = np.array(obj.matrix_world)
    place = matrix.tobytes() + frame.tobytes()
    known = _feet_and_tops.get(obj.session_uid)
    if known is None or known[0] != place:
        points = transform(matrix, _own_points(obj)) @ frame
        known = _feet_and_tops[obj.session_uid] = place, _ends(points)
    return known[1]


def _ends(points: Points) -> tuple[Points, Points]:
    heights = points[:, 2]
    low, high = float(heights.min()), float(heights.max())
    margin = _GAP_RATIO * (high - low)
    foot, top = points[heights <= low + margin, :2], points[heights >= high - margin, :2]
    # One vertex alone has an extent, too.
    return (
        np.array([foot.min(axis=0) - margin, foot.max(axis=0) + margin]),
        np.array([top.min(axis=0) - margin, top.max(axis=0) + margin]),
    )


def _own_points(obj: bpy.types.Object) -> Points:
    """(V, 3) vertices of the object at rest, in its own space; corners of the box around it where
    it has none."""
    mesh, graph = obj.data, bpy.context.view_layer.depsgraph
    if graph is not None and not _shows_frames(obj):
        mesh = obj.evaluated_get(graph).data
    points = vertex_coordinates(mesh)
    return points if len(points) else _own_box(obj)


def _shares(near: NDArray[np.bool_], feet: Points, tops: Points) -> Points:
    """(N, N) the area with which a body, the row, stands on another, the column, in square Blender
    units; 0 where it does not.

    Args:
        near: (N, N) see ``_near``.
        feet, tops: (N, 2, 2) see ``_foot_and_top``.
    """
    starts = np.maximum(feet[:, None, 0], tops[None, :, 0])
    ends = np.minimum(feet[:, None, 1], tops[None, :, 1])
    areas = np.maximum(ends - starts, 0.0).prod(axis=2)
    foot_areas, top_areas = ((part[:, 1] - part[:, 0]).prod(axis=1) for part in (feet, tops))
    smaller = np.minimum(foot_areas[:, None], top_areas[None])
    return np.where(near & (areas > _OVERLAP_RATIO * smaller), areas, 0.0)


def _is_carried(obj: bpy.types.Object) -> bool:
    """Whether pins or an attachment carry a body, so that it rests on no other."""
    props = obj.supple
    return bool(props.pin_group or props.jiggle_group or props.attach_to is not None)


def _upright(scene: bpy.types.Scene) -> Points:
    """(3, 3) orthonormal columns, the last one up."""
    pull = np.array(gravity(scene))
    up = -(pull if pull.any() else np.array(EARTH))
    frame, _ = np.linalg.qr(np.column_stack([up, np.eye(3)]))
    frame[:, 0] *= np.sign(frame[:, 0] @ up)
    return np.asarray(np.roll(frame, -1, axis=1))


# Ratios to the height: a body that sags by more lies down, one that sags by less looks rigid.
_LYING_SAG_RATIO, _RIGID_SAG_RATIO = 0.35, 0.01
# The bend from which the free part hangs down, as a ratio to its length.
_HANGING_BEND_RATIO = 0.6


def suit(context: bpy.types.Context, objects: Sequence[bpy.types.Object]) -> None:
    """Give new soft bodies the settings that suit them, except for settings that the user has
    changed."""
    shapes: dict[bpy.types.Object, Shape] = {}
    set_here = []
    for obj in objects:
        # Without a usable shape it keeps the defaults; Simulate reports the reason.
        with suppress(SuppleError):
            shapes[obj] = shape = shape_of(context, obj)
            if not obj.supple.is_property_set("young"):
                _set_young(context.scene, obj, shape, load_on(context.scene, obj))
                set_here.append(obj)
    _make_copies_alike(set_here, shapes)
    for obj, shape in shapes.items():
        with suppress(SuppleError):
            if not obj.supple.is_property_set("viscosity"):
                _set_viscosity(obj, shape)
            if not obj.supple.is_property_set("resolution"):
                _set_resolution(obj, shape)


def _make_copies_alike(
    objects: Sequence[bpy.types.Object], shapes: Mapping[bpy.types.Object, Shape]
) -> None:
    """Give bodies of one shape the same stiffness, however they lie, unless pins or loads make a
    difference."""
    copies = defaultdict(list)
    for obj in objects:
        if obj.supple.suited_to == _FREE:
            shape = shapes[obj]
            size = tuple(f"{side:.3g}" for side in _sides(obj))
            copies[len(shape.vertices), len(shape.triangles), obj.supple.density, size].append(obj)
    for alike in copies.values():
        young = sorted(obj.supple.young for obj in alike)[len(alike) // 2]
        for obj in alike:
            obj.supple.young = obj.supple.suited_young = young


def refresh(context: bpy.types.Context, first_frame: int) -> list[str]:
    """Make the stiffness that was set here suit pins and loads that are others now.

    Args:
        first_frame: at which the simulation begins.

    Returns:
        A sentence for each body whose stiffness has changed.
    """
    automatic = [obj for obj in soft_bodies(context) if is_automatic(obj) and obj.is_editable]
    if not automatic:
        return []
    messages = []
    with preserved_frame(context.scene):
        if context.scene.frame_current != first_frame:
            context.scene.frame_set(first_frame)
        carried = loads(context.scene)
        for obj in automatic:
            load = carried.get(obj, Load())
            if obj.supple.suited_to == _circumstances(obj, load):
                continue
            before = obj.supple.young
            try:
                _set_young(context.scene, obj, shape_of(context, obj), load)
            except SuppleError:
                continue  # Simulate reports why.
            if obj.supple.young != before:
                messages.append(
                    f"{obj.name}: Stiffness was set to {obj.supple.young:.2g} Pa to suit its "
                    "pins and its load."
                )
    return messages


def is_automatic(obj: bpy.types.Object) -> bool:
    """Whether a soft body still has the stiffness that was set here. One that it shares with others
    does not follow its size."""
    props = obj.supple
    return not props.material_set and props.suited_young > 0.0 and props.young == props.suited_young


def suit_young(context: bpy.types.Context, obj: bpy.types.Object) -> None:
    """Sets the stiffness with which a body sags by a tenth of its height.

    Raises:
        SuppleError: when its shape cannot be read.
    """
    _set_young(context.scene, obj, shape_of(context, obj), load_on(context.scene, obj))


def suit_resolution(context: bpy.types.Context, obj: bpy.types.Object) -> None:
    """Sets the resolution that the thin parts of a body want, as far as it stays quick.

    Raises:
        SuppleError: when its shape cannot be read.
    """
    _set_resolution(obj, shape_of(context, obj))


def shape_of(context: bpy.types.Context, obj: bpy.types.Object) -> Shape:
    """The shape of an object to fill, in metres.

    Raises:
        SuppleError: when its shape cannot be read.
    """
    with without_supple([obj]):
        return Shape.read(context, obj, metres_per_unit(context.scene))


def sag_message(scene: bpy.types.Scene, obj: bpy.types.Object) -> tuple[str, bool]:
    """The message about a body's sag, and whether it collapses; fast enough for panels. Jiggling
    and plastic bodies have none."""
    props, box = obj.supple, metres_per_unit(scene) * rest_box(obj)
    if props.jiggle_group or props.use_plasticity:
        return "", False
    young, density, pull = exact_float(props.young), exact_float(props.density), gravity(scene)
    sag = estimated_sag(box, young, density, pull, load_on(scene, obj))
    if sag == 0.0:
        return "", False
    if props.pin_group and props.suited_bend > 0.0:
        return _bend_message(props.suited_bend * density * float(np.linalg.norm(pull)) / young)
    if props.pin_group or props.attach_to is not None:
        return f"Standing free, it would {_free_sag(sag)}.", False
    if sag > _LYING_SAG_RATIO:
        return "Too soft for its size: it will collapse.", True
    if sag < _RIGID_SAG_RATIO:
        return "Hardly sags: it will look rigid.", False
    return f"Sags by about {sag:.0%} of its height.", False


def slump_message(scene: bpy.types.Scene, obj: bpy.types.Object) -> str:
    """Whether a plastic body flows under its own weight; cheap enough to be drawn."""
    props, box = obj.supple, metres_per_unit(scene) * rest_box(obj)
    # The pressure of a column of the body on its foot.
    fall = float(np.linalg.norm(gravity(scene)))
    pressure = exact_float(props.density) * fall * float(np.ptp(box[:, 2]))
    if pressure <= exact_float(props.yield_stress):
        return ""
    return (
        "Slumps under its weight: a column of its height needs a Yield Stress of "
        f"{pressure:.0f} Pa."
    )


def _bend_message(bend: float) -> tuple[str, bool]:
    if bend > _HANGING_BEND_RATIO:
        return "Too soft for its pins: the free part will hang down.", True
    if bend < _RIGID_SAG_RATIO:
        return "Hardly bends: it will look rigid.", False
    return f"Bends by about {bend:.0%} of its free length.", False


def _free_sag(sag: float) -> str:
    if sag > _LYING_SAG_RATIO:
        return "lie down"
    return "hardly sag" if sag < _RIGID_SAG_RATIO else f"sag by about {sag:.0%} of its height"


def _set_young(scene: bpy.types.Scene, obj: bpy.types.Object, shape: Shape, load: Load) -> None:
    props, density, pull = obj.supple, exact_float(obj.supple.density), gravity(scene)
    sag = _sag_of_pinned(obj, shape, density, pull)
    if sag is None:
        used = shape.vertices[np.unique(shape.triangles)]
        young = default_young(used, density, pull, load=load)
        props.suited_bend = 0.0
    else:
        young = sag.young()
        weight = density * float(np.linalg.norm(pull if any(pull) else EARTH))
        props.suited_bend = sag.compliance / weight
    follows = props.suited_viscosity > 0.0 and props.viscosity == props.suited_viscosity
    # Two digits promise no more than the estimate holds.
    props.young = props.suited_young = float(f"{young:.2g}")
    props.suited_to = _circumstances(obj, load)
    if follows:
        _set_viscosity(obj, shape)


def _sag_of_pinned(
    obj: bpy.types.Object, shape: Shape, density: float, pull: Sequence[float]
) -> PinnedSag | None:
    """The sag of a body from its pins; None where no pin holds it."""
    vertices = _pinned_vertices(obj)
    if len(vertices) == 0 or len(shape.points) != len(obj.data.vertices):
        return None
    axes, _ = np.linalg.qr(np.array(obj.matrix_world.to_3x3()))
    try:
        return pinned_sag(
            *(shape.vertices, shape.triangles, shape.points[vertices], density, pull),
            poisson=exact_float(obj.supple.poisson),
            axes=axes,
        )
    except SuppleError:
        return None  # A body that is pinned outside of its own shape stands free.


def _pinned_vertices(obj: bpy.types.Object) -> NDArray[np.intp]:
    """The indices of the vertices that pins or attachments hold, unless it jiggles."""
    props = obj.supple
    if props.jiggle_group:
        return np.empty(0, dtype=np.intp)
    held = []
    for name, is_on in ((props.pin_group, True), (props.attach_group, props.attach_to is not None)):
        group = obj.vertex_groups.get(name) if name and is_on else None
        if group is not None:
            held.append(np.flatnonzero(group_weights(obj, group) >= PIN_WEIGHT))
    vertices = np.unique(np.concatenate(held)) if held else np.empty(0, dtype=np.intp)
    return vertices if len(vertices) < len(obj.data.vertices) else vertices[:0]


def _circumstances(obj: bpy.types.Object, load: Load) -> str:
    """The pins and the load of a body: the stiffness that suits it is another where these are."""
    return _described(_pinned_vertices(obj), load)


def _described(vertices: NDArray[np.intp], load: Load) -> str:
    pins = vertices.astype(np.int32)
    return f"{len(pins)} {crc32(pins.tobytes())} {load.mass:.2g} {load.height:.2g}"


# The circumstances of a body that nothing holds, and on which nothing stands.
_FREE = _described(np.empty(0, dtype=np.intp), Load())


def _set_viscosity(obj: bpy.types.Object, shape: Shape) -> None:
    props = obj.supple
    material = exact_float(props.young), exact_float(props.poisson), exact_float(props.density)
    viscosity = default_viscosity(shape.longest_side, *material)
    props.viscosity = props.suited_viscosity = float(f"{viscosity:.2g}")


def _set_resolution(obj: bpy.types.Object, shape: Shape) -> None:
    surface = check_surface(shape.vertices, shape.triangles)
    obj.supple.resolution = round(shape.longest_side / default_edge_length(*surface))
