# SPDX-License-Identifier: GPL-3.0-or-later
"""Files of other programs, written and read by Blender."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

Points = NDArray[np.float64]

_EXPORT_GLTF = """
import sys, bpy
bpy.ops.wm.open_mainfile(filepath=sys.argv[1])
bpy.ops.export_scene.gltf(filepath=sys.argv[2], export_format="GLB")
"""


def _gltf(path: Path) -> None:
    """In a process of its own: pytest would not end after Blender's exporter has run in it."""
    file = str(path.with_suffix(".blend"))
    bpy.ops.wm.save_as_mainfile(filepath=file, copy=True)
    subprocess.run([sys.executable, "-c", _EXPORT_GLTF, file, str(path)], check=True)


def _fbx(path: Path) -> None:
    bpy.ops.export_scene.fbx(filepath=str(path))


def _fbx_of_one_take(path: Path) -> None:
    bpy.ops.export_scene.fbx(
        filepath=str(path), bake_anim_use_nla_strips=False, bake_anim_use_all_actions=False
    )


def _alembic(path: Path) -> None:
    bpy.ops.wm.alembic_export(
        filepath=str(path), start=bpy.context.scene.frame_start, end=bpy.context.scene.frame_end
    )


def _usd(path: Path) -> None:
    bpy.ops.wm.usd_export(filepath=str(path), export_animation=True)


# Each with its exporter, what its name ends with, how it is imported, and by how many frames
# Blender's importer puts it later.
FORMATS: dict[str, tuple[Callable[[Path], None], str, str, int]] = {
    "glTF": (_gltf, "glb", "import_scene.gltf", 0),
    "FBX": (_fbx, "fbx", "import_scene.fbx", 0),
    "FBX of one take": (_fbx_of_one_take, "fbx", "import_scene.fbx", 1),
    "Alembic": (_alembic, "abc", "wm.alembic_import", 0),
    "USD": (_usd, "usdc", "wm.usd_import", 0),
}


def read(importer: str, path: Path) -> None:
    """Read a file into the scene, without anything that was there."""
    bpy.data.batch_remove(
        [*bpy.data.objects, *bpy.data.meshes, *bpy.data.actions, *bpy.data.armatures]
    )
    _operator(importer)(filepath=str(path))


def skip_without(importer: str) -> None:
    """Skip a test where this Blender cannot read a format."""
    try:
        _operator(importer).get_rna_type()
    except KeyError:
        pytest.skip(f"this Blender has no {importer}")


def _operator(name: str) -> Any:
    group, _, word = name.partition(".")
    return getattr(getattr(bpy.ops, group), word)


def world(obj: bpy.types.Object, frame: int) -> Points:
    """(V, 3) the visible vertices in the world."""
    bpy.context.scene.frame_set(frame)
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    mesh = evaluated.to_mesh()
    points = np.array([tuple(evaluated.matrix_world @ vertex.co) for vertex in mesh.vertices])
    evaluated.to_mesh_clear()
    return points


def matching(points: Points, others: Points) -> NDArray[np.intp]:
    """(V,) the nearest of others to each: glTF splits vertices."""
    gaps = np.linalg.norm(points[:, None] - others[None], axis=2)
    nearest: NDArray[np.intp] = gaps.argmin(axis=1)
    return nearest


def imported(name: str) -> bpy.types.Object:
    """The mesh object of that name, or below it: USD has a parent for the place, and from Blender
    5.2 on one for a skeleton."""
    for obj in bpy.data.objects:
        if obj.type == "MESH" and name in {each.name.replace("_", " ") for each in _upwards(obj)}:
            return obj
    raise AssertionError(f"{name} was not imported")


def _upwards(obj: bpy.types.Object | None) -> Iterator[bpy.types.Object]:
    """An object and what is above it."""
    while obj is not None:
        yield obj
        obj = obj.parent
