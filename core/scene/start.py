# SPDX-License-Identifier: GPL-3.0-or-later
"""Shapes that a body starts in which is at rest in another, until its tetrahedra are there. No
torch here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..geometry.tet_mesh import TetMesh
from . import checks
from .schema import check_kinds


@dataclass(eq=False)
class PosedStart:
    """A body starts as its skin is posed: the tetrahedra follow it, and turn rather than stretch.

    Args:
        points: (V, 3) of the skin at the start, in metres.
    """

    points: NDArray[np.float64]

    def __post_init__(self) -> None:
        self.points = checks.positions(self.points, "the start shape")

    def check(self, count: int, name: str) -> None:
        """Check the number of points.

        Raises:
            SceneError: if the skin has another number of points.
        """
        if len(self.points) != count:
            raise SceneError(
                f"{name}: the start shape has {len(self.points)} points, the skin {count}."
            )


@dataclass(eq=False)
class RunStart:
    """A body starts as another one of the same rest shape has come to be.

    Args:
        mesh: the tetrahedra of the other at rest.
        positions, velocities: (N, 3) of their vertices then, in metres and m/s.
    """

    mesh: TetMesh
    positions: NDArray[np.float64]
    velocities: NDArray[np.float64]

    def __post_init__(self) -> None:
        check_kinds(self, "The start shape")
        self.positions = checks.positions(self.positions, "the start shape")
        self.velocities = checks.positions(self.velocities, "the velocities at the start")
        count = len(self.mesh.vertices)
        for values in (self.positions, self.velocities):
            if len(values) != count:
                raise SceneError(
                    f"The start shape has {len(values)} vertices, its tetrahedra have {count}."
                )
