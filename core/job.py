# SPDX-License-Identifier: GPL-3.0-or-later
"""The job folder: all that passes between Blender, or a script, and the solver.

::

    scene.json, scene.npz      what to simulate, and how
    solids.json, solids.npz    the same scene, its surfaces filled with tetrahedra
    meshes.json                one report a body on its tetrahedra
    intersections.json         what intersects at the start, where that keeps it from beginning
    frames/000000.npy …        (N, 3) vertex positions of all bodies, one after the other
    log.jsonl                  one record a frame
    checkpoint.npz             the state after the last whole frame
    output.txt                 what the worker printed, when Blender started it

Every file appears whole or not at all, and the checkpoint last, so that a folder left by a killed
worker can be read and resumed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import scene_file
from .errors import JobError, SceneError
from .files import (
    append_line,
    read_array,
    read_arrays,
    read_json,
    write_array,
    write_arrays,
    write_json,
    write_whole,
)
from .intersection_report import IntersectionReport
from .scene import Scene, SoftBody
from .tet_mesh import TetMesh

OUTPUT = "output.txt"

Precision = Literal["float32", "float64"]
# Those of ``integrators.choice``, which loads torch.
INTEGRATORS = (
    "automatic",
    "implicit_euler",
    "bdf2",
    "symplectic_euler",
    "midpoint",
    "runge_kutta4",
    "adaptive_symplectic_euler",
    "adaptive_midpoint",
    "adaptive_runge_kutta4",
    "xpbd",
)


@dataclass(frozen=True)
class Settings:
    """How a scene is simulated.

    Args:
        frame_count: frames after the start.
        frame_time: seconds from one frame to the next.
        substeps: time steps a frame; None lets the integrator choose.
        device: ``auto``, ``cpu`` or ``cuda``.
        dtype: ``float64`` or ``float32``.
        integrator: one of ``INTEGRATORS``; ``automatic`` chooses by stiffness and mesh.
        body_integrators: one a body, where they differ; bodies then do not touch each other.
        step_tolerance: of adaptive integrators, in metres.
    """

    frame_count: int
    frame_time: float = 1.0 / 24.0
    substeps: int | None = None
    device: str = "auto"
    dtype: Precision = "float64"
    integrator: str = "automatic"
    body_integrators: tuple[str, ...] = ()
    step_tolerance: float = 1e-4

    def __post_init__(self) -> None:
        # A list, where it comes from a file.
        object.__setattr__(self, "body_integrators", tuple(self.body_integrators))
        if self.frame_count < 1:
            raise SceneError("The end frame must come after the start frame.")
        if not 0.0 < self.frame_time < float("inf"):
            raise SceneError(f"The time of a frame must be above 0 s, not {self.frame_time:g}.")
        if self.substeps is not None and self.substeps < 1:
            raise SceneError(f"There must be at least 1 substep a frame, not {self.substeps}.")
        if self.device not in ("auto", "cpu", "cuda"):
            raise SceneError(f"The device must be auto, cpu or cuda, not {self.device!r}.")
        if self.dtype not in ("float32", "float64"):
            raise SceneError(f"The precision must be float32 or float64, not {self.dtype!r}.")
        for name in (self.integrator, *self.body_integrators):
            if name not in INTEGRATORS:
                known = ", ".join(INTEGRATORS)
                raise SceneError(f"The integrator must be one of {known}, not {name!r}.")
        if not 0.0 < self.step_tolerance < float("inf"):
            raise SceneError(
                f"The tolerance of adaptive steps must be above 0 m, not {self.step_tolerance:g}."
            )


@dataclass(frozen=True)
class Job:
    """A job folder. Making the object reads nothing; ``create`` writes one."""

    folder: Path

    @staticmethod
    def create(folder: Path, scene: Scene, settings: Settings) -> Job:
        """Writes what the worker needs. A folder that already holds frames keeps them."""
        try:
            (folder / "frames").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise JobError(
                f"The cache folder {folder} cannot be made: {error.strerror}. Choose another one."
            ) from error
        scene_file.save_scene(folder / "scene.json", scene, asdict(settings))
        return Job(folder)

    @cached_property
    def _description(self) -> tuple[Scene, Settings]:
        scene, settings = scene_file.load_scene(self.folder / "scene.json")
        try:
            return scene, Settings(**settings)
        except (TypeError, SceneError) as error:
            raise JobError(f"{self.folder / 'scene.json'}: {error}") from error

    @property
    def scene(self) -> Scene:
        return self._description[0]

    @property
    def settings(self) -> Settings:
        return self._description[1]

    # Tetrahedra

    def has_solids(self) -> bool:
        return (self.folder / "solids.json").exists()

    def write_solids(self, solids: Scene, reports: list[dict[str, Any]]) -> None:
        write_json(self.folder / "meshes.json", reports)
        scene_file.save_scene(self.folder / "solids.json", solids, {})

    @cached_property
    def solids(self) -> Scene:
        """The scene once its surfaces are tetrahedra."""
        return scene_file.load_scene(self.folder / "solids.json")[0]

    def mesh_reports(self) -> list[dict[str, Any]]:
        """What the tetrahedralizer said of each body; empty when there was nothing to fill."""
        reports: list[dict[str, Any]] = read_json(self.folder / "meshes.json")
        return reports

    def write_intersections(self, report: IntersectionReport | None) -> None:
        """Of the latest attempt to begin; None where it found none."""
        if report is None:
            self._intersections_path.unlink(missing_ok=True)
        else:
            write_json(self._intersections_path, report.record())

    def intersections(self) -> IntersectionReport | None:
        """What kept the latest attempt from beginning, or None."""
        path = self._intersections_path
        if not path.exists():
            return None
        try:
            return IntersectionReport.of(read_json(path))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise JobError(f"{path} is damaged ({error}); simulate again.") from error

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

    def write_frame(self, index: int, positions: NDArray[np.floating[Any]]) -> None:
        write_array(self.frame_path(index), positions)

    def read_frame(self, index: int) -> NDArray[np.floating[Any]]:
        """(N, 3) positions of the vertices of all bodies after frame ``index``; 0 is the start."""
        frame = read_array(self.frame_path(index))
        expected = (sum(len(mesh.vertices) for _, mesh in _meshes(self.solids)), 3)
        if frame.shape != expected:
            raise JobError(
                f"{self.frame_path(index)} holds {frame.shape} positions instead of {expected}; "
                "simulate again."
            )
        return frame

    def skin_positions(self, index: int) -> Iterator[NDArray[np.float64]]:
        """(V, 3) positions of the skin of each body after frame ``index``, in metres."""
        frame = self.read_frame(index)
        start = 0
        for body, mesh in _meshes(self.solids):
            positions = frame[start : start + len(mesh.vertices)]
            start += len(mesh.vertices)
            embedding = body.skin.embedding if body.skin else None
            yield positions if embedding is None else embedding.interpolate(positions)

    # Log

    @property
    def log_path(self) -> Path:
        return self.folder / "log.jsonl"

    def records(self) -> list[dict[str, Any]]:
        """One record a frame; a line cut off by a kill is left out."""
        path = self.log_path
        if not path.exists():
            return []
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        try:
            return [json.loads(line) for line in lines if line.endswith("\n")]
        except ValueError as error:
            raise JobError(f"{path} is damaged ({error}); simulate again.") from error

    def append_record(self, record: dict[str, Any]) -> None:
        append_line(self.log_path, json.dumps(record))

    # Resuming

    def write_checkpoint(self, frame: int, state: dict[str, NDArray[Any]]) -> None:
        write_arrays(self.folder / "checkpoint.npz", {**state, "frame": np.array(frame)})

    def read_checkpoint(self) -> tuple[int, dict[str, NDArray[Any]]] | None:
        """The last whole frame and the state after it, or None before the first."""
        path = self.folder / "checkpoint.npz"
        if not path.exists():
            return None
        state = read_arrays(path)
        if "frame" not in state:
            raise JobError(f"{path} is damaged (no frame number); simulate again.")
        frame = int(state.pop("frame"))
        if self.last_frame() < frame:
            raise JobError(
                f"{self.folder}: frame {self.last_frame() + 1} is missing; simulate again."
            )
        return frame, state

    def forget_after(self, frame: int) -> None:
        """Removes what a killed worker wrote beyond its last checkpoint."""
        for path in sorted((self.folder / "frames").glob("*.npy"), reverse=True):
            if int(path.stem) > frame:
                path.unlink()
        kept = [record for record in self.records() if record["frame"] <= frame]
        text = "".join(json.dumps(record) + "\n" for record in kept)
        write_whole(self.log_path, lambda file: file.write(text.encode()))


def digest(scene: Scene, settings: Settings) -> str:
    """A name for a run: equal exactly when its frames are.

    The number of frames is left out, so that a longer run goes on from a shorter one.
    """
    arrays: scene_file.Arrays = {}
    numbers = asdict(replace(settings, frame_count=1))
    content = [scene_file.encode(scene, "scene", arrays), numbers, scene_file.FORMAT]
    hashed = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for key in sorted(arrays):
        hashed.update(f"{key}{arrays[key].dtype}{arrays[key].shape}".encode())
        hashed.update(np.ascontiguousarray(arrays[key]).tobytes())
    return hashed.hexdigest()[:12]


def _meshes(scene: Scene) -> Iterator[tuple[SoftBody, TetMesh]]:
    for body in scene.bodies:
        if not isinstance(body.mesh, TetMesh):
            raise JobError(f"{body.name} has no tetrahedra yet; simulate again.")
        yield body, body.mesh
