# SPDX-License-Identifier: GPL-3.0-or-later
"""From a scene as it was drawn to one that can be simulated. No torch here."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..scene.scene import Scene
from .overlap import check_surfaces, check_tetrahedra
from .tetrahedralize_scene import tetrahedralize_scene


def prepare(scene: Scene) -> tuple[Scene, list[dict[str, Any]]]:
    """The same scene with tetrahedra in every body, from where nothing intersects, and viscosities
    in place of loss factors.

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
    if any(np.any(body.loss_factor) for body in tet_scene.bodies):
        # It loads scipy.sparse, as the next one does scipy.spatial, which takes a moment.
        from .loss_factors import with_viscosities

        tet_scene = with_viscosities(tet_scene)
    if tet_scene.contact is None:
        return tet_scene, reports
    from .initial_intersections import resolve_initial_intersections

    return resolve_initial_intersections(tet_scene), reports
