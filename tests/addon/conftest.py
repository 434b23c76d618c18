# SPDX-License-Identifier: GPL-3.0-or-later
"""An empty scene with the add-on registered, as Blender has it after enabling the extension."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import bpy
import numpy as np
import pytest
from numpy.typing import NDArray

import supple
from supple.addon.capture.scene import capture
from supple.addon.playback.mesh_cache import Playback
from supple.addon.reports import doctor
from supple.addon.worker import solver_environment
from supple.core.__main__ import main
from supple.core.job import Job
from supple.core.preparation.tetrahedralize_scene import tetrahedralize_scene
from supple.tests.core import apart

AddBody = Callable[..., bpy.types.Object]
Play = Callable[..., tuple[Job, Playback]]

#: How far everything drifts in a frame of ``play``, in metres.
STEP = np.array([0.1, 0.2, 0.3])


@pytest.fixture(scope="session", autouse=True)
def factory_settings() -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)


@pytest.fixture(scope="module", autouse=True)
def addon(factory_settings: None) -> Iterator[None]:
    supple.register()
    yield
    supple.unregister()


@pytest.fixture(scope="session", autouse=True)
def kernels() -> Iterator[None]:
    """One place for compiled loops: each test has a user's cache of its own, and would compile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NUMBA_CACHE_DIR", str(Path(supple.__file__).parent / "build" / "kernels"))
        yield


def empty_file() -> None:
    """Opens one. To put back all of Blender's settings, which no test changes, takes longer."""
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bpy.types.Scene:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user cache"))
    empty_file()
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 4
    scene.supple.cache_folder = str(tmp_path / "cache")
    scene.supple.ground_height = -5.0
    return scene


@pytest.fixture
def add_body(scene: bpy.types.Scene) -> AddBody:
    """Makes a soft cube, 1 m wide."""

    def add(
        name: str = "Cube", scale: tuple[float, ...] = (1, 1, 1), **transform: object
    ) -> bpy.types.Object:
        bpy.ops.mesh.primitive_cube_add(size=1.0, **transform)
        obj = bpy.context.object
        obj.scale = scale  # given to the operator, it would go into the mesh
        obj.name = name
        obj.supple.enabled = True
        obj.supple.resolution = 2
        return obj

    return add


def write_frames(job: Job, last: int, wobble: bool = False) -> None:
    """Frames in which everything drifts by ``STEP``; with ``wobble`` each vertex shakes as well."""
    vertices = np.concatenate([body.mesh.vertices for body in job.tet_scene.bodies])
    shake = np.random.default_rng(3).normal(scale=0.1 * wobble, size=(last + 1, *vertices.shape))
    for index in range(last + 1):
        job.write_frame(index, vertices + index * STEP + shake[index])


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Plays a scene as if it had been simulated up to a frame."""

    def begin(last: int, wobble: bool = False) -> tuple[Job, Playback]:
        captured = capture(bpy.context)
        job = Job.create(tmp_path / "job", captured.scene, captured.settings)
        job.write_tet_scene(*tetrahedralize_scene(captured.scene))
        write_frames(job, last, wobble)
        shown = Playback(job, captured)
        while shown.extend(last, 1.0):
            shown.attach()
        return job, shown

    return begin


@pytest.fixture
def solver_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder in which the extension would install the solver."""
    path = tmp_path / "user" / "solver"
    monkeypatch.setattr(solver_environment, "solver_folder", lambda: path)
    return path


@pytest.fixture
def no_torch(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A Python whose own packages hold no torch."""
    monkeypatch.setattr("site.getsitepackages", lambda: [str(tmp_path / "empty")])


def put_torch(folder: Path, suffix: str = EXTENSION_SUFFIXES[0]) -> None:
    """Lets a folder look as if torch was installed there."""
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / f"_C{suffix}").touch()


_answers: dict[tuple[str, ...], subprocess.CompletedProcess[str]] = {}


@pytest.fixture
def asked_once(solver: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor asks each Python once what it can import: to import it all takes seconds."""

    def run(
        command: list[str], *, env: dict[str, str], **options: Any
    ) -> subprocess.CompletedProcess[str]:
        question = (env.get("PYTHONPATH", ""), *command)
        if question not in _answers:
            _answers[question] = subprocess.run(command, env=env, **options)
        return _answers[question]

    patched = SimpleNamespace(**vars(subprocess) | {"run": run})
    monkeypatch.setattr(doctor, "subprocess", patched)


@pytest.fixture
def solver() -> None:
    """Tests that use it start a worker."""
    if solver_environment.find() is None:
        pytest.skip("no Python with torch here")


@pytest.fixture
def solver_here(solver: None) -> Iterator[None]:
    with working_here():
        yield


@contextlib.contextmanager
def working_here() -> Iterator[None]:
    """Lets workers work in this process, which has loaded the solver: to load it takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(solver_environment, "start_worker", _work_here)
        yield


@pytest.fixture
def solver_loaded(solver: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are processes that have loaded the solver already, where processes fork."""
    monkeypatch.setattr(solver_environment, "start_worker", _start_program)


def _start_program(
    command: solver_environment.Command, output: int, folder: Path
) -> apart.Program | subprocess.Popen[bytes]:
    (python, _, _, launcher, *words), environment = command
    assert python == sys.executable and Path(launcher).name == "launch.py"
    return apart.program(words, output, environment)


def _work_here(
    command: solver_environment.Command, output: int, folder: Path
) -> subprocess.Popen[bytes]:
    """Ends with the status of a worker that has done its work already."""
    options = ["--mesh-only"] if "--mesh-only" in command[0] else []
    with (
        os.fdopen(output, "w", encoding="utf-8", closefd=False) as file,
        contextlib.redirect_stdout(file),
        contextlib.redirect_stderr(file),
    ):
        status = main([str(folder), *options])
    ended = f"raise SystemExit({status})"
    return subprocess.Popen([sys.executable, "-I", "-S", "-c", ended], stdin=subprocess.PIPE)


def evaluated_positions(obj: bpy.types.Object, frame: int) -> NDArray[np.float64]:
    """The (V, 3) points that Blender shows at a frame, in the object's space."""
    bpy.context.scene.frame_set(frame)
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    positions = np.empty(len(mesh.vertices) * 3, dtype=np.float32)
    mesh.vertices.foreach_get("co", positions)
    return positions.reshape(-1, 3).astype(np.float64)


def world_positions(obj: bpy.types.Object, frame: int) -> NDArray[np.float64]:
    local = evaluated_positions(obj, frame)
    matrix = np.array(obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).matrix_world)
    return local @ matrix[:3, :3].T + matrix[:3, 3]


def set_linear(obj: bpy.types.Object) -> None:
    """Lets the animation of an object go straight from keyframe to keyframe."""
    action = obj.animation_data.action
    for curve in action.layers[0].strips[0].channelbags[0].fcurves:
        for point in curve.keyframe_points:
            point.interpolation = "LINEAR"
