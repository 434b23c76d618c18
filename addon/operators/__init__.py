# SPDX-License-Identifier: GPL-3.0-or-later
"""Buttons, by subject."""

from typing import Any

from . import bake, bodies, export, farm, fields, notices, presets, simulate, solver, takes

_FILES = (bodies, simulate, bake, takes, export, fields, farm, notices, solver, presets)
CLASSES: list[Any] = [
    each
    for file in _FILES
    for name, each in vars(file).items()
    if name.startswith("SUPPLE_OT_") and each.__module__ == file.__name__
]
for _operator in CLASSES:
    # Blender would break a tooltip, and indent it, where a docstring breaks its lines.
    _operator.bl_description = " ".join(_operator.__doc__.split())
