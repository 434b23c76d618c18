# SPDX-License-Identifier: GPL-3.0-or-later
"""What drives tetrahedra, carried over to those that a body is filled with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..scene.channel import Channel
from ..scene.soft_body import SoftBody
from ..scene.start_shape import start_positions, tet_mesh_of
from .tet_rest_transfer import places_in


def with_tet_control(body: SoftBody) -> SoftBody:
    """A body of tetrahedra that is driven as it was given.

    Raises:
        SceneError: when pins are to move that it has not.
    """
    control = body.tet_control
    if control is None:
        return body
    mesh, channel = tet_mesh_of(body), control.channel
    if (places := places_in(control.vertices, control.tets, mesh)) is not None:
        channel = channel.mapped(
            lambda samples: np.stack([places.interpolate(each) for each in samples])
        )
    if control.by == "forces":
        before = body.accelerations
        total = channel if before is None else _sum(before, channel)
        return replace(body, accelerations=total, tet_control=None)
    if body.pinned is None:
        raise SceneError(
            f"{body.name}: the motion that was found for it is of its pins, and it has none; pin "
            "them again, or remove that motion."
        )
    path = body.pin_path or Channel.constant(start_positions(body)[body.pinned])
    moved = _sum(path, channel.mapped(lambda samples: samples[:, body.pinned]))
    return replace(body, pin_path=moved, tet_control=None)


def _sum(first: Channel, second: Channel) -> Channel:
    """Of two channels of (P, 3)."""
    both = Channel.side_by_side([first, second])

    def added(samples: NDArray[np.float64]) -> NDArray[np.float64]:
        one, other = np.split(samples, 2, axis=1)
        return one + other

    return both.mapped(added)
