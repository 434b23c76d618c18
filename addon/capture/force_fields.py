# SPDX-License-Identifier: GPL-3.0-or-later
"""Blender's force fields, the flow of fluids, and objects that absorb fields."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SceneError
from ...core.scene.channel import Channel
from ...core.scene.forces import (
    FALLOFF_NUMBERS,
    OWN_NUMBERS,
    Absorber,
    Falloff,
    FieldKind,
    FieldShape,
    ForceField,
    VelocityGrid,
)
from ..animated import animated_paths
from ..paths import absolute
from ..units import exact_float
from .captured import CaptureError
from .colliders import MeshCollider
from .motion import Recording, may_move, world_matrix
from .objects import is_soft_body

Cells = NDArray[np.float32]

# The step of its solver in seconds; velocities are in cells a step.
_SECONDS = 0.4


def why_unread(field: bpy.types.FieldSettings) -> str:
    """Return the reason why the flow in the domain of a force field cannot be read, with the cure;
    else an empty text."""
    obj = field.source_object
    if obj is None:
        return "has no Domain Object. Choose one, or hide the field."
    modifier = _modifier(obj)
    if modifier is None or not modifier.show_viewport:
        return (
            f"uses {obj.name} as its Domain Object, which is not a fluid domain in the "
            "viewport. Choose another object, or hide the field."
        )
    domain = modifier.domain_settings
    if not domain.has_cache_baked_data:
        return (
            f"needs the fluid in {obj.name} to be baked first: choose All or Modular for the Type "
            "of its Cache and bake, or hide the field."
        )
    if not _has_files(obj, domain):
        return (
            f"needs the fluid in {obj.name} to be baked again: its files are not in "
            f"{domain.cache_directory}. Bake it, or hide the field."
        )
    if domain.domain_type == "GAS" and domain.use_adaptive_domain:
        return (
            f"cannot read which part of {obj.name} is filled at each frame. Untick Adaptive Domain "
            "and bake it again, or hide the field."
        )
    if field.use_smoke_density and (domain.domain_type == "LIQUID" or domain.use_noise):
        what = "is a liquid" if domain.domain_type == "LIQUID" else "has Noise"
        return (
            f"cannot read the smoke density of {obj.name}, which {what}. Untick Smoke Density of "
            "the field, or hide it."
        )
    if not bpy.app.build_options.fluid or bpy.app.module:
        return (
            "cannot be read, since this build of Blender has no fluids. Simulate in Blender itself."
        )
    return ""


def baked_frames(obj: bpy.types.Object) -> range:
    """The frames for which the fluid of a domain is baked."""
    domain = _settings(obj)
    return range(domain.cache_frame_start, domain.cache_frame_end + 1)


class DomainRecording(Recording):
    """The flow in a fluid domain over the frames.

    Args:
        obj: the domain.
        unit: metres in a Blender unit.
        with_density: whether to read its smoke, too.
    """

    def __init__(self, obj: bpy.types.Object, unit: float, with_density: bool) -> None:
        def place(depsgraph: bpy.types.Depsgraph) -> NDArray[np.float64]:
            matrix = unit * world_matrix(obj, depsgraph)[:3]
            return np.append(matrix.ravel(), unit * _speed(obj.evaluated_get(depsgraph)))

        super().__init__(place, may_change=True)
        self._obj, self._with_density = obj, with_density
        self._cells: list[Cells | None] = []
        self._box: dict[str, Any] = {}

    def take(self, depsgraph: bpy.types.Depsgraph) -> None:
        super().take(depsgraph)
        domain = _settings(self._obj.evaluated_get(depsgraph))
        cells = _numbers(domain.velocity_grid, domain, 3)
        if cells is not None and self._with_density:
            smoke = _numbers(domain.density_grid, domain, 1)
            cells = None if smoke is None else np.concatenate([cells, smoke], axis=-1)
        self._cells.append(cells)
        if cells is not None and not self._box:
            self._box = {"start": tuple(domain.start_point), "cell": tuple(domain.cell_size)}

    def described(self) -> tuple[VelocityGrid, NDArray[np.bool_]]:
        """The grid for the solver, once all frames were recorded, and the frames at which it flows.

        Raises:
            CaptureError: when it never does, or makes no sense.
        """
        name, present = self._obj.name, [each for each in self._cells if each is not None]
        # Blender takes zeros for values that it cannot read.
        if not any(each[..., :3].any() for each in present):
            raise CaptureError(
                f"{name} has no flow at any simulated frame. Bake it for these frames, or hide "
                "the force field Fluid Flow."
            )
        if len({each.shape for each in present}) > 1:
            raise CaptureError(
                f"The resolution of the fluid domain {name} changes over time. Bake it again "
                "at one resolution, or hide the force field Fluid Flow."
            )
        still = np.zeros_like(present[0])
        cells = np.stack([still if each is None else each for each in self._cells])
        place = self.channel()
        try:
            grid = VelocityGrid(
                cells[..., :3],
                place.mapped(lambda samples: samples[:, :12].reshape(-1, 3, 4)),
                speed=place.mapped(lambda samples: samples[:, 12]),
                density=cells[..., 3] if self._with_density else None,
                name=name,
                **self._box,
            )
        except SceneError as error:
            raise CaptureError(str(error)) from error
        return grid, np.array([each is not None for each in self._cells])


def _modifier(obj: bpy.types.Object) -> bpy.types.FluidModifier | None:
    """Return the modifier of a fluid domain: the first one of an object, as Blender's own field
    does."""
    modifier = next((each for each in obj.modifiers if each.type == "FLUID"), None)
    return modifier if modifier is not None and modifier.fluid_type == "DOMAIN" else None


def _has_files(obj: bpy.types.Object, domain: bpy.types.FluidDomainSettings) -> bool:
    folder = absolute(domain.cache_directory, library=obj.library) / "data"
    return folder.is_dir() and next(folder.iterdir(), None) is not None


def _settings(obj: bpy.types.Object) -> bpy.types.FluidDomainSettings:
    modifier = _modifier(obj)
    if modifier is None:
        raise CaptureError(f"{obj.name} is not a fluid domain at every simulated frame.")
    return modifier.domain_settings


def _speed(obj: bpy.types.Object) -> float:
    """The speed of one cell per step in Blender units per second. It follows the longest side
    and the scale of the object alone, as Blender's own field does."""
    domain = _settings(obj)
    counts = np.array(domain.domain_resolution)
    sides = counts * np.array(domain.cell_size) * np.abs(obj.scale)
    return float(sides.max() / max(1, counts.max()) / _SECONDS)


