# SPDX-License-Identifier: GPL-3.0-or-later
"""The parts of docs/performance.md on contact: many bodies, one that touches itself, and growth."""

from __future__ import annotations

from typing import Any

from .store import MEASURED
from .tables import table, when

CONTACT = """
## Contact
In the first scene ten monkeys fall into a bowl and pile up. In the second one a block, turned a
little, falls on another one, face on face (`contact`). The runs have {frames} frames of 1/24 s,
with E = 1e5 Pa, a damping of 0.5/s and a friction of 0.3 instead of the default 0.5. Implicit
Euler takes one step a frame and removes most of the motion. *Automatic*, Blender's default,
takes explicit steps and keeps the motion, so that more bodies touch more often. “At the height”
are the frames with at least nine tenths of the most contacts. {when}

"""
ALONE = """
## A body that touches itself
Blender's monkey, 2 m tall, with E = 3e4 Pa, falls alone by half a metre in the steps of
*Automatic* (`lone_body`). The table compares runs with self contact of the visible mesh, as new
bodies have it, and runs without. Without it a landing turns tets inside out, which needs
implicit steps; contact prevents this. A frame in which nothing is near costs about the same.
Where the surface touches itself, a finer surface costs more. {when}

"""
ALONE_HEAD = (
    *("", "triangles that touch", "tets", "with contact, ms a frame: mean, median, most"),
    *("without", "implicit frames with, without", "times as long: mean, median"),
)
BESIDE = "with_contact", "without_contact"
FINE = """
## Parts finer than the tetrahedra
Bodies of a metre, with E = 1e5 Pa, fall 3 cm onto the ground in the steps of *Automatic*
(`fine_parts`). A cube with three rivets of 2 mm is compared with a plain cube. A disc with 60
teeth of 3 cm and bevels of 2 mm is compared with a plain disc. A sheet 2 cm thick has 40 faces
along each side, or ten. A cog wheel, a connecting rod and a chair, with bevels of 2 to 4 mm, and a
cape 5 mm thick are compared with the plain cube. The time is processor time. {when}

"""
FINE_HEAD = (
    *("", "triangles: plain, fine", "tets", "most contacts", "ms a frame: plain, fine"),
    "times as long",
)
KINDS = "plain", "fine"
HEAP = """
## A heap that grows
Monkeys of half a thousand tets, four on top of each other, fall into a bowl (`heap`). The bowl
is as wide as the number of monkeys asks for. E is 1e5 Pa. Contacts and seconds are those at the
height: the mean of the frames with at least four fifths of the most contacts. {when}

"""
HEAP_HEAD = (
    *("bodies", "tets", "contacts", "seconds a frame at the height", "of all frames: median, most"),
    "intersections",
)
GROWTH = "\nFitted, the time of a frame grows as contacts^{exponent:.2f}.\n"


def section(figures: dict[str, Any]) -> str:
    """In Markdown; of what was measured."""
    parts = {"contact": _contact, "lone_body": _alone, "fine_parts": _fine, "heap": _heap}
    measured = figures.get(MEASURED, {})
    return "".join(part(figures) for name, part in parts.items() if name in measured)


def _contact(figures: dict[str, Any]) -> str:
    rows = figures["contact"]
    head = (
        "",
        "integrator: most steps a frame",
        "tets",
        "most contacts",
        "seconds a frame: median, most",
        "at the height: median, most",
        "Newton iterations: median, most",
        "frames not converged",
        "intersections",
        "least volume ratio",
        "least gap, mm",
        "kinetic energy at the end, J",
    )
    names = ("s_a_frame", "s_a_frame_at_the_height", "iterations")
    lines = [
        (
            row["scene"],
            f"{row['integrator']}: {', '.join(row['taken'])}, {row['substeps']}",
            str(row["tets"]),
            str(row["most_contacts"]),
            *(f"{row[name]['median']:g}, {row[name]['most']:g}" for name in names),
            str(row["not_converged"]),
            str(row["intersections"]),
            f"{row['least_volume_ratio']:g}",
            f"{row['least_gap_mm']:g}",
            f"{row['moving_at_the_end_j']:g}",
        )
        for row in rows
    ]
    words = CONTACT.format(frames=rows[0]["frames"], when=when(figures, "contact"))
    return words + table(head, lines)


def _alone(figures: dict[str, Any]) -> str:
    lines = [
        (
            f"monkey, {name}",
            str(row["triangles"]),
            str(row["tets"]),
            *(_times(row[each]) for each in BESIDE),
            ", ".join(str(row[each]["implicit_frames"]) for each in BESIDE),
            f"{row['ratio_of_means']:g}, {row['ratio_of_medians']:g}",
        )
        for name, row in figures["lone_body"].items()
    ]
    return ALONE.format(when=when(figures, "lone_body")) + table(ALONE_HEAD, lines)


def _fine(figures: dict[str, Any]) -> str:
    lines = [
        (
            name,
            *(
                ", ".join(f"{row[kind][what]:g}" for kind in KINDS)
                for what in ("triangles", "tets", "most_contacts", "median_ms")
            ),
            f"{row['ratio']:g}",
        )
        for name, row in figures["fine_parts"].items()
    ]
    return FINE.format(when=when(figures, "fine_parts")) + table(FINE_HEAD, lines)


def _times(spread: dict[str, Any]) -> str:
    return f"{spread['mean_ms']:.1f}, {spread['median_ms']:.1f}, {spread['most_ms']:.0f}"


def _heap(figures: dict[str, Any]) -> str:
    heap_figures = figures["heap"]
    lines = [
        (
            *(str(row[name]) for name in ("bodies", "tets", "contacts")),
            f"{row['s_a_frame']:g}",
            f"{row['median_s_a_frame']:g}, {row['most_s_a_frame']:g}",
            str(row["intersections"]),
        )
        for row in heap_figures["heaps"]
    ]
    words = HEAP.format(when=when(figures, "heap"))
    return words + table(HEAP_HEAD, lines) + GROWTH.format(exponent=heap_figures["exponent"])
