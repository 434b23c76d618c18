# SPDX-License-Identifier: GPL-3.0-or-later
"""Supple beside one other engine on one case: how many times as long, or why that cannot be said.

An engine that failed and one that was more exact than anything there is to compare it with are
different things, and are called so.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SECONDS, ERROR, REFERENCE_ERROR = "seconds_a_simulated_second", "rms_error_m", "reference_error_m"
#: An error below so many times the reference's own is not told from it.
RESOLVED = 3.0
OWN = "supple"
UNRESOLVED = "*"
Rows = Sequence[dict[str, Any]]


def cell(ours: Rows, theirs: Rows, reference_error: float) -> str:
    """The cell of an engine in a table: a ratio of times, *more exact*, *failed* or *not run*.

    A ratio is the least over its numbers of steps: its time over that of the quickest run of
    Supple whose error is no larger. Where some of its runs are more exact than every one of
    Supple's, it is said at how many steps. A * follows where an error that decides is less than
    three times the reference's own.

    Args:
        ours: the rows of Supple, with any integrator.
        theirs: those of the engine, on the same case.
        reference_error: in metres, for rows that do not say it themselves.
    """
    if not theirs:
        return "not run"
    finished = [row for row in theirs if ERROR in row]
    if not finished:
        return "failed"
    most_exact = min((row[ERROR] for row in ours if ERROR in row), default=float("inf"))
    ahead = [row for row in finished if row[ERROR] < most_exact]
    behind = [row for row in finished if row[ERROR] >= most_exact]
    if not behind:
        return "more exact" + _mark(finished, reference_error)
    ratio, at = min((_ratio(ours, row), index) for index, row in enumerate(behind))
    text = f"{ratio:.1f}{_mark([behind[at]], reference_error)}"
    if not ahead:
        return text
    steps = ", ".join(str(row["steps_a_frame"]) for row in ahead)
    return f"{text}; more exact at {steps} steps{_mark(ahead, reference_error)}"


def _ratio(ours: Rows, row: dict[str, Any]) -> float:
    as_exact = [o[SECONDS] for o in ours if o.get(ERROR, float("inf")) <= row[ERROR]]
    return float(row[SECONDS] / min(as_exact))


def _mark(rows: Rows, reference_error: float) -> str:
    least = min(row[ERROR] / row.get(REFERENCE_ERROR, reference_error) for row in rows)
    return UNRESOLVED if least < RESOLVED else ""


def is_own(row: dict[str, Any]) -> bool:
    return str(row["contender"]).startswith(OWN)


def closest_peer(rows: Rows) -> dict[str, Any] | None:
    """The run of another engine that comes closest to the reference."""
    others = [row for row in rows if ERROR in row and not is_own(row)]
    return min(others, key=lambda row: float(row[ERROR]), default=None)
