# SPDX-License-Identifier: GPL-3.0-or-later
"""Features that the integrators of the menu support."""

from __future__ import annotations

from ...core.scene.integrator_table import INTEGRATORS


def is_adaptive(name: str) -> bool:
    """Whether an integrator adapts its steps to a tolerance."""
    return INTEGRATORS[name].is_adaptive


def is_implicit(name: str) -> bool:
    """Whether an integrator is implicit for every scene."""
    return INTEGRATORS[name].is_implicit


def may_be_implicit(name: str) -> bool:
    """Whether an integrator solves for where some steps end at least."""
    return is_implicit(name) or name == "automatic"


def supports_contact(name: str) -> bool:
    """Whether an integrator lets bodies touch each other and meshes."""
    return INTEGRATORS[name].supports_contact


def supports_viscosity(name: str) -> bool:
    """Whether an integrator lets materials lose energy as they change their shape."""
    return INTEGRATORS[name].supports_viscosity


def supports_plasticity(name: str) -> bool:
    """Whether an integrator lets materials give way for good."""
    return INTEGRATORS[name].supports_plasticity


def label(name: str) -> str:
    """The label of an integrator in the menu."""
    return INTEGRATORS[name].label
