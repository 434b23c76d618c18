# SPDX-License-Identifier: GPL-3.0-or-later
"""What a preset of a real material sets, and which one a soft body has."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

from ...core.materials.presets import PRESETS, Preset

_SETTINGS = (
    *("model", "young", "poisson", "density"),
    *("damping", "stiffness_damping", "viscosity", "use_plasticity"),
)
_FLOW_SETTINGS = "yield_stress", "creep_time", "hardening"


def settings(preset: Preset) -> dict[str, Any]:
    """The values of a soft body's settings."""
    names = (*_SETTINGS, *_FLOW_SETTINGS) if preset.use_plasticity else _SETTINGS
    return {name: getattr(preset, name) for name in names}


def label(props: bpy.types.PropertyGroup) -> str:
    """Of the preset whose values a soft body has, such as ``Cork``; empty where it has none's."""
    for preset in PRESETS.values():
        if all(_is_kept(getattr(props, name), value) for name, value in settings(preset).items()):
            return preset.label
    return ""


def _is_kept(now: object, value: object) -> bool:
    """As properties keep it: numbers in single precision."""
    return now == (float(np.float32(value)) if isinstance(value, float) else value)
