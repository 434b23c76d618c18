# SPDX-License-Identifier: GPL-3.0-or-later
"""Describe searches that a job runs instead of its frames, and their results.

Beside the scene of such a job lie ``fit.json`` and ``fit.npz`` with the goal; ``fit.jsonl``, a
line a simulation; and in the end ``found.json`` and ``found.npz``. No torch here.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DamageError, SceneError
from ..scene import checks
from ..scene.checks import Vector
from ..scene.rest_shape import ControlKind, TetControl, TetRestShape
from ..scene.schema import check_kinds, check_members, conforms
from . import files, scene_file

FloatArray = NDArray[np.float64]

_WANTED, _FOUND, _LOSSES = "fit.json", "found.json", "fit.jsonl"


@dataclass(frozen=True, eq=False)
class KeepShape:
    """The rest shape with which a body keeps its shape at the start.

    Args:
        body: index of it.
    """

    body: int


@dataclass(frozen=True, eq=False)
class HitTarget:
    """The velocity at the start with which a body reaches a point.

    Args:
        body: index of it.
        target: in metres.
        frame: after the start, when it is to be there.
        weights: (V,) of the points of its skin in the mean that is to be there; None is its centre
            of mass.
        with_spin: whether its angular velocity may change, too.
    """

    body: int
    target: Vector
    frame: int
    weights: FloatArray | None = None
    with_spin: bool = False

    def __post_init__(self) -> None:
        check_kinds(self, "The target")
        object.__setattr__(self, "target", checks.vector(self.target, "The target"))
        if checks.whole_number(self.frame, "The frame of the target") < 1:
            raise SceneError(f"The target must be reached after the start, not {self.frame}.")
        if self.weights is not None:
            weights = checks.numbers(self.weights, "The weights of the points to reach the target")
            if not 0.0 < float(weights.sum()) < np.inf:
                raise SceneError(
                    "No point of the body has a weight to reach the target. Give some points a "
                    "weight."
                )
            object.__setattr__(self, "weights", weights)


@dataclass(frozen=True, eq=False)
class MatchShape:
    """Young's modulus with which a body goes through shapes.

    Args:
        body: index of it.
        first: frame after the start of the first shape.
        shapes: (T, V, 3) points of its skin at that frame and those after it, in metres.
        unpainted: share of the modulus that is left where none is painted, where that is sought,
            too.
    """

    body: int
    first: int
    shapes: FloatArray
    unpainted: float | None = None

    def __post_init__(self) -> None:
        shapes = np.ascontiguousarray(self.shapes, dtype=np.float64)
        if shapes.ndim != 3 or shapes.shape[2] != 3 or len(shapes) == 0:
            raise SceneError(f"Shapes to match must be (T, V, 3) numbers, not {shapes.shape}.")
        if not np.isfinite(shapes).all():
            frame, vertex = np.argwhere(~np.isfinite(shapes))[0][:2]
            raise SceneError(
                f"Shape {frame} to match is not finite at vertex {vertex}; move or delete it."
            )
        if self.first < 1:
            raise SceneError(f"The first shape must come after the start, not at {self.first}.")
        object.__setattr__(self, "shapes", shapes)


@dataclass(frozen=True, eq=False)
class FollowKeys:
    """The smallest forces, or the smallest motion of pins, with which a body passes through keys.

    Args:
        body: index of it.
        frames: (K,) ascending, after the start, of the keys.
        shapes: (K, V, 3) points of its skin there, in metres.
        points: (P,) indices of those that count; None are all.
        by: the kind of control.
    """

    body: int
    frames: NDArray[np.int32]
    shapes: FloatArray
    points: NDArray[np.int32] | None = None
    by: ControlKind = "forces"

    def __post_init__(self) -> None:
        checks.choice(self.by, ControlKind, "What brings a body to its keys")
        frames = np.asarray(self.frames, dtype=np.int32)
        shapes = np.ascontiguousarray(self.shapes, dtype=np.float64)
        if frames.ndim != 1 or len(frames) == 0 or frames.min() < 1 or (np.diff(frames) < 1).any():
            raise SceneError("Keys must come one after the other, all after the start; give one.")
        if shapes.ndim != 3 or shapes.shape[2] != 3 or len(shapes) != len(frames):
            raise SceneError(f"{len(frames)} keys need as many shapes, not {shapes.shape}.")
        if not np.isfinite(shapes).all():
            key, vertex = np.argwhere(~np.isfinite(shapes))[0][:2]
            raise SceneError(
                f"The key {frames[key]} frames after the start is not finite at vertex {vertex}; "
                "move or delete it."
            )
        if self.points is not None:
            points = checks.indices(self.points, shapes.shape[1], "A point of the keys")
            if len(points) == 0:
                raise SceneError("No point of the body should follow the keys. Name some points.")
            object.__setattr__(self, "points", points)
        object.__setattr__(self, "frames", frames)
        object.__setattr__(self, "shapes", shapes)


@dataclass(frozen=True, eq=False)
class KeptShape:
    """The result of *Keep This Shape*.

    Args:
        rest_shape: of the tetrahedra.
        distance: the largest distance of a vertex from the start shape at equilibrium, in metres.
    """

    rest_shape: TetRestShape
    distance: float


@dataclass(frozen=True, eq=False)
class FoundThrow:
    """The result of *Hit the Target*.

    Args:
        velocity, angular_velocity: at the start, in m/s and rad/s.
        distance: from the target, in metres, as the scene is simulated.
        hits: whether it comes within a hundredth of the distance, or of the radius of the body.
        set_distance: of the best throw like the one that was set, where a straight one came nearer;
            else None.
    """

    velocity: Vector
    angular_velocity: Vector
    distance: float
    hits: bool
    set_distance: float | None = None


@dataclass(frozen=True, eq=False)
class FoundStiffness:
    """The result of *Match a Shape*.

    Args:
        young: Young's modulus, in pascal.
        unpainted: share of it that is left where none is painted; None where that was not sought.
        distance: the root of the mean squared distance from the shapes, in metres.
        before: the same with the modulus that it had.
    """

    young: float
    unpainted: float | None
    distance: float
    before: float


@dataclass(frozen=True, eq=False)
class FoundControl:
    """The result of *Follow My Keys*.

    Args:
        control: that brings the body through its keys.
        effort: the root of the mean square of its accelerations, in m/s².
        distance: the largest distance of a tet vertex from a key in the simulation, in metres.
        frame: of that key, after the start.
        search_distance: the same as it was sought.
        follows: whether that is within a hundredth of the size of the body.
    """

    control: TetControl
    effort: float
    distance: float
    frame: int
    search_distance: float
    follows: bool


Wanted = KeepShape | HitTarget | MatchShape | FollowKeys
Found = KeptShape | FoundThrow | FoundStiffness | FoundControl

_TYPES: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        *(KeepShape, HitTarget, MatchShape, FollowKeys),
        *(KeptShape, FoundThrow, FoundStiffness, FoundControl),
    )
}


def is_wanted(folder: Path) -> bool:
    """Whether a job is to find something instead of its frames."""
    return (folder / _WANTED).exists()


def write_wanted(folder: Path, request: Wanted) -> None:
    _write(folder / _WANTED, request)


def read_wanted(folder: Path) -> Any:
    """Read the file of ``write_wanted``.

    Raises:
        DamageError: when it is not that any more.
        JobError: when it cannot be read.
    """
    return _read(folder / _WANTED)


def write_found(folder: Path, result: Found) -> None:
    _write(folder / _FOUND, result)


def read_found(folder: Path) -> Any:
    """Read the file of ``write_found``; errors as of ``read_wanted``."""
    return _read(folder / _FOUND)


def append_loss(folder: Path, loss: float, done: float) -> None:
    """A line on one simulation: its loss in metres, and how much of the work is done, 0 … 1."""
    line = files.json_line(_LOSSES, {"loss": loss, "done": done})
    files.append_line(folder / _LOSSES, line)


def read_losses(folder: Path) -> list[tuple[float, float]]:
    """The whole lines so far, as ``append_loss`` had them."""
    try:
        text = (folder / _LOSSES).read_bytes()
    except OSError:  # there is none yet
        return []
    losses = []
    for line in text.split(b"\n"):
        try:
            record = files.parse_json_line(_LOSSES, line)
        except (ValueError, RecursionError):  # cut off while it is written
            continue
        if conforms(record.get("loss"), float) and conforms(record.get("done"), float):
            losses.append((float(record["loss"]), float(record["done"])))
    return losses


def _write(path: Path, value: Wanted | Found) -> None:
    arrays: scene_file.Arrays = {}
    encoded = scene_file.encode(value, "fit", arrays)
    # The JSON comes last: a folder that has it has all of it.
    written = files.write_arrays(path.with_suffix(".npz"), arrays)
    content = {"format": scene_file.FORMAT, "arrays": written, "fit": encoded}
    files.write_json(path, content)


def _read(path: Path) -> Wanted | Found:
    content = files.read_json(path)
    arrays = files.read_arrays(path.with_suffix(".npz"), content.get("arrays"))
    try:
        members = dict(content["fit"])
        kind = _TYPES[members.pop("type")]
        arguments = {name: scene_file.decode(value, arrays) for name, value in members.items()}
        check_members(kind, arguments)
        made: Wanted | Found = kind(**arguments)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise DamageError(path, f"it does not say what to find: {error}") from error
    return made
