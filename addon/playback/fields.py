# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the results of a run on its objects, frame by frame, as an attribute of their vertices.

A modifier gives the object a material that draws the attribute. The user's own materials stay where
they are, and come back when the modifier goes.
"""

from __future__ import annotations

from collections.abc import Iterable
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
from ..modifiers import find_modifier
from ..paths import absolute, portable
from . import field_material, pc2
from .field_material import find_view, shown_name
from .mesh_cache import folder_of

Values = NDArray[np.float32]

# Bodies whose embeddings are kept while they play.
_KEPT_BODIES = 64

#: Why a field could not be read when it was last to be shown; empty when all could.
problem = ""


@dataclass(frozen=True)
class _Source:
    """Where the frames of an object come from.

    Args:
        path: the playback file, which says what body of which job it is.
        first: the scene frame of its first sample.
        pre_roll: frames of the job before that.
    """

    path: Path
    first: int
    pre_roll: int

    def field(self, name: str) -> SkinField:
        return _field(folder_of(self.path), name, int(self.path.stem))

    def last_frame(self) -> int:
        """Of the job."""
        return self.pre_roll + pc2.frame_count(self.path) - 1

    def at(self, name: str, time: float) -> Values:
        """(V,) a field at a scene frame or between two, as playback interpolates.

        Raises:
            SuppleError: when it cannot be read.
        """
        shown = min(max(time - self.first, 0.0), float(self.last_frame() - self.pre_roll))
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
        props.field_start = int(modifier.frame_start)


def forget(obj: bpy.types.Object) -> None:
    obj.supple.property_unset("field_path")
    obj.supple.property_unset("field_start")


def show(objects: Iterable[bpy.types.Object], name: str, scene: bpy.types.Scene) -> str:
    """Shows a result on those that have been simulated, in place of another, in colours from the
    least to the largest value that any of them has.

    Returns:
        The range, such as ``0 … 1.2e+04 Pa``.

    Raises:
        SuppleError: when it cannot be shown; nothing was changed.
    """
    sources = {obj: source for obj in objects if (source := _source(obj)) is not None}
    if not sources:
        raise SuppleError("Nothing is simulated yet; press Simulate first.")
    for obj in sources:
        _check(obj, name)
    ranges = [_range(source, name) for source in sources.values()]
    low, high = min(low for low, _ in ranges), max(high for _, high in ranges)
    for obj in sources:
        hide(obj)
    group = field_material.make(name, low, high)
    for obj in sources:
        obj.data.attributes.new(field_material.title(name), "FLOAT", "POINT")
        field_material.add_view(obj, group)
        remember(obj)
    update(scene)
    return field_material.described_range(name)


def hide(obj: bpy.types.Object) -> bool:
    """Takes away what ``show`` added; False when there was nothing."""
    view = find_view(obj)
    if view is None:
        return False
    name = shown_name(view)
    obj.modifiers.remove(view)
    if (attribute := obj.data.attributes.get(field_material.title(name))) is not None:
        obj.data.attributes.remove(attribute)
    field_material.remove_unused(name)
    return True


def update(scene: bpy.types.Scene, *_: object) -> None:
    """Writes the values of the scene's frame to the attributes; cheap where none are shown."""
    global problem
    if not field_material.any_shown():
        return
    problem = ""
    for obj in scene.objects:
        view = find_view(obj)
        if view is not None and obj.is_editable and not obj.data.is_editmode:
            _update(obj, shown_name(view), scene.frame_current_final)


def why_not_shown(objects: Iterable[bpy.types.Object], name: str) -> str:
    """Why a result cannot be shown on soft bodies, and the cure; empty where it can."""
    sources = list(filter(None, map(_source, objects)))
    if not sources:
        return "Nothing is simulated yet; press Simulate first."
    if any(name in _recorded(folder_of(source.path)) for source in sources):
        return ""
    return f"{RESULTS[name].label} was not recorded. Tick it under Record, then simulate again."


def _recorded(folder: Path) -> tuple[str, ...]:
    """The results that a job keeps; none of one that cannot be read."""
    try:
        written = (folder / "scene.json").stat().st_mtime_ns
    except OSError:
        return ()
    return _recorded_then(folder, written)


@lru_cache(maxsize=_KEPT_BODIES)
def _recorded_then(folder: Path, _written: int) -> tuple[str, ...]:
    try:
        return Job(folder).settings.results
    except JobError:
        return ()


def forget_fields() -> None:
    """For when another file is opened."""
    _field.cache_clear()
    _recorded_then.cache_clear()


def _update(obj: bpy.types.Object, name: str, time: float) -> None:
    global problem
    mesh = obj.data
    attribute = mesh.attributes.get(field_material.title(name))
    if attribute is None:
        attribute = mesh.attributes.new(field_material.title(name), "FLOAT", "POINT")
    values = np.zeros(len(mesh.vertices), dtype=np.float32)
    source = _source(obj)
    try:
        found = values if source is None else source.at(name, time)
        # Of another mesh, playback stands still as well.
        values = found if len(found) == len(values) else values
    except SuppleError as error:
        problem = problem or f"{obj.name} shows no {RESULTS[name].label}: {error}"
    attribute.data.foreach_set("value", values)
    mesh.update_tag()


def _source(obj: bpy.types.Object) -> _Source | None:
    """Where the frames of an object come from; None of one that has none."""
    modifier, props = find_modifier(obj), obj.supple
    pre_roll = props.simulated_pre_roll
    if modifier is not None:
        return _Source(absolute(modifier.filepath), int(modifier.frame_start), pre_roll)
    if not props.field_path:
        return None
    return _Source(absolute(props.field_path), props.field_start, pre_roll)


def _range(source: _Source, name: str) -> tuple[float, float]:
    folder = folder_of(source.path)
    if not folder.is_dir():
        raise SuppleError(
            f"The simulated frames are no longer in {folder}, and fields are kept there alone; "
            "simulate again."
        )
    return source.field(name).range(source.last_frame(), source.pre_roll)


def _check(obj: bpy.types.Object, name: str) -> None:
    title = field_material.title(name)
    if obj.mode != "OBJECT":
        raise SuppleError(f"{obj.name} is being edited; leave Edit Mode first.")
    if not obj.data.is_editable or own_mesh.sharing_objects(obj):
        raise SuppleError(
            f"The mesh of {obj.name} is linked, or other objects share it; make it its own with "
            "Object › Relations › Make Single User."
        )
    if find_view(obj) is None and title in obj.data.attributes:
        raise SuppleError(f"{obj.name} has an attribute {title} of its own; rename it first.")


@lru_cache(maxsize=_KEPT_BODIES)
def _field(folder: Path, name: str, body: int) -> SkinField:
    return SkinField(Job(folder), name, body)
