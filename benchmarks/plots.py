# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m benchmarks.plots``: draws the kept figures of the time stepping."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

from .store import quoted
from .styles import STYLES
from .time_against_tets import exponents

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
POISSON = 0.45
MESHES = ("lattice 2.5 K", "lattice 15 K")
Rows = Sequence[dict[str, Any]]


def draw_time_against_error(rows: Rows, path: Path) -> None:
    """One panel a mesh and Young's modulus; one line an engine, from its fewest steps on."""
    shown = [r for r in rows if r["poisson"] == POISSON and r["stable"] and r["mesh"] in MESHES]
    meshes = [mesh for mesh in MESHES if any(r["mesh"] == mesh for r in shown)]
    moduli = sorted({r["young"] for r in shown})
    figure, axes = plt.subplots(
        len(meshes),
        len(moduli),
        figsize=(max(9.0, 2.8 * len(moduli)), 2.5 * len(meshes) + 1.0),
        layout="constrained",
        sharex=True,
        sharey=True,
        squeeze=False,
    )
    for line, mesh in zip(axes, meshes, strict=True):
        for panel, young in zip(line, moduli, strict=True):
            here = [r for r in shown if r["mesh"] == mesh and r["young"] == young]
            _plot_engines(panel, here, "rms_error_m", "seconds_a_simulated_second")
            panel.set_title(f"{mesh} tets, E = {young:.0e} Pa".replace("e+0", "e"), fontsize=9)
    for panel in axes[-1]:
        panel.set_xlabel("root mean square error (m)")
    for panel in axes[:, 0]:
        panel.set_ylabel("seconds a simulated second")
    _finish(figure, list(axes.flat), path)


def draw_time_against_tets(rows: Rows, exponents: dict[str, Any], path: Path) -> None:
    """Two panels: time and memory; the legend's names say how the time grows."""
    done = [row for row in rows if "seconds_a_frame" in row]
    figure, axes = plt.subplots(1, 2, figsize=(9.0, 4.0), layout="constrained")
    growth = {name: p["seconds_a_frame"] for name, p in exponents.items() if p}
    for panel, quantity, label in (
        (axes[0], "seconds_a_frame", "seconds a frame"),
        (axes[1], "memory_of_the_body_mb", "memory of the body (MB)"),
    ):
        _plot_engines(panel, done, "tets", quantity, growth)
        panel.set_xlabel("tets")
        panel.set_ylabel(label)
    _finish(figure, list(axes), path)


def _plot_engines(
    panel: Axes, rows: Rows, x: str, y: str, growth: dict[str, float] | None = None
) -> None:
    for engine, (label, colour, marker) in STYLES.items():
        points = [(row[x], row[y]) for row in rows if row["contender"] == engine]
        if not points:
            continue
        if growth and engine in growth:
            label = f"{label}: tets^{growth[engine]:.2f}"
        panel.plot(*zip(*points, strict=True), color=colour, marker=marker, label=label)
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.grid(which="major", color="#e4e4e4", linewidth=0.6)
    panel.spines[["top", "right"]].set_visible(False)


def _finish(figure: Any, panels: Sequence[Axes], path: Path) -> None:
    """Adds one legend for all panels and keeps the picture."""
    entries = {
        label: handle
        for panel in panels
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        entries.values(), entries.keys(), loc="outside lower center", ncols=4, frameon=False
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plots", description=__doc__)
    parser.add_argument("--into", type=Path, default=PICTURES, help="folder (%(default)s)")
    asked = parser.parse_args()
    results = quoted()
    mpl.rcParams.update({"font.size": 9, "lines.linewidth": 1.4, "lines.markersize": 5})
    mpl.use("agg")
    if "time_stepping" in results:
        rows = [row for case in results["time_stepping"].values() for row in case["rows"]]
        draw_time_against_error(rows, asked.into / "time_against_error.png")
    if "time_against_tets" in results:
        rows = [row for rows in results["time_against_tets"].values() for row in rows]
        draw_time_against_tets(rows, exponents(rows), asked.into / "time_against_tets.png")


if __name__ == "__main__":
    main()
