# SPDX-License-Identifier: GPL-3.0-or-later
"""What drives tetrahedra besides, so that a body passes through keys. No torch here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from . import checks
from .channel import Channel

#: By what a body is brought where it is wanted.
ControlKind = Literal["forces", "pins"]


@dataclass(frozen=True, eq=False)
class TetControl:
    """Forces on tet vertices, or a motion of pins beside their own, of the tetrahedra that are to
    fill a body. ``job.fits.FollowKeys`` finds such.

    Args:
        vertices: (N, 3) tet vertices at rest, in metres.
        tets: (M, 4) indices of them.
        by: ``forces`` that accelerate the vertices, or ``pins`` that leave their path.
        channel: of (N, 3): accelerations in m/s², or by how much a pin is off its path, in metres.

    Raises:
        SceneError: when these do not go together, or are not finite.
    """

    vertices: NDArray[np.float64]
    tets: NDArray[np.int32]
    by: ControlKind
    channel: Channel

    def __post_init__(self) -> None:
        checks.choice(self.by, ControlKind, "What drives tet vertices")
        vertices = checks.positions(self.vertices, "the tet vertices of a control")
        tets = checks.tets(self.tets, len(vertices), "a control")
        channel = Channel.of(self.channel, "The control of tet vertices", len(vertices), 3)
        for name, value in (("vertices", vertices), ("tets", tets), ("channel", channel)):
            object.__setattr__(self, name, value)
