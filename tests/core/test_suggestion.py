# SPDX-License-Identifier: GPL-3.0-or-later
"""The name that a user may have meant."""

from __future__ import annotations

from supple.core.list_file import suggestion

NAMES = ["young", "poisson", "density"]


def test_the_most_similar_name_is_suggested() -> None:
    assert suggestion("yuong", NAMES) == "Did you mean young?"


def test_without_a_similar_name_the_text_is_the_other_one() -> None:
    assert suggestion("colour", NAMES) == ""
    assert suggestion("colour", NAMES, "Known are young, poisson, density.") == (
        "Known are young, poisson, density."
    )
