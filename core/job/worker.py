# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that simulates a job folder. It can be killed at any moment and started again."""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DamageError, IntersectionError, JobError, SuppleError
from ..preparation.prepared import prepare
from ..version import version
from . import OUTPUT, Job, files, fits, lock
from .log import report
from .warm_up import prepare_everything, prepare_for, report_compiling

if TYPE_CHECKING:
    from ..scene.scene import Scene

STANDARD_INPUT, STANDARD_OUTPUT, STANDARD_ERROR = 0, 1, 2


def wait_for_job() -> Path:
    """Load and compile the solver until standard input names the job to simulate.

    The line is JSON, ``{"job": folder}``; output goes to the folder from then on. Ends this
    process when standard input closes instead.
    """
    stop_event = threading.Event()
    _load_scipy()
    threading.Thread(target=_prepare, args=(prepare_everything, stop_event), daemon=True).start()
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(STANDARD_INPUT, 1)
        if not byte:
            os._exit(0)
        line += byte
    stop_event.set()
    folder = Path(json.loads(line)["job"])
    try:
        output = os.open(folder / OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    except OSError as error:
        raise JobError(files.why_not_written(folder / OUTPUT, error)) from error
    for stream in (STANDARD_OUTPUT, STANDARD_ERROR):
        os.dup2(output, stream)
    os.chdir(folder)
    report_compiling()
    return folder


def work(folder: Path, mesh_only: bool = False) -> None:
    """Make the tetrahedra of a job unless it has them, then all missing frames, or the result of
    its search.

    Damaged files are reported, and made again if the rest allows. A folder that has everything is
    only read.

    Raises:
        JobInUseError: when another process is at work on the job.
        SuppleError: when the job is damaged or cannot be simulated; the frames so far are kept.
    """
    job = Job(folder)
    if _has_tet_scene(job) and (mesh_only or _has_frames(job)):
        _report_meshes(job)
        return
    with lock.hold(folder):
        # Loading the solver takes longer than filling a mesh: do both at once.
        loading = threading.Thread(target=_prepare, args=(prepare_for, job.scene), daemon=True)
        if not mesh_only:
            _load_scipy()
            loading.start()
        job.make_folders()
        for place in (folder, folder / "frames"):
            files.remove_unfinished(place)
        if not _has_tet_scene(job):
            job.write_tet_scene(*_prepared(job))
        _report_meshes(job)
        if mesh_only:
            return
        loading.join()
        if fits.is_wanted(folder):
            from .fit import fit

            fit(job)
            return
        from .run import simulate

        simulate(job)


def _prepare(prepare_it: Callable[[Any], None], subject: Any) -> None:
    """Prepare beside the main thread, which reports missing packages itself."""
    with contextlib.suppress(ImportError, SuppleError):
        prepare_it(subject)


def _load_scipy() -> None:
    """Load the common parts of scipy before two threads do. Each of them might hold a module that
    the other one waits for."""
    import scipy.linalg
    import scipy.sparse.csgraph
    import scipy.sparse.linalg
    import scipy.spatial  # noqa: F401


def _has_tet_scene(job: Job) -> bool:
    """Whether there are whole tetrahedra of this scene.

    Raises:
        JobError: when there are frames of other ones.
    """
    job.scene  # noqa: B018 - a damaged scene is reported first
    if not job.has_tet_scene():
        return False
    try:
        is_of_scene, frames_version = job.is_of_scene(), job.version
    except DamageError as error:
        report(f"{error.finding}: filling again")
        return False
    if is_of_scene or not job.has_frame(0):
        return is_of_scene
    if not job.is_of_scene(frames_version):
        others = ", ".join(job.other_settings())
        what = f"simulated with other settings ({others})" if others else "of another scene"
        raise JobError(
            f"{job.folder} holds frames {what}; simulate into another folder, or remove this one."
        )
    if _is_complete(job):
        return True
    raise JobError(
        f"The frames in {job.folder} were simulated by Supple {frames_version}; this is "
        f"{version()}, whose frames may differ. Simulate into another folder, or go on with "
        "that version."
    )


def _has_frames(job: Job) -> bool:
    """Whether all frames are there and whole; reports other damage then."""
    if not _is_complete(job):
        return False
    count = job.settings.frame_count
    _, damage = job.read_checkpoint()
    for finding in damage:
        report(f"{finding}: further frames cannot start from there")
    if lost := job.lost_records(count):
        report(lost)
    by = "" if job.version == version() else f", simulated by Supple {job.version}"
    report(f"all frames up to {count} are there{by}")
    return True


def _is_complete(job: Job) -> bool:
    count = job.settings.frame_count
    return job.has_frame(count) and not job.damaged_frames(count)


def _report_meshes(job: Job) -> None:
    for mesh_report in job.mesh_reports():
        report(f"{mesh_report['name']}: {mesh_report['summary']}")


def _prepared(job: Job) -> tuple[Scene, list[dict[str, Any]]]:
    """The scene of tets and the reports on it; intersections at the start are written to the
    folder."""
    job.write_intersections(None)
    try:
        return prepare(job.scene)
    except IntersectionError as error:
        job.write_intersections(error.report)
        raise
