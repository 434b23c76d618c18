# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of sweeps on command lines. Blender reads them too, and has no torch."""

from __future__ import annotations

import argparse


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of every command that runs a sweep."""
    parser.add_argument(
        "--workers", type=_count, metavar="N", help="number of processes on this machine"
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="address of a Dask scheduler, such as tcp://farm:8786",
    )
    where.add_argument(
        "--local-cluster", type=_count, metavar="N", help="start a Dask cluster of N processes here"
    )
    parser.add_argument("--dry-run", action="store_true", help="write plan.csv without simulating")


def arguments_of(options: argparse.Namespace) -> list[str]:
    """The arguments that stand for the options of ``add_options``."""
    arguments = [] if not options.dry_run else ["--dry-run"]
    for name in ("workers", "scheduler", "local_cluster"):
        if (value := getattr(options, name)) is not None:
            arguments += [f"--{name.replace('_', '-')}", str(value)]
    return arguments


def _count(text: str) -> int:
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)
