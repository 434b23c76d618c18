# SPDX-License-Identifier: GPL-3.0-or-later
"""Reports on a run: its steps, its tetrahedra and its frames."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import bpy

from ...core.errors import JobError
from ...core.job import Job
from ...core.job.log import total_seconds
from ...core.meshing.surface import MAX_BENDING_RATIO
from ..capture.captured import Capture, CapturedObject
from .notices import frames_after_jumps

# ``frame 3`` or ``frames 3, 4, 5``.
_FRAMES = re.compile(r"\bframes? \d+(?:, \d+)*")


def on_timeline(message: str, start_frame: int) -> str:
    """A message of the solver, its frames as the timeline numbers them."""

    def moved(number: re.Match[str]) -> str:
        return str(start_frame + int(number[0]))

    return _FRAMES.sub(lambda match: re.sub(r"\d+", moved, match[0]), message)


Record = dict[str, Any]
# Steps that lose less than this share of the motion are not worth a word.
VISIBLE_LOSS_RATIO = 0.01


@dataclass(frozen=True)
class StepReport:
    """Texts about a run, for panels.

    Args:
        frames: their range and time, such as ``Frames 1 to 48 took 16 s``.
        events: the attachments that let go and that took hold.
        steps: the steps of the latest frame, such as ``Implicit Euler, 1 step per frame,
            4 iterations, 120 contacts, closest 0.31 mm``.
        warning: the problem, with the cure.

    Each is empty where there is nothing to report.
    """

    frames: str = ""
    events: str = ""
    steps: str = ""
    warning: str = ""

    def sentences(self) -> list[str]:
        """Beside the frames. The steps come last, where a status bar cuts off."""
        return [f"{text}." for text in (self.events, self.warning, self.steps) if text]


def read(job: Job, start_frame: int) -> StepReport:
    """The report on the frames so far. Panels call it at every redraw, so an unchanged log is not
    read again.

    Args:
        job: that is simulated.
        start_frame: the timeline's number of its frame 0.
    """
    try:
        status = job.log_path.stat()
    except OSError:  # not begun yet, or the cache is not there any more
        return StepReport()
    return _read(job.folder, start_frame, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=1)
def _read(folder: Path, start_frame: int, *_version: int) -> StepReport:
    try:
        records = Job(folder).records()
        lost = on_timeline(Job(folder).lost_records(), start_frame)
    except JobError as error:
        return StepReport(warning=on_timeline(str(error), start_frame))
    # Frames of a version that knew one integrator alone do not name it.
    if not records or "integrator" not in records[-1]:
        return StepReport(warning=lost)
    last = records[-1]
    substeps = last.get("substeps", 1)
    parts = [last["integrator"], f"{_count(substeps, 'step')} per frame"]
    if (steps := last.get("steps", 0)) > substeps:
        parts.append(f"{steps} in the last frame")
    if last.get("iterations"):
        parts.append(_count(last["iterations"], "iteration"))
    parts += _contacts(last)
    if inverted := last.get("inverted_tets"):
        parts.append(f"{_count(inverted, 'tet')} inside out")
    parts += _instead(records)
    parts += _lost_energy(records)
    warnings = [
        *_missed(records, folder),
        *_blocked(records, start_frame),
        *_too_fast(records, start_frame),
        *_caught(last),
        *_crossing(last),
    ]
    warnings += [lost] if lost else []
    return StepReport(
        _frames(records, start_frame),
        ". ".join(_let_go(records, start_frame)),
        ", ".join(parts),
        ". ".join(warnings),
    )


def _frames(records: list[Record], start_frame: int) -> str:
    last = records[-1]["frame"]
    if last == 0:
        return ""
    seconds = total_seconds(records)
    return f"Frames {start_frame} to {start_frame + last} took {duration(seconds)}"


def duration(seconds: float) -> str:
    """Format a duration, such as ``1.6 s``, ``16 s``, ``4 min 10 s`` or ``2 h 5 min``."""
    if seconds < 0.1:
        return "less than 0.1 s"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes_left = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes_left} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _instead(records: list[Record]) -> list[str]:
    """The frames that *Automatic* took implicitly, as ``9 of 40 frames implicit because surfaces
    are close``."""
    reasons: dict[str, int] = {}
    for record in records:
        if why := record.get("because"):
            reasons[why] = reasons.get(why, 0) + 1
    # The first record is of the start, which is no frame.
    frames = _count(len(records) - 1, "frame")
    return [f"{number} of {frames} implicit because {why}" for why, number in reasons.items()]


def _lost_energy(records: list[Record]) -> list[str]:
    """The share of the largest kinetic energy that steps have taken beside all damping."""
    most = max(record.get("kinetic_energy", 0.0) for record in records)
    lost = sum(record.get("lost_energy", 0.0) for record in records)
    is_visible = most > 0.0 and lost >= VISIBLE_LOSS_RATIO * most
    return [f"{lost / most:.0%} of the motion lost in time steps"] if is_visible else []


def _let_go(records: list[Record], start_frame: int) -> list[str]:
    """Releases and grips, such as ``After frame 11, the pins of Ball let go``: frame 11 is the last
    that they held."""
    return [
        f"After frame {start_frame + record['frame'] - 1}, {what} {verb}"
        for record in records
        for member, verb in (("let_go", "let go"), ("took_hold", "took hold"))
        for what in record.get(member, ())
    ]


def _contacts(last: Record) -> list[str]:
    """Contacts of the latest frame, as ``120 contacts``, ``closest 0.31 mm``."""
    # Frames of a version that knew no contact do not count any.
    if not (count := last.get("contacts")):
        return []
    closest = last.get("minimum_distance")
    parts = [_count(count, "contact")]
    return parts if closest is None else [*parts, f"closest {1000.0 * closest:.3g} mm"]


def _missed(records: list[Record], folder: Path) -> list[str]:
    frames = [record["frame"] for record in records if not record.get("converged", True)]
    if not frames:
        return []
    jumped = frames_after_jumps(folder)
    torn = sum(frame in jumped for frame in frames)
    warnings = []
    if torn:
        warnings.append(
            f"{_count(torn, 'frame')} did not reach the tolerance, since pins teleport. Spread "
            "their motion over more frames"
        )
    if torn < len(frames):
        missed = _count(len(frames) - torn, "frame")
        warnings.append(f"{missed} did not reach the tolerance. Raise Substeps")
    return warnings


def _blocked(records: list[Record], start_frame: int) -> list[str]:
    """The pins and colliders that something keeps from following their animation."""
    first: dict[str, int] = {}
    for record in records:
        for what in record.get("blocked", ()):
            first.setdefault(what, start_frame + record["frame"])
    blocked = [(frame, *what.partition(": ")) for what, frame in first.items()]
    lines = [
        f"From frame {frame}, {mover} could not follow the animation: {reason}"
        for frame, mover, _, reason in blocked
    ]
    lag = max((record.get("lag", 0.0) for record in records), default=0.0)
    if lines and lag > 0.0:
        distance = f"{lag:.3g} m" if lag >= 1.0 else f"{1000.0 * lag:.3g} mm"
        lines[-1] += f", at most {distance} behind"
    return lines


def _too_fast(records: list[Record], start_frame: int) -> list[str]:
    """Warnings about objects that may have passed through each other."""
    first: dict[str, int] = {}
    for record in records:
        for what in record.get("too_fast", ()):
            first.setdefault(what, start_frame + record["frame"])
    return [
        f"From frame {frame}, {what} move too fast against each other and may pass through. "
        "Raise Substeps"
        for what, frame in first.items()
    ]


def _caught(last: Record) -> list[str]:
    """List the bodies that lie folded over themselves at the end."""
    return [
        f"{name} is stuck in a folded shape. Start from a shape that is less crumpled, or "
        "lower Poisson's Ratio until it unfolds"
        for name in last.get("caught", ())
    ]


def _crossing(last: Record) -> list[str]:
    """List the bodies that intersect themselves."""
    return [
        f"{name} intersects itself at the start and does not collide with itself. Raise "
        "Resolution, set Surface to Tetrahedra, or start from a shape without folds"
        for name in last.get("crossing", ())
    ]


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def keep(job: Job, captured: Capture) -> None:
    """Note on each object its tetrahedra and the surface that collides, in a line each."""
    objects = {obj.session_uid: obj for obj in bpy.data.objects}
    for body, report in _body_reports(job, captured):
        if (obj := objects.get(body.uid)) is not None:
            count, quality = report["tets"], report["minimum_quality"]
            obj.supple.mesh_report = f"{count} tets, quality {quality:.2f}"
            obj.supple.touching_report = _touching(report.get("touching"))
            obj.supple.bending_report = _bending(report.get("bending_ratio"), obj)
            obj.supple.parts_report = _parts(report.get("loose_parts"), report.get("pieces"), obj)


def _touching(verdict: object) -> str:
    """The sentence about the surface that collides; empty in a job that does not report it."""
    return f"{verdict[0].upper()}{verdict[1:]}." if isinstance(verdict, str) and verdict else ""


def _bending(ratio: object, obj: bpy.types.Object) -> str:
    """The message about thin parts that bend too stiffly, with the resolution that helps. Empty
    where it is invisible, or in a job that does not report it."""
    if not isinstance(ratio, float) or ratio <= MAX_BENDING_RATIO:
        return ""
    finer = math.sqrt((ratio - 1.0) / (MAX_BENDING_RATIO - 1.0))
    resolution = math.ceil(obj.supple.resolution * finer)
    return (
        f"Thin parts of {obj.name} have too few tetrahedra and bend {ratio:.2g} times too stiffly. "
        f"With Resolution {resolution} they bend at most {MAX_BENDING_RATIO} times too stiffly."
    )


def _parts(parts: object, pieces: object, obj: bpy.types.Object) -> str:
    """The message about loose parts of a mesh. Empty for a single part, or in a job that does
    not report it."""
    if not isinstance(parts, int) or not isinstance(pieces, int) or parts <= 1:
        return ""
    text = f"{obj.name} has {parts} loose parts"
    if pieces == 1:
        return f"{text}. They overlap or lie in each other, and hold together as one piece."
    if pieces < parts:
        return f"{text}. Overlapping parts hold together, and it falls into {pieces} pieces."
    return f"{text}. They do not overlap, so that nothing holds them together."


def summary(job: Job, captured: Capture) -> str:
    """The summaries of the tetrahedra of a job."""
    reports = _body_reports(job, captured)
    return " ".join(f"{body.name}: {report['summary']}." for body, report in reports)


def start_warnings(job: Job, captured: Capture) -> list[str]:
    """Warnings about the start shapes of bodies, a sentence each."""
    reports = _body_reports(job, captured)
    return [f"{body.name}: {report['start']}." for body, report in reports if report.get("start")]


def _body_reports(job: Job, captured: Capture) -> Iterator[tuple[CapturedObject, dict[str, Any]]]:
    """Pair bodies with their reports by order: names may have changed since the job was made."""
    return zip(captured.objects, job.mesh_reports(), strict=False)


def forget(scene: bpy.types.Scene) -> None:
    for obj in scene.objects:
        if obj.supple.mesh_report:
            obj.supple.mesh_report = obj.supple.touching_report = ""
            obj.supple.bending_report = obj.supple.parts_report = ""
