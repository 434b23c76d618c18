# SPDX-License-Identifier: GPL-3.0-or-later
"""What the worker prints."""

from __future__ import annotations

import os
import sys


def say(text: str) -> None:
    """Prints a line at once. Nobody to read it, or a full disk, must not cost a frame."""
    try:
        print(text, flush=True)
    except OSError:
        # What is left in the buffer would fail once more at the end of the process.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
