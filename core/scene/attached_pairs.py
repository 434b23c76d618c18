# SPDX-License-Identifier: GPL-3.0-or-later
"""Which objects are attached to each other."""

from __future__ import annotations

from .contact_settings import Attachment
from .scene import Scene


def attached_pairs(scene: Scene) -> set[tuple[int, int]]:
    """Pairs of object indices, the lower one first: bodies, then mesh colliders."""
    return {attached_pair(scene, attachment) for attachment in scene.attachments}


def attached_pair(scene: Scene, attachment: Attachment) -> tuple[int, int]:
    """The two objects of one attachment."""
    other = attachment.other + (len(scene.bodies) if attachment.to == "collider" else 0)
    return min(attachment.body, other), max(attachment.body, other)
