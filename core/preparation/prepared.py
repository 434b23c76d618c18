# SPDX-License-Identifier: GPL-3.0-or-later
"""From a scene as it was drawn to one that can be simulated. No torch here."""

from __future__ import annotations

from typing import Any

from ..scene.scene import Scene
from .discretize import discretize
from .overlap import check_surfaces, check_tetrahedra


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
    solids, reports = discretize(scene)
    check_tetrahedra(solids)
    if solids.contact is None:
        return solids, reports
    # It loads scipy.spatial, which takes a moment that other scenes need not wait.
    from .start import prepare_start

    return prepare_start(solids), reports
