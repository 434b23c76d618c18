# SPDX-License-Identifier: GPL-3.0-or-later
"""The part of docs/performance.md on a pile beside other engines."""

from __future__ import annotations

from typing import Any

from .store import MEASURED
from .tables import table, when

NAME = "pile_beside_engines"
HEAD = """
## A pile beside other engines
Ten monkeys, {tets} tets together, fall into a bowl and pile up (`{name}`). The run has {frames}
frames of 1/24 s, with E = 1e5 Pa, ν = 0.45 and friction 0.3. All engines get the same tets,
masses, moduli and all cores. Only Supple has a damping, of 0.5/s. The steps a frame of each
engine let it survive, if it can; `benchmarks/peers/pile_*.py` says how each is set up. An engine
computes as many of the frames as it can in {limit:g} s. After every frame the same exact test
counts the pairs of triangles that intersect. The depth is the largest distance of a vertex of a
surface inside another body, or below the bowl. A body that is wholly below the bowl is counted
and not measured. {when}

"""
COLUMNS = (
    *("", "steps a frame", "frames", "seconds a frame: median, most"),
    *("deepest in each other, mm", "deepest below the bowl, mm", "bodies through the bowl"),
    *("most pairs of triangles that intersect", "frames with any", "survived"),
)
COUNTS = ("through_the_bowl", "most_intersections", "frames_with_intersections")


def section(figures: dict[str, Any]) -> str:
    """In Markdown; nothing where it was not measured."""
    if NAME not in figures.get(MEASURED, {}):
        return ""
    rows = figures[NAME]
    first = next(iter(rows.values()))
    head = HEAD.format(
        tets=first["tets"],
        frames=first["of_frames"],
        limit=first["limit_s"],
        name=NAME,
        when=when(figures, NAME),
    )
    return head + table(COLUMNS, [_line(label, row) for label, row in rows.items()])


def _line(label: str, row: dict[str, Any]) -> tuple[str, ...]:
    steps = "its own" if row["steps"] is None else str(row["steps"])
    whole = "yes" if row["frames"] == row["of_frames"] else "as far as it got"
    ended = whole if row["survived"] else f"no: {row['note']}"
    if not row["frames"]:
        return (label, steps, "0", *["none"] * 6, ended)
    median, most = row["s_a_frame"] or ("none", "none")
    return (
        *(label, steps, str(row["frames"]), f"{median}, {most}"),
        f"{row['deepest_in_each_other_mm']:g}",
        f"{row['deepest_below_bowl_mm']:g}",
        *(str(row[name]) for name in COUNTS),
        ended,
    )
