# SPDX-License-Identifier: GPL-3.0-or-later
"""A tetrahedral mesh and its constants in a simulation: volumes, gradients, surface."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import SceneError
from ..tracked import tracks_tensors
from .groups import equal_rows, vertex_areas
from .surface_tets import SurfaceTets

# A tet flatter than this fraction of its longest edge cubed has no usable shape gradient.
DEGENERATE_VOLUME = 1e-10

# The faces of a tet of positive volume, each seen counter-clockwise from outside.
FACES = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


@tracks_tensors
class TetMesh:
    """Linear tetrahedra in their rest shape.

    Args:
        vertices: (N, 3) rest positions in metres; ``supple.core.adjoint`` has gradients by them.
        tets: (M, 4) vertex indices; tets of negative volume are reoriented.
        fill: (M,) fraction of each tet that is material, where not all is; its mass and stiffness
            are that much of a full one's. Tets that are partly filled may overlap.
        gas: (M,) fraction of each tet that lies in a hollow of the body, where there is one.

    Raises:
        SceneError: on a value that is not finite, an index out of range, a flat tet, a tet that is
            there twice, a face of three full tets, a vertex that no tet uses, a filled fraction
            that is not above 0, or one of gas that is not from 0 to 1.
    """

    def __init__(
        self,
        vertices: ArrayLike,
        tets: ArrayLike,
        fill: NDArray[np.float64] | None = None,
        gas: NDArray[np.float64] | None = None,
    ) -> None:
        self.vertices: NDArray[np.float64] = np.ascontiguousarray(vertices, dtype=np.float64)
        indices = np.asarray(tets)
        _check_arrays(self.vertices, indices)
        self.tets: NDArray[np.int32] = np.ascontiguousarray(indices, dtype=np.int32).copy()
        volumes = signed_volumes(self.vertices, self.tets)
        _check_volumes(self.vertices, self.tets, volumes)
        inverted = volumes < 0
        self.tets[inverted, 2:] = self.tets[inverted, :1:-1]
        _check_shared(self.tets, may_overlap=fill is not None)
        #: (M,) rest volumes in cubic metres.
        self.rest_volumes: NDArray[np.float64] = np.abs(volumes)
        #: (M,) as given, or None.
        self.fill = None if fill is None else _checked_fill(fill, len(self.tets))
        #: (M,) as given, or None.
        self.gas = None if gas is None else _checked_gas(gas, len(self.tets))
        #: The tets that the surface it was made from runs through, where they may overlap. No file
        #: keeps it.
        self.surface_tets: SurfaceTets | None = None

    def with_vertices(self, vertices: ArrayLike) -> TetMesh:
        """Return the same tets, filled as much, with (N, 3) other rest positions in metres.

        Raises:
            SceneError: as for a mesh of its own.
        """
        return TetMesh(vertices, self.tets, self.fill, self.gas)

    @property
    def material_volumes(self) -> NDArray[np.float64]:
        """Return the (M,) volume of the material in each tet at rest, in cubic metres."""
        return self.rest_volumes if self.fill is None else self.fill * self.rest_volumes

    @cached_property
    def shape_gradients(self) -> NDArray[np.float64]:
        """Return the (M, 4, 3) gradients of the linear shape functions, in 1/m: F = sum_a x_a
        (x) grad N_a."""
        a, b, c, d = self.vertices[self.tets].swapaxes(0, 1)
        u, v, w = b - a, c - a, d - a
        areas = np.stack([np.cross(v, w), np.cross(w, u), np.cross(u, v)], axis=1)
        others = areas / np.einsum("mi,mi->m", u, areas[:, 0])[:, None, None]
        return np.concatenate([-others.sum(axis=1, keepdims=True), others], axis=1)

    @cached_property
    def diagonal(self) -> float:
        """Return the diagonal of the bounding box at rest, in metres."""
        return float(np.linalg.norm(np.ptp(self.vertices, axis=0)))

    @cached_property
    def shortest_edge(self) -> float:
        """Return the length of the shortest edge at rest, in metres."""
        return float(_edge_lengths(self.vertices, self.tets).min())

    @cached_property
    def edge_length(self) -> float:
        """Return the edge length of a regular tet of the mean volume, in metres."""
        return float((6.0 * np.sqrt(2.0) * self.rest_volumes.mean()) ** (1 / 3))

    @cached_property
    def mean_edges(self) -> NDArray[np.float64]:
        """Return the (M,) mean length of the six edges of each tet, in metres."""
        return _edge_lengths(self.vertices, self.tets).mean(axis=1)

    @cached_property
    def surface(self) -> NDArray[np.int32]:
        """Return the (S, 3) triangles that belong to exactly one tet, seen counter-clockwise
        from outside."""
        faces = self.tets[:, FACES].reshape(-1, 3)
        order, starts = equal_rows(faces)
        single = np.diff(starts, append=len(order)) == 1
        return np.ascontiguousarray(faces[np.sort(order[starts[single]])])

    @cached_property
    def surface_areas(self) -> NDArray[np.float64]:
        """Return the (N,) thirds of the area of the surface triangles around each vertex, in m²."""
        return vertex_areas(self.vertices, self.surface)

    def lumped_mass(self, density: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the (N,) vertex masses in kg: a quarter of each tet's mass to each of its corners.

        Args:
            density: in kg/m³, a number or (M,).
        """
        quarters = np.repeat(density * self.material_volumes / 4.0, 4)
        return np.bincount(self.tets.ravel(), quarters, len(self.vertices)).astype(np.float64)


