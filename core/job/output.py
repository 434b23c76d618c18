# SPDX-License-Identifier: GPL-3.0-or-later
"""What the worker prints."""

from __future__ import annotations

import os
import sys
from pathlib import Path

# In bytes, of the lines that tell how far a worker is, and the end of the one before.
_MAX_LINE = 1000
_SETTLING = "settling "


def say(text: str) -> None:
    """Prints a line at once. Nobody to read it, or a full disk, must not cost a frame."""
    try:
        print(text, flush=True)
    except OSError:
        # What is left in the buffer would fail once more at the end of the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def say_settling(names: list[str]) -> None:
    """Print that bodies are put to rest before the first frame."""
    say(f"{_SETTLING}{len(names)} bodies")


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
