# SPDX-License-Identifier: GPL-3.0-or-later
"""Shows simulated frames with a Mesh Cache modifier, which Blender plays without Supple too.

The object's own mesh, keys and modifiers stay as they are. The frames stand behind the modifiers
that drive the body, whose work they hold, and before those that refine the result
(``refined_frames``).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from numpy.typing import NDArray

from ...core.errors import SuppleError
from ...core.job import Job, lock
from ...core.system_lock import acquire, lock_file
from .. import driving, start_runs
from ..capture.captured import Capture, CapturedObject
from ..modifiers import MODIFIER, find_modifier, find_refined, new_cache, removed
from ..paths import absolute, portable
from . import fitting, pc2, refined_frames, retimed, smooth, timing

#: The name of a folder with loops of frames in a job folder, before the number of blended frames.
LOOP = "playback_loop_"


@dataclass(frozen=True)
class Frames:
    """The simulated frames that an object plays.

    Args:
        first: the scene frame of the first.
        count: the number of frames.
        pre_roll: frames of the job before the first.
        vertices: their number in each frame.
        fingerprint: of the body as it was simulated.
    """

    first: int
    count: int
    pre_roll: int
    vertices: int
    fingerprint: str


class Playback:
    """The frames of a job on the objects they were captured from.

    Args:
        job: the job of the shown frames.
        captured: the way from the bodies of the job back to Blender.
        may_go_on: whether frames of the same run after the last requested one may play, too, so
            that none are written twice.
    """

    def __init__(self, job: Job, captured: Capture, may_go_on: bool = False) -> None:
        self.last_frame = -1
        self.last_shown = captured.first_shown
        self._job, self._captured = job, captured
        count = captured.end_frame + 1 - captured.first_shown
        self._folder = folder = _folder(job, None if may_go_on else count)
        # The files of each body: first of its own mesh, then of its refined meshes.
        self._paths = [
            [folder / f"{index}.pc2", *refined_frames.paths(folder, index, body)]
            for index, body in enumerate(captured.objects)
        ]

    def extend(self, last_frame: int, seconds: float) -> bool:
        """Takes over frames up to ``last_frame``, for about ``seconds``; False if none to be shown
        were new, or another process takes over the same just now.

        Raises:
            SuppleError: when a frame cannot be read or the playback file not written.
        """
        with lock_file(self._folder / lock.LOCK) as descriptor:
            # A file that cannot be written does not have to be.
            is_free = descriptor is None or acquire(descriptor)
            return is_free and self._extend(last_frame, seconds)

    def _extend(self, last_frame: int, seconds: float) -> bool:
        first, end = self.last_frame + 1, time.monotonic() + seconds
        samples: list[list[list[NDArray[np.float32]]]] = [[] for _ in self._paths]
        frame, pre_roll = first, self._captured.settings.pre_roll
        while frame <= last_frame and (frame == first or time.monotonic() < end):
            if frame >= pre_roll:
                positions = self._job.seen_positions(frame)
                for body, at, seen in zip(self._captured.objects, samples, positions, strict=True):
                    at.append([body.to_local(frame, points) for points in seen])
            frame += 1
        self.last_frame = frame - 1
        if frame == first or frame <= pre_roll:
            return False
        for index, at in enumerate(samples):
            # The refined meshes of some bodies are not known.
            self._paths[index] = self._paths[index][: len(at[0])]
            for path, new in zip(self._paths[index], zip(*at, strict=True), strict=True):
                if first <= pre_roll:
                    pc2.begin(path, len(new[0]))
                pc2.put(path, max(first - pre_roll, 0), new)
        self.last_shown = self._captured.start_frame + self.last_frame
        return True

    def attach(self) -> None:
        """Let the objects that are still soft bodies play the frames, unless they do already."""
        each = zip(self._captured.objects, self._captured.soft_bodies(), self._paths, strict=True)
        for body, obj, (path, *refined) in each:
            if obj is not None:
                attach(obj, [path, *refined], self._frames(body))
                for scene in obj.users_scene:
                    if scene.supple.simulated_as != self._captured.fingerprint:
                        scene.supple.simulated_as = self._captured.fingerprint

    def _frames(self, body: CapturedObject) -> Frames:
        captured = self._captured
        count = captured.end_frame + 1 - captured.first_shown
        pre_roll = captured.settings.pre_roll
        return Frames(captured.first_shown, count, pre_roll, body.vertex_count, body.fingerprint)

    def missing(self) -> list[str]:
        """Names of the objects that were deleted, or are no soft bodies any more."""
        each = zip(self._captured.objects, self._captured.soft_bodies(), strict=True)
        return [body.name for body, obj in each if obj is None]


def playing(objects: Iterable[bpy.types.Object]) -> Iterator[tuple[bpy.types.Modifier, Path]]:
    """Yield the playback modifiers of editable objects, and their files."""
    for obj in objects:
        modifier = find_modifier(obj)
        if modifier is not None and obj.is_editable:
            for each in (modifier, *find_refined(obj)):
                yield each, absolute(each.filepath)


def folder_of(path: Path) -> Path:
    """The job folder that a playback file lies in."""
    return path.parent.parent


def is_loop(path: Path) -> bool:
    """Whether a playback file holds a loop of the simulated frames."""
    return path.parent.name.startswith(LOOP)


def shown_folder(scene: bpy.types.Scene) -> Path | None:
    """The job folder that the scene plays; None when it plays none."""
    modifiers = (find_modifier(obj) for obj in scene.objects)
    path = next((modifier.filepath for modifier in modifiers if modifier), "")
    return folder_of(absolute(path)) if path else None


def detach(obj: bpy.types.Object) -> bool:
    """Removes the playback modifiers; False when there were none."""
    refined_frames.detach(obj)
    if obj.supple.hides_frames:
        obj.supple.hides_frames = False
    return removed(obj, find_modifier(obj))


def read(obj: bpy.types.Object) -> tuple[NDArray[Any], int]:
    """(F, V, 3) simulated positions in the object's own space, and the frame of the first.

    Raises:
        SuppleError: when there are none, or they are of another mesh.
    """
    modifier = find_modifier(obj)
    if modifier is None:
        raise SuppleError(f"{obj.name} is not simulated yet. Press Simulate.")
    frames = pc2.read(absolute(modifier.filepath))
    problem = why_not_playing(obj)
    if problem:
        raise SuppleError(problem)
    return frames[: _requested_frames(obj, len(frames))], int(modifier.frame_start)


def run_of(obj: bpy.types.Object) -> str:
    """The run and the body that an object plays, wherever that lies; empty where it plays none."""
    modifier = find_modifier(obj)
    return "" if modifier is None else "/".join(start_runs.name_of(modifier.filepath))


def last_frame(obj: bpy.types.Object) -> int | None:
    """Return the last scene frame for which an object plays a frame; None where it plays none, or
    not as they were simulated, or a loop of them.

    Raises:
        SuppleError: when its file cannot be read.
    """
    modifier = find_modifier(obj)
    if modifier is None or retimed.is_retimed(obj) or is_loop(path := absolute(modifier.filepath)):
        return None
    count = _requested_frames(obj, pc2.frame_count(path))
    return int(modifier.frame_start) + count - 1


def _folder(job: Job, count: int | None) -> Path:
    """The folder of the files that play ``count`` frames, or all frames. A part of a longer run
    has its own files, since other objects may show the whole run."""
    shared = job.folder / "playback"
    try:
        is_longer = count is not None and pc2.frame_count(shared / "0.pc2") > count
    except SuppleError:  # not there yet, or damaged
        is_longer = False
    return (
        job.folder / f"playback_{count}" if is_longer and os.access(job.folder, os.W_OK) else shared
    )


def _requested_frames(obj: bpy.types.Object, count: int) -> int:
    """Return the number of requested frames of an object's simulation. Its file may have more,
    since other scenes can extend the run. Older files do not record it and use all."""
    return min(count, obj.supple.simulated_frames or count)


def why_not_playing(obj: bpy.types.Object) -> str:
    """The reason why a simulated object does not move, and the cure; empty when it moves."""
    if find_modifier(obj) is None:
        return ""
    before, now = obj.supple.simulated_vertices, len(obj.data.vertices)
    # An object that is appended or overridden may not know.
    if before and before != now:
        return (
            f"{obj.name} has {now} vertices and had {before} when it was simulated. Simulate "
            "again, or undo the change to the mesh."
        )
    return ""


def attach(obj: bpy.types.Object, paths: Sequence[Path], frames: Frames) -> None:
    """Let an object play files, first of its own mesh, then of its refined meshes, unless it does
    already."""
    modifier, (path, *refined) = find_modifier(obj), paths
    if modifier is None:
        driving_modifiers = driving.drivers(obj)
        modifier = new_cache(obj, MODIFIER)
        driving.move_behind(obj, modifier, driving_modifiers)
    if modifier.filepath != (portable_path := portable(path)):
        modifier.filepath = portable_path
    values = {
        "simulated_first": frames.first,
        "simulated_pre_roll": frames.pre_roll,
        "simulated_frames": frames.count,
        "simulated_vertices": frames.vertices,
        "simulated_as": frames.fingerprint,
    }
    for name, value in values.items():
        if getattr(obj.supple, name) != value:
            setattr(obj.supple, name, value)
    timing.place(obj, modifier, frames.first)
    fitting.set_hidden(obj, False)
    smooth.update(obj)
    refined_frames.attach(obj, refined, frames.first)


def frames_of(obj: bpy.types.Object) -> Frames:
    """The frames that an object plays."""
    props = obj.supple
    return Frames(
        timing.simulated_first(obj),
        props.simulated_frames,
        props.simulated_pre_roll,
        props.simulated_vertices,
        props.simulated_as,
    )