def _numbers(
    grid: bpy.types.bpy_prop_array[float], domain: bpy.types.FluidDomainSettings, count: int
) -> Cells | None:
    """Return the (Z, Y, X, count) numbers of a domain; None for an empty grid."""
    width, height, depth = domain.domain_resolution
    if len(grid) != depth * height * width * count or len(grid) == 0:
        return None
    values = np.empty(len(grid), dtype=np.float32)
    grid.foreach_get(values)
    return values.reshape(depth, height, width, count)


#: The kinds of fields by Blender's names.
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
#: The settings of Blender's fields that count.
SETTINGS = (
    *("type", "shape", "strength", "flow", "harmonic_damping", "size", "noise", "seed"),
    *("falloff_type", "z_direction", "falloff_power", "radial_falloff", "apply_to_location"),
    *("use_min_distance", "distance_min", "use_max_distance", "distance_max"),
    *("use_radial_min", "radial_min", "use_radial_max", "radial_max"),
    *("use_gravity_falloff", "use_global_coords", "use_absorption"),
)
#: The settings that are read at the first frame alone.
CHOICES = (
    *("type", "shape", "falloff_type", "z_direction", "use_max_distance", "use_radial_max"),
    *("use_gravity_falloff", "use_global_coords", "use_absorption"),
)
#: The same for fluid flows.
FLOW_CHOICE = "use_smoke_density"
#: Other names that Blender gives to settings of some kinds.
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
    fields = [obj for obj in context.view_layer.objects if acts(context.scene, obj)]
    return sorted(fields, key=lambda obj: obj.name)


def acts(scene: bpy.types.Scene, obj: bpy.types.Object) -> bool:
    """Whether an object is shown and has a force field of a kind that soft bodies feel. Fields of
    soft bodies and flows that cannot be read do not act."""
    collection = scene.supple.effector_collection
    if obj.field is None or obj.field.type not in KINDS or is_soft_body(obj):
        return False
    if obj.field.type == "FLUID_FLOW" and why_unread(obj.field):
        return False
    is_chosen = collection is None or collection.all_objects.get(obj.name) == obj
    return is_chosen and bool(obj.visible_get())


