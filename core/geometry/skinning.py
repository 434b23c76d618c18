# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones and skin weights whose linear blend comes nearest to a motion. No torch here.

Each round finds the weights of every vertex for given bones, then the motion of every bone for
given weights. Weights are not negative, add up to 1 and belong to at most four bones.

Source: Le and Deng, "Smooth skinning decomposition with rigid bones", ACM Transactions on Graphics
31 (6), 2012.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from .rigid_fit import closest_rotations, rigid_fits

FloatArray = NDArray[np.float64]
IndexArray = NDArray[np.intp]

#: The number of bones that may move a vertex, as game engines allow.
INFLUENCES = 4
#: Rounds of weights and bones. Twice as many lower the error of a squeezed monkey by a tenth.
ROUNDS = 5
# The number of entries of Gram matrices at once, so that a step is short.
_CHUNK_ENTRIES = 200_000
# The ridge, as a ratio to the trace, that tells bones with the same motion apart.
_RIDGE_RATIO = 1e-10


@dataclass(frozen=True)
class Skinning:
    """A motion as bones and weights.

    Args:
        weights: (V, B) the weight of each bone for each vertex.
        rotations: (F, B, 3, 3), offsets: (F, B, 3): take points from rest to each frame.
        errors: (F, V) the distance of each vertex from the motion, in metres.
    """

    weights: FloatArray
    rotations: FloatArray
    offsets: FloatArray
    errors: FloatArray


def fit_bones(rest: FloatArray, path: FloatArray, count: int) -> Generator[float, None, Skinning]:
    """Fit bones to a motion; yield the share of the work that is done.

    Args:
        rest: (V, 3) points of the mesh that the bones deform.
        path: (F, V, 3) the motion.
        count: B, the number of bones.
    """
    centres, count = path.mean(axis=1), min(count, len(rest))
    fit = _Fit(rest, path - centres[:, None], count)
    for number, _ in enumerate(fit.steps()):
        yield number / fit.step_count
    errors = np.linalg.norm(fit.blended - fit.path, axis=2)
    return Skinning(fit.weights, fit.rotations, fit.offsets + centres[:, None], errors)


