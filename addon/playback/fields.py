# SPDX-License-Identifier: GPL-3.0-or-later
"""Recorded fields as an attribute, frame by frame, and the material that draws it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import JobError, SuppleError
from ...core.job import Job
from ...core.job.skin_fields import SkinField
from ...core.results import RESULTS
from ..bake import own_mesh
from ..modifiers import VIEW, find_modifier, first_frame
from ..paths import absolute, portable
from . import pc2
from .mesh_cache import folder_of

# Dark to light as the eye sees it, in sRGB: purple, blue, teal, green, yellow.
_COLOURS = (
    (0.27, 0.00, 0.33),
    (0.23, 0.32, 0.55),
    (0.13, 0.57, 0.55),
    (0.37, 0.79, 0.38),
    (0.99, 0.91, 0.14),
)
_RANGE_NODE = "Range"
# The ratio to the largest value of a range below which its lower end is reported as 0.
_ROUNDING_SHARE = 1e-6
# Places of sockets, whose names are another in newer versions of Blender.
_FACTOR, _LOW, _HIGH = 2, 1, 2


def title(name: str) -> str:
    """The name of the attribute, the material and the node group of a field."""
    return f"Supple {RESULTS[name].label}"


def any_shown() -> bool:
    """Whether any object may show a field, at a glance."""
    return any(title(name) in bpy.data.node_groups for name in RESULTS)


def find_view(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """The modifier that shows a field on an object."""
    modifiers = (m for m in obj.modifiers if m.type == "NODES" and m.name.startswith(VIEW))
    return next((m for m in modifiers if m.node_group is not None and shown_name(m)), None)


def shown_name(view: bpy.types.Modifier) -> str:
    """Return the name of the result that a modifier shows; empty for other modifiers."""
    group = view.node_group.name
    return next((name for name in RESULTS if title(name) == group), "")


def add_view(obj: bpy.types.Object, group: bpy.types.NodeTree) -> None:
    """Lets an object be drawn with a field's material."""
    view = obj.modifiers.new(VIEW, "NODES")
    view.node_group = group
    view.show_expanded = False


def make(name: str, low: float, high: float) -> bpy.types.NodeTree:
    """The node group of a field, its colours from ``low`` to ``high``; both are made once."""
    material = bpy.data.materials.get(title(name)) or _new_material(name)
    inputs = material.node_tree.nodes[_RANGE_NODE].inputs
    inputs[_LOW].default_value = low
    inputs[_HIGH].default_value = high if high > low else low + 1.0
    return bpy.data.node_groups.get(title(name)) or _new_group(name, material)


def described_range(name: str) -> str:
    """Return the range of the colours with its unit; empty where the field is not shown."""
    material = bpy.data.materials.get(title(name))
    node = material and material.node_tree.nodes.get(_RANGE_NODE)
    if not node:
        return ""
    low, high = (node.inputs[place].default_value for place in (_LOW, _HIGH))
    if abs(low) < _ROUNDING_SHARE * abs(high):
        low = 0.0
    return f"{low:.3g} … {high:.3g} {RESULTS[name].unit}".rstrip()


def remove_unused(name: str) -> None:
    """Removes the material and the node group of a field that nothing shows any more."""
    for blocks in (bpy.data.node_groups, bpy.data.materials):
        block = blocks.get(title(name))
        if block is not None and block.users == 0:
            blocks.remove(block)


def _new_material(name: str) -> bpy.types.Material:
    material = bpy.data.materials.new(title(name))
    if material.node_tree is None:  # before Blender 5, where every material has nodes
        material.use_nodes = True
    nodes, links = material.node_tree.nodes, material.node_tree.links
    nodes.clear()
    attribute, span, ramp, shader, output = (
        nodes.new(kind)
        for kind in (
            "ShaderNodeAttribute",
            "ShaderNodeMapRange",
            "ShaderNodeValToRGB",
            "ShaderNodeBsdfPrincipled",
            "ShaderNodeOutputMaterial",
        )
    )
    attribute.attribute_name, span.name = title(name), _RANGE_NODE
    _colour(ramp.color_ramp)
    links.new(attribute.outputs[_FACTOR], span.inputs[0])
    links.new(span.outputs[0], ramp.inputs[0])
    links.new(ramp.outputs[0], shader.inputs["Base Color"])
    links.new(shader.outputs[0], output.inputs[0])
    for column, node in enumerate((attribute, span, ramp, shader, output)):
        node.location = 300.0 * column, 0.0
    return material


