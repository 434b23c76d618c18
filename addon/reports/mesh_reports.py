# SPDX-License-Identifier: GPL-3.0-or-later
"""What each soft body's panel reports of its tetrahedra."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import bpy

from ...core.job import Job
from ...core.meshing.bending import MAX_BENDING_RATIO
from ..capture.captured import Capture, CapturedObject


def keep(job: Job, captured: Capture) -> None:
    """Notes on each object how its filling came out, and what touches, in a line each."""
    objects = {obj.session_uid: obj for obj in bpy.data.objects}
    for body, report in _of_bodies(job, captured):
        if (obj := objects.get(body.uid)) is not None:
            count, quality = report["tets"], report["minimum_quality"]
            obj.supple.mesh_report = f"{count} tets, quality {quality:.2f}"
            obj.supple.touching_report = _touching(report.get("touching"))
            obj.supple.bending_report = _bending(report.get("bending_ratio"), obj)
            obj.supple.parts_report = _parts(report.get("loose_parts"), report.get("pieces"), obj)


def _touching(verdict: object) -> str:
    """Such as ``The mesh touches.``; nothing in a job that does not report it."""
    return f"{verdict[0].upper()}{verdict[1:]}." if isinstance(verdict, str) and verdict else ""


def _bending(ratio: object, obj: bpy.types.Object) -> str:
    """By how much thin parts bend too stiffly, and the resolution that helps; nothing where it is
    too little to be seen, or in a job that does not report it."""
    if not isinstance(ratio, float) or ratio <= MAX_BENDING_RATIO:
        return ""
    finer = math.sqrt((ratio - 1.0) / (MAX_BENDING_RATIO - 1.0))
    resolution = math.ceil(obj.supple.resolution * finer)
    return (
        f"Thin parts of {obj.name} have too few tetrahedra and bend {ratio:.2g} times too stiffly. "
        f"With Resolution {resolution} they bend at most {MAX_BENDING_RATIO} times too stiffly."
    )


def _parts(parts: object, pieces: object, obj: bpy.types.Object) -> str:
    """How many loose parts a mesh has, and which hold together; nothing where it has one, or in a
    job that does not report it."""
    if not isinstance(parts, int) or not isinstance(pieces, int) or parts <= 1:
        return ""
    text = f"{obj.name} has {parts} loose parts"
    if pieces == 1:
        return f"{text}. They overlap or lie in each other, and hold together as one piece."
    if pieces < parts:
        return f"{text}. Those that overlap hold together: it falls into {pieces} pieces."
    return f"{text}. None of them overlap, so that nothing holds them together."


def summary(job: Job, captured: Capture) -> str:
    """All that is known of the tetrahedra of a job."""
    reports = _of_bodies(job, captured)
    return " ".join(f"{body.name}: {report['summary']}." for body, report in reports)


def start_warnings(job: Job, captured: Capture) -> list[str]:
    """What is wrong with the shapes that bodies start in, in a sentence each."""
    reports = _of_bodies(job, captured)
    return [f"{body.name}: {report['start']}." for body, report in reports if report.get("start")]


def _of_bodies(job: Job, captured: Capture) -> Iterator[tuple[CapturedObject, dict[str, Any]]]:
    """In their order: they may have been called otherwise when the job was made."""
    return zip(captured.objects, job.mesh_reports(), strict=False)


def forget(scene: bpy.types.Scene) -> None:
    for obj in scene.objects:
        if obj.supple.mesh_report:
            obj.supple.mesh_report = obj.supple.touching_report = ""
            obj.supple.bending_report = obj.supple.parts_report = ""
