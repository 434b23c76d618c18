# SPDX-License-Identifier: GPL-3.0-or-later
"""The modifiers of an object that drive its soft body, and those that refine the result.

Modifiers before the simulated frames deform the mesh that is filled, pinned and drawn to goals.
The frames replace their result, and modifiers after them act on the frames. Panels read this at
every redraw, so nothing is evaluated: the type of a modifier and the links of its nodes decide.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import bpy

from ..core.errors import SuppleError
from .animated import animated_paths
from .modifiers import find_modifier, is_own

#: Modifiers that carry a mesh away from where it was made, with the vertices that it has.
CARRYING = {
    "ARMATURE",
    "CAST",
    "CLOTH",
    "CURVE",
    "HOOK",
    "LAPLACIANDEFORM",
    "LATTICE",
    "MESH_CACHE",
    "MESH_DEFORM",
    "MESH_SEQUENCE_CACHE",
    "OCEAN",
    "SHRINKWRAP",
    "SIMPLE_DEFORM",
    "SOFT_BODY",
    "SURFACE_DEFORM",
    "WARP",
    "WAVE",
}
#: Modifiers that deform by their own numbers alone.
STILL_DEFORMING = {"CAST", "DISPLACE", "SIMPLE_DEFORM"}
_SMOOTHING = {"CORRECTIVE_SMOOTH", "LAPLACIANSMOOTH", "SMOOTH"}
# Modifiers that leave vertices in place, or only smooth.
_KEEPING = _SMOOTHING | {
    "COLLISION",
    "DATA_TRANSFER",
    "NORMAL_EDIT",
    "PARTICLE_SYSTEM",
    "SURFACE",
    "UV_PROJECT",
    "UV_WARP",
    "VERTEX_WEIGHT_EDIT",
    "VERTEX_WEIGHT_MIX",
    "VERTEX_WEIGHT_PROXIMITY",
    "WEIGHTED_NORMAL",
}
# The first add a number of vertices that does not depend on the shape; the others add or remove
# vertices depending on the shape.
_ADDING_STEADILY = {"MULTIRES", "SOLIDIFY", "SUBSURF", "TRIANGULATE", "WIREFRAME"}
_ADDING = _ADDING_STEADILY | {
    "ARRAY",
    "BEVEL",
    "DECIMATE",
    "EDGE_SPLIT",
    "MASK",
    "MIRROR",
    "REMESH",
    "SCREW",
    "SKIN",
    "WELD",
}
# The nodes that geometry may pass through without a change of its number of vertices.
_MOVING_NODES = {"GeometryNodeSetPosition", "GeometryNodeTransform"}
_PASSING_NODES = {
    "GeometryNodeCaptureAttribute",
    "GeometryNodeIndexSwitch",
    "GeometryNodeMenuSwitch",
    "GeometryNodeRemoveAttribute",
    "GeometryNodeRepeatInput",
    "GeometryNodeRepeatOutput",
    "GeometryNodeSetID",
    "GeometryNodeSetMaterial",
    "GeometryNodeSetMaterialIndex",
    "GeometryNodeSetMeshNormal",
    "GeometryNodeSetShadeSmooth",
    "GeometryNodeSimulationInput",
    "GeometryNodeSimulationOutput",
    "GeometryNodeStoreNamedAttribute",
    "GeometryNodeSwitch",
    "GeometryNodeWarning",
    "NodeGroupInput",
    "NodeReroute",
}


def keeps_vertices(modifier: bpy.types.Modifier) -> bool:
    """Whether a mesh has the same vertices after it, wherever they are."""
    if modifier.type == "NODES":
        return _passed(modifier) is not None
    if modifier.type == "OCEAN":
        return bool(modifier.geometry_mode == "DISPLACE")
    return modifier.type in CARRYING | _KEEPING or modifier.type == "DISPLACE"


def deforms(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier moves vertices and keeps their number. Modifiers that only smooth do not
    count."""
    if modifier.type == "NODES":
        return not _MOVING_NODES.isdisjoint(_passed(modifier) or ())
    return modifier.type not in _KEEPING and keeps_vertices(modifier)


