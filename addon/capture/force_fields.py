# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's force fields, as soft bodies feel them."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SceneError
from ...core.scene.channel import Channel
from ...core.scene.force_fields import (
    FALLOFF_NUMBERS,
    OWN_NUMBERS,
    Falloff,
    FieldKind,
    FieldShape,
    ForceField,
)
from ..units import exact_float
from .captured import CaptureError
from .fluid_domains import DomainRecording, why_unread
from .motion import Recording, may_move, world_matrix
from .objects import is_soft_body

#: By Blender's names.
KINDS: dict[str, FieldKind] = {
    "FORCE": "force",
    "WIND": "wind",
    "VORTEX": "vortex",
    "MAGNET": "magnetic",
    "HARMONIC": "harmonic",
    "CHARGE": "charge",
    "LENNARDJ": "lennard_jones",
    "TURBULENCE": "turbulence",
    "DRAG": "drag",
    "FLUID_FLOW": "fluid_flow",
}
#: Others act as points do.
SHAPES: dict[str, FieldShape] = {"POINT": "point", "LINE": "line", "PLANE": "plane"}
#: What of Blender's settings counts.
SETTINGS = (
    *("type", "shape", "strength", "flow", "harmonic_damping", "size", "noise", "seed"),
    *("falloff_type", "z_direction", "falloff_power", "radial_falloff", "apply_to_location"),
    *("use_min_distance", "distance_min", "use_max_distance", "distance_max"),
    *("use_radial_min", "radial_min", "use_radial_max", "radial_max"),
    *("use_gravity_falloff", "use_global_coords", "use_absorption"),
)
#: What of them is as it is at the first frame.
CHOICES = (
    *("type", "shape", "falloff_type", "z_direction", "use_max_distance", "use_radial_max"),
    *("use_gravity_falloff", "use_global_coords", "use_absorption"),
)
#: What of fluid flows is, besides.
FLOW_CHOICE = "use_smoke_density"
#: By which some of them are known for some kinds.
OTHER_NAMES = {
    "strength": "linear_drag",
    "harmonic_damping": "quadratic_drag",
    "flow": "inflow",
    "size": "rest_length",
}
# Blender lets drag have so much of either part.
_MAX_DRAG = 2.0
_PLACE_NUMBERS = 6


