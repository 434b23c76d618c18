# SPDX-License-Identifier: GPL-3.0-or-later
"""Writes docs/looks.md from the figures in ``results``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from supple.benchmarks.store import Store
from supple.benchmarks.tables import table

from .pictures import DOCS, PICTURED, PICTURES, file_name
from .scenes import SCENARIOS, Scenario
from .shapes import SHAPES

Figures = Mapping[str, Any]
#: Of all scenarios that were measured, by their names.
Results = Mapping[str, Figures]

RESULTS = Path(__file__).resolve().parent / "results"
PAGE = DOCS / "looks.md"
NAME = "looks"
BEFORE, NOW, REFERENCES = "before", "now", "references"
SQUEEZE = "static_squeeze"

HEAD = """# Looks

This page shows how simulated bodies look, and measures it. `python3 dev.py looks` simulates,
measures and renders everything anew and writes the page; do not edit it by hand. Run it after a
change to the tetrahedralizer, the embedding, contact or the add-on's defaults. `python3 dev.py
looks --quick monkey` takes seconds: it measures one scene and prints it beside the figures kept
here.

Each of six bodies is dropped from 0.6 m, and squeezed by 40 % of its width between two plates
that open again. A scene has 40 frames. *Cage* is the monkey again, with its subdivision left to
a modifier. Three stiffnesses are used: a column as high as the body is long would sag by 5, 15
and 40 % under its own weight. All other settings are those of a new soft body. The measured
mesh is the one that Blender shows. All figures are of the worst frame.

{columns}
*Before* is an earlier version for comparison; [results](../looks/results) has its
figures. {when}

"""
COLUMNS = (
    (
        "crossing",
        "faces of the body that cross another of its faces; faces that cross at rest, and their "
        "neighbours, do not count",
    ),
    ("torn", "edges longer than 3 times their rest length, or shorter than a fifth"),
    ("stretch", "the largest stretch of an edge"),
    (
        "roughness",
        "the mean distance of a vertex from the mean of its neighbours, divided by its value at "
        "rest. In brackets, divided by the value at three times the resolution, where that was "
        "simulated",
    ),
    ("J", "the least volume of a tetrahedron, divided by its volume at rest"),
    ("inverted", "the number of tetrahedra with a negative volume"),
    ("ground, plates", "the depth of the visible mesh inside of them, in mm"),
)
AT_REST = """## At rest

Bodies sink under their own weight by a quarter of their height, on ground without friction. The
table compares their visible vertices at rest with a simulation whose tetrahedra are five times
finer: the root mean square of the distance, and the largest distance. The seconds are the time
to find the equilibrium, the median of five runs. Filling with tetrahedra is listed apart, since
it is done once for all frames. `python -m looks.static_squeeze --before PYTHON` measures this,
with the Python of another checkout to compare with. {when}

"""
AT_REST_HEAD = (
    *("", "tets", "off by, mm", "at most, mm", "below ground, mm", "s", "mm · s"),
    "s of filling",
)
AT_REST_FIGURES = (
    *("tets", "rms_mm", "largest_mm", "below_ground_mm", "seconds", "rms_mm_seconds"),
    "filling_seconds",
)
FARTHEST = "farthest_outside_cells"
#: What an arrow leads from and to.
ARROW = " → "


@dataclass(frozen=True)
class Bar:
    """A bar that figures must meet.

    Args:
        figure: of one scenario, and its reference's figures.
        holds: whether a figure does.
    """

    what: str
    bar: str
    figure: Callable[[Figures, Figures], float | None]
    holds: Callable[[float], bool]
    worst: Callable[[Iterable[float]], float] = max


def _plain(name: str) -> Callable[[Figures, Figures], float | None]:
    return lambda figures, _: figures.get(name)


def _size(name: str) -> Callable[[Figures, Figures], float | None]:
    return lambda figures, _: None if name not in figures else abs(figures[name])


def _roughness_ratio(figures: Figures, reference: Figures) -> float | None:
    if "roughness" not in figures or "roughness" not in reference:
        return None
    return float(f"{figures['roughness'] / reference['roughness']:.3g}")


def _at_most(bar: float) -> Callable[[float], bool]:
    return lambda value: value <= bar


BARS = (
    Bar("new crossing faces", "0", _plain("crossing_faces"), _at_most(0)),
    Bar("torn edges, %", "≤ 0.05", _plain("torn_percent"), _at_most(0.05)),
    Bar("roughness over the reference's", "≤ 1.15", _roughness_ratio, _at_most(1.15)),
    Bar("inside of the ground, mm", "0", _plain("ground_depth_mm"), _at_most(1e-3)),
    Bar("inside of plates, mm", "0", _plain("collider_depth_mm"), _at_most(1e-3)),
    Bar("volume and mass off by, %", "≤ 1", _size("mass_error_percent"), _at_most(1.0)),
    Bar("those of thin parts off by, %", "≤ 5", _size("thin_volume_error_percent"), _at_most(5.0)),
    Bar(
        "farthest outside of the tets, cells",
        "≤ 0.1",
        _plain("farthest_outside_cells"),
        _at_most(0.1),
    ),
    Bar("least J", "> 0.05", _plain("least_j"), lambda value: value > 0.05, min),
)

SCENE_HEAD = (
    *("", "crossing", "torn, %", "stretch", "roughness", "J", "inverted"),
    *("ground", "plates", "s a frame", "steps"),
)
SCENE_FIGURES = (
    *("crossing_faces", "torn_percent", "longest_stretch", "roughness", "least_j", "inverted_tets"),
    *("ground_depth_mm", "collider_depth_mm", "seconds_a_frame", "integrator"),
)
FILLING_HEAD = (
    *("faces", "tets", "volume and mass off by, %", "those of thin parts, %"),
    *("vertices outside, %", "farthest, cells"),
)
FILLING_FIGURES = (
    *("faces", "tets", "mass_error_percent", "thin_volume_error_percent"),
    *("outside_percent", "farthest_outside_cells"),
)


@dataclass(frozen=True)
class Kept:
    """The measured figures, from the files in ``results``."""

    before: Results
    now: Results
    references: Results
    when: str

    @staticmethod
    def read(folder: Path = RESULTS) -> Kept:
        stores = [store(state, folder) for state in (BEFORE, NOW, REFERENCES)]
        before, now, references = (each.figures.get(NAME, {}) for each in stores)
        sentences = (_when(each, state) for each, state in zip(stores, (BEFORE, NOW), strict=False))
        return Kept(before, now, references, " ".join(filter(None, sentences)))


def store(state: str, folder: Path = RESULTS) -> Store:
    return Store.open(folder / f"{state}.json")


def squeezes(folder: Path = RESULTS) -> Store:
    return Store.open(folder / f"{SQUEEZE}.json")


def write(path: Path = PAGE) -> None:
    path.write_text(whole(), encoding="utf-8")


def whole() -> str:
    """Return the whole page, from the kept figures."""
    return text(Kept.read()) + at_rest(squeezes())


def at_rest(stored: Store) -> str:
    """Return the section on bodies at rest; nothing where none was measured."""
    lines = []
    for part, rows in stored.figures.get(SQUEEZE, {}).items():
        for row in rows:
            finer = row["times_finer"]
            name = part if finer == 1.0 else f"{part}, {finer:g} times finer"
            lines.append([name, *(str(row[figure]) for figure in AT_REST_FIGURES)])
    if not lines:
        return ""
    dates = sorted(record["date"] for record in stored.records(SQUEEZE).values())
    parts = stored.records(SQUEEZE).items()
    versions = "; ".join(f"{part} at {record['version']}" for part, record in sorted(parts))
    when = f"On {dates[-1]}, {stored.machine}: {versions}."
    return "\n" + AT_REST.format(when=when) + table(AT_REST_HEAD, lines)


def text(all_figures: Kept) -> str:
    """The whole page, in Markdown."""
    columns = table(("column", "meaning"), COLUMNS)
    first = HEAD.format(when=all_figures.when, columns=columns) + table(
        ("", "bar", "before", "now"), _bars(all_figures)
    )
    return "\n".join([first, *(_section(body, all_figures) for body in SHAPES)])


def rows(
    scenarios: Iterable[Scenario], before: Results, now: Results, all_figures: Kept
) -> list[list[str]]:
    """The figures of scenes side by side, in the columns of ``SCENE_HEAD``."""
    lines = []
    for scenario in scenarios:
        first, second = before.get(scenario.name, {}), now.get(scenario.name, {})
        reference = all_figures.references.get(scenario.name, {})
        cells = [_both(name, first, second, reference) for name in SCENE_FIGURES]
        lines.append([f"{scenario.action}, {scenario.sag} %", *cells])
    return lines


def filling(body: str, before: Results, now: Results) -> list[str]:
    """Return the figures that all scenes of a body share, in the columns of ``FILLING_HEAD``."""
    names = [scenario.name for scenario in SCENARIOS if scenario.body == body]
    first, second = (
        next((results[name] for name in names if "tets" in results.get(name, {})), {})
        for results in (before, now)
    )
    return [_both(name, first, second, {}) for name in FILLING_FIGURES]


def _section(body: str, all_figures: Kept) -> str:
    scenarios = [scenario for scenario in SCENARIOS if scenario.body == body]
    parts = [f"## {body.capitalize()}", _pictures(body)]
    parts.append(table(FILLING_HEAD, [filling(body, all_figures.before, all_figures.now)]).rstrip())
    parts.append(
        table(
            SCENE_HEAD, rows(scenarios, all_figures.before, all_figures.now, all_figures)
        ).rstrip()
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _pictures(body: str) -> str:
    """A table of those that there are."""
    lines = []
    for action, sag in PICTURED:
        names = [file_name(body, action, state) for state in (BEFORE, NOW)]
        cells = [
            f"![{body}, {action}]({PICTURES.name}/{name})" if (PICTURES / name).exists() else ""
            for name in names
        ]
        if any(cells):
            lines.append([f"{action}, {sag} %", *cells])
    return table(("worst frame", "before", "now"), lines).rstrip() if lines else ""


def _bars(all_figures: Kept) -> list[list[str]]:
    return [
        [
            bar.what,
            bar.bar,
            *(_verdict(bar, r, all_figures) for r in (all_figures.before, all_figures.now)),
        ]
        for bar in BARS
    ]


def _verdict(bar: Bar, results: Results, all_figures: Kept) -> str:
    """The worst figure of all scenes."""
    figures = (
        bar.figure(result, all_figures.references.get(name, {})) for name, result in results.items()
    )
    known = [value for value in figures if value is not None]
    if not known:
        return ""
    worst = bar.worst(known)
    return f"{worst:g}" if bar.holds(worst) else f"**{worst:g}**"


def _both(name: str, before: Figures, now: Figures, reference: Figures) -> str:
    first, second = (_cell(name, figures, reference) for figures in (before, now))
    if not first or not second or first == second:
        return second or first
    return first + ARROW + second


def _cell(name: str, figures: Figures, reference: Figures) -> str:
    if "failed" in figures:
        return "failed"
    value = figures.get(name)
    if value is None:
        return ""
    shown = f"{value:.3g}" if isinstance(value, float) else str(value)
    ratio = _roughness_ratio(figures, reference) if name == "roughness" else None
    return shown if ratio is None else f"{shown} ({ratio:.2f})"


def _when(stored: Store, state: str) -> str:
    records = stored.records(NAME).values()
    if not records:
        return ""
    versions = sorted({record["version"] for record in records})
    dates = sorted({record["date"] for record in records})
    at = ", ".join(versions)
    return f"*{state.capitalize()}* was measured at {at} on {dates[-1]}, {stored.machine}."
