# SPDX-License-Identifier: GPL-3.0-or-later
"""Draws what the subjects want shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .check import Curve, Panel, Subject

# The colours that the colour-blind tell apart (Okabe and Ito, "Color Universal Design", 2008).
COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"),
    *("#000000", "#777777", "#8B6914"),
)
PALETTE = 256
LOOKS: dict[str, dict[str, Any]] = {
    "dots": {"linestyle": "", "marker": "o"},
    "line": {},
    "dashes": {"linestyle": "--"},
    "dotted line": {"marker": "o"},
}


def file_name(name: str) -> str:
    """Return the file name of a subject's picture."""
    return f"verification_{name}.png"


def draw(subjects: Mapping[str, Subject], folder: Path) -> None:
    """One picture a subject that has panels."""
    for name, subject in subjects.items():
        if subject.panels:
            _draw(subject.panels, folder / file_name(name))


def _draw(panels: Sequence[Panel], path: Path) -> None:
    # Only here: whoever checks without drawing needs no matplotlib.
    import matplotlib as mpl
    from matplotlib import pyplot as plt
    from PIL import Image

    mpl.use("agg")
    mpl.rcParams.update({"font.size": 8, "lines.linewidth": 1.2, "lines.markersize": 3.5})
    figure, axes = plt.subplots(
        1, len(panels), figsize=(4.4 * len(panels), 3.6), layout="constrained", squeeze=False
    )
    groups = dict.fromkeys(curve.group for panel in panels for curve in panel.curves)
    colours = {group: COLOURS[i % len(COLOURS)] for i, group in enumerate(groups)}
    for axis, panel in zip(axes[0], panels, strict=True):
        for curve in panel.curves:
            _plot(axis, curve, colours[curve.group])
        _dress(axis, panel)
    _add_legend(figure, axes[0])
    figure.savefig(path, dpi=110)
    plt.close(figure)
    # A palette: a third of the size, and no difference to be seen.
    with Image.open(path) as drawn:
        drawn.convert("RGB").quantize(PALETTE).save(path, optimize=True)


def _plot(axis: Any, curve: Curve, colour: str) -> None:
    axis.plot(curve.x, curve.y, color=colour, label=curve.label or None, **LOOKS[curve.look])


def _dress(axis: Any, panel: Panel) -> None:
    axis.set_title(panel.title, fontsize=8)
    axis.set_xlabel(panel.x)
    axis.set_ylabel(panel.y)
    if "x" in panel.logarithmic:
        axis.set_xscale("log")
    if "y" in panel.logarithmic:
        axis.set_yscale("log")
    axis.tick_params(which="both", labelsize=7)
    axis.grid(which="major", color="#e4e4e4", linewidth=0.6)
    axis.spines[["top", "right"]].set_visible(False)


def _add_legend(figure: Any, axes: Sequence[Any]) -> None:
    """Add one legend for all panels."""
    entries = {
        label: handle
        for axis in axes
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    if entries:
        # As many columns as are as wide as the panels.
        columns = 1 + len(axes)
        figure.legend(
            entries.values(),
            entries.keys(),
            loc="outside lower center",
            ncols=columns,
            frameon=False,
        )
