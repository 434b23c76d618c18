# SPDX-License-Identifier: GPL-3.0-or-later
"""How the work of tets' forces changes with their rest shapes.

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

from ..compiled import compiled
from .torch_matrices import cofactors3, matmul3

if TYPE_CHECKING:
    from ..assembly.tets import Tets


class RestProducts:
    """Of the work along one vector field after the other.

    Args:
        tets: that the forces are of.
    """

    def __init__(self, tets: Tets) -> None:
        self._volumes = tets.volumes
        #: (10, M) DᵀX + WᵀY + … row by row, and the work; loops over tets add to them.
        self.sums: NDArray[Any] = np.zeros((10, len(tets)), dtype=self._volumes.numpy().dtype)

    def by_gradients(self, gradients: Tensor) -> Tensor:
        """The (3, 3, M) derivative by shape gradients that are these."""
        gradients = gradients.detach()
        cofactors = cofactors3(gradients)
        products = torch.as_tensor(self.sums[:9]).view(3, 3, -1)
        return matmul3(products, cofactors) / (gradients[0] * cofactors[0]).sum(0)

    def by_volumes(self) -> Tensor:
        """The (M,) derivative by the volumes at rest, in which the work is linear."""
        return torch.as_tensor(self.sums[9]) / self._volumes

    def clear(self) -> None:
        """Lets go of what has been added."""
        self.sums.fill(0.0)


@compiled(inline=True)
def add_rest_product(sums: Any, e: int, k: Any, diagonal: float, work: float) -> None:
    """Adds K + ``diagonal`` I and the work to what is summed of a tet."""
    sums[0, e] += k[0] + diagonal
    sums[1, e] += k[1]
    sums[2, e] += k[2]
    sums[3, e] += k[3]
    sums[4, e] += k[4] + diagonal
    sums[5, e] += k[5]
    sums[6, e] += k[6]
    sums[7, e] += k[7]
    sums[8, e] += k[8] + diagonal
    sums[9, e] += work
