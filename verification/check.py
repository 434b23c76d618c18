# SPDX-License-Identifier: GPL-3.0-or-later
"""The result of a subject: figures beside their references, and pictures. figures beside their
references, and what is drawn of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

#: A tolerance that is a larger share of its reference has to give a reason.
WIDE = 0.05


@dataclass(frozen=True)
class Check:
    """A figure beside its reference.

    Args:
        claim: what the figure is, in words.
        measured: by the solver.
        reference: what it is held against.
        tolerance: on the distance between the two, in the same unit; for a bound, 0.
        unit: of all three.
        relation: whether the reference is met, or bounds from above or below.
        from_solver: whether the reference is the solver's: the same on another mesh or in other
            steps, what was measured before, or what shows that a case is one.
        reason: of a tolerance above 5 %, or of a bound that no theory gives.

    Raises:
        ValueError: a tolerance above 5 % or a reference of the solver's own has no reason, or a
            bound from below is not above zero, where nothing could fail it.
    """

    claim: str
    measured: float
    reference: float
    tolerance: float
    unit: str = ""
    relation: Literal["=", "≤", "≥"] = "="
    from_solver: bool = False
    reason: str = ""

    def __post_init__(self) -> None:
        if (self.is_wide or self.from_solver) and not self.reason:
            raise ValueError(
                f"{self.claim}: why is {self.reference:g} ± {self.tolerance:g} enough?"
            )
        if self.relation == "≥" and not self.reference > 0.0:
            raise ValueError(f"{self.claim}: everything is above a bound of {self.reference:g}.")

    @property
    def is_wide(self) -> bool:
        """Whether the tolerance is above 5 % of the reference, where that is a number to meet."""
        met = self.relation == "=" and self.reference != 0.0
        return met and self.tolerance > WIDE * abs(self.reference) * (1.0 + 1e-9)

    @property
    def used(self) -> float:
        """The share of the tolerance or bound that is used up; the check holds up to 1."""
        if not math.isfinite(self.measured):
            return math.inf
        if self.relation == "=":
            return _share(abs(self.measured - self.reference), self.tolerance)
        if self.relation == "≤":
            return _share(self.measured, self.reference)
        return _share(self.reference, self.measured)

    @property
    def holds(self) -> bool:
        return self.used <= 1.0


def _share(part: float, whole: float) -> float:
    if not math.isfinite(part) or not whole >= 0.0:
        return math.inf
    if part <= 0.0:
        return 0.0
    return part / whole if whole > 0.0 else math.inf


def within(
    claim: str,
    measured: float,
    reference: float,
    share: float,
    unit: str = "",
    *,
    from_solver: bool = False,
    reason: str = "",
) -> Check:
    """The figure meets the reference within a share of it."""
    tolerance = share * abs(float(reference))
    return near(claim, measured, reference, tolerance, unit, from_solver=from_solver, reason=reason)


def near(
    claim: str,
    measured: float,
    reference: float,
    tolerance: float,
    unit: str = "",
    *,
    from_solver: bool = False,
    reason: str = "",
) -> Check:
    """The figure meets the reference within ``tolerance`` units."""
    return Check(
        claim,
        float(measured),
        float(reference),
        tolerance,
        unit,
        from_solver=from_solver,
        reason=reason,
    )


def _bounded(
    relation: Literal["≤", "≥"],
    claim: str,
    measured: float,
    bound: float,
    unit: str = "",
    *,
    from_solver: bool = False,
    reason: str = "",
) -> Check:
    return Check(claim, float(measured), bound, 0.0, unit, relation, from_solver, reason)


#: The figure is not above a bound.
at_most = partial(_bounded, "≤")
#: The figure is not below a bound that is above zero.
at_least = partial(_bounded, "≥")


@dataclass(frozen=True)
class Curve:
    """Points to be drawn; those of one ``group`` share a colour."""

    label: str
    x: ArrayLike
    y: ArrayLike
    group: str
    look: Literal["dots", "line", "dashes", "dotted line"] = "line"


@dataclass(frozen=True)
class Panel:
    title: str
    x: str
    y: str
    curves: Sequence[Curve]
    logarithmic: Literal["", "x", "y", "xy"] = ""


@dataclass(frozen=True)
class Subject:
    """The checks of one subject, and their outcome.

    Args:
        title: a heading.
        text: what is checked and how, in Markdown.
        source: of the references.
        checks: the figures.
        panels: of its picture; without any there is none.
        note: what the figures leave open, in Markdown.
    """

    title: str
    text: str
    source: str
    checks: Sequence[Check]
    panels: Sequence[Panel] = field(default_factory=list)
    note: str = ""

    @property
    def holds(self) -> bool:
        """Whether everything does; where nothing was checked, nothing holds."""
        return bool(self.checks) and all(check.holds for check in self.checks)

    @property
    def worst(self) -> Check:
        return max(self.checks, key=lambda check: check.used)


def largest_share(measured: ArrayLike, reference: ArrayLike) -> float:
    """The largest distance between two sets of figures over the largest of the reference."""
    apart = np.abs(np.asarray(measured) - np.asarray(reference)).max()
    return float(apart / np.abs(reference).max())
