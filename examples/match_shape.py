# SPDX-License-Identifier: GPL-3.0-or-later
"""A bar whose tip is softer than its root: how soft is found from how it swings."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import Scene, Simulator, SoftBody
from ..core.adjoint import Match, match_shape
from ..core.materials import StableNeoHookean
from .bar import bar

ROOT, TIP = 2e5, 6e4


def main(cells: int = 8, frames: int = 8) -> Match:
    """Return the match of the stiffness of root and tip."""
    mesh = bar(cells)
    wall = np.flatnonzero(mesh.vertices[:, 0] < 1e-9)
    tips = mesh.vertices[mesh.tets].mean(axis=1)[:, 0] > 0.2

    def hanging(young: Any) -> Scene:
        return Scene([SoftBody(mesh, StableNeoHookean(young, 0.4), pinned=wall)])

    swing = Simulator(hanging(np.where(tips, TIP, ROOT))).run(frames)
    seen = [frame.positions[0].numpy() for frame in swing]
    match = match_shape(hanging(1e5), seen, regions=tips.astype(int))
    print(f"Root {match.young[0]:.0f} Pa, tip {match.young[1]:.0f} Pa; they were {ROOT:.0f} and")
    print(f"{TIP:.0f}. {len(match.losses)} simulations, off by {match.distance * 1000:.4f} mm.")
    return match


if __name__ == "__main__":
    main()
