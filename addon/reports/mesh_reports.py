# SPDX-License-Identifier: GPL-3.0-or-later
"""What each soft body's panel reports of its tetrahedra."""

from __future__ import annotations

import bpy

from ...core.job import Job
from ..capture.captured import Capture


def keep(job: Job, captured: Capture) -> None:
    """Notes on each object how its filling came out, and what touches, in a line each."""
    reports = {report["name"]: report for report in job.mesh_reports()}
    objects = {obj.session_uid: obj for obj in bpy.data.objects}
    for body in captured.objects:
        report, obj = reports.get(body.name), objects.get(body.uid)
        if report is not None and obj is not None:
            count, quality = report["tets"], report["minimum_quality"]
            obj.supple.mesh_report = f"{count} tets, quality {quality:.2f}"
            obj.supple.touching_report = _touching(report.get("touching"))


def _touching(verdict: object) -> str:
    """Such as ``The mesh touches.``; nothing in a job that does not report it."""
    return f"{verdict[0].upper()}{verdict[1:]}." if isinstance(verdict, str) and verdict else ""


def summary(job: Job) -> str:
    """All that is known of the tetrahedra of a job."""
    return " ".join(f"{report['name']}: {report['summary']}." for report in job.mesh_reports())


def start_warnings(job: Job) -> list[str]:
    """What is wrong with the shapes that bodies start in, in a sentence each."""
    reports = [report for report in job.mesh_reports() if report.get("start")]
    return [f"{report['name']}: {report['start']}." for report in reports]


def forget(scene: bpy.types.Scene) -> None:
    for obj in scene.objects:
        if obj.supple.mesh_report:
            obj.supple.mesh_report = obj.supple.touching_report = ""
