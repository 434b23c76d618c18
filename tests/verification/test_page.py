# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from pathlib import Path

from supple.verification import page, plots
from supple.verification.check import Curve, Panel, Subject, at_most, near

HOLDS = Subject("Free fall", "A body falls.", "Galilei", [near("fall", 4.9, 4.905, 0.01, "m")])
FAILS = Subject(
    "Creep (slow)",
    "A block creeps.",
    "Coulomb",
    [at_most("creep", 0.2, 0.1, "m"), at_most("turn", 0.01, 0.1)],
    note="One of two.",
)


def test_the_page_begins_with_a_line_a_subject() -> None:
    text = page.text({"fall": HOLDS, "creep": FAILS})
    assert "| [Free fall](#free-fall) | 1 | 0.5 | fall | holds |" in text
    assert "| [Creep (slow)](#creep-slow) | 2 | 2 | creep | **fails** |" in text


def test_a_failing_figure_is_shown_as_failing() -> None:
    text = page.text({"fall": HOLDS, "creep": FAILS})
    assert "**1 of 3 figures fail.**" in text
    assert "| creep | 0.2 | ≤ 0.1 | m | 2 | **fails** |" in text
    assert "All 1 figures hold." in page.text({"fall": HOLDS})


def test_a_subject_without_figures_does_not_pass_for_one_that_holds() -> None:
    assert "hold." not in page.text({"fall": HOLDS, "none": Subject("None", "", "", [])})


def test_a_section_gives_figure_reference_tolerance_and_source() -> None:
    text = page.section("fall", HOLDS)
    assert "| fall | 4.9 | 4.905 ± 0.01 | m | 0.5 | holds |" in text
    assert "Reference: Galilei" in text
    assert "One of two." in page.section("creep", FAILS)


def test_a_picture_is_drawn_where_the_page_shows_one(tmp_path: Path) -> None:
    curves = [Curve("line", [1, 2], [1, 4], "a"), Curve("", [1, 2], [1, 4], "a", "dots")]
    shown = Subject("Shown", "", "", [], [Panel("A panel", "x", "y", curves, "xy")])
    plots.draw({"shown": shown, "fall": HOLDS}, tmp_path)
    (link,) = re.findall(r"\(pictures/(.*)\)", page.section("shown", shown))
    assert [path.name for path in tmp_path.iterdir()] == [link]
    assert "pictures/" not in page.section("fall", HOLDS)


def test_wide_tolerances_and_own_references_are_listed_with_their_reasons() -> None:
    loose = Subject(
        "Loose",
        "",
        "",
        [
            near("approach", 0.7, 0.75, 0.07, "mm", reason="a half-space is not a ball"),
            at_most("drift", 0.1, 0.2, from_solver=True, reason="as measured once"),
        ],
    )
    first, *sections = page.text({"fall": HOLDS, "loose": loose}).split("\n## ")
    wide, from_solver, *subjects = sections
    assert wide.startswith("Wide tolerances")
    assert "| Loose | approach | 0.75 ± 0.07 | a half-space is not a ball |" in wide
    assert "drift" not in wide
    assert from_solver.startswith("References of the solver's own")
    assert "| Loose | drift | ≤ 0.2 (own) | as measured once |" in from_solver
    assert "approach" not in from_solver
    assert [text.splitlines()[0] for text in subjects] == ["Free fall", "Loose"]
    assert "| drift | 0.1 | ≤ 0.2 (own) |" in subjects[1]
    assert "(#references-of-the-solvers-own)" in first


def test_where_nothing_is_wide_or_own_nothing_is_listed() -> None:
    assert "## Wide" not in page.text({"fall": HOLDS})
    assert "## References" not in page.text({"fall": HOLDS})
