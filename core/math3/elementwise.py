# SPDX-License-Identifier: GPL-3.0-or-later
"""Functions of one element that are written once for loops and for tensors.

A compiled loop calls such a function with numbers. ``on_tensors`` makes it a function of tensors,
each with that number of all elements, for CUDA and for autograd. It may use operators, ``abs``, the
functions here, and other functions of its kind. Conditions on flags of a whole call stay ``if``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from types import FunctionType
from typing import Any

import torch

from ..compiled import compiled


@compiled()
def root(x: Any) -> Any:
    """Return the square root."""
    return math.sqrt(x)


@compiled()
def angle(y: Any, x: Any) -> Any:
    """Return the angle of (x, y) from the first axis, in radians."""
    return math.atan2(y, x)


@compiled()
def at_least(x: Any, low: float) -> Any:
    """Return the larger of a number and a limit."""
    return max(x, low)


@compiled()
def at_most(x: Any, high: float) -> Any:
    """Return the smaller of a number and a limit."""
    return min(x, high)


@compiled()
def choose(condition: Any, yes: Any, no: Any) -> Any:
    """Return the first number where a condition holds, else the second."""
    return yes if condition else no


@cache
def on_tensors(loop: Any) -> Callable[..., Any]:
    """Return the function of a compiled loop for tensors in place of numbers."""
    on_torch: dict[Any, Callable[..., Any]] = {
        root: torch.sqrt,
        angle: torch.atan2,
        at_least: lambda x, low: x.clamp(min=low),
        at_most: lambda x, high: x.clamp(max=high),
        choose: torch.where,
    }
    if loop in on_torch:
        return on_torch[loop]
    function = loop.py_func
    names = dict(function.__globals__)
    for name in function.__code__.co_names:
        if hasattr(names.get(name), "py_func"):
            names[name] = on_tensors(names[name])
    return FunctionType(function.__code__, names, function.__name__, function.__defaults__)
