# SPDX-License-Identifier: GPL-3.0-or-later
"""Settings of a simulation, and the digest that names a run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SceneError
from ..results import in_order
from ..scene import checks
from ..scene.integrator_table import INTEGRATORS
from ..scene.scene import Scene
from ..scene.schema import IF_THERE, check_members
from ..version import version
from . import scene_file

# As Blender's timeline goes no farther.
MOST_FRAMES = 1_048_574


@dataclass(frozen=True)
class Settings:
    """The settings of a simulation.

    Args:
        frame_count: frames after the start.
        frame_time: seconds from one frame to the next, where the scene's time scale is 1.
        substeps: time steps a frame; None lets the integrator choose.
        device: ``auto``, ``cpu`` or ``cuda``.
        integrator: one of ``INTEGRATORS``; ``automatic`` chooses by stiffness and mesh.
        step_tolerance: of adaptive integrators, in metres.
        pre_roll: frames after the start before the first that is shown.
        results: names of the fields that are kept beside the positions, of ``RESULTS``.
        resumed_run: the ``digest`` of another run, whose first frames this one has; empty is none.
        resumed_frame: the last of these, from whose state this one goes on.
    """

    frame_count: int
    frame_time: float = 1.0 / 24.0
    substeps: int | None = None
    device: str = "auto"
    integrator: str = "automatic"
    step_tolerance: float = 1e-4
    results: tuple[str, ...] = field(default=(), metadata={IF_THERE: True})
    pre_roll: int = field(default=0, metadata={IF_THERE: True})
    resumed_run: str = field(default="", metadata={IF_THERE: True})
    resumed_frame: int = field(default=0, metadata={IF_THERE: True})

    def __post_init__(self) -> None:
        object.__setattr__(self, "results", in_order(self.results))
        for name, what in (("frame_count", "number of frames"), ("pre_roll", "pre-roll")):
            count = checks.whole_number(getattr(self, name), f"The {what}")
            object.__setattr__(self, name, count)
        if self.frame_count < 1:
            raise SceneError("The end frame must come after the start frame.")
        if not 0 <= self.pre_roll < self.frame_count:
            raise SceneError(
                f"The pre-roll must be 0 frames or more and end before the last of "
                f"{self.frame_count}, not {self.pre_roll}."
            )
        if self.frame_count > MOST_FRAMES:
            raise SceneError(f"There can be at most {MOST_FRAMES} frames; simulate fewer.")
        steps = checks.time_steps(self.frame_time, self.substeps)
        object.__setattr__(self, "substeps", steps)
        if self.device not in ("auto", "cpu", "cuda"):
            raise SceneError(f"The device must be auto, cpu or cuda, not {self.device!r}.")
        if self.integrator not in INTEGRATORS:
            known = ", ".join(INTEGRATORS)
            raise SceneError(f"The integrator must be one of {known}, not {self.integrator!r}.")
        if not 0.0 < self.step_tolerance < float("inf"):
            raise SceneError(
                f"The tolerance of adaptive steps must be above 0 m, not {self.step_tolerance:g}."
            )

    def record(self) -> dict[str, Any]:
        """As a JSON object, in which members that older versions do not know are where they say
        something."""
        values = {f: getattr(self, f.name) for f in fields(self)}
        return {f.name: value for f, value in values.items() if value or IF_THERE not in f.metadata}

    def run_record(self) -> dict[str, Any]:
        """``record`` without the number of frames: a longer run goes on from a shorter one."""
        return self.record() | {"frame_count": 1}

    @staticmethod
    def of(values: Mapping[str, Any]) -> Settings:
        """The settings that ``record`` wrote; older ones name a precision, which is double now.

        Raises:
            ValueError, TypeError: when it wrote something else.
        """
        values = {name: value for name, value in values.items() if name != "dtype"}
        check_members(Settings, values)
        return Settings(**values)


# Hashes by the memory location of an array.
Hashes = Mapping[tuple[object, ...], bytes]


def digest(
    scene: Scene,
    settings: Settings,
    supple_version: str | None = None,
    hashes: Hashes | None = None,
) -> str:
    """Return a name for a run: equal exactly if its frames are, without the names of objects.

    Args:
        supple_version: the Supple that simulates it; None is this one.
        hashes: ``array_hashes`` of a scene that this one was made from.
    """
    arrays: scene_file.Arrays = {}
    origin = [scene_file.FORMAT, supple_version or version()]
    described = scene_file.encode(scene, "scene", arrays)
    # A pair with a friction of its own is known by names.
    if scene.contact is None or not scene.contact.pairs:
        described = _numbered(described, {})
    content = [described, settings.run_record(), origin]
    hashed = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for key, array in sorted(arrays.items()):
        hashed.update(key.encode())
        hashed.update((hashes or {}).get(_place(array)) or _hash(array))
    return hashed.hexdigest()[:12]


def array_hashes(scene: Scene) -> Hashes:
    """Hash the arrays of a scene once, for the digests of many scenes made from it. It must stay
    in memory, and its arrays as they are, while the hashes are in use."""
    arrays: scene_file.Arrays = {}
    scene_file.encode(scene, "scene", arrays)
    return {_place(array): _hash(array) for array in arrays.values()}


def _place(array: NDArray[Any]) -> tuple[object, ...]:
    """The place of an array's numbers in memory, and their layout."""
    return array.__array_interface__["data"][0], array.shape, array.strides, array.dtype


def _hash(array: NDArray[Any]) -> bytes:
    hashed = hashlib.sha256(f"{array.dtype}{array.shape}".encode())
    hashed.update(np.ascontiguousarray(array).data)
    return hashed.digest()


def _numbered(value: Any, numbers: dict[str, int]) -> Any:
    """With a number for each name, the same one for the same: a field does not absorb itself."""
    if isinstance(value, list):
        return [_numbered(item, numbers) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: numbers.setdefault(item, len(numbers)) if key == "name" else _numbered(item, numbers)
        for key, item in value.items()
    }
