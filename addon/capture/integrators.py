# SPDX-License-Identifier: GPL-3.0-or-later
"""The integrators as a menu."""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ...core.scene.integrator_table import INTEGRATORS

#: Name, label and description, as Blender wants them.
ITEMS = [(name, row.label, row.description) for name, row in INTEGRATORS.items()]

SCENE = "scene"
#: The same for one body.
BODY_ITEMS = [(SCENE, "As the Scene", "The integrator of the scene"), *ITEMS]


def of_bodies(objects: Iterable[bpy.types.Object], scene: bpy.types.Scene) -> tuple[str, ...]:
    """The names of the integrators that soft bodies of a scene get."""
    choices = (obj.supple.integrator for obj in objects)
    return tuple(scene.supple.integrator if choice == SCENE else choice for choice in choices)


def use_tolerance(names: Iterable[str]) -> bool:
    """Whether any of these integrators adapts its steps to a tolerance."""
    return any(INTEGRATORS[name].is_adaptive for name in names)


def is_implicit(name: str) -> bool:
    """Whether an integrator solves for where a step ends, whatever the scene is like."""
    return INTEGRATORS[name].is_implicit


def may_be_implicit(name: str) -> bool:
    """Whether an integrator solves for where some steps end at least."""
    return is_implicit(name) or name == "automatic"


def support_contact(names: Iterable[str]) -> bool:
    """Whether any of these integrators lets bodies touch each other and meshes."""
    return any(INTEGRATORS[name].supports_contact for name in names)


def supports_viscosity(name: str) -> bool:
    """Whether an integrator lets materials lose energy as they change their shape."""
    return INTEGRATORS[name].supports_viscosity


def supports_plasticity(name: str) -> bool:
    """Whether an integrator lets materials give way for good."""
    return INTEGRATORS[name].supports_plasticity


def label(name: str) -> str:
    """What the menu calls an integrator."""
    return INTEGRATORS[name].label
