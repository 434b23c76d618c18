# SPDX-License-Identifier: GPL-3.0-or-later
"""The closest points of pairs that collide, as functions on autograd's tape."""

from __future__ import annotations

import torch
from torch import Tensor

from ..kernels.closest_features import CROSSING, END, INSIDE
from ..kernels.collision_keys import POINT_EDGE, POINT_FACE, POINTS
from ..potentials.contact.normal_collisions import NormalCollisions

Rows = tuple[tuple[float, float, float, float], ...]
_NONE = (0.0, 0.0, 0.0, 0.0)


def _shares_of(feature: int) -> Rows:
    """Of the four vertices in the difference of the closest points: constant, and along either
    parameter, nothing where that is fixed."""
    if feature == POINTS:
        return (1.0, -1.0, 0.0, 0.0), _NONE, _NONE
    if feature == POINT_EDGE:
        return (1.0, -1.0, 0.0, 0.0), (0.0, 1.0, -1.0, 0.0), _NONE
    if feature == POINT_FACE:
        return (1.0, -1.0, 0.0, 0.0), (0.0, 1.0, -1.0, 0.0), (0.0, 1.0, 0.0, -1.0)
    first, second = float(feature // 3 == END), float(feature % 3 == END)
    along_first = (-1.0, 1.0, 0.0, 0.0) if feature // 3 == INSIDE else _NONE
    along_second = (0.0, 0.0, 1.0, -1.0) if feature % 3 == INSIDE else _NONE
    return (1.0 - first, first, second - 1.0, -second), along_first, along_second


class ClosestPoints:
    """Where parts of pairs are closest to each other, on the lines and planes that these lie in.

    Args:
        collisions: K pairs, whose features stay what they are.
    """

    def __init__(self, collisions: NormalCollisions) -> None:
        features = torch.as_tensor(collisions.features)
        table = torch.tensor([_shares_of(k) for k in range(POINT_FACE + 1)], dtype=torch.float64)
        self._shares = table[features]
        self._thresholds = torch.as_tensor(collisions.thresholds)
        self._is_mollified = features <= CROSSING
        self.collisions = collisions
        self.vertices = torch.as_tensor(collisions.vertices)
        first, second = torch.as_tensor(collisions.objects.T.copy())
        #: Places of the pairs in tables of every two objects.
        self.objects = first, second
        #: (K,) the same for pairs of the same two objects.
        self.groups = torch.unique(torch.stack(self.objects), dim=1, return_inverse=True)[1]
        self.weights = torch.as_tensor(collisions.weights)

    def __len__(self) -> int:
        return len(self.collisions)

    def at(self, corners: Tensor) -> tuple[Tensor, Tensor]:
        """(K, 3) differences of the closest points, and the (K, 4) shares of the vertices in them.

        Args:
            corners: (K, 4, 3) where the vertices are.
        """
        offset, first, second = torch.einsum("kpa,kai->pki", self._shares, corners)
        a, b, c = ((x * y).sum(1) for x, y in ((first, first), (first, second), (second, second)))
        d, e = (first * offset).sum(1), (second * offset).sum(1)
        # A parameter that is fixed stays 0.
        a = torch.where(a > 0.0, a, 1.0)
        c = torch.where(c > 0.0, c, 1.0)
        size = a * c - b * b
        s, t = (b * e - c * d) / size, (b * d - a * e) / size
        shares = self._shares[:, 0] + s[:, None] * self._shares[:, 1]
        shares = shares + t[:, None] * self._shares[:, 2]
        return offset + s[:, None] * first + t[:, None] * second, shares

    def mollifiers(self, corners: Tensor) -> Tensor:
        """(K,) 1, but less for edges that are almost parallel."""
        ratios = self._parallel_ratios(corners)
        return ratios * (2.0 - ratios)

    def are_crossing(self, corners: Tensor) -> Tensor:
        """(K,) whether they are not mollified."""
        return self._parallel_ratios(corners) >= 1.0

    def _parallel_ratios(self, corners: Tensor) -> Tensor:
        """(K,) of squared cross products of two edges to what they are mollified below, at most
        1."""
        a, b, c, d = corners.unbind(1)
        squares = torch.linalg.cross(b - a, d - c).square().sum(1)
        thresholds = torch.where(self._is_mollified, self._thresholds, 1.0)
        return torch.where(self._is_mollified, squares / thresholds, 1.0).clamp(max=1.0)


def painted_shares(shares: Tensor, factors: Tensor) -> Tensor:
    """(K,) √(f₁ f₂) of what is painted at the closest points of pairs.

    Args:
        shares: (K, 4) of the vertices in the difference of the closest points.
        factors: (K, 4) on the friction at the vertices.
    """
    parts = shares * factors
    square = -parts.clamp(min=0.0).sum(1) * parts.clamp(max=0.0).sum(1)
    # The root of zero has no derivative.
    return square.clamp(min=torch.finfo(square.dtype).tiny).sqrt()
