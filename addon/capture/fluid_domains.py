# SPDX-License-Identifier: GPL-3.0-or-later
"""What flows in Blender's fluid domains, as it is baked."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SceneError
from ...core.scene.velocity_grid import VelocityGrid
from ..paths import absolute
from .captured import CaptureError
from .motion import Recording, world_matrix

Cells = NDArray[np.float32]

# A step of its solver is so many seconds; velocities are in cells a step.
_SECONDS = 0.4


def why_unread(field: bpy.types.FieldSettings) -> str:
    """Why what flows in the domain of a force field cannot be read, and the cure; else empty."""
    obj = field.source_object
    if obj is None:
        return "has no Domain Object. Choose one, or hide it."
    modifier = _modifier(obj)
    if modifier is None or not modifier.show_viewport:
        return (
            f"has {obj.name} for its Domain Object, which is no fluid domain in the viewport. "
            "Choose another, or hide it."
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
            f"{domain.cache_directory}. Do so, or hide the field."
        )
    if domain.domain_type == "GAS" and domain.use_adaptive_domain:
        return (
            f"cannot tell which part of {obj.name} is filled at each frame. Untick Adaptive "
            "Domain and bake it again, or hide the field."
        )
    if field.use_smoke_density and (domain.domain_type == "LIQUID" or domain.use_noise):
        what = "is a liquid" if domain.domain_type == "LIQUID" else "has Noise"
        return (
            f"cannot tell the smoke in {obj.name}, which {what}. Untick Smoke Density of the "
            "field, or hide it."
        )
    if not bpy.app.build_options.fluid or bpy.app.module:
        return "cannot be read here, where there are no fluids. Simulate in Blender itself."
    return ""


def baked_frames(obj: bpy.types.Object) -> range:
    """Those at which something can flow in a domain."""
    domain = _settings(obj)
    return range(domain.cache_frame_start, domain.cache_frame_end + 1)


class DomainRecording(Recording):
    """What flows in a domain over the frames.

    Args:
        obj: the domain.
        unit: metres in a Blender unit.
        with_density: whether its smoke is wanted, too.
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
        """What the solver gets, once all frames were recorded, and at which of them it flows.

        Raises:
            CaptureError: when it never does, or makes no sense.
        """
        name, found = self._obj.name, [each for each in self._cells if each is not None]
        # Blender takes zeros for what it cannot read.
        if not any(each[..., :3].any() for each in found):
            raise CaptureError(
                f"Nothing flows in {name} at any simulated frame. Bake it for these, or hide the "
                "force field Fluid Flow."
            )
        if len({each.shape for each in found}) > 1:
            raise CaptureError(
                f"{name} is a fluid domain whose cells change in number. Bake it again at one "
                "resolution, or hide the force field Fluid Flow."
            )
        still = np.zeros_like(found[0])
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
    """As Blender's own field does, the first one alone."""
    found = next((each for each in obj.modifiers if each.type == "FLUID"), None)
    return found if found is not None and found.fluid_type == "DOMAIN" else None


def _has_files(obj: bpy.types.Object, domain: bpy.types.FluidDomainSettings) -> bool:
    folder = absolute(domain.cache_directory, library=obj.library) / "data"
    return folder.is_dir() and next(folder.iterdir(), None) is not None


def _settings(obj: bpy.types.Object) -> bpy.types.FluidDomainSettings:
    modifier = _modifier(obj)
    if modifier is None:
        raise CaptureError(f"{obj.name} is no fluid domain at a simulated frame.")
    return modifier.domain_settings


def _speed(obj: bpy.types.Object) -> float:
    """Of a cell a step, in Blender units a second: by the longest side, and by the scale of the
    object alone, as Blender's own field has it."""
    domain = _settings(obj)
    counts = np.array(domain.domain_resolution)
    sides = counts * np.array(domain.cell_size) * np.abs(obj.scale)
    return float(sides.max() / max(1, counts.max()) / _SECONDS)


def _numbers(
    grid: bpy.types.bpy_prop_array[float], domain: bpy.types.FluidDomainSettings, count: int
) -> Cells | None:
    """(Z, Y, X, count) of a domain; None where it holds nothing."""
    width, height, depth = domain.domain_resolution
    if len(grid) != depth * height * width * count or len(grid) == 0:
        return None
    values = np.empty(len(grid), dtype=np.float32)
    grid.foreach_get(values)
    return values.reshape(depth, height, width, count)
