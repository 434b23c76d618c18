# SPDX-License-Identifier: GPL-3.0-or-later
"""Tables in Markdown, and what they were measured with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from .store import MEASURED


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def when(figures: dict[str, Any], name: str) -> str:
    """On which days and at which commits a benchmark was measured, as a sentence."""
    records = figures[MEASURED][name]
    groups: dict[str, list[str]] = {}
    for part in records:
        groups.setdefault(stamp(records[part]), []).append(part)
    if len(groups) == 1:
        return f"Measured {next(iter(groups))}."
    words = [f"{'; '.join(parts)}: {at}" for at, parts in groups.items()]
    return f"Measured: {'. '.join(words)}."


def stamp(record: dict[str, Any]) -> str:
    return f"{record['date']} at {record['version']} on {record['machine']}"
