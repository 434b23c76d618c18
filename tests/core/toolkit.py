# SPDX-License-Identifier: GPL-3.0-or-later
"""The package ipctk, an independent opinion on what touches."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any


@cache
def ipctk() -> Any:
    """It, set to one thread: sums over several come out differently each time."""
    package = import_module("ipctk")
    package.set_num_threads(1)
    package.set_logger_level(package.LoggerLevel.error)
    return package
