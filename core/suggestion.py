# SPDX-License-Identifier: GPL-3.0-or-later
"""The name that a user may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Sequence


def suggestion(name: str, names: Sequence[str], otherwise: str = "") -> str:
    """Return a question such as ``Did you mean young?``.

    Args:
        name: a name that a user wrote and that is not among ``names``.
        names: the names that there are.
        otherwise: the text to return where none of them is similar.
    """
    similar = difflib.get_close_matches(name, names, 1)
    return f"Did you mean {similar[0]}?" if similar else otherwise
