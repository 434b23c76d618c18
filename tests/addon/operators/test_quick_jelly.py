# SPDX-License-Identifier: GPL-3.0-or-later
"""Quick Jelly makes the selected meshes jelly, and simulates them."""

from __future__ import annotations

import bpy
import pytest

from supple.addon.modifiers import find_modifier
from supple.addon.properties import presets


def test_one_press_makes_jelly_of_the_selected_meshes_alone(scene, solver_here):
    bpy.ops.mesh.primitive_cube_add(size=1.0, location=(0, 0, 4))
    other = bpy.context.object
    bpy.ops.mesh.primitive_cube_add(size=1.0)
    cube = bpy.context.object
    other.select_set(False)
    assert bpy.ops.supple.quick_jelly() == {"FINISHED"}
    assert presets.label(cube.supple) == "Gelatine Dessert"
    assert len(cube.data.vertices) > 8, "it has to bend visibly"
    assert find_modifier(cube) is not None
    assert not other.supple.enabled


def test_a_body_that_is_soft_already_becomes_jelly(add_body, solver_here):
    body = add_body()
    body.supple.young = 5e6
    bpy.ops.supple.quick_jelly()
    assert presets.label(body.supple) == "Gelatine Dessert"


def test_it_needs_a_mesh(scene):
    bpy.ops.object.light_add()
    with pytest.raises(RuntimeError, match="Select a mesh object"):
        bpy.ops.supple.quick_jelly()
