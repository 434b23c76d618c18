# SPDX-License-Identifier: GPL-3.0-or-later
"""The package ipctk, which finds intersections at the start."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from ..errors import SceneError


@cache
def ipctk() -> Any:
    """The package ipctk, set to one thread: sums over several come out differently each time.

    Raises:
        SceneError: when it is not installed.
    """
    try:
        package = import_module("ipctk")
    except ImportError as error:
        raise SceneError(
            "Contact needs the package ipctk, which is not installed where the solver runs; "
            "install it, or set Contact to Never."
        ) from error
    package.set_num_threads(1)
    package.set_logger_level(package.LoggerLevel.error)
    return package
