# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene once its surfaces are tetrahedra, read and checked, with the reports on them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import DamageError
from ..geometry.embedding import Embedding
from ..geometry.tet_mesh import TetMesh
from ..scene.scene import Scene
from ..scene.schema import conforms
from ..scene.soft_body import SoftBody
from . import scene_file


def check_embeddings(path: Path, body: SoftBody) -> None:
    """Check that surfaces follow existing vertices.

    Args:
        path: of the file that the body was read from.

    Raises:
        DamageError: when a surface follows vertices that there are not.
    """
    if not isinstance(body.mesh, TetMesh):
        raise DamageError(path, f"{body.name} has no tetrahedra")
    count = len(body.mesh.vertices)
    skins = [] if body.skin is None else [body.skin, *body.skin.refined]
    for surface in (*skins, body.contact_surface, body.seen_surface):
        if surface is None or surface.embedding is None:
            continue
        if not _fits(surface.embedding, len(surface.points), count, 4):
            raise DamageError(path, f"{body.name} does not fit its surface")
    if not all(_fits(skin.phong, len(skin.points), count) for skin in skins):
        raise DamageError(path, f"{body.name} does not fit its surface")


def _fits(
    embedding: Embedding | None, points: int, vertices: int, width: int | None = None
) -> bool:
    """Whether an embedding is None, or has this number of points in this number of tet vertices."""
    if embedding is None:
        return True
    indices, shape = embedding.indices, embedding.weights.shape
    if indices.shape != shape or len(shape) != 2 or len(indices) != points:
        return False
    return width in (None, shape[1]) and not ((indices < 0) | (indices >= vertices)).any()


# ``settings`` are those that frames depend on; older versions do not write them.
_MEMBERS: dict[str, Any] = {
    "run": str,
    "version": str,
    "reports": list[dict[str, Any]],
    "settings": dict[str, Any] | None,
}


def load_tet_scene(path: Path) -> tuple[Scene, dict[str, Any]]:
    """The scene, and all that the JSON file says.

    Raises:
        DamageError: when a file is not what was written.
        JobError: when it cannot be read.
    """
    tet_scene, content = scene_file.load_scene(path)
    for name, hint in _MEMBERS.items():
        if not conforms(content.get(name), hint):
            raise DamageError(path, f"{name} cannot be {content.get(name)!r}")
    for report in content["reports"]:
        if not all(conforms(report.get(name), str) for name in ("name", "summary")):
            raise DamageError(path, "a report on tetrahedra is empty")
    for body in tet_scene.bodies:
        check_embeddings(path, body)
    return tet_scene, content
