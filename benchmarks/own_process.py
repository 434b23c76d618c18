# SPDX-License-Identifier: GPL-3.0-or-later
"""Engines in processes of their own, so that neither's threads or memory touch another's."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .drop import Positions
from .peers.run import RUNGS

# What one engine may take for one drop, the search for its steps included.
TIMEOUT = 75.0


@dataclass(frozen=True)
class Measured:
    """The output and the record of one run of ``python -m benchmarks.peers``.

    Args:
        record: its line of JSON.
        positions: (frames, N, 3) in metres.
    """

    record: dict[str, Any]
    positions: Positions

    @property
    def steps(self) -> int:
        return int(self.record["steps"])

    @property
    def seconds(self) -> float:
        """A simulated second's.

        The first frame, which sets things up, counts as the second: both are free fall.
        """
        first, *others = self.record["frame_seconds"]
        return float(sum(others) + (others or [first])[0])


def measure(
    engine: str,
    drop: Path,
    *steps: int,
    at_least: int = 1,
    rungs: int = RUNGS,
    timeout: float = TIMEOUT,
) -> tuple[list[Measured], str]:
    """The runs of an engine, and why there are no more; with given steps, or with its fewest on.

    Args:
        engine: a name among ``ENGINES``.
        drop: where the drop is saved.
        at_least: the fewest that are tried when they are not given.
        rungs: how many runs there may be then.
        timeout: in seconds; the runs that were done by then count.
    """
    limits = ["--at-least", str(at_least), "--rungs", str(rungs)]
    command = [
        sys.executable,
        "-m",
        "benchmarks.peers",
        engine,
        str(drop),
        *map(str, steps),
        *limits,
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace"
    ) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
            note = _last_words(errors) if process.returncode else ""
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            note = f"stopped after {timeout:g} s"
    records = [json.loads(line) for line in output.splitlines() if line.startswith('{"steps"')]
    measured = [
        Measured(record, np.load(drop.with_suffix(f".{engine}.{record['steps']}.npy")))
        for record in records
    ]
    return measured, note


def _last_words(errors: str) -> str:
    """The line that says most of a traceback."""
    lines = errors.strip().splitlines()
    return lines[-1] if lines else "ended without a word"
