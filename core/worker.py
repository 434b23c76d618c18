# SPDX-License-Identifier: GPL-3.0-or-later
"""The process that simulates a job folder. It can be killed at any moment and started again."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from .discretize import discretize
from .errors import IntersectionError
from .job import OUTPUT, Job
from .warm_up import prepare_everything, prepare_for, say_compiling

if TYPE_CHECKING:
    from .ensemble import Ensemble
    from .scene import Scene
    from .simulator import Frame

STANDARD_INPUT, STANDARD_OUTPUT, STANDARD_ERROR = 0, 1, 2


def wait_for_job() -> Path:
    """Loads and compiles the solver until standard input says what to simulate with it.

    The line is JSON, ``{"job": folder}``; output goes to the folder from then on. Ends this
    process when standard input closes instead.
    """
    wanted = threading.Event()
    threading.Thread(target=prepare_everything, args=(wanted,), daemon=True).start()
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(STANDARD_INPUT, 1)
        if not byte:
            os._exit(0)
        line += byte
    wanted.set()
    folder = Path(json.loads(line)["job"])
    output = os.open(folder / OUTPUT, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (STANDARD_OUTPUT, STANDARD_ERROR):
        os.dup2(output, stream)
    os.chdir(folder)
    say_compiling()
    return folder


def work(folder: Path, mesh_only: bool = False) -> None:
    """Makes the tetrahedra of a job unless it has them, then all frames it still lacks.

    Raises:
        SuppleError: when the job is damaged or cannot be simulated; the frames so far are kept.
    """
    job = Job(folder)
    # Loading the solver takes longer than filling a mesh: do both at once.
    loading = threading.Thread(target=prepare_for, args=(job.scene,), daemon=True)
    if not mesh_only:
        loading.start()
    _remove_parts(folder)
    if not job.has_solids():
        solids, reports = discretize(job.scene)
        job.write_solids(_with_clear_start(job, solids), reports)
    for report in job.mesh_reports():
        print(f"{report['name']}: {report['summary']}", flush=True)
    if mesh_only:
        return
    loading.join()
    _simulate(job)


def _with_clear_start(job: Job, solids: Scene) -> Scene:
    """The solids where nothing intersects at the start; what does is written down."""
    job.write_intersections(None)
    if solids.contact is None:
        return solids
    from .contact.start import prepare_start

    try:
        return prepare_start(solids)
    except IntersectionError as error:
        job.write_intersections(error.report)
        raise


def stop_when_input_closes() -> None:
    """Ends this process when standard input does. Files are whole at any moment, so it may."""

    def wait() -> None:
        # Not through sys.stdin: its lock would still be held when the interpreter shuts down.
        while os.read(STANDARD_INPUT, 4096):
            pass
        os._exit(3)

    threading.Thread(target=wait, daemon=True).start()


def _simulate(job: Job) -> None:
    from .compiled import is_compiled

    if not is_compiled():
        print("numba is not installed: simulating with slower kernels", flush=True)
    ensemble = _ensemble(job)
    for stepper in (simulator.stepper for simulator in ensemble.simulators):
        steps = "1 step" if stepper.substeps == 1 else f"{stepper.substeps} steps"
        print(f"{stepper.label}, {steps} a frame", flush=True)
    count = job.settings.frame_count
    for frame in ensemble.run(count - ensemble.index):
        _write(job, ensemble, frame)
        print(f"frame {frame.index} of {count}, {frame.report.seconds:.3f} s", flush=True)
        if not frame.report.effort.converged:
            print(
                f"frame {frame.index} did not reach the tolerance: {frame.report.effort.stopped}",
                flush=True,
            )


def _ensemble(job: Job) -> Ensemble:
    """The bodies of a job where its last checkpoint left them, or at the start, written down."""
    import torch

    from .ensemble import Ensemble
    from .integrators import integrator_named

    settings, bodies = job.settings, job.solids.bodies
    names = settings.body_integrators or len(bodies) * (settings.integrator,)
    ensemble = Ensemble(
        job.solids,
        [integrator_named(name, settings.step_tolerance) for name in names],
        frame_time=settings.frame_time,
        substeps=settings.substeps,
        device=settings.device,
        dtype=torch.float64 if settings.dtype == "float64" else torch.float32,
    )
    checkpoint = job.read_checkpoint()
    job.forget_after(-1 if checkpoint is None else checkpoint[0])
    if checkpoint is None:
        _write(job, ensemble, ensemble.frame())
    else:
        ensemble.restore(*checkpoint)
    return ensemble


def _write(job: Job, ensemble: Ensemble, frame: Frame) -> None:
    import torch

    # The checkpoint comes last: a frame that has one is whole, and so is its record.
    job.write_frame(frame.index, torch.cat(frame.positions).cpu().numpy())
    job.append_record({"frame": frame.index, "time": frame.time, **frame.report.record()})
    job.write_checkpoint(frame.index, ensemble.to_arrays())


def _remove_parts(folder: Path) -> None:
    """Removes what a killed worker had begun to write."""
    for part in (*folder.glob("*.part"), *folder.glob("frames/*.part")):
        part.unlink(missing_ok=True)
