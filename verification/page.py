# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes docs/verification.md from what was checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from .check import Check, Subject
from .plots import file_name

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, PICTURES = DOCS / "verification.md", DOCS / "pictures"

HEAD = """# Verification

This page answers whether the solver is right. `python3 dev.py verify` measures every figure
anew, writes the page, and ends with an error if a figure fails; do not edit the page by hand.
Each figure stands beside a reference and its tolerance. A reference is a closed form, a theorem,
another code or an exact test. References that come from the solver itself are marked *own* and
[listed](#references-of-the-solvers-own). *Used* is the share of the tolerance, or of the bound,
that the figure takes up. A figure above 1 fails.

{verdict}

"""
WIDE = """
## Wide tolerances
These figures have a tolerance of more than 5 % of their reference. The table says why.

"""
OWN = """
## References of the solver's own
These are bounds that no theory gives, and comparisons of the solver with itself. They show that
something is small, falls, or has not become worse. They do not show what it should be.

"""


def write(subjects: Mapping[str, Subject], path: Path = PAGE) -> None:
    path.write_text(text(subjects), encoding="utf-8")


def text(subjects: Mapping[str, Subject]) -> str:
    """The whole page, in Markdown."""
    rows = [
        (
            f"[{subject.title}](#{_anchor(subject.title)})",
            str(len(subject.checks)),
            _used(subject.worst) if subject.checks else "–",
            subject.worst.claim if subject.checks else "nothing was checked",
            _verdict(subject.holds),
        )
        for subject in subjects.values()
    ]
    head = ("subject", "checks", "most used", "by", "")
    sections = (section(name, subject) for name, subject in subjects.items())
    first = HEAD.format(verdict=_sum(subjects)) + table(head, rows)
    first += _reasons(subjects, WIDE, lambda check: check.is_wide)
    first += _reasons(subjects, OWN, lambda check: check.from_solver)
    return "\n".join([first, *sections])


def _reasons(subjects: Mapping[str, Subject], heading: str, chosen: Callable[[Check], bool]) -> str:
    """A section of the chosen checks with their reasons; none where there are none."""
    rows = [
        (subject.title, check.claim, _reference(check), check.reason)
        for subject in subjects.values()
        for check in subject.checks
        if chosen(check)
    ]
    return heading + table(("subject", "figure", "held to", "because"), rows) if rows else ""


def section(name: str, subject: Subject) -> str:
    """One subject: what, the figures, the picture, the source."""
    rows = [
        (
            check.claim,
            _number(check.measured, check.tolerance),
            _reference(check),
            check.unit,
            _used(check),
            _verdict(check.holds),
        )
        for check in subject.checks
    ]
    parts = [f"## {subject.title}", subject.text]
    if subject.panels:
        parts.append(f"![{subject.title}](pictures/{file_name(name)})")
    parts.append(table(("figure", "measured", "reference", "unit", "used", ""), rows).rstrip())
    parts += [f"Reference: {subject.source}" if subject.source else "", subject.note]
    return "\n\n".join(part for part in parts if part) + "\n"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _sum(subjects: Mapping[str, Subject]) -> str:
    checks = [check for subject in subjects.values() for check in subject.checks]
    failing = [check for check in checks if not check.holds]
    if not failing and all(subject.holds for subject in subjects.values()):
        return f"All {len(checks)} figures hold."
    return f"**{len(failing)} of {len(checks)} figures fail.**"


def _reference(check: Check) -> str:
    mark = " (own)" if check.from_solver else ""
    if check.relation != "=":
        return f"{check.relation} {_number(check.reference)}{mark}"
    return f"{_number(check.reference, check.tolerance)} ± {check.tolerance:.1g}{mark}"


def _number(value: float, tolerance: float = 0.0) -> str:
    """With a digit more than the tolerance decides on."""
    if not math.isfinite(value) or value == 0.0:
        return f"{value:g}"
    if not tolerance > 0.0:
        return f"{value:.4g}" if abs(value) >= 1e-3 else f"{value:.1e}"
    digits = math.floor(math.log10(abs(value))) - math.floor(math.log10(tolerance)) + 3
    return f"{value:.{min(max(digits, 3), 12)}g}"


def _used(check: Check) -> str:
    return f"{check.used:.2g}" if math.isfinite(check.used) else "–"


def _verdict(holds: bool) -> str:
    return "holds" if holds else "**fails**"


def _anchor(title: str) -> str:
    """As Markdown renderers name headings."""
    letters = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return letters.replace(" ", "-")
