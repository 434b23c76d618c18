# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of a sweep: a table, a contact sheet and plots."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import page
from ..job import picture
from ..job.files import write_whole
from .folder import PICTURE, RUNS, Row
from .measures import UNITS

TABLE, PARQUET, SHEET, PAGE = "table.csv", "table.parquet", "contact_sheet.png", "index.html"
#: On the contact sheet and the page, and in a plot; of more, these are evenly chosen.
MOST_PICTURES, MOST_POINTS = 400, 2000
_WIDTH, _HEIGHT, _MARGIN = 260, 190, 38
# The ratio of the largest to the smallest value from which values are spaced by their logarithms.
_LOG_RATIO = 30.0
_NO_MEASURES = {"index", "run", "error"}


def write_table(folder: Path, rows: Sequence[Row]) -> None:
    """Write the rows as CSV, and as Parquet where pyarrow is installed.

    Raises:
        JobError: it cannot be written.
    """
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, names, restval="")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(folder / TABLE, text.getvalue().encode())
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:  # not installed, or made for another numpy
        return
    columns = {name: _column([row.get(name) for row in rows]) for name in names}
    content = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), content)
    write_whole(folder / PARQUET, content.getbuffer())


def _column(values: list[Any]) -> list[Any]:
    """A column of Parquet has one type."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {int, float} or len(kinds) <= 1:
        return [float(v) if kinds == {int, float} and v is not None else v for v in values]
    return [None if value is None else str(value) for value in values]


def write_page(folder: Path, rows: Sequence[Row], settings: Sequence[str]) -> None:
    """Write the contact sheet, and a page with plots of each measure against each setting.

    Args:
        folder: of the sweep.
        rows: of its runs.
        settings: the names of those that are varied.

    Raises:
        JobError: they cannot be written.
    """
    shown = [rows[k] for k in _chosen(len(rows), MOST_PICTURES)]
    files = {row["run"]: folder / RUNS / row["run"] / PICTURE for row in shown if row.get("run")}
    images = [picture.read_png(path) for path in files.values() if path.exists()]
    parts = []
    if images:
        columns = math.ceil(math.sqrt(len(images)))
        picture.write_png(folder / SHEET, picture.tiled(images, columns))
    measures = [
        name
        for name in dict.fromkeys(name for row in rows for name in row)
        if name not in settings and name not in _NO_MEASURES and _is_numeric(rows, name)
    ]
    for setting in settings:
        plots = [plot(rows, setting, name) for name in measures]
        parts.append(f"<h2>{page.text(setting)}</h2>{''.join(plots)}")
    cards = []
    for row in shown:
        name = f"{RUNS}/{row['run']}/{PICTURE}" if row.get("run") else ""
        lines = [f"{page.text(each)}: {page.text(_short(row[each]))}" for each in settings]
        if row.get("error"):
            lines.append(f'<span class="failed">{page.text(row["error"])}</span>')
        cards.append(page.card(name if name and (folder / name).exists() else "", lines))
    failed = sum(bool(row.get("error")) for row in rows)
    summary = f"{len(rows)} runs" + (f", {failed} failed" if failed else "")
    body = f'<p>{summary}. <a href="{TABLE}">{TABLE}</a></p>{"".join(parts)}<h2>Last frames</h2>'
    page.write(folder / PAGE, f"Sweep {folder.name}", body + page.cards(cards))


def _chosen(count: int, most: int) -> list[int]:
    """Numbers below ``count``, ``most`` of them at most, evenly spaced."""
    return sorted({round(k) for k in np.linspace(0, count - 1, min(count, most))})


def _is_numeric(rows: Sequence[Row], name: str) -> bool:
    values = [row[name] for row in rows if row.get(name) is not None]
    return bool(values) and all(isinstance(value, int | float) for value in values)


def plot(rows: Sequence[Row], setting: str, measure: str) -> str:
    """Points of a measure over a setting as SVG; choices that are no numbers stand side by side."""
    points = [
        (row[setting], float(row[measure]))
        for row in rows
        if isinstance(row.get(measure), int | float) and math.isfinite(row[measure])
    ]
    points = [points[k] for k in _chosen(len(points), MOST_POINTS)] if points else []
    is_number = all(isinstance(x, int | float) and not isinstance(x, bool) for x, _ in points)
    names = [] if is_number else sorted({str(x) for x, _ in points})
    xs = [float(x) if is_number else float(names.index(str(x))) for x, _ in points]
    ys = [y for _, y in points]
    across, low_x, high_x = _scale(xs, _MARGIN, _WIDTH - 10.0, is_number)
    upward, low_y, high_y = _scale(ys, _HEIGHT - _MARGIN, 24.0, True)
    dots = "".join(
        f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5"/>' for a, b in zip(across, upward, strict=True)
    )
    unit = f" ({UNITS[measure]})" if UNITS.get(measure) else ""
    left, right = (low_x, high_x) if is_number else (names[0], names[-1])
    base = _HEIGHT - _MARGIN
    labels = [
        (4, 14, "start", f"{measure}{unit}"),
        (_MARGIN - 4, base, "end", low_y),
        (_MARGIN - 4, 28, "end", high_y),
        (_MARGIN, base + 14, "start", left),
        (_WIDTH - 10, base + 14, "end", right),
        ((_WIDTH + _MARGIN) / 2, _HEIGHT - 6, "middle", setting),
    ]
    texts = "".join(
        f'<text x="{x}" y="{y}" text-anchor="{anchor}">{page.text(label)}</text>'
        for x, y, anchor, label in labels
    )
    frame = f'<path d="M{_MARGIN} 20V{base}H{_WIDTH - 6}" fill="none" stroke="#777"/>'
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" fill="#7bd" font-size="10">{frame}{dots}'
        f'<g fill="#ccc">{texts}</g></svg>'
    )


def _scale(
    values: list[float], start: float, end: float, may_be_log: bool
) -> tuple[list[float], str, str]:
    """Places between two limits, and the texts at both."""
    if not values:
        return [], "", ""
    low, high = min(values), max(values)
    texts = (_short(low), _short(high))
    if may_be_log and low > 0.0 and high / low > _LOG_RATIO:
        values, low, high = [math.log(value) for value in values], math.log(low), math.log(high)
    reach = (high - low) or 1.0
    middle = 0.5 if high == low else 0.0
    places = [start + (end - start) * ((value - low) / reach + middle) for value in values]
    return places, *texts


def _short(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
