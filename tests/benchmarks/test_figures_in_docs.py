# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from supple.benchmarks import page, quotes
from supple.benchmarks.store import ROOT, quoted


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    return quoted()


def test_the_page_is_what_the_kept_figures_give(figures: dict[str, Any]) -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.text(figures)


def test_the_docs_quote_the_figures_that_were_measured_last(figures: dict[str, Any]) -> None:
    assert list(quotes.missing(figures, ROOT)) == []


def test_a_figure_measured_anew_makes_a_quoted_sentence_wrong(figures: dict[str, Any]) -> None:
    changed = deepcopy(figures)
    changed["implicit_frame"]["15 K tets"]["mean_ms"] += 10.0
    files = [file for file, _ in quotes.missing(changed, ROOT)]
    assert files == ["README.md", "docs/decisions.md"]


def test_what_automatic_takes_is_quoted_as_soon_as_it_is_measured(figures: dict[str, Any]) -> None:
    changed = deepcopy(figures)
    taken = {"integrator": "Symplectic Euler", "steps_a_frame": 33.0, "others": 7, "mean_ms": 77.4}
    changed["implicit_frame"]["15 K tets"] |= {"automatic": taken, "frames": 90}
    ((file, sentence),) = quotes.missing(changed, ROOT)
    assert file == "README.md"
    assert sentence.endswith(
        "Symplectic Euler in 33 steps, another one in 7 of 90 frames | 77 ms |"
    )
    assert "| Symplectic Euler | 33 | 7 | 77 |" in page.text(changed)


def test_line_breaks_do_not_make_a_sentence_wrong(figures: dict[str, Any], tmp_path: Path) -> None:
    for file, sentences in quotes.sentences(figures).items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("\n".join(" ".join(sentences).split()), encoding="utf-8")
    assert list(quotes.missing(figures, tmp_path)) == []


def test_what_is_quoted_first_has_the_settings_that_nobody_changed(figures: dict[str, Any]) -> None:
    from supple.core import Ground

    quoted = figures["implicit_frame"]
    assert quoted["15 K tets"]["friction"] == quoted["2.5 K tets"]["friction"] == Ground().friction
    assert quoted["15 K tets, no friction"]["friction"] == 0.0
    assert all(row["friction"] == Ground().friction for row in figures["integrators"])


def test_the_page_tells_failed_engines_from_more_exact_ones(figures: dict[str, Any]) -> None:
    changed = deepcopy(figures)
    name = "lattice 15 K, E = 1e5 Pa, ν = 0.45"
    case = changed["time_stepping"][name]
    for row in case["rows"]:
        if row["contender"] == "bullet":
            row["rms_error_m"] = 0.0
        if row["contender"] == "mujoco":
            row.pop("rms_error_m")
            row["note"] = "stopped after 75 s"
    changed["time_stepping"] = {name: case}
    text = page.text(changed)
    (ratios,) = [line for line in text.splitlines() if line.endswith("| more exact* | failed |")]
    assert ratios.startswith("| lattice 15 K | 1e5 | 0.45 |")
    assert "| MuJoCo flex | failed | stopped after 75 s | none |" in text


def test_every_section_says_when_it_was_measured(figures: dict[str, Any]) -> None:
    sections = page.text(figures).split("\n## ")[1:]
    assert len(sections) == 13
    assert all("Measured" in s or "| measured |" in s for s in sections)


def test_a_character_and_a_collider_are_read_within_five_seconds(figures: dict[str, Any]) -> None:
    found = figures["capture"]
    assert found["frames"] == 250 and min(found["vertices"]) >= 10_000
    assert max(found["beside_s"].values()) <= 5.0
