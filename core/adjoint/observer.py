# SPDX-License-Identifier: GPL-3.0-or-later
"""The callback that observes the progress of a search."""

from __future__ import annotations

from collections.abc import Callable

#: Hears after each step the loss in metres, and how much of the most work is done, 0 … 1.
#: Exceptions that it raises end the search.
Observer = Callable[[float, float], object]
