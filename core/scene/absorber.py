# SPDX-License-Identifier: GPL-3.0-or-later
"""What force fields do not get past. No torch here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..tracked import tracks_tensors
from . import channel, checks
from .channel import Channel
from .schema import check_kinds


@tracks_tensors
@dataclass(eq=False)
class Absorber:
    """A mesh that shades bodies from force fields, as Blender's colliders do.

    It shades those fields alone that are absorbed, and not one of its own name.

    Args:
        vertices: channel of the (V, 3) positions in metres; (V, 3) where it stands still, or
            (T, V, 3) samples, become one.
        triangles: (F, 3) vertex indices; they need not be closed.
        absorption: 0 … 1, what of a field does not get past it.
        name: what messages call it.

    Raises:
        SceneError: when a setting is out of its range.
    """

    vertices: Channel
    triangles: NDArray[np.int32]
    absorption: Channel | float = 1.0
    name: str = "Absorber"

    def __post_init__(self) -> None:
        check_kinds(self, "Absorber")
        self.vertices = Channel.of(self.vertices, f"{self.name}: the vertices", None, 3)
        self.triangles = checks.triangles(self.triangles, len(self.vertices.at(0)), self.name)
        what = f"{self.name}: the absorption"
        self.absorption = channel.number(self.absorption, what, least=0.0)
        most = Channel.of(self.absorption, what).samples.max()
        if most > 1.0:
            raise SceneError(f"{what} must be 1 or less, not {most:g}.")
