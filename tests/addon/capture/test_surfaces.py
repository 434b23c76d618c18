# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertices and corners of meshes, in whatever mode their object is."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from supple.addon.capture.surfaces import corner_vertices, polygons, vertex_coordinates


@pytest.mark.parametrize("mode", ["OBJECT", "EDIT", "SCULPT", "WEIGHT_PAINT"])
def test_a_mesh_is_read_in_every_mode(add_body, mode):
    mesh = add_body(location=(1, 2, 3)).data
    bpy.ops.object.mode_set(mode=mode)
    assert (mesh.attributes.get("position") is None) == (mode == "EDIT")
    points = [tuple(vertex.co) for vertex in mesh.vertices]
    assert len(points) == 8 and np.ptp(points) == 1.0
    np.testing.assert_array_equal(vertex_coordinates(mesh), points)
    corners = [vertex for polygon in mesh.polygons for vertex in polygon.vertices]
    np.testing.assert_array_equal(corner_vertices(mesh), corners)
    np.testing.assert_array_equal(polygons(mesh), [*range(0, 24, 4), *corners])


def test_an_empty_mesh_has_neither(scene):
    mesh = bpy.data.meshes.new("Empty")
    assert vertex_coordinates(mesh).shape == (0, 3)
    assert len(corner_vertices(mesh)) == 0
