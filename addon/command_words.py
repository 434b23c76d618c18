# SPDX-License-Identifier: GPL-3.0-or-later
"""What words on the command line mean."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from ..core.errors import SuppleError
from ..core.results import RESULTS, in_order
from ..core.scene.integrator_table import INTEGRATORS


def parsed_frames(text: str) -> tuple[int, int]:
    """``1-60`` as (1, 60)."""
    match = re.fullmatch(r"(-?\d+)-(-?\d+)", text)
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a frame range such as 1-60")
    first, last = int(match[1]), int(match[2])
    if last < first:
        raise argparse.ArgumentTypeError(f"{text!r} ends before it starts")
    return first, last


def parsed_count(text: str) -> int:
    """``12`` as 12."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number such as 24")
    return int(text)


def parsed_step(text: str) -> int:
    """``2`` as 2."""
    if not (step := parsed_count(text)):
        raise argparse.ArgumentTypeError("a key comes every so many frames, at least 1")
    return step


def parsed_results(text: str) -> tuple[str, ...]:
    """``speed,stretch`` as the names of results."""
    try:
        return in_order(text.split(","))
    except SuppleError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def common_options(with_file: bool) -> argparse.ArgumentParser:
    """The words that all commands know which simulate.

    Args:
        with_file: whether the .blend file is one of them.
    """
    common = argparse.ArgumentParser(add_help=False)
    if with_file:
        common.add_argument("file", type=Path, help="the .blend file")
        # Blender has a word of its own for it.
        common.add_argument("--scene", metavar="NAME", help="default: that of the file's window")
    common.add_argument(
        "--frames",
        type=parsed_frames,
        metavar="A-B",
        help="first and last frame, as --frames=-5-60 where the first is below 0; those that are "
        "set in the file when left out",
    )
    common.add_argument(
        "--pre-roll",
        type=parsed_count,
        metavar="N",
        help="frames to simulate before the first, which are not shown",
    )
    common.add_argument(
        "--device", choices=("auto", "cpu", "cuda"), help="what computes; auto chooses"
    )
    common.add_argument(
        "--integrator",
        choices=INTEGRATORS,
        metavar="NAME",
        help=f"of bodies that have none of their own: {', '.join(INTEGRATORS)}",
    )
    common.add_argument(
        "--substeps", type=parsed_count, metavar="N", help="time steps a frame; 0 chooses"
    )
    common.add_argument(
        "--results",
        type=parsed_results,
        metavar="NAMES",
        help=f"fields to keep beside the frames, of {', '.join(RESULTS)}, with commas and no "
        "spaces between them",
    )
    common.add_argument("--cache", type=Path, metavar="FOLDER", help="for the simulated frames")
    return common