def signed_volumes(
    vertices: NDArray[np.float64], tets: NDArray[np.integer[Any]]
) -> NDArray[np.float64]:
    """(M,) volumes in m³, negative where a tet is inverted."""
    a, b, c, d = vertices[tets].swapaxes(0, 1)
    return np.einsum("ij,ij->i", np.cross(b - a, c - a), d - a) / 6.0


def _edge_lengths(vertices: NDArray[np.float64], tets: NDArray[np.int32]) -> NDArray[np.float64]:
    """(M, 6)."""
    corners = vertices[tets]
    edges = corners[:, [1, 2, 3, 2, 3, 3]] - corners[:, [0, 0, 0, 1, 1, 2]]
    return np.linalg.norm(edges, axis=2)


def _check_arrays(vertices: NDArray[np.float64], tets: NDArray[np.generic]) -> None:
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise SceneError(f"Tet mesh: vertices must be (N, 3), not {vertices.shape}.")
    if tets.ndim != 2 or tets.shape[1] != 4 or len(tets) == 0:
        raise SceneError(f"Tet mesh: tets must be (M, 4) with M > 0, not {tets.shape}.")
    if not np.issubdtype(tets.dtype, np.integer):
        raise SceneError(f"Tet mesh: tets must hold whole numbers, not {tets.dtype}.")
    broken = ~np.isfinite(vertices).all(axis=1)
    if broken.any():
        raise SceneError(f"Tet mesh: vertex {int(broken.argmax())} is not a finite position.")
    twice = np.argwhere(np.diff(np.sort(tets, axis=1), axis=1) == 0)
    if len(twice):
        tet, place = twice[0]
        raise SceneError(
            f"Tet mesh: tet {int(tet)} names vertex {np.sort(tets[tet])[place]} twice; remove it."
        )
    outside = ((tets < 0) | (tets >= len(vertices))).any(axis=1)  # type: ignore[operator]
    if outside.any():
        raise SceneError(
            f"Tet mesh: tet {int(outside.argmax())} names a vertex outside 0 … {len(vertices) - 1}."
        )
    used = np.zeros(len(vertices), dtype=bool)
    used[tets.ravel().astype(np.int64)] = True
    if not used.all():
        raise SceneError(
            f"Tet mesh: vertex {int(used.argmin())} belongs to no tet ({int((~used).sum())} such "
            "vertices); remove it."
        )


def _check_volumes(
    vertices: NDArray[np.float64], tets: NDArray[np.int32], volumes: NDArray[np.float64]
) -> None:
    longest = _edge_lengths(vertices, tets).max(axis=1)
    flat = np.abs(volumes) <= DEGENERATE_VOLUME * longest**3
    if flat.any():
        raise SceneError(
            f"Tet mesh: tet {int(flat.argmax())} is flat ({int(flat.sum())} such tets); "
            "remove it or mesh again with a larger edge length."
        )


def _checked_fill(fill: NDArray[np.float64], tets: int) -> NDArray[np.float64]:
    fractions = np.ascontiguousarray(fill, dtype=np.float64)
    if fractions.shape != (tets,) or not (np.isfinite(fractions) & (fractions > 0.0)).all():
        raise SceneError(
            f"Tet mesh: the filled fractions must be {tets} numbers above 0, one per tet."
        )
    return fractions


def _checked_gas(gas: NDArray[np.float64], tets: int) -> NDArray[np.float64]:
    fractions = np.ascontiguousarray(gas, dtype=np.float64)
    if fractions.shape != (tets,) or not ((fractions >= 0.0) & (fractions <= 1.0)).all():
        raise SceneError(f"Tet mesh: the gas in each tet must be {tets} numbers from 0 to 1.")
    return fractions


def _check_shared(tets: NDArray[np.int32], may_overlap: bool) -> None:
    """Two tets are never the same, and a face belongs to two at most, where none overlap."""
    order, starts = equal_rows(tets)
    again = np.diff(starts, append=len(order)) > 1
    if again.any():
        first, second = order[starts[again][0] :][:2]
        raise SceneError(
            f"Tet mesh: tets {first} and {second} have the same four vertices "
            f"({int(len(tets) - len(starts))} such tets); keep one of them."
        )
    if may_overlap:
        return
    order, starts = equal_rows(tets[:, FACES].reshape(-1, 3))
    counts = np.diff(starts, append=len(order))
    if (counts > 2).any():
        most = int((counts > 2).argmax())
        where = starts[most]
        among = ", ".join(map(str, np.sort(order[where : where + counts[most]] // len(FACES))))
        raise SceneError(
            f"Tet mesh: tets {among} share one face ({int((counts > 2).sum())} such faces), and a "
            "face joins at most two. Remove the tets that overlap, or mesh again."
        )
