# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure how easily the prose of pages reads: ``python3 -m tools.reading_ease [PAGE …]``.

Prints the median Flesch reading ease of the paragraphs of each page. The exit status is 1 if a
median is below 60. Without a page, the pages that users read are measured.

Source: R. Flesch, "A new readability yardstick", Journal of Applied Psychology 32(3), 221-233,
1948: 206.835 - 1.015 words a sentence - 84.6 syllables a word.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from statistics import median

from .prose import PAGES, ROOT, prose_of_page

LOWEST_EASE = 60.0
#: Paragraphs with fewer words say too little about how a page reads.
FEWEST_WORDS = 8


def paragraphs(page: str) -> list[str]:
    """Return the paragraphs and list items of a Markdown page without its markup.

    Headings, pictures, tables and code blocks are left out, and a link is its text.
    """
    blocks = re.split(r"\n\s*\n", prose_of_page(page))
    texts = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(block.split())) for block in blocks)
    return [text for text in (re.sub(r"[*_`]", "", each) for each in texts) if _words(text)]


def reading_ease(paragraph: str) -> float:
    """Return the Flesch reading ease of a paragraph: 100 is very easy, 0 is very hard."""
    words = _words(paragraph)
    sentences = [part for part in re.split(r"(?<=[.!?])\s+", paragraph) if _words(part)]
    syllables = sum(map(count_syllables, words))
    return 206.835 - 1.015 * len(words) / len(sentences) - 84.6 * syllables / len(words)


def page_ease(page: str) -> float:
    """Return the median reading ease of the paragraphs of at least ``FEWEST_WORDS`` words."""
    eases = [reading_ease(each) for each in paragraphs(page) if len(_words(each)) >= FEWEST_WORDS]
    return median(eases)


def count_syllables(word: str) -> int:
    """Estimate the syllables of an English word by its groups of vowels; a number has one."""
    word = word.lower()
    count = len(re.findall(r"[aeiouy]+", word))
    if re.search(r"[^l]e$|[aeiouy]le$", word) and not word.endswith("ee"):
        count -= 1
    if re.search(r"[^aeiouytd]ed$", word):
        count -= 1
    return max(1, count)


def main(pages: Sequence[str]) -> int:
    eases = {page: page_ease((ROOT / page).read_text(encoding="utf-8")) for page in pages}
    for page, ease in eases.items():
        print(f"{page}: reading ease {ease:.0f}")
    return int(min(eases.values()) < LOWEST_EASE)


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W\d_]+(?:['’-][^\W\d_]+)*|\d[\d.,]*", text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or PAGES))
