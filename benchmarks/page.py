# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m benchmarks.page``: writes docs/performance.md from the kept figures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from .machine import describe, file_name
from .plots import LOOKS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "performance.md"
SECONDS = "seconds_a_simulated_second"

HEAD = """# Performance

Written by `python -m benchmarks.page` from figures that `python3 dev.py bench` measured on
{processor}, {cores} cores, torch {torch}. The pictures are drawn by `python -m benchmarks.plots`.

## A frame of implicit Euler
Blender's monkey, 2 m tall, falls half a metre and comes to rest: {frames} frames of 1/24 s at one
step a frame, each converged to 1 mm/s (`implicit_frame`).

"""
PROFILE = """
Where the time of a frame goes, in milliseconds:

"""
INTEGRATORS = """
## The integrators side by side
A monkey of {tets} tets falls half a metre: one second at E = 1e5 Pa, ν = 0.45, each integrator in
the steps that it chooses (`integrators`).

"""
CONTACT = """
## Contact
Ten monkeys fall into a bowl and pile up; a block falls on another, turned a little, face on face:
{frames} frames of 1/24 s, one step each, E = 1e5 Pa, friction 0.3. “At the height” are the frames
with at least nine tenths of the most contacts (`contact`).

"""
ERROR = """
## Beside other engines
The same monkey, the same tets, one second without friction (`time_stepping`). Each engine takes the
fewest steps a frame with which it survives, and then ever twice as many. The error is the root mean
square distance from Supple's symplectic Euler with many more steps. Materials and contacts differ a
little from engine to engine (`benchmarks/peers` says how): that part of an error stays however many
steps are taken.

![Seconds a simulated second against error](pictures/time_against_error.png)

How many times as long each takes as the quickest run of Supple whose error is no larger, the least
over all its numbers of steps:

{ratios}
At the fewest steps a frame:

{fewest}
{left_out}"""
TETS = """
## Time against tets
The same second at E = 1e5 Pa (`time_against_tets`).

![Seconds a frame against tets](pictures/time_against_tets.png)

"""


def write() -> None:
    machine = describe()
    path = Path(__file__).parent / "results" / f"{file_name(machine)}.json"
    results = json.loads(path.read_text())
    implicit = results["implicit_frame"]
    frames = next(iter(implicit.values()))["frames"]
    text = HEAD.format(**results["machine"], frames=frames)
    text += _table(
        ("", "mean, ms", "longest, ms", "Newton iterations", "most", "linear iterations in each"),
        [
            (
                name,
                f"{row['mean_ms']:.0f}",
                f"{row['longest_ms']:.0f}",
                f"{row['newton_iterations']:.1f}",
                str(row["most_newton_iterations"]),
                f"{row['linear_iterations_a_newton_iteration']:.0f}",
            )
            for name, row in implicit.items()
        ],
    )
    parts = list(next(iter(implicit.values()))["profile_ms_a_frame"])
    text += PROFILE + _table(
        ("", *parts),
        [
            (name, *(f"{row['profile_ms_a_frame'][part]:.1f}" for part in parts))
            for name, row in implicit.items()
        ],
    )
    text += _integrators(results["integrators"])
    text += _contact(results["contact"])
    stepping = results["time_stepping"]
    head = ("mesh", "E, Pa", "ν", "engine", "steps a frame", "seconds a simulated second")
    text += ERROR.format(
        ratios=_ratios(stepping["rows"]),
        fewest=_table((*head, "error, m"), _fewest_steps(stepping["rows"])),
        left_out=_named("There was no time for", stepping["left_out"])
        + _named("From an earlier run, side by side too", stepping.get("earlier", [])),
    )
    text += TETS + _growth(results["time_against_tets"])
    PAGE.write_text(text, encoding="utf-8")


def _integrators(rows: Sequence[dict[str, Any]]) -> str:
    head = ("", "inner damping, s", "steps a frame", "ms a frame", "beside symplectic Euler")
    lines = [
        (
            row["integrator"],
            f"{row['inner_damping_s']:g}",
            f"{row['steps_a_frame']:g}",
            f"{row['ms_a_frame']:.1f}",
            f"{row['ratio']:.3g} ({row['step_ratio']:.3g} a step)",
        )
        for row in rows
    ]
    return INTEGRATORS.format(tets=rows[0]["tets"]) + _table(head, lines)