def _colour(ramp: bpy.types.ColorRamp) -> None:
    last = len(_COLOURS) - 1
    while len(ramp.elements) <= last:
        ramp.elements.new(0.5)
    for place, colour in enumerate(_COLOURS):
        ramp.elements[place].position = place / last
        ramp.elements[place].color = (*map(_linear, colour), 1.0)


def _linear(value: float) -> float:
    """The linear value of an sRGB value, by IEC 61966-2-1."""
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def _new_group(name: str, material: bpy.types.Material) -> bpy.types.NodeTree:
    group = bpy.data.node_groups.new(title(name), "GeometryNodeTree")
    for direction in ("INPUT", "OUTPUT"):
        group.interface.new_socket("Geometry", in_out=direction, socket_type="NodeSocketGeometry")
    start, painted, end = (
        group.nodes.new(kind)
        for kind in ("NodeGroupInput", "GeometryNodeSetMaterial", "NodeGroupOutput")
    )
    painted.inputs["Material"].default_value = material
    group.links.new(start.outputs[0], painted.inputs["Geometry"])
    group.links.new(painted.outputs[0], end.inputs[0])
    for column, node in enumerate((start, painted, end)):
        node.location = 200.0 * column, 0.0
    return group


Values = NDArray[np.float32]

# Bodies whose embeddings are kept while they play.
_KEPT_BODIES = 64

#: Why a field could not be read when it was last to be shown; empty when all could.
problem = ""


@dataclass(frozen=True)
class _Source:
    """The source of an object's frames.

    Args:
        path: the playback file, whose path gives the job and the body.
        first: the scene frame of its first sample.
        speed: the samples played in a frame.
        pre_roll: frames of the job before that.
    """

    path: Path
    first: float
    speed: float
    pre_roll: int

    def field(self, name: str) -> SkinField:
        return _field(folder_of(self.path), name, int(self.path.stem))

    def last_frame(self) -> int:
        """The last frame of the job."""
        return self.pre_roll + pc2.frame_count(self.path) - 1

    def at(self, name: str, time: float) -> Values:
        """(V,) a field at a scene frame or between two, as playback interpolates.

        Raises:
            SuppleError: when it cannot be read.
        """
        shown = (time - self.first) * self.speed
        shown = min(max(shown, 0.0), float(self.last_frame() - self.pre_roll))
        frame = self.pre_roll + shown
        before, field = int(frame), self.field(name)
        values = field.at(before)
        if share := frame - before:
            values = values + np.float32(share) * (field.at(before + 1) - values)
        return values


def remember(obj: bpy.types.Object) -> None:
    """Keeps where the frames of an object come from, for when it plays them no more."""
    modifier, props = find_modifier(obj), obj.supple
    if modifier is not None:
        props.field_path = portable(absolute(modifier.filepath))
        props.field_start, props.field_speed = first_frame(modifier), modifier.frame_scale


def forget(obj: bpy.types.Object) -> None:
    obj.supple.property_unset("field_path")
    obj.supple.property_unset("field_start")
    obj.supple.property_unset("field_speed")


def show(objects: Iterable[bpy.types.Object], name: str, scene: bpy.types.Scene) -> str:
    """Show a result on the simulated bodies, in place of another, in colours from the least to the
    largest value of any of them.

    Returns:
        The range, such as ``0 … 1.2e+04 Pa``.

    Raises:
        SuppleError: when it cannot be shown; nothing was changed.
    """
    sources = {obj: source for obj in objects if (source := _source(obj)) is not None}
    if not sources:
        raise SuppleError("Nothing is simulated yet. Press Simulate first.")
    for obj in sources:
        _check(obj, name)
    ranges = [_range(source, name) for source in sources.values()]
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    for obj in sources:
        hide(obj)
    group = make(name, low, high)
    for obj in sources:
        obj.data.attributes.new(title(name), "FLOAT", "POINT")
        add_view(obj, group)
        remember(obj)
    update(scene)
    return described_range(name)


def hide(obj: bpy.types.Object) -> bool:
    """Remove the data that ``show`` added; False when there was none."""
    view = find_view(obj)
    if view is None:
        return False
    name = shown_name(view)
    obj.modifiers.remove(view)
    if (attribute := obj.data.attributes.get(title(name))) is not None:
        obj.data.attributes.remove(attribute)
    remove_unused(name)
    return True


