# SPDX-License-Identifier: GPL-3.0-or-later
"""Work between pressing a button and its result, one step at a time.

A window takes steps from a timer, a script and the command line one after the other.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, runtime_checkable

import bpy

from ..core.errors import JobError, JobInUseError, SuppleError
from ..core.job import Job, Settings
from . import modifiers
from .cache import scene_cache
from .capture.captured import Capture
from .capture.scene import capture, simulated_range
from .playback import mesh_cache, preview
from .playback.mesh_cache import Playback
from .properties import suited
from .reports import ignored, intersections, notices, run_reports
from .reports.run_reports import on_timeline
from .steps import Steps
from .units import played_frame
from .worker import session, solver_environment
from .worker.session import Session, State

# Long enough to show many frames at once, short enough to keep the window at hand.
STEP_SECONDS = 0.05
PAUSE_SECONDS = 0.02
# The time between lines of a log, in seconds.
LOG_SECONDS = 1.0
# The time over which the pace of frames is measured.
PACE_SECONDS = 10.0

PREPARING = session.PREPARING

_CACHED = "Already simulated. Showing cached frames."


class Work(Protocol):
    """Work that goes on while Blender stays usable; ``cancelling`` explains the Esc key."""

    cancelling: str

    def step(self) -> bool:
        """Take a step of the work. True while there is more to come; raises SuppleError, and
        RemovedError when its owner was deleted."""

    def progress(self) -> float:
        """The progress, 0 … 1."""

    def describe(self) -> str:
        """The current activity, such as ``Simulating frame 12 of 100``."""

    def cancel(self) -> str:
        """Stop and keep the results so far; return the message for the user."""

    def finish(self, context: bpy.types.Context) -> str:
        """Concludes after the last step; returns the message for the user."""


class SteppedWork:
    """The part of ``Work`` that takes steps which pause; nothing changes before the last one.

    ``cancelled`` is the message for the user who cancels.
    """

    cancelled: str
    _steps: Steps[None]
    _done = 0.0

    def step(self) -> bool:
        end = time.monotonic() + STEP_SECONDS
        for done in self._steps:
            self._done = done
            if time.monotonic() > end:
                return True
        return False

    def progress(self) -> float:
        return self._done

    def cancel(self) -> str:
        self._steps.close()
        return self.cancelled


@runtime_checkable
class Run(Work, Protocol):
    """Work of the worker.

    ``warnings`` are messages to the user before it begins; ``job`` is the job of the worker;
    ``losses`` are those of a search so far, in metres.
    """

    warnings: list[str]
    job: Job
    losses: tuple[float, ...]

    @property
    def start_frame(self) -> int:
        """The timeline's number of the job's frame 0."""


#: The work that a window waits for, for its panels to show.
current: Work | None = None
#: Whether it is to be cancelled at its next step.
is_cancelling = False


class Pace:
    """The pace of a simulation, by the frames of the last seconds."""

    def __init__(self) -> None:
        self._frames: deque[tuple[float, int]] = deque()

    def observe(self, frame: int) -> None:
        """Note the newest frame."""
        now = time.monotonic()
        if not self._frames or self._frames[-1][1] < frame:
            self._frames.append((now, frame))
        while len(self._frames) > 2 and now - self._frames[0][0] > PACE_SECONDS:
            self._frames.popleft()

    def describe(self, last_frame: int) -> str:
        """Describe the time left and the pace, such as ``12 s left, 8.3 frames per second``."""
        if len(self._frames) < 2:
            return ""
        (then, first), (_, newest) = self._frames[0], self._frames[-1]
        pace = (newest - first) / max(time.monotonic() - then, 1e-6)
        left = run_reports.duration((last_frame - newest) / pace)
        return f"{left} left, {pace:.2g} frames per second"


@dataclass(frozen=True)
class ResumedRun:
    """A frame of the run that a scene plays, from which another run goes on.

    Args:
        folder: of the run.
        start_frame: the timeline's number of its frame 0.
        frame: that it goes on from, counted from the start.
    """

    folder: Path
    start_frame: int
    frame: int

    @staticmethod
    def of(scene: bpy.types.Scene) -> ResumedRun:
        """The last frame whose state is kept, up to the playhead.

        Raises:
            SuppleError: the scene plays no frames, or the state of none is kept.
        """
        folder = mesh_cache.shown_folder(scene)
        if folder is None or not folder.exists():
            raise SuppleError("The scene plays no simulated frames. Press Simulate first.")
        start = modifiers.shown_start(scene)
        frames = Job(folder).state_frames()
        shown = [
            each for each in frames if played_frame(scene, start + each) <= scene.frame_current
        ]
        if not frames:
            raise SuppleError("These frames keep no state to go on from. Press Simulate first.")
        if not shown:
            first = played_frame(scene, start + frames[0])
            raise SuppleError(
                f"The first frame from which a simulation can go on is {first}. Go to this frame "
                "or a later one."
            )
        return ResumedRun(folder, start, shown[-1])

    def names(self) -> list[str]:
        """The names of the bodies and colliders of the run, in its order."""
        scene = Job(self.folder).scene
        return [body.name for body in scene.bodies] + [mesh.name for mesh in scene.meshes]

    def settings(self, captured: Capture) -> Settings:
        """The settings of the run that goes on.

        Raises:
            SuppleError: it begins at another frame, or ends before.
        """
        if captured.start_frame != self.start_frame:
            raise SuppleError(
                f"The simulated frames begin at frame {self.start_frame}, and the frame range now "
                f"begins at {captured.start_frame}. Set it back, or press Simulate."
            )
        if captured.settings.frame_count <= self.frame:
            raise SuppleError("The playhead is at the end frame. Go to an earlier frame.")
        run = Job(self.folder).run
        return replace(captured.settings, resumed_run=run, resumed_frame=self.frame)


class Simulation:
    """A simulation, from the scene to the last frame on screen.

    ``scene_uid`` is the ``session_uid`` of the scene, which outlives undo.

    Args:
        context: the context of the scene to simulate.
        may_go_on: whether frames after the last one may play, too, where the run has them.
        resumed: the run and its frame from which this one goes on; None begins at the start.

    Raises:
        SuppleError: when it cannot be; nothing was changed.
    """

    cancelling = "Press Esc to cancel and keep the frames so far."
    losses: tuple[float, ...] = ()

    def __init__(
        self,
        context: bpy.types.Context,
        may_go_on: bool = False,
        resumed: ResumedRun | None = None,
    ) -> None:
        self.scene_uid = context.scene.session_uid
        scene_cache.check_root(context.scene)
        changed = suited.refresh(context, simulated_range(context.scene).start)
        captured = capture(context, resumed.names() if resumed else ())
        if resumed is not None:
            captured = replace(captured, settings=resumed.settings(captured))
        self._captured = captured
        solver_environment.check_complete()
        source = resumed.folder if resumed else None
        opened = scene_cache.open_job(context.scene, captured.scene, captured.settings, source)
        self.warnings = [*changed, *_warnings(context, opened, captured)]
        self.playback = Playback(opened.job, captured, may_go_on)
        self.job = opened.job
        self._reached = opened.reached
        self._resumed = resumed
        self._preparing: float | None = None
        self._is_settling = False
        self._session: Session | None = None
        if not opened.is_complete:
            self._session = session.start(opened.job, opened.reached)
        self._pace = Pace()
        self.is_paused = False
        preview.remove(context.scene)

    @property
    def start_frame(self) -> int:
        return self._captured.start_frame

    @property
    def first_shown(self) -> int:
        """The timeline's number of the first frame after the pre-roll."""
        return self._captured.first_shown

    def pause(self) -> None:
        """Stop the worker, and keep the frames so far."""
        if self._session is not None:
            self._session.cancel()
            self.is_paused = True

    def resume(self) -> None:
        """Simulate the rest of the frames.

        Raises:
            SuppleError: no worker can be started.
        """
        self._session = session.start(self.job, self._reached)
        self.is_paused, self._pace = False, Pace()

    def pace(self) -> str:
        """Describe the time left and the pace; empty before there are frames."""
        return "" if self.is_paused else self._pace.describe(self._captured.settings.frame_count)

    def step(self) -> bool:
        self._captured.check_left()
        if self.is_paused:
            return True
        try:
            return self._step()
        except JobInUseError:
            raise
        except SuppleError as error:
            raise SuppleError(on_timeline(str(error), self.start_frame)) from error

    def _step(self) -> bool:
        state = self._poll()
        if self._take_over():
            self.playback.attach()
        if state.runs or self.playback.last_frame < self._reached:
            return True
        if state is State.FAILED and self._session is not None:
            raise self._session.failure
        return False

    def progress(self) -> float:
        if self._preparing is not None:
            return self._preparing
        return max(self.playback.last_frame, 0) / self._captured.settings.frame_count

    def describe(self) -> str:
        if self._preparing is not None:
            return PREPARING
        if self.is_paused:
            return f"Paused at frame {self._shown_of_all()}"
        if self._session is not None and self._session.state is State.MESHING:
            return "Filling with tetrahedra"
        if self._is_settling:
            return "Settling bodies at rest"
        return f"Simulating frame {self._shown_of_all()}"

    def cancel(self) -> str:
        if self._session is not None:
            self._session.cancel()
        return f"Cancelled after frame {self._shown_of_all()}. Simulate resumes from there."

    def _shown_of_all(self) -> str:
        shown = self.start_frame + max(self.playback.last_frame, 0)
        return f"{shown} of {self._captured.end_frame}"

    def finish(self, context: bpy.types.Context) -> str:
        # Once more, since an undo may have removed it meanwhile.
        self.playback.attach()
        run_reports.keep(self.job, self._captured)
        first, last = self._captured.first_shown, self._captured.end_frame
        parts = [f"Simulated frames {first} to {last}{_pre_roll(self._captured)}."]
        if self._resumed is not None:
            begun = self._resumed.start_frame + self._resumed.frame
            parts = [f"Went on from frame {begun}, and simulated up to frame {last}."]
        if self._session is None:
            parts = [_CACHED]
        parts += run_reports.start_warnings(self.job, self._captured)
        parts += run_reports.read(self.job, self.start_frame).sentences()
        if missing := self.playback.missing():
            parts.append(f"Not a soft body anymore: {', '.join(missing)}.")
        return " ".join(parts)

    def _take_over(self) -> bool:
        try:
            return self.playback.extend(self._reached, STEP_SECONDS)
        except JobError:
            # The next run finds the damage and repairs it.
            self.cancel()
            raise

    def _poll(self) -> State:
        if self._session is None:
            return State.FINISHED
        state = self._session.poll()
        self._reached = self._session.last_frame
        if self._reached >= 0:
            self._pace.observe(self._reached)
        self._preparing = self._session.preparing()
        # Only before the first frame is there anything to settle.
        self._is_settling = self._session.last_frame < 0 and self._session.is_settling()
        return state


