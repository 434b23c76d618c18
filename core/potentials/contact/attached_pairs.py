# SPDX-License-Identifier: GPL-3.0-or-later
"""Which objects do not collide because they are attached to each other."""

from __future__ import annotations

from ...scene.scene import Scene


def attached_pairs(scene: Scene) -> set[tuple[int, int]]:
    """Pairs of object indices, the lower one first: bodies, then mesh colliders."""
    bodies = len(scene.bodies)
    pairs = set()
    for attachment in scene.attachments:
        other = attachment.other + (bodies if attachment.to == "collider" else 0)
        pairs.add((min(attachment.body, other), max(attachment.body, other)))
    return pairs
