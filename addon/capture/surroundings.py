# SPDX-License-Identifier: GPL-3.0-or-later
"""The surroundings of the bodies of a scene: gravity, time, the ground, a fluid."""

from __future__ import annotations

import bpy
import numpy as np

from ...core.scene.channel import Channel
from ...core.scene.contact_settings import Ground
from ...core.scene.forces import Fluid, Force
from ..animated import has_animated_gravity
from ..units import exact_float, gravity
from .captured import CaptureError
from .motion import Recording, setting_recording


def coefficients(props: bpy.types.PropertyGroup, of: str = "") -> tuple[float, float | None]:
    """Return the static and the kinetic coefficient of a surface; the latter is None where both are
    the same.

    Args:
        of: the prefix of the names of its settings.
    """
    friction = exact_float(getattr(props, f"{of}friction"))
    ratio = exact_float(getattr(props, f"{of}sliding_friction"))
    return friction, None if ratio == 1.0 else ratio * friction


def gravity_recording(scene: bpy.types.Scene) -> Recording:
    return Recording(lambda now: np.array(gravity(now.scene_eval)), has_animated_gravity(scene))


def time_scale_recording(scene: bpy.types.Scene) -> Recording:
    return setting_recording(scene, "time_scale", scene.supple.motion_samples)


def checked_time_scale(channel: Channel, frames: range) -> Channel:
    """Return the time scale, checked.

    Raises:
        CaptureError: if time would stand still or run back.
    """
    low = np.flatnonzero(channel.samples <= 0.0)
    if len(low):
        frame = frames[0] + low[0] / channel.per_frame
        raise CaptureError(
            f"Time Scale must be above 0, and is {channel.samples[low[0]]:g} at frame "
            f"{frame:g}. 1 is real time, 0.5 half speed. End the simulation where time should "
            "stand still."
        )
    return channel


def ground(scene: bpy.types.Scene, unit: float) -> Ground | None:
    """The ground of a scene; None without one."""
    props = scene.supple
    if not props.use_ground:
        return None
    friction, kinetic = coefficients(props, "ground_")
    return Ground(
        unit * exact_float(props.ground_height),
        friction,
        exact_float(props.ground_restitution),
        props.ground_response,
        penalty=exact_float(props.ground_penalty),
        kinetic_friction=kinetic,
    )


def scene_forces(scene: bpy.types.Scene, unit: float) -> list[Force]:
    """Forces that act everywhere, by the settings of the scene."""
    return [_fluid(scene, unit)] if scene.supple.use_fluid else []


def _fluid(scene: bpy.types.Scene, unit: float) -> Fluid:
    props = scene.supple
    return Fluid(
        unit * exact_float(props.fluid_level),
        exact_float(props.fluid_density),
        exact_float(props.fluid_drag),
        exact_float(props.fluid_damping),
    )
