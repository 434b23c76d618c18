# SPDX-License-Identifier: GPL-3.0-or-later
"""What words on the command line mean."""

from __future__ import annotations

import argparse
import re

from ..core.errors import SuppleError
from ..core.results import in_order


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
