# SPDX-License-Identifier: GPL-3.0-or-later
"""``python -m benchmarks.page``: writes docs/performance.md from the kept figures.

It also names the sentences of other pages that quote them and no longer say what they say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from supple.core.simulator import CUDA_LEAST_TETS

from . import contact_section, pile_section, quotes, side_by_side
from .devices import FRAMES
from .store import ROOT, quoted
from .styles import STYLES
from .tables import table, when
from .time_against_tets import exponents
from .time_stepping import CASES

PAGE = ROOT / "docs" / "performance.md"

HEAD = """# Performance

`python -m benchmarks.page` writes this page from the figures that `python3 dev.py bench`
measured and kept in [results](../benchmarks/results). Do not edit it by hand. All settings are
the defaults unless a section says otherwise. Each section says
when it was measured, at which commit and on which machine; later changes are not in its figures.

## A frame of implicit Euler
Blender's monkey, 2 m tall, falls half a metre and comes to rest (`implicit_frame`). The run has
{frames} frames of 1/24 s with one step a frame, each converged to 1 mm/s. Unless the table says
otherwise, E is 1e5 Pa and ν is 0.45. The ground has its default friction of {friction:g}, or
none. {when}

"""
IMPLICIT_HEAD = (
    *("", "friction", "mean, ms", "longest, ms", "Newton iterations", "most"),
    *("linear iterations in each", "frames not converged"),
)
AUTOMATIC = """
The choices of *Automatic* for the same scenes, in which the body does not touch itself:

"""
AUTOMATIC_HEAD = ("", "integrator", "steps a frame", "frames in another", "mean ms a frame")
PROFILE = """
The time of a frame by its parts, in milliseconds:

"""
SUBSTEP = """
## An explicit step
One step of symplectic Euler for the same monkey in free fall (`explicit_substep`). It is
compared with torch-diffsim, and with Supple's own passes over whole arrays, which CUDA uses.
{when}

"""
INTEGRATORS = """
## The integrators side by side
A monkey of {tets} tets falls half a metre (`integrators`). The run takes one second, with E =
1e5 Pa and ν = 0.45, on a ground with friction {friction:g}. Each integrator takes the steps that
it chooses. {when}

"""
CAPTURE = """
## Reading an animated scene
An armature bends a character of {character} vertices, each pinned or with a goal, and a collider
of {collider} vertices (`capture`). The time is that of reading {frames} frames with {samples}
samples of the pins a frame, before the solver begins. It includes Blender's own stepping through
the same frames. {when}

"""
SWEEPS = """
## Sweeps
A block of jelly falls on the ground, {runs} times with {frames} frames (`sweep_scaling`). A run
takes {run:.1f} processor seconds. The seconds are those of a whole sweep, with the start of the
processes and the results. The overhead is the processor time beside the runs, without start and
end of the processes. A machine that other machines share is not always equally fast, by a tenth
and more; what is below that, or below zero, cannot be told from nothing.
Other programs used the machine meanwhile: its load was {load:g}. {when}

"""
PLANNER = """
A dry run of {planned} runs of `sample_scenes/jelly_drop.blend` takes {seconds:g} s and
{memory} MB from the job folder of the scene. The command that also reads the .blend file takes
{whole_seconds:g} s and, with Blender's module beside the planner, {whole_memory} MB.

"""
TETS = """
## Time against tets
The same second at E = 1e5 Pa, each engine with the fewest steps that survive it
(`time_against_tets`). These are fewer steps than the engine would choose. {when}

![Seconds a frame against tets](pictures/time_against_tets.png)

"""

DEVICES = """
## On a graphics card
A block of jelly, 1 m wide, with E = 3e4 Pa, falls 5 cm on the ground (`devices`). The table has
the mean of {frames} frames of 1/24 s on all cores of the processor and on CUDA. The first frame
is left out, since CUDA records an explicit step in it. CUDA runs Supple's passes over whole
arrays; on small bodies most of their time is launching them. Contact is computed on the
processor, and so are explicit steps with contact. *Device: Automatic* uses CUDA from {least}
tets that touch nothing but the ground. {when}

