# SPDX-License-Identifier: GPL-3.0-or-later
"""Obstacles of explicit steps: the ground and fixed bodies."""

from .barrier_step import BarrierStep
from .obstacle_step import Ball, ObstacleStep, Plane, Surface
from .obstacles import Obstacles
from .projection_step import ProjectionStep

__all__ = ["Ball", "BarrierStep", "ObstacleStep", "Obstacles", "Plane", "ProjectionStep", "Surface"]
