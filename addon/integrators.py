# SPDX-License-Identifier: GPL-3.0-or-later
"""The integrators as a menu."""

from __future__ import annotations

from collections.abc import Iterable

import bpy

#: Name, label and description, as Blender wants them.
ITEMS = [
    ("automatic", "Automatic", "Many short steps where they are quick, else Implicit Euler"),
    (
        "implicit_euler",
        "Implicit Euler",
        "Stable at any stiffness with one step a frame; calms motion down",
    ),
    ("bdf2", "BDF2", "Stable like Implicit Euler, but livelier: keeps more of the wobble"),
    (
        "symplectic_euler",
        "Symplectic Euler",
        "Many small explicit steps: exact wobble, slow for stiff or fine bodies",
    ),
    (
        "midpoint",
        "Midpoint",
        "Explicit steps of second order: precise when they are short; long ones explode",
    ),
    (
        "runge_kutta4",
        "Runge–Kutta 4",
        "Explicit steps of fourth order: four times the work, very precise where motion is smooth",
    ),
    (
        "adaptive_symplectic_euler",
        "Adaptive Symplectic Euler",
        "Symplectic Euler whose steps are as long as the tolerance allows",
    ),
    (
        "adaptive_midpoint",
        "Adaptive Midpoint",
        "Midpoint whose steps are as long as the tolerance allows",
    ),
    (
        "adaptive_runge_kutta4",
        "Adaptive Runge–Kutta 4",
        "Runge–Kutta 4 whose steps are as long as the tolerance allows",
    ),
    (
        "xpbd",
        "XPBD",
        "As games do: quick and calm whatever the stiffness, but softer than Young's modulus says",
    ),
]

_IMPLICIT = {"implicit_euler", "bdf2"}

SCENE = "scene"
#: The same for one body.
BODY_ITEMS = [(SCENE, "As the Scene", "The integrator of the scene"), *ITEMS]


def of_bodies(objects: Iterable[bpy.types.Object], scene: bpy.types.Scene) -> tuple[str, ...]:
    """The names of the integrators that soft bodies of a scene get."""
    choices = (obj.supple.integrator for obj in objects)
    return tuple(scene.supple.integrator if own == SCENE else own for own in choices)


def use_tolerance(names: Iterable[str]) -> bool:
    """Whether any of these integrators adapts its steps to a tolerance."""
    return any(name.startswith("adaptive_") for name in names)


def is_implicit(name: str) -> bool:
    """Whether an integrator solves for where a step ends, whatever the scene is like."""
    return name in _IMPLICIT


def know_contact(names: Iterable[str]) -> bool:
    """Whether any of these integrators lets bodies touch each other and meshes."""
    return any(name == "automatic" or is_implicit(name) for name in names)


def knows_viscosity(name: str) -> bool:
    """Whether an integrator lets materials lose energy as they change their shape."""
    return name != "xpbd"


def label(name: str) -> str:
    """What the menu calls an integrator."""
    return next(shown for identifier, shown, _ in ITEMS if identifier == name)
