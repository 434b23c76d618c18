# SPDX-License-Identifier: GPL-3.0-or-later
"""The scene once its surfaces are tetrahedra, read and checked, with what is said of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..errors import DamageError
from ..scene.scene import Scene
from ..scene.schema import conforms
from . import scene_file
from .embeddings import check_embeddings

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
            raise DamageError(path, "a report on tetrahedra says nothing")
    for body in tet_scene.bodies:
        check_embeddings(path, body)
    return tet_scene, content
