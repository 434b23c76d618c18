# SPDX-License-Identifier: GPL-3.0-or-later
"""Close pictures of the frames that look worst."""

from __future__ import annotations

import math
from pathlib import Path

import bpy
import numpy as np

from supple.sample_scenes.demo import quiet
from supple.sample_scenes.studio import studio

from .measure import Simulated
from .scenes import Action

DOCS = Path(__file__).resolve().parents[1] / "docs"
PICTURES = DOCS / "pictures"
#: Which scenes a picture is taken of.
PICTURED: tuple[tuple[Action, int], ...] = (("drop", 40), ("squeeze", 15))
SIDE_PIXELS, SAMPLES, QUALITY = 480, 24, 82
#: Of the camera: half the angle that it sees, and how much of the picture is filled.
HALF_ANGLE, FILLED = math.atan(18.0 / 60.0), 0.9


def file_name(body: str, action: Action, state: str) -> str:
    return f"looks_{body}_{action}_{state}.jpg"


def take(simulated: Simulated, frame: int, path: Path) -> None:
    """Renders a frame of the open scene, the body as large as it fits.

    Args:
        frame: as the timeline counts it.
    """
    scene = bpy.context.scene
    positions = simulated.positions[frame - 1]
    low, high = positions.min(axis=0), positions.max(axis=0)
    radius = 0.5 * float((high - low)[[0, 2]].max())
    x, y, z = (float(part) for part in 0.5 * (low + high))
    size = float(np.ptp(simulated.visible.rest, axis=0).max())
    distance = radius / (FILLED * math.tan(HALF_ANGLE)) + 0.5 * float(high[1] - low[1])
    studio(scene, (x, y, z), distance, size=size, aside=0.12, above=0.45)
    render = scene.render
    render.resolution_x = render.resolution_y = SIDE_PIXELS
    scene.cycles.samples = SAMPLES
    settings = render.image_settings
    if hasattr(settings, "media_type"):
        settings.media_type = "IMAGE"
    settings.file_format, settings.quality = "JPEG", QUALITY
    scene.frame_set(frame)
    path.parent.mkdir(parents=True, exist_ok=True)
    render.filepath = str(path)
    with quiet():
        bpy.ops.render.render(write_still=True)