def acting_fields(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The objects of the view layer with a force field that acts on soft bodies, by name."""
    found = [obj for obj in context.view_layer.objects if acts(context.scene, obj)]
    return sorted(found, key=lambda obj: obj.name)


def acts(scene: bpy.types.Scene, obj: bpy.types.Object) -> bool:
    """Whether an object has a force field of a kind that soft bodies feel, and is shown. That of a
    soft body does not act, nor does what flows where it cannot be read."""
    collection = scene.supple.effector_collection
    if obj.field is None or obj.field.type not in KINDS or is_soft_body(obj):
        return False
    if obj.field.type == "FLUID_FLOW" and why_unread(obj.field):
        return False
    is_chosen = collection is None or collection.all_objects.get(obj.name) == obj
    return is_chosen and bool(obj.visible_get())


class FieldRecording:
    """A force field, and what is recorded of it over the frames.

    Args:
        obj: the object that has it.
        unit: metres in a Blender unit.
    """

    def __init__(self, obj: bpy.types.Object, unit: float) -> None:
        def numbers(depsgraph: bpy.types.Depsgraph) -> NDArray[np.float64]:
            return np.array([*_place(obj, depsgraph, unit), *_numbers(obj, depsgraph)])

        self.recording = Recording(numbers, may_move(obj) or obj.field.noise > 0.0)
        #: All that is recorded.
        self.recordings = [self.recording]
        # Choices are those of the first frame.
        field = obj.field
        self._domain: DomainRecording | None = None
        if field.type == "FLUID_FLOW":
            self._domain = DomainRecording(field.source_object, unit, field.use_smoke_density)
            self.recordings.append(self._domain)
        ends = {"max_distance": field.use_max_distance, "max_radius": field.use_radial_max}
        self._endless = [name for name, is_used in ends.items() if not is_used]
        self._falloff: dict[str, Any] = {
            "shape": field.falloff_type.lower(),
            "side": field.z_direction.lower(),
        }
        self._choices: dict[str, Any] = {
            "kind": KINDS[field.type],
            "shape": SHAPES.get(field.shape, "point"),
            "is_inverse_square": field.use_gravity_falloff,
            "is_global": field.use_global_coords,
            "unit": unit,
            "name": obj.name,
            "is_absorbed": field.use_absorption,
        }

    def described(self) -> ForceField:
        """What the solver gets, once all frames were recorded.

        Raises:
            CaptureError: when it has no direction, or nothing flows in its domain.
        """
        samples = self.recording.channel().samples
        columns = [_changing(column) for column in samples.T[_PLACE_NUMBERS:]]
        numbers: dict[str, Any] = dict(zip((*OWN_NUMBERS, *FALLOFF_NUMBERS), columns, strict=True))
        own = {name: numbers.pop(name) for name in OWN_NUMBERS}
        for name in self._endless:
            del numbers[name]
        place: dict[str, Any] = {
            "origin": _changing(samples[:, :3]),
            "axis": _changing(samples[:, 3:_PLACE_NUMBERS]),
        }
        if self._domain is not None:
            place["grid"], flows = self._domain.described()
            own["weight"] = _changing(own["weight"].samples * flows)
        try:
            falloff = Falloff(**self._falloff, **numbers)
            return ForceField(**self._choices, **place, **own, falloff=falloff)
        except SceneError as error:
            raise CaptureError(str(error)) from error


def _changing(samples: NDArray[np.float64]) -> Channel:
    return Channel(samples[:1] if (samples == samples[0]).all() else samples)


def _place(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, unit: float
) -> NDArray[np.float64]:
    """(6,) the origin in metres and the axis."""
    matrix = world_matrix(obj, depsgraph)
    return np.concatenate([unit * matrix[:3, 3], matrix[:3, 2]])


def _numbers(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> list[float]:
    """In the order of ``OWN_NUMBERS`` and ``FALLOFF_NUMBERS``."""
    evaluated = obj.evaluated_get(depsgraph)
    field = evaluated.field
    # Whatever their names say: this is the part that goes by the square of the speed.
    strength, damping = field.strength, field.harmonic_damping
    if field.noise > 0.0:
        gusts = _gusts(field.seed, depsgraph.scene_eval.frame_current)
        strength += field.noise * gusts[0]
        damping += field.noise * gusts[1]
    if field.type == "DRAG":
        strength, damping = min(strength, _MAX_DRAG), min(damping, _MAX_DRAG)
    numbers = [
        *(strength, field.flow, damping),
        _seen_radius(evaluated) if field.type == "LENNARDJ" else field.size,
        float(field.apply_to_location),
        field.falloff_power,
        field.distance_min if field.use_min_distance else 0.0,
        field.distance_max,
        field.radial_falloff,
        field.radial_min if field.use_radial_min else 0.0,
        field.radial_max,
    ]
    return [exact_float(number) for number in numbers]


def _seen_radius(obj: bpy.types.Object) -> float:
    """Of an empty as it is drawn, of others half of what they measure on average: particles have a
    size of their own for Lennard-Jones fields, soft bodies none."""
    if obj.type == "EMPTY":
        return float(obj.empty_display_size * np.mean(np.abs(obj.matrix_world.to_scale())))
    return 0.5 * float(np.mean(obj.dimensions))


def _gusts(seed: int, frame: int) -> tuple[float, float]:
    """Random numbers of a frame, spread as those of Blender's noise: −½ … 1, few near 1."""
    raw = np.random.PCG64([seed, frame % 2**32]).random_raw(4)
    first, first_share, second, second_share = raw / 2.0**64
    return _gust(first, first_share), _gust(second, second_share)


def _gust(size: float, share: float) -> float:
    return float((size if size > 0.5 else -size) / (1.0 + share))
