# SPDX-License-Identifier: GPL-3.0-or-later
"""A body whose frames lie beside its file."""

from __future__ import annotations

import bpy
import pytest

from ..conftest import AddBody


@pytest.fixture
def cube(scene: bpy.types.Scene, add_body: AddBody) -> bpy.types.Object:
    scene.supple.cache_folder = ""
    obj = add_body()
    # It plays two files then.
    obj.modifiers.new("Solidify", "SOLIDIFY")
    return obj
