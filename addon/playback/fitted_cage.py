# SPDX-License-Identifier: GPL-3.0-or-later
"""The vertices of a body so that its modifiers make of them, as nearly as they can, what was shown.

Shape keys move these vertices alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.geometry.cage_fit import CageFit
from ...core.preparation.surface_normals import outward_faces, vertex_normals
from .. import driving
from ..capture.surfaces import evaluated_surface
from ..steps import Steps, scaled
from .refinement import linear_refinement

# Of the time that the fit of a few dozen frames takes, what modifiers make is found in about this.
PROBING_SHARE = 0.2
# Of the size of a body: what lies nearer to where it was shown is not told.
_SEEN_SHARE = 1e-3

Frames = NDArray[np.float32]


def fitted(
    obj: bpy.types.Object, frames: Frames, seen: Frames, kept: Sequence[int]
) -> Steps[tuple[Frames, str]]:
    """The frames of a body, some of them fitted to those of what is seen of it.

    Args:
        frames: (F, V, 3) of its own vertices, in its own space.
        seen: (F, R, 3) of the mesh that its modifiers make in the viewport.
        kept: which frames; the others stay as they are.

    Returns:
        The frames, as they were where what modifiers make is not linear; and what the user should
        know of it, empty where it is not seen.
    """
    names = ", ".join(each.name for each in driving.refiners(obj) if each.show_viewport)
    refinement = yield from scaled(linear_refinement(obj), PROBING_SHARE)
    if refinement is None or len(refinement.weights) != seen.shape[1]:
        return frames, _note(obj, names, "beside what was shown")
    _, triangles = evaluated_surface(obj, bpy.context.evaluated_depsgraph_get())
    faces = outward_faces(seen[0].astype(np.float64), triangles)
    fit, fits, farthest = CageFit(refinement, frames.shape[1]), frames.copy(), 0.0
    for number, index in enumerate(kept):
        yield PROBING_SHARE + (1.0 - PROBING_SHARE) * number / len(kept)
        points = seen[index].astype(np.float64)
        normals = vertex_normals(points, faces)
        own = fit.fitted(frames[index].astype(np.float64), points, normals)
        gaps = np.linalg.norm(refinement.interpolate(own) - points, axis=1)
        fits[index], farthest = own, max(farthest, float(gaps.max()))
    share = farthest / float(np.linalg.norm(np.ptp(seen[0], axis=0)))
    if share < _SEEN_SHARE:
        return fits, ""
    return fits, _note(obj, names, f"up to {share:.1%} of its size beside what was shown")


def _note(obj: bpy.types.Object, names: str, how_far: str) -> str:
    return (
        f"{names} of {obj.name} shapes the keys anew, {how_far}; apply it before you simulate "
        "where that is seen."
    )
