# SPDX-License-Identifier: GPL-3.0-or-later
"""Measurements in separate processes, in which nothing else is loaded or spins."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any


def printed(benchmark: str, *arguments: object) -> Any:
    """The JSON that ``python -m benchmarks.BENCHMARK ARGUMENTS`` prints."""
    command = [sys.executable, "-m", f"benchmarks.{benchmark}", *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)
