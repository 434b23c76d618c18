# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe the render mesh of a body: the surface to fill, and the points that it carries along. No
torch here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.embedding import Embedding
from . import checks
from .channel import Channel
from .goals import Goals
from .paint import Paint
from .rest_shape import RestShape
from .schema import IF_THERE, check_kinds

# The rounding of the products of unit axes.
MAX_AXES_ERROR = 1e-9


@dataclass(eq=False)
class SurfaceMesh:
    """A triangle surface, still to be filled with tetrahedra.

    Args:
        vertices: (V, 3) positions in metres.
        triangles: (T, 3) vertex indices.
        method: ``lattice``, ``ftetwild`` or ``tetgen``.
        edge_length: of the tetrahedra, in metres; None lets the method choose.
        paint: settings of the body that differ from vertex to vertex, each once.
        axes: (3, 3) axes of the object in the world, one a column, perpendicular and of length 1;
            they may mirror it. Its tetrahedra lie along them. None is those of the world.
    """

    vertices: NDArray[np.float64]
    triangles: NDArray[np.int32]
    method: str = "lattice"
    edge_length: float | None = None
    paint: list[Paint] = field(default_factory=list, metadata={IF_THERE: True})
    axes: NDArray[np.float64] | None = field(default=None, metadata={IF_THERE: True})

    def __post_init__(self) -> None:
        self.vertices = checks.positions(self.vertices, "the surface")
        if self.axes is not None:
            self.axes = _checked_axes(self.axes)
        self.triangles = checks.triangles(self.triangles, len(self.vertices), "The surface")
        if self.edge_length is not None:
            checks.above_zero(self.edge_length, "The edge length of tetrahedra in metres")
        check_kinds(self, "The surface")
        for paint in self.paint:
            paint.check_length(len(self.vertices))
        painted = [paint.setting for paint in self.paint]
        if len(set(painted)) < len(painted):
            raise SceneError("The surface has two paints of one setting; keep one of them.")

    def check(self, name: str, is_plastic: bool) -> None:
        """Check that painted settings suit the body.

        Raises:
            SceneError: when a setting is painted that a body of that name does not have.
        """
        if not is_plastic and any(paint.setting == "yield_stress" for paint in self.paint):
            raise SceneError(
                f"{name}: its yield stress is painted, but it has no plasticity. Add one, or leave "
                "the paint out."
            )


def _checked_axes(axes: NDArray[np.float64]) -> NDArray[np.float64]:
    numbers = checks.numbers(axes, "The axes of the surface")
    if numbers.shape != (3, 3) or not np.allclose(
        numbers.T @ numbers, np.eye(3), rtol=0.0, atol=MAX_AXES_ERROR
    ):
        raise SceneError(
            "The axes of the surface must be three columns that are perpendicular and of length 1."
        )
    return numbers


@dataclass(eq=False)
class Skin:
    """Points carried along by a body, such as the vertices of the mesh an artist sees.

    Args:
        points: (V, 3) rest positions in metres.
        pinned: indices of points to be pinned; the tets around them are pinned with them.
        pin_path: channel of the (P, 3) positions of the pinned points, or its (T, P, 3) samples;
            None when they stay where they are.
        embedding: the points in the tetrahedra of the body, once it has them: which of these are
            pinned with a point.
        phong: the visible motion of the points, by Phong deformation; None is by their tets alone.
        goals: of points, where the tets carry them.
        rest_shape: of the points; the tets around them get one that shows it.
        detail: channel of (V, 3) in metres, one sample a frame, from where a body in its pose
            carries the points to where they are seen then; None is nothing.
        refined: the same surface with other points, such as a subdivision makes of it; they are
            carried and seen alike.
    """

    points: NDArray[np.float64]
    pinned: NDArray[np.int32] | None = None
    pin_path: Channel | None = None
    embedding: Embedding | None = None
    phong: Embedding | None = field(default=None, metadata={IF_THERE: True})
    goals: Goals | None = field(default=None, metadata={IF_THERE: True})
    rest_shape: RestShape | None = field(default=None, metadata={IF_THERE: True})
    detail: Channel | None = field(default=None, metadata={IF_THERE: True})
    refined: list[Skin] = field(default_factory=list, metadata={IF_THERE: True})

    def __post_init__(self) -> None:
        self.points = checks.positions(self.points, "the skin")
        check_kinds(self, "The skin")
        count = len(self.points)
        self.pinned, self.pin_path = checked_pins(self.pinned, self.pin_path, count, "the pin path")
        if self.goals is not None:
            self.goals.check(count, "the skin")
        if self.rest_shape is not None:
            self.rest_shape.check(count, "the skin")
        if self.detail is not None:
            self.detail = Channel.of(self.detail, "the detail of a skin", count, 3)

    def seen_at(
        self, positions: NDArray[np.floating[Any]], ground: float | None, frame: int = 0
    ) -> NDArray[np.float64]:
        """Return the (V, 3) visible positions of the points, once they are embedded, in metres.

        Args:
            positions: (N, 3) of the tet vertices.
            ground: its height. Points that the tets alone carry above it are not shown below.
            frame: which it is.
        """
        points = self._carried_at(positions, ground)
        return points if self.detail is None else points + self.detail.at(frame)

    def _carried_at(
        self, positions: NDArray[np.floating[Any]], ground: float | None
    ) -> NDArray[np.float64]:
        assert self.embedding is not None
        if self.phong is None:
            return self.embedding.interpolate(positions)
        points = self.phong.interpolate(positions)
        below = np.flatnonzero(points[:, 2] < (-np.inf if ground is None else ground))
        if ground is not None and len(below):
            carried = self.embedding.of(below).interpolate(positions)[:, 2]
            points[below, 2] = np.maximum(points[below, 2], np.minimum(carried, ground))
        return points


def checked_pins(
    pinned: object, path: Channel | None, count: int, what: str
) -> tuple[NDArray[np.int32] | None, Channel | None]:
    if pinned is None:
        if path is not None:
            raise SceneError(
                f"{what} moves nothing, since no vertex is pinned. Pin the vertices that it moves, "
                "or leave the path out."
            )
        return None, None
    indices = checks.indices(pinned, count, "a pinned vertex")
    return indices, None if path is None else Channel.of(path, what, len(indices), 3)
