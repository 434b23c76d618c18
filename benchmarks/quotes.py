# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences and table rows of README and docs that quote measured figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any


def sentences(figures: dict[str, Any]) -> dict[str, list[str]]:
    """Return the sentences and table rows by file, below the repository's root."""
    return {
        "README.md": [
            *_frame_rows(figures),
            *_automatic_rows(figures),
            *_step_rows(figures),
            *_first_frame_rows(figures),
        ],
        "docs/decisions.md": [_passes(figures), _preview(figures)],
    }


def missing(figures: dict[str, Any], root: Path) -> Iterator[tuple[str, str]]:
    """Yield the file and the text of each quotation that is not there; line breaks do not count."""
    for file, quotations in sentences(figures).items():
        text = " ".join((root / file).read_text(encoding="utf-8").split())
        yield from ((file, sentence) for sentence in quotations if sentence not in text)


def _frame_rows(figures: dict[str, Any]) -> list[str]:
    fine, coarse, fine_slick, coarse_slick = _frames(figures)
    return [
        "| a frame of 15 K tetrahedra, dropped to rest, one implicit step | "
        f"{fine['mean_ms']:.0f} ms, the longest {fine['longest_ms']:.0f} ms |",
        f"| the same with 2.5 K tetrahedra | {coarse['mean_ms']:.0f} ms |",
        "| both without friction | "
        f"{fine_slick['mean_ms']:.0f} ms and {coarse_slick['mean_ms']:.0f} ms |",
    ]


def _automatic_rows(figures: dict[str, Any]) -> list[str]:
    """Return no row for figures that were measured before this one was."""
    case = figures["implicit_frame"]["15 K tets"]
    if "automatic" not in case:
        return []
    automatic = case["automatic"]
    return [
        f"| 15 K with *Automatic*: {automatic['integrator']} in "
        f"{automatic['steps_a_frame']:.0f} steps, another one in {automatic['others']} of "
        f"{case['frames']} frames | {automatic['mean_ms']:.0f} ms |"
    ]


def _step_rows(figures: dict[str, Any]) -> list[str]:
    step = figures["explicit_substep"]["15 K tets"]
    return [
        f"| an explicit step of 15 K | {step['supple_ms']:.2f} ms "
        f"(torch-diffsim 0.2.0: {step['torch_diffsim_ms']:.1f} ms) |"
    ]


def _first_frame_rows(figures: dict[str, Any]) -> list[str]:
    """Return the seconds until the first frame shows, with and without compiled kernels."""
    first = figures["first_frame"]
    rows = [
        f"| the first frame of {first['tets']} tetrahedra after **Simulate** | "
        f"{first['waiting_worker_s']['median']:.1f} s |",
        f"| if the solver is not loaded yet | {first['new_worker_s']['median']:.1f} s |",
        f"| if it is not compiled yet, one body / two bodies | {first['nothing_compiled_s']:.0f} s "
        f"/ {first['two_bodies_nothing_compiled_s']:.0f} s |",
    ]
    if "shipped_loops_waiting_worker_s" in first:
        rows += [
            "| first use, compiled by the zip, one body / two bodies | "
            f"{first['shipped_loops_waiting_worker_s']:.1f} s / "
            f"{first['two_bodies_shipped_loops_waiting_worker_s']:.1f} s |",
            "| the same if the solver is not loaded yet | "
            f"{first['shipped_loops_s']:.1f} s / {first['two_bodies_shipped_loops_s']:.1f} s |",
        ]
    return rows


def _passes(figures: dict[str, Any]) -> str:
    step = figures["explicit_substep"]["15 K tets"]
    return (
        "at 15 K tets an explicit substep as torch operations takes "
        f"{step['supple_torch_passes_ms']:.2f} ms on two cores, fused {step['supple_ms']:.2f} ms."
    )


def _preview(figures: dict[str, Any]) -> str:
    fine, coarse, *_ = _frames(figures)
    return (
        f"A frame of 15 K tets takes {fine['mean_ms']:.0f} ms in full, of 2.5 K "
        f"{coarse['mean_ms']:.0f} ms."
    )


def _frames(figures: dict[str, Any]) -> list[dict[str, Any]]:
    names = ("15 K tets", "2.5 K tets", "15 K tets, no friction", "2.5 K tets, no friction")
    return [figures["implicit_frame"][name] for name in names]