def smooths(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier smooths the positions of vertices."""
    return modifier.type in _SMOOTHING


def adds(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier adds vertices to a mesh, from the mesh and the modifier's own numbers
    alone."""
    return modifier.type in _ADDING


def adds_steadily(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier adds the same number of vertices to a mesh, however it is bent."""
    merges = modifier.type == "SOLIDIFY" and modifier.solidify_mode != "EXTRUDE"
    return modifier.type in _ADDING_STEADILY and not merges


def _passed(modifier: bpy.types.Modifier) -> set[str] | None:
    """The kinds of nodes that geometry passes through; None where one may change its vertices."""
    tree = modifier.node_group
    kinds = None if tree is None else set(_kinds(tree))
    if not kinds or not kinds <= _MOVING_NODES | _PASSING_NODES or "NodeGroupInput" not in kinds:
        return None
    return kinds


def _kinds(tree: bpy.types.NodeTree) -> Iterator[str]:
    """Kinds of the nodes, inside groups too, that send geometry to a tree's output."""
    ends = [node for node in tree.nodes if node.bl_idname == "NodeGroupOutput"]
    waiting, seen = [node for end in ends for node in _sources(end)], set()
    while waiting:
        node = waiting.pop()
        if node.name in seen:
            continue
        seen.add(node.name)
        if node.bl_idname == "GeometryNodeGroup" and not node.mute and node.node_tree:
            yield from _kinds(node.node_tree)
        elif not node.mute:
            yield node.bl_idname
        waiting += _sources(node)


def _sources(node: bpy.types.Node) -> list[bpy.types.Node]:
    return [
        link.from_node
        for socket in node.inputs
        for link in socket.links
        if link.is_valid and not link.is_muted and link.from_socket.type == "GEOMETRY"
    ]


Modifiers = list[bpy.types.Modifier]

# The key on a baked object for its switched-off drivers and their former state.
RECORD = "supple_drivers"
# The parents that deform, by virtual modifiers before all others.
_DEFORMING_PARENTS = {"ARMATURE", "LATTICE"}


def drivers(obj: bpy.types.Object) -> Modifiers:
    """The user's modifiers before the simulated frames, or before where these would be played."""
    playback = find_modifier(obj)
    if playback is not None:
        return _users(obj)[: _place(obj, playback)]
    if RECORD in obj:
        names = obj[RECORD]["modifiers"].keys()
        return [modifier for modifier in obj.modifiers if modifier.name in names]
    return leading_drivers(obj)


def refiners(obj: bpy.types.Object) -> Modifiers:
    """The user's modifiers after the simulated frames."""
    return _users(obj)[len(drivers(obj)) :]


def leading_drivers(obj: bpy.types.Object) -> Modifiers:
    """Return the modifiers that deform before one changes the number of vertices. They would drive
    a body that was never simulated."""
    users, count = _users(obj), 0
    for place, modifier in enumerate(users, 1):
        if not (modifier.show_viewport or modifier.show_render):
            continue
        if modifier.use_pin_to_last or not keeps_vertices(modifier):
            break
        if deforms(modifier):
            count = place
    return users[:count]


def deforming_parent(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The armature, lattice or curve that bends an object as its parent."""
    bends = obj.parent is not None and obj.parent_type in _DEFORMING_PARENTS
    return obj.parent if bends else None


def is_shown(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier acts in the viewport, except if a bake switched it off."""
    record = obj[RECORD].to_dict() if RECORD in obj else {"modifiers": {}}
    shown, _ = record["modifiers"].get(modifier.name, (modifier.show_viewport, True))
    return bool(shown)


def is_driven(obj: bpy.types.Object) -> bool:
    """Whether anything but shape keys deforms the mesh before its frames."""
    if deforming_parent(obj) is not None:
        return True
    return any(modifier.show_viewport for modifier in drivers(obj))


def followers(obj: bpy.types.Object) -> list[str]:
    """The names of the drivers that follow other objects or the time."""
    parent = deforming_parent(obj)
    names = [] if parent is None else [parent.name]
    names += [
        modifier.name
        for modifier in drivers(obj)
        if is_shown(obj, modifier) and modifier.type not in STILL_DEFORMING
    ]
    return names


def order(obj: bpy.types.Object) -> str:
    """The names of the modifiers that drive a body and that refine the result, for panels; empty
    without any."""
    parent = deforming_parent(obj)
    driving = [] if parent is None else [parent.name]
    driving += [modifier.name for modifier in drivers(obj) if is_shown(obj, modifier)]
    refining = [modifier.name for modifier in refiners(obj) if is_shown(obj, modifier)]
    parts = [f"Follows: {', '.join(driving)}"] if driving else []
    parts += [f"Applied after: {', '.join(refining)}"] if refining else []
    return ". ".join(parts)


def put_in_place(obj: bpy.types.Object) -> bool:
    """Move playback behind the modifiers that drive a body and before those that refine it.

    Returns:
        False where it already is there.
    """
    playback = find_modifier(obj)
    if playback is None:
        return False
    place = len(leading_drivers(obj))
    if _place(obj, playback) == place:
        return False
    move_behind(obj, playback, leading_drivers(obj))
    return True


def move_behind(
    obj: bpy.types.Object, modifier: bpy.types.Modifier, others: Sequence[bpy.types.Modifier]
) -> None:
    """Moves a modifier right behind the last of others, or before all where there are none."""
    now = obj.modifiers.find(modifier.name)
    last = max((obj.modifiers.find(other.name) for other in others), default=-1)
    place = last + 1 if last < now else last
    if place != now:
        obj.modifiers.move(now, place)


@contextmanager
def without_refiners(objects: Sequence[bpy.types.Object]) -> Iterator[None]:
    """Switch off the modifiers that refine the driven bodies.

    Raises:
        SuppleError: when animation would switch it on again.
    """
    shown = [
        modifier
        for obj in objects
        if is_driven(obj)
        for modifier in steady(obj, refiners(obj))
        if modifier.show_viewport
    ]
    try:
        for modifier in shown:
            modifier.show_viewport = False
        yield
    finally:
        for modifier in shown:
            modifier.show_viewport = True


@contextmanager
def undriven(obj: bpy.types.Object) -> Iterator[None]:
    """Show an object as modelled, without its shape keys and its driving modifiers.

    Raises:
        SuppleError: when animation would switch a modifier on again.
    """
    driving = [modifier for modifier in steady(obj, drivers(obj)) if modifier.show_viewport]
    bends, kind = deforming_parent(obj) is not None, obj.parent_type
    keys = obj.show_only_shape_key, obj.active_shape_key_index
    try:
        for modifier in driving:
            modifier.show_viewport = False
        if bends:
            obj.parent_type = "OBJECT"
            # Blender evaluates the mesh without its parent only after a tag.
            obj.data.update_tag()
        if obj.data.shape_keys is not None:
            obj.show_only_shape_key, obj.active_shape_key_index = True, 0
        yield
    finally:
        for modifier in driving:
            modifier.show_viewport = True
        if bends:
            obj.parent_type = kind
            obj.data.update_tag()
        if obj.data.shape_keys is not None:
            obj.show_only_shape_key, obj.active_shape_key_index = keys


def switch_off(obj: bpy.types.Object) -> list[str]:
    """Keep driving modifiers and a deforming parent from acting until ``restore``; return their
    names."""
    modifiers, parent = steady(obj, drivers(obj)), deforming_parent(obj)
    obj[RECORD] = {
        "modifiers": {m.name: [m.show_viewport, m.show_render] for m in modifiers},
        "parent_type": "" if parent is None else obj.parent_type,
    }
    names = [m.name for m in modifiers if m.show_viewport or m.show_render]
    _switch(obj, on=False)
    return names if parent is None else [parent.name, *names]


def restore(obj: bpy.types.Object) -> None:
    """Switch on again the modifiers and the parent that ``switch_off`` switched off."""
    if RECORD in obj:
        _switch(obj, on=True)
        del obj[RECORD]


@contextmanager
def restored(obj: bpy.types.Object) -> Iterator[None]:
    """Make an object driven as without its bake."""
    if RECORD not in obj:
        yield
        return
    _switch(obj, on=True)
    try:
        yield
    finally:
        _switch(obj, on=False)


def _switch(obj: bpy.types.Object, on: bool) -> None:
    """Switch the recorded modifiers and parent on, as far as they were, or off."""
    record = obj[RECORD].to_dict()
    for name, shown in record["modifiers"].items():
        if (modifier := obj.modifiers.get(name)) is not None:
            modifier.show_viewport, modifier.show_render = (on and bool(was) for was in shown)
    if record["parent_type"] and obj.parent is not None:
        obj.parent_type = record["parent_type"] if on else "OBJECT"


def steady(obj: bpy.types.Object, modifiers: Modifiers) -> Modifiers:
    """The modifiers themselves.

    Raises:
        SuppleError: when one of them is switched on and off by its animation.
    """
    paths = animated_paths(obj)
    for modifier in modifiers:
        path = f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"].show_'
        if not paths.isdisjoint({f"{path}viewport", f"{path}render"}):
            raise SuppleError(
                f"The modifier {modifier.name} of {obj.name} is switched on and off by its "
                "animation. Clear that keyframe or driver, and animate the modifier's own "
                "settings instead."
            )
    return modifiers


def _users(obj: bpy.types.Object) -> Modifiers:
    return [modifier for modifier in obj.modifiers if not is_own(modifier)]


def _place(obj: bpy.types.Object, playback: bpy.types.Modifier) -> int:
    """The number of the user's modifiers before playback."""
    before = obj.modifiers[: obj.modifiers.find(playback.name)]
    return sum(not is_own(modifier) for modifier in before)
