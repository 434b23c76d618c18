# SPDX-License-Identifier: GPL-3.0-or-later
"""From a scene as it was drawn to one that can be simulated. No torch here."""

from __future__ import annotations

from typing import Any

from ..scene.scene import Scene
from .overlap import check_surfaces, check_tetrahedra
from .tetrahedralize_scene import tetrahedralize_scene


def prepare(scene: Scene) -> tuple[Scene, list[dict[str, Any]]]:
    """The same scene with tetrahedra in every body, from where nothing intersects.

    Returns:
        The scene, and for each body that was a surface a report on its tetrahedra.

    Raises:
        SceneError: when a body overlaps the ground or a sphere, cannot be filled, or is pinned
            everywhere.
        IntersectionError: when more than a little intersects.
    """
    check_surfaces(scene)
    tet_scene, reports = tetrahedralize_scene(scene)
    check_tetrahedra(tet_scene)
    if tet_scene.contact is None:
        return tet_scene, reports
    # It loads scipy.spatial, which takes a moment that other scenes need not wait.
    from .initial_intersections import resolve_initial_intersections

    return resolve_initial_intersections(tet_scene), reports