class Tetrahedralization:
    """A preview of the tetrahedra of a scene.

    Args:
        context: the context of the scene to fill.

    Raises:
        SuppleError: when it cannot be; nothing was changed.
    """

    cancelling = "Esc cancels."
    losses: tuple[float, ...] = ()

    def __init__(self, context: bpy.types.Context) -> None:
        self._scene_uid = context.scene.session_uid
        scene_cache.check_root(context.scene)
        self._captured = capture(context)
        opened = scene_cache.open_job(context.scene, self._captured.scene, self._captured.settings)
        self.warnings = _warnings(context, opened, self._captured)
        self.job = opened.job
        self._session: Session | None = None
        if not self.job.has_tet_scene():
            self._session = session.start(self.job, mesh_only=True)

    @property
    def start_frame(self) -> int:
        return self._captured.start_frame

    def step(self) -> bool:
        if self._session is None:
            return False
        self._captured.check_left()
        state = self._session.poll()
        if state is State.FAILED:
            raise self._session.failure
        return state.runs

    def progress(self) -> float:
        return 0.0

    def describe(self) -> str:
        return "Filling with tetrahedra"

    def cancel(self) -> str:
        if self._session is not None:
            self._session.cancel()
        return "Cancelled. No tetrahedra were made."

    def finish(self, context: bpy.types.Context) -> str:
        # The window may show another scene by now, and this one may be deleted.
        scenes = (each for each in bpy.data.scenes if each.session_uid == self._scene_uid)
        preview.show(next(scenes, context.scene), self.job, self._captured)
        run_reports.keep(self.job, self._captured)
        return (
            f"{run_reports.summary(self.job, self._captured)} The preview is in the collection "
            f"{preview.COLLECTION}."
        )


