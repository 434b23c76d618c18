# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

import re
from pathlib import Path

import pytest

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
    pytest.importorskip("matplotlib")
    curves = [Curve("line", [1, 2], [1, 4], "a"), Curve("", [1, 2], [1, 4], "a", "dots")]
    shown = Subject("Shown", "", "", [], [Panel("A panel", "x", "y", curves, "xy")])
    plots.draw({"shown": shown, "fall": HOLDS}, tmp_path)
    (link,) = re.findall(r"\(pictures/(.*)\)", page.section("shown", shown))
    assert [path.name for path in tmp_path.iterdir()] == [link]
    assert "pictures/" not in page.section("fall", HOLDS)
