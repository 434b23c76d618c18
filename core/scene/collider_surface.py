# SPDX-License-Identifier: GPL-3.0-or-later
"""The collision surface of a collider."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..geometry.degenerate import without_degenerate
from ..geometry.thickness import thickened
from ..geometry.unreferenced import without_unreferenced
from .channel import Channel
from .contact_settings import Collider


def collider_surface(collider: Collider) -> tuple[Channel, NDArray[np.int32]]:
    """Channel of the (C, 3) vertices that take part, and their (F, 3) triangles: those that have an
    area, offset to either side where it has a thickness."""
    kept = without_degenerate(collider.at(0), collider.triangles)
    used = without_unreferenced(collider.vertices.samples, kept)
    vertices, triangles = thickened(*used, collider.thickness)
    return Channel(vertices, collider.vertices.per_frame), triangles.astype(np.int32)
