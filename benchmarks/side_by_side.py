# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of docs/performance.md on Supple beside other engines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .comparison import ERROR, SECONDS, cell, closest_peer, is_own
from .store import MEASURED
from .styles import STYLES
from .tables import stamp, table

NAME = "time_stepping"
CASE = ("mesh", "E, Pa", "ν")
HEAD = """
## Beside other engines
The scene is the same monkey with the same tets, one second without friction (`time_stepping`).
Supple is compared with five solvers of four other engines. Each takes the fewest steps a frame
with which it survives, and then twice as many again and again. The error is the root mean square
distance from a reference with many more steps. Materials and contacts differ a little from
engine to engine (`benchmarks/peers` says how). That part of an error stays, however many steps
are taken.

![Seconds a simulated second against error](pictures/time_against_error.png)

The next table divides the time of each engine by the time of the quickest run of Supple, with
any integrator, whose error is no larger. It shows the least ratio over all numbers of steps.

{entries}
{ratios}
The reference is symplectic Euler in double precision on a ground that puts vertices
back without a bounce (*bouncy ground* with a bounce of 0). torch-diffsim has the same contact,
and it converges to a limit. The reference's own error is its distance from a run with half the
steps. In a scheme of first order this is also the distance that remains to the limit. The
closest run of an engine that shares no code with Supple stands beside it.

{references}
At the fewest steps a frame:

{fewest}"""
ENTRIES = (
    (
        "more exact",
        "The error is smaller than that of every run of Supple, so there is no run to compare it "
        "with. If this holds for some runs only, the entry says at how many steps a frame.",
    ),
    ("failed", "No run came to its end. The last table says why."),
    (
        "*",
        "A deciding error is less than three times the reference's own error, which may reverse "
        "the result.",
    ),
)


def section(figures: dict[str, Any], cases: Sequence[str]) -> str:
    """Write the section on engines side by side.

    Args:
        figures: all that are kept.
        cases: the names of all that there could be.
    """
    measured = {name: figures[NAME][name] for name in cases if name in figures[NAME]}
    rows = [row for case in measured.values() for row in case["rows"]]
    return HEAD.format(
        entries=table(("entry", "meaning"), ENTRIES),
        ratios=_ratios(measured),
        references=_references(measured, figures[MEASURED][NAME]),
        fewest=table(
            (*CASE, "engine", "steps a frame", "seconds a simulated second", "error, m"),
            _fewest_steps(rows),
        ),
    )


def _ratios(cases: dict[str, Any]) -> str:
    """A row a case, a column a peer."""
    peers = [name for name in STYLES if not is_own({"contender": name})]
    lines = []
    for case in cases.values():
        rows, error = case["rows"], case["reference"]["own_error_m"]
        ours = [row for row in rows if is_own(row)]
        cells = (cell(ours, [r for r in rows if r["contender"] == peer], error) for peer in peers)
        lines.append((*_case(rows[0]), *cells))
    return table((*CASE, *(STYLES[peer][0] for peer in peers)), lines)


def _references(cases: dict[str, Any], records: dict[str, Any]) -> str:
    lines = []
    for name, case in cases.items():
        reference, closest = case["reference"], closest_peer(case["rows"])
        peer = "none"
        if closest is not None:
            label = STYLES[closest["contender"]][0]
            peer = f"{closest[ERROR]:.4f} ({label}, {closest['steps_a_frame']} steps)"
        lines.append(
            (
                *_case(case["rows"][0]),
                str(reference["steps_a_frame"]),
                f"{reference['own_error_m']:.5f}",
                peer,
                stamp(records[name]),
            )
        )
    head = (*CASE, "steps a frame", "its own error, m")
    return table((*head, "closest run of another engine, m", "measured"), lines)


def _case(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["mesh"], f"{row['young']:.0e}".replace("e+0", "e"), str(row["poisson"])


def _fewest_steps(rows: Sequence[dict[str, Any]]) -> Iterable[tuple[str, ...]]:
    seen = set()
    for row in rows:
        case = _case(row)
        if (case, row["contender"]) in seen:
            continue
        seen.add((case, row["contender"]))
        label = STYLES[row["contender"]][0]
        if ERROR not in row:
            yield (*case, label, "failed", row["note"], "none")
            continue
        steps, seconds, error = row["steps_a_frame"], row[SECONDS], row[ERROR]
        yield (*case, label, str(steps), f"{seconds:.2f}", f"{error:.4f}")
