# SPDX-License-Identifier: GPL-3.0-or-later
"""From the last good state of a job to its last frame."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..errors import JobError
from ..integrators import integrator_named
from ..scene.scene import Scene
from ..scene.soft_body import tet_mesh_of
from ..settled_start import settle_start
from ..simulator import Frame, Simulator
from . import Job, Settings, lock
from .log import report, report_settling


def simulate(job: Job) -> None:
    """Writes all frames that a job lacks, and makes damaged ones again.

    Raises:
        SuppleError: when the job is damaged or cannot be simulated; the frames so far are kept.
    """
    simulator = simulator_of(job.named_tet_scene(), job.settings)
    _resume(job, simulator)
    stepper = simulator.stepper
    steps = "1 step" if stepper.substeps == 1 else f"{stepper.substeps} steps"
    report(f"{stepper.label}, {steps} a frame")
    count = job.settings.frame_count
    for frame in simulator.run(count - simulator.state.frame):
        _write(job, simulator, frame)
        report(f"frame {frame.index} of {count}, {frame.report.seconds:.3f} s")
        statistics = frame.report.solver_statistics
        if not statistics.converged:
            report(
                f"frame {frame.index} did not reach the tolerance: {statistics.termination_reason}"
            )


def simulator_of(scene: Scene, settings: Settings) -> Simulator:
    """Return the simulator of a scene of tetrahedra, by the settings of a job."""
    return Simulator(
        scene,
        integrator_named(settings.integrator, settings.step_tolerance),
        frame_time=settings.frame_time,
        substeps=settings.substeps,
        device=settings.device,
        is_prepared=True,
        results=settings.results,
    )


def _resume(job: Job, simulator: Simulator) -> None:
    """Brings the bodies to the last whole frame, or writes the start.

    All frames before it are whole then.
    """
    checkpoint, damage = job.read_checkpoint()
    last = -1 if checkpoint is None else checkpoint[0]
    for finding in damage:
        report(f"{finding}: resuming from {'the start' if last < 0 else f'frame {last}'}")
    job.truncate_after(last)
    if checkpoint is None and job.settings.resumed_run:
        _take_frames(job, simulator)
        return
    if checkpoint is None:
        _settle(simulator)
        _write(job, simulator, simulator.frame())
        return
    if lost := job.lost_records(last):
        report(lost)
    damaged = job.damaged_frames(last)
    if damaged and job.settings.resumed_run:
        report("damaged frames: going on from the other run again")
        job.truncate_after(-1)
        _take_frames(job, simulator)
        return
    for index, finding in damaged.items():
        report(f"{finding}: simulating again up to frame {index}")
    if damaged and not _repair(job, simulator, damaged):
        return
    try:
        simulator.restore(*checkpoint)
    except JobError as error:
        job.remove_checkpoints()
        raise JobError(f"{job.folder}: {error}") from error


def _take_frames(job: Job, simulator: Simulator) -> None:
    """Take the first frames of another run, and go to the state after the last of them.

    Raises:
        JobError: when they are damaged, or of other tetrahedra or constraints.
    """
    source, last = job.resumed, job.settings.resumed_frame
    _check_tetrahedra(source.tet_scene, job.tet_scene)
    if missing := set(job.settings.results) - set(source.settings.results):
        raise JobError(
            f"The frames so far have no {', '.join(sorted(missing))}. Untick it under Recorded "
            "Fields, or simulate from the start."
        )
    records = {record["frame"]: record for record in source.records()}
    for index in range(last + 1):
        if job.settings.results:
            fields = source.read_fields(index)
            job.write_fields(index, {name: fields[name] for name in job.settings.results})
        job.write_frame(index, source.read_frame(index))
        if index in records:
            job.append_record(records[index])
    try:
        simulator.restore(last, source.read_state(last))
    except JobError as error:
        raise JobError(
            f"No run can go on from frame {last} with these settings: {error}"
        ) from error
    job.write_checkpoint(last, simulator.state.to_arrays())
    report(f"going on from frame {last} of another run")


def _check_tetrahedra(before: Scene, now: Scene) -> None:
    """Refuse to go on with other bodies or other tetrahedra.

    Raises:
        JobError: with the name of the body.
    """
    if len(before.bodies) != len(now.bodies):
        raise JobError(
            f"The frames so far have {len(before.bodies)} bodies, and the scene has "
            f"{len(now.bodies)}. Simulate from the start."
        )
    for old, new in zip(before.bodies, now.bodies, strict=True):
        meshes = tet_mesh_of(old), tet_mesh_of(new)
        if not np.array_equal(meshes[0].tets, meshes[1].tets):
            raise JobError(
                f"{new.name} has other tetrahedra than in the frames so far. Undo the change of "
                "its mesh or its resolution, or simulate from the start."
            )


def _settle(simulator: Simulator) -> None:
    """Put bodies to rest that begin on something, and say which."""
    start = settle_start(simulator, report_settling)
    if start.settled:
        report(f"{', '.join(start.settled)} settled before the first frame")
    if start.unstable:
        report(f"{', '.join(start.unstable)} cannot come to rest at the start position")


def _repair(job: Job, simulator: Simulator, damaged: Collection[int]) -> bool:
    """Simulate from the start up to the last damaged frame, and write the damaged ones.

    Returns:
        Whether the others come out as they are. On another computer they may not: from the first
        that does not, all are given up, and the bodies are where that one leaves them.
    """
    _settle(simulator)
    for frame in chain([simulator.frame()], simulator.run(max(damaged))):
        positions = _positions(frame)
        if frame.index in damaged:
            job.write_fields(frame.index, _fields(frame))
            job.write_frame(frame.index, positions)
        elif job.read_frame(frame.index).tobytes() != positions.tobytes():
            report(
                f"frame {frame.index} differs from the earlier run: simulating it and all later "
                "frames again"
            )
            job.truncate_after(frame.index - 1)
            _write(job, simulator, frame)
            return False
    return True


def _write(job: Job, simulator: Simulator, frame: Frame) -> None:
    lock.check_held(job.folder)
    # The checkpoint comes last: a frame that has one is whole, and so are its record and fields.
    job.write_fields(frame.index, _fields(frame))
    job.write_frame(frame.index, _positions(frame))
    job.append_record({"frame": frame.index, "time": frame.time, **frame.report.record()})
    job.write_checkpoint(frame.index, simulator.state.to_arrays())


def _positions(frame: Frame) -> NDArray[np.floating[Any]]:
    return torch.cat(frame.positions).cpu().numpy()


def _fields(frame: Frame) -> dict[str, NDArray[np.float32]]:
    """Return the fields of a frame, body after body, clamped to single precision."""
    most = float(np.finfo(np.float32).max)
    return {
        name: torch.cat(list(values)).clamp(max=most).float().cpu().numpy()
        for name, values in frame.fields.items()
    }
