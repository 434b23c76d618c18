# SPDX-License-Identifier: GPL-3.0-or-later
"""Friction on obstacles from place to place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..geometry.tet_mesh import TetMesh
from ..potentials.ground_points import GroundPoints
from ..scene.collision_points import CollisionPoints
from ..scene.friction import Coefficients
from ..scene.paint import SurfacePaint
from ..scene.soft_body import SoftBody

Values = NDArray[np.float64]


class Rubbing(NamedTuple):
    """Coefficients on one obstacle: (N,) of all vertices, and (S,) of all points."""

    of_vertices: Coefficients
    of_points: Coefficients


class PaintedFriction:
    """What is left of friction where bodies are painted: √f, as an obstacle is not painted.

    Args:
        bodies, meshes: with their tetrahedra.
        own: the points of each that move.
        points: all of these, one body after the other.
        template: an (N,)-long tensor on the device and of the precision to work in.
    """

    def __init__(
        self,
        bodies: Sequence[SoftBody],
        meshes: Sequence[TetMesh],
        own: Sequence[CollisionPoints],
        points: GroundPoints,
        template: Tensor,
    ) -> None:
        self._counts = [len(mesh.vertices) for mesh in meshes]
        self._points, self._template = points, template
        paints = [body.friction_paint for body in bodies]
        self._is_painted = any(paint is not None for paint in paints)
        if self._is_painted:
            vertices = [mesh.vertices for mesh in meshes]
            places = [part.at(rest) for part, rest in zip(own, vertices, strict=True)]
            self._of_vertices = self._tensor(_shares(paints, vertices))
            self._of_points = self._tensor(_shares(paints, places))

    @property
    def of_points(self) -> Tensor | float:
        """(S,) what is left at points."""
        return self._of_points if self._is_painted else 1.0

    def of(self, friction: Coefficients) -> Rubbing:
        """From (B,) coefficients of the bodies."""
        rows = [self._tensor(np.repeat(part, self._counts)) for part in friction]
        points = [self._points.of_bodies(row) for row in rows]
        if self._is_painted:
            rows = [row * self._of_vertices for row in rows]
            points = [row * self._of_points for row in points]
        return Rubbing(Coefficients(*rows), Coefficients(*points))

    def _tensor(self, values: Values) -> Tensor:
        return torch.as_tensor(values).to(self._template)


def _shares(paints: Sequence[SurfacePaint | None], places: Sequence[Values]) -> Values:
    """√f at places of each body at rest, one body after the other."""
    found = [
        np.ones(len(own)) if paint is None else np.sqrt(paint.at(own))
        for paint, own in zip(paints, places, strict=True)
    ]
    return np.concatenate(found)
