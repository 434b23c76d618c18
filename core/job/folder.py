# SPDX-License-Identifier: GPL-3.0-or-later
"""A job folder as an object; its content is checked as it is read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DamageError, JobError
from ..geometry.tet_mesh import TetMesh
from ..preparation.intersection_report import IntersectionReport
from ..results import RESULTS
from ..scene.scene import Scene
from ..scene.soft_body import SoftBody
from ..version import version
from . import files, log, scene_file
from .settings import Settings, digest

OUTPUT = "output.txt"
# The frames between states that are kept.
STATE_FRAMES = 10
# Farther away nothing can be shown in single precision, nor be meant.
LARGEST_COORDINATE_M = 1e18

_FRAME_NAME = re.compile(r"(\d{6,})\.np[yz]")


@dataclass(frozen=True)
class Job:
    """A job folder. Making the object reads nothing; ``create`` writes one."""

    folder: Path

    @staticmethod
    def create(folder: Path | str, scene: Scene, settings: Settings) -> Job:
        """Write the files that the worker needs. A folder that already holds frames keeps them."""
        job = Job(Path(folder))
        job.make_folders()
        scene_file.save_scene(job._scene_path, scene, {"settings": settings.record()})
        return job

    def make_folders(self) -> None:
        try:
            (self.folder / "frames").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise JobError(
                f"The cache folder {self.folder} cannot be made: {error.strerror}. Choose another "
                "one."
            ) from error

    # The scene

    @cached_property
    def _description(self) -> tuple[Scene, Settings]:
        scene, content = scene_file.load_scene(self._scene_path)
        try:
            return scene, Settings.of(content["settings"])
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise DamageError(self._scene_path, str(error)) from error

    @property
    def scene(self) -> Scene:
        return self._description[0]

    @property
    def settings(self) -> Settings:
        return self._description[1]

    @property
    def _scene_path(self) -> Path:
        return self.folder / "scene.json"

    # Tetrahedra

    def has_tet_scene(self) -> bool:
        return self._tet_scene_path.exists()

    def write_tet_scene(self, tet_scene: Scene, reports: list[dict[str, Any]]) -> None:
        run, settings = digest(self.scene, self.settings), self.settings.run_record()
        origin = {"run": run, "version": version(), "settings": settings}
        for cached in ("_tet_scene_file", "_tet_scene_checksum"):
            self.__dict__.pop(cached, None)
        scene_file.save_scene(self._tet_scene_path, tet_scene, {**origin, "reports": reports})

    @property
    def tet_scene(self) -> Scene:
        """The scene once its surfaces are tetrahedra."""
        return self._tet_scene_file[0]

    def named_tet_scene(self) -> Scene:
        """The tetrahedra with the present names of objects, which do not identify a run.

        Raises:
            DamageError: the tetrahedra are of other objects than the scene.
        """
        tet_scene, scene = self.tet_scene, self.scene
        for kind in ("bodies", "colliders"):
            objects, named = getattr(tet_scene, kind), getattr(scene, kind)
            if len(objects) != len(named):
                reason = f"it has {len(objects)} {kind} instead of {len(named)}"
                raise DamageError(self._tet_scene_path, reason)
            for before, now in zip(objects, named, strict=True):
                before.name = now.name
        return tet_scene

    def mesh_reports(self) -> list[dict[str, Any]]:
        """Return the report of the tetrahedralizer on each body; empty when there was nothing to
        fill."""
        return self._tet_scene_file[1]["reports"]

    @property
    def version(self) -> str:
        """Return the version of Supple that made the tetrahedra, and the frames from them."""
        return str(self._tet_scene_file[1]["version"])

    @property
    def run(self) -> str:
        """The ``digest`` of the scene and the settings that the tetrahedra were made for."""
        return str(self._tet_scene_file[1]["run"])

    def is_of_scene(self, version: str | None = None) -> bool:
        """Whether the tetrahedra are of this scene, made by this version or another."""
        return self.run == digest(self.scene, self.settings, version)

    def other_settings(self) -> list[str]:
        """The names of the settings that have changed since the tetrahedra were made."""
        now = json.loads(json.dumps(self.settings.run_record()))
        then = self._tet_scene_file[1].get("settings") or now
        return sorted(name for name in {*then, *now} if then.get(name) != now.get(name))

    def remove_tet_scene(self) -> None:
        """For the worker to make them again."""
        files.remove(self._tet_scene_path)

    @cached_property
    def _tet_scene_file(self) -> tuple[Scene, dict[str, Any]]:
        return scene_file.load_tet_scene(self._tet_scene_path)

    @property
    def _tet_scene_path(self) -> Path:
        return self.folder / "solids.json"

    # Intersections at the start

    def write_intersections(self, report: IntersectionReport | None) -> None:
        """Write the intersections of the latest attempt to begin; None where it found none."""
        if report is None:
            files.remove(self._intersections_path)
        else:
            files.write_json(self._intersections_path, report.record())

    def intersections(self) -> IntersectionReport | None:
        """Return the intersections that kept the latest attempt from beginning, or None."""
        path = self._intersections_path
        if not path.exists():
            return None
        try:
            return IntersectionReport.of(files.read_json(path))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise DamageError(path, str(error)) from error

    @property
    def _intersections_path(self) -> Path:
        return self.folder / "intersections.json"

    # Frames

    def frame_path(self, index: int) -> Path:
        return self.folder / "frames" / f"{index:06d}.npy"

    def has_frame(self, index: int) -> bool:
        return self.frame_path(index).exists()

    def last_frame(self) -> int:
        """Index of the newest frame of the unbroken row from 0, or -1."""
        index = -1
        while self.has_frame(index + 1):
            index += 1
        return index

    def fields_path(self, index: int) -> Path:
        """Return the path of the requested ``settings.results``; written before the frame."""
        return self.frame_path(index).with_suffix(".npz")

    def remove_frame(self, index: int) -> None:
        files.remove(self.frame_path(index))
        files.remove(self.fields_path(index))

    def write_frame(self, index: int, positions: NDArray[np.floating[Any]]) -> None:
        files.write_array(self.frame_path(index), positions)

    def read_frame(self, index: int) -> NDArray[np.floating[Any]]:
        """(N, 3) positions of the vertices of all bodies after frame ``index``; 0 is the start.

        Raises:
            DamageError: if the file has changed since it was written.
            JobError: when it cannot be read.
        """
        path = self.frame_path(index)
        frame = files.read_array(path)
        expected = (sum(len(mesh.vertices) for _, mesh in self._meshes()), 3)
        if frame.shape != expected or frame.dtype.kind != "f":
            problem = f"it holds {frame.shape} {frame.dtype} positions instead of {expected}"
            raise DamageError(path, problem)
        # Written so that it is false for NaN.
        if not np.abs(frame).max(initial=0.0) <= LARGEST_COORDINATE_M:
            raise DamageError(path, "it holds a position that is not finite, or far out of reach")
        return frame

    def write_fields(self, index: int, fields: Mapping[str, NDArray[np.float32]]) -> None:
        if fields:
            files.write_arrays(self.fields_path(index), fields)

    def read_fields(self, index: int) -> dict[str, NDArray[np.float32]]:
        """Read the results after frame ``index``, by name: (M,) of the tets or (N,) of the vertices
        of all bodies; errors as of ``read_frame``."""
        meshes = [mesh for _, mesh in self._meshes()]
        return read_fields(self.fields_path(index), self.settings.results, meshes)

    def _has_fields(self) -> bool:
        try:
            return bool(self.settings.results)
        except DamageError:  # until the scene is written again
            return False

    def damaged_frames(self, last: int) -> dict[int, str]:
        """Find damaged frames up to ``last``; return the evidence for each.

        Raises:
            JobError: when one cannot be read for another reason, such as a missing permission.
        """
        damage, has_fields = {}, self._has_fields()
        for index in range(last + 1):
            try:
                self.read_frame(index)
                if has_fields:
                    self.read_fields(index)
            except DamageError as error:
                damage[index] = error.finding
        return damage

    def seen_positions(self, index: int) -> Iterator[list[NDArray[np.float64]]]:
        """Yield (V, 3) positions after frame ``index`` of each body's skin and its refined meshes,
        in metres."""
        frame, ground = self.read_frame(index), self.tet_scene.ground
        height = None if ground is None else ground.height
        start = 0
        for body, mesh in self._meshes():
            positions = frame[start : start + len(mesh.vertices)]
            start += len(mesh.vertices)
            if body.skin is None or body.skin.embedding is None:
                yield [positions]
            else:
                skins = (body.skin, *body.skin.refined)
                yield [skin.seen_at(positions, height, index) for skin in skins]

    def _meshes(self) -> Iterator[tuple[SoftBody, TetMesh]]:
        for body in self.tet_scene.bodies:
            if isinstance(body.mesh, TetMesh):
                yield body, body.mesh

    # Log

    @property
    def log_path(self) -> Path:
        return self.folder / "log.jsonl"

    def records(self) -> list[log.Record]:
        """One record a frame, without damaged records and records cut off by a kill."""
        return list(log.read(self.log_path).records.values())

    def lost_records(self, last_frame: int | None = None) -> str:
        """Return the message about frames that have no whole record; empty where all have one.

        Args:
            last_frame: up to which there should be records; None is as far as the log goes.
        """
        content = log.read(self.log_path)
        last = max(content.records, default=-1) if last_frame is None else last_frame
        lost = content.lost(last)
        if not lost and (last_frame is not None or not content.damaged_lines):
            return ""
        which = "its end is"
        if lost:
            count = "the record of" if len(lost) == 1 else f"the records of {len(lost)} frames from"
            which = f"{count} frame {lost[0]}" + (" is" if len(lost) == 1 else " on are")
        return f"{self.log_path} is damaged: {which} lost"

    def append_record(self, record: log.Record) -> None:
        log.append(self.log_path, record)

    # Resuming

    def write_checkpoint(self, frame: int, state: Mapping[str, NDArray[Any]]) -> None:
        """Keep the checkpoint of the frame before, since a power failure damages the newest
        file."""
        origin = {"frame": np.array(frame), "solids": self._tet_scene_checksum}
        if frame > 0 and frame % STATE_FRAMES == 0:
            try:
                self._state_path(frame).parent.mkdir(exist_ok=True)
            except OSError as error:
                raise JobError(files.why_not_written(self._state_path(frame), error)) from error
            files.write_arrays(self._state_path(frame), {**state, **origin})
        files.write_arrays(self._checkpoint_path(frame), {**state, **origin})

    def state_frames(self) -> list[int]:
        """Return the frames after the start whose state is kept, in order. A state may be
        damaged."""
        paths = (self.folder / "states").glob("*.npz")
        frames = {int(path.stem) for path in paths if path.stem.isdigit()}
        newest, _ = self.read_checkpoint()
        return sorted(frames | ({newest[0]} if newest is not None and newest[0] > 0 else set()))

    def read_state(self, frame: int) -> dict[str, NDArray[Any]]:
        """Return the state after a frame of ``state_frames``.

        Raises:
            JobError: when it cannot be read, or is damaged.
        """
        newest, _ = self.read_checkpoint()
        if newest is not None and newest[0] == frame:
            return newest[1]
        return self._checkpoint(self._state_path(frame))[1]

    def _state_path(self, frame: int) -> Path:
        return self.folder / "states" / f"{frame:06d}.npz"

    @property
    def resumed(self) -> Job:
        """The run whose first frames this one has."""
        return Job(self.folder / "resumed")

    def read_checkpoint(self) -> tuple[tuple[int, dict[str, NDArray[Any]]] | None, list[str]]:
        """The newest whole frame and the state after it, or None before the first; and the
        problems of unusable checkpoints.

        Raises:
            JobError: when one cannot be read for another reason than damage.
        """
        states, damage = {}, []
        for path in map(self._checkpoint_path, (0, 1)):
            if path.exists():
                try:
                    frame, state = self._checkpoint(path)
                    states[frame] = state
                except DamageError as error:
                    damage.append(error.finding)
        return (max(states), states[max(states)]) if states else None, damage

    def _checkpoint(self, path: Path) -> tuple[int, dict[str, NDArray[Any]]]:
        state = files.read_arrays(path)
        frame, origin = state.pop("frame", None), state.pop("solids", None)
        if frame is None or frame.shape != () or frame.dtype.kind not in "iu" or frame < 0:
            raise DamageError(path, f"it cannot be of frame {frame}")
        if origin is None or origin.tobytes() != self._tet_scene_checksum.tobytes():
            raise DamageError(path, "it is of other tetrahedra")
        if not all(np.isfinite(array).all() for array in state.values()):
            raise DamageError(path, "it holds a number that is not finite")
        return int(frame), state

    def _checkpoint_path(self, frame: int) -> Path:
        return self.folder / f"checkpoint_{frame % 2}.npz"

    @cached_property
    def _tet_scene_checksum(self) -> NDArray[np.uint8]:
        content = json.dumps(self._tet_scene_file[1], sort_keys=True)
        return np.frombuffer(files.checksum(self._tet_scene_path.name, content.encode()), np.uint8)

    def remove_checkpoints(self, after: int = -1) -> None:
        """Remove checkpoints of later frames, and unusable ones."""
        for path in map(self._checkpoint_path, (0, 1)):
            if path.exists():
                try:
                    is_kept = self._checkpoint(path)[0] <= after
                except DamageError:
                    is_kept = False
                if not is_kept:
                    files.remove(path)

    def truncate_after(self, frame: int) -> None:
        """Remove the files that a killed worker wrote beyond its last checkpoint."""
        self.remove_checkpoints(after=frame)
        for path in (self.folder / "states").glob("*.npz"):
            if path.stem.isdigit() and int(path.stem) > frame:
                files.remove(path)
        for path in sorted((self.folder / "frames").glob("*.np?"), reverse=True):
            match = _FRAME_NAME.fullmatch(path.name)
            if match is not None and int(match[1]) > frame:
                files.remove(path)
        log.truncate_after(self.log_path, frame)


def read_fields(
    path: Path, names: Iterable[str], meshes: list[TetMesh]
) -> dict[str, NDArray[np.float32]]:
    """Read the values of all bodies, by result name; errors as of ``read_arrays``.

    Raises:
        DamageError: when they are not of these results and tetrahedra.
    """
    fields = files.read_arrays(path)
    for name in names:
        values, expected = fields.get(name), (sum(value_counts(name, meshes)),)
        if values is None or values.shape != expected or values.dtype != np.float32:
            raise DamageError(path, f"it holds no {name} of this scene")
        if not np.isfinite(values).all():
            raise DamageError(path, f"{name} is not finite")
    return fields


def value_counts(name: str, meshes: Iterable[TetMesh]) -> list[int]:
    """Return the number of values of a result on each body."""
    is_of_tets = RESULTS[name].per == "tet"
    return [len(mesh.tets if is_of_tets else mesh.vertices) for mesh in meshes]
