# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of results for frames, jobs and menus, one row each.

This module does not load torch: functions are named, and loaded when needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..errors import SceneError


@dataclass(frozen=True)
class ResultRow:
    """One field.

    Args:
        label: the name in the interface.
        unit: of its values.
        per: the elements that have a value.
        description: of a tooltip.
        where: module and function in ``core/results``. The function takes a system and
            ``IsImplicit`` and returns one from states to the values of each body, (M,) or (N,)
            tensors; it raises SceneError where they cannot be had.
    """

    label: str
    unit: str
    per: Literal["tet", "vertex"]
    description: str
    where: str


#: Rows by name, in the order of the menu. Files keep the index, so new ones come last.
RESULTS = {
    "von_mises": ResultRow(
        "Von Mises Stress",
        "Pa",
        "tet",
        "Stress that decides whether a ductile material yields",
        "fields.von_mises",
    ),
    "stretch": ResultRow(
        "Stretch",
        "",
        "tet",
        "Largest stretch in any direction, as a ratio of lengths. 1 at rest",
        "fields.largest_stretch",
    ),
    "speed": ResultRow("Speed", "m/s", "vertex", "Speed of each vertex", "fields.speed"),
    "contact_pressure": ResultRow(
        "Contact Pressure",
        "Pa",
        "vertex",
        "Pressure of the ground, colliders and other surfaces on the surface",
        "contact_pressure.contact_pressure",
    ),
    "plastic_strain": ResultRow(
        "Plastic Strain",
        "",
        "tet",
        "Lasting deformation, added up. 0 where the body has always sprung back",
        "fields.plastic_strain",
    ),
}


def in_order(names: Sequence[str]) -> tuple[str, ...]:
    """Return each of the names once, in the order of the table.

    Raises:
        SceneError: when there is no such result.
    """
    if isinstance(names, str):
        raise SceneError(f"Results are a list of names; write ({names!r},).")
    for name in names:
        if name not in RESULTS:
            raise SceneError(f"A result must be one of {', '.join(RESULTS)}, not {name!r}.")
    return tuple(name for name in RESULTS if name in names)
