# SPDX-License-Identifier: GPL-3.0-or-later
"""A ball in an empty scene, and frames to bake."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from ..conftest import empty_file
from .played import Positions


@pytest.fixture(autouse=True)
def scene() -> bpy.types.Scene:
    empty_file()
    return bpy.context.scene


@pytest.fixture
def obj() -> bpy.types.Object:
    bpy.ops.mesh.primitive_uv_sphere_add(segments=8, ring_count=5)
    return bpy.context.object


@pytest.fixture
def frames(obj: bpy.types.Object) -> Positions:
    """Twelve frames, no two alike and no motion along a line."""
    random = np.random.default_rng(1)
    return random.normal(size=(12, len(obj.data.vertices), 3)).astype(np.float32)