class FieldRecording:
    """A force field and the recordings of it over the frames.

    Args:
        obj: the object that has it.
        unit: metres in a Blender unit.
    """

    def __init__(self, obj: bpy.types.Object, unit: float) -> None:
        def numbers(depsgraph: bpy.types.Depsgraph) -> NDArray[np.float64]:
            return np.array([*_place(obj, depsgraph, unit), *_field_numbers(obj, depsgraph)])

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
        """The object for the solver, once all frames were recorded.

        Raises:
            CaptureError: when it has no direction, or nothing flows in its domain.
        """
        samples = self.recording.channel().samples
        columns = [_changing(column) for column in samples.T[_PLACE_NUMBERS:]]
        numbers: dict[str, Any] = dict(zip((*OWN_NUMBERS, *FALLOFF_NUMBERS), columns, strict=True))
        custom_numbers = {name: numbers.pop(name) for name in OWN_NUMBERS}
        for name in self._endless:
            del numbers[name]
        place: dict[str, Any] = {
            "origin": _changing(samples[:, :3]),
            "axis": _changing(samples[:, 3:_PLACE_NUMBERS]),
        }
        if self._domain is not None:
            place["grid"], flows = self._domain.described()
            custom_numbers["weight"] = _changing(custom_numbers["weight"].samples * flows)
        try:
            falloff = Falloff(**self._falloff, **numbers)
            return ForceField(**self._choices, **place, **custom_numbers, falloff=falloff)
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


def _field_numbers(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> list[float]:
    """Return the numbers in the order of ``OWN_NUMBERS`` and ``FALLOFF_NUMBERS``."""
    evaluated = obj.evaluated_get(depsgraph)
    field = evaluated.field
    # Despite their names, this part is proportional to the square of the speed.
    strength, damping = field.strength, field.harmonic_damping
    if field.noise > 0.0:
        gusts = _gusts(field.seed, depsgraph.scene_eval.frame_current)
        strength += field.noise * gusts[0]
        damping += field.noise * gusts[1]
    if field.type == "DRAG":
        strength, damping = min(strength, _MAX_DRAG), min(damping, _MAX_DRAG)
    numbers = [
        *(strength, field.flow, damping),
        _visible_radius(evaluated) if field.type == "LENNARDJ" else field.size,
        float(field.apply_to_location),
        field.falloff_power,
        field.distance_min if field.use_min_distance else 0.0,
        field.distance_max,
        field.radial_falloff,
        field.radial_min if field.use_radial_min else 0.0,
        field.radial_max,
    ]
    return [exact_float(number) for number in numbers]


def _visible_radius(obj: bpy.types.Object) -> float:
    """The visible radius of an empty, or half the mean dimension of other objects. Lennard-Jones
    fields use the size of particles, which soft bodies do not have."""
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


#: The data path of an object's absorption.
ABSORPTION = "collision.absorption"


def absorbers(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The objects of the view layer that absorb a field, by name; none where no field that acts
    is absorbed."""
    scene, objects = context.scene, context.view_layer.objects
    if not any(is_absorbed(scene, obj) for obj in objects):
        return []
    objects_that_absorb = [obj for obj in objects if absorbs(obj) and obj.visible_get()]
    return sorted(objects_that_absorb, key=lambda obj: obj.name)


def is_absorbed(scene: bpy.types.Scene, obj: bpy.types.Object) -> bool:
    """Whether an object has a force field that acts, and can be absorbed."""
    return acts(scene, obj) and bool(obj.field.use_absorption)


def absorbs(obj: bpy.types.Object) -> bool:
    """Whether an object has Blender's Collision with a *Field Absorption* that is above 0 or
    animated. That of a soft body does not count."""
    return has_absorption(obj) and not is_soft_body(obj)


def has_absorption(obj: bpy.types.Object) -> bool:
    """Whether an object would absorb fields if it were not a soft body."""
    collision = obj.collision
    if collision is None or not collision.use:
        return False
    return collision.absorption > 0.0 or has_keyed_absorption(obj)


def has_keyed_absorption(obj: bpy.types.Object) -> bool:
    """Whether the absorption may change from frame to frame."""
    return ABSORPTION in animated_paths(obj)


class AbsorberRecording:
    """An object that absorbs force fields, and its recordings over the frames.

    Args:
        obj: the object.
        depsgraph: at the first of the frames.
        unit: metres in a Blender unit.

    Raises:
        CaptureError: when it has no faces.
    """

    def __init__(self, obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, unit: float) -> None:
        role, cure = "an absorber", "set its Field Absorption to 0"
        self._mesh = MeshCollider(obj, depsgraph, unit, role, cure)
        self._absorption = Recording(
            lambda now: np.array(exact_float(obj.evaluated_get(now).collision.absorption)),
            has_keyed_absorption(obj),
        )
        self.recordings = [self._mesh.recording, self._absorption]

    def described(self) -> Absorber:
        """The object for the solver, once all frames were recorded.

        Raises:
            CaptureError: when its settings make no sense.
        """
        mesh = self._mesh.described()
        return Absorber(mesh.vertices, mesh.triangles, self._absorption.channel(), mesh.name)
