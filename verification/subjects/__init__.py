# SPDX-License-Identifier: GPL-3.0-or-later
"""The verified subjects, one file each; each has ``run()``, which answers a ``Subject``."""

from __future__ import annotations

from collections.abc import Callable

from ..check import Subject
from . import (
    bounce,
    cantilever,
    colliding_bodies,
    contact_slope,
    continuous_collision,
    damping,
    energy,
    force_fields,
    free_fall,
    friction,
    gas_and_fluid,
    goals,
    hertz,
    impact,
    inversion,
    literature_scenes,
    momentum,
    no_intersections,
    order,
    patch_test,
    plasticity,
    rest_force,
    rotation,
    spin_swing_roll,
    stiffness_ramp,
    storms,
    stress,
    two_spheres,
)

#: In the order of the page.
SUBJECTS: dict[str, Callable[[], Subject]] = {
    "patch_test": patch_test.run,
    "stress": stress.run,
    "rotation": rotation.run,
    "free_fall": free_fall.run,
    "order": order.run,
    "energy": energy.run,
    "momentum": momentum.run,
    "cantilever": cantilever.run,
    "stiffness_ramp": stiffness_ramp.run,
    "plasticity": plasticity.run,
    "goals": goals.run,
    "force_fields": force_fields.run,
    "gas_and_fluid": gas_and_fluid.run,
    "hertz": hertz.run,
    "bounce": bounce.run,
    "spin_swing_roll": spin_swing_roll.run,
    "rest_force": rest_force.run,
    "friction": friction.run,
    "inversion": inversion.run,
    "damping": damping.run,
    "two_spheres": two_spheres.run,
    "contact_slope": contact_slope.run,
    "colliding_bodies": colliding_bodies.run,
    "impact": impact.run,
    "continuous_collision": continuous_collision.run,
    "no_intersections": no_intersections.run,
    "storms": storms.run,
    "literature_scenes": literature_scenes.run,
}