def _contact(rows: Sequence[dict[str, Any]]) -> str:
    head = (
        "",
        "tets",
        "vertices",
        "most contacts",
        "seconds a frame: median, most",
        "at the height: median, most",
        "Newton iterations: median, most",
        "frames not converged",
        "intersections",
        "least volume ratio",
        "least gap, mm",
    )
    names = ("s_a_frame", "s_a_frame_at_the_height", "iterations")
    lines = [
        (
            row["scene"],
            str(row["tets"]),
            str(row["vertices"]),
            str(row["most_contacts"]),
            *(f"{row[name]['median']:g}, {row[name]['most']:g}" for name in names),
            str(row["not_converged"]),
            str(row["intersections"]),
            f"{row['least_volume_ratio']:g}",
            f"{row['least_gap_mm']:g}",
        )
        for row in rows
    ]
    return CONTACT.format(frames=rows[0]["frames"]) + _table(head, lines)


def _ratios(rows: Sequence[dict[str, Any]]) -> str:
    """A row a case, a column a peer."""
    done = [row for row in rows if "rms_error_m" in row]
    peers = [name for name in LOOKS if not name.startswith("supple")]
    cases = list(dict.fromkeys(_case(row) for row in rows))
    lines = []
    for case in cases:
        own = [row for row in done if _case(row) == case and row["contender"].startswith("supple")]
        ratios = []
        for peer in peers:
            theirs = [row for row in done if _case(row) == case and row["contender"] == peer]
            ratios.append(_least_ratio(own, theirs))
        lines.append((*case, *ratios))
    return _table(("mesh", "E, Pa", "ν", *(LOOKS[peer][0] for peer in peers)), lines)


def _least_ratio(own: Sequence[dict[str, Any]], theirs: Sequence[dict[str, Any]]) -> str:
    ratios = []
    for row in theirs:
        as_good = [o[SECONDS] for o in own if o["rms_error_m"] <= row["rms_error_m"]]
        if as_good:
            ratios.append(row[SECONDS] / min(as_good))
    return f"{min(ratios):.1f}" if ratios else "–"


def _case(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["mesh"], f"{row['young']:.0e}".replace("e+0", "e"), str(row["poisson"])


def _named(what: str, cases: Sequence[dict[str, Any]]) -> str:
    names = "; ".join(", ".join(_case(case)) for case in cases)
    return f"{what}: {names}.\n" if cases else ""


def _fewest_steps(rows: Sequence[dict[str, Any]]) -> Iterable[tuple[str, ...]]:
    seen = set()
    for row in rows:
        case = _case(row)
        if (case, row["contender"]) in seen:
            continue
        seen.add((case, row["contender"]))
        label = LOOKS[row["contender"]][0]
        if "rms_error_m" not in row:
            yield (*case, label, "–", row["note"], "–")
            continue
        yield (
            *case,
            label,
            str(row["steps_a_frame"]),
            f"{row[SECONDS]:.2f}",
            f"{row['rms_error_m']:.4f}",
        )


def _growth(sizes: dict[str, Any]) -> str:
    done = [row for row in sizes["rows"] if "seconds_a_frame" in row]
    table = _table(
        ("engine", "tets", "steps a frame", "ms a frame", "memory of the body, KB a tet"),
        [
            (
                LOOKS[row["contender"]][0],
                str(row["tets"]),
                str(row["steps_a_frame"]),
                f"{1e3 * row['seconds_a_frame']:.1f}",
                f"{1024 * row['memory_of_the_body_mb'] / row['tets']:.2f}",
            )
            for row in done
        ],
    )
    fits = [
        f"{LOOKS[name][0]} tets^{fit['seconds_a_frame']:.2f}"
        for name, fit in sizes["exponents"].items()
        if fit
    ]
    return f"{table}\nFitted, the time of a frame grows as: {'; '.join(fits)}.\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    write()
