# SPDX-License-Identifier: GPL-3.0-or-later
"""The contact toolkit, and how many threads it may take."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

from ..errors import SceneError


@cache
def toolkit() -> Any:
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
    _all_threads.append(package.get_num_threads())
    package.set_num_threads(1)
    package.set_logger_level(package.LoggerLevel.error)
    return package


_all_threads: list[int] = []


@contextmanager
def all_threads() -> Iterator[None]:
    """For what does not depend on the order of its sums, such as the earliest of many times."""
    package = toolkit()
    package.set_num_threads(_all_threads[0])
    try:
        yield
    finally:
        package.set_num_threads(1)
