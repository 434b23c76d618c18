# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel of how the work of tets' forces changes with their rest shapes.

That work is V w(D G, W G, …) of a tet, D, W, … the edges of positions and of other vectors at its
vertices, and G its shape gradients. With X, Y, … its derivatives by these edges, V ∂w/∂(D G) is
X G⁻ᵀ, so that the derivative by G is (DᵀX + WᵀY + …) G⁻ᵀ, for every material. What is in brackets
does not name G: it is added up over steps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..compiled import compiled, shared_range, use_threads
from .vectors import dot, tet_edges, vector

if TYPE_CHECKING:
    from ..assembly.tets import Tets

#: Fewer tets than this a thread cost more to hand out than to compute.
TETS_PER_THREAD = 6000


class RestProducts:
    """Of the work along one vector field after the other.

    Args:
        tets: that the forces are of.
    """

    def __init__(self, tets: Tets) -> None:
        self._corners, self._volumes = tets.corners.numpy(), tets.volumes
        #: (9, M) DᵀX + WᵀY + … row by row.
        self.products: NDArray[Any] = np.zeros((9, len(tets)), dtype=self._volumes.numpy().dtype)
        self._works: NDArray[Any] = np.zeros_like(self.products[0])

    def add(self, vectors: Tensor, by_edges: NDArray[Any]) -> None:
        """Adds DᵀX of (3, N) vectors at vertices, and the (9, M) derivatives by their edges."""
        self._add(vectors, by_edges, 0.0)

    def add_work(self, vectors: Tensor, forces: NDArray[Any]) -> None:
        """Adds WᵀY of the (3, N) vectors along which (9, M) forces on edges do the work."""
        self._add(vectors, forces, 1.0)

    def _add(self, vectors: Tensor, by_edges: NDArray[Any], share: float) -> None:
        use_threads(self._corners.shape[1], TETS_PER_THREAD)
        _add(vectors.numpy(), self._corners, by_edges, share, self.products, self._works)

    def by_gradients(self, gradients: Tensor) -> Tensor:
        """The (3, 3, M) derivative by shape gradients that are these."""
        inverse = torch.linalg.inv(gradients.detach().permute(2, 0, 1))
        products = torch.as_tensor(self.products.T).reshape(-1, 3, 3)
        return (products @ inverse.mT).permute(1, 2, 0)

    def by_volumes(self) -> Tensor:
        """The (M,) derivative by the volumes at rest, in which the work is linear."""
        return torch.as_tensor(self._works) / self._volumes

    def clear(self) -> None:
        """Lets go of what has been added."""
        self.products.fill(0.0)
        self._works.fill(0.0)


@compiled(parallel=True)
def _add(
    vectors: Any, corners: Any, by_edges: Any, share: float, products: Any, works: Any
) -> None:
    for e in shared_range(corners.shape[1]):
        d1, d2, d3 = tet_edges(vectors, corners, e)
        f1 = vector(by_edges[0, e], by_edges[3, e], by_edges[6, e])
        f2 = vector(by_edges[1, e], by_edges[4, e], by_edges[7, e])
        f3 = vector(by_edges[2, e], by_edges[5, e], by_edges[8, e])
        a, b, c = dot(d1, f1), dot(d2, f2), dot(d3, f3)
        works[e] += share * (a + b + c)
        products[0, e] += a
        products[1, e] += dot(d1, f2)
        products[2, e] += dot(d1, f3)
        products[3, e] += dot(d2, f1)
        products[4, e] += b
        products[5, e] += dot(d2, f3)
        products[6, e] += dot(d3, f1)
        products[7, e] += dot(d3, f2)
        products[8, e] += c
