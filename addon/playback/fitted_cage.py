# SPDX-License-Identifier: GPL-3.0-or-later
"""Vertices from which a Subdivision makes frames, and its weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.geometry.cage_fit import CageFit
from ...core.geometry.embedding import Embedding
from ...core.meshing.surface import outward_faces, vertex_normals
from .. import driving
from ..capture.refined import refining
from ..capture.surfaces import Points, evaluated_surface, vertex_coordinates
from ..steps import Steps, scaled

# Smaller weights are rounding. The second is the error of the points by them, in units of the mesh.
_MIN_WEIGHT, _TOLERANCE_RATIO = 1e-6, 1e-5

Sets = list[set[int]]
Terms = tuple[NDArray[np.intp], NDArray[np.int_], Points]


def linear_refinement(obj: bpy.types.Object) -> Steps[Embedding | None]:
    """The points that the viewport shows of an object in its own vertices; None where they are not
    linear in these, or no others."""
    shown = [modifier for modifier in driving.refiners(obj) if modifier.show_viewport]
    vertices = vertex_coordinates(obj.data)
    with refining(obj, shown, "viewport") as refine:
        expected = refine(vertices)
    if len(expected) == len(vertices):
        return None
    groups, terms = list(_groups(obj.data)), []
    for number, group in enumerate(groups):
        yield number / len(groups)
        # The copy is deleted even where this stops early.
        with refining(obj, shown, "viewport") as refine:
            probed = _probed(refine, group, len(expected), len(vertices))
        if probed is None:
            return None
        terms.append(probed)
    point, vertex, weight = (np.concatenate(part) for part in zip(*terms, strict=True))
    embedding = _padded(point, vertex, weight, len(expected))
    error = np.abs(embedding.interpolate(vertices) - expected).max()
    extent = max(float(np.ptp(vertices, axis=0).max()), float(np.abs(vertices).max()))
    return embedding if error <= _TOLERANCE_RATIO * extent else None


def _probed(
    refine: Callable[[Points], Points], group: list[int], points: int, vertices: int
) -> Terms | None:
    """The points that follow the vertices of a group, the vertex of each, and its weight; None
    where the number of points changes."""
    moved = np.zeros((vertices, 3))
    moved[group, 0], moved[group, 1] = 1.0, 1.0 + np.arange(len(group))
    refined = refine(moved)
    if len(refined) != points:
        return None
    point = np.flatnonzero(np.abs(refined[:, 0]) > _MIN_WEIGHT)
    weight, numbered = refined[point, 0], refined[point, 1]
    number = np.rint(numbered / weight).astype(int) - 1
    if ((number < 0) | (number >= len(group))).any():
        return None
    return point, np.array(group)[number], weight


def _padded(
    point: NDArray[np.intp], vertex: NDArray[np.int_], weight: Points, count: int
) -> Embedding:
    order = np.argsort(point, kind="stable")
    lengths = np.bincount(point, minlength=count)
    there = np.arange(lengths.max()) < lengths[:, None]
    embedding = Embedding(np.zeros(there.shape, dtype=np.int32), np.zeros(there.shape))
    embedding.indices[there], embedding.weights[there] = vertex[order], weight[order]
    return embedding


def _groups(mesh: bpy.types.Mesh) -> Iterator[list[int]]:
    """Yield all vertices in groups; no two vertices of a group move the same point.

    The subdivided points of a face depend on the vertices of the faces around it.
    """
    faces = [list(face.vertices) for face in mesh.polygons]
    faces += [list(edge.vertices) for edge in mesh.edges if edge.is_loose]
    around: Sets = [{vertex} for vertex in range(len(mesh.vertices))]
    for face in faces:
        for vertex in face:
            around[vertex].update(face)
    near = [_union(around, _union(around, ring)) for ring in around]
    group = [-1] * len(near)
    for vertex in sorted(range(len(near)), key=lambda vertex: -len(near[vertex])):
        taken = {group[other] for other in near[vertex]}
        group[vertex] = next(number for number in range(len(taken) + 1) if number not in taken)
    for number in range(max(group) + 1):
        yield [vertex for vertex, group_number in enumerate(group) if group_number == number]


def _union(around: Sets, vertices: set[int]) -> set[int]:
    return set().union(*(around[vertex] for vertex in vertices))


# The fraction of the progress that measuring the modifiers takes, for a few dozen frames.
PROBING_SHARE = 0.2
# The distance from the shown frames that is reported, as a ratio to the size of a body.
_VISIBLE_RATIO = 1e-3

Frames = NDArray[np.float32]


def fitted(
    obj: bpy.types.Object, frames: Frames, refined: Frames, indices: Sequence[int]
) -> Steps[tuple[Frames, str]]:
    """Fit some of the frames of a body to the frames of its visible mesh.

    Args:
        frames: (F, V, 3) of its own vertices, in its own space.
        refined: (F, R, 3) of the mesh that its modifiers make in the viewport.
        indices: the frames; the others stay as they are.

    Returns:
        The frames, unchanged where the modifiers are not linear; and a note for the user, empty
        where no difference is visible.
    """
    names = ", ".join(each.name for each in driving.refiners(obj) if each.show_viewport)
    refinement = yield from scaled(linear_refinement(obj), PROBING_SHARE)
    if refinement is None or len(refinement.weights) != refined.shape[1]:
        return frames, _note(obj, names, "away from the played mesh")
    _, triangles = evaluated_surface(obj, bpy.context.evaluated_depsgraph_get())
    faces = outward_faces(refined[0].astype(np.float64), triangles)
    fit, fits, farthest = CageFit(refinement, frames.shape[1]), frames.copy(), 0.0
    for number, index in enumerate(indices):
        yield PROBING_SHARE + (1.0 - PROBING_SHARE) * number / len(indices)
        points = refined[index].astype(np.float64)
        normals = vertex_normals(points, faces)
        cage = fit.fitted(frames[index].astype(np.float64), points, normals)
        gaps = np.linalg.norm(refinement.interpolate(cage) - points, axis=1)
        fits[index], farthest = cage, max(farthest, float(gaps.max()))
    ratio = farthest / float(np.linalg.norm(np.ptp(refined[0], axis=0)))
    if ratio < _VISIBLE_RATIO:
        return fits, ""
    return fits, _note(obj, names, f"up to {ratio:.1%} of its size away from the played mesh")


def _note(obj: bpy.types.Object, names: str, how_far: str) -> str:
    return (
        f"{names} of {obj.name} acts on the baked keys too, and the result is {how_far}. If "
        "that is visible, apply it before you simulate."
    )
