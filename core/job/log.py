# SPDX-License-Identifier: GPL-3.0-or-later
"""The log of a job: one record a frame, each a line of JSON with a checksum."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..scene.schema import conforms
from .files import append_line, json_line, parse_json_line, read_bytes, write_whole

Record = dict[str, Any]

# The members of a record. Readers rely on the types of these; others may be added.
_MEMBERS: dict[str, Any] = {
    "frame": int,
    "time": float,
    "seconds": float,
    "substeps": int,
    "integrator": str,
    "iterations": int,
    "linear_iterations": int,
    "factorizations": int,
    "converged": bool,
    "residual_speed": float | None,
    "termination_reason": str,
    "contacts": int,
    "minimum_distance": float | None,
    "limited_steps": int,
    "blocked": list[str],
    "steps": int,
    "too_fast": list[str],
    "lost_energy": float,
    "linearizations": int,
    "truncated_vertices": int,
    "lag": float,
    "unfolding": list[str],
    "caught": list[str],
    "inverted_tets": int,
    "because": str,
    "crossing": list[str],
    "let_go": list[str],
    "took_hold": list[str],
    "most_work": str,
    "kinetic_energy": float | None,
    "elastic_energy": float | None,
    "potential_energy": float | None,
    "ground_energy": float | None,
    "minimum_j": float | None,
    "minimum_ground_distance": float | None,
}
_ABSENT: Any = object()


def total_seconds(records: Iterable[Record]) -> float:
    """The time that the frames of records took."""
    return math.fsum(record.get("seconds", 0.0) for record in records)


def most_contacts(records: Iterable[Record]) -> int:
    """The largest number of contacts of any frame."""
    return max((record.get("contacts", 0) for record in records), default=0)


@dataclass(frozen=True)
class Log:
    """The readable part of a log.

    Args:
        lines: those that are whole, by their frames. The later of two records of a frame counts.
        records: the records.
        damaged_lines: the number of damaged lines.
    """

    lines: dict[int, bytes]
    records: dict[int, Record]
    damaged_lines: int

    def lost(self, last_frame: int) -> list[int]:
        """Frames up to ``last_frame`` that have no record."""
        return [frame for frame in range(last_frame + 1) if frame not in self.records]


def append(path: Path, record: Record) -> None:
    """Adds a record. Values that are not finite become None, as JSON has no word for them."""
    finite = {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in record.items()
    }
    append_line(path, json_line(path.name, finite))


def read(path: Path) -> Log:
    """The whole lines; one cut off by a kill does not count, nor as damaged.

    Raises:
        JobError: when there is a log and it cannot be read.
    """
    lines: dict[int, bytes] = {}
    records: dict[int, Record] = {}
    damaged = 0
    for line in _whole_lines(path):
        try:
            record = parse_json_line(path.name, line)
            _check(record)
        except (ValueError, RecursionError):
            damaged += 1
            continue
        lines[record["frame"]], records[record["frame"]] = line, record
    in_order = {frame: records[frame] for frame in sorted(records)}
    return Log(lines, in_order, damaged)


def truncate_after(path: Path, frame: int) -> None:
    """Keeps the whole lines of frames up to ``frame``. Does nothing where there are no others."""
    lines = read(path).lines
    text = b"".join(lines[index] + b"\n" for index in sorted(lines) if index <= frame)
    if not path.exists() or text != read_bytes(path):
        write_whole(path, text)


def _whole_lines(path: Path) -> Iterator[bytes]:
    if path.exists():
        yield from read_bytes(path).split(b"\n")[:-1]


def _check(record: Record) -> None:
    """ValueError: if a member has an unexpected type or value. Whole numbers are counts."""
    for name, hint in _MEMBERS.items():
        value = record.get(name, _ABSENT)
        if value is _ABSENT and name != "frame":
            continue
        if not conforms(value, hint) or (hint is int and value < 0):
            raise ValueError(f"{name} cannot be {value!r}")


# The size in bytes of the lines with a worker's progress, and of the end of the line before.
_MAX_LINE = 1000
_SETTLING = "settling "


def report(text: str) -> None:
    """Prints a line at once. Nobody to read it, or a full disk, must not cost a frame."""
    try:
        print(text, flush=True)
    except OSError:
        # The rest of the buffer would fail once more at the end of the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def report_settling(names: list[str]) -> None:
    """Print that bodies are put to rest before the first frame."""
    report(f"{_SETTLING}{len(names)} bodies")


def is_settling(output: Path) -> bool:
    """Whether a worker puts bodies to rest before the first frame, by the file it prints to."""
    return last_line(output).startswith(_SETTLING)


def last_line(output: Path) -> str:
    """The last whole line that a worker has printed to a file; empty where there is none."""
    try:
        with output.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _MAX_LINE))
            printed = file.read().decode(errors="replace")
    except OSError:  # it has printed nothing yet, or has gone
        return ""
    whole, _, _ = printed.rpartition("\n")
    return whole.rpartition("\n")[2].strip()
