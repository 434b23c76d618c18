# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from supple.looks import page
from supple.looks.page import Kept

GOOD = {"crossing_faces": 0, "torn_percent": 0.0, "roughness": 1.1, "least_j": 0.4, "tets": 7}
BAD = {"crossing_faces": 469, "torn_percent": 0.61, "roughness": 2.5, "least_j": -0.5, "tets": 9}
NAME = "monkey, drop, 40 %"


def test_the_page_is_what_the_kept_figures_give() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.whole()


def test_bodies_at_rest_are_told_with_what_they_cost(tmp_path) -> None:
    row = {
        **{"times_finer": 1.4, "tets": 3128, "rms_mm": 1.68, "largest_mm": 4.75},
        **{"below_ground_mm": 0.0, "seconds": 0.5, "rms_mm_seconds": 0.84, "filling_seconds": 1.8},
    }
    stored = page.squeezes(tmp_path)
    assert page.at_rest(stored) == ""
    stored.figures["machine"] = {"processor": "Abacus", "cores": 1}
    stored.measure(page.SQUEEZE, "pebble, now", lambda: [row], "abc")
    text = page.at_rest(page.squeezes(tmp_path))
    assert "Abacus, 1 cores: pebble, now at abc." in text
    shown = line(text, "pebble, now, 1.4 times finer")
    assert shown.endswith("| 3128 | 1.68 | 4.75 | 0.0 | 0.5 | 0.84 | 1.8 |")


def line(text: str, beginning: str) -> str:
    (found,) = [line for line in text.splitlines() if line.startswith(f"| {beginning} |")]
    return found


def test_the_worst_of_all_scenes_is_held_to_the_bar() -> None:
    text = page.text(Kept({NAME: BAD, "hand, drop, 5 %": GOOD}, {NAME: GOOD}, {}, ""))
    assert line(text, "new crossing faces") == "| new crossing faces | 0 | **469** | 0 |"
    assert line(text, "least J") == "| least J | > 0.05 | **-0.5** | 0.4 |"
    assert line(text, "inside of plates, mm") == "| inside of plates, mm | 0 |  |  |"


def test_roughness_is_held_beside_a_finer_simulation_where_there_is_one() -> None:
    without = page.text(Kept({NAME: BAD}, {}, {}, ""))
    assert line(without, "roughness over the reference's").endswith("| ≤ 1.15 |  |  |")
    figures = Kept({NAME: BAD}, {NAME: GOOD}, {NAME: {"roughness": 1.0}}, "")
    assert line(page.text(figures), "roughness over the reference's").endswith("| **2.5** | 1.1 |")


def test_a_scene_shows_its_figures_before_and_now() -> None:
    text = page.text(Kept({NAME: BAD}, {NAME: GOOD}, {}, ""))
    monkey = text.split("## Monkey")[1].split("## Cage")[0]
    row = monkey.split("| drop, 40 % |")[-1]
    assert row.startswith(" 469 → 0 | 0.61 → 0 |  | 2.5 → 1.1 | -0.5 → 0.4 |")


def test_a_scene_that_could_not_be_simulated_says_so() -> None:
    text = page.text(Kept({NAME: {"failed": "no"}}, {NAME: GOOD}, {}, ""))
    assert "failed → 0" in text