def complete(
    run: Run, context: bpy.types.Context, log: Callable[[str], object] | None = None
) -> str:
    """Take all steps at once, and pass news to ``log``, at most once a second.

    Returns:
        The message for the user.

    Raises:
        SuppleError: when the run fails; the frames so far are kept and shown.
    """
    logged_at, logged = 0.0, set[str]()
    intersections.forget()
    try:
        while run.step():
            status = run.describe()
            is_new = status not in logged and time.monotonic() - logged_at >= LOG_SECONDS
            if log is not None and is_new:
                log(status)
                logged_at = time.monotonic()
                logged.add(status)
            time.sleep(PAUSE_SECONDS)
    except SuppleError as error:
        run.cancel()
        intersections.remember(context.scene, run.job, str(error))
        raise
    except BaseException:
        run.cancel()
        raise
    return run.finish(context)


def _pre_roll(captured: Capture) -> str:
    count = captured.settings.pre_roll
    return f", after {count} {'frame' if count == 1 else 'frames'} of pre-roll" if count else ""


def _warnings(
    context: bpy.types.Context, opened: scene_cache.OpenedJob, captured: Capture
) -> list[str]:
    damage = [on_timeline(opened.warning, captured.start_frame)] if opened.warning else []
    before = notices.before_a_run(context)
    return [*damage, *notices.jumping_pins(captured), *before, *ignored.messages(context)]
