# SPDX-License-Identifier: GPL-3.0-or-later
"""The machine on which figures were measured."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path
from typing import Any

import torch


def describe() -> dict[str, Any]:
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
        "torch_threads": torch.get_num_threads(),
        "cuda": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def file_name(machine: dict[str, Any]) -> str:
    """One file a kind of machine."""
    words = f"{machine['processor']} {machine['cores']} cores {machine['cuda'] or ''}"
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def _processor() -> str:
    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
