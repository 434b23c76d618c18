# SPDX-License-Identifier: GPL-3.0-or-later
"""The worker process of the simulation at hand. There is one at a time.

::

    MESHING ──▶ SIMULATING ──▶ FINISHED
        └────────────┴───────▶ CANCELLED, FAILED
"""

from __future__ import annotations

import subprocess
import sys
from enum import Enum

from ...core.errors import JobInUseError, SuppleError
from ...core.job import OUTPUT, Job, lock, memory, warm_up
from ...core.job import log as output
from ...core.job.files import remove, why_not_written
from . import solver_environment, warm_worker

#: The activity of a worker that compiles its loops.
PREPARING = "Preparing the solver for its first use …"
# The time for a worker to end before it is killed. Its files are whole at any moment.
TERMINATION_SECONDS = 0.5
# The signal by which systems end processes that take too much memory.
KILLED = 9


class State(Enum):
    MESHING = "meshing"
    SIMULATING = "simulating"
    FINISHED = "finished"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def runs(self) -> bool:
        return self in (State.MESHING, State.SIMULATING)


class Session:
    """A worker on a job folder.

    Args:
        job: the job to work on.
        reached: the last frame the job already has, or -1.
        mesh_only: whether it stops once there are tetrahedra.

    Raises:
        SuppleError: when no worker can be started.
    """

    def __init__(self, job: Job, reached: int = -1, mesh_only: bool = False) -> None:
        self.job = job
        self.state = State.MESHING
        self.last_frame = reached
        self.failure = SuppleError()
        self._peak_bytes: int | None = None
        self._output = job.folder / OUTPUT
        self._process = self._start(mesh_only)

    def preparing(self) -> float | None:
        """The worker's progress with compiling, 0 … 1; None when it compiles nothing."""
        return warm_up.progress(self._output) if self.state.runs else None

    def is_settling(self) -> bool:
        """Whether the worker puts bodies to rest before the first frame."""
        return self.state is State.SIMULATING and output.is_settling(self._output)

    def poll(self) -> State:
        """Read the worker's news since the last call; costs next to nothing."""
        if not self.state.runs:
            return self.state
        # Read before the poll, since the process is unknown afterwards.
        self._peak_bytes = memory.peak_bytes(self._process.pid) or self._peak_bytes
        status = self._process.poll()
        if self.state is State.MESHING and self.job.has_tet_scene():
            self.state = State.SIMULATING
        # Frames can be read only with their tetrahedra, which may have to be made again.
        while self.state is State.SIMULATING and self.job.has_frame(self.last_frame + 1):
            self.last_frame += 1
        if status is not None:
            self._end(State.FINISHED if status == 0 else State.FAILED)
            if status != 0:
                self.failure = self._why(status)
        return self.state

    def cancel(self) -> None:
        """Stop the worker. The files that it has written stay."""
        if self.state.runs:
            self._end(State.CANCELLED)

    def _start(self, mesh_only: bool) -> subprocess.Popen[bytes]:
        remove(self._output)
        # One that only fills meshes needs no solver, and is there as quickly.
        if not mesh_only and (waiting := warm_worker.take(self.job.folder)) is not None:
            return waiting
        extra = ["--mesh-only"] if mesh_only else []
        command = solver_environment.worker_command(self.job.folder, "--stop-with-parent", *extra)
        try:
            printed = self._output.open("wb")
        except OSError as error:
            raise SuppleError(why_not_written(self._output, error)) from error
        with printed:
            return solver_environment.start_worker(command, printed.fileno(), self.job.folder)

    def _end(self, state: State) -> None:
        self.state = state
        process = self._process
        process.terminate()
        try:
            process.wait(TERMINATION_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdin is not None:
            process.stdin.close()

    def _why(self, status: int) -> SuppleError:
        try:
            lock.check_free(self.job.folder)
        except JobInUseError as error:  # began at the same moment, and has the output, too
            return error
        return SuppleError(self._failure_message(status))

    def _failure_message(self, status: int) -> str:
        if not self._output.exists():
            return f"The solver ended without any output; is {self._output.parent} writable?"
        lines = self._output.read_text(encoding="utf-8", errors="replace").split("\n")
        errors = [line for line in lines if line.startswith("error: ")]
        if errors:
            return errors[-1].removeprefix("error: ")
        if status == -KILLED:
            return memory.killed_message(self._peak_bytes, self._output)
        if status < 0 and sys.platform != "win32":
            return f"The solver was killed by signal {-status}; {self._output} has its output."
        return f"The solver ended unexpectedly; {self._output} says why."


_latest: Session | None = None


def start(job: Job, reached: int = -1, mesh_only: bool = False) -> Session:
    """Starts the worker on ``job``.

    Raises:
        SuppleError: when another one is at work, or none can be started.
    """
    global _latest
    if is_running():
        raise SuppleError("A simulation is running already. Cancel it with Esc first.")
    _latest = Session(job, reached, mesh_only)
    return _latest


def is_running() -> bool:
    return _latest is not None and _latest.state.runs


def stop() -> None:
    """Stops the workers there are: Blender quits, or opens another file."""
    if _latest is not None:
        _latest.cancel()
    warm_worker.stop()
