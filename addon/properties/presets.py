# SPDX-License-Identifier: GPL-3.0-or-later
"""Presets of real materials: their settings, and the preset of a soft body."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

from ...core.materials.presets import HAND_SIZE, PRESETS, Preset
from ..units import metres_per_unit
from .suited import longest_side

_SETTINGS = (
    *("model", "young", "poisson", "density"),
    *("damping", "loss_factor", "stiffness_damping", "viscosity", "use_plasticity"),
)
_FLOW_SETTINGS = "yield_stress", "creep_time", "hardening"
#: The settings that a user's own preset keeps.
PRESET_SETTINGS = (*_SETTINGS, *_FLOW_SETTINGS, "guard", "plastic_limit", "friction")


def settings(preset: Preset) -> dict[str, Any]:
    """The values of a soft body's settings."""
    names = (*_SETTINGS, *_FLOW_SETTINGS) if preset.use_plasticity else _SETTINGS
    return {name: getattr(preset, name) for name in names}


def apply(props: bpy.types.PropertyGroup, preset: Preset, scale: float = 1.0) -> None:
    """Set the values of a preset, or of one for a body larger by a factor."""
    props.preset_scale = scale
    for name, value in settings(_scaled(preset, props.preset_scale)).items():
        setattr(props, name, value)


def apply_to_size(scene: bpy.types.Scene, obj: bpy.types.Object, preset: Preset) -> None:
    """Set the values with which a body looks like a piece of 10 cm."""
    size = metres_per_unit(scene) * longest_side(obj)
    apply(obj.supple, preset, size / HAND_SIZE if size > 0.0 else 1.0)


def label(props: bpy.types.PropertyGroup) -> str:
    """The name of the preset whose values a soft body has, such as ``Cork``; empty where it has
    none of them."""
    for preset in PRESETS.values():
        for scale in dict.fromkeys((1.0, props.preset_scale)):
            values = settings(_scaled(preset, scale)).items()
            if all(_is_kept(getattr(props, name), value) for name, value in values):
                return preset.label
    return ""


def _scaled(preset: Preset, scale: float) -> Preset:
    return preset if scale == 1.0 else preset.scaled(scale)


def _is_kept(now: object, value: object) -> bool:
    """Whether a property holds a value, in single precision as properties do."""
    return now == (float(np.float32(value)) if isinstance(value, float) else value)