"""


def write() -> None:
    figures = quoted()
    PAGE.write_text(text(figures), encoding="utf-8")
    for file, sentence in quotes.missing(figures, ROOT):
        print(f"{file} should say:\n  {sentence}")


def text(figures: dict[str, Any]) -> str:
    """The whole page, in Markdown."""
    return (
        "".join(part(figures) for part in (_implicit, _substep, _integrators))
        + contact_section.section(figures)
        + _capture(figures)
        + _sweeps(figures)
        + pile_section.section(figures)
        + side_by_side.section(figures, [case.name for case in CASES])
        + _growth(figures)
        + _devices(figures)
    )


def _implicit(figures: dict[str, Any]) -> str:
    implicit = figures["implicit_frame"]
    first = next(iter(implicit.values()))
    head = HEAD.format(
        frames=first["frames"],
        friction=first["friction"],
        when=when(figures, "implicit_frame"),
    )
    times = table(
        IMPLICIT_HEAD,
        [
            (
                name,
                f"{row['friction']:g}",
                f"{row['mean_ms']:.0f}",
                f"{row['longest_ms']:.0f}",
                f"{row['newton_iterations']:.1f}",
                str(row["most_newton_iterations"]),
                f"{row['linear_iterations_a_newton_iteration']:.0f}",
                str(row["frames_not_converged"]),
            )
            for name, row in implicit.items()
        ],
    )
    parts = list(first["profile_ms_a_frame"])
    profile = table(
        ("", *parts),
        [
            (name, *(f"{row['profile_ms_a_frame'][part]:.1f}" for part in parts))
            for name, row in implicit.items()
        ],
    )
    return head + times + _automatic(implicit) + PROFILE + profile


def _automatic(implicit: dict[str, Any]) -> str:
    choices = [
        (
            name,
            choice["integrator"],
            f"{choice['steps_a_frame']:g}",
            str(choice["others"]),
            f"{choice['mean_ms']:.0f}",
        )
        for name, row in implicit.items()
        if (choice := row.get("automatic"))
    ]
    return AUTOMATIC + table(AUTOMATIC_HEAD, choices) if choices else ""


def _substep(figures: dict[str, Any]) -> str:
    head = ("tets", "Supple, ms", "torch-diffsim, ms", "times as long")
    lines = [
        (
            str(row["tets"]),
            f"{row['supple_ms']:.2f}",
            f"{row['torch_diffsim_ms']:.2f}",
            f"{row['ratio']:.1f}",
            f"{row['supple_torch_passes_ms']:.2f}",
            f"{row['largest_difference_m']:.0e}",
        )
        for row in figures["explicit_substep"].values()
    ]
    words = (*head, "Supple's passes, ms", "farthest from torch-diffsim's vertices, m")
    return SUBSTEP.format(when=when(figures, "explicit_substep")) + table(words, lines)


def _integrators(figures: dict[str, Any]) -> str:
    rows = figures["integrators"]
    head = ("", "stiffness damping, s", "steps a frame", "ms a frame", "beside symplectic Euler")
    lines = [
        (
            row["integrator"],
            f"{row['inner_damping_s']:g}",
            f"{row['steps_a_frame']:g}",
            f"{row['ms_a_frame']:.1f}",
            f"{row['ratio']:.3g} ({row['step_ratio']:.3g} a step)",
        )
        for row in rows
    ]
    first, at = rows[0], when(figures, "integrators")
    words = INTEGRATORS.format(tets=first["tets"], friction=first["friction"], when=at)
    return words + table(head, lines)


def _capture(figures: dict[str, Any]) -> str:
    capture_figures = figures["capture"]
    words = CAPTURE.format(
        character=capture_figures["vertices"][0],
        collider=capture_figures["vertices"][1],
        frames=capture_figures["frames"],
        samples=capture_figures["samples_a_frame"],
        when=when(figures, "capture"),
    )
    head = ("", "capture, s", "Blender alone, s", "beside Blender, s")
    names = ("capture_s", "blender_s", "beside_s")
    lines = [
        (label, *(f"{capture_figures[name][run]:.2f}" for name in names))
        for label, run in (("first run", "first"), ("median of those after it", "median"))
    ]
    return words + table(head, lines)


def _sweeps(figures: dict[str, Any]) -> str:
    """Return nothing for figures that were measured before this one was."""
    if "sweep_scaling" not in figures:
        return ""
    measured = figures["sweep_scaling"]
    planner = measured["planner"]
    words = SWEEPS.format(
        runs=measured["runs"],
        frames=measured["frames"],
        run=measured["run_processor_s"],
        load=measured["load"],
        when=when(figures, "sweep_scaling"),
    )
    rows = [
        (
            row["way"],
            f"{row['seconds']:.1f}",
            f"{row['times_faster']:.2f}",
            f"{100.0 * row['overhead']:.1f} %" if "overhead" in row else "",
        )
        for row in measured["ways"]
    ]
    return (
        words
        + table(("", "seconds", "times as fast", "overhead"), rows)
        + PLANNER.format(
            planned=planner["runs"],
            seconds=planner["seconds"],
            memory=planner["peak_mb"],
            whole_seconds=planner["with_blender_seconds"],
            whole_memory=planner["with_blender_peak_mb"],
        )
    )


def _growth(figures: dict[str, Any]) -> str:
    rows = [row for part in figures["time_against_tets"].values() for row in part]
    rows.sort(key=lambda row: row["tets"])
    words = table(
        ("engine", "tets", "friction", "steps a frame", "ms a frame", "KB of the body a tet"),
        [_growth_line(row) for row in rows],
    )
    fits = [
        f"{STYLES[name][0]} tets^{fit['seconds_a_frame']:.2f}"
        for name, fit in exponents(rows).items()
    ]
    fitted = f"\nFitted, the time of a frame grows as: {'; '.join(fits)}.\n"
    return TETS.format(when=when(figures, "time_against_tets")) + words + fitted


def _devices(figures: dict[str, Any]) -> str:
    words = DEVICES.format(
        frames=FRAMES - 1,
        least=CUDA_LEAST_TETS,
        when=when(figures, "devices"),
    )
    head = ("", "tets", "steps a frame", "CPU, ms", "CUDA, ms", "times as quick", "first, ms")
    lines = [
        (
            row["integrator"],
            str(row["tets"]),
            f"{row['steps_a_frame']:g}",
            f"{row['cpu_ms']:.1f}",
            f"{row['cuda_ms']:.1f}",
            f"{row['ratio']:.2f}",
            f"{row['first_frame_cuda_ms']:.0f}",
        )
        for row in figures["devices"]
    ]
    return words + table(head, lines)


def _growth_line(row: dict[str, Any]) -> Sequence[str]:
    first = (STYLES[row["contender"]][0], str(row["tets"]), f"{row['friction']:g}")
    if "seconds_a_frame" not in row:
        return (*first, "failed", row["note"], "none")
    return (
        *first,
        str(row["steps_a_frame"]),
        f"{1e3 * row['seconds_a_frame']:.1f}",
        f"{1024 * row['memory_of_the_body_mb'] / row['tets']:.2f}",
    )


if __name__ == "__main__":
    write()
