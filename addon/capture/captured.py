# SPDX-License-Identifier: GPL-3.0-or-later
"""The captured data of a Blender scene, and the way back to its objects."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError
from ...core.job import Settings
from ...core.scene.channel import Channel
from ...core.scene.scene import Scene
from .motion import transform
from .refined import VisibleIn
from .surfaces import Points


class CaptureError(SuppleError):
    """The scene cannot be simulated as it is. The message names the cure."""


class RemovedError(SuppleError):
    """A captured object is no longer a soft body, since it was undone or deleted."""


@dataclass(frozen=True)
class CapturedObject:
    """The data that bring a simulated body back to its object.

    Args:
        uid: the object's ``session_uid``, which outlives renaming and undo.
        name: when it was captured.
        vertex_count: of its own mesh.
        matrices: channel of (4, 4) object to world in Blender units.
        unit: metres in a Blender unit.
        fingerprint: of the object as it was captured.
        refined: the objects that show each refined mesh of its skin.
        is_of_rest: whether the refined meshes are made of its own mesh at the start.
    """

    uid: int
    name: str
    vertex_count: int
    matrices: Channel
    unit: float
    fingerprint: str = ""
    refined: tuple[VisibleIn, ...] = ()
    is_of_rest: bool = False

    def to_local(self, frame: int, positions: Points) -> NDArray[np.float32]:
        """Transform (V, 3) world positions in metres after ``frame`` to the object's own space."""
        inverse = np.linalg.inv(self.matrices.at(frame))
        return transform(inverse, positions / self.unit).astype(np.float32)


@dataclass(frozen=True)
class Capture:
    """A scene to simulate and the way back to Blender.

    Args:
        scene, settings: the input of the solver.
        objects: they go with ``scene.bodies``.
        start_frame: the scene frame of the start.
        fingerprint: of the scene as it was captured.
    """

    scene: Scene
    settings: Settings
    objects: list[CapturedObject]
    start_frame: int
    fingerprint: str = ""

    def soft_bodies(self) -> list[bpy.types.Object | None]:
        """Return the objects as they are now; None for deleted ones, and for former soft bodies."""
        # Undo and renaming leave this number alone, and references and names not.
        uids = {body.uid for body in self.objects}
        objects = {
            obj.session_uid: obj
            for scene in bpy.data.scenes
            for obj in scene.objects
            if obj.session_uid in uids and obj.supple.enabled
        }
        return [objects.get(body.uid) for body in self.objects]

    def check_left(self) -> None:
        """Refuse to go on without a soft body.

        Raises:
            RemovedError: when none of the objects is a soft body any more.
        """
        if not any(self.soft_bodies()):
            names = ", ".join(body.name for body in self.objects)
            are = "is not a soft body" if len(self.objects) == 1 else "are not soft bodies"
            raise RemovedError(f"{names} {are} anymore.")

    @property
    def first_shown(self) -> int:
        """The scene frame of the first that is shown, after the pre-roll."""
        return self.start_frame + self.settings.pre_roll

    @property
    def end_frame(self) -> int:
        return self.start_frame + self.settings.frame_count