def update(scene: bpy.types.Scene, *_: object) -> None:
    """Writes the values of the scene's frame to the attributes; cheap where none are shown."""
    global problem
    if not any_shown():
        return
    problem = ""
    for obj in scene.objects:
        view = find_view(obj)
        if view is not None and obj.is_editable and not obj.data.is_editmode:
            _update(obj, shown_name(view), scene.frame_current_final)


@contextmanager
def all_recorded(objects: Iterable[bpy.types.Object], scene: bpy.types.Scene) -> Iterator[None]:
    """Give meshes an attribute of each recorded result, frame by frame, beside those that are
    shown."""
    recorded = [
        (obj, name)
        for obj in objects
        if (source := _source(obj)) is not None
        for name in _recorded(folder_of(source.path))
        if title(name) not in obj.data.attributes
    ]

    def update(scene: bpy.types.Scene, *_: object) -> None:
        for obj, name in recorded:
            _update(obj, name, scene.frame_current_final)

    update(scene)
    bpy.app.handlers.frame_change_pre.append(update)
    try:
        yield
    finally:
        bpy.app.handlers.frame_change_pre.remove(update)
        for obj, name in recorded:
            obj.data.attributes.remove(obj.data.attributes[title(name)])


def why_not_shown(objects: Iterable[bpy.types.Object], name: str) -> str:
    """Return the reason why a result cannot be shown on soft bodies, with the cure; empty where it
    can."""
    sources = list(filter(None, map(_source, objects)))
    if not sources:
        return "Nothing is simulated yet. Press Simulate first."
    if any(name in _recorded(folder_of(source.path)) for source in sources):
        return ""
    return f"{RESULTS[name].label} was not recorded. Tick it under Record, then simulate again."


def _recorded(folder: Path) -> tuple[str, ...]:
    """The results that a job keeps; none of one that cannot be read."""
    try:
        written = (folder / "scene.json").stat().st_mtime_ns
    except OSError:
        return ()
    return _recorded_results(folder, written)


@lru_cache(maxsize=_KEPT_BODIES)
def _recorded_results(folder: Path, _written: int) -> tuple[str, ...]:
    try:
        return Job(folder).settings.results
    except JobError:
        return ()


def forget_fields() -> None:
    """Forget all fields when another file is opened."""
    _field.cache_clear()
    _recorded_results.cache_clear()


def _update(obj: bpy.types.Object, name: str, time: float) -> None:
    global problem
    mesh = obj.data
    attribute = mesh.attributes.get(title(name))
    if attribute is None:
        attribute = mesh.attributes.new(title(name), "FLOAT", "POINT")
    values = np.zeros(len(mesh.vertices), dtype=np.float32)
    source = _source(obj)
    try:
        frame_values = values if source is None else source.at(name, time)
        # On another mesh, playback stands still as well.
        values = frame_values if len(frame_values) == len(values) else values
    except SuppleError as error:
        problem = problem or f"{obj.name} shows no {RESULTS[name].label}: {error}"
    attribute.data.foreach_set("value", values)
    mesh.update_tag()


def _source(obj: bpy.types.Object) -> _Source | None:
    """The source of an object's frames; None for an object without frames."""
    modifier, props = find_modifier(obj), obj.supple
    pre_roll = props.simulated_pre_roll
    if modifier is not None:
        speed = modifier.frame_scale or 1.0
        first = modifier.frame_start / speed
        return _Source(absolute(modifier.filepath), first, speed, pre_roll)
    if not props.field_path:
        return None
    return _Source(absolute(props.field_path), props.field_start, props.field_speed, pre_roll)


def _range(source: _Source, name: str) -> tuple[float, float]:
    folder = folder_of(source.path)
    if not folder.is_dir():
        raise SuppleError(
            f"The simulated frames are no longer in {folder}, which also held the fields. "
            "Simulate again."
        )
    return source.field(name).range(source.last_frame(), source.pre_roll)


def _check(obj: bpy.types.Object, name: str) -> None:
    attribute = title(name)
    if obj.mode != "OBJECT":
        raise SuppleError(f"{obj.name} is being edited. Leave Edit Mode first.")
    if not obj.data.is_editable or own_mesh.sharing_objects(obj):
        raise SuppleError(
            f"The mesh of {obj.name} is linked, or other objects share it. Choose Object › "
            "Relations › Make Single User."
        )
    if find_view(obj) is None and attribute in obj.data.attributes:
        raise SuppleError(f"{obj.name} already has an attribute {attribute}. Rename it first.")


@lru_cache(maxsize=_KEPT_BODIES)
def _field(folder: Path, name: str, body: int) -> SkinField:
    return SkinField(Job(folder), name, body)
