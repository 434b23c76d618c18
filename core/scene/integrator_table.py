# SPDX-License-Identifier: GPL-3.0-or-later
"""Every integrator, one row each: what menus, the command line and jobs offer.

No torch here: the classes are named, and loaded when one is wanted.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class IntegratorRow:
    """One integrator.

    Args:
        label: what a user calls it.
        description: of a tooltip.
        where: module and class in ``core/integrators``.
        is_adaptive: whether the class is an integrator whose steps follow a tolerance here.
        is_implicit: whether it solves for where a step ends, whatever the scene is like.
        supports_contact: whether it lets bodies touch each other and meshes.
        supports_viscosity: whether it lets materials lose energy as they change their shape.
        supports_plasticity: whether it lets them give way for good.
    """

    label: str
    description: str
    where: str
    is_adaptive: bool = False
    is_implicit: bool = False
    supports_contact: bool = False
    supports_viscosity: bool = True
    supports_plasticity: bool = True


#: By identifier, in the order of the menu.
INTEGRATORS = {
    "automatic": IntegratorRow(
        "Automatic",
        "Many short steps where they are quick, else SDIRK2",
        "automatic.Automatic",
        supports_contact=True,
    ),
    "implicit_euler": IntegratorRow(
        "Implicit Euler",
        "Stable at any stiffness with one step a frame; calms motion down",
        "implicit_euler.ImplicitEuler",
        is_implicit=True,
        supports_contact=True,
    ),
    "bdf2": IntegratorRow(
        "BDF2",
        "Stable like Implicit Euler, but livelier: keeps more of the wobble",
        "bdf2.BDF2",
        is_implicit=True,
        supports_contact=True,
    ),
    "symplectic_euler": IntegratorRow(
        "Symplectic Euler",
        "Many small explicit steps: exact wobble, slow for stiff or fine bodies",
        "symplectic_euler.SymplecticEuler",
        supports_contact=True,
    ),
    "midpoint": IntegratorRow(
        "Midpoint",
        "Explicit steps of second order: precise when they are short; long ones explode",
        "runge_kutta.Midpoint",
        supports_contact=True,
    ),
    "runge_kutta4": IntegratorRow(
        "Runge–Kutta 4",
        "Explicit steps of fourth order: four times the work, very precise where motion is smooth",
        "runge_kutta.RungeKutta4",
        supports_contact=True,
    ),
    "adaptive_symplectic_euler": IntegratorRow(
        "Adaptive Symplectic Euler",
        "Symplectic Euler whose steps are as long as the tolerance allows",
        "symplectic_euler.SymplecticEuler",
        is_adaptive=True,
    ),
    "adaptive_midpoint": IntegratorRow(
        "Adaptive Midpoint",
        "Midpoint whose steps are as long as the tolerance allows",
        "runge_kutta.Midpoint",
        is_adaptive=True,
    ),
    "adaptive_runge_kutta4": IntegratorRow(
        "Adaptive Runge–Kutta 4",
        "Runge–Kutta 4 whose steps are as long as the tolerance allows",
        "runge_kutta.RungeKutta4",
        is_adaptive=True,
    ),
    "xpbd": IntegratorRow(
        "XPBD",
        "As games do: quick and calm whatever the stiffness, but softer than that says",
        "xpbd.XPBD",
        supports_viscosity=False,
        supports_plasticity=False,
    ),
    # Saved files know integrators by their number, so what is new stands last.
    "sdirk2": IntegratorRow(
        "SDIRK2",
        "Stable like Implicit Euler, and lively: keeps spin, swing and wobble",
        "sdirk2.SDIRK2",
        is_implicit=True,
        supports_contact=True,
    ),
}
