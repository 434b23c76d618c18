# SPDX-License-Identifier: GPL-3.0-or-later
"""Native meshers leave files in the current folder; this gives them one to litter."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator


@contextlib.contextmanager
def scratch_folder() -> Iterator[None]:
    """Changes the process's current folder to a temporary one, and back."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        yield