class _Fit:
    def __init__(self, rest: FloatArray, path: FloatArray, count: int) -> None:
        self.rest, self.path = rest, path
        frames = len(path)
        self.rotations = np.empty((frames, count, 3, 3))
        self.offsets = np.empty((frames, count, 3))
        self.weights = np.zeros((len(rest), count))
        self._errors = np.full(len(rest), np.inf)
        #: (F, V, 3) the vertices as all bones move them.
        self.blended = np.zeros_like(path)
        self._chunk = max(_CHUNK_ENTRIES // count**2, 1)
        chunks = -(-len(rest) // self._chunk)
        self.step_count = count + ROUNDS * (chunks + count) + chunks

    def steps(self) -> Iterator[None]:
        """Fit all; yield before each of ``step_count`` pieces of the work."""
        for bone in range(self.weights.shape[1]):
            yield
            self.add_bone(bone)
        for _ in range(ROUNDS):
            yield from self.update_weights()
            yield from self.update_bones()
        yield from self.update_weights()

    def add_bone(self, bone: int) -> None:
        """Begin a bone at the vertex that the earlier ones move worst, and give it the vertices
        that it moves best."""
        self._begin_bone(bone, int(self._errors.argmax()))
        moved = self._moved_by(bone, slice(None))
        errors = ((moved - self.path) ** 2).sum(axis=(0, 2))
        best = errors < self._errors
        self.weights[best] = 0.0
        self.weights[best, bone] = 1.0
        self._errors = np.minimum(self._errors, errors)

    def _begin_bone(self, bone: int, vertex: int) -> None:
        """Let a bone follow a vertex and those around it, an equal part of all."""
        part = max(len(self.rest) // self.weights.shape[1], INFLUENCES)
        distances = np.linalg.norm(self.rest - self.rest[vertex], axis=1)
        around = np.argsort(distances, kind="stable")[:part]
        fits = rigid_fits(self.rest[around], self.path[:, around])
        self.rotations[:, bone], self.offsets[:, bone] = fits

    def _moved_by(self, bone: int, vertices: IndexArray | slice) -> FloatArray:
        """(F, V, 3) positions of some vertices as a bone alone moves them."""
        turned = self.rest[vertices] @ self.rotations[:, bone].transpose(0, 2, 1)
        moved: FloatArray = turned + self.offsets[:, bone, None]
        return moved

    def update_bones(self) -> Iterator[None]:
        """Find the motion of one bone after the other, each with the weights of all."""
        blended = self.blended
        for bone in range(self.weights.shape[1]):
            yield
            moved = np.flatnonzero(self.weights[:, bone])
            if len(moved) == 0:
                errors = ((blended - self.path) ** 2).sum(axis=(0, 2))
                self._begin_bone(bone, int(errors.argmax()))
                continue
            weight, rest = self.weights[moved, bone], self.rest[moved]
            others = blended[:, moved] - weight[:, None] * self._moved_by(bone, moved)
            remainder = self.path[:, moved] - others
            square = weight @ weight
            centre = weight**2 @ rest / square
            middles = np.einsum("v,fvi->fi", weight, remainder) / square
            covariance = np.einsum(
                "fvi,vj->fij", remainder, weight[:, None] * (rest - centre), optimize=True
            )
            size = np.linalg.norm(covariance, axis=(1, 2)) + 1e-12
            rotations = closest_rotations(covariance + 1e-6 * size[:, None, None] * np.eye(3))
            self.rotations[:, bone] = rotations
            self.offsets[:, bone] = middles - rotations @ centre
            blended[:, moved] = others + weight[:, None] * self._moved_by(bone, moved)

    def update_weights(self) -> Iterator[None]:
        """Find the weights of each vertex for the motions of all bones."""
        frames, count = self.offsets.shape[:2]
        # The points that a vertex has by each bone are linear in its homogeneous position.
        motions = np.concatenate([self.rotations, self.offsets[..., None]], axis=3)
        columns = motions.transpose(0, 2, 1, 3).reshape(3 * frames, 4 * count)
        products = (columns.T @ columns).reshape(count, 4, count, 4)
        products = products.transpose(1, 3, 0, 2).reshape(16, count**2)
        for first in range(0, len(self.rest), self._chunk):
            yield
            part = slice(first, first + self._chunk)
            points = np.pad(self.rest[part], ((0, 0), (0, 1)), constant_values=1.0)
            outer = (points[:, :, None] * points[:, None]).reshape(-1, 16)
            gram = (outer @ products).reshape(-1, count, count)
            target = self.path[:, part].transpose(1, 0, 2).reshape(len(points), -1)
            loads = (target @ columns).reshape(-1, count, 4)
            right = np.einsum("vba,va->vb", loads, points)
            self.weights[part] = _sparse_weights(gram, right, self.weights[part])
            self._blend(part)

    def _blend(self, vertices: slice) -> None:
        """Move some vertices by all bones."""
        self.blended[:, vertices] = 0.0
        for bone in range(self.weights.shape[1]):
            moved = vertices.start + np.flatnonzero(self.weights[vertices, bone])
            self.blended[:, moved] += self.weights[moved, bone, None] * self._moved_by(bone, moved)


def _sparse_weights(gram: FloatArray, right: FloatArray, start: FloatArray) -> FloatArray:
    """(V, B) weights that lower wᵀGw − 2bᵀw: not negative, with the sum 1, and at most four.

    The bone with the steepest descent replaces the one with the least weight, as long as that
    lowers the value of any vertex.
    """
    weights = start.copy()
    values = _values(gram, right, weights)
    rows, count = np.arange(len(weights)), weights.shape[1]
    while len(rows):
        slopes = (gram[rows] @ weights[rows, :, None])[:, :, 0] - right[rows]
        heaviest = np.argsort(-weights[rows], axis=1, kind="stable")[
            :, : min(INFLUENCES, count) - 1
        ]
        np.put_along_axis(slopes, heaviest, np.inf, axis=1)
        bones = np.column_stack([heaviest, slopes.argmin(axis=1)])
        pairs = gram[rows[:, None, None], bones[:, :, None], bones[:, None]]
        solved = _simplex_minimum(pairs, np.take_along_axis(right[rows], bones, axis=1))
        changed = np.zeros((len(rows), count))
        np.put_along_axis(changed, bones, solved, axis=1)
        new_values = _values(gram[rows], right[rows], changed)
        lower = new_values < values[rows] - 1e-9 * np.abs(values[rows])
        rows = rows[lower]
        weights[rows], values[rows] = changed[lower], new_values[lower]
    return weights


def _values(gram: FloatArray, right: FloatArray, weights: FloatArray) -> FloatArray:
    products = (gram @ weights[:, :, None])[:, :, 0]
    values: FloatArray = np.einsum("vb,vb->v", weights, products - 2.0 * right)
    return values


def _simplex_minimum(gram: FloatArray, right: FloatArray) -> FloatArray:
    """(V, n) the least wᵀGw − 2bᵀw of few weights that are not negative, with the sum 1.

    The minimum is one of those without limits on some of the weights, the others being 0.
    """
    count = right.shape[1]
    best, least = np.zeros_like(right), np.full(len(right), np.inf)
    for chosen in _subsets(count):
        part = gram[:, chosen][:, :, chosen]
        ridge = _RIDGE_RATIO * np.trace(part, axis1=1, axis2=2)
        part = part + ridge[:, None, None] * np.eye(len(chosen))
        sides = np.stack([right[:, chosen], np.ones((len(right), len(chosen)))], axis=2)
        free, even = np.moveaxis(np.linalg.solve(part, sides), 2, 0)
        weights = free + even * ((1.0 - free.sum(axis=1)) / even.sum(axis=1))[:, None]
        all_weights = np.zeros_like(right)
        all_weights[:, chosen] = weights
        values = np.where((weights >= 0.0).all(axis=1), _values(gram, right, all_weights), np.inf)
        lower = values < least
        best[lower], least[lower] = all_weights[lower], values[lower]
    return best


def _subsets(count: int) -> Iterator[list[int]]:
    for size in range(1, count + 1):
        yield from map(list, combinations(range(count), size))
