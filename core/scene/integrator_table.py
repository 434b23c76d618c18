# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of integrators for menus, the command line and jobs, one row each.

This module does not load torch: classes are named, and loaded when needed.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class IntegratorRow:
    """One integrator.

    Args:
        label: the name in the interface.
        description: of a tooltip.
        where: module and class in ``core/integrators``.
        is_adaptive: whether the class is an integrator whose steps follow a tolerance here.
        is_implicit: whether it is implicit for every scene.
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


#: Rows by identifier, in the order of the menu.
INTEGRATORS = {
    "automatic": IntegratorRow(
        "Automatic",
        "Many short explicit steps where they are faster, otherwise SDIRK2",
        "automatic.Automatic",
        supports_contact=True,
    ),
    "implicit_euler": IntegratorRow(
        "Implicit Euler",
        "Stable at any stiffness with one step per frame. Damps motion",
        "implicit_integrators.ImplicitEuler",
        is_implicit=True,
        supports_contact=True,
    ),
    "bdf2": IntegratorRow(
        "BDF2",
        "Stable like Implicit Euler, and keeps more of the wobble",
        "implicit_integrators.BDF2",
        is_implicit=True,
        supports_contact=True,
    ),
    "symplectic_euler": IntegratorRow(
        "Symplectic Euler",
        "Many small explicit steps. Exact wobble, slow for stiff or fine bodies",
        "explicit_integrators.SymplecticEuler",
        supports_contact=True,
    ),
    "midpoint": IntegratorRow(
        "Midpoint",
        "Explicit, second order. Precise with short steps, unstable with long ones",
        "explicit_integrators.Midpoint",
        supports_contact=True,
    ),
    "runge_kutta4": IntegratorRow(
        "Runge–Kutta 4",
        "Explicit, fourth order. Four times the work, very precise for smooth motion",
        "explicit_integrators.RungeKutta4",
        supports_contact=True,
    ),
    "adaptive_symplectic_euler": IntegratorRow(
        "Adaptive Symplectic Euler",
        "Symplectic Euler with steps as long as the tolerance allows",
        "explicit_integrators.SymplecticEuler",
        is_adaptive=True,
    ),
    "adaptive_midpoint": IntegratorRow(
        "Adaptive Midpoint",
        "Midpoint with steps as long as the tolerance allows",
        "explicit_integrators.Midpoint",
        is_adaptive=True,
    ),
    "adaptive_runge_kutta4": IntegratorRow(
        "Adaptive Runge–Kutta 4",
        "Runge–Kutta 4 with steps as long as the tolerance allows",
        "explicit_integrators.RungeKutta4",
        is_adaptive=True,
    ),
    "xpbd": IntegratorRow(
        "XPBD",
        "Position-based, as in games. Fast and stable, but softer than the stiffness says",
        "xpbd.XPBD",
        supports_viscosity=False,
        supports_plasticity=False,
    ),
    # Saved files know integrators by their number, so new ones come last.
    "sdirk2": IntegratorRow(
        "SDIRK2",
        "Stable like Implicit Euler, and keeps spin, swing and wobble",
        "implicit_integrators.SDIRK2",
        is_implicit=True,
        supports_contact=True,
    ),
}
