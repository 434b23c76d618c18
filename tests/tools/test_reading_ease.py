# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading ease by Flesch's formula, and the pages that users read."""

from __future__ import annotations

import pytest

from supple.tools.prose import PAGES, ROOT
from supple.tools.reading_ease import LOWEST_EASE, count_syllables, page_ease, paragraphs
from supple.tools.reading_ease import reading_ease as ease_of


@pytest.mark.parametrize(
    ("word", "count"),
    [("a", 1), ("jelly", 2), ("pinned", 1), ("rested", 2), ("table", 2), ("whole", 1), ("tree", 1)],
)
def test_syllables_are_counted_by_groups_of_vowels(word: str, count: int):
    assert count_syllables(word) == count


def test_the_ease_is_what_the_formula_gives():
    # 6 words of 7 syllables in 2 sentences.
    expected = 206.835 - 1.015 * 6 / 2 - 84.6 * 7 / 6
    assert ease_of("The jelly falls. Press the key.") == pytest.approx(expected)


def test_headings_tables_pictures_and_code_are_no_prose():
    page = "# Head\n\n![Picture](p.png)\n\n| a | b |\n\n```\ncode\n```\n\n1. Press *[Go](x)*.\n"
    assert paragraphs(page) == ["Press Go."]


def test_long_words_and_sentences_read_less_easily():
    easy = "The body falls on the ground. It wobbles and comes to rest there."
    hard = "Deformable constitutive configurations subsequently accelerate towards equilibrium."
    assert page_ease(easy + "\n") > LOWEST_EASE > page_ease(hard + " " + hard + "\n")


@pytest.mark.parametrize("page", PAGES)
def test_pages_for_users_read_easily(page: str):
    assert page_ease((ROOT / page).read_text(encoding="utf-8")) >= LOWEST_EASE
