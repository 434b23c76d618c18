# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows the tetrahedra of a job as objects, each tet drawn a little smaller than it is."""

from __future__ import annotations

import bpy
import numpy as np

from ...core.geometry.tet_mesh import FACES, TetMesh
from ...core.job import Job
from ..capture.captured import Capture
from ..new_mesh import new_mesh

COLLECTION = "Supple Preview"
TET_SCALE = 0.85


def show(scene: bpy.types.Scene, job: Job, captured: Capture) -> None:
    """Makes one preview object a body, in place of those the scene had."""
    remove(scene)
    collection = bpy.data.collections.get(COLLECTION) or bpy.data.collections.new(COLLECTION)
    if collection.name not in scene.collection.children:
        scene.collection.children.link(collection)
    collection.hide_render = True
    for body, solid in zip(captured.objects, job.tet_scene.bodies, strict=True):
        if isinstance(solid.mesh, TetMesh):
            obj = bpy.data.objects.new(f"{body.name} tetrahedra", _mesh(solid.mesh, body.unit))
            obj.supple.is_preview = True
            obj.hide_render = True
            obj.show_in_front = True
            collection.objects.link(obj)


def remove(scene: bpy.types.Scene) -> bool:
    """Removes the scene's previews; False when there were none."""
    previews = [obj for obj in scene.objects if obj.supple.is_preview]
    for obj in previews:
        bpy.data.meshes.remove(obj.data)
    collection = scene.collection.children.get(COLLECTION)
    if collection is not None and not collection.all_objects:
        bpy.data.collections.remove(collection)
    return bool(previews)


def _mesh(solid: TetMesh, unit: float) -> bpy.types.Mesh:
    corners = solid.vertices[solid.tets] / unit
    centres = corners.mean(axis=1, keepdims=True)
    points = (centres + TET_SCALE * (corners - centres)).reshape(-1, 3)
    count = len(solid.tets)
    faces = (FACES + 4 * np.arange(count)[:, None, None]).reshape(-1, 3)
    return new_mesh("Tetrahedra", points, faces)
