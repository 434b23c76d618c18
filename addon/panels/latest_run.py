# SPDX-License-Identifier: GPL-3.0-or-later
"""The run that panels tell of."""

from __future__ import annotations

import bpy

from ...core.job import Job
from .. import modifiers, runs
from ..playback import mesh_cache
from ..reports import step_report
from ..reports.step_report import StepReport


def latest_report(scene: bpy.types.Scene) -> StepReport:
    """On the run that is under way, else on the one that the scene plays."""
    if isinstance(work := runs.current, runs.Run):
        return step_report.read(work.job, work.start_frame)
    shown = mesh_cache.shown_folder(scene)
    if shown is None:
        return StepReport()
    return step_report.read(Job(shown), modifiers.shown_start(scene))
