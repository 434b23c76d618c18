# SPDX-License-Identifier: GPL-3.0-or-later
"""Every result, one row each: what frames, jobs and menus offer.

No torch here: the functions are named, and loaded when one is wanted.
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
        label: what a user calls it.
        unit: of its values.
        per: what it has a value of.
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


#: By name, in the order of the menu, whose places files keep: new ones come last.
RESULTS = {
    "von_mises": ResultRow(
        "Von Mises Stress",
        "Pa",
        "tet",
        "How hard the material is strained: what ductile ones yield by",
        "fields.von_mises",
    ),
    "stretch": ResultRow(
        "Stretch",
        "",
        "tet",
        "How many times its length the most stretched direction has; 1 at rest",
        "fields.largest_stretch",
    ),
    "speed": ResultRow("Speed", "m/s", "vertex", "How fast it moves", "fields.speed"),
    "contact_pressure": ResultRow(
        "Contact Pressure",
        "Pa",
        "vertex",
        "What the ground, colliders and other surfaces press with on the surface",
        "contact_pressure.contact_pressure",
    ),
    "plastic_strain": ResultRow(
        "Plastic Strain",
        "",
        "tet",
        "How far it has been deformed for good, added up; 0 where it has always come back",
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
