# SPDX-License-Identifier: GPL-3.0-or-later
"""The sentences of README and docs that quote measured figures, made from those figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any


def sentences(figures: dict[str, Any]) -> dict[str, list[str]]:
    """By file, below the repository's root."""
    return {
        "README.md": [
            _frame(figures),
            *_automatic(figures),
            _step(figures),
            _first_frame(figures),
            *_first_frame_with_shipped_loops(figures),
        ],
        "docs/architecture.md": [_passes(figures), _preview(figures)],
    }


def missing(figures: dict[str, Any], root: Path) -> Iterator[tuple[str, str]]:
    """File and sentence, of each that does not stand there; line breaks do not count."""
    for file, wanted in sentences(figures).items():
        text = " ".join((root / file).read_text(encoding="utf-8").split())
        yield from ((file, sentence) for sentence in wanted if sentence not in text)


def _frame(figures: dict[str, Any]) -> str:
    fine, coarse, fine_slick, coarse_slick = _frames(figures)
    return (
        "On two cores, a frame of 15 K tetrahedra dropped to rest takes "
        f"{fine['mean_ms']:.0f} ms at one implicit step a frame, the longest one "
        f"{fine['longest_ms']:.0f} ms; 2.5 K take {coarse['mean_ms']:.0f} ms. "
        f"Without friction it is {fine_slick['mean_ms']:.0f} and {coarse_slick['mean_ms']:.0f} ms."
    )


def _automatic(figures: dict[str, Any]) -> list[str]:
    """Nothing of figures that were measured before this was."""
    case = figures["implicit_frame"]["15 K tets"]
    if "automatic" not in case:
        return []
    found = case["automatic"]
    return [
        f"*Automatic*, Blender's default, takes {found['integrator']} in "
        f"{found['steps_a_frame']:.0f} steps, and implicit Euler in {found['others']} of "
        f"{case['frames']} frames, where it lands: {found['mean_ms']:.0f} ms."
    ]


def _step(figures: dict[str, Any]) -> str:
    double, single = _steps(figures)
    return (
        f"An explicit step of 15 K takes {double['supple_ms']:.2f} ms in double precision, the "
        f"default, and torch-diffsim 0.2.0 {double['torch_diffsim_ms']:.1f} ms for the same "
        f"result; in single precision {single['supple_ms']:.2f} and "
        f"{single['torch_diffsim_ms']:.1f} ms."
    )


def _first_frame(figures: dict[str, Any]) -> str:
    found = figures["first_frame"]
    return (
        f"Of {found['tets']} tetrahedra the first frame shows "
        f"{found['waiting_worker_s']['median']:.1f} s after pressing Simulate, "
        f"{found['new_worker_s']['median']:.1f} s when the solver is not loaded yet, and "
        f"{found['nothing_compiled_s']:.0f} s when its loops are not compiled yet, "
        f"{found['two_bodies_nothing_compiled_s']:.0f} s where there are two bodies"
    )


def _first_frame_with_shipped_loops(figures: dict[str, Any]) -> list[str]:
    """Nothing of figures that were measured before any were shipped."""
    found = figures["first_frame"]
    if "shipped_loops_waiting_worker_s" not in found:
        return []
    return [
        "Where they come with the extension, the first one of an installation shows after "
        f"{found['shipped_loops_waiting_worker_s']:.1f} s, "
        f"{found['two_bodies_shipped_loops_waiting_worker_s']:.1f} s where there are two bodies, "
        f"and {found['shipped_loops_s']:.1f} and {found['two_bodies_shipped_loops_s']:.1f} s when "
        "the solver is not loaded yet"
    ]


def _passes(figures: dict[str, Any]) -> str:
    double, single = _steps(figures)
    return (
        "at 15 K tets an explicit substep as torch operations takes "
        f"{double['supple_torch_passes_ms']:.2f} ms on two cores, fused "
        f"{double['supple_ms']:.2f} ms; in single precision "
        f"{single['supple_torch_passes_ms']:.2f} and {single['supple_ms']:.2f} ms."
    )


def _preview(figures: dict[str, Any]) -> str:
    fine, coarse, *_ = _frames(figures)
    return (
        f"A frame of 15 K tets takes {fine['mean_ms']:.0f} ms in full, of 2.5 K "
        f"{coarse['mean_ms']:.0f} ms;"
    )


def _frames(figures: dict[str, Any]) -> list[dict[str, Any]]:
    names = ("15 K tets", "2.5 K tets", "15 K tets, no friction", "2.5 K tets, no friction")
    return [figures["implicit_frame"][name] for name in names]


def _steps(figures: dict[str, Any]) -> list[dict[str, Any]]:
    return [figures["explicit_substep"][f"15 K tets, {name}"] for name in ("float64", "float32")]
