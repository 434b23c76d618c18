# SPDX-License-Identifier: GPL-3.0-or-later
"""A limit on the angle by which soft bodies turn in one step."""

from __future__ import annotations

import math

import numpy as np
import torch

from ..state import State
from ..system import System
from .impacts import mean_of
from .rigid_frames import RigidFrames

# A piece with a rim faster than this ratio of its shear waves is stretched by its spin, and turns
# by at most the angle in radians in a step. A cube of 1e5 Pa at 60 rad/s had 2.8 times its energy
# after two seconds in steps of 2.5 rad, and 0.92 of it in steps of 0.8 rad; with rims below 0.45
# of the wave speed, steps of 2.5 rad keep 0.99.
SPEED_RATIO, MAX_TURN_RAD = 0.5, 1.0
# The most steps a frame for fast rotation.
MAX_STEPS = 32


class SpinLimit:
    """The step limit of pieces that spin fast for their material.

    Args:
        system: the system of the bodies.
        frames: the rigid frames of its pieces.
    """

    def __init__(self, system: System, frames: RigidFrames) -> None:
        self._frames = frames
        arms = system.rest_positions()
        arms = arms - frames.spread(frames.means(arms))
        # The radius of the ball with the same moments of inertia.
        radius = (5.0 * frames.means(arms.square()).sum(1) / 3.0).sqrt()
        slowness = [
            math.sqrt(3.0 * mean_of(body.density) / mean_of(body.material.young))
            for body in system.bodies
        ]
        counts = [len(mesh.vertices) for mesh in system.meshes]
        each = torch.as_tensor(np.repeat(slowness, counts)).to(arms)
        slowest = frames.means(each.expand(3, -1))[:, 0]
        #: (P,) angular speeds above which steps are short, in rad/s.
        self._limits = SPEED_RATIO / (radius * slowest)

    def step_size(self, state: State, seconds: float) -> float:
        """Return the largest step relative to ``seconds``: one over a whole number."""
        frames, positions = self._frames, state.positions
        arms = positions - frames.spread(frames.centres(positions))
        angular = frames.angular_velocities(arms, frames.momentum(arms, state.velocities))
        speeds = torch.linalg.vector_norm(angular, dim=1)
        fast = torch.where(speeds > self._limits, speeds, 0.0)
        parts = math.ceil(seconds * float(fast.max()) / MAX_TURN_RAD)
        return 1.0 / max(1, min(parts, MAX_STEPS))
