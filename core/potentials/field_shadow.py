# SPDX-License-Identifier: GPL-3.0-or-later
"""What of a force field arrives behind what absorbs it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..kernels.bounding_volumes import box_nodes, build_tree
from ..kernels.shadows import TriangleTree, absorb
from ..scene.channel import Channel
from ..scene.force_fields import Absorber

FloatArray = NDArray[np.float64]


class FieldShadow:
    """The share of a field that arrives at vertices: each absorber on the straight way to the
    source takes its part once, however many of its triangles are crossed.

    Args:
        absorbers: what may stand in the way.
        template: (N,) of whose device and type the share is.
    """

    def __init__(self, absorbers: Sequence[Absorber], template: Tensor) -> None:
        self._casters = [_Caster(absorber) for absorber in absorbers]
        #: (N,) 0 … 1, in place; 1 until it is cast.
        self.visibility = torch.ones_like(template)

    def cast(self, positions: Tensor, sources: Tensor, frame: int) -> None:
        """Finds what arrives at (3, N) positions of (3, N) sources, as absorbers are after a
        frame."""
        starts, ends = _rows(positions), _rows(sources)
        visibility = np.ones(len(starts))
        for caster in self._casters:
            caster.shade(starts, ends, frame, visibility)
        self.visibility.copy_(torch.as_tensor(visibility))


class _Caster:
    """An absorber with a tree over its triangles, of the shape that it has at the start."""

    def __init__(self, absorber: Absorber) -> None:
        self._absorber = absorber
        self._absorption = Channel.of(absorber.absorption, absorber.name)
        centres = absorber.vertices.at(0)[absorber.triangles].mean(axis=1)
        self._order = np.arange(len(centres), dtype=np.int32)
        self._ends, self._ranges = build_tree(centres, self._order)

    def shade(
        self, starts: FloatArray, ends: FloatArray, frame: int, visibility: FloatArray
    ) -> None:
        """Takes its part of (N,) ``visibility``."""
        arriving = 1.0 - float(self._absorption.at(frame))
        if arriving < 1.0:
            still = self._absorber.vertices.is_constant
            tree = self._still if still else self._tree(frame)
            absorb(starts, ends, tree, arriving, visibility)

    @cached_property
    def _still(self) -> TriangleTree:
        return self._tree(0)

    def _tree(self, frame: int) -> TriangleTree:
        corners = self._absorber.vertices.at(frame)[self._absorber.triangles[self._order]]
        boxes = np.empty((len(self._ends), 6))
        faces = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1)
        box_nodes(self._ends, self._ranges, faces, boxes)
        return TriangleTree(self._ends, self._ranges, boxes, corners)


def _rows(points: Tensor) -> FloatArray:
    """(N, 3) of (3, N) points."""
    return np.ascontiguousarray(points.detach().cpu().numpy().T, dtype=np.float64)
