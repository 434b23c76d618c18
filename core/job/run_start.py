# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the state where the frames of a job leave a body, so that another run can start there. No
torch here."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from ..errors import JobError
from ..scene.channel import FrameTimes
from ..scene.soft_body import start_velocities, tet_mesh_of
from ..scene.start import RunStart
from .folder import Job

FloatArray = NDArray[np.float64]


def run_start(job: Job, body: int, frame: int) -> RunStart:
    """Return the state of a body after a frame.

    The latest frame has the velocity with which a run goes on; that after others is found from the
    two frames before, exact where the acceleration is the same in both.

    Raises:
        JobError: when there is no such frame or body, or it is damaged.
    """
    bodies = job.tet_scene.bodies
    if not 0 <= body < len(bodies):
        raise JobError(f"{job.folder} has no body {body}.")
    if not job.has_frame(frame):
        raise JobError(f"{job.folder} has no frame {frame}; its last is {job.last_frame()}.")
    return RunStart(
        tet_mesh_of(bodies[body]), _positions(job, body, frame), _velocities(job, body, frame)
    )


def _positions(job: Job, body: int, frame: int) -> FloatArray:
    return job.read_frame(frame)[_vertices(job, body)].astype(np.float64)


def _vertices(job: Job, body: int) -> slice:
    """The vertices of a body among those of all bodies."""
    counts = [len(tet_mesh_of(each).vertices) for each in job.tet_scene.bodies]
    first, end = [0, *accumulate(counts)][body : body + 2]
    return slice(first, end)


def _velocities(job: Job, body: int, frame: int) -> FloatArray:
    times = FrameTimes(job.settings.frame_time, job.scene.time_scale)
    if frame == 0:
        return start_velocities(job.tet_scene.bodies[body], times.of(0))
    checkpoint, _ = job.read_checkpoint()
    if checkpoint is not None and checkpoint[0] == frame:
        return checkpoint[1]["velocities"][:, _vertices(job, body)].T.astype(np.float64)
    here, before = (_positions(job, body, index) for index in (frame, frame - 1))
    last = times.of(frame - 1)
    rate: FloatArray = (here - before) / last
    if frame == 1:
        return rate
    first_of_two = times.of(frame - 2)
    earlier = (before - _positions(job, body, frame - 2)) / first_of_two
    return rate + (rate - earlier) * (last / (last + first_of_two))
