# SPDX-License-Identifier: GPL-3.0-or-later
"""A cube that falls is led around by the least forces that bring it through two keys."""

from __future__ import annotations

import numpy as np

from ..core import Scene, SoftBody
from ..core.adjoint import Following, Key, follow_keys
from ..core.materials import StableNeoHookean
from .bar import box


def main(frames: int = 8) -> Following:
    """The forces, and how near they bring it."""
    mesh = box((0.1, 0.1, 0.1), 0.1)
    cube = SoftBody(mesh, StableNeoHookean(young=3e4))
    scene = Scene([cube])
    keys = [
        Key(frames // 2, mesh.vertices + np.array([0.1, 0.0, 0.0])),
        Key(frames, mesh.vertices + np.array([0.1, 0.1, -0.1])),
    ]
    following = follow_keys(scene, keys)
    print(f"Accelerations of {following.effort:.2f} m/s², in the mean, bring it within")
    print(f"{following.distance * 1000:.2f} mm of the keys, after {following.runs} simulations.")
    return following


if __name__ == "__main__":
    main()
